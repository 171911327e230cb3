"""Topic names: parsing ``domain://tenant/namespace/local`` and its short forms, and partition suffixes."""

from __future__ import annotations

import re

from magnetar.errors import InvalidTopicName

__all__ = ["NON_PERSISTENT", "PARTITION_MARK", "PERSISTENT", "TopicName", "partition_index", "valid_part"]

PERSISTENT = "persistent"
NON_PERSISTENT = "non-persistent"
PARTITION_MARK = "-partition-"
"""What stands between a topic's name and the number of a partition."""

_DOMAINS = (PERSISTENT, NON_PERSISTENT)
_PART = re.compile(r"[-=:.\w]+\Z", re.ASCII)
_SUFFIX = re.compile(r"(.+)-partition-(\d{1,9})\Z", re.DOTALL)


_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")


def quote(text: str) -> str:
    """Percent-encode a name, so that it can be one segment of a path."""
    raw = text.encode("utf-8", "surrogatepass")
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in raw)


def unquote(text: str) -> str:
    """The inverse of ``quote``."""
    first, *rest = text.encode("ascii").split(b"%")
    raw = first + b"".join(bytes((int(part[:2], 16),)) + part[2:] for part in rest)
    return raw.decode("utf-8", "surrogatepass")


def valid_part(name: str) -> bool:
    """Whether ``name`` may be a tenant or the local part of a namespace."""
    return _PART.match(name) is not None


def partition_index(local: str) -> int:
    """The number in a ``-partition-N`` suffix, or -1 when there is none."""
    found = _SUFFIX.match(local)
    return int(found.group(2)) if found else -1


class TopicName:
    """A whole topic name, taken apart. ``str()`` gives the full form back.

    >>> str(TopicName("orders"))
    'persistent://public/default/orders'
    """

    def __init__(self, text: str) -> None:
        domain, sep, rest = text.partition("://")
        if not sep:
            domain, rest = PERSISTENT, text
            parts = rest.split("/")
            if len(parts) == 1:
                parts = ["public", "default", rest]
            elif len(parts) != 3:
                raise InvalidTopicName(
                    f"'{text}' is not a topic name: write 'topic', 'tenant/namespace/topic' or the full "
                    "'persistent://tenant/namespace/topic'"
                )
        else:
            parts = rest.split("/", 2)
        if domain not in _DOMAINS:
            raise InvalidTopicName(
                f"'{text}' begins with '{domain}://', but a topic is persistent:// or non-persistent://"
            )
        if len(parts) != 3 or not parts[2].strip():
            raise InvalidTopicName(f"'{text}' lacks a tenant, a namespace or a name: {domain}://tenant/namespace/topic")
        if not valid_part(parts[0]) or not valid_part(parts[1]):
            raise InvalidTopicName(
                f"'{text}': tenant and namespace may hold letters, digits and -=:._ only, not '{parts[0]}/{parts[1]}'"
            )
        self.domain: str = domain
        self.tenant: str = parts[0]
        self.namespace: str = f"{parts[0]}/{parts[1]}"
        self.local: str = parts[2]
        self.partition: int = partition_index(parts[2])

    @property
    def parent(self) -> str:
        """The local name without its partition suffix."""
        found = _SUFFIX.match(self.local)
        return found.group(1) if found else self.local

    def with_partition(self, index: int) -> TopicName:
        """The name of partition ``index`` of this topic."""
        return TopicName(f"{self.domain}://{self.namespace}/{self.local}-partition-{index}")

    @property
    def path(self) -> str:
        """Namespace, domain and encoded local name: the tail of a metadata path."""
        return f"{self.namespace}/{self.domain}/{quote(self.local)}"

    @staticmethod
    def from_path(path: str) -> TopicName:
        """The inverse of ``path``."""
        tenant, namespace, domain, local = path.split("/")
        return TopicName(f"{domain}://{tenant}/{namespace}/{unquote(local)}")

    def __str__(self) -> str:
        return f"{self.domain}://{self.namespace}/{self.local}"

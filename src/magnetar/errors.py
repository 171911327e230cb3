"""The catalogue of errors: what happened, whose fault it is, and what to do next.

Every failure that leaves the broker, as a wire code, an HTTP status or an exit message, is one of the kinds below.
A kind is a class; its attributes are the facts that the outside needs:

``code``    the ServerError number that a Pulsar client understands
``status``  the HTTP status of the same failure on the admin interface
``fault``   "client" (change the request), "operator" (change the broker or its machine) or "broker" (a bug: report it)

The message of an instance is a sentence for a person; where there is something to do, it says what.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "BacklogQuotaExceeded",
    "BacklogQuotaHold",
    "ChecksumMismatch",
    "ConsumerAssignFailed",
    "ConsumerBusy",
    "ConsumerNotFound",
    "IncompatibleSchema",
    "InvalidSchema",
    "InvalidTopicName",
    "InvalidValue",
    "LogFailed",
    "MagnetarError",
    "MalformedValue",
    "MetadataFailed",
    "NotAllowed",
    "NotFound",
    "NothingToExpire",
    "ProducerBusy",
    "ProducerFenced",
    "ServiceNotReady",
    "SubscriptionNotFound",
    "TooManyRequests",
    "TopicNotFound",
    "TopicTerminated",
]


class MagnetarError(Exception):
    """The root of all kinds. ``code`` 0 is Pulsar's UnknownError."""

    code: ClassVar[int] = 0
    status: ClassVar[int] = 500
    fault: ClassVar[str] = "broker"


class MetadataFailed(MagnetarError):
    """The metadata store refused or could not do what was asked."""

    code = 1
    fault = "operator"


class LogFailed(MagnetarError):
    """A write or sync of the log failed; nothing of it was acknowledged."""

    code = 2
    fault = "operator"


class ConsumerBusy(MagnetarError):
    """The subscription is taken by others in a way that does not go together."""

    code = 5
    status = 412
    fault = "client"


class ServiceNotReady(MagnetarError):
    """Not now: look up again and retry."""

    code = 6
    status = 503
    fault = "operator"


class BacklogQuotaHold(MagnetarError):
    """The backlog is as large or as old as it may be, and producers are to wait until it is not."""

    code = 7
    status = 412
    fault = "client"


class BacklogQuotaExceeded(MagnetarError):
    """The same, where producers are to fail."""

    code = 8
    status = 412
    fault = "client"


class ChecksumMismatch(MagnetarError):
    """The payload is not what its checksum says."""

    code = 9
    status = 400
    fault = "client"


class TopicNotFound(MagnetarError):
    code = 11
    status = 404
    fault = "client"


class SubscriptionNotFound(MagnetarError):
    code = 12
    status = 404
    fault = "client"


class ConsumerNotFound(MagnetarError):
    code = 13
    status = 404
    fault = "client"


class TooManyRequests(MagnetarError):
    code = 14
    status = 429
    fault = "client"


class TopicTerminated(MagnetarError):
    code = 15
    status = 409
    fault = "client"


class ProducerBusy(MagnetarError):
    """Another producer of this name is connected, or one holds the topic exclusively."""

    code = 16
    status = 409
    fault = "client"


class InvalidTopicName(MagnetarError):
    code = 17
    status = 412
    fault = "client"


class MalformedValue(MagnetarError):
    """A value in a request is not of the right shape."""

    code = 22
    status = 400
    fault = "client"


class InvalidValue(MagnetarError):
    """A value in a request is of the right shape but cannot be what it is meant for."""

    code = 22
    status = 412
    fault = "client"


class IncompatibleSchema(MagnetarError):
    code = 18
    status = 409
    fault = "client"


class InvalidSchema(MagnetarError):
    """A schema's definition is none, or one that is not taken."""

    code = 18
    status = 422
    fault = "client"


class ConsumerAssignFailed(MagnetarError):
    """The selector cannot give this consumer a share of the keys."""

    code = 19
    status = 412
    fault = "client"


class NotAllowed(MagnetarError):
    code = 22
    status = 405
    fault = "client"


class ProducerFenced(MagnetarError):
    """An exclusive producer took over; this one must not write any more."""

    code = 25
    status = 409
    fault = "client"


class NothingToExpire(MagnetarError):
    """The subscription has nothing unacknowledged that an expiry could end."""

    status = 409
    fault = "client"


class NotFound(MagnetarError):
    """Something named in a request (a tenant, a namespace, a message) is not there."""

    code = 11
    status = 404
    fault = "client"

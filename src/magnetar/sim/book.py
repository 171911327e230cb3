"""The book: what everybody outside of the broker has seen, from which the rules judge.

The book is written where things cross the broker's edge. A message counts as delivered when its frame leaves the
broker, an acknowledgement as said when its frame enters it; what is on its way is nobody's business here. What is
durable is read from the commits that the log has completed.

Positions are offsets in the log of their topic. The broker is asked only what offset an id names, and held to its
answer from then on.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from magnetar.sim.subbook import SubBook

__all__ = ["Author", "Holder", "Sent", "TopicBook", "Violation"]


class Violation(Exception):  # noqa: N818  (it is what was found, not what went wrong here)
    """A rule does not hold."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(f"{rule}: {text}")
        self.rule = rule
        self.text = text


class Sent:
    """One entry that a producer has made; ``count`` messages are in it."""

    __slots__ = ("author", "count", "entry", "key", "number", "published_ms", "sequence")

    def __init__(self, author: Author, number: int, sequence: int, key: str, count: int, published_ms: int) -> None:
        self.author = author
        self.number = number
        self.sequence = sequence
        self.key = key
        self.count = count
        self.published_ms = published_ms
        self.entry = b""

    def __repr__(self) -> str:
        return f"message {self.number} ({self.key}, {self.author.name}:{self.sequence})"


@dataclass(eq=False, slots=True)
class Author:
    """A producer's name, which outlives its connections: what was not answered is sent again under the next one."""

    name: str
    topic: str
    sequence: int = 0
    unanswered: deque[Sent] = field(default_factory=deque)
    stored: int = 0
    """The sequence id behind the last one that is durable."""
    given_up: int = 0
    """The sequence id behind the last one that was refused because the topic had ended; it is not sent again."""


@dataclass(eq=False, slots=True)
class TopicBook:
    """What is durable of one topic."""

    name: str
    stream: int
    first: int = 0
    log: list[Sent] = field(default_factory=list)
    """Entries from offset 0 on, also those that were trimmed."""
    places: dict[tuple[int, int], int] = field(default_factory=dict)
    """Ids that clients have seen, with the offset that they name for ever."""
    ids: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The same the other way round."""
    subs: dict[str, SubBook] = field(default_factory=dict)
    ended: bool = False
    """Somebody was answered that the topic is terminated."""
    damaged: set[int] = field(default_factory=set)
    """Entries that the log can no longer read; whoever has not got them need not get them."""

    def named(self, place: tuple[int, int], offset: int) -> None:
        """A client has seen the id as that of the entry."""
        known = self.places.setdefault(place, offset)
        if known != offset or self.ids.setdefault(offset, place) != place:
            raise Violation("verbatim", f"the id {place} named offset {known}, and now {offset}")

    def write_id(self, message_id: Any, offset: int) -> None:
        """Write the id of an entry."""
        message_id.ledgerId, message_id.entryId = self.ids[offset]


class Holder:
    """A consumer, from the broker's SUCCESS to whatever ends it."""

    def __init__(self, sub: SubBook, peer: int, ident: int, name: str) -> None:
        self.sub = sub
        self.peer = peer
        self.id = ident
        self.name = name
        self.permits = 0
        self.held: dict[int, int] = {}
        """Offset and open messages of what was delivered and is neither acknowledged nor given back."""
        self.said: dict[int, int] = {}
        """What it has left open of batches, by the acknowledgements that it has sent; some may be on their way."""
        self.epoch = 0
        """How often it has given everything back, on types with one active consumer, as far as the broker has heard."""
        self.asked = 0
        """The same, as far as it knows itself."""
        self.unacked = 0
        self.closed = False
        self.leaving = False
        self.end_told = False
        self.stalled = False
        self.active = False
        self.last = -1
        """Types with one active consumer: the offset delivered last, since it became active or gave things back."""

    def __repr__(self) -> str:
        return f"{self.name} (peer {self.peer}, consumer {self.id})"

"""Which entries each stream holds, in which segment, and how many bytes of each segment are still needed.

An *extent* is a stream's share of one segment: consecutive offsets, how many, and the sum of their bytes. Sizes of
single entries are only in the segment's index, which may be on disk; so a trim that cuts an extent in two keeps for the
rest a share of its bytes by the number of entries. The sums are exact again when the whole extent is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from magnetar.log.files.records import ENTRY_HEAD_BYTES

__all__ = ["Extent", "Stream", "StreamTable"]


class Extent:
    """``count`` entries of a stream from offset ``first`` on, ``size`` bytes together, all in ``segment``."""

    __slots__ = ("count", "first", "segment", "size")

    def __init__(self, segment: int, first: int, count: int, size: int) -> None:
        self.segment = segment
        self.first = first
        self.count = count
        self.size = size

    @property
    def end(self) -> int:
        return self.first + self.count


@dataclass(slots=True)
class Share:
    """What of one segment is still needed."""

    live_bytes: int = 0
    extents: int = 0


class Stream:
    """Entries ``first`` up to ``end``; ``extents`` in rising order, perhaps with gaps where entries were damaged."""

    __slots__ = ("end", "extents", "first", "size_bytes")

    def __init__(self) -> None:
        self.first = 0
        self.end = 0
        self.size_bytes = 0
        self.extents: list[Extent] = []

    def locate(self, offset: int) -> int:
        """The place of the first extent that ends after ``offset``."""
        low, high = 0, len(self.extents)
        while low < high:
            middle = (low + high) // 2
            if self.extents[middle].end <= offset:
                low = middle + 1
            else:
                high = middle
        return low


def _nobody(segment: int) -> None:
    """Nobody wants to know."""


class StreamTable:
    """All streams, and the share of each segment that they need. ``lighter`` hears of segments that lost weight."""

    def __init__(self) -> None:
        self.streams: dict[int, Stream] = {}
        self.shares: dict[int, Share] = {}
        self.lighter: Callable[[int], None] = _nobody

    def make(self, number: int) -> Stream:
        """The stream, new if it was not known."""
        stream = self.streams.get(number)
        if stream is None:
            stream = self.streams[number] = Stream()
        return stream

    def append(self, number: int, segment: int, first: int, count: int, size: int) -> None:
        """Entries were added at the end of a stream."""
        stream = self.streams.get(number)
        if stream is None:
            stream = self.streams[number] = Stream()
        extents = stream.extents
        if extents and extents[-1].segment == segment and extents[-1].end == first:
            last = extents[-1]
            last.count += count
            last.size += size
            self.shares[segment].live_bytes += size + ENTRY_HEAD_BYTES * count
        else:
            extents.append(Extent(segment, first, count, size))
            share = self.shares.get(segment)
            if share is None:
                share = self.shares[segment] = Share()
            share.extents += 1
            share.live_bytes += size + ENTRY_HEAD_BYTES * count
        stream.size_bytes += size
        stream.end = first + count

    def extend(self, number: int, extent: Extent) -> None:
        """The same with an extent as a checkpoint remembers it."""
        self.append(number, extent.segment, extent.first, extent.count, extent.size)

    def trim(self, number: int, offset: int) -> None:
        """Entries below ``offset`` are not needed any more."""
        stream = self.streams.get(number)
        if stream is None:
            return
        offset = min(max(stream.first, offset), stream.end)
        gone = 0
        for extent in stream.extents:
            if extent.first >= offset:
                break
            left = max(0, extent.end - offset)
            size = extent.size * left // extent.count
            stream.size_bytes -= extent.size - size
            freed = extent.size - size + ENTRY_HEAD_BYTES * (extent.count - left)
            extent.first = extent.end - left
            extent.count = left
            extent.size = size
            gone += not left
            self._lighten(extent.segment, freed, not left)
        del stream.extents[:gone]
        stream.first = offset

    def drop(self, number: int) -> None:
        """The stream is forgotten."""
        stream = self.streams.pop(number, None)
        if stream is None:
            return
        for extent in stream.extents:
            self._lighten(extent.segment, extent.size + ENTRY_HEAD_BYTES * extent.count, True)

    def _lighten(self, segment: int, size: int, whole: bool) -> None:
        share = self.shares[segment]
        share.live_bytes -= size
        share.extents -= whole
        assert share.live_bytes >= 0, "a segment was charged less than it is relieved of"
        if not share.extents:
            assert not share.live_bytes, "a segment without extents has live bytes"
            del self.shares[segment]
        self.lighter(segment)

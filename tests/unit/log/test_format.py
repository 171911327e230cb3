"""Golden bytes: the format on disk is for ever. If one of these fails, write a new format version, not new bytes."""

from __future__ import annotations

import pytest
from google_crc32c import value as crc32c

from magnetar.log.files import FileLog, FormatUnknown
from magnetar.log.files.checkpoint import decode_checkpoint, encode_checkpoint, encode_streams
from magnetar.log.files.index import SegmentIndex, decode_index, encode_index
from magnetar.log.files.records import encode_commit, encode_records
from magnetar.log.files.segment import Header, decode_header, encode_header
from magnetar.log.files.sidecar import read_file
from magnetar.log.files.streams import StreamTable
from magnetar.ports.log import Append, Drop, DropStream, Merge, Put, Trim
from magnetar.testing.disk import FaultDisk

SEGMENT = """
# magic
4d474e5452534547
# version
01000000
# number
0300000000000000
# generation
00000000
# segment before
0200000000000000
# its valid length
e8030000
# checksum
2686129e
# COMMIT: bytes, records, synced
5df0c62f0d00000007a70000000700000028000000
# ENTRY 0 of stream 7: hello
e83e604c16000000010700000000000000000000000000000068656c6c6f
# ENTRY 1: empty
ccaed3d0110000000107000000000000000100000000000000
# PUT k = value
d821264b1100000002070000000000000001006b76616c7565
# MERGE k + delta
977dd8441100000003070000000000000001006b64656c7461
# DROP k
95bf397f0c00000004070000000000000001006b
# TRIM to 1
41a9acaa110000000507000000000000000100000000000000
# DROP_STREAM 8
d034917e09000000060800000000000000
"""

INDEX = """
# magic, version, segment, generation, valid length, runs
4d474e545249445801000000030000000000000000000000e400000001000000
# stream, first offset, entries
0700000000000000000000000000000002000000
# positions
3d0000005b000000
# lengths
0500000000000000
# checksum
e600ae72
"""

CHECKPOINT = """
# magic, version, number, start, next stream, segments, streams, values
4d474e5452434b5001000000010000000000000004000000000000000900000000000000010000000100000001000000
# segment, generation, valid length
030000000000000000000000e4000000
# stream, first, end, extents
07000000000000000100000000000000020000000000000001000000
# segment, first, entries, bytes
03000000000000000100000000000000010000000200000000000000
# stream, key length, value length
0700000000000000010005000000
# key, value
6b76616c7565
# checksum
6980109f
"""


def _bytes(text: str) -> bytes:
    return bytes.fromhex("".join(line.split("#")[0] for line in text.splitlines()))


def _segment() -> bytes:
    chunks: list[bytes] = []
    records = [
        Append(7, 0, [b"hello", b""]),
        Put(7, b"k", b"value"),
        Merge(7, b"k", b"delta"),
        Drop(7, b"k"),
        Trim(7, 1),
        DropStream(8),
    ]
    size, count, _ = encode_records(chunks, records)
    header = encode_header(Header(number=3, generation=0, previous=2, previous_valid=1000))
    return header + encode_commit(size, count, len(header)) + b"".join(chunks)


def _index() -> bytes:
    index = SegmentIndex()
    index.add(7, 0, 61, [0, 5, 0])
    return encode_index(index, segment=3, generation=0, valid=228)


def _checkpoint() -> bytes:
    table = StreamTable()
    table.append(7, 3, 0, 2, 5)
    table.trim(7, 1)
    return encode_checkpoint(1, 4, 9, [(3, 0, 228)], encode_streams(table, 4), [(7, b"k", b"value")])


@pytest.mark.parametrize(
    ("made", "golden"),
    [(_segment(), SEGMENT), (_index(), INDEX), (_checkpoint(), CHECKPOINT)],
    ids=["seg", "idx", "ckpt"],
)
def test_what_is_written_today_is_what_was_written_first(made: bytes, golden: str) -> None:
    assert made.hex() == _bytes(golden).hex()


def test_golden_files_can_be_read() -> None:
    assert decode_header(_bytes(SEGMENT), "x.seg") == Header(3, 0, 2, 1000)
    index = decode_index(_bytes(INDEX), 3, 0, 228)
    assert index is not None
    hit = index.find(7, 1)
    assert hit is not None
    assert (hit[0].positions[hit[1]], hit[0].lengths[hit[1]]) == (91, 0)
    found = decode_checkpoint(_bytes(CHECKPOINT), "x.ckpt")
    assert found is not None
    assert (found.number, found.start, found.next_stream) == (1, 4, 9)
    assert (found.streams.streams[7].first, found.streams.streams[7].end) == (1, 2)
    assert found.state == [(7, b"k", b"value")]
    assert found.segments == [(3, 0, 228)]


def test_a_directory_of_golden_files_is_recovered() -> None:
    disk = FaultDisk()
    for name, text in {"00000000000000000003.seg": SEGMENT}.items():
        fd = disk.create(f"log/{name}")
        disk.write(fd, [_bytes(text)])
        disk.close(fd)
    log = FileLog("log", disk=disk)
    recovered = log.recover()
    log.close()
    assert recovered.notes == []
    assert recovered.next_stream == 9
    assert (recovered.streams[7].first, recovered.streams[7].end, recovered.streams[7].state) == (1, 2, {})
    sidecar = decode_index(read_file(disk, "log/00000000000000000003-0001.idx"), 3, 1, len(_bytes(SEGMENT)))
    assert sidecar is not None


@pytest.mark.parametrize(("golden", "suffix"), [(SEGMENT, "seg"), (CHECKPOINT, "ckpt")])
def test_a_later_format_is_refused_with_a_sentence(golden: str, suffix: str) -> None:
    data = bytearray(_bytes(golden))
    data[8] = 2
    end = 40 if suffix == "seg" else len(data)
    head = bytes(data[: end - 4])
    later = head + crc32c(head).to_bytes(4, "little")
    decode = decode_header if suffix == "seg" else decode_checkpoint
    with pytest.raises(FormatUnknown, match="format version 2, this Magnetar knows 1"):
        decode(later, f"x.{suffix}")

"""The judge of the tapes finds what is missing, doubled, invented or out of order."""

from bench.frames import FIRST_SEQUENCE, Load, prepare
from bench.proof import check_deliveries, indexes, receipt_errors
from bench.scan import TAPE_BYTES
from bench.wire import varint


def tape(*numbers: int) -> bytes:
    return b"".join(b"\x01" + number.to_bytes(4, "big") for number in numbers)


def test_receipts_that_cover_every_send_are_right() -> None:
    expected = prepare(Load(10, producers=3)).receipts
    assert receipt_errors(expected, expected) == []


def test_wrong_receipts_are_told_apart() -> None:
    expected = prepare(Load(10)).receipts
    cut = [expected[at : at + TAPE_BYTES] for at in range(0, len(expected), TAPE_BYTES)]
    assert receipt_errors(b"".join(cut[:4] + cut[5:]), expected) == ["1 sends without a receipt, the first is number 4"]
    assert receipt_errors(b"".join([*cut, cut[9]]), expected) == ["1 receipts came twice", "1 receipts out of order"]
    assert receipt_errors(b"".join([cut[1], cut[0], *cut[2:]]), expected) == ["1 receipts out of order"]
    unknown = b"\x01" + varint(FIRST_SEQUENCE + 99)
    assert receipt_errors(expected + unknown, expected) == ["1 receipts for what was never sent"]


def test_indexes_of_batches_are_entry_numbers() -> None:
    assert indexes(tape(0, 5, 70_000), 1) == [0, 5, 70_000]
    assert indexes(tape(99, 199, 299), 100) == [0, 1, 2]


def test_deliveries_are_judged() -> None:
    assert check_deliveries([tape(0, 2), tape(1, 3)], 4, 1).errors() == []
    assert check_deliveries([tape(0, 0, 7)], 3, 1).errors() == ["2 missing", "1 delivered twice", "1 never published"]


def test_keys_have_one_owner_and_an_order() -> None:
    assert check_deliveries([tape(0, 2, 4), tape(1, 3, 5)], 6, 1, keys=2).errors() == []
    assert check_deliveries([tape(0, 4, 2), tape(1, 3, 5)], 6, 1, keys=2).errors() == [
        "1 out of order within their key"
    ]
    assert check_deliveries([tape(0, 2), tape(1, 3, 4, 5)], 6, 1, keys=2).errors() == [
        "1 keys held by more than one consumer"
    ]

"""Frames written down byte by byte from the protocol's rules: if one changes, clients stop understanding us."""

from __future__ import annotations

import pytest

from magnetar.wire import hot
from magnetar.wire.commands import UNSOLICITED_REQUEST_ID, decode, encode, pb

MINUS_ONE = "ffffffffffffffffff01"

ENCODED = {
    "ping": (hot.PING_FRAME, "00000009 00000005 0812 920100"),
    "pong": (hot.PONG_FRAME, "00000009 00000005 0813 9a0100"),
    "receipt": (hot.send_receipt(1, 2, 0, 3, 4), "00000012 0000000e 0807 3a0a 0801 1002 1a04 08031004"),
    "receipt with highest": (
        hot.send_receipt(1, 300, 301, 3, 4),
        "00000016 00000012 0807 3a0e 0801 10ac02 1a04 08031004 20ad02",
    ),
    "receipt of a duplicate": (
        hot.send_receipt(1, 2, 0, -1, -1),
        f"00000024 00000020 0807 3a1c 0801 1002 1a16 08{MINUS_ONE} 10{MINUS_ONE}",
    ),
    "send error": (hot.send_error(1, 2, 22, "no"), "00000012 0000000e 0808 420a 0801 1002 1816 22026e6f"),
    "ack response": (hot.ack_response(1, 5), "0000000d 00000009 0826 b20204 08013005"),
    "ack response with error": (
        hot.ack_response(1, 5, 12, "no"),
        "00000013 0000000f 0826 b2020a 0801 200c 2a026e6f 3005",
    ),
    "message": (hot.message_head(7, 3, 4, -1, 0, None, -1, 10), "0000001a 0000000c 0809 4a08 0807 1204 08031004"),
    "message with all": (
        hot.message_head(7, 3, 4, 2, 5, [-1, 3], 6, 0),
        "00000023 0000001f 0809 4a1b 0807 1206 080310041802 1805 20" + MINUS_ONE + "2003 2806",
    ),
}
"""The payload section is not part of a head, but its size is in the first number."""


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace(" ", ""))


def test_success_frame() -> None:
    assert encode(pb.CommandSuccess(request_id=1)) == _bytes("0000000a 00000006 080d 6a02 0801")


def test_unsolicited_error_frame() -> None:
    sent = encode(pb.CommandError(request_id=UNSOLICITED_REQUEST_ID, error=pb.ServerError.ServiceNotReady, message="x"))
    assert sent == _bytes(f"00000018 00000014 080e 7210 08{MINUS_ONE} 1006 1a0178")


def test_connect_is_understood() -> None:
    command = _bytes("0802 120f 0a05 312e322e33 2015 2a04 6e6f6e65")
    kind, message = decode(command, 0, len(command))
    assert kind == 2
    assert message == pb.CommandConnect(client_version="1.2.3", protocol_version=21, auth_method_name="none")


@pytest.mark.parametrize("name", ENCODED)
def test_encoded(name: str) -> None:
    frame, expected = ENCODED[name]
    assert frame == _bytes(expected)


SEND = _bytes("0806 3207 0803 1084 01 1864")
ACK = _bytes("080a 520a 0805 1000 1a04 0803 1004")


def test_send_is_understood() -> None:
    kind, start, end = hot.split(SEND, 0, len(SEND))
    assert kind == 6
    assert hot.decode_send(SEND, start, end) == (3, 132, 100, 0, 0)


def test_ack_is_understood() -> None:
    kind, start, end = hot.split(ACK, 0, len(ACK))
    assert kind == 10
    assert hot.decode_plain_ack(ACK, start, end) == (5, 3, 4)


def test_flow_is_understood() -> None:
    flow = _bytes("080b 5a05 0805 10e807")
    kind, start, end = hot.split(flow, 0, len(flow))
    assert kind == 11
    assert hot.decode_flow(flow, start, end) == (5, 1000)


def test_redeliver_all_is_understood() -> None:
    command = _bytes("0814 a20104 0805 1802")
    kind, start, end = hot.split(command, 0, len(command))
    assert kind == 20
    redeliver = hot.decode_redeliver(command, start, end)
    assert (redeliver.consumer_id, redeliver.ids, redeliver.epoch) == (5, [], 2)

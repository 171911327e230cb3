"""Signs of life: when a peer is asked for one, when it is gone, and when its silence means nothing."""

from __future__ import annotations

from magnetar.wire.commands import pb
from tests.support.corebroker import EXCLUSIVE, CoreBroker, answered


def test_a_silent_peer_is_pinged_once_and_then_gone() -> None:
    broker = CoreBroker(keep_alive_ms=30_000)
    client = broker.client()
    broker.advance(29_000)
    assert client.names() == []
    broker.advance(2_000)
    assert client.names() == ["PING"]
    broker.advance(28_000)
    assert client.names() == ["PING"]
    broker.advance(2_000)
    assert broker.hung_up == [client.session]


def test_any_word_is_a_sign_of_life() -> None:
    broker = CoreBroker(keep_alive_ms=30_000)
    client = broker.client()
    for _ in range(10):
        broker.advance(45_000)
        client.say(pb.CommandPong())
    assert broker.hung_up == []
    assert client.names() == ["PING"] * 10


def test_a_process_that_stood_still_does_not_blame_its_peers() -> None:
    broker = CoreBroker(keep_alive_ms=30_000)
    client = broker.client()
    broker.now_ms = broker.core.now_ms = broker.now_ms + 600_000
    broker.core.tick()
    broker.turn()
    assert broker.hung_up == []
    broker.advance(31_000)
    assert client.names() == ["PING"]
    broker.advance(31_000)
    assert broker.hung_up == [client.session]


def test_a_peer_that_is_not_read_is_not_expected_to_answer() -> None:
    broker = CoreBroker(keep_alive_ms=30_000, liveness_probe_ms=5_000)
    client, rival = broker.client(), broker.client()
    client.producer("t", name="p")
    client.session.unheard = True
    assert rival.producer("t", name="p") is None
    broker.advance(5_000)
    assert rival.take("ERROR")[0].message.error == pb.ServerError.ProducerBusy
    for _ in range(10):
        broker.advance(30_000)
        rival.say(pb.CommandPing())
    assert broker.hung_up == []
    client.session.unheard = False
    broker.advance(61_000)
    assert client.session in broker.hung_up


def test_several_who_wait_for_one_sign_of_life_all_hear_of_it() -> None:
    broker = CoreBroker(liveness_probe_ms=5_000)
    owner = broker.client()
    owner.consumer("t", kind=EXCLUSIVE)
    rivals = [broker.client() for _ in range(3)]
    for rival in rivals:
        assert rival.subscribe("t", kind=EXCLUSIVE) is None
    assert owner.names() == ["PING"], "it is asked once"
    broker.advance(5_000)
    answers = [answered(rival.answer(rival.requests)).name for rival in rivals]
    assert sorted(answers) == ["ERROR", "ERROR", "SUCCESS"]
    assert broker.hung_up == [owner.session]


def test_a_rival_that_has_gone_itself_gets_nothing() -> None:
    broker = CoreBroker(liveness_probe_ms=5_000)
    owner, rival = broker.client(), broker.client()
    owner.consumer("t", kind=EXCLUSIVE)
    rival.subscribe("t", kind=EXCLUSIVE)
    rival.cut()
    owner.say(pb.CommandPong())
    broker.advance(5_000)
    assert [consumer.session for consumer in broker.sub().consumers] == [owner.session]

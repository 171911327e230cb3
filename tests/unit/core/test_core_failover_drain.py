"""A hand-over that lets the old consumer finish: ``failover_drain_ms``."""

from __future__ import annotations

from tests.support.corebroker import FAILOVER, START_MS, Client, CoreBroker

DRAIN_MS = 5_000


class Scene:
    """``worse`` is active and holds three messages when ``better`` comes; two more were published since."""

    def __init__(self, acked: tuple[int, ...] = (), **options: int) -> None:
        options.setdefault("failover_drain_ms", DRAIN_MS)
        self.broker = CoreBroker(**options)
        self.maker = self.broker.client()
        self.maker.producer("t")
        self.worse = self.join("worse", 1)
        self.maker.publish(b"0", b"1", b"2")
        self.held = [frame.id for frame in self.worse.messages()]
        assert len(self.held) == 3
        self.worse.ack(*[self.held[index] for index in acked])
        self.better = self.join("better", 0)
        self.maker.publish(b"3", b"4")

    def join(self, name: str, priority: int, permits: int = 10) -> Client:
        client = self.broker.client()
        client.consumer("t", kind=FAILOVER, consumer_name=name, priority_level=priority, permits=permits)
        return client

    def told(self, client: Client) -> list[bool]:
        return [frame.message.is_active for frame in client.take("ACTIVE_CONSUMER_CHANGE")]

    def counts(self) -> tuple[int, int]:
        history = self.broker.sub().history
        return history.switches, history.repeated

    def untouched(self) -> None:
        """The hand-over still waits."""
        assert self.worse.bodies() == []
        assert self.better.bodies() == []
        assert True not in self.told(self.better)


def test_the_new_one_begins_when_the_old_one_has_finished() -> None:
    scene = Scene()
    assert scene.told(scene.worse) == [True]
    scene.worse.ack(scene.held[1])
    scene.worse.ack(scene.held[0])
    scene.untouched()
    scene.worse.ack(scene.held[2])
    assert scene.told(scene.worse) == [False]
    assert scene.told(scene.better) == [True]
    assert scene.better.bodies() == [b"3", b"4"]
    assert scene.counts() == (1, 0)
    scene.broker.advance(DRAIN_MS)
    assert scene.better.bodies() == []


def test_a_cumulative_acknowledgement_finishes_it_as_well() -> None:
    scene = Scene()
    scene.worse.ack(scene.held[2], ack_type=1)
    assert scene.better.bodies() == [b"3", b"4"]


def test_when_the_time_is_over_the_rest_comes_again() -> None:
    scene = Scene(acked=(1,))
    scene.broker.advance(DRAIN_MS - 1)
    scene.untouched()
    scene.broker.advance(1)
    assert scene.told(scene.better) == [True]
    assert scene.better.bodies() == [b"0", b"2", b"3", b"4"]
    assert scene.counts() == (1, 2)


def test_who_holds_nothing_is_relieved_at_once() -> None:
    scene = Scene(acked=(0, 1, 2))
    assert scene.told(scene.better) == [True]
    assert scene.better.bodies() == [b"3", b"4"]


def test_part_of_a_batch_is_still_held() -> None:
    broker = CoreBroker(failover_drain_ms=DRAIN_MS)
    maker, worse, better = broker.client(), broker.client(), broker.client()
    maker.producer("t")
    worse.consumer("t", kind=FAILOVER, consumer_name="worse", priority_level=1, permits=10)
    maker.publish(b"batch", batch=3)
    (place,) = [frame.id for frame in worse.messages()]
    better.consumer("t", kind=FAILOVER, consumer_name="better", permits=10)
    worse.ack(place, ack_set=[0b110])
    maker.publish(b"next")
    assert better.bodies() == []
    worse.ack(place, ack_set=[0b100])
    worse.ack(place, ack_set=[0b011])
    assert better.bodies() == [b"next"]


def test_the_old_one_leaves_or_is_cut() -> None:
    for go in (Client.close_consumer, Client.cut):
        scene = Scene(acked=(0,))
        go(scene.worse)
        assert scene.told(scene.better) == [False, True]
        assert scene.better.bodies() == [b"1", b"2", b"3", b"4"]
        assert scene.counts() == (1, 2)


def test_the_new_one_leaves_and_the_old_one_goes_on() -> None:
    for go in (Client.close_consumer, Client.cut):
        scene = Scene(acked=(0,))
        go(scene.better)
        assert scene.worse.bodies() == [b"3", b"4"]
        assert scene.told(scene.worse) == [True], "nothing has changed for it"
        scene.broker.advance(DRAIN_MS)
        assert scene.worse.bodies() == []
        assert scene.counts() == (0, 0)


def test_another_successor_takes_the_place_and_the_time_that_is_left() -> None:
    scene = Scene()
    scene.broker.advance(DRAIN_MS - 1)
    best = scene.join("best", -1)
    scene.untouched()
    scene.broker.advance(1)
    assert scene.told(best) == [False, True]
    assert best.bodies() == [b"0", b"1", b"2", b"3", b"4"]
    assert scene.told(scene.better) == [False]


def test_both_leave() -> None:
    scene = Scene(acked=(0,))
    scene.worse.cut()
    scene.better.bodies()
    scene.better.cut()
    again = scene.join("again", 0)
    assert again.bodies() == [b"1", b"2", b"3", b"4"]


def test_what_the_old_one_gives_back_waits_for_the_new_one() -> None:
    scene = Scene()
    scene.worse.nack(scene.held[1])
    scene.worse.ack(scene.held[0])
    scene.untouched()
    scene.worse.ack(scene.held[2])
    frames = scene.better.messages()
    assert [frame.body for frame in frames] == [b"1", b"3", b"4"]
    assert [frame.message.redelivery_count for frame in frames] == [1, 0, 0]
    assert scene.counts() == (1, 0)


def test_when_the_new_one_leaves_what_was_given_back_comes_again() -> None:
    scene = Scene()
    scene.worse.nack(scene.held[1])
    scene.better.close_consumer()
    assert scene.worse.bodies() == [b"0", b"1", b"2", b"3", b"4"]


def test_who_gives_everything_back_has_finished() -> None:
    scene = Scene(acked=(0,))
    scene.worse.redeliver_all()
    assert scene.better.bodies() == [b"1", b"2", b"3", b"4"]
    assert scene.counts() == (1, 0)


def test_the_new_one_has_nothing_to_give_back_yet() -> None:
    scene = Scene()
    scene.better.redeliver_all()
    scene.better.nack(scene.held[0])
    scene.untouched()


def test_either_seeks() -> None:
    for seeker in ("worse", "better"):
        scene = Scene()
        client: Client = getattr(scene, seeker)
        answer = client.seek(scene.held[1])
        assert answer is not None
        assert answer.name == "SUCCESS"
        assert scene.worse.take("CLOSE_CONSUMER")
        assert scene.better.take("CLOSE_CONSUMER")
        scene.broker.advance(DRAIN_MS)
        scene.worse.bodies()
        scene.better.bodies()
        again = scene.join("again", 0)
        assert again.bodies() == [b"1", b"2", b"3", b"4"]
        assert scene.told(again)[-1] is True


def test_skipping_what_is_held_ends_the_wait() -> None:
    scene = Scene()
    assert scene.broker.sub().move_floor(3)
    scene.broker.turn()
    assert scene.better.bodies() == [b"3", b"4"]


def test_a_commit_that_fails_takes_nothing_back() -> None:
    scene = Scene()
    scene.broker.auto = False
    scene.worse.ack(*scene.held)
    scene.broker.fail()
    scene.broker.auto = True
    scene.broker.advance(200)
    assert scene.better.bodies() == [b"3", b"4"]


def test_a_second_switch_within_the_pause_does_not_lose_what_the_first_one_held() -> None:
    """The pause of a switch without drain is under way when drains are turned on; the second successor leaves again."""
    scene = Scene(failover_drain_ms=0, failover_delay_ms=1_000)
    scene.broker.topic().policies.failover_drain_ms = DRAIN_MS
    best = scene.join("best", -1)
    best.close_consumer()
    scene.broker.advance(DRAIN_MS)
    assert scene.better.bodies() == [b"0", b"1", b"2", b"3", b"4"]


def test_without_a_drain_time_there_is_the_pause_and_the_rewind() -> None:
    scene = Scene(failover_drain_ms=0, failover_delay_ms=1_000)
    assert scene.told(scene.better) == [True]
    scene.worse.ack(scene.held[0])
    assert scene.better.bodies() == []
    scene.broker.advance(1_000)
    assert scene.better.bodies() == [b"1", b"2", b"3", b"4"]
    assert scene.counts() == (1, 2)


def test_the_history_says_who_finishes_since_when_and_why() -> None:
    scene = Scene()
    scene.broker.advance(10)
    scene.worse.ack(*scene.held)
    events = [
        (event.at_ms - START_MS, event.what, event.consumer, event.held, event.why)
        for event in scene.broker.sub().history.events
        if event.what not in ("joined", "left")
    ]
    assert events == [
        (0, "active", "worse", 0, "joined"),
        (0, "finishing", "better", 3, "joined"),
        (10, "active", "better", 0, "joined"),
    ]

"""Settings that change while the broker runs."""

from __future__ import annotations

import asyncio

import pytest

from magnetar.core.dispatch.classic import ClassicKeyShared
from magnetar.log.memory import MemoryLog
from magnetar.metadata.memory import MemoryMetadata
from magnetar.server.dynamic import DYNAMIC
from magnetar.server.settings import Settings, keys
from magnetar.server.standalone import Standalone
from tests.server.admin import shapes
from tests.server.admin.conftest import Served, path
from tests.server.admin.shapes import shape
from tests.support.wireclient import SubType, WireClient

AT = "brokers/configuration"
MORE_THAN_PULSAR = {
    "activeConsumerFailoverConsistentHashing",
    "activeConsumerFailoverDelayTimeMillis",
    "activeConsumerFailoverDrainMs",
    "activeConsumerFailoverSelector",
    "isSchemaValidationEnforced",
    "keySharedRebalanceSlotsPerMinute",
    "keySharedRebalanceThresholdPercent",
    "maxConsumersPerSubscription",
    "maxConsumersPerTopic",
    "maxProducersPerTopic",
    "maxSubscriptionsPerTopic",
    "maxUnackedMessagesPerConsumer",
    "maxUnackedMessagesPerSubscription",
    "schemaCompatibilityStrategy",
    "subscriptionKeySharedConsistentHashingReplicaPoints",
    "subscriptionKeySharedSelector",
    "subscriptionKeySharedUseConsistentHashing",
    "ttlDurationDefaultInSeconds",
}
"""What topics and subscriptions follow while they are in use, which Pulsar takes from its file only."""
CLASSIC = "subscriptionKeySharedUseClassicPersistentImplementation"


def test_what_can_be_changed_is_listed_and_means_what_it_means_in_pulsar(served: Served) -> None:
    names = served.get(AT).json
    assert names == list(DYNAMIC)
    assert set(names) - shapes.DYNAMIC_IN_PULSAR == {"keySharedDrainLeaseMs", "keySharedNackOrder"} | MORE_THAN_PULSAR
    assert all(not keys()[name].later for name in names)


def test_every_setting_that_can_be_changed_reaches_the_core(served: Served) -> None:
    texts = {
        "activeConsumerFailoverSelector": "balanced",
        "allowAutoTopicCreationType": "partitioned",
        "brokerDeleteInactiveTopicsMode": "delete_when_subscriptions_caught_up",
        "schemaCompatibilityStrategy": "BACKWARD",
        "subscriptionKeySharedSelector": "rateAware",
        "subscriptionTypesEnabled": "Exclusive,Shared",
    }
    for name in DYNAMIC:
        was = served.get(f"{AT}/runtime").json[name]
        text = texts.get(name, {"true": "false", "false": "true"}.get(was, "3"))
        before = served.call(served.core.options.values)
        assert served.post(f"{AT}/{name}/{text}").status == 204
        if name != "defaultNumPartitions" or was != "1":
            assert served.call(served.core.options.values) != before, name
        assert served.get(f"{AT}/values").json == {name: text}
        assert served.get(f"{AT}/runtime").json[name] == text
        assert served.delete(f"{AT}/{name}").status == 204
        assert served.call(served.core.options.values) == before
        assert served.get(f"{AT}/runtime").json[name] == was
    assert served.get(f"{AT}/values").json == {}


def test_all_settings_are_shown_as_text(served: Served) -> None:
    shown = served.get(f"{AT}/runtime").json
    assert set(shown) == set(keys())
    assert shown["maxMessageSize"] == "5242880"
    assert shown["brokerServicePortTls"] == ""
    assert shown["subscriptionTypesEnabled"] == "Exclusive,Shared,Failover,Key_Shared"


@pytest.mark.parametrize("name", ["nonsense", "keepAliveIntervalSeconds", "loadBalancerSheddingEnabled"])
def test_other_names_are_refused(served: Served, name: str) -> None:
    status, reason = served.post(f"{AT}/{name}/5").refusal
    assert (status, reason.partition(":")[0]) == (412, "Can't update non-dynamic configuration")
    assert served.delete(f"{AT}/{name}").refusal[0] == 412


@pytest.mark.parametrize(
    ("name", "value"),
    [("keySharedUnblockingIntervalMs", "soon"), ("keySharedUnblockingIntervalMs", "-1"), (CLASSIC, "perhaps"),
     ("subscriptionTypesEnabled", "Shared,Fair"), ("allowAutoTopicCreationType", "some")],
)  # fmt: skip
def test_bad_values_are_refused_and_change_nothing(served: Served, name: str, value: str) -> None:
    status, reason = served.post(f"{AT}/{name}/{value}").refusal
    assert status == 412
    assert reason.startswith("Invalid dynamic-config value: ")
    assert value in reason
    assert served.get(f"{AT}/values").json == {}


def test_the_classic_switch_counts_for_subscriptions_without_consumers(
    served: Served, wire: WireClient, topic: str
) -> None:
    wire.subscribe(topic, "s", 1, SubType.KEY_SHARED, name="first")
    assert served.post(f"{AT}/{CLASSIC}/true").status == 204
    try:
        wire.subscribe(topic, "s", 2, SubType.KEY_SHARED, name="second")
        stats = served.get(f"{path(topic)}/stats").json["subscriptions"]["s"]
        assert all("keyHashRangeArrays" in consumer for consumer in stats["consumers"])
        wire.close_consumer(1)
        wire.close_consumer(2)
        wire.flow(3, 100)
        wire.producer(topic)
        ids = [wire.publish(b"x", number, key=f"k{number}") for number in range(20)]
        wire.subscribe(topic, "s", 3, SubType.KEY_SHARED, name="first")
        wire.flow(3, 100)
        wire.messages(20)
        wire.subscribe(topic, "s", 4, SubType.KEY_SHARED, name="second")
        sub = served.get(f"{path(topic)}/stats").json["subscriptions"]["s"]
        first, second = sub["consumers"]
        assert shape({name: one for name, one in sub.items() if name != "keySharedSelector"}) == shapes.KEY_SHARED
        assert shape(first) == shape(second) == shapes.CLASSIC_CONSUMER
        assert first["readPositionWhenJoining"] == f"{ids[0].ledger}:0"
        assert second["readPositionWhenJoining"] == f"{ids[0].ledger}:20"
        assert sub["consumersAfterMarkDeletePosition"] == {"second": f"{ids[0].ledger}:20"}
        assert first["keyHashRanges"][0] == "[1, 10261479]"
        assert second["keyHashRanges"][0] == "[10261480, 45418277]"
        assert (len(first["keyHashRanges"]), len(second["keyHashRanges"])) == (55, 54)
        assert served.delete(f"{AT}/{CLASSIC}").status == 204
        wire.close_consumer(3)
        wire.close_consumer(4)
        wire.subscribe(topic, "s", 5, SubType.KEY_SHARED)
        sub = served.get(f"{path(topic)}/stats").json["subscriptions"]["s"]
        assert "keyHashRangeArrays" in sub["consumers"][0]
    finally:
        served.delete(f"{AT}/{CLASSIC}")


def test_a_change_is_there_after_a_restart_and_stands_over_the_settings() -> None:
    async def run() -> tuple[list[object], int]:
        metadata = MemoryMetadata()
        found: list[object] = []
        settings = Settings(keySharedUnblockingIntervalMs=77)
        broker = Standalone(settings, MemoryLog(auto=True), metadata)
        await broker.start("127.0.0.1", 0)
        found.append(broker.options.key_shared_unblocking_ms)
        await broker.stop()
        await metadata.open()
        await metadata.put("/settings/keySharedUnblockingIntervalMs", b'{"value":"33"}')
        await metadata.put("/settings/keySharedNackOrder", b'{"value":"what"}')
        await metadata.put("/settings/ofAnotherVersion", b'{"value":"1"}')
        again = Standalone(settings, MemoryLog(auto=True), metadata)
        await again.start("127.0.0.1", 0)
        found += [again.options.key_shared_unblocking_ms, again.options.key_shared_nack_order]
        left = len(again.dynamic.changed())
        await again.stop()
        return found, left

    assert asyncio.run(run()) == ([77, 33, False], 2)


def test_the_classic_dispatcher_is_the_one_that_runs(served: Served, wire: WireClient, topic: str) -> None:
    assert served.post(f"{AT}/{CLASSIC}/true").status == 204
    try:
        wire.subscribe(topic, "s", 1, SubType.KEY_SHARED)
        assert isinstance(served.core.topics[topic].subscriptions["s"].dispatcher, ClassicKeyShared)
    finally:
        served.delete(f"{AT}/{CLASSIC}")

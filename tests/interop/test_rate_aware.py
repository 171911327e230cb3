"""PIP-32 through the official client: with skewed keys the busiest consumer's range is the one that is split."""

from __future__ import annotations

from collections import defaultdict

import pulsar

from magnetar.wire.hashing import murmur3, slot
from tests.interop.helpers import KEY_SHARED, drain
from tests.interop.scenarios.sight import configured, sub_stats
from tests.support.broker import Broker

KEYS = [f"key-{number}" for number in range(200)]


def test_the_busiest_range_is_split_and_the_order_of_keys_holds(
    broker: Broker, client: pulsar.Client, topic: str
) -> None:
    with configured(broker, subscriptionKeySharedSelector="Key_Failover"):
        consumers = [client.subscribe(topic, "s", KEY_SHARED, consumer_name=name) for name in ("c1", "c2")]
        producer = client.create_producer(topic, batching_enabled=False)
        sent: dict[str, int] = defaultdict(int)
        seen: dict[str, list[int]] = defaultdict(list)

        def publish(keys: list[str]) -> None:
            for key in keys:
                producer.send(b"%d" % sent[key], partition_key=key)
                sent[key] += 1

        def take(count: int) -> None:
            for messages in drain(consumers, count, ack=True):
                for message in messages:
                    seen[message.partition_key()].append(int(message.data()))

        def ranges() -> dict[str, list[list[int]]]:
            return {one["consumerName"]: one["keyHashRangeArrays"] for one in sub_stats(broker, topic)["consumers"]}

        assert ranges() == {"c1": [[0, 32_767]], "c2": [[32_768, 65_535]]}
        skewed = [key for key in KEYS if slot(murmur3(key.encode()), 65_536, 0) >= 32_768][:20]
        publish(KEYS + skewed * 10)
        take(len(KEYS) + 200)
        consumers.append(client.subscribe(topic, "s", KEY_SHARED, consumer_name="c3"))
        found = ranges()
        assert found["c1"] == [[0, 32_767]]
        ((low, cut),) = found["c2"]
        assert low == 32_768
        assert found["c3"] == [[cut + 1, 65_535]]
        selector = sub_stats(broker, topic)["keySharedSelector"]
        assert selector["name"] == "rateAware"
        assert selector["decisions"][-1]["otherConsumerName"] == "c2"
        rates = {one["consumerName"]: one["rate"] for one in selector["consumers"]}
        assert 0.5 < rates["c2"] / rates["c3"] < 2

        publish(KEYS + skewed * 5)
        consumers.pop(0).close()
        take(len(KEYS) + 100)
        assert ranges()["c2"] == [[0, cut]]
        assert all(numbers == sorted(set(numbers)) for numbers in seen.values())
        assert sum(map(len, seen.values())) == sum(sent.values())

"""Policies over HTTP: set, read, applied, taken away, refused, at both levels and for every line of the table."""

from __future__ import annotations

import pytest

from magnetar.core.names import TopicName
from magnetar.core.policies.table import POLICIES, Policy
from tests.server.admin.conftest import Served, path
from tests.support.wireclient import WireClient

NAMESPACE = "namespaces/public/default"

SAMPLES: dict[str, object] = {
    "retention_policies": {"retentionTimeInMinutes": 10, "retentionSizeInMB": -1},
    "deduplicationEnabled": True,
    "subscription_types_enabled": ["Exclusive", "Key_Shared"],
    "autoTopicCreationOverride": {
        "allowAutoTopicCreation": True,
        "topicType": "partitioned",
        "defaultNumPartitions": 2,
    },
    "autoSubscriptionCreationOverride": {"allowAutoSubscriptionCreation": False},
    "publishMaxMessageRate": {"publishThrottlingRateInMsg": 10, "publishThrottlingRateInByte": -1},
    "clusterSubscribeRate": {"subscribeThrottlingRatePerConsumer": 5, "ratePeriodInSecond": 30},
    "inactive_topic_policies": {
        "inactiveTopicDeleteMode": "delete_when_no_subscriptions",
        "maxInactiveDurationSeconds": 30,
        "deleteWhileInactive": True,
    },
    "delayed_delivery_policies": {"tickTime": 500, "active": True, "maxDeliveryDelayInMillis": 0},
    "dispatcherPauseOnAckStatePersistentEnabled": True,
    "magnetarFailoverSelector": "balanced",
    "key_shared_selector": "rateAware",
    "schema_compatibility_strategy": "BACKWARD",
    "schema_validation_enforced": True,
    "is_allow_auto_update_schema": False,
    "persistence": {
        "bookkeeperEnsemble": 1,
        "bookkeeperWriteQuorum": 1,
        "bookkeeperAckQuorum": 1,
        "managedLedgerMaxMarkDeleteRate": 1.5,
    },
}
"""A value of each policy that is not a plain number."""

DISPATCH_RATE = {
    "dispatchThrottlingRateInMsg": 100,
    "dispatchThrottlingRateInByte": -1,
    "relativeToPublishRate": False,
    "ratePeriodInSecond": 1,
}


def sample(line: Policy) -> object:
    if line.name.endswith("DispatchRate"):
        return DISPATCH_RATE
    return SAMPLES.get(line.name, 7)


@pytest.fixture
def there(served: Served, topic: str) -> str:
    """Path of a topic that exists."""
    assert served.put(path(topic)).status == 204
    return path(topic)


@pytest.mark.parametrize("line", [line for line in POLICIES if line.namespace_path], ids=lambda line: line.name)
def test_a_policy_of_a_namespace(served: Served, line: Policy) -> None:
    where = f"{NAMESPACE}/{line.namespace_path}"
    assert unset(served, where, line)
    default = served.get(f"{where}?applied=true")
    assert served.ask(line.namespace_write or line.write, f"/admin/v2/{where}", sample(line)).status == 204
    assert served.get(where).json == sample(line)
    stored = served.get(NAMESPACE).json[line.name]
    assert stored == ({"standalone": sample(line)} if line.by_cluster else sample(line))
    assert served.delete(where).status == 204
    assert unset(served, where, line)
    assert served.get(f"{where}?applied=true").text == default.text


def unset(served: Served, where: str, line: Policy) -> bool:
    """Whether the namespace does not set the policy; some are then shown with the value that says so."""
    answer = served.get(where)
    return answer.status == 204 if line.unset is None else answer.json == line.unset


@pytest.mark.parametrize("line", [line for line in POLICIES if line.topic_path], ids=lambda line: line.name)
def test_a_policy_of_a_topic(served: Served, there: str, line: Policy) -> None:
    where = f"{there}/{line.topic_path}"
    assert served.get(where).status == 204
    query = f"?{line.query}={sample(line)}" if line.query else ""
    body = None if line.query else sample(line)
    assert served.ask(line.write, f"/admin/v2/{where}{query}", body).status == 204
    assert served.get(where).json == served.get(f"{where}?applied=true").json == sample(line)
    assert served.delete(where).status == 204
    assert served.get(where).status == 204
    assert served.get(f"{path('persistent://public/default/none')}/{line.topic_path}").status == 404


def test_the_topic_wins_over_the_namespace_over_the_broker(served: Served, there: str) -> None:
    def applied() -> object:
        return served.get(f"{there}/maxConsumers?applied=true").json

    assert applied() == 0
    served.post(f"{NAMESPACE}/maxConsumersPerTopic", 3)
    assert applied() == 3
    served.post(f"{there}/maxConsumers", 5)
    assert applied() == 5
    assert served.delete(f"{there}/policies").status == 204
    assert applied() == 3
    served.delete(f"{NAMESPACE}/maxConsumersPerTopic")
    assert applied() == 0


def test_partitions_have_the_policies_of_their_topic(served: Served, topic: str) -> None:
    assert served.put(f"{path(topic)}/partitions", 2).status == 204
    assert served.post(f"{path(topic)}/maxProducers", 4).status == 204
    assert served.get(f"{path(topic)}-partition-1/maxProducers").json == 4
    assert served.post(f"{path(topic)}-partition-0/maxProducers", 6).status == 204
    assert served.get(f"{path(topic)}/maxProducers").json == 6
    partition = TopicName(f"{topic}-partition-1")
    assert served.call(lambda: served.core.policies.of(partition).max_producers) == 6
    assert served.post(f"{path(topic)}/partitions", 3).status == 204
    assert served.get(f"{path(topic)}/maxProducers").json == 6


def test_quotas_are_set_one_by_one_and_read_together(served: Served, there: str) -> None:
    for base in (NAMESPACE, there):
        assert served.get(f"{base}/backlogQuotaMap").json == {}
        size = {"limit": 1000, "limitSize": 1000, "limitTime": -1, "policy": "producer_exception"}
        age = {"limit": -1, "limitSize": -1, "limitTime": 60, "policy": "consumer_backlog_eviction"}
        assert served.post(f"{base}/backlogQuota", size).status == 204
        assert served.post(f"{base}/backlogQuota?backlogQuotaType=message_age", age).status == 204
        assert served.get(f"{base}/backlogQuotaMap").json == {"destination_storage": size, "message_age": age}
        assert served.delete(f"{base}/backlogQuota").status == 204
        assert served.get(f"{base}/backlogQuotaMap").json == {"message_age": age}
        assert served.delete(f"{base}/backlogQuota?backlogQuotaType=message_age").status == 204
        assert served.get(f"{base}/backlogQuotaMap").json == {}
        assert served.delete(f"{base}/backlogQuota?backlogQuotaType=colour").status == 400


@pytest.mark.parametrize(
    ("last", "body", "status"),
    [
        ("maxConsumersPerTopic", -1, 412),
        ("maxConsumersPerTopic", "many", 400),
        ("maxConsumersPerTopic", True, 400),
        ("maxConsumersPerTopic", 1 << 70, 412),
        ("maxConsumersPerTopic", None, 400),
        ("deduplication", 1, 400),
        ("retention", {"retentionTimeInMinutes": 0, "retentionSizeInMB": 5}, 400),
        ("retention", {"retentionTimeInMinutes": -2, "retentionSizeInMB": 5}, 400),
        ("retention", {"retentionTimeInMinutes": "long"}, 400),
        ("retention", [], 400),
        ("subscriptionTypesEnabled", ["Exclusive", "Private"], 400),
        ("subscriptionTypesEnabled", "Exclusive", 400),
        ("autoTopicCreation", {"allowAutoTopicCreation": 1}, 400),
        ("backlogQuota", {"limit": "much"}, 400),
    ],
)
def test_bad_values_are_refused_and_nothing_changes(served: Served, last: str, body: object, status: int) -> None:
    before = served.get(NAMESPACE).json
    assert served.post(f"{NAMESPACE}/{last}", body).status == status
    assert served.get(NAMESPACE).json == before


def test_bad_values_in_the_query_are_refused(served: Served, there: str) -> None:
    assert served.post(f"{there}/messageTTL?messageTTL=long").status == 400
    assert served.post(f"{there}/messageTTL?messageTTL=-5").status == 412
    assert served.post(f"{there}/messageTTL").status == 400


def test_a_namespace_is_created_with_policies(served: Served) -> None:
    body = {
        "replication_clusters": ["standalone"],
        "message_ttl_in_seconds": 60,
        "publishMaxMessageRate": {"standalone": {"publishThrottlingRateInMsg": 5}},
        "auth_policies": {"namespace_auth": {"app": ["consume"]}},
        "colour": "green",
    }
    assert served.put("namespaces/public/made", body).status == 204
    assert served.get("namespaces/public/made/messageTTL").json == 60
    assert served.get("namespaces/public/made/publishRate").json["publishThrottlingRateInMsg"] == 5
    found = served.get("namespaces/public/made").json
    assert found["auth_policies"]["namespace_auth"] == {"app": ["consume"]}
    assert "colour" not in found
    assert served.put("namespaces/public/worse", {"message_ttl_in_seconds": -3}).status == 412
    assert served.get("namespaces/public/worse").status == 404
    assert served.delete("namespaces/public/made").status == 204


def test_changes_of_one_row_at_the_same_time_all_happen(served: Served, wire: WireClient) -> None:
    wire.producer("persistent://public/default/busy")
    lines = [line for line in POLICIES if line.topic_path and not line.query][:6]

    def all_at_once() -> None:
        rows = served.core.rows
        for line in lines:
            value = line.check(sample(line))

            def change(
                row: dict[str, object] | None, name: str = line.name, value: object = value
            ) -> dict[str, object]:
                assert row is not None
                known = row.get("policies", {})
                assert isinstance(known, dict)
                return {**row, "policies": {**known, name: value}}

            path_of_row = "/topics/" + TopicName("persistent://public/default/busy").path
            rows.change(path_of_row, change, False, lambda error: None)
        served.standalone.pump.schedule()

    served.call(all_at_once)
    assert served.delete("persistent/public/default/busy/subscription/none").status == 404
    for line in lines:
        assert served.get(f"persistent/public/default/busy/{line.topic_path}").json == sample(line)


RETENTION = {"retentionTimeInMinutes": 10, "retentionSizeInMB": 10}
TOO_MUCH = "Backlog Quota exceeds configured retention quota for {}. Please increase retention quota and retry"
TOO_LITTLE = "Retention Quota must exceed configured backlog quota for {}. Please increase retention quota and retry"


def quota(size: int = -1, seconds: int = -1) -> dict[str, object]:
    return {"limitSize": size, "limitTime": seconds, "policy": "producer_exception"}


@pytest.mark.parametrize("of", ["namespace", "topic"])
def test_a_quota_may_not_reach_beyond_the_retention(served: Served, there: str, of: str) -> None:
    where = "namespaces/public/kept" if of == "namespace" else there
    if of == "namespace":
        assert served.put(where).status == 204
    aged = f"{where}/backlogQuota?backlogQuotaType=message_age"
    assert served.post(f"{where}/retention", RETENTION).status == 204
    assert served.post(f"{where}/backlogQuota", quota((10 << 20) - 1)).status == 204
    assert served.post(f"{where}/backlogQuota", quota(10 << 20)).refusal == (412, TOO_MUCH.format(of))
    assert served.post(aged, quota(seconds=599)).status == 204
    assert served.post(aged, quota(seconds=600)).refusal == (412, TOO_MUCH.format(of))
    smaller = {"retentionTimeInMinutes": 10, "retentionSizeInMB": 9}
    assert served.post(f"{where}/retention", smaller).refusal == (412, TOO_LITTLE.format(of))
    shorter = {"retentionTimeInMinutes": 9, "retentionSizeInMB": -1}
    assert served.post(f"{where}/retention", shorter).refusal == (412, TOO_LITTLE.format(of))
    assert served.get(f"{where}/retention").json == RETENTION
    for fits in (-1, 0):
        value = {"retentionTimeInMinutes": fits, "retentionSizeInMB": fits}
        assert served.post(f"{where}/retention", value).status == 204
    assert served.delete(aged).status == 204
    assert served.post(f"{where}/retention", shorter).status == 204


def test_one_subscription_has_a_rate_of_its_own(served: Served, there: str) -> None:
    where = f"{there}/s/dispatchRate"
    assert served.get(where).status == 204
    assert served.get(f"{where}?applied=true").json["dispatchThrottlingRateInMsg"] == 0
    assert served.post(where, DISPATCH_RATE).status == 204
    assert served.get(where).json == served.get(f"{where}?applied=true").json == DISPATCH_RATE
    others = {**DISPATCH_RATE, "dispatchThrottlingRateInMsg": 9}
    assert served.post(f"{there}/subscriptionDispatchRate", others).status == 204
    assert served.get(f"{there}/other/dispatchRate").status == 204
    assert served.get(f"{there}/other/dispatchRate?applied=true").json == others
    assert served.get(f"{where}?applied=true").json == DISPATCH_RATE
    assert served.post(where, {"dispatchThrottlingRateInMsg": "x"}).status == 400
    assert served.delete(where).status == served.delete(where).status == 204
    assert served.get(where).status == 204
    assert served.get(f"{path('persistent://public/default/none')}/s/dispatchRate").status == 404


def test_what_the_broker_does_with_delayed_messages_is_applied(served: Served, there: str) -> None:
    shown = {"tickTime": 1000, "active": True, "maxDeliveryDelayInMillis": 0}
    assert served.get(f"{there}/delayedDelivery?applied=true").json == shown
    assert served.get(f"{NAMESPACE}/delayedDelivery?applied=true").json == shown
    assert served.get(f"{there}/delayedDelivery").status == 204


def test_a_non_persistent_topic_keeps_its_policies_until_it_is_deleted(served: Served, wire: WireClient) -> None:
    name = "non-persistent://public/default/kept"
    where = path(name)
    assert served.post(f"{where}/maxConsumers", 3).status == 404
    wire.producer(name)
    assert served.get(f"{where}/maxConsumers").status == 204
    assert served.post(f"{where}/maxConsumers", 3).status == 204
    assert served.get(f"{where}/maxConsumers").json == 3
    assert served.call(lambda: served.core.topics[name].policies.max_consumers) == 3
    assert served.put(f"{where}/unload").status == 204
    with served.wire() as again:
        again.producer(name)
        assert served.call(lambda: served.core.topics[name].policies.max_consumers) == 3
    assert served.delete(f"{where}?force=true").status == 204
    with served.wire() as again:
        again.producer(name)
        assert served.get(f"{where}/maxConsumers").status == 204
        assert served.post(f"{where}/retention", RETENTION).status == 204
        assert served.delete(f"{where}/policies").status == 204
        assert served.delete(f"{where}/policies").status == 204
        assert served.call(lambda: served.core.catalog.live_policies) == {}

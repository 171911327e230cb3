"""The table of policies: their names in pulsar-admin, their options, and where each is in the admin interface.

Out of one line come three verbs, ``get-``, ``set-`` and ``remove-``. The names differ here and there between topics and
namespaces, as they do in Pulsar.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import click

from magnetar.cli.admin.units import BYTES, MEGABYTES, MILLISECONDS, MINUTES, SECONDS, Duration

__all__ = ["NAMESPACE_POLICIES", "TOPIC_POLICIES", "Choice", "Policy", "Switch"]


class Choice(NamedTuple):
    """One option of a ``set-`` verb. ``field`` is its name in the value; empty: it is the value."""

    flags: str
    field: str
    kind: click.ParamType[Any]
    text: str
    default: Any = None
    required: bool = True


class Switch(NamedTuple):
    """A pair of flags such as ``--enable/--disable``."""

    flags: str
    field: str
    text: str


class Policy(NamedTuple):
    """One line of the table."""

    noun: str
    path: str
    text: str
    options: tuple[Choice | Switch, ...]
    write: str = "POST"
    query: str = ""
    """The value is sent in this part of the query instead of in the body."""
    removable: bool = True
    get: str = ""
    """The noun of the ``get-`` verb where it is another one."""
    get_path: str = ""
    kinds: str = ""
    """The part of the query that says which of several values is meant, with ``-t``."""


_INT, _FLOAT, _TEXT = click.INT, click.FLOAT, click.STRING
_WHOLE_MINUTES = Duration(60_000, "minutes", bare="m")
_QUOTAS = click.Choice(["producer_request_hold", "producer_exception", "consumer_backlog_eviction"])
_STRATEGIES = [
    "UNDEFINED",
    "ALWAYS_INCOMPATIBLE",
    "ALWAYS_COMPATIBLE",
    "BACKWARD",
    "FORWARD",
    "FULL",
    "BACKWARD_TRANSITIVE",
    "FORWARD_TRANSITIVE",
    "FULL_TRANSITIVE",
]
_DELETE_MODES = click.Choice(["delete_when_no_subscriptions", "delete_when_subscriptions_caught_up"])


class _Types(click.ParamType[list[str]]):
    """Subscription types, with commas between them."""

    name = "types"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        names = {name.lower(): name for name in ("Exclusive", "Shared", "Failover", "Key_Shared")}
        words = [word.strip().lower() for word in str(value).split(",") if word.strip()]
        if isinstance(value, list):
            return value
        for word in words:
            if word not in names:
                self.fail(f"'{word}' is none of {', '.join(names.values())}", param, ctx)
        return [names[word] for word in words]


def _switch(text: str, field: str = "") -> Switch:
    return Switch("-e/-d --enable/--disable", field, text)


def _number(flags: str, text: str) -> tuple[Choice, ...]:
    return (Choice(flags, "", _INT, text),)


def _rate(per: str) -> tuple[Choice | Switch, ...]:
    relative = Switch(
        "-rp/-no-rp --relative-to-publish-rate/--absolute", "relativeToPublishRate", "Above the publish rate."
    )
    return (
        Choice(
            "-md --msg-dispatch-rate", "dispatchThrottlingRateInMsg", _INT, f"Messages in a period{per}.", -1, False
        ),
        Choice(
            "-bd --byte-dispatch-rate", "dispatchThrottlingRateInByte", BYTES, f"Bytes in a period{per}.", -1, False
        ),
        Choice("-dt --dispatch-rate-period", "ratePeriodInSecond", SECONDS, "The period.", 1, False),
        relative,
    )


_RETENTION = (
    Choice("-t --time", "retentionTimeInMinutes", MINUTES, "How long: 10m, 3h, 7d; -1: for ever."),
    Choice("-s --size", "retentionSizeInMB", MEGABYTES, "How much: 10M, 16G; -1: without limit."),
)
_QUOTA = (
    Choice("-l --limit", "limitSize", BYTES, "Bytes: 10M, 16G; -1: without limit.", -1, False),
    Choice("-lt --limitTime", "limitTime", SECONDS, "Age: 90s, 10m, 3h; -1: without limit.", -1, False),
    Choice("-p --policy", "policy", _QUOTAS, "What happens at the limit."),
)
_PUBLISH_RATE = (
    Choice("-m --msg-publish-rate", "publishThrottlingRateInMsg", _INT, "Messages a second.", -1, False),
    Choice("-b --byte-publish-rate", "publishThrottlingRateInByte", BYTES, "Bytes a second.", -1, False),
)
_SUBSCRIBE_RATE = (
    Choice("-sr --subscribe-rate", "subscribeThrottlingRatePerConsumer", _INT, "Times in a period.", -1, False),
    Choice("-st --subscribe-rate-period", "ratePeriodInSecond", SECONDS, "The period.", 30, False),
)
_INACTIVE = (
    _switch("Whether such topics are deleted.", "deleteWhileInactive")._replace(
        flags="-e/-d --enable-delete-while-inactive/--disable-delete-while-inactive"
    ),
    Choice("-t --max-inactive-duration", "maxInactiveDurationSeconds", SECONDS, "How long: 90s, 10m, 3h, 7d."),
    Choice("-m --delete-mode", "inactiveTopicDeleteMode", _DELETE_MODES, "When a topic counts as inactive."),
)
_DELAYED = (
    _switch("Whether messages are held back until their time.", "active"),
    Choice("-t --time", "tickTime", MILLISECONDS, "How exactly, at most: 1s.", 1_000, False),
    Choice("-md --maxDelay", "maxDeliveryDelayInMillis", MILLISECONDS, "How long at most: 7d; 0: no limit.", 0, False),
)
_PERSISTENCE = (
    Choice("-e --bookkeeper-ensemble", "bookkeeperEnsemble", _INT, "Bookies of a topic.", 2, False),
    Choice("-w --bookkeeper-write-quorum", "bookkeeperWriteQuorum", _INT, "Copies of an entry.", 2, False),
    Choice("-a --bookkeeper-ack-quorum", "bookkeeperAckQuorum", _INT, "Copies that are waited for.", 2, False),
    Choice(
        "-r --ml-mark-delete-max-rate", "managedLedgerMaxMarkDeleteRate", _FLOAT, "Mark-deletes a second.", 0.0, False
    ),
)
_TYPES_ENABLED = (Choice("-t --types", "", _Types(), "Exclusive,Shared,Failover,Key_Shared, or some of them."),)
_SCHEMA = (Choice("-c --compatibility", "", click.Choice(_STRATEGIES, False), "The strategy."),)
_SELECTORS = click.Choice(("modulo", "ring", "separated", "balanced", "first"))
_SELECTOR = (Choice("-s --selector", "", _SELECTORS, "The selector."),)
_DRAIN = (Choice("-t --time", "", MILLISECONDS, "At most: 500ms, 30s; 0: not at all."),)
_KEY_SELECTORS = click.Choice(("consistentHashing", "autoSplit", "rateAware", "Key_Failover"), False)
_KEY_SELECTOR = (Choice("-s --selector", "", _KEY_SELECTORS, "The selector."),)
_THRESHOLD = (Choice("-t --threshold", "", BYTES, "Bytes of backlog: 10M, 16G; 0: only when asked to."),)
_SNAPSHOTS = _number("-i --interval", "After how many entries; 0: as the broker does.")
_TTL_TEXT = "after which time a message counts as acknowledged"
_PAUSE = "whether dispatching pauses when acknowledgements cannot be kept"


def _common(topic: bool) -> tuple[Policy, ...]:
    """What topics and namespaces have under the same names."""
    return (
        Policy("retention", "retention", "how long and how much is kept of what is acknowledged", _RETENTION),
        Policy("backlog-quota", "backlogQuota", "how much and how old a backlog may become", _QUOTA,
               get="backlog-quotas", get_path="backlogQuotaMap", kinds="backlogQuotaType"),
        Policy("publish-rate", "publishRate", "how much may be published", _PUBLISH_RATE),
        Policy("dispatch-rate", "dispatchRate", "how much may be dispatched from a topic", _rate("")),
        Policy("subscription-dispatch-rate", "subscriptionDispatchRate", "how much may be dispatched to a subscription",
               _rate("")),
        Policy("replicator-dispatch-rate", "replicatorDispatchRate", "how much may be replicated", _rate("")),
        Policy("subscribe-rate", "subscribeRate", "how often a consumer may subscribe", _SUBSCRIBE_RATE),
        Policy("inactive-topic-policies", "inactiveTopicPolicies", "when an unused topic is deleted", _INACTIVE),
        Policy("delayed-delivery", "delayedDelivery", "delayed delivery", _DELAYED),
        Policy("persistence", "persistence", "how entries are stored", _PERSISTENCE),
        Policy("subscription-types-enabled", "subscriptionTypesEnabled", "which subscription types may be used",
               _TYPES_ENABLED),
        Policy("deduplication-snapshot-interval", "deduplicationSnapshotInterval",
               "how often deduplication writes down what it knows", _SNAPSHOTS, removable=topic),
        Policy("auto-subscription-creation", "autoSubscriptionCreation", "whether using a subscription creates it",
               (_switch("Whether it does.", "allowAutoSubscriptionCreation"),)),
        Policy("dispatcher-pause-on-ack-state-persistent", "dispatcherPauseOnAckStatePersistent", _PAUSE,
               (_switch("Whether it does.")._replace(flags="--enable/--disable"),)),
        Policy("failover-selector", "magnetarFailoverSelector", "how the active consumer is chosen", _SELECTOR),
        Policy("failover-drain", "magnetarFailoverDrainMs", "how long the active consumer may finish", _DRAIN),
        Policy("schema-compatibility-strategy", "schemaCompatibilityStrategy", "how a new schema must go with others",
               _SCHEMA, write="PUT", removable=topic),
        Policy("schema-validation-enforce", "schemaValidationEnforced", "whether producers need a schema",
               (_switch("Whether they do."),), removable=False),
        Policy("compaction-threshold", "compactionThreshold", "at which backlog a topic is compacted", _THRESHOLD,
               write="POST" if topic else "PUT"),
        Policy("key-shared-selector", "keySharedSelector", "how Key_Shared shares out keys", _KEY_SELECTOR),
    )  # fmt: skip


TOPIC_POLICIES = (
    *_common(topic=True),
    Policy("message-ttl", "messageTTL", _TTL_TEXT, (Choice("-t --ttl", "", SECONDS, "90s, 10m, 3h; 0: never."),),
           query="messageTTL"),
    Policy("max-producers", "maxProducers", "how many producers there may be",
           _number("-p --max-producers", "0: no limit.")),
    Policy("max-consumers", "maxConsumers", "how many consumers there may be",
           _number("-c --max-consumers", "0: no limit.")),
    Policy("max-consumers-per-subscription", "maxConsumersPerSubscription", "consumers of a subscription",
           _number("-c --max-consumers-per-subscription", "0: no limit.")),
    Policy("max-subscriptions-per-topic", "maxSubscriptionsPerTopic", "how many subscriptions there may be",
           _number("-s --max-subscriptions-per-topic", "0: no limit.")),
    Policy("max-unacked-messages-per-consumer", "maxUnackedMessagesOnConsumer",
           "how much a consumer may hold unacknowledged", _number("-m --maxNum", "0: no limit.")),
    Policy("max-unacked-messages-per-subscription", "maxUnackedMessagesOnSubscription",
           "how much a subscription may hold unacknowledged", _number("-m --maxNum", "0: no limit.")),
    Policy("max-message-size", "maxMessageSize", "how large a message may be",
           (Choice("-m --max-message-size", "", BYTES, "Bytes: 64k, 1M; 0: as the broker allows."),)),
    Policy("deduplication", "deduplicationEnabled", "whether what is sent again is dropped",
           (_switch("Whether it is."),)),
    Policy("subscription-expiration-time", "subscriptionExpirationTime", "when an unused subscription is deleted",
           (Choice("-t --time", "", _WHOLE_MINUTES, "Minutes, or 3h, 7d; 0: never."),),
           query="subscriptionExpirationTime"),
)  # fmt: skip

NAMESPACE_POLICIES = (
    *_common(topic=False),
    Policy("message-ttl", "messageTTL", _TTL_TEXT,
           (Choice("-ttl --messageTTL", "", SECONDS, "90s, 10m, 3h; 0: never."),)),
    Policy("max-producers-per-topic", "maxProducersPerTopic", "how many producers a topic may have",
           _number("-p --max-producers-per-topic", "0: no limit.")),
    Policy("max-consumers-per-topic", "maxConsumersPerTopic", "how many consumers a topic may have",
           _number("-c --max-consumers-per-topic", "0: no limit.")),
    Policy("max-consumers-per-subscription", "maxConsumersPerSubscription", "consumers of a subscription",
           _number("-c --max-consumers-per-subscription", "0: no limit.")),
    Policy("max-subscriptions-per-topic", "maxSubscriptionsPerTopic", "how many subscriptions a topic may have",
           _number("-m --max-subscriptions-per-topic", "0: no limit.")),
    Policy("max-topics-per-namespace", "maxTopicsPerNamespace", "how many topics there may be",
           _number("-t --max-topics-per-namespace", "0: no limit.")),
    Policy("max-unacked-messages-per-consumer", "maxUnackedMessagesPerConsumer",
           "how much a consumer may hold unacknowledged",
           _number("-c --max-unacked-messages-per-topic --max-unacked-messages-per-consumer", "0: no limit.")),
    Policy("max-unacked-messages-per-subscription", "maxUnackedMessagesPerSubscription",
           "how much a subscription may hold unacknowledged",
           _number("-c --max-unacked-messages-per-subscription", "0: no limit.")),
    Policy("deduplication", "deduplication", "whether what is sent again is dropped", (_switch("Whether it is."),)),
    Policy("subscription-expiration-time", "subscriptionExpirationTime", "when an unused subscription is deleted",
           (Choice("-t --time", "", _WHOLE_MINUTES, "Minutes, or 3h, 7d; 0: never."),)),
    Policy("auto-topic-creation", "autoTopicCreation", "whether and how using a topic creates it",
           (_switch("Whether it does.", "allowAutoTopicCreation"),
            Choice("-t --type", "topicType", click.Choice(["non-partitioned", "partitioned"]), "Which kind.",
                   "non-partitioned", False),
            Choice("-n --num-partitions", "defaultNumPartitions", _INT, "How many partitions.", None, False))),
    Policy("is-allow-auto-update-schema", "isAllowAutoUpdateSchema", "whether producers may register schemas",
           (_switch("Whether they may."),), removable=False),
)  # fmt: skip

"""Settings that are changed while the broker runs.

A change stands in the metadata store as the text that was given, one row a setting; it is applied to the core's options
at once and again at every start, over whatever the file, the environment and the command line say. Only settings are
here that the core looks at each time it needs them, so that writing the option is all there is to do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from magnetar.core.broker import Broker
from magnetar.core.policies.follow import options_changed
from magnetar.errors import MagnetarError
from magnetar.server.core_options import core_options
from magnetar.server.settings import Settings, keys
from magnetar.server.settings_load import SettingsError, parse_value, write_value

__all__ = ["DYNAMIC", "Dynamic", "NotDynamicError"]

DYNAMIC = (
    "activeConsumerFailoverConsistentHashing",
    "activeConsumerFailoverDelayTimeMillis",
    "activeConsumerFailoverDrainMs",
    "activeConsumerFailoverSelector",
    "allowAutoSubscriptionCreation",
    "allowAutoTopicCreation",
    "allowAutoTopicCreationType",
    "brokerDeleteInactivePartitionedTopicMetadataEnabled",
    "brokerDeleteInactiveTopicsEnabled",
    "brokerDeleteInactiveTopicsFrequencySeconds",
    "brokerDeleteInactiveTopicsMaxInactiveDurationSeconds",
    "brokerDeleteInactiveTopicsMode",
    "defaultNumPartitions",
    "dispatchThrottlingOnNonBacklogConsumerEnabled",
    "dispatchThrottlingRateInByte",
    "dispatchThrottlingRateInMsg",
    "dispatchThrottlingRatePerSubscriptionInByte",
    "dispatchThrottlingRatePerSubscriptionInMsg",
    "dispatchThrottlingRatePerTopicInByte",
    "dispatchThrottlingRatePerTopicInMsg",
    "dispatchThrottlingRateRelativeToPublishRate",
    "dispatcherMaxReadSizeBytes",
    "dispatcherMaxRoundRobinBatchSize",
    "dispatcherPauseOnAckStatePersistentEnabled",
    "isAllowAutoUpdateSchemaEnabled",
    "isSchemaValidationEnforced",
    "keySharedDrainLeaseMs",
    "keySharedLookAheadMsgInReplayThresholdPerConsumer",
    "keySharedLookAheadMsgInReplayThresholdPerSubscription",
    "keySharedNackOrder",
    "keySharedRebalanceSlotsPerMinute",
    "keySharedRebalanceThresholdPercent",
    "keySharedUnblockingIntervalMs",
    "managedLedgerCacheSizeMB",
    "maxConsumersPerSubscription",
    "maxConsumersPerTopic",
    "maxNumPartitionsPerPartitionedTopic",
    "maxProducersPerTopic",
    "maxPublishRatePerTopicInBytes",
    "maxPublishRatePerTopicInMessages",
    "maxSubscriptionsPerTopic",
    "maxTopicsPerNamespace",
    "maxUnackedMessagesPerConsumer",
    "maxUnackedMessagesPerSubscription",
    "schemaCompatibilityStrategy",
    "subscribeRatePeriodPerConsumerInSecond",
    "subscribeThrottlingRatePerConsumer",
    "subscriptionKeySharedConsistentHashingReplicaPoints",
    "subscriptionKeySharedSelector",
    "subscriptionKeySharedUseClassicPersistentImplementation",
    "subscriptionKeySharedUseConsistentHashing",
    "subscriptionTypesEnabled",
    "ttlDurationDefaultInSeconds",
)
"""What the core looks at each time, or what topics follow by their policies."""


class NotDynamicError(MagnetarError):
    """The setting is unknown or takes effect only at start."""

    status = 412


class Dynamic:
    """``given`` is what the broker was started with; what was changed since stands in the core's catalogue."""

    def __init__(self, given: Settings, core: Broker) -> None:
        self.given: Settings = given
        self.core: Broker = core
        self.applied: dict[str, Any] = core_options(given).values()

    def changed(self) -> dict[str, str]:
        """The settings that were changed, as they were written. Rows of other versions of the broker are left out."""
        return {name: str(row["value"]) for name, row in self.core.catalog.settings.items() if name in DYNAMIC}

    def in_force(self) -> Settings:
        """What counts now. A value that this version does not take is passed over."""
        values: dict[str, Any] = {}
        for name, text in self.changed().items():
            try:
                values[name] = parse_value(keys()[name], text)
            except SettingsError:
                continue
        return replace(self.given, **values)

    def runtime(self) -> dict[str, str]:
        """Every setting as text, those that were changed as they are now."""
        settings = self.in_force()
        return {name: write_value(getattr(settings, name)) for name in keys()}

    def check(self, name: str, text: str | None) -> None:
        """Refuse a setting that cannot be changed while the broker runs, and a value that it cannot have."""
        if name not in DYNAMIC:
            verb = "delete" if text is None else "update"
            raise NotDynamicError(
                f"Can't {verb} non-dynamic configuration: {name} does not change while the broker runs; "
                "GET /admin/v2/brokers/configuration lists what does"
            )
        if text is not None:
            try:
                parse_value(keys()[name], text)
            except SettingsError as error:
                raise SettingsError(f"Invalid dynamic-config value: {error}") from None

    def apply(self) -> None:
        """Give the core what counts now, and let every subscription look again at what it may do."""
        core, wanted = self.core, core_options(self.in_force()).values()
        for name, value in wanted.items():
            if value != self.applied[name]:
                setattr(core.options, name, value)
        self.applied = wanted
        core.budget.limit_bytes = core.options.tail_cache_bytes
        options_changed(core)
        for topic in core.topics.values():
            for sub in topic.subscriptions.values():
                core.wake(sub)

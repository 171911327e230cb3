"""The three levels of policies: a topic's own over its namespace's over the broker's.

``PolicyBook`` hands out one ``TopicPolicies`` for each namespace, shared by all topics that have no policies of their
own, and throws them away when something changes (``forget``).
"""

from __future__ import annotations

from typing import Any

from magnetar.core.catalog import Catalog
from magnetar.core.names import TopicName
from magnetar.core.options import Options
from magnetar.core.policies.effective import TopicPolicies
from magnetar.core.policies.table import BACKLOG_QUOTAS, POLICIES, Policy, policy
from magnetar.core.policies.values import Rate
from magnetar.core.throttle import Throttle, throttle

__all__ = ["PolicyBook", "stored"]

Row = dict[str, Any]


def stored(row: Row, line: Policy, cluster: str) -> Any:
    """The policy's value in a namespace's row, None where it has none."""
    found = row.get(line.name)
    if line.by_cluster and found is not None:
        return found.get(cluster)
    return found


class PolicyBook:
    """See the module's text."""

    def __init__(self, options: Options, catalog: Catalog) -> None:
        self.options: Options = options
        self.catalog: Catalog = catalog
        self.shared: dict[str, TopicPolicies] = {}
        self.broker_rate: Rate = Rate(options.dispatch_rate_messages, options.dispatch_rate_bytes)
        self.broker_throttle: Throttle | None = None

    def of(self, name: TopicName) -> TopicPolicies:
        """What holds for the topic."""
        own = self.catalog.own_policies(name)
        if own:
            return self._make(name.namespace, own)
        found = self.shared.get(name.namespace)
        if found is None:
            found = self._make(name.namespace, {})
            self.shared[name.namespace] = found
        return found

    def _make(self, namespace: str, own: Row) -> TopicPolicies:
        found = TopicPolicies(self.options)
        row = self.catalog.namespaces.get(namespace, {})
        for line in POLICIES:
            for value in (stored(row, line, self.options.cluster), own.get(line.name)):
                if value is not None:
                    found.put(line.name, value)
        return found

    def namespace_value(self, namespace: str, name: str) -> Any:
        """The effective value of a policy for a namespace, as it is stored."""
        line = policy(name)
        found = stored(self.catalog.namespaces.get(namespace, {}), line, self.options.cluster)
        if name == BACKLOG_QUOTAS and found is not None:
            return {**line.default(self.options), **found}
        return line.default(self.options) if found is None else found

    def topic_value(self, name: TopicName, policy_name: str) -> Any:
        """The effective value of a policy for a topic, as it is stored."""
        found = self.catalog.own_policies(name).get(policy_name)
        if policy_name == BACKLOG_QUOTAS and found is not None:
            return {**self.namespace_value(name.namespace, policy_name), **found}
        return self.namespace_value(name.namespace, policy_name) if found is None else found

    def forget(self) -> None:
        """Something has changed above the topics."""
        self.shared.clear()
        self.broker_rate = Rate(self.options.dispatch_rate_messages, self.options.dispatch_rate_bytes)

    def dispatch_throttle(self, now_ms: int) -> Throttle | None:
        """What limits dispatching over all topics."""
        self.broker_throttle = throttle(self.broker_throttle, self.broker_rate, now_ms)
        return self.broker_throttle

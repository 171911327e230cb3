"""The schemas that routes refer to by name."""

from __future__ import annotations

from magnetar.admin.routes.route import BOOL, INT, STRING, STRINGS, TEXTS, Schema, array, obj, ref, table

__all__ = ["COMPONENTS"]

_NUMBER: Schema = {"type": "number"}

_URLS = ("serviceUrl", "serviceUrlTls", "brokerServiceUrl", "brokerServiceUrlTls", "proxyServiceUrl")

COMPONENTS: dict[str, Schema] = {
    "Reason": obj({"reason": STRING}),
    "MessageId": obj(
        {"ledgerId": INT, "entryId": INT, "partitionIndex": INT, "batchIndex": INT, "batchSize": INT},
        {"outstandingAcksInSameBatch": INT, "originalBatchSize": INT},
    ),
    "Position": {
        "type": "object",
        "properties": {
            "ledgerId": INT,
            "entryId": INT,
            "batchIndex": {"type": "integer"},
            "isExcluded": BOOL,
            "excluded": BOOL,
            "properties": TEXTS,
        },
    },
    "Place": {"anyOf": [{"type": "string", "enum": ["earliest", "latest"]}, ref("Position")]},
    "Tenant": obj({"allowedClusters": STRINGS}, {"adminRoles": STRINGS}),
    "Cluster": {"type": "object", "properties": {**dict.fromkeys(_URLS, STRING), "peerClusterNames": STRINGS}},
    "Bundles": obj({"boundaries": STRINGS, "numBundles": {"type": "integer"}}),
    "Policies": obj(
        {
            "auth_policies": {"type": "object"},
            "replication_clusters": STRINGS,
            "bundles": ref("Bundles"),
            "backlog_quota_map": {"type": "object"},
            "deleted": BOOL,
            "encryption_required": BOOL,
            "subscription_auth_mode": STRING,
            "schema_compatibility_strategy": STRING,
            "is_allow_auto_update_schema": BOOL,
            "schema_validation_enforced": BOOL,
            "properties": TEXTS,
        }
    ),
    "NewNamespace": {
        "type": "object",
        "properties": {
            "replication_clusters": STRINGS,
            "bundles": {"type": "object", "properties": {"boundaries": STRINGS, "numBundles": {"type": "integer"}}},
            "properties": TEXTS,
            "encryption_required": BOOL,
        },
    },
    "Actions": array({"type": "string", "enum": ["produce", "consume", "functions", "sources", "sinks", "packages"]}),
    "OnTopic": obj({"topic": STRING, "role": STRING}, {"actions": ref("Actions")}),
    "Permissions": table(STRINGS),
    "PartitionedMetadata": obj({"partitions": {"type": "integer"}, "deleted": BOOL}, {"properties": TEXTS}),
    "Partitions": {
        "anyOf": [
            {"type": "integer", "maximum": 8},
            obj({"partitions": {"type": "integer", "maximum": 8}}, {"properties": TEXTS}),
        ]
    },
    "TopicStats": obj(
        {
            "msgRateIn": _NUMBER,
            "msgThroughputIn": _NUMBER,
            "msgRateOut": _NUMBER,
            "msgThroughputOut": _NUMBER,
            "bytesInCounter": INT,
            "msgInCounter": INT,
            "bytesOutCounter": INT,
            "msgOutCounter": INT,
            "averageMsgSize": _NUMBER,
            "storageSize": INT,
            "backlogSize": INT,
            "publishers": array({"type": "object"}),
            "waitingPublishers": {"type": "integer"},
            "subscriptions": table(ref("SubscriptionStats")),
            "replication": {"type": "object"},
        }
    ),
    "SubscriptionStats": obj(
        {
            "msgRateOut": _NUMBER,
            "msgBacklog": INT,
            "unackedMessages": INT,
            "type": STRING,
            "consumers": array({"type": "object"}),
            "isDurable": BOOL,
        }
    ),
    "PartitionedStats": {
        "allOf": [
            ref("TopicStats"),
            obj({"metadata": ref("PartitionedMetadata"), "partitions": table(ref("TopicStats"))}),
        ]
    },
    "InternalStats": obj(
        {"entriesAddedCounter": INT, "numberOfEntries": INT, "totalSize": INT, "cursors": table({"type": "object"})},
        {"lastConfirmedEntry": STRING, "state": STRING, "ledgers": array({"type": "object"})},
    ),
    "PartitionedInternalStats": obj(
        {"metadata": ref("PartitionedMetadata"), "partitions": table(ref("InternalStats"))}
    ),
    "LedgerInfo": {
        "anyOf": [
            obj({"version": INT, "ledgers": array({"type": "object"}), "cursors": table({"type": "object"})}),
            obj({"version": INT, "partitions": table({"type": "object"})}),
        ]
    },
    "Backlog": obj({"topicName": STRING, "storageSize": INT, "totalMessages": INT, "messageBacklog": INT}),
    "AnalyzedBacklog": obj(
        {"entries": INT, "messages": INT, "markerMessages": INT, "aborted": BOOL},
        {"firstMessageId": STRING, "lastMessageId": STRING},
    ),
    "Schema": obj({"version": INT, "type": STRING, "timestamp": INT, "data": STRING, "properties": TEXTS}),
    "NewSchema": obj({"type": STRING, "schema": STRING}, {"properties": TEXTS}),
    "Compatibility": obj({"schemaCompatibilityStrategy": STRING, "compatibility": BOOL}),
    "Lookup": obj({"brokerUrl": STRING, "httpUrl": STRING, "nativeUrl": STRING, "brokerUrlSsl": STRING}),
    "HashPositions": obj({"namespace": STRING, "bundle": STRING, "topicHashPositions": table(INT)}),
    "OwnedStatus": obj({"broker_assignment": STRING, "is_controlled": BOOL, "is_active": BOOL}),
}

"""Routes of topics and their messages."""

from __future__ import annotations

from magnetar.admin.handlers import (
    clearing,
    compaction,
    contents,
    messages,
    partitions,
    permissions,
    properties,
    stats,
    subscriptions,
    topics,
)
from magnetar.admin.routes.route import BOOL, BYTES, INT, STRING, STRINGS, TEXTS, TOPIC, V2, Route, obj, ref, table

__all__ = ["TOPICS"]

_LIST = f"{V2}/persistent/{{t}}/{{n}}"
_FORCE = {"force": BOOL}
_VIEW = {"excludePublishers": BOOL, "excludeConsumers": BOOL}
_ID = ref("MessageId")

TOPICS = (
    Route("GET", _LIST, topics.topic_list, "topics of a namespace", STRINGS,
          query={"bundle": STRING, "includeSystemTopic": BOOL}),
    Route("GET", f"{_LIST}/partitioned", topics.partitioned_list, "partitioned topics", STRINGS),
    Route("PUT", TOPIC, topics.create, "create a topic, with properties if it is to have some", body=TEXTS),
    Route("DELETE", TOPIC, topics.delete, "delete a topic, by force also while it is in use", query=_FORCE),
    # Partitions
    Route("PUT", f"{TOPIC}/partitions", partitions.create, "create a partitioned topic", body=ref("Partitions")),
    Route("POST", f"{TOPIC}/partitions", partitions.grow, "more partitions", body=ref("Partitions")),
    Route("GET", f"{TOPIC}/partitions", partitions.get, "how many partitions", ref("PartitionedMetadata"),
          query={"checkAllowAutoCreation": BOOL}),
    Route("DELETE", f"{TOPIC}/partitions", partitions.delete, "delete a partitioned topic", query=_FORCE),
    Route("POST", f"{TOPIC}/createMissedPartitions", contents.create_missed, "make partitions that are not there yet"),
    # Statistics
    Route("GET", f"{TOPIC}/stats", stats.single, "statistics of a topic", ref("TopicStats"), query=_VIEW),
    Route("GET", f"{TOPIC}/internalStats", stats.internal, "ledgers and cursors of a topic", ref("InternalStats")),
    Route("GET", f"{TOPIC}/internal-info", contents.internal_info, "ledgers and cursors as they are stored",
          ref("LedgerInfo")),
    Route("GET", f"{TOPIC}/partitioned-stats", stats.partitioned, "statistics of a partitioned topic",
          ref("PartitionedStats"), query=_VIEW | {"perPartition": BOOL}),
    Route("GET", f"{TOPIC}/partitioned-internalStats", stats.partitioned_internal, "ledgers of all partitions",
          ref("PartitionedInternalStats")),
    Route("GET", f"{TOPIC}/subscriptions", subscriptions.names, "names of the subscriptions", STRINGS),
    Route("GET", f"{TOPIC}/backlog", topics.backlog, "what lies unacknowledged", ref("Backlog")),
    Route("PUT", f"{TOPIC}/backlogSize", messages.backlog_size, "how many bytes lie behind a message", INT,
          ref("Position")),
    # Messages
    Route("GET", f"{TOPIC}/lastMessageId", messages.last, "id of the last message", _ID),
    Route("GET", f"{TOPIC}/messageid/{{timestamp}}", messages.by_time, "id of the first message from a time on", _ID),
    Route("GET", f"{TOPIC}/ledger/{{ledgerId}}/entry/{{entryId}}", messages.by_id, "a message by its id", BYTES),
    Route("GET", f"{TOPIC}/examinemessage", messages.examine, "a message by its place in the topic", BYTES,
          query={"initialPosition": STRING, "messagePosition": INT}),
    # The topic as a whole
    Route("PUT", f"{TOPIC}/compaction", compaction.compact, "compact a topic"),
    Route("GET", f"{TOPIC}/compaction", compaction.status, "how the compaction of a topic stands",
          obj({"status": STRING, "lastError": STRING})),
    Route("POST", f"{TOPIC}/terminate", topics.terminate, "end a topic", _ID),
    Route("POST", f"{TOPIC}/terminate/partitions", topics.terminate_partitions, "end all partitions", table(_ID)),
    Route("PUT", f"{TOPIC}/unload", topics.unload, "disconnect everybody from a topic"),
    Route("DELETE", f"{TOPIC}/truncate", contents.truncate, "give up everything published so far"),
    Route("POST", f"{TOPIC}/trim", contents.trim, "drop at once what retention does not keep"),
    Route("POST", f"{TOPIC}/all_subscription/expireMessages/{{expireTimeInSeconds}}", clearing.expire_all,
          "acknowledge what is old, on every subscription"),
    # Properties and permissions
    Route("GET", f"{TOPIC}/properties", properties.topic_get, "properties of a topic", TEXTS),
    Route("PUT", f"{TOPIC}/properties", properties.topic_put, "add properties to a topic", body=TEXTS),
    Route("DELETE", f"{TOPIC}/properties", properties.topic_delete, "take away properties of a topic",
          query={"key": STRING}),
    Route("GET", f"{TOPIC}/permissions", permissions.of_topic, "what roles may do on a topic", ref("Permissions")),
    Route("POST", f"{TOPIC}/permissions/{{role}}", permissions.topic_grant, "permissions of a role on a topic",
          body=ref("Actions")),
    Route("DELETE", f"{TOPIC}/permissions/{{role}}", permissions.topic_revoke,
          "take away a role's permissions on a topic"),
)  # fmt: skip

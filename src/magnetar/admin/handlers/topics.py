"""Topics as a whole: list, create, delete, terminate, unload, where they end."""

from __future__ import annotations

import msgspec
from aiohttp import web

from magnetar.admin.answers import Fields, Refusal, json_answer, no_content
from magnetar.admin.bundles import within
from magnetar.admin.call import Call
from magnetar.admin.handlers.permissions import forget_topic
from magnetar.admin.handlers.properties import check_size
from magnetar.core.creating import create_topic, delete_topic
from magnetar.core.names import TopicName
from magnetar.core.systemtopics import is_transaction_topic
from magnetar.core.topic import Topic
from magnetar.core.topic_ops import terminate as end_topic
from magnetar.core.topic_ops import unload as disconnect_all

__all__ = [
    "backlog",
    "check_new",
    "create",
    "delete",
    "message_id",
    "partitioned_list",
    "refuse_busy",
    "terminate",
    "terminate_partitions",
    "topic_list",
    "unload",
]


_PROPERTIES: msgspec.json.Decoder[dict[str, str] | None] = msgspec.json.Decoder(dict[str, str] | None)


def check_new(call: Call, name: TopicName) -> None:
    """Refuse the name of a topic to be made when it is taken or cannot be one."""
    if name.local != name.local.strip():
        raise Refusal(412, "Topic name is not valid: it begins or ends with white space")
    if is_transaction_topic(str(name)):
        raise Refusal(400, "Cannot create topic in system topic format!")
    if str(name) in call.core.topics or call.core.catalog.partitions(name):
        raise Refusal(409, "This topic already exists")


def refuse_busy(topic: Topic) -> None:
    """A topic in use is deleted by force only."""
    consumers = len(topic.consumers())
    producers = len(topic.producers)
    if consumers or producers:
        raise Refusal(
            412,
            f"Topic has {consumers + producers} clients connected Including {consumers} consumers, "
            f"{producers} producers, and 0 replicators.",
        )


async def topic_list(call: Call) -> web.Response:
    """All topics of the namespace, or of one range of it; of partitioned ones every partition."""
    bundle = call.request.query.get("bundle")
    system = call.flag("includeSystemTopic")
    names = call.core.catalog.topic_names(call.namespace(), call.domain(), system)
    return json_answer(sorted(name for name in names if bundle is None or within(bundle, name)))


async def partitioned_list(call: Call) -> web.Response:
    catalog, system = call.core.catalog, call.flag("includeSystemTopic")
    return json_answer(sorted(catalog.partitioned_names(call.namespace(), call.domain(), system)))


async def create(call: Call) -> web.Response:
    name = call.name()
    given: dict[str, str] | None = await call.body(_PROPERTIES, None)
    properties = check_size(given or {})
    check_new(call, name)
    _refuse_partition(call, name)
    await call.bridge.change(lambda done: create_topic(call.core, name, lambda topic, error: done(error), properties))
    return no_content()


def _refuse_partition(call: Call, name: TopicName) -> None:
    """A name like that of a partition is given by making the partitioned topic, not one by one."""
    if name.partition < 0:
        return
    parent = TopicName(f"{name.domain}://{name.namespace}/{name.parent}")
    if call.core.catalog.partitions(parent) <= name.partition:
        raise Refusal(
            412,
            f"Can't create topic {name.local} with \"-partition-\" followed by numeric value if there isn't a "
            f"partitioned topic {name.parent} created.",
        )


async def delete(call: Call) -> web.Response:
    name = call.name()
    if call.core.catalog.partitions(name):
        raise Refusal(
            409,
            f"{name} is a partitioned topic, instead of calling delete topic, please call delete-partitioned-topic.",
        )
    topic = await call.open(name)
    if not call.flag("force"):
        refuse_busy(topic)
    await call.bridge.change(lambda done: delete_topic(call.core, topic, done))
    await forget_topic(call, name)
    return no_content()


async def terminate(call: Call) -> web.Response:
    """Nothing more can be published; the answer is the id of the last message."""
    name = call.name()
    if call.core.catalog.partitions(name):
        raise Refusal(405, "Termination of a partitioned topic is not allowed")
    topic = await call.open(name)
    return json_answer(await _terminate(call, topic))


async def _terminate(call: Call, topic: Topic) -> Fields:
    await call.bridge.change(lambda done: end_topic(topic, done))
    return message_id(topic, topic.tail.end - 1, -1)


async def terminate_partitions(call: Call) -> web.Response:
    """The same for every partition; answers with the last message id of each."""
    name = call.name()
    count = call.core.catalog.partitions(name)
    if not count:
        raise Refusal(
            405,
            "Termination of a non-partitioned topic is not allowed using partitioned-terminate, please use terminate "
            "commands",
        )
    found: Fields = {}
    for index in range(count):
        found[str(index)] = await _terminate(call, await call.open(name.with_partition(index)))
    return json_answer(found)


async def unload(call: Call) -> web.Response:
    """Everybody is disconnected and comes back."""
    name = call.name()
    partitions = call.core.catalog.partitions(name)
    topics = [await call.open(name)] if not partitions else []
    for index in range(partitions):
        topic = call.core.topics.get(str(name.with_partition(index)))
        if topic is not None:
            topics.append(topic)

    def turn() -> None:
        for topic in topics:
            disconnect_all(topic)

    call.bridge.pump.run(turn)
    return no_content()


def message_id(topic: Topic, offset: int, batch_index: int) -> Fields:
    """The id of the entry at ``offset``; of what lies before the first one when there is none."""
    ledger, entry = -1, -1
    if topic.ledgers.ids:
        ledger, entry = topic.ledgers.position_before(max(offset, topic.first_offset - 1) + 1)
    return {
        "ledgerId": ledger,
        "entryId": entry,
        "partitionIndex": topic.name.partition,
        "batchIndex": batch_index,
        "batchSize": 0,
    }


async def backlog(call: Call) -> web.Response:
    """What the topic holds and what of it is not acknowledged, in the form of Pulsar's estimate for idle topics."""
    topic = await call.topic()
    name = topic.name
    details: Fields = {
        sub.name: {"cursorBacklog": sub.backlog(), "cursorLedgerId": -1}
        for sub in topic.subscriptions.values()
        if sub.durable
    }
    low = topic.low_water()
    return json_answer(
        {
            "topicName": f"{name.namespace}/{name.domain}/{name.local}",
            "brokerName": call.core.options.http_url.partition("://")[2].rpartition(":")[0],
            "storageSize": topic.size_bytes,
            "totalMessages": topic.tail.end - topic.first_offset,
            "messageBacklog": topic.tail.end - low,
            "dataLedgerDetails": [],
            "cursorDetails": details,
            "statGeneratedAt": call.now_ms(),
        }
    )

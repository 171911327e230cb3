"""What a topic holds as a whole: emptied, trimmed, its missing partitions made, and its ledgers listed."""

from __future__ import annotations

from functools import partial

from aiohttp import web

from magnetar.admin.answers import Fields, Refusal, json_answer, no_content
from magnetar.admin.call import Call
from magnetar.admin.stats.common import iso
from magnetar.core.creating import create_topic
from magnetar.core.names import TopicName
from magnetar.core.resetting import truncate as empty
from magnetar.core.topic import Topic
from magnetar.core.upkeep import trim as drop_ledgers

__all__ = ["create_missed", "internal_info", "trim", "truncate"]


async def _topics(call: Call) -> list[Topic]:
    """The topic of the path, or its partitions as far as they have been used."""
    name = call.name()
    return call.partitions(name) if call.core.catalog.partitions(name) else [await call.open(name)]


async def truncate(call: Call) -> web.Response:
    """Everything published so far is given up, whoever has not taken it yet."""
    for topic in await _topics(call):
        if not topic.deleted:
            await call.bridge.change(partial(empty, topic))
    return no_content()


async def trim(call: Call) -> web.Response:
    """Drop at once what retention would drop at its next round."""
    topics = await _topics(call)

    def turn() -> None:
        for topic in topics:
            if not topic.deleted:
                drop_ledgers(topic)

    call.bridge.pump.run(turn)
    return no_content()


async def create_missed(call: Call) -> web.Response:
    """Partitions come into being with their first use; those that have not are made now."""
    name = call.name()
    count = call.core.catalog.partitions(name)
    if not count:
        raise Refusal(404, f"Topic {name} does not exist")
    for index in range(count):
        partition = name.with_partition(index)
        if str(partition) not in call.core.topics:
            await call.bridge.change(partial(_create, call, partition))
    return no_content()


def _create(call: Call, name: TopicName, done: object) -> None:
    assert callable(done)
    create_topic(call.core, name, lambda topic, error: done(error))


async def internal_info(call: Call) -> web.Response:
    """Ledgers and cursors as they are stored; of a partitioned topic for each of its partitions."""
    name = call.name()
    count = call.core.catalog.partitions(name)
    if not count:
        return json_answer(_info(await call.open(name)))
    return json_answer({"version": 0, "partitions": {str(topic.name): _info(topic) for topic in call.partitions(name)}})


def _info(topic: Topic) -> Fields:
    ledgers = topic.ledgers
    created, changed = iso(topic.created_ms), iso(ledgers.opened[-1] if ledgers.ids else topic.created_ms)
    rows: list[Fields] = []
    for at, ident in enumerate(ledgers.ids):
        row: Fields = {"ledgerId": ident}
        if at + 1 < len(ledgers.ids):
            row |= {"entries": ledgers.bases[at + 1] - ledgers.bases[at], "size": ledgers.sizes[at]}
        rows.append({**row, "timestamp": ledgers.opened[at], "isOffloaded": False})
    cursors: Fields = {}
    for sub in topic.subscriptions.values():
        if not sub.durable:
            continue
        ledger, entry = ledgers.position_before(sub.acks.floor) if ledgers.ids else (-1, -1)
        cursors[sub.name] = {
            "version": 1,
            "creationDate": created,
            "modificationDate": iso(sub.last_moved_ms or topic.created_ms),
            "cursorsLedgerId": -1,
            "markDelete": {"ledgerId": ledger, "entryId": entry},
        }
    return {"version": 1, "creationDate": created, "modificationDate": changed, "ledgers": rows, "cursors": cursors}

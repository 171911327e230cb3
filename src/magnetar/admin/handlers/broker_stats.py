"""Statistics of the broker as a whole, in the forms that Pulsar's tools read."""

from __future__ import annotations

import asyncio
import time

from aiohttp import web

from magnetar.admin.answers import Fields, json_answer
from magnetar.admin.bundles import boundaries, broker_id, bundle_of
from magnetar.admin.call import Call
from magnetar.admin.stats.domains import stats_of
from magnetar.admin.stats.topic import View
from magnetar.core.topic import Topic

__all__ = ["metrics", "topics"]

SLICE_TOPICS = 20
"""Topics that are described in one turn of the loop."""


async def topics(call: Call) -> web.Response:
    """Statistics of all topics: by namespace, range, domain, name."""
    view = View(call.rates, broker_id(call.core))
    found: dict[str, dict[str, dict[str, Fields]]] = {}
    for index, topic in enumerate(list(call.core.topics.values())):
        if index % SLICE_TOPICS == 0:
            await asyncio.sleep(0)
        if topic.deleted:
            continue
        name = topic.name
        bundle = bundle_of(boundaries(call.core, name.namespace), str(name))
        domains = found.setdefault(name.namespace, {}).setdefault(bundle, {})
        domains.setdefault(name.domain, {})[str(name)] = _described(topic, view)
    return json_answer(found)


def _described(topic: Topic, view: View) -> Fields:
    """The statistics of the topic, with the names that they have in this place besides."""
    found = stats_of(topic, view)
    return {
        **found,
        "producerCount": len(topic.producers),
        "msgInCount": found["msgInCounter"],
        "bytesInCount": found["bytesInCounter"],
        "msgOutCount": found["msgOutCounter"],
        "bytesOutCount": found["bytesOutCounter"],
        "pendingAddEntriesCount": topic.next_offset - topic.tail.end,
        "filteredEntriesCount": 0,
    }


async def metrics(call: Call) -> web.Response:
    """A few figures of the process and the broker; all others are at /metrics."""
    core = call.core
    figures: Fields = {
        "brk_topics_count": len(core.topics),
        "brk_producers_count": sum(len(topic.producers) for topic in core.topics.values()),
        "brk_consumers_count": sum(len(topic.consumers()) for topic in core.topics.values()),
        "brk_connections_count": len(core.sessions),
        "brk_ml_count": len(core.topics),
        "brk_ml_cache_used_size": core.budget.used_bytes,
        "brk_cpu_seconds": time.process_time(),
    }
    return json_answer([{"metrics": figures, "dimensions": {"broker": broker_id(core)}}])

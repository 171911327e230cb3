"""What producers and consumers may bring: their schemas, checked against the topic's before they are let in.

A producer's schema is registered unless it is known; one without schema is refused where validation is enforced and the
topic has a schema. A consumer's schema only has to read what is there; it is registered where nobody has used the topic
yet, and refused where the topic is in use without a schema.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from magnetar.core.creating import with_topic
from magnetar.core.schemas.definition import Definition, why_incompatible
from magnetar.core.schemas.info import AUTO_CONSUME, from_wire
from magnetar.core.topic import Topic
from magnetar.errors import IncompatibleSchema, MagnetarError, ServiceNotReady
from magnetar.wire.commands import pb

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.schemas.registry import Registered

__all__ = ["is_auto_consume", "with_topic_to_read", "with_topic_to_write"]

ToWrite = Callable[[Topic | None, int, Exception | None], None]
ToRead = Callable[[Topic | None, Exception | None], None]

_CONSUMER_READS = ("BACKWARD", "FORWARD", "FORWARD_TRANSITIVE", "FULL")
"""Strategies under which a consumer's schema has to read what the latest one writes, and no more."""


def is_auto_consume(message: pb.CommandSubscribe) -> bool:
    """Whether the consumer takes the topic's schema, whatever it is. Older clients bring no schema then."""
    return message.HasField("schema") and message.schema.type == AUTO_CONSUME


def with_topic_to_write(broker: Broker, message: pb.CommandProducer, then: ToWrite) -> None:
    """Call with the topic and the version of the producer's schema, -1 for none, or with why it may not write."""

    def opened(topic: Topic | None, error: Exception | None) -> None:
        if topic is None:
            then(None, -1, error)
            return
        found = topic

        def checked(version: int, wrong: Exception | None) -> None:
            then(found if wrong is None else None, version, wrong)

        try:
            _admit_producer(found, message, checked)
        except MagnetarError as wrong:
            then(None, -1, wrong)

    with_topic(broker, message.topic, True, opened)


def with_topic_to_read(broker: Broker, message: pb.CommandSubscribe, then: ToRead) -> None:
    """Call with the topic when the consumer's schema goes with it, or with why it may not read."""

    def opened(topic: Topic | None, error: Exception | None) -> None:
        if topic is None or not message.HasField("schema"):
            then(topic, error)
            return
        found = topic

        def checked(version: int, wrong: Exception | None) -> None:
            then(found if wrong is None else None, wrong)

        try:
            _admit_consumer(found, message, checked)
        except MagnetarError as wrong:
            then(None, wrong)

    with_topic(broker, message.topic, message.force_topic_creation, opened)


def _admit_producer(topic: Topic, message: pb.CommandProducer, then: Registered) -> None:
    book, policies = topic.broker.schemas, topic.policies
    info = from_wire(message.schema) if message.HasField("schema") else None
    if info is not None:
        if topic.deleted:
            raise ServiceNotReady(f"{topic.name} is being deleted; try again")
        book.register(topic.name, info, policies.schema_strategy, policies.schema_auto_update, then)
        return
    if policies.schema_enforced and book.of(topic.name).live:
        raise IncompatibleSchema(
            f"{topic.name} has a schema and schema validation is enforced (schemaValidationEnforced), so producers "
            "without a schema are refused"
        )
    then(-1, None)


def _admit_consumer(topic: Topic, message: pb.CommandSubscribe, then: Registered) -> None:
    info = None if is_auto_consume(message) else from_wire(message.schema)
    if info is None:
        then(-1, None)
        return
    if topic.deleted:
        raise ServiceNotReady(f"{topic.name} is being deleted; try again")
    book, policies = topic.broker.schemas, topic.policies
    strategy = policies.schema_strategy
    history = book.of(topic.name)
    if history.live:
        latest = history.live[-1].definition
        if latest.info == info and strategy in _CONSUMER_READS:
            then(-1, None)
            return
        wanted = "BACKWARD" if strategy in _CONSUMER_READS else strategy
        reason = why_incompatible(history.definitions, Definition(info), wanted)
        if reason:
            raise IncompatibleSchema(f"Incompatible schema for {topic.name} with strategy {strategy}: {reason}")
        then(-1, None)
        return
    if topic.producers or topic.size_bytes or any(not consumer.auto_consume for consumer in topic.consumers()):
        raise IncompatibleSchema(
            f"Failed to add schema to an active topic with empty(BYTES) schema: new schema type {info.kind}"
        )
    book.register(topic.name, info, strategy, policies.schema_auto_update, then)

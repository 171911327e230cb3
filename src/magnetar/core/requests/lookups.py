"""Where is a topic, how many partitions has it, and which topics are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.creating import auto_partitions, create_partitioned, may_create, with_topic
from magnetar.core.names import NON_PERSISTENT, PERSISTENT, TopicName
from magnetar.core.topic import Topic
from magnetar.core.topiclist.pattern import FILTERED_NAME_LENGTH_MAX, compiled, matches
from magnetar.errors import MagnetarError, NotAllowed, TopicNotFound
from magnetar.wire.commands import pb
from magnetar.wire.hashing import topics_hash

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.session import Session

__all__ = [
    "check_listener",
    "lookup",
    "partitioned_metadata",
    "partitions_of",
    "topics_of_namespace",
]


def _code(error: Exception) -> pb.ServerError:
    code = error.code if isinstance(error, MagnetarError) else 0
    return pb.ServerError.Name(code)  # type: ignore[return-value]


def partitions_of(broker: Broker, name: TopicName, create: bool) -> int:
    """How many partitions the topic has, 0 for none; TopicNotFound when it neither exists nor may be created."""
    found = broker.catalog.partitions(name)
    if found or str(name) in broker.topics:
        return found
    if name.namespace not in broker.catalog.namespaces:
        raise TopicNotFound(f"Namespace {name.namespace} does not exist")
    if create and may_create(broker, name):
        return auto_partitions(broker, name) if name.partition < 0 else 0
    if name.partition >= 0:
        parent = broker.catalog.partitioned.get(f"{name.domain}://{name.namespace}/{name.parent}")
        if parent is not None and name.partition < int(parent["partitions"]):
            return 0
    raise TopicNotFound(f"Topic {name} does not exist, and creating it by use is not allowed")


def partitioned_metadata(broker: Broker, session: Session, message: pb.CommandPartitionedTopicMetadata) -> None:
    """PARTITIONED_METADATA, which is also where a topic that does not exist yet comes into being."""
    request = message.request_id

    def answer(partitions: int, error: Exception | None) -> None:
        if error is not None:
            session.reply(
                pb.CommandPartitionedTopicMetadataResponse(
                    request_id=request,
                    response=pb.CommandPartitionedTopicMetadataResponse.LookupType.Failed,
                    error=_code(error),
                    message=str(error),
                )
            )
            return
        session.reply(
            pb.CommandPartitionedTopicMetadataResponse(
                request_id=request,
                response=pb.CommandPartitionedTopicMetadataResponse.LookupType.Success,
                partitions=partitions,
            )
        )

    try:
        name = TopicName(message.topic)
        create = message.metadata_auto_creation_enabled
        partitions = partitions_of(broker, name, create)
        if broker.catalog.partitions(name) or str(name) in broker.topics:
            answer(partitions, None)
        elif partitions:
            create_partitioned(broker, name, partitions, True, lambda error: answer(partitions, error))
        else:

            def created(topic: Topic | None, error: Exception | None) -> None:
                answer(0, error)

            with_topic(broker, message.topic, create, created)
    except MagnetarError as error:
        answer(0, error)


def check_listener(name: str) -> None:
    """A client may ask for the address under a listener's name. This broker has one address, which has no name."""
    if name:
        raise NotAllowed(f"this broker has no advertised listener '{name}'; connect without a listener name")


def lookup(broker: Broker, session: Session, message: pb.CommandLookupTopic) -> None:
    """LOOKUP: one broker serves everything, so the answer is always this one."""
    kinds = pb.CommandLookupTopicResponse.LookupType
    try:
        check_listener(message.advertised_listener_name)
        name = TopicName(message.topic)
        if not broker.catalog.partitions(name):
            partitions_of(broker, name, True)
    except MagnetarError as error:
        session.reply(
            pb.CommandLookupTopicResponse(
                request_id=message.request_id, response=kinds.Failed, error=_code(error), message=str(error)
            )
        )
        return
    session.reply(
        pb.CommandLookupTopicResponse(
            request_id=message.request_id,
            response=kinds.Connect,
            brokerServiceUrl=broker.options.broker_url,
            authoritative=True,
        )
    )


def topics_of_namespace(broker: Broker, session: Session, message: pb.CommandGetTopicsOfNamespace) -> None:
    """GET_TOPICS_OF_NAMESPACE: the names, filtered by pattern when that is cheap; nothing when nothing changed."""
    modes = pb.CommandGetTopicsOfNamespace.Mode
    if message.namespace not in broker.catalog.namespaces:
        raise TopicNotFound(f"Namespace {message.namespace} does not exist")
    domain = {modes.PERSISTENT: PERSISTENT, modes.NON_PERSISTENT: NON_PERSISTENT}.get(message.mode, "")
    names = broker.catalog.topic_names(message.namespace, domain, False)
    options = broker.options
    wanted = compiled(message.topics_pattern, options.pattern_length_max) if options.pattern_evaluation else None
    filtered = wanted is not None and all(len(name) <= FILTERED_NAME_LENGTH_MAX for name in names)
    if wanted is not None and filtered:
        names = [name for name in names if matches(wanted, name)]
    digest = topics_hash(names)
    changed = message.topics_hash != digest
    session.reply(
        pb.CommandGetTopicsOfNamespaceResponse(
            request_id=message.request_id,
            topics=names if changed else [],
            filtered=filtered,
            topics_hash=digest,
            changed=changed,
        )
    )

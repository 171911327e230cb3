"""``magnetar consume``: messages of a subscription, one per line of stdout.

A message is acknowledged when its line has left this process, so that a reader that goes away loses none.
"""

from __future__ import annotations

import json
import sys

import click

from magnetar.cli.pulsarclient import URL_OPTION, VERBOSE_OPTION, Message, connected

__all__ = ["command"]

QUEUE_MAX = 1000
_TYPES = {"Exclusive": "Exclusive", "Shared": "Shared", "Failover": "Failover", "Key_Shared": "KeyShared"}


@click.command("consume")
@click.argument("topic")
@click.option("-s", "--subscription-name", "subscription", required=True, metavar="NAME", help="The subscription.")
@click.option(
    "-n", "--num-messages", "count", default=1, show_default=True, type=click.IntRange(0), help="How many; 0: no end."
)
@click.option(
    "-t", "--subscription-type", "kind", default="Exclusive", show_default=True, type=click.Choice(list(_TYPES), False)
)
@click.option(
    "-p",
    "--subscription-position",
    "position",
    default="Latest",
    show_default=True,
    type=click.Choice(["Earliest", "Latest"], False),
    help="Where a new subscription begins.",
)
@click.option("--hide-content", is_flag=True, help="Do not print what is in the messages.")
@click.option("--hex", "as_hex", is_flag=True, help="Print the content in hexadecimal.")
@click.option("--json", "as_json", is_flag=True, help="Print each message as one JSON object, with all that is known.")
@URL_OPTION
@VERBOSE_OPTION
def command(
    topic: str,
    subscription: str,
    count: int,
    kind: str,
    position: str,
    hide_content: bool,
    as_hex: bool,
    as_json: bool,
    url: str,
    verbose: bool,
) -> None:
    """Receive messages of TOPIC, print them on stdout and acknowledge them."""
    received: int | None = None
    try:
        with connected(url, verbose) as (pulsar, client):
            consumer = client.subscribe(
                topic,
                subscription,
                consumer_type=pulsar.ConsumerType.__members__[_TYPES[kind]],
                initial_position=pulsar.InitialPosition.__members__[position],
                # What is fetched and not printed would have to be delivered to somebody else once more.
                receiver_queue_size=min(count, QUEUE_MAX) or QUEUE_MAX,
                # Else the part of a batch that was printed would be delivered again with the rest.
                batch_index_ack_enabled=True,
            )
            received = 0
            click.echo(f"subscribed to {topic}", err=True)
            while not count or received < count:
                message = consumer.receive()
                _print(message, hide_content, as_hex, as_json)
                consumer.acknowledge(message)
                received += 1
            consumer.close()
    except SystemExit as ended:
        # Without a count Ctrl-C is how it ends.
        if ended.code != 130 or count:
            raise
    finally:
        if received is not None:
            click.echo(f"{received} messages received", err=True)


def _print(message: Message, hide_content: bool, as_hex: bool, as_json: bool) -> None:
    if as_json:
        line = json.dumps(_describe(message, hide_content, as_hex), ensure_ascii=False).encode()
    elif hide_content:
        return
    else:
        line = message.data().hex().encode() if as_hex else message.data()
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def _describe(message: Message, hide_content: bool, as_hex: bool) -> dict[str, object]:
    found: dict[str, object] = {
        "messageId": str(message.message_id()),
        "topic": message.topic_name(),
        "key": message.partition_key() or None,
        "properties": dict(message.properties()),
        "publishTime": message.publish_timestamp(),
        "eventTime": message.event_timestamp() or None,
        "producerName": message.producer_name(),
        "redeliveryCount": message.redelivery_count(),
    }
    if not hide_content:
        found.update(_content(message, as_hex))
    return found


def _content(message: Message, as_hex: bool) -> dict[str, object]:
    """As text if it is text, else in hexadecimal under another name, so that a program need not guess."""
    if message.has_null_value():
        return {"content": None}
    data = message.data()
    if not as_hex:
        try:
            return {"content": data.decode()}
        except UnicodeDecodeError:
            pass
    return {"contentHex": data.hex()}

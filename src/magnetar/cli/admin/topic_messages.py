"""Looking at messages without consuming them, and finding them by time."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from magnetar.cli.admin.command import SUBSCRIPTION, TOPIC, Broker, Topic, verbs
from magnetar.cli.admin.messages import Message, unpack
from magnetar.cli.admin.output import say, show_json
from magnetar.cli.adminclient import Reply

__all__ = ["add"]

_PAST_THE_END = 404


def _print(broker: Broker, messages: list[Message]) -> None:
    for message in messages:
        if broker.as_json:
            show_json(message.fields())
        else:
            for line in message.lines():
                click.echo(line)


def _moment(text: str) -> int:
    """Milliseconds since 1970 of a moment; without a zone it is in UTC."""
    if text.isdigit():
        return int(text)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(f"'{text}' is not a moment such as 2026-11-19T08:30:00Z", param_hint="-d") from None
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)


def add(group: click.Group) -> None:
    """Put the commands into ``magnetar topics``."""
    _add_looking(group)
    _add_ids(group)


def _add_looking(group: click.Group) -> None:
    verb = verbs(group)

    @verb("peek-messages")
    @TOPIC
    @SUBSCRIPTION
    @click.option("-n", "--count", default=1, show_default=True, type=click.IntRange(1), help="How many entries.")
    def _peek(broker: Broker, topic: Topic, sub: str, count: int) -> None:
        """Print the first messages of a backlog; they stay in it."""
        found = 0
        for number in range(1, count + 1):
            path = f"{topic.sub(sub)}/position/{number}"
            reply = broker.request("GET", path, may_be=(_PAST_THE_END,) if found else ())
            if reply.status == _PAST_THE_END:
                break
            _print(broker, unpack(reply))
            found += 1
        if found < count:
            say(f"the backlog of {sub} ends after {found} entries")

    @verb("examine-messages", "examine-message")
    @TOPIC
    @click.option("-i", "--initialPosition", "start", default="latest", type=click.Choice(["latest", "earliest"]))
    @click.option(
        "-m", "--messagePosition", "number", default=1, show_default=True, type=click.IntRange(1), help="The n-th one."
    )
    def _examine(broker: Broker, topic: Topic, start: str, number: int) -> None:
        """Print the n-th entry of TOPIC from its end or its beginning."""
        query = {"initialPosition": start, "messagePosition": number}
        _print(broker, unpack(broker.request("GET", f"{topic.path}/examinemessage", query)))

    @verb("get-message-by-id")
    @TOPIC
    @click.option("-l", "--ledgerId", "ledger", required=True, type=int, help="The ledger.")
    @click.option("-e", "--entryId", "entry", required=True, type=int, help="The entry in it.")
    def _by_id(broker: Broker, topic: Topic, ledger: int, entry: int) -> None:
        """Print the entry with this id."""
        reply: Reply = broker.request("GET", f"{topic.path}/ledger/{ledger}/entry/{entry}")
        _print(broker, unpack(reply))


def _add_ids(group: click.Group) -> None:
    verb = verbs(group)

    @verb("last-message-id")
    @TOPIC
    def _last(broker: Broker, topic: Topic) -> None:
        """Print the id of the last message of TOPIC."""
        broker.show(broker.get(f"{topic.path}/lastMessageId"))

    @verb("get-message-id")
    @TOPIC
    @click.option("-d", "--datetime", "moment", required=True, metavar="MOMENT", help="2026-11-19T08:30:00Z, or in ms.")
    def _by_time(broker: Broker, topic: Topic, moment: str) -> None:
        """Print the id of the first message that was published at a moment or later."""
        broker.show(broker.get(f"{topic.path}/messageid/{_moment(moment)}"))

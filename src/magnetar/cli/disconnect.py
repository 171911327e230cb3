"""``magnetar disconnect``: release what a consumer holds by disconnecting it."""

from __future__ import annotations

from urllib.parse import quote

import click

from magnetar.cli.adminclient import ADMIN_URL_OPTION, ask, subscription_path

__all__ = ["command"]


@click.command("disconnect")
@click.argument("topic")
@click.argument("subscription")
@click.argument("consumer")
@ADMIN_URL_OPTION
def command(topic: str, subscription: str, consumer: str, admin_url: str) -> None:
    """Disconnect CONSUMER (by its name) from SUBSCRIPTION on TOPIC; what it holds goes to the others, in order.

    A client that is alive comes back by itself and gets a share again. One that hangs does not.
    """
    path = f"{subscription_path(topic, subscription)}/consumer/{quote(consumer, safe='')}/disconnect"
    ask(admin_url, "POST", path)
    click.echo(f"{consumer} is disconnected from {subscription} on {topic}", err=True)

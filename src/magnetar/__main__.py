"""``python -m magnetar`` is the ``magnetar`` command."""

from magnetar.cli import main

main()

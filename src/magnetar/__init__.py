"""Magnetar: a message broker in Python that any Apache Pulsar client can talk to."""

__version__ = "0.1.0"

"""The HTTP side of the broker: administration with Pulsar's routes and field names, metrics, and lookup over HTTP."""

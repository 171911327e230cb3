"""The daily commands: what pulsar-admin does, over the admin interface of any Pulsar."""

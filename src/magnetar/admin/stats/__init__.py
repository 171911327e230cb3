"""Statistics as Pulsar's clients and tools know them: its field names, in its order, with its meanings."""

"""The small protocols between the core and the world: the log, the metadata store, the clock."""

"""The handlers, grouped as the paths are."""

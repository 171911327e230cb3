"""Which topics a pattern matches, and telling those who watch a pattern when that changes."""

"""Schemas of topics: what they are, how they change, and where they are kept. ``registry`` is where to begin."""

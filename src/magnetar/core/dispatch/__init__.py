"""How entries find consumers: one dispatcher per subscription, chosen by its type."""

"""Pictures for the guides, drawn from runs of the real core: ``python -m tools.pictures`` writes them anew."""

"""Selectors: which consumer of a Key_Shared subscription a hash slot belongs to."""

"""Policies: what a namespace or a topic may have and does, over the defaults of the broker.

``table`` lists them all: where each is set, how its values are checked, and what it does. ``effective`` makes of the
three levels the one object that a topic acts by.
"""

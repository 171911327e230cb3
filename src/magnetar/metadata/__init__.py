"""Adapters of the metadata port: ``memory`` for tests and simulation, ``sqlite`` for one machine.

Nothing is imported here, so that a program pays only for the adapter it opens.
"""

"""Bytes to commands and back, and nothing else: no I/O, no clock, no state.

``frames`` cuts a stream, ``hot`` reads and writes what travels once per message, ``commands`` everything else through
protobuf, ``entry``, ``metadata`` and ``batch`` look into what producers send, ``hashing`` holds the protocol's hashes.
Import from the modules; this package itself stays empty so that each user loads only what it needs.
"""

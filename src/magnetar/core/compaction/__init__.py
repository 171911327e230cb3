"""Compaction: a view of a topic that holds the latest message of every key.

``job`` makes the view, in steps that wait for the log and for work outside of the loop; ``scan`` is that work;
``state`` is what a topic knows of its view; ``runner`` decides which topic's turn it is; the dispatcher in
``dispatch/compacted`` reads it.
"""

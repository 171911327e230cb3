"""The simulator: the real core in a world that one seed decides.

Nothing here is a mock of the broker. ``magnetar.core`` runs as it does in production, over the log in memory, with
simulated clients that speak frames, a clock that is moved by hand, and faults wherever the world may fail: a commit
that does not come back, a metadata write that is refused, a connection that is cut, a process that is killed.

How a run goes:

1. ``scenario`` draws a *scenario* from the seed: subscriptions, options, and how often each thing happens.
2. ``actions`` draws a list of *actions* from the seed, such as ``("ack", 4711, 2, 0)``. The numbers in it choose among
   whatever is there when it is carried out, so that a list with some of its actions taken out still means something.
3. ``drive`` carries them out in a ``world``, by the tables of ``doing``, one turn of the core after each. Clients speak
   through ``peer``, with ``publishing``, ``consuming`` and ``acking``; ``disk`` is the log, the store and the crash.
4. ``book`` and ``subbook`` write down what clients and log have seen: what was published, what is durable, who holds
   what. They look at frames where they cross the broker's edge, not into the broker.
5. ``rules`` compares. Some rules are asked at every message, receipt or acknowledgement, some every few steps, some at
   the end, after faults have stopped and everybody acknowledges everything (``quiet``).

A rule that does not hold raises a ``Violation``. ``shrink`` then takes actions away for as long as the same rule is
violated, and what is left is written to a file that ``magnetar simulate --replay`` runs again.
"""

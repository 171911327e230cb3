"""The rows that compare rates with the rival, and those that show how the cost of a message grows."""

from __future__ import annotations

from collections.abc import Callable

from bench.arena import Arena, Contender, Load, Row, Run, say
from bench.brokers import Broker
from bench.disk import sync_loop
from bench.frames import Load as Frames
from bench.frames import prepare
from bench.stats import Goal, ratio, verdict
from bench.table import figure

BATCH = 100
BATCH_WINDOW = 500
KEYS = 1000
KEY_CONSUMERS = 4
KEY_SMALL = 20_000
MANY = 64

BATCH_OPTIONS = ("--batch", BATCH)


def rate_row(
    arena: Arena,
    key: str,
    title: str,
    run: Run,
    goals: Callable[[Row], list[Goal]],
    kinder: dict[str, Run] | None = None,
) -> Row:
    """Compare all contenders in one run; where the rival does not come through, its best of kinder ones counts."""
    say(f"{title} ...")
    row = Row(key, title, "rate")
    contenders = arena.compare(run)
    note_failures(row, contenders)
    ours = contenders[0]
    row.ours, row.broker_us, row.load_us, row.spread = ours.rate(), ours.broker_us(), ours.load_us(), ours.spread()
    for contender in contenders:
        row.samples[contender.broker.name] = contender.samples
        row.notes += [f"{contender.broker.name}: {note}" for note in _notes(contender)]
        if contender.broker is arena.rival:
            row.rival, row.rival_us = contender.rate(), contender.broker_us()
            row.rival_spread = contender.spread()
        elif contender.broker is arena.pulsar:
            row.pulsar = contender.rate()
    if row.rival is None and arena.rival is not None and kinder:
        _kinder_tries(arena, arena.rival, row, kinder)
    row.ratio = ratio(row.ours, row.rival)
    wanted = goals(row)
    row.target, row.verdict = " or ".join(goal.text for goal in wanted), verdict(wanted)
    return row


def _kinder_tries(arena: Arena, rival: Broker, row: Row, kinder: dict[str, Run]) -> None:
    """Give a rival that failed easier tasks of the same kind, and compare with the best it reaches in any of them."""
    for name, run in kinder.items():
        with arena.started([rival]) as (again,):
            if not again.failure:
                again.samples = [arena.sample(rival, run) for _ in range(arena.rounds)]
        rate = again.rate()
        say(f"  {rival.name}, {name}: {'no answer' if rate is None else f'{rate:,.0f} msg/s'}")
        row.notes.append(f"{rival.name}, {name}: {figure(rate, 'rate')}")
        row.samples[f"{rival.name}, {name}"] = again.samples
        if rate is not None and rate > (row.rival or 0.0):
            row.rival, row.rival_mark, row.rival_us = rate, name, again.broker_us()
            row.rival_spread = again.spread()


def note_failures(row: Row, contenders: list[Contender]) -> None:
    """Write what did not come through below the table."""
    row.notes += [f"{contender.broker.name}: {contender.failure}" for contender in contenders if contender.failure]


def _notes(contender: Contender) -> list[str]:
    return sorted({note for sample in contender.samples for note in sample.notes})


def at_least(share: float) -> Callable[[Row], list[Goal]]:
    """Return the goal that ours is at least this share of the rival's rate."""
    return lambda row: [Goal(f"ratio >= {share:g}", row.ratio, at_least=share)]


def publish(arena: Arena) -> Row:
    """Publish unbatched."""
    run = Run(arena.size(400_000, 100_000), (Load("publish"),))
    return rate_row(arena, "publish", "publish, unbatched", run, at_least(0.7))


def consume(arena: Arena) -> Row:
    """Consume and acknowledge a backlog on a Shared subscription."""
    run = Run(arena.size(300_000, 100_000), (Load("consume"),), backlog=Load("publish"), kind="shared")
    return rate_row(arena, "consume", "consume + ack, Shared", run, at_least(2.0))


def both(arena: Arena) -> Row:
    """Publish, consume and acknowledge at once."""
    run = Run(arena.size(300_000, 100_000), (Load("consume"), Load("publish")), kind="shared")
    return rate_row(arena, "both", "publish and consume at once", run, at_least(1.8))


def key_shared(arena: Arena) -> Row:
    """Consume and acknowledge a keyed backlog with several Key_Shared consumers."""
    options = ("--type", "key_shared", "--connections", KEY_CONSUMERS)
    run = Run(
        arena.size(300_000, 100_000),
        (Load("consume", options),),
        ("--keys", KEYS),
        backlog=Load("publish"),
        kind="key_shared",
    )
    shared, backlog = ("--keys", KEYS), Load("publish")
    small = Load("consume", (*options, "--queue", KEY_SMALL))
    alone = Load("consume", ("--type", "key_shared"))
    kinder = {
        f"{KEY_SMALL:,} messages": Run(KEY_SMALL, (small,), shared, backlog, "key_shared"),
        "1 consumer": Run(arena.size(300_000, 100_000), (alone,), shared, backlog, "key_shared"),
    }
    title = f"Key_Shared, {KEYS:,} keys, {KEY_CONSUMERS} consumers"
    return rate_row(arena, "key_shared", title, run, at_least(1.5), kinder)


def publish_batch(arena: Arena) -> Row:
    """Publish in batches; the disk alone, with the same bytes, is the other yardstick."""
    messages = arena.size(2_000_000, 500_000)
    bytes_each = prepare(Frames(BATCH, batch=BATCH)).stride
    half = BATCH_WINDOW // 2
    bare = [sync_loop(arena.folder, bytes_each * half, messages // BATCH // half)]

    def goals(row: Row) -> list[Goal]:
        bare.append(sync_loop(arena.folder, bytes_each * half, messages // BATCH // half))
        disk_rate = sum(run.bytes_per_s for run in bare) / len(bare) / bytes_each * BATCH
        share = ratio(row.ours, disk_rate)
        row.notes.append(
            f"the bare loop, before and after, writes {half} batches a sync at {disk_rate / 1e6:.2f} M msg/s,"
            f" one sync in {bare[0].median_ms:.2f} and {bare[1].median_ms:.2f} ms; ours is {share or 0.0:.2f} of it"
        )
        return [*at_least(0.3)(row), Goal("0.7 of bare loop", share, at_least=0.7)]

    run = Run(messages, (Load("publish", ("--window", BATCH_WINDOW)),), BATCH_OPTIONS)
    return rate_row(arena, "publish_batch", f"publish, batches of {BATCH}", run, goals)


def consume_batch(arena: Arena) -> Row:
    """Consume batches and acknowledge each."""

    def goals(row: Row) -> list[Goal]:
        goal = Goal("1.5 M msg/s", row.ours, at_least=1.5e6)
        rival = Goal("the rival's rate", row.ratio, at_least=1.0)
        return [goal, rival]

    backlog = Load("publish", ("--window", BATCH_WINDOW))
    run = Run(arena.size(2_000_000, 500_000), (Load("consume"),), BATCH_OPTIONS, backlog, "shared")
    return rate_row(arena, "consume_batch", f"consume, batches of {BATCH}", run, goals)


def growth(arena: Arena, operation: str, what: str) -> Row:
    """Compare the CPU a message costs us with one and with many topics or connections."""
    title = f"CPU per {operation}: 1 to {MANY} {what}"
    say(f"{title} ...")
    messages = arena.size(64 * 4000, 64 * 1000)
    costs: list[float | None] = []
    row = Row(f"growth_{operation}_{what}", title, "us")
    for count in (1, MANY):
        options = (f"--{what}", count)
        topics = count if what == "topics" else 1
        if operation == "publish":
            run = Run(messages, (Load("publish"),), options, topics=topics)
        else:
            shared = options if what == "topics" else ()
            load = Load("consume", () if what == "topics" else options)
            run = Run(messages, (load,), shared, Load("publish"), "shared", topics)
        (ours,) = arena.compare(run, rounds=min(arena.rounds, 2), only_ours=True)
        note_failures(row, [ours])
        costs.append(ours.broker_us())
        row.load_us = ours.load_us()
        row.samples[f"ours, {count}"] = ours.samples
    one, many = costs
    row.ours, row.broker_us = one, many
    row.ratio = ratio(many, one)
    if one is not None and many is not None:
        row.notes.append(f"{one:.2f} us with 1, {many:.2f} us with {MANY}")
    return row

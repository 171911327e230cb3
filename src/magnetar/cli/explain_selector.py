"""The part of ``magnetar explain`` about how keys are shared out: selector, rates, last decisions, keys to know of."""

from __future__ import annotations

from magnetar.cli.explain_text import Fields, counted, key_text, span

__all__ = ["selector_lines"]

_SHOWN = 5


def selector_lines(answer: Fields) -> list[str]:
    """Nothing for subscriptions that do not look at keys."""
    found = answer.get("keySharedSelector")
    if not found or not found["consumers"]:
        return []
    spread = f"; the busiest has {found['maxOverMean']:.2f} times the mean rate" if found["maxOverMean"] else ""
    lines = ["", f"Keys are shared out by {found['name']}{spread}."]
    for one in found["consumers"][:_SHOWN]:
        ranges = ", ".join(f"{first}-{last}" for first, last in one["ranges"][:2])
        more = f" and {one['rangeCount'] - 2} more" if one["rangeCount"] > 2 else ""
        rate = f", {one['rate']:,.1f} messages a second" if "rate" in one else ""
        lines.append(f"  {one['consumerName']}: {one['share']:.1%} of the slots ({ranges}{more}){rate}")
    if len(found["consumers"]) > _SHOWN:
        lines.append(f"  and {counted(len(found['consumers']) - _SHOWN, 'consumer')} more")
    for one in found["decisions"][-_SHOWN:]:
        ago = span(answer["timestamp"] - one["timestamp"])
        who = f"{one['consumerName']} {one['what']}" if one["consumerName"] else one["what"]
        lines.append(f"  {ago} ago {who}, {counted(one['slotsMoved'], 'slot')}: {one['reason']}")
    for one in found["hotKeys"]:
        lines.append(f"  Hot key {key_text(one)}: {one['share']:.0%} of the latest messages, more than a fair share;")
        lines.append(f"    no selector can divide a key. It is {one['consumerName'] or 'nobody'}'s.")
    for one in found["mixedBatches"]:
        looked = counted(one["batches"], "batch", "batches")
        lines.append(f"  Of {looked} of {one['producerName']} that were looked into,")
        lines.append(f"    {one['mixed']} have several keys: {one['advice']}.")
    return lines

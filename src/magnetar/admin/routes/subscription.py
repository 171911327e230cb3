"""Routes of subscriptions."""

from __future__ import annotations

from magnetar.admin.handlers import clearing, cursors, explain, messages, properties, subscriptions
from magnetar.admin.routes.route import BOOL, BYTES, INT, NOTHING, STRING, SUB, TEXTS, Route, ref, table

__all__ = ["SUBSCRIPTIONS"]

SUBSCRIPTIONS = (
    Route("PUT", SUB, subscriptions.create, "create a subscription", body=ref("Place")),
    Route("DELETE", SUB, subscriptions.delete, "delete a subscription", query={"force": BOOL}),
    Route("GET", f"{SUB}/explain", explain.explain, "why a subscription or a key does not move", NOTHING,
          query={"key": STRING}),
    Route("GET", f"{SUB}/pendingAcks", explain.pending_acks, "what consumers hold unacknowledged, in pages", NOTHING,
          query={"limit": INT}),
    Route("GET", f"{SUB}/history", explain.history, "who came and went, and how long drains took", NOTHING),
    Route("POST", f"{SUB}/skip_all", clearing.clear, "acknowledge the whole backlog"),
    Route("POST", f"{SUB}/skip/{{numMessages}}", clearing.skip, "acknowledge the beginning of the backlog"),
    Route("POST", f"{SUB}/expireMessages", clearing.expire_position, "acknowledge everything up to a message",
          body=ref("Position")),
    Route("POST", f"{SUB}/expireMessages/{{expireTimeInSeconds}}", clearing.expire, "acknowledge what is old"),
    Route("POST", f"{SUB}/resetcursor/{{timestamp}}", cursors.reset_to_timestamp, "deliver again from a time on"),
    Route("POST", f"{SUB}/resetcursor", cursors.reset_to_message, "deliver again from a message on", body=ref("Place")),
    Route("GET", f"{SUB}/position/{{messagePosition}}", messages.peek, "a message of the backlog, by its place", BYTES),
    Route("POST", f"{SUB}/analyzeBacklog", cursors.analyze, "count the backlog by reading it",
          ref("AnalyzedBacklog")),
    Route("GET", f"{SUB}/properties", properties.subscription_get, "properties of a subscription", TEXTS),
    Route("PUT", f"{SUB}/properties", properties.subscription_put, "replace the properties of a subscription",
          body=TEXTS),
    Route("GET", f"{SUB}/replicatedSubscriptionStatus", cursors.replicated, "whether a subscription is replicated",
          table(BOOL)),
    Route("POST", f"{SUB}/replicatedSubscriptionStatus", cursors.set_replicated,
          "ask that a subscription is not replicated", body=BOOL),
    Route("POST", f"{SUB}/consumer/{{consumer}}/disconnect", subscriptions.disconnect, "disconnect a consumer"),
)  # fmt: skip

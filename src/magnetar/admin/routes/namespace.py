"""Routes of namespaces."""

from __future__ import annotations

from magnetar.admin.handlers import bundles, namespace_settings, namespaces, permissions, properties
from magnetar.admin.routes.route import BOOL, NAMESPACE, STRING, STRINGS, TEXT, TEXTS, V2, Route, array, ref

__all__ = ["LAST", "NAMESPACES"]

_ALL = f"{V2}/namespaces"
_BUNDLE = f"{NAMESPACE}/{{bundle}}"
_AUTH = f"{NAMESPACE}/permissions"
_MODES = {"type": "string", "enum": ["PERSISTENT", "NON_PERSISTENT", "ALL"]}
_FORCE = {"force": BOOL}

NAMESPACES = (
    Route("POST", f"{_ALL}/grantPermissionsOnTopics", permissions.grant_on_topics, "permissions on several topics",
          body=array(ref("OnTopic"))),
    Route("POST", f"{_ALL}/revokePermissionsOnTopics", permissions.revoke_on_topics,
          "take away permissions on several topics", body=array(ref("OnTopic"))),
    Route("GET", f"{_ALL}/{{cluster}}/antiAffinity/{{group}}", namespace_settings.anti_affinity_members,
          "namespaces of an anti-affinity group", STRINGS, query={"tenant": STRING}),
    Route("GET", f"{_ALL}/{{t}}", namespaces.namespaces, "namespaces of a tenant", STRINGS),
    Route("GET", NAMESPACE, namespaces.namespace, "policies of a namespace", ref("Policies")),
    Route("PUT", NAMESPACE, namespaces.create_namespace, "create a namespace", body=ref("NewNamespace")),
    Route("DELETE", NAMESPACE, namespaces.delete_namespace, "delete an empty namespace", query=_FORCE),
    Route("GET", f"{NAMESPACE}/topics", namespaces.topics, "topics of a namespace, as clients see them", STRINGS,
          query={"mode": _MODES, "includeSystemTopic": BOOL}),
    Route("GET", f"{NAMESPACE}/bundles", bundles.bundles, "ranges of a namespace", ref("Bundles")),
    # Permissions
    Route("GET", _AUTH, permissions.of_namespace, "what roles may do on a namespace", ref("Permissions")),
    Route("GET", f"{_AUTH}/subscription", permissions.of_subscriptions, "roles of subscriptions", ref("Permissions")),
    Route("POST", f"{_AUTH}/{{role}}", permissions.grant, "permissions of a role on a namespace", body=ref("Actions")),
    Route("DELETE", f"{_AUTH}/{{role}}", permissions.revoke, "take away a role's permissions on a namespace"),
    Route("POST", f"{_AUTH}/subscription/{{sub}}", permissions.grant_subscription, "roles of a subscription",
          body=STRINGS),
    Route("DELETE", f"{_AUTH}/{{sub}}/{{role}}", permissions.revoke_subscription, "take a role off a subscription"),
    # Properties
    Route("GET", f"{NAMESPACE}/properties", properties.namespace_get, "properties of a namespace", TEXTS),
    Route("PUT", f"{NAMESPACE}/properties", properties.namespace_put, "add properties to a namespace", body=TEXTS),
    Route("DELETE", f"{NAMESPACE}/properties", properties.namespace_wipe, "take away all properties of a namespace"),
    Route("GET", f"{NAMESPACE}/property/{{key}}", properties.namespace_one_get, "a property of a namespace", TEXT,
          maybe=True),
    Route("PUT", f"{NAMESPACE}/property/{{key}}/{{value}}", properties.namespace_one_put,
          "set a property of a namespace"),
    Route("DELETE", f"{NAMESPACE}/property/{{key}}", properties.namespace_one_delete,
          "take away a property of a namespace", TEXT, maybe=True),
    # What is kept
    Route("GET", f"{NAMESPACE}/replication", namespace_settings.replication, "clusters of a namespace", STRINGS),
    Route("POST", f"{NAMESPACE}/replication", namespace_settings.set_replication,
          "clusters of a namespace: this one alone", body=STRINGS),
    Route("GET", f"{NAMESPACE}/allowedClusters", namespace_settings.allowed_clusters,
          "clusters that a namespace may be on", STRINGS),
    Route("POST", f"{NAMESPACE}/allowedClusters", namespace_settings.set_allowed_clusters,
          "clusters that a namespace may be on", body=STRINGS),
    Route("GET", f"{NAMESPACE}/antiAffinity", namespace_settings.anti_affinity, "anti-affinity group", TEXT,
          maybe=True),
    Route("POST", f"{NAMESPACE}/antiAffinity", namespace_settings.set_anti_affinity, "set the anti-affinity group",
          body=STRING),
    Route("DELETE", f"{NAMESPACE}/antiAffinity", namespace_settings.anti_affinity_delete,
          "take away the anti-affinity group"),
    Route("GET", f"{NAMESPACE}/encryptionRequired", namespace_settings.encryption,
          "whether messages have to be encrypted", BOOL),
    Route("POST", f"{NAMESPACE}/encryptionRequired", namespace_settings.set_encryption,
          "whether messages have to be encrypted (kept, not enforced)", body=BOOL),
    Route("GET", f"{NAMESPACE}/subscriptionAuthMode", namespace_settings.subscription_auth_mode,
          "how names of subscriptions and roles go together", STRING),
    Route("POST", f"{NAMESPACE}/subscriptionAuthMode", namespace_settings.set_subscription_auth_mode,
          "how names of subscriptions and roles go together (kept, not enforced)",
          body={"type": "string", "enum": ["None", "Prefix"]}),
    # Everything on a namespace, or on one range of it
    Route("PUT", f"{NAMESPACE}/unload", bundles.unload, "disconnect everybody from the topics of a namespace"),
    Route("PUT", f"{_BUNDLE}/unload", bundles.unload, "disconnect everybody from the topics of a range",
          query={"destinationBroker": STRING}),
    Route("PUT", f"{_BUNDLE}/split", bundles.split, "cut a range in two", query={"unload": BOOL}),
    Route("GET", f"{_BUNDLE}/topicHashPositions", bundles.hash_positions, "where topics lie in a range",
          ref("HashPositions"), query={"topics": STRING}),
    Route("POST", f"{NAMESPACE}/clearBacklog", bundles.clear, "acknowledge every backlog of a namespace"),
    Route("POST", f"{NAMESPACE}/clearBacklog/{{sub}}", bundles.clear, "the same for one name of subscription"),
    Route("POST", f"{_BUNDLE}/clearBacklog", bundles.clear, "acknowledge every backlog of a range"),
    Route("POST", f"{_BUNDLE}/clearBacklog/{{sub}}", bundles.clear, "the same for one name of subscription"),
    Route("POST", f"{NAMESPACE}/unsubscribe/{{sub}}", bundles.unsubscribe,
          "delete a subscription on all topics of a namespace"),
    Route("POST", f"{_BUNDLE}/unsubscribe/{{sub}}", bundles.unsubscribe,
          "delete a subscription on all topics of a range"),
)  # fmt: skip

# Any word may stand in the place of the range, so this line comes below all others with that many words.
LAST = (Route("DELETE", _BUNDLE, bundles.delete, "ask whether a range is empty", query=_FORCE),)

# SPDX-License-Identifier: Apache-2.0
"""Building blocks of the schemas: plain dicts of OpenAPI v3 with Kubernetes' extensions.

The first argument of each is the description that `kubectl explain` shows.
"""

V1ALPHA1, V1BETA1, V1BETA2 = "v1alpha1", "v1beta1", "v1beta2"

DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = DNS_LABEL + r"(\." + DNS_LABEL + ")*"
LABEL_KEY = "(" + SUBDOMAIN + "/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])"
NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
QUANTITY = r"(\+|-)?" + NUMBER + r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?" + NUMBER + "))?"
REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"


def _piece(description, kind, **more):
    """Leaves out what is None, so that callers can pass options through."""
    piece = {"description": description, "type": kind}
    piece.update(
        (key.replace("x_", "x-kubernetes-").replace("_", "-") if key.startswith("x_") else key, value)
        for key, value in more.items()
        if value is not None
    )
    return piece


def rule(cel, message):
    return {"rule": cel, "message": message}


IMMUTABLE = rule("self == oldSelf", "field is immutable")


def unchanged(field):
    """CEL: the field is absent before and after, or the same."""
    now, old = f"self.{field}", f"oldSelf.{field}"
    return f"(has({now}) ? has({old}) && {now} == {old} : !has({old}))"


# ---- one value ----


def text(description, max=None, min=None, like=None, default=None, rules=None, form=None):
    return _piece(
        description,
        "string",
        maxLength=max,
        minLength=min,
        pattern=f"^{like}$" if like else None,
        default=default,
        format=form,
        x_validations=rules,
    )


def subdomain(description, **more):
    return text(description, max=253, like=SUBDOMAIN, **more)


def dns_label(description, **more):
    return text(description, max=63, like=DNS_LABEL, **more)


def label_key(description, max=316, **more):
    return text(description, max=max, like=LABEL_KEY, **more)


def word(description, *words, default=None, max=None):
    piece = _piece(description, "string", enum=list(words), default=default, maxLength=max)
    return piece


def flag(description, default=None):
    return _piece(description, "boolean", default=default)


def int32(description, min=None, default=None):
    return _piece(description, "integer", format="int32", minimum=min, default=default)


def int64(description, min=None, default=None):
    return _piece(description, "integer", format="int64", minimum=min, default=default)


def time(description):
    return text(description, form="date-time")


def quantity(description, default=None):
    piece = _piece(description, None, default=default, pattern=f"^{QUANTITY}$")
    del piece["type"]
    return piece | {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}


def bare_amount(description, default=None):
    """A quantity whose syntax others check."""
    return {key: value for key, value in quantity(description, default).items() if key != "pattern"}


# ---- many values ----


def empty(description):
    return _piece(description, "object")


def record(description, fields, need=(), rules=None, default=None, atomic=None, open=None):
    """An object. open: fields that are not named here are kept as well."""
    return _piece(
        description,
        "object",
        default=default,
        required=list(need) or None,
        properties=fields,
        x_preserve_unknown_fields=open,
        x_map_type="atomic" if atomic else None,
        x_validations=rules,
    )


def table(description, value, max=None, atomic=None):
    """An object with keys of the user's own."""
    return _piece(
        description,
        "object",
        maxProperties=max,
        additionalProperties=_bare(value),
        x_map_type="atomic" if atomic else None,
    )


def array(description, item, max=None, min=None, kind="atomic", keys=None, rules=None):
    return _piece(
        description,
        "array",
        minItems=min,
        maxItems=max,
        x_list_type=kind,
        x_list_map_keys=keys,
        items=item,
        x_validations=rules,
    )


def keyed(description, item, by, max=None, min=None, rules=None):
    """A list in which each item has a name of its own."""
    return array(description, item, max=max, min=min, kind="map", keys=by.split(), rules=rules)


def _bare(piece):
    """The value of a table needs no description: its keys are the user's."""
    return {key: value for key, value in piece.items() if key != "description"}


def strings(description, max=None, min=None, each=None, **more):
    return array(description, _bare(each) if each else {"type": "string"}, max=max, min=min, **more)


# ---- shapes that several kinds share ----


def conditions(version, about):
    condition = record(
        "An observed condition of the object.",
        {
            "type": label_key("Type of the condition."),
            "status": word("Status of the condition.", "True", "False", "Unknown"),
            "reason": text("Machine-readable reason, in CamelCase.", max=1024, min=1, like=REASON),
            "message": text("Human-readable details.", max=32768),
            "lastTransitionTime": time("Time of the last transition of the status."),
            "observedGeneration": int64("Generation of the object that the condition was observed for.", min=0),
        },
        need=["lastTransitionTime", "message", "reason", "status", "type"],
    )
    return keyed(about, condition, by="type", max=16 if version == V1BETA2 else None)


def selector(description):
    requirement = record(
        "A requirement on a label.",
        {
            "key": text("Key of the label."),
            "operator": text("In, NotIn, Exists or DoesNotExist."),
            "values": strings("Values for In and NotIn, at least one; empty otherwise."),
        },
        need=["key", "operator"],
    )
    return record(
        description,
        {
            "matchLabels": table("Labels with their required values.", {"type": "string"}),
            "matchExpressions": array("Requirements, all of which must be met.", requirement),
        },
        atomic=True,
    )


def labels(description, **more):
    return table(description, {"type": "string"}, **more)


def amounts(description):
    return table(description, quantity(""))


EFFECTS = "['NoSchedule', 'PreferNoSchedule', 'NoExecute']"
EFFECT_RULE = "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'"


def taints(description, rules=None):
    taint = record(
        "A taint.",
        {
            "key": text("Key of the taint."),
            "value": text("Value of the taint."),
            "effect": text("NoSchedule, PreferNoSchedule or NoExecute."),
            "timeAdded": time("Time at which a NoExecute taint was added."),
        },
        need=["effect", "key"],
    )
    return array(description, taint, max=8, rules=rules)


def toleration(description):
    return record(
        description,
        {
            "key": text("Key of the taint. Empty matches all and requires operator Exists."),
            "operator": text("Equal (default) or Exists."),
            "value": text("Value of the taint, for Equal."),
            "effect": text("Effect to tolerate; empty matches all."),
            "tolerationSeconds": int64(
                "Number of seconds that a NoExecute taint is tolerated; indefinitely by default."
            ),
        },
    )


def tolerations(description):
    return array(
        description,
        toleration("A toleration."),
        max=8,
        rules=[
            rule(
                "self.all(t, has(t.key) || t.operator == 'Exists')",
                "operator must be Exists when 'key' is empty, which means 'match all values and all keys'",
            ),
            rule(
                "self.all(t, !has(t.tolerationSeconds) || t.effect == 'NoExecute')",
                "effect must be 'NoExecute' when 'tolerationSeconds' is set",
            ),
            rule(
                "self.all(t, !has(t.operator) || t.operator in ['Equal', 'Exists'])",
                "supported toleration values: 'Equal'(default), 'Exists'",
            ),
            rule(
                "self.all(t, !has(t.value) || !has(t.operator) || t.operator != 'Exists')",
                "a value must be empty when 'operator' is 'Exists'",
            ),
            rule(f"self.all(t, !has(t.effect) || t.effect in {EFFECTS})", EFFECT_RULE),
        ],
    )


def fair_sharing():
    return record(
        "Fair sharing of unused quota.",
        {
            "weight": quantity("Weight relative to the siblings. With 0 all others take precedence.", default=1),
        },
    )


def fair_sharing_status(usage):
    """usage: whether the consumed resources are included."""
    fields = {
        "weightedShare": int64(
            "Maximum over all resources of the ratio of borrowed to lendable quota, divided "
            "by the weight, times 1000. Lower shares are served first."
        )
    }
    if usage:
        fields["admissionFairSharingStatus"] = record(
            "Historical usage of the queue, for usage-based admission.",
            {
                "consumedResources": amounts("Usage with exponential decay over time."),
                "lastUpdate": time("Time of the last update."),
            },
            need=["consumedResources", "lastUpdate"],
        )
    return record("Current share, if fair sharing is enabled.", fields, need=["weightedShare"])


def resource_groups(description):
    quota = record(
        "Quota of a resource.",
        {
            "name": text("Name of the resource, as in container requests."),
            "nominalQuota": quantity("Amount that is always available."),
            "borrowingLimit": quantity(
                "Maximum amount that may be borrowed from unused quota of the cohort; unlimited by "
                "default. Not allowed without a cohort."
            ),
            "lendingLimit": quantity(
                "Maximum amount of unused quota that may be lent to the cohort; all by default. Not "
                "allowed without a cohort."
            ),
        },
        need=["name", "nominalQuota"],
    )
    flavor = record(
        "Quotas in a flavor.",
        {
            "name": subdomain("Name of the ResourceFlavor."),
            "resources": keyed("Quotas of the covered resources, in the same order.", quota, by="name", min=1, max=64),
        },
        need=["name", "resources"],
    )
    group = record(
        "Resources that are assigned from the same flavor.",
        {
            "coveredResources": strings("Resources of the group. A resource may be in one group only.", min=1, max=64),
            "flavors": keyed(
                "Flavors in the order in which they are tried. A flavor may be in one group only.",
                flavor,
                by="name",
                min=1,
                max=64,
            ),
        },
        need=["coveredResources", "flavors"],
        rules=[
            rule(
                "self.flavors.all(f, size(f.resources) == size(self.coveredResources))",
                "flavors must have the same number of resources as the coveredResources",
            ),
        ],
    )
    return array(description, group, max=16)


def stop_policy(what):
    return word(
        f"None: active. Hold: {what} admits no new workloads, admitted ones keep running. HoldAndDrain: "
        "admitted workloads are evicted too.",
        "None",
        "Hold",
        "HoldAndDrain",
        default="None",
    )


def preemption(borrow, **more):
    """What queues may preempt. borrow: the same while borrowing, where kinds differ."""
    return record(
        "Which workloads may be preempted to admit a pending one that does not fit otherwise.",
        {
            "withinClusterQueue": word(
                "Preemption of workloads in the same ClusterQueue.",
                "Never",
                "LowerPriority",
                "LowerOrNewerEqualPriority",
                default="Never",
            ),
            "reclaimWithinCohort": word(
                "Preemption of workloads in other ClusterQueues of the cohort that borrow quota of this one.",
                "Never",
                "LowerPriority",
                "Any",
                default="Never",
            ),
            "borrowWithinCohort": borrow,
        },
        **more,
    )


def usage(description, borrowed):
    fields = {"name": text("Name of the resource."), "total": quantity("Total amount.")}
    if borrowed:
        fields["borrowed"] = quantity("Borrowed part of the total.")
    flavor = record(
        "Usage in a flavor.",
        {
            "name": subdomain("Name of the ResourceFlavor."),
            "resources": keyed(
                "Usage by resource.", record("Usage of a resource.", fields, need=["name"]), by="name", max=64
            ),
        },
        need=["name", "resources"],
    )
    return keyed(description, flavor, by="name", max=64)

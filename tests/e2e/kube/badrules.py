# SPDX-License-Identifier: Apache-2.0
"""What the API refuses: every rule about our kinds and about what is queued, each as one change that breaks it.

A rule is (change, path, words): the change is made to a good object of the kind, and the refusal must say
the words of that path. Keys of a change are the steps to a field with spaces between them, values go there,
and DROP removes the field. A rule that has "create" as a fourth is not tried on an update: there something
else is said, or nothing.

A rule about updates is (given, change, path, words): the object is made, given its state, and then changed.
What is below status is written there.
"""

import copy
import json
import re

DROP = object()
NAMESPACED = ("LocalQueue", "Workload", "Job", "Pod", "Deployment", "StatefulSet")
GROUPS = {"Job": "batch/v1", "Pod": "v1", "Deployment": "apps/v1", "StatefulSet": "apps/v1", "MasterQueue": "vk.io/v1"}
IRREGULAR = {"Topology": "topologies", "WorkloadPriorityClass": "workloadpriorityclasses"}
LABEL = "metadata labels kueue.x-k8s.io/"
NOTE = "metadata annotations kueue.x-k8s.io/"
PODSET = "spec template metadata annotations kueue.x-k8s.io/podset-"
LONG = "x" * 64
FROZEN = "field is immutable"
SUBDOMAIN = "a lowercase RFC 1123 subdomain must consist of"
KEY = "name part must consist of alphanumeric characters"
VALUE = "a valid label must be an empty string or consist of alphanumeric characters"
PATTERN = "in body should match"
TIME = "2026-01-01T00:00:00Z"


def noted(key, kind="annotations", of="metadata"):
    return f"{of}.{kind}[kueue.x-k8s.io/{key}]"


def quotas(names, **more):
    return [{"name": n, "nominalQuota": 4, **more} for n in names]


def group(resources=("cpu", "memory"), flavors=("red", "blue")):
    return {
        "coveredResources": list(resources),
        "flavors": [{"name": f, "resources": quotas(resources)} for f in flavors],
    }


def names(prefix, n):
    return [f"{prefix}-{i}" for i in range(n)]


# ---- objects ----


def put(thing, change):
    """A copy of an object with a change made to it."""
    thing = copy.deepcopy(thing)
    for steps, value in change.items():
        *way, last = [int(s) if s.isdigit() else s for s in steps.split()]
        at = thing
        for step in way:
            if isinstance(at, list) and step == len(at):
                at.append({})
            at = at[step] if isinstance(at, list) else at.setdefault(step, {})
        if value is DROP:
            del at[last]
        elif isinstance(at, list) and last == len(at):
            at.append(copy.deepcopy(value))
        else:
            at[last] = copy.deepcopy(value)
    return thing


def place(kind, version="v1beta2", ns="default"):
    """Where objects of a kind are."""
    group = GROUPS.get(kind, f"kueue.x-k8s.io/{version}")
    group = ("/apis/" if "/" in group else "/api/") + group
    return (f"{group}/namespaces/{ns}" if kind in NAMESPACED else group) + "/" + IRREGULAR.get(kind, kind.lower() + "s")


def whole(kind, name, spec, version="v1beta2"):
    thing = {"apiVersion": GROUPS.get(kind, f"kueue.x-k8s.io/{version}"), "kind": kind, **spec}
    return put(thing, {"metadata name": name})


def refused(status, text, path, words):
    """What is wrong with a refusal, or nothing."""
    if status not in (403, 422):
        return f"answered {status}: {text.decode()[:300]}"
    said = json.loads(text)["message"]
    # The path as a whole, and the words before the next error's path.
    if not re.search(
        r"(?<![\w.\])])" + re.escape(path) + r": (?:(?!, (?:spec|status|metadata)\b).)*" + re.escape(words), said, re.S
    ):
        return f"said {said[:600]}\n    instead of {path}: ... {words}"
    return None


# ---- good objects ----


def pod(**requests):
    return {
        "restartPolicy": "Never",
        "containers": [{"name": "c", "image": "none", "resources": {"requests": requests or {"cpu": "1"}}}],
    }


def serving(**spec):
    return {
        "metadata": {"labels": {"kueue.x-k8s.io/queue-name": "nowhere"}},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "a"}},
            **spec,
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": {**pod(), "restartPolicy": "Always"}},
        },
    }


GOOD = {
    "ClusterQueue": {"spec": {"cohortName": "all", "namespaceSelector": {}, "resourceGroups": [group()]}},
    "Cohort": {"spec": {"parentName": "root", "resourceGroups": [group()]}},
    "LocalQueue": {"spec": {"clusterQueue": "main"}},
    "ResourceFlavor": {"spec": {"nodeLabels": {"pool": "a"}}},
    "Topology": {"spec": {"levels": [{"nodeLabel": "example.com/block"}, {"nodeLabel": "kubernetes.io/hostname"}]}},
    "WorkloadPriorityClass": {"value": 7},
    "AdmissionCheck": {
        "spec": {
            "controllerName": "example.com/budget",
            "parameters": {"apiGroup": "example.com", "kind": "Budget", "name": "main"},
        }
    },
    "ProvisioningRequestConfig": {"spec": {"provisioningClassName": "check-capacity"}},
    "MultiKueueCluster": {"spec": {"clusterSource": {"kubeConfig": {"location": "other"}}}},
    "MultiKueueConfig": {"spec": {"clusters": ["one", "two"]}},
    "MasterQueue": {
        "spec": {
            "template": {"cohort": "all"},
            "flavors": [
                {
                    "name": "interlink",
                    "natsFlavor": {
                        "natsConnector": "nats://nats.nats:4222",
                        "natsSubject": "interlink.resources",
                        "virtualNode": "interlink",
                        "poolRegExp": ".*",
                    },
                    "nominalQuota": {"pods": 100},
                    "canLendTo": [{"queue": "group1", "lendingLimit": {"pods": 30}}],
                }
            ],
        }
    },
    "Workload": {
        "spec": {"queueName": "nowhere", "podSets": [{"name": "main", "count": 3, "template": {"spec": pod()}}]}
    },
    "Job": {
        "metadata": {"labels": {"kueue.x-k8s.io/queue-name": "nowhere"}},
        "spec": {
            "parallelism": 4,
            "completions": 4,
            "completionMode": "Indexed",
            "template": {"metadata": {}, "spec": pod()},
        },
    },
    "Pod": {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "nowhere"}}, "spec": pod()},
    "Deployment": serving(),
    "StatefulSet": serving(serviceName="s"),
}

# ---- on creation, and on an update as well ----

# What ClusterQueue and Cohort have in common. FIRST is the first quota.
FIRST = "spec resourceGroups 0 flavors 0 resources 0 "
AT = "spec.resourceGroups[0].flavors[0].resources[0]."
NEGATIVE = "must be greater than or equal to 0"
QUOTAS = [
    ({"spec resourceGroups 0": group(["@cpu"])}, "spec.resourceGroups[0].coveredResources[0]", KEY),
    (
        {"spec resourceGroups 1": group(["cpu"], ["green"])},
        "spec.resourceGroups[1].coveredResources[0]",
        'Duplicate value: "cpu"',
    ),
    (
        {"spec resourceGroups 0": group(["cpu", "cpu"], ["red"]), FIRST + "name": "gpu"},
        "spec.resourceGroups[0].coveredResources[1]",
        'Duplicate value: "cpu"',
    ),
    (
        {"spec resourceGroups 1": group(["gpu"], ["red"])},
        "spec.resourceGroups[1].flavors[0].name",
        'Duplicate value: "red"',
    ),
    ({"spec resourceGroups 0": group(flavors=["red", "red"])}, "spec.resourceGroups[0].flavors[1]", "Duplicate value"),
    (
        {FIRST + "name": "memory", "spec resourceGroups 0 flavors 0 resources 1 name": "cpu"},
        AT + "name",
        "must match the name in coveredResources",
    ),
    (
        {"spec resourceGroups 0 flavors 0 resources 1": DROP},
        "spec.resourceGroups[0]",
        "flavors must have the same number of resources as the coveredResources",
    ),
    ({FIRST + "nominalQuota": -1}, AT + "nominalQuota", NEGATIVE),
    ({FIRST + "borrowingLimit": -1}, AT + "borrowingLimit", NEGATIVE),
    ({FIRST + "lendingLimit": -1}, AT + "lendingLimit", NEGATIVE),
    ({FIRST + "nominalQuota": "four"}, AT + "nominalQuota", PATTERN),
    ({FIRST + "nominalQuota": DROP}, AT + "nominalQuota", "Required value"),
    ({"spec resourceGroups 0 flavors 0 name": "Red"}, "spec.resourceGroups[0].flavors[0].name", PATTERN),
    (
        {"spec resourceGroups": [group([f"r{i}"], [f"f{i}"]) for i in range(17)]},
        "spec.resourceGroups",
        "must have at most 16 items",
    ),
    (
        {"spec resourceGroups 0 coveredResources": []},
        "spec.resourceGroups[0].coveredResources",
        "should have at least 1 items",
    ),
    (
        {"spec resourceGroups 0": group(names("r", 65), ["red"])},
        "spec.resourceGroups[0].coveredResources",
        "must have at most 64 items",
    ),
    ({"spec resourceGroups 0 flavors": []}, "spec.resourceGroups[0].flavors", "should have at least 1 items"),
    (
        {"spec resourceGroups 0": group(["cpu"], names("f", 65))},
        "spec.resourceGroups[0].flavors",
        "must have at most 64 items",
    ),
    ({"spec fairSharing": {"weight": -1}}, "spec.fairSharing", NEGATIVE),
    ({"spec fairSharing": {"weight": "1n"}}, "spec.fairSharing", "When not 0, weight must be > 10e-9"),
    ({"spec fairSharing": {"weight": "much"}}, "spec.fairSharing.weight", PATTERN),
]


def requirement(**r):
    return {"spec namespaceSelector": {"matchExpressions": [{"key": "team", **r}]}}


MIGRATION = "spec concurrentAdmissionPolicy"
RULE = "spec.namespaceSelector.matchExpressions[0]"
CHECKS = "spec admissionChecksStrategy"
TRY = {"migration": {"mode": "TryPreferredFlavors"}}
WORDS = "Unsupported value"

CLUSTER_QUEUE = QUOTAS + [
    ({"spec cohortName": DROP, FIRST + "borrowingLimit": 1}, "spec", "borrowingLimit must be nil when cohort is empty"),
    ({"spec cohortName": DROP, FIRST + "lendingLimit": 1}, AT + "lendingLimit", "must be nil when cohort is empty"),
    ({FIRST + "lendingLimit": 5}, AT + "lendingLimit", "must be less than or equal to the nominalQuota"),
    ({"spec cohortName": "All"}, "spec.cohortName", PATTERN),
    ({"spec cohortName": "a" * 254}, "spec.cohortName", "may not be more than 253"),
    (requirement(operator="Near"), RULE + ".operator", "not a valid selector operator"),
    (requirement(operator="In"), RULE + ".values", "must be specified when `operator` is 'In' or 'NotIn'"),
    (
        requirement(operator="Exists", values=["a"]),
        RULE + ".values",
        "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
    ),
    (requirement(operator="In", values=["@"]), RULE + ".values[0]", VALUE),
    (requirement(operator="Exists", key="@"), RULE + ".key", KEY),
    ({"spec namespaceSelector": {"matchLabels": {"@": "a"}}}, "spec.namespaceSelector.matchLabels", KEY),
    ({"spec namespaceSelector": {"matchLabels": {"team": "@"}}}, "spec.namespaceSelector.matchLabels", VALUE),
    (
        {"spec preemption": {"reclaimWithinCohort": "Never", "borrowWithinCohort": {"policy": "LowerPriority"}}},
        "spec.preemption",
        "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
    ),
    ({"spec preemption": {"withinClusterQueue": "Any"}}, "spec.preemption.withinClusterQueue", WORDS),
    ({"spec preemption": {"reclaimWithinCohort": "Some"}}, "spec.preemption.reclaimWithinCohort", WORDS),
    (
        {"spec preemption": {"borrowWithinCohort": {"policy": "Any"}}},
        "spec.preemption.borrowWithinCohort.policy",
        WORDS,
    ),
    (
        {"spec flavorFungibility": {"preference": "BorrowingOverPreemption"}},
        "spec.flavorFungibility",
        "preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor",
    ),
    ({"spec flavorFungibility": {"whenCanBorrow": "Borrow"}}, "spec.flavorFungibility.whenCanBorrow", WORDS),
    ({"spec flavorFungibility": {"whenCanPreempt": "Preempt"}}, "spec.flavorFungibility.whenCanPreempt", WORDS),
    ({"spec flavorFungibility": {"preference": "None"}}, "spec.flavorFungibility.preference", WORDS),
    ({"spec queueingStrategy": "LIFO"}, "spec.queueingStrategy", WORDS),
    ({"spec stopPolicy": "Halt"}, "spec.stopPolicy", WORDS),
    ({"spec admissionScope": {"admissionMode": "Any"}}, "spec.admissionScope.admissionMode", WORDS),
    (
        {"spec resourceGroups": [group([f"r{i}"], names(f"f{i}", 60)) for i in range(5)]},
        "spec.resourceGroups",
        "total number of flavors across all resourceGroups must be ≤ 256, got 300",
    ),
    (
        {"spec resourceGroups": [group(names(f"r{i}", 60), [f"f{i}"]) for i in range(5)]},
        "spec.resourceGroups",
        "total number of covered resources across all resourceGroups must be ≤ 256, got 300",
    ),
    (
        {"spec resourceGroups": [group(names("r", 60), names("f", 9))]},
        "spec.resourceGroups[0]",
        "number of flavor-resource combinations in a resourceGroup must be ≤ 512, got 540",
    ),
    (
        {CHECKS: {"admissionChecks": [{"name": "budget", "onFlavors": ["green"]}]}},
        "spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]",
        'Unsupported value: "green"',
    ),
    ({CHECKS: {"admissionChecks": []}}, "spec.admissionChecksStrategy.admissionChecks", "at least 1 items"),
    (
        {CHECKS: {"admissionChecks": [{"name": n} for n in names("c", 65)]}},
        "spec.admissionChecksStrategy.admissionChecks",
        "must have at most 64 items",
    ),
    (
        {CHECKS: {"admissionChecks": [{"name": "budget"}] * 2}},
        "spec.admissionChecksStrategy.admissionChecks[1]",
        "Duplicate value",
    ),
    (
        {CHECKS: {"admissionChecks": [{"name": "budget", "onFlavors": ["red", "red"]}]}},
        "spec.admissionChecksStrategy.admissionChecks[0].onFlavors[1]",
        "Duplicate value",
    ),
    ({MIGRATION: {}}, "spec.concurrentAdmissionPolicy.migration", "Required value"),
    ({MIGRATION: {"migration": {}}}, "spec.concurrentAdmissionPolicy.migration.mode", "Required value"),
    ({MIGRATION: {"migration": {"mode": "Any"}}}, "spec.concurrentAdmissionPolicy.migration.mode", WORDS),
    (
        {MIGRATION: TRY, "spec resourceGroups 1": group(["gpu"], ["green"])},
        "spec.resourceGroups",
        "must have exactly one ResourceGroup when ConcurrentAdmissionPolicy is defined",
    ),
    (
        {MIGRATION: TRY, "spec resourceGroups 0": group(["cpu"], names("f", 17))},
        "spec.resourceGroups[0].flavors",
        "cannot have more than 16 resource flavors",
    ),
    (
        {MIGRATION: TRY, "spec queueingStrategy": "StrictFIFO"},
        "spec.queueingStrategy",
        "StrictFIFO queueing strategy cannot be used when ConcurrentAdmissionPolicy is defined",
    ),
    (
        {
            MIGRATION: {
                "migration": {"mode": "RetainFirstAdmission", "constraints": {"lastAcceptableFlavorName": "red"}}
            }
        },
        "spec.concurrentAdmissionPolicy.migration.constraints",
        "may only be set when migration.mode is",
    ),
    (
        {MIGRATION: {"migration": {**TRY["migration"], "constraints": {"lastAcceptableFlavorName": "green"}}}},
        "spec.concurrentAdmissionPolicy.migration.constraints.lastAcceptableFlavorName",
        "must be one of the flavors defined in the ClusterQueue",
    ),
]

COHORT = (
    QUOTAS
    + [
        ({"spec parentName": DROP, FIRST + limit: 1}, AT + limit, "must be nil when parent is empty")
        for limit in ("borrowingLimit", "lendingLimit")
    ]
    + [
        ({"spec parentName": "Root"}, "spec.parentName", PATTERN),
    ]
)

LOCAL_QUEUE = [
    ({"spec clusterQueue": "Main"}, "spec.clusterQueue", PATTERN),
    ({"spec stopPolicy": "Halt"}, "spec.stopPolicy", WORDS),
    ({"spec fairSharing": {"weight": "much"}}, "spec.fairSharing.weight", PATTERN),
]


def tolerations(**t):
    return {"spec tolerations": [t]}


def taints(*list):
    return {"spec nodeTaints": [{"key": "pool", "effect": "NoSchedule", **t} for t in list]}


EFFECTS = "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'"
RESOURCE_FLAVOR = [
    ({"spec nodeLabels": {"@": "a"}}, "spec.nodeLabels", KEY),
    ({"spec nodeLabels": {"pool": "@"}}, "spec.nodeLabels", VALUE),
    ({"spec nodeLabels": {n: "a" for n in names("l", 9)}}, "spec.nodeLabels", "must have at most 8 items"),
    (taints({"key": "@"}), "spec.nodeTaints[0].key", KEY),
    (taints({"value": "@"}), "spec.nodeTaints[0].value", VALUE),
    (taints({"effect": "Never"}), "spec.nodeTaints", EFFECTS),
    (taints({"value": "a"}, {"value": "b"}), "spec.nodeTaints[1]", "taints must be unique by key and effect pair"),
    (taints(*({"key": n} for n in names("t", 9))), "spec.nodeTaints", "must have at most 8 items"),
    (tolerations(key="@"), "spec.tolerations[0].key", KEY),
    (tolerations(operator="Equal", value="a"), "spec.tolerations", "operator must be Exists when 'key' is empty"),
    (
        tolerations(key="a", tolerationSeconds=5, effect="NoSchedule"),
        "spec.tolerations",
        "effect must be 'NoExecute' when 'tolerationSeconds' is set",
    ),
    (
        tolerations(key="a", operator="Near"),
        "spec.tolerations",
        "supported toleration values: 'Equal'(default), 'Exists'",
    ),
    (
        tolerations(key="a", operator="Exists", value="b"),
        "spec.tolerations",
        "a value must be empty when 'operator' is 'Exists'",
    ),
    (tolerations(key="a", effect="Never"), "spec.tolerations", EFFECTS),
    ({"spec tolerations": [{"key": n} for n in names("t", 9)]}, "spec.tolerations", "must have at most 8 items"),
    (
        {"spec topologyName": "default", "spec nodeLabels": DROP},
        "spec",
        "at least one nodeLabel is required when topology is set",
    ),
    ({"spec topologyName": "Default"}, "spec.topologyName", PATTERN),
]

TOPOLOGY = [
    ({"spec levels": []}, "spec.levels", "should have at least 1 items"),
    ({"spec levels": DROP}, "spec.levels", "Required value"),
    ({"spec levels": [{"nodeLabel": n} for n in names("l", 17)]}, "spec.levels", "must have at most 16 items"),
    ({"spec levels 0": {}}, "spec.levels[0].nodeLabel", "Required value"),
    ({"spec levels 0 nodeLabel": "@"}, "spec.levels[0].nodeLabel", PATTERN),
    ({"spec levels": [{"nodeLabel": "a"}, {"nodeLabel": "a"}]}, "spec.levels", "must be unique"),
    (
        {"spec levels": [{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "a"}]},
        "spec.levels",
        "the kubernetes.io/hostname label can only be used at the lowest level of topology",
    ),
]

PRIORITY_CLASS = [
    ({"value": DROP}, "value", "Required value"),
    ({"value": "high"}, "value", "must be of type integer"),
    ({"value": 1 << 40}, "value", "int32"),
    ({"description": "x" * 2049}, "description", "may not be more than 2048"),
]

PARAMETERS = "spec parameters "
ADMISSION_CHECK = [
    ({"spec controllerName": DROP}, "spec.controllerName", "Required value"),
    ({"spec controllerName": ""}, "spec.controllerName", "should be at least 1 chars long"),
    ({"spec controllerName": "x" * 254}, "spec.controllerName", "may not be more than 253"),
    ({PARAMETERS + "apiGroup": DROP}, "spec.parameters.apiGroup", "Required value"),
    ({PARAMETERS + "kind": DROP}, "spec.parameters.kind", "Required value"),
    ({PARAMETERS + "name": DROP}, "spec.parameters.name", "Required value"),
    ({PARAMETERS + "apiGroup": "Example.com"}, "spec.parameters.apiGroup", PATTERN),
    ({PARAMETERS + "kind": "1"}, "spec.parameters.kind", PATTERN),
    ({PARAMETERS + "name": "a.b"}, "spec.parameters.name", PATTERN),
    ({PARAMETERS + "name": LONG}, "spec.parameters.name", "may not be more than 63"),
]

SELECTOR = {"key": "a", "valueFromProvisioningClassDetail": "b"}
PROVISIONING = [
    ({"spec provisioningClassName": DROP}, "spec.provisioningClassName", "Required value"),
    ({"spec provisioningClassName": "A"}, "spec.provisioningClassName", PATTERN),
    ({"spec parameters": {n: "" for n in names("p", 101)}}, "spec.parameters", "must have at most 100 items"),
    ({"spec parameters": {"p": "x" * 256}}, "spec.parameters.p", "may not be more than 255"),
    ({"spec managedResources": ["gpu", "gpu"]}, "spec.managedResources[1]", "Duplicate value"),
    ({"spec managedResources": names("r", 101)}, "spec.managedResources", "must have at most 100 items"),
    (
        {"spec podSetUpdates": {"nodeSelector": [{**SELECTOR, "key": n} for n in names("k", 9)]}},
        "spec.podSetUpdates.nodeSelector",
        "must have at most 8 items",
    ),
    (
        {"spec podSetUpdates": {"nodeSelector": [{"key": "a"}]}},
        "spec.podSetUpdates.nodeSelector[0].valueFromProvisioningClassDetail",
        "Required value",
    ),
    ({"spec podSetMergePolicy": "Any"}, "spec.podSetMergePolicy", WORDS),
]

SOURCE = "spec clusterSource"
ONE_SOURCE = "exactly one of the fields in [kubeConfig clusterProfileRef] must be set"
MULTI_KUEUE_CLUSTER = [
    ({SOURCE: DROP}, "spec.clusterSource", "Required value"),
    ({SOURCE: {}}, "spec.clusterSource", ONE_SOURCE),
    ({SOURCE + " clusterProfileRef": {"name": "other"}}, "spec.clusterSource", ONE_SOURCE),
    ({SOURCE + " kubeConfig location": DROP}, "spec.clusterSource.kubeConfig.location", "Required value"),
    (
        {SOURCE + " kubeConfig location": "x" * 257},
        "spec.clusterSource.kubeConfig.location",
        "may not be more than 256",
    ),
    ({SOURCE + " kubeConfig locationType": "Url"}, "spec.clusterSource.kubeConfig.locationType", WORDS),
]

MULTI_KUEUE_CONFIG = [
    ({"spec clusters": []}, "spec.clusters", "should have at least 1 items"),
    ({"spec clusters": names("c", 21)}, "spec.clusters", "must have at most 20 items"),
    ({"spec clusters": ["one", "one"]}, "spec.clusters", "must be unique"),
    ({"spec quotaManagement": "Any"}, "spec.quotaManagement", WORDS),
]


def podset(name="main", count=3, **more):
    return {"name": name, "count": count, "template": {"spec": pod()}, **more}


NATS = "spec flavors 0 natsFlavor "
NATS_AT = "spec.flavors[0].natsFlavor."
ONE_CHOICE = "exactly one of pools and poolRegExp must be set"
ONE_FLAVOR = "exactly one of natsFlavor and localFlavor must be set"
ONE_LABEL = "a lowercase RFC 1123 label must consist of"


def listed(*pools):
    return {NATS + "poolRegExp": DROP, NATS + "pools": list(pools)}


MASTER_QUEUE = [
    ({NATS + "pools": ["a"]}, "spec.flavors[0].natsFlavor", ONE_CHOICE),
    ({NATS + "poolRegExp": DROP}, "spec.flavors[0].natsFlavor", ONE_CHOICE),
    ({"spec flavors 0 localFlavor": {}}, "spec.flavors[0].localFlavor", ONE_FLAVOR),
    ({"spec flavors 0 natsFlavor": DROP}, "spec.flavors[0]", ONE_FLAVOR),
    ({NATS + "natsConnector": DROP}, NATS_AT + "natsConnector", "Required value"),
    ({NATS + "natsSubject": DROP}, NATS_AT + "natsSubject", "Required value"),
    ({NATS + "natsConnector": "http://nats"}, NATS_AT + "natsConnector", "expected nats:// or tls://"),
    ({NATS + "natsConnector": "wss://user:sesame@nats/path"}, NATS_AT + "natsConnector", "WebSocket"),
    ({NATS + "natsConnector": "nats://user:sesame@nats:port"}, NATS_AT + "natsConnector", "a port from 1 to 65535"),
    ({NATS + "natsConnector": "x" * 4097}, NATS_AT + "natsConnector", "may not be more than 4096"),
    ({NATS + "natsSubject": "interlink.*"}, NATS_AT + "natsSubject", "must not have wildcards"),
    ({NATS + "natsSubject": "interlink."}, NATS_AT + "natsSubject", "must not have empty tokens"),
    ({NATS + "natsSubject": "inter link"}, NATS_AT + "natsSubject", "must not have spaces"),
    ({NATS + "natsSecret": {"name": "A"}}, NATS_AT + "natsSecret.name", SUBDOMAIN),
    ({NATS + "natsSecret": {}}, NATS_AT + "natsSecret.name", "Required value"),
    ({NATS + "virtualNode": "Node"}, NATS_AT + "virtualNode", SUBDOMAIN),
    ({NATS + "poolTimeout": 0}, NATS_AT + "poolTimeout", "must be between 1 and 86400 seconds"),
    ({NATS + "poolTimeout": "30"}, NATS_AT + "poolTimeout", "must be of type integer"),
    ({NATS + "poolRegExp": "podman-("}, NATS_AT + "poolRegExp", "missing ), unterminated subpattern at byte 8"),
    ({NATS + "poolRegExp": "*"}, NATS_AT + "poolRegExp", "nothing to repeat at byte 0"),
    (listed("a", "B"), NATS_AT + "pools[1]", ONE_LABEL),
    (listed("a.b"), NATS_AT + "pools[0]", "must not contain dots"),
    (listed("a", "a"), NATS_AT + "pools[1]", "Duplicate value"),
    (listed(*names("p", 257)), NATS_AT + "pools", "must have at most 256 items"),
    ({"spec flavors 0 name": "Interlink"}, "spec.flavors[0].name", SUBDOMAIN),
    ({"spec flavors 0 name": DROP}, "spec.flavors[0].name", "Required value"),
    ({"spec flavors 0 name": "a" * 252}, "spec.flavors[0].name", "must leave space for the name of a pool"),
    ({"spec flavors 1": {"name": "interlink", "localFlavor": {}}}, "spec.flavors[1].name", "Duplicate value"),
    (
        {"spec flavors": [{"name": n, "localFlavor": {}} for n in names("l", 65)]},
        "spec.flavors",
        "must have at most 64 items",
    ),
    ({"spec flavors 0 nominalQuota cpu": "much"}, "spec.flavors[0].nominalQuota[cpu]", "must be a quantity"),
    ({"spec flavors 0 nominalQuota cpu": -1}, "spec.flavors[0].nominalQuota[cpu]", NEGATIVE),
    ({"spec flavors 0 nominalQuota @": 1}, "spec.flavors[0].nominalQuota[@]", KEY),
    ({"spec flavors 0 nominalQuota gpu": True}, "spec.flavors[0].nominalQuota[gpu]", "must be a quantity"),
    (
        {"spec flavors 0 canLendTo 0 lendingLimit pods": "-1"},
        "spec.flavors[0].canLendTo[0].lendingLimit[pods]",
        NEGATIVE,
    ),
    ({"spec flavors 0 canLendTo 0 queue": "Group"}, "spec.flavors[0].canLendTo[0].queue", SUBDOMAIN),
    ({"spec flavors 0 canLendTo 0 queue": DROP}, "spec.flavors[0].canLendTo[0].queue", "Required value"),
    (
        {"metadata name": "group1"},
        "spec.flavors[0].canLendTo[0].queue",
        "must not be the name of the MasterQueue",
        "create",
    ),
    ({"spec flavors 0 canLendTo 1": {"queue": "group1"}}, "spec.flavors[0].canLendTo[1].queue", "Duplicate value"),
    ({"spec template cohort": "All"}, "spec.template.cohort", SUBDOMAIN),
    ({"spec template cohort": DROP}, "spec.template.cohort", "Required value"),
    ({"spec template stopPolicy": "Halt"}, "spec.template.stopPolicy", WORDS),
    ({"spec template queueingStrategy": "LIFO"}, "spec.template.queueingStrategy", WORDS),
    (
        {"spec template namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "Near"}]}},
        "spec.template.namespaceSelector.matchExpressions[0].operator",
        "not a valid selector operator",
    ),
    (
        {"spec template preemption": {"borrowWithinCohort": {"maxPriorityThreshold": 1 << 31}}},
        "spec.template.preemption.borrowWithinCohort.maxPriorityThreshold",
        "must be between -2147483648 and 2147483647",
    ),
]

SET = "spec podSets 0 "
GATED = noted("admission-gated-by")
RESERVED_KEY = "the key is reserved for internal kueue use"
MIN_COUNT = "minCount should be positive and less or equal to count"
# Also of Jobs, of pods and of what serves.
GATES = [
    ({NOTE + "admission-gated-by": "example.com/a,"}, GATED, "cannot contain empty gate names"),
    ({NOTE + "admission-gated-by": "example.com/a,example.com/a"}, GATED, "duplicate gate name: example.com/a"),
    ({NOTE + "admission-gated-by": "a"}, GATED, "must be a domain-prefixed path"),
    ({NOTE + "admission-gated-by": "Example.com/a"}, GATED, SUBDOMAIN),
    ({NOTE + "admission-gated-by": "example.com/{a}"}, GATED, "Invalid path"),
    ({NOTE + "admission-gated-by": "example.com/" + LONG}, GATED, "may not be more than 63 bytes"),
]


def class_ref(group, kind):
    return {"spec priority": 7, "spec priorityClassRef": {"group": group, "kind": kind, "name": "high"}}


WORKLOAD = GATES + [
    (
        {SET + "template spec": pod(pods="1")},
        "spec.podSets[0].template.spec.containers[0].resources.requests[pods]",
        RESERVED_KEY,
    ),
    (
        {SET + "template spec initContainers": pod(pods="1")["containers"]},
        "spec.podSets[0].template.spec.initContainers[0].resources.requests[pods]",
        RESERVED_KEY,
    ),
    (
        {"spec podSets": [podset("a", minCount=1), podset("b", minCount=1)]},
        "spec.podSets",
        "at most one podSet can use minCount",
    ),
    (
        {SET + "minCount": 1, NOTE + "elastic-job": "true"},
        "spec.podSets",
        "partial admission and elastic job cannot be used together",
    ),
    ({SET + "minCount": 4}, "spec.podSets[0]", MIN_COUNT),
    ({SET + "minCount": 0}, "spec.podSets[0].minCount", "should be greater than or equal to 1"),
    ({SET + "count": -1}, "spec.podSets[0].count", "should be greater than or equal to 0"),
    ({SET + "name": "Main"}, "spec.podSets[0].name", PATTERN),
    ({SET + "name": LONG}, "spec.podSets[0].name", "may not be more than 63"),
    ({SET + "template": DROP}, "spec.podSets[0].template", "Required value"),
    ({SET + "template spec containers": DROP}, "spec.podSets[0].template.spec.containers", "Required value"),
    (
        {SET + "template spec containers 0 resources requests cpu": "one"},
        "spec.podSets[0].template.spec.containers[0].resources.requests.cpu",
        PATTERN,
    ),
    ({"spec podSets": [podset(), podset()]}, "spec.podSets[1]", "Duplicate value"),
    ({"spec podSets": []}, "spec.podSets", "should have at least 1 items"),
    ({"spec podSets": [podset(n) for n in names("p", 19)]}, "spec.podSets", "must have at most 18 items"),
    (
        {SET + "topologyRequest": {"required": LONG}},
        "spec.podSets[0].topologyRequest.required",
        "may not be more than 63",
    ),
    (
        {SET + "topologyRequest": {"podsetSliceRequiredTopologyConstraints": [{"topology": "a", "size": 0}]}},
        "spec.podSets[0].topologyRequest.podsetSliceRequiredTopologyConstraints[0].size",
        "should be greater than or equal to 1",
    ),
    ({"spec queueName": "Main"}, "spec.queueName", PATTERN),
    (
        {"spec priorityClassRef": class_ref("kueue.x-k8s.io", "WorkloadPriorityClass")["spec priorityClassRef"]},
        "spec",
        "priority should not be nil when priorityClassRef is set",
    ),
    (
        class_ref("scheduling.k8s.io", "WorkloadPriorityClass"),
        "spec.priorityClassRef",
        "only the PriorityClass kind is allowed for the scheduling.k8s.io group",
    ),
    (
        class_ref("kueue.x-k8s.io", "PriorityClass"),
        "spec.priorityClassRef",
        "only the WorkloadPriorityClass kind is allowed for the kueue.x-k8s.io group",
    ),
    (class_ref("example.com", "PriorityClass"), "spec.priorityClassRef.group", WORDS),
    (
        {"spec maximumExecutionTimeSeconds": 0},
        "spec.maximumExecutionTimeSeconds",
        "should be greater than or equal to 1",
    ),
    (
        {"spec preemptionGates": [{"name": n} for n in names("g", 9)]},
        "spec.preemptionGates",
        "must have at most 8 items",
    ),
    ({NOTE + "priority-boost": "much"}, noted("priority-boost"), "must be a valid signed integer"),
    ({NOTE + "priority-boost": ""}, noted("priority-boost"), 'use "0" explicitly, empty string is not allowed'),
]

PREBUILT = "prebuilt-workload-name"
TEMPLATE = "spec.template.metadata"


def of_template(key):
    return noted("podset-" + key, of=TEMPLATE)


def layers(text):
    return {PODSET + "slice-required-topology-constraints": text}


LAYERS = of_template("slice-required-topology-constraints")
SLICES = {PODSET + "slice-required-topology": "rack"}
JOB = GATES + [
    ({LABEL + "queue-name": "Main_1"}, noted("queue-name", "labels"), SUBDOMAIN),
    ({LABEL + PREBUILT: "Main_1"}, noted(PREBUILT, "labels"), SUBDOMAIN),
    ({NOTE + PREBUILT: "Main_1"}, noted(PREBUILT), SUBDOMAIN),
    (
        {LABEL + "max-exec-time-seconds": "soon"},
        noted("max-exec-time-seconds", "labels"),
        'strconv.Atoi: parsing "soon": invalid syntax',
    ),
    ({LABEL + "max-exec-time-seconds": "0"}, noted("max-exec-time-seconds", "labels"), "should be greater than 0"),
    ({NOTE + "job-min-parallelism": "few"}, noted("job-min-parallelism"), "invalid syntax"),
    ({NOTE + "job-min-parallelism": "0"}, noted("job-min-parallelism"), "should be between 0 and 3"),
    ({NOTE + "job-min-parallelism": "4"}, noted("job-min-parallelism"), "should be between 0 and 3"),
    (
        {NOTE + "job-min-parallelism": "2", NOTE + "elastic-job": "true"},
        noted("job-min-parallelism"),
        "partial admission and elastic job cannot be used together",
    ),
    (
        {NOTE + "job-completions-equal-parallelism": "maybe"},
        noted("job-completions-equal-parallelism"),
        'strconv.ParseBool: parsing "maybe": invalid syntax',
    ),
    (
        {NOTE + "job-completions-equal-parallelism": "true", "spec completionMode": "NonIndexed"},
        noted("job-completions-equal-parallelism"),
        "should not be enabled for NonIndexed jobs",
        "create",
    ),
    (
        {NOTE + "job-completions-equal-parallelism": "true", "spec parallelism": 3},
        "spec.completions",
        "should be equal to parallelism when kueue.x-k8s.io/job-completions-equal-parallelism",
    ),
    (
        {PODSET + "required-topology": "rack", PODSET + "preferred-topology": "block"},
        TEMPLATE + ".annotations",
        "must not contain more than one topology annotation",
    ),
    ({PODSET + "required-topology": "@"}, of_template("required-topology"), KEY),
    ({PODSET + "preferred-topology": "@"}, of_template("preferred-topology"), KEY),
    ({PODSET + "unconstrained-topology": "maybe"}, of_template("unconstrained-topology"), "must be a boolean value"),
    (
        {PODSET + "slice-required-topology": "@", PODSET + "slice-size": "2"},
        of_template("slice-required-topology"),
        KEY,
    ),
    (
        SLICES,
        of_template("slice-size"),
        "must be set when 'kueue.x-k8s.io/podset-slice-required-topology' is specified",
    ),
    ({PODSET + "slice-size": "2"}, of_template("slice-size"), "may not be set when"),
    ({**SLICES, PODSET + "slice-size": "two"}, of_template("slice-size"), "must be a numeric value"),
    ({**SLICES, PODSET + "slice-size": "0"}, of_template("slice-size"), "must be greater than or equal to 1"),
    ({**SLICES, PODSET + "slice-size": "5"}, of_template("slice-size"), "must not be greater than pod set count 4"),
    (
        {PODSET + "group-name": "7", PODSET + "required-topology": "rack"},
        of_template("group-name"),
        "must not be a number",
    ),
    ({PODSET + "group-name": "a"}, of_template("group-name"), "may not be set when neither"),
    (
        {**SLICES, PODSET + "slice-size": "2", PODSET + "group-name": "a", PODSET + "required-topology": "rack"},
        of_template("group-name"),
        "may not be set when 'kueue.x-k8s.io/podset-slice-size' is specified",
    ),
    (layers("[{]"), LAYERS, "must be a valid JSON array"),
    (layers("{}"), LAYERS, "must be a valid JSON array"),
    (layers("[]"), LAYERS, "topology constraints must contain between 1 and 3 entries"),
    (layers('[{"topology":"rack","size":0}]'), LAYERS + "[0].size", "must be greater than or equal to 1"),
    (layers('[{"topology":"@","size":1}]'), LAYERS + "[0].topology", KEY),
    (
        layers('[{"topology":"block","size":4},{"topology":"rack","size":3}]'),
        LAYERS + "[1].size",
        "must evenly divide the parent layer size 4",
    ),
    (
        layers('[{"topology":"rack","size":4},{"topology":"rack","size":2}]'),
        LAYERS + "[1].topology",
        "rack (also at index 0)",
    ),
    (layers('[{"topology":"rack","size":8}]'), LAYERS, "must not be greater than pod set count 4"),
    ({**layers('[{"topology":"rack","size":2}]'), **SLICES}, LAYERS, "may not be set when"),
    (
        {NOTE + "elastic-job": "true", PODSET + "required-topology": "rack"},
        TEMPLATE + ".annotations.kueue.x-k8s.io/podset-required-topology",
        "required topology is not supported with elastic jobs",
    ),
    (
        {NOTE + "elastic-job": "true", PODSET + "preferred-topology": "rack"},
        TEMPLATE + ".annotations.kueue.x-k8s.io/podset-preferred-topology",
        "preferred topology is not supported with elastic jobs",
    ),
]

GROUP = "pod-group-name"
COUNT = "pod-group-total-count"
SYNTAX = [
    ({LABEL + "queue-name": "Main_1"}, noted("queue-name", "labels"), SUBDOMAIN),
]
POD = (
    GATES
    + [
        (*rule, "create")
        for rule in SYNTAX
        + [
            (
                {LABEL + "max-exec-time-seconds": "soon"},
                noted("max-exec-time-seconds", "labels"),
                'strconv.Atoi: parsing "soon": invalid syntax',
            ),
            (
                {LABEL + "max-exec-time-seconds": "0"},
                noted("max-exec-time-seconds", "labels"),
                "should be greater than 0",
            ),
            ({NOTE + "elastic-job": "true"}, noted("elastic-job"), 'elastic job is not supported for "/v1, Kind=Pod"'),
        ]
    ]
    + [
        ({LABEL + PREBUILT: "Main_1"}, noted(PREBUILT, "labels"), SUBDOMAIN),
        ({NOTE + PREBUILT: "Main_1"}, noted(PREBUILT), SUBDOMAIN),
        # One that is queued gets the right value when it is created.
        (
            {LABEL + "queue-name": DROP, LABEL + "managed": "false"},
            noted("managed", "labels"),
            "managed label value can only be 'true'",
        ),
        (
            {LABEL + "queue-name": DROP, LABEL + "managed": ""},
            noted("managed", "labels"),
            "managed label value can only be 'true'",
        ),
        ({LABEL + GROUP: "g"}, noted(COUNT), "annotation and the 'kueue.x-k8s.io/pod-group-name' label should be set"),
        (
            {NOTE + GROUP: "g"},
            noted(COUNT),
            "annotation and the 'kueue.x-k8s.io/pod-group-name' annotation should be set",
        ),
        (
            {NOTE + COUNT: "3"},
            noted(GROUP, "labels"),
            "both the 'kueue.x-k8s.io/pod-group-total-count' annotation and the 'kueue.x-k8s.io/pod-group-name' label",
        ),
        ({LABEL + GROUP: "G_1", NOTE + COUNT: "3"}, noted(GROUP, "labels"), SUBDOMAIN),
        # The annotation wins over a label that says something else.
        ({LABEL + GROUP: "g", NOTE + GROUP: "G_1", NOTE + COUNT: "3"}, noted(GROUP), SUBDOMAIN),
        ({LABEL + GROUP: "g", NOTE + COUNT: "many"}, noted(COUNT), 'strconv.Atoi: parsing "many": invalid syntax'),
        ({LABEL + GROUP: "g", NOTE + COUNT: ""}, noted(COUNT), 'strconv.Atoi: parsing "": invalid syntax'),
        ({LABEL + GROUP: "g", NOTE + COUNT: "2.5"}, noted(COUNT), "invalid syntax"),
        ({LABEL + GROUP: "g", NOTE + COUNT: "9" * 30}, noted(COUNT), "value out of range"),
        ({LABEL + GROUP: "g", NOTE + COUNT: "0"}, noted(COUNT), "group total count should be greater than zero"),
        ({LABEL + GROUP: "g", NOTE + COUNT: "-3"}, noted(COUNT), "group total count should be greater than zero"),
        (
            {LABEL + GROUP: "g", NOTE + COUNT: "3", LABEL + PREBUILT: "w"},
            noted(PREBUILT, "labels"),
            "prebuilt workload and pod group should be equal",
        ),
        (
            {LABEL + GROUP: "g", NOTE + COUNT: "3", NOTE + PREBUILT: "w"},
            noted(PREBUILT),
            "prebuilt workload and pod group should be equal",
        ),
        (
            {NOTE + "podset-required-topology": "rack", NOTE + "podset-preferred-topology": "block"},
            "metadata.annotations",
            "must not contain more than one topology annotation",
        ),
        ({NOTE + "podset-required-topology": "@"}, noted("podset-required-topology"), KEY),
        (
            {NOTE + "podset-unconstrained-topology": "maybe"},
            noted("podset-unconstrained-topology"),
            "must be a boolean value",
        ),
        ({NOTE + "podset-slice-required-topology": "rack"}, noted("podset-slice-size"), "must be set when"),
        ({NOTE + "podset-slice-size": "2"}, noted("podset-slice-size"), "may not be set when"),
        ({NOTE + "podset-group-name": "7"}, noted("podset-group-name"), "must not be a number"),
    ]
)
DEPLOYMENT = (
    GATES
    + SYNTAX
    + [
        (
            {NOTE + "elastic-job": "true"},
            noted("elastic-job"),
            'elastic job is not supported for "apps/v1, Kind=Deployment"',
        ),
    ]
)
STATEFUL_SET = (
    GATES
    + SYNTAX
    + [
        (
            {NOTE + "elastic-job": "true"},
            noted("elastic-job"),
            'elastic job is not supported for "apps/v1, Kind=StatefulSet"',
        ),
    ]
)

CREATE = {
    "ClusterQueue": CLUSTER_QUEUE,
    "Cohort": COHORT,
    "LocalQueue": LOCAL_QUEUE,
    "ResourceFlavor": RESOURCE_FLAVOR,
    "MasterQueue": MASTER_QUEUE,
    "Topology": TOPOLOGY,
    "WorkloadPriorityClass": PRIORITY_CLASS,
    "AdmissionCheck": ADMISSION_CHECK,
    "ProvisioningRequestConfig": PROVISIONING,
    "MultiKueueCluster": MULTI_KUEUE_CLUSTER,
    "MultiKueueConfig": MULTI_KUEUE_CONFIG,
    "Workload": WORKLOAD,
    "Job": JOB,
    "Pod": POD,
    "Deployment": DEPLOYMENT,
    "StatefulSet": STATEFUL_SET,
}

# ---- only of updates ----


def condition(type, **more):
    return {"type": type, "status": "True", "reason": "Test", "message": "", "lastTransitionTime": TIME, **more}


def admission(**more):
    return {
        "clusterQueue": "main",
        "podSetAssignments": [
            {"name": "main", "flavors": {"cpu": "red"}, "resourceUsage": {"cpu": "3"}, "count": 3, **more}
        ],
    }


def check(state="Pending", **more):
    return {"name": "budget", "state": state, "message": "", "lastTransitionTime": TIME, **more}


RESERVED = {"status conditions": [condition("QuotaReserved")], "status admission": admission()}
ADMITTED = {"status conditions": [condition("QuotaReserved"), condition("Admitted")], "status admission": admission()}
ASSIGNED = "status admission podSetAssignments 0 "
ASSIGNED_AT = "status.admission.podSetAssignments[0]"
UPDATES_AT = "status.admissionChecks[0].podSetUpdates"
WPC, PC = class_ref("kueue.x-k8s.io", "WorkloadPriorityClass"), class_ref("scheduling.k8s.io", "PriorityClass")
QUOTA_RESERVED = "is immutable while workload quota reserved"
ROOT = "<nil>"  # how the API server calls the object itself


def podset_updates(**update):
    return {"status admissionChecks": [check(podSetUpdates=[{"name": "main", **update}])]}


def topology(**piece):
    """Three pods on two racks."""
    piece = {
        "domainCount": 2,
        "valuesPerLevel": [{"individual": {"roots": ["a", "b"]}}],
        "podCounts": {"individual": [1, 2]},
        **piece,
    }
    return {ASSIGNED + "topologyAssignment": {"levels": ["rack"], "slices": [piece]}}


PLACE = ASSIGNED_AT + ".topologyAssignment"
ONE_OF_TWO = "exactly one of the fields in [universal individual] must be set"
GATE = {NOTE + "admission-gated-by": "example.com/a"}
WORKLOAD_UPDATE = [
    (
        RESERVED,
        {"spec podSets 1": podset("more"), ASSIGNED[:-2] + "1": {"name": "more"}},
        ROOT,
        "podSetAssignments must have the same number of podSets as the spec",
    ),
    (RESERVED, {SET + "count": 4}, "spec.podSets.0", FROZEN),
    (RESERVED, {SET + "template spec containers 0 image": "other"}, "spec.podSets.0", FROZEN),
    (RESERVED, {"spec queueName": "elsewhere"}, ROOT, "queueName " + QUOTA_RESERVED),
    (ADMITTED, {"spec maximumExecutionTimeSeconds": 5}, ROOT, "maximumExecutionTimeSeconds " + QUOTA_RESERVED),
    (RESERVED, WPC, ROOT, "priorityClassRef " + QUOTA_RESERVED),
    ({**WPC, **RESERVED}, PC, ROOT, "priorityClassRef.group " + QUOTA_RESERVED),
    ({**WPC, **RESERVED}, PC, ROOT, "priorityClassRef.kind " + QUOTA_RESERVED),
    (
        {**PC, **RESERVED},
        {"spec priorityClassRef name": "low"},
        ROOT,
        "priorityClassRef.name is immutable for scheduling.k8s.io/priorityclass while workload quota reserved",
    ),
    (
        GATE,
        {NOTE + "admission-gated-by": "example.com/a,example.com/b"},
        GATED,
        "can only remove gates, not add new ones",
    ),
    ({}, GATE, GATED, "cannot add admission gate after creation"),
    # status
    ({}, {"status conditions": [condition("QuotaReserved")]}, "status.admission", "Required value"),
    ({}, {**RESERVED, ASSIGNED + "name": "other"}, ASSIGNED_AT + ".name", 'Not found: "other"'),
    (
        {},
        {**RESERVED, ASSIGNED + "resourceUsage cpu": "4"},
        ASSIGNED_AT + ".resourceUsage[cpu]",
        "is not a multiple of 3",
    ),
    (
        {},
        {**RESERVED, "status admission podSetAssignments": []},
        ROOT,
        "podSetAssignments must have the same number of podSets as the spec",
    ),
    (RESERVED, {"status admission clusterQueue": "other"}, "status.admission", FROZEN),
    (RESERVED, {ASSIGNED + "flavors cpu": "blue"}, "status.admission", FROZEN),
    (
        {},
        {"status reclaimablePods": [{"name": "other", "count": 1}]},
        "status.reclaimablePods[other].name",
        'Unsupported value: "other": supported values: "main"',
    ),
    (
        {},
        {"status reclaimablePods": [{"name": "main", "count": 4}]},
        "status.reclaimablePods[main].count",
        "should be less or equal to 3",
    ),
    (
        {**RESERVED, "status reclaimablePods": [{"name": "main", "count": 2}]},
        {"status reclaimablePods": [{"name": "main", "count": 1}]},
        "status.reclaimablePods[main].count",
        "cannot be less then 2",
    ),
    (
        {**RESERVED, "status reclaimablePods": [{"name": "main", "count": 2}]},
        {"status reclaimablePods": []},
        "status.reclaimablePods[main]",
        "cannot be removed",
    ),
    ({}, podset_updates(name="other"), UPDATES_AT + "[0].name", 'Unsupported value: "other": supported values: "main"'),
    ({}, podset_updates(labels={"@": "a"}), UPDATES_AT + "[0].labels", KEY),
    ({}, podset_updates(annotations={"@": "a"}), UPDATES_AT + "[0].annotations", KEY),
    ({}, podset_updates(nodeSelector={"a": "@"}), UPDATES_AT + "[0].nodeSelector", VALUE),
    ({}, podset_updates(tolerations=[{"key": "@"}]), UPDATES_AT + "[0].tolerations[0].key", KEY),
    ({}, podset_updates(tolerations=[{"key": "a", "effect": "Never"}]), UPDATES_AT + "[0].tolerations", EFFECTS),
    (
        {"status admissionChecks": [check("Ready", podSetUpdates=[{"name": "main", "labels": {"a": "b"}}])]},
        {"status admissionChecks 0 podSetUpdates 0 labels a": "c"},
        UPDATES_AT,
        FROZEN,
    ),
    ({}, {"status admissionChecks": [check("Maybe")]}, "status.admissionChecks[0].state", WORDS),
    (
        {},
        {"status admissionChecks": [{**check(), "name": n} for n in names("c", 9)]},
        "status.admissionChecks",
        "must have at most 8 items",
    ),
    ({}, {"status conditions": [condition("Finished", status="Maybe")]}, "status.conditions[0].status", WORDS),
    ({}, {"status conditions": [condition("Finished", reason="@")]}, "status.conditions[0].reason", PATTERN),
    ({}, {"status conditions": [condition("@")]}, "status.conditions[0].type", PATTERN),
    (
        {},
        {"status conditions": [condition(n) for n in names("c", 17)]},
        "status.conditions",
        "must have at most 16 items",
    ),
    (
        {},
        {"status clusterName": "one"},
        "status.clusterName",
        "when setting clusterName it must be one of the nominatedClusterNames",
    ),
    (
        {"status nominatedClusterNames": ["one"]},
        {"status clusterName": "one"},
        "status",
        "clusterName and nominatedClusterNames are mutually exclusive",
    ),
    (
        {NOTE + "workload-slice-replacement-for": "default/other", "status clusterName": "one"},
        {"status clusterName": "two"},
        "status",
        "clusterName is immutable once set",
    ),
    (
        {},
        {**RESERVED, **topology(podCounts={"individual": [3]})},
        PLACE + ".slices[0]",
        "podCounts.individual must have length equal to domainCount",
    ),
    ({}, {**RESERVED, **topology(podCounts={})}, PLACE + ".slices[0].podCounts", ONE_OF_TWO),
    (
        {},
        {**RESERVED, **topology(valuesPerLevel=[{"individual": {"roots": ["a"]}}])},
        PLACE + ".slices[0]",
        "valuesPerLevel.individual, if set, must have roots of length equal to domainCount",
    ),
    (
        {},
        {**RESERVED, **topology(valuesPerLevel=[{"universal": "a"}] * 2)},
        PLACE,
        "valuesPerLevel must have the same length as the number of levels in this TopologyAssignment",
    ),
    ({}, {**RESERVED, **topology(valuesPerLevel=[{}])}, PLACE + ".slices[0].valuesPerLevel[0]", ONE_OF_TWO),
]

RUNS = {"spec suspend": False}
UNGATED = {"spec schedulingGates": []}
GROUPED = {LABEL + GROUP: "g", NOTE + COUNT: "3"}
READY = {"status replicas": 2, "status readyReplicas": 1}
CONTAINER = "spec template spec containers 0 "
OF_POD = "spec.template.spec"
# Of all that serves.
SERVES = [
    (READY, {LABEL + "queue-name": "elsewhere"}, noted("queue-name", "labels"), FROZEN),
    (READY, {LABEL + "queue-name": DROP}, noted("queue-name", "labels"), FROZEN),
    ({}, {LABEL + "queue-name": DROP}, noted("queue-name", "labels"), FROZEN),
    (
        READY,
        {LABEL + "priority-class": "high"},
        noted("priority-class", "labels"),
        "WorkloadPriorityClass cannot be added to a non-suspended workload",
    ),
    (
        {LABEL + "priority-class": "high"},
        {LABEL + "priority-class": DROP},
        noted("priority-class", "labels"),
        "WorkloadPriorityClass cannot be removed from a workload",
    ),
    (GATE, {NOTE + "admission-gated-by": "example.com/b"}, GATED, "can only remove gates, not add new ones"),
    ({}, GATE, GATED, "cannot add admission gate after creation"),
]
WITH_TOPOLOGY = {"spec topologyName": "default"}
UPDATE = {
    "ClusterQueue": [
        ({}, {MIGRATION: TRY}, "spec.concurrentAdmissionPolicy", FROZEN),
        (
            {MIGRATION: TRY},
            {MIGRATION + " migration mode": "RetainFirstAdmission"},
            "spec.concurrentAdmissionPolicy",
            FROZEN,
        ),
    ],
    "LocalQueue": [({}, {"spec clusterQueue": "other"}, "spec.clusterQueue", FROZEN)],
    "AdmissionCheck": [({}, {"spec controllerName": "example.com/other"}, "spec.controllerName", FROZEN)],
    "Topology": [({}, {"spec levels 0 nodeLabel": "example.com/zone"}, "spec.levels", FROZEN)],
    "ResourceFlavor": [
        (WITH_TOPOLOGY, {"spec nodeLabels pool": "b"}, "spec", "nodeLabels are immutable when topologyName is set"),
        (
            WITH_TOPOLOGY,
            {"spec tolerations": [{"key": "a"}]},
            "spec",
            "tolerations are immutable when topologyName is set",
        ),
        (WITH_TOPOLOGY, {"spec topologyName": "other"}, "spec", "topologyName is immutable when topologyName is set"),
        (WITH_TOPOLOGY, {"spec topologyName": DROP}, "spec", "topologyName is immutable when topologyName is set"),
    ],
    "Workload": WORKLOAD_UPDATE,
    "Job": [
        (RUNS, {LABEL + "queue-name": "elsewhere"}, noted("queue-name", "labels"), FROZEN),
        (RUNS, {LABEL + PREBUILT: "other"}, noted(PREBUILT, "labels"), FROZEN),
        (RUNS, {LABEL + "max-exec-time-seconds": "5"}, noted("max-exec-time-seconds", "labels"), FROZEN),
        (
            RUNS,
            {LABEL + "priority-class": "high"},
            noted("priority-class", "labels"),
            "WorkloadPriorityClass cannot be added to a non-suspended workload",
        ),
        (
            {LABEL + "priority-class": "high"},
            {LABEL + "priority-class": DROP},
            noted("priority-class", "labels"),
            "WorkloadPriorityClass cannot be removed from a workload",
        ),
        ({}, {NOTE + "elastic-job": "true"}, noted("elastic-job"), FROZEN),
        (
            {NOTE + "job-min-parallelism": "2", **RUNS},
            {"spec parallelism": 3},
            "spec.parallelism",
            "cannot change when partial admission is enabled and the job is not suspended",
        ),
        (
            RUNS,
            {NOTE + "job-completions-equal-parallelism": "true"},
            noted("job-completions-equal-parallelism"),
            FROZEN + " while the job is not suspended",
        ),
        (GATE, {NOTE + "admission-gated-by": "example.com/b"}, GATED, "can only remove gates, not add new ones"),
        ({}, GATE, GATED, "cannot add admission gate after creation"),
    ],
    "Pod": [
        (UNGATED, {LABEL + "queue-name": "elsewhere"}, noted("queue-name", "labels"), FROZEN),
        (UNGATED, {LABEL + "queue-name": DROP}, noted("queue-name", "labels"), FROZEN),
        (UNGATED, {LABEL + PREBUILT: "other"}, noted(PREBUILT, "labels"), FROZEN),
        (UNGATED, {LABEL + "max-exec-time-seconds": "5"}, noted("max-exec-time-seconds", "labels"), FROZEN),
        (
            UNGATED,
            {LABEL + "priority-class": "high"},
            noted("priority-class", "labels"),
            "WorkloadPriorityClass cannot be added to a non-suspended workload",
        ),
        (
            {LABEL + "priority-class": "high"},
            {LABEL + "priority-class": DROP},
            noted("priority-class", "labels"),
            "WorkloadPriorityClass cannot be removed from a workload",
        ),
        ({}, {NOTE + "elastic-job": "true"}, noted("elastic-job"), FROZEN),
        (GROUPED, {LABEL + GROUP: "h"}, noted(GROUP, "labels"), FROZEN),
        (GROUPED, {NOTE + GROUP: "h"}, noted(GROUP), FROZEN),
        (GROUPED, {LABEL + GROUP: DROP, NOTE + COUNT: DROP}, noted(GROUP, "labels"), FROZEN),
        (GROUPED, {NOTE + COUNT: DROP}, noted(COUNT), "should be set"),
        (
            {**GROUPED, NOTE + "retriable-in-group": "false"},
            {NOTE + "retriable-in-group": "true"},
            noted("retriable-in-group"),
            "unretriable pod group can't be converted to retriable",
        ),
        (
            {**GROUPED, NOTE + "retriable-in-group": "false"},
            {NOTE + "retriable-in-group": DROP},
            noted("retriable-in-group"),
            "unretriable pod group can't be converted to retriable",
        ),
        (GATE, {NOTE + "admission-gated-by": "example.com/b"}, GATED, "can only remove gates, not add new ones"),
        ({}, GATE, GATED, "cannot add admission gate after creation"),
    ],
    "Deployment": SERVES,
    "StatefulSet": SERVES
    + [
        ({}, {CONTAINER + "resources requests cpu": "2"}, OF_POD + ".containers[0].resources.requests", FROZEN),
        ({}, {CONTAINER + "ports": [{"containerPort": 80}]}, OF_POD + ".containers[0].ports", FROZEN),
        ({}, {"spec template spec containers 1": {"name": "d", "image": "none"}}, OF_POD + ".containers", FROZEN),
        (
            {},
            {"spec template spec initContainers": [{"name": "i", "image": "none"}]},
            OF_POD + ".initContainers",
            FROZEN,
        ),
        ({}, {"spec template spec nodeSelector": {"a": "b"}}, OF_POD + ".nodeSelector", FROZEN),
        ({}, {"spec template spec tolerations": [{"operator": "Exists"}]}, OF_POD + ".tolerations", FROZEN),
        ({}, {"spec template spec runtimeClassName": "other"}, OF_POD + ".runtimeClassName", FROZEN),
        ({}, {"spec template spec overhead": {"cpu": "1"}}, OF_POD + ".overhead", FROZEN),
        (
            {},
            {
                "spec template spec topologySpreadConstraints": [
                    {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
                ]
            },
            OF_POD + ".topologySpreadConstraints",
            FROZEN,
        ),
        (
            {},
            {
                "spec template spec affinity": {
                    "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}
                }
            },
            OF_POD + ".affinity",
            FROZEN,
        ),
        (
            {},
            {"spec template spec resourceClaims": [{"name": "gpu", "resourceClaimName": "r"}]},
            OF_POD + ".resourceClaims",
            FROZEN,
        ),
    ],
}

# ---- in the older versions, whose words differ ----

OLD = [
    (
        "ClusterQueue",
        "v1beta1",
        {"spec": {"resourceGroups": [group()]}},
        [
            ({FIRST + "borrowingLimit": 1}, "spec", "borrowingLimit must be nil when cohort is empty"),
            ({FIRST + "lendingLimit": 1}, AT + "lendingLimit", "must be nil when cohort is empty"),
            ({FIRST + "nominalQuota": -1}, AT + "nominalQuota", NEGATIVE),
            ({"spec flavorFungibility": {"whenCanBorrow": "Preempt"}}, "spec.flavorFungibility.whenCanBorrow", WORDS),
        ],
    ),
    (
        "Cohort",
        "v1alpha1",
        {"spec": {"resourceGroups": [group()]}},
        [
            ({FIRST + "borrowingLimit": 1}, AT + "borrowingLimit", "must be nil when parent is empty"),
            ({"spec parent": "Root"}, "spec.parent", PATTERN),
        ],
    ),
    (
        "Topology",
        "v1alpha1",
        {"spec": {"levels": [{"nodeLabel": "a"}]}},
        [
            ({"spec levels 1": {"nodeLabel": "a"}}, "spec.levels", "must be unique"),
        ],
    ),
    (
        "MultiKueueCluster",
        "v1beta1",
        {"spec": {"kubeConfig": {"location": "other", "locationType": "Secret"}}},
        [
            ({"spec kubeConfig": DROP}, "spec.kubeConfig", "Required value"),
        ],
    ),
    (
        "Workload",
        "v1beta1",
        {"spec": {"podSets": [podset()]}},
        [
            ({"spec podSets": DROP}, "spec.podSets", "Required value"),
            ({"spec priorityClassName": "high"}, "spec", "priority should not be nil when priorityClassName is set"),
            ({"spec priorityClassSource": "other"}, "spec.priorityClassSource", WORDS),
            (
                {SET + "template spec": pod(pods="1")},
                "spec.podSets[0].template.spec.containers[0].resources.requests[pods]",
                RESERVED_KEY,
            ),
        ],
    ),
]

OLD_SOURCE = {
    "spec priority": 7,
    "spec priorityClassName": "high",
    "spec priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass",
    **RESERVED,
}
OLD_UPDATE = [
    (
        "LocalQueue",
        "v1beta1",
        {"spec": {"clusterQueue": "main"}},
        [
            ({}, {"spec clusterQueue": "other"}, "spec.clusterQueue", FROZEN),
        ],
    ),
    (
        "Workload",
        "v1beta1",
        {"spec": {"queueName": "nowhere", "podSets": [podset()]}},
        [
            (RESERVED, {"spec queueName": "elsewhere"}, ROOT, "queueName " + QUOTA_RESERVED),
            (RESERVED, {SET + "count": 4}, "spec.podSets.0", FROZEN),
            (
                OLD_SOURCE,
                {"spec priorityClassSource": "scheduling.k8s.io/priorityclass"},
                ROOT,
                "priorityClassSource " + QUOTA_RESERVED,
            ),
            (
                {**OLD_SOURCE, "spec priorityClassSource": "scheduling.k8s.io/priorityclass"},
                {"spec priorityClassName": "low"},
                ROOT,
                "priorityClassName is immutable while workload quota reserved and priorityClassSource is not equal to",
            ),
        ],
    ),
]

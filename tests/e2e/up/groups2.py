# SPDX-License-Identifier: Apache-2.0
"""Objects of autoscaling, certificates, flow control, policies, devices and API services: as in groups.py."""

import base64
import subprocess

HPA = "autoscaling/v2"
CSR = "certificates.k8s.io/v1"
FLOW = "flowcontrol.apiserver.k8s.io/v1"
POLICY = "admissionregistration.k8s.io/v1"
DEVICES = "resource.k8s.io/v1"
AGGREGATION = "apiregistration.k8s.io/v1"


def path(version, plural):
    return f"/apis/{version}/namespaces/{{ns}}/{plural}", version


KINDS = {
    "horizontalpodautoscalers": (*path(HPA, "horizontalpodautoscalers"), "HorizontalPodAutoscaler"),
    "resourceclaims": (*path(DEVICES, "resourceclaims"), "ResourceClaim"),
    "resourceclaimtemplates": (*path(DEVICES, "resourceclaimtemplates"), "ResourceClaimTemplate"),
}
WHOLE_CLUSTER = {
    "certificatesigningrequests": (f"/apis/{CSR}/certificatesigningrequests", CSR, "CertificateSigningRequest"),
    "flowschemas": (f"/apis/{FLOW}/flowschemas", FLOW, "FlowSchema"),
    "prioritylevelconfigurations": (f"/apis/{FLOW}/prioritylevelconfigurations", FLOW, "PriorityLevelConfiguration"),
    "validatingadmissionpolicies": (f"/apis/{POLICY}/validatingadmissionpolicies", POLICY, "ValidatingAdmissionPolicy"),
    "validatingadmissionpolicybindings": (
        f"/apis/{POLICY}/validatingadmissionpolicybindings",
        POLICY,
        "ValidatingAdmissionPolicyBinding",
    ),
    "deviceclasses": (f"/apis/{DEVICES}/deviceclasses", DEVICES, "DeviceClass"),
    "resourceslices": (f"/apis/{DEVICES}/resourceslices", DEVICES, "ResourceSlice"),
    "apiservices": (f"/apis/{AGGREGATION}/apiservices", AGGREGATION, "APIService"),
}

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
PODS = {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "100m"}}}
OBJECT = {
    "type": "Object",
    "object": {"describedObject": TARGET, "metric": {"name": "m"}, "target": {"type": "Value", "value": "5"}},
}
EXTERNAL = {"type": "External", "external": {"metric": {"name": "m"}, "target": {"type": "Value", "value": "5"}}}
CONTAINER = {
    "type": "ContainerResource",
    "containerResource": {"name": "cpu", "container": "c", "target": {"type": "AverageValue", "averageValue": "1"}},
}
REQUEST = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
OPAQUE = {"opaque": {"driver": "d.io", "parameters": {"apiVersion": "v1", "kind": "X"}}}
WANTED = {"devices": {"requests": [REQUEST]}}


def make():
    return {
        "horizontalpodautoscalers": lambda rng: {
            "spec": {
                "scaleTargetRef": TARGET,
                "maxReplicas": 5,
                **rng.choice(
                    (
                        {},
                        {"minReplicas": 2},
                        {"metrics": [CPU, PODS]},
                        {"metrics": [OBJECT, EXTERNAL, CONTAINER]},
                        {"behavior": {"scaleUp": {"selectPolicy": "Min"}}},
                        {
                            "behavior": {
                                "scaleDown": {
                                    "stabilizationWindowSeconds": 60,
                                    "policies": [{"type": "Pods", "value": 1, "periodSeconds": 10}],
                                }
                            }
                        },
                    )
                ),
            }
        },
        "resourceclaims": lambda rng: {
            "spec": rng.choice(
                (
                    WANTED,
                    {
                        "devices": {
                            "requests": [
                                {"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "gpu", "count": 2}]},
                                {"name": "q", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}},
                            ],
                            "constraints": [{"requests": ["r/s", "q"], "matchAttribute": "d.io/numa"}],
                        }
                    },
                )
            )
        },
        "resourceclaimtemplates": lambda rng: {
            "spec": {"metadata": {"labels": {"a": "b"}}, "spec": WANTED},
        },
    }


def metric(*sources):
    return [("spec.metrics", [m]) for m in sources]


def target(**fields):
    return metric({"type": "Resource", "resource": {"name": "cpu", "target": fields}})


WRONG = {
    "horizontalpodautoscalers": [
        ("spec.maxReplicas", 0),
        ("spec.maxReplicas", -1),
        ("spec.minReplicas", 0),
        ("spec.minReplicas", 9),
        ("spec.scaleTargetRef", None),
        ("spec.scaleTargetRef.kind", "a/b"),
        ("spec.scaleTargetRef.apiVersion", "v1"),
        ("spec", None),
    ],
    "resourceclaims": [
        ("spec.devices.requests.0.name", "Bad_"),
        ("spec.devices.requests", [{"name": "x"}]),
        ("spec.devices.constraints", [{"requests": ["nowhere"], "matchAttribute": "x"}]),
        ("spec", None),
    ],
}

RULES = [
    {
        "subjects": [{"kind": "User", "user": {"name": "u"}}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    }
]
QUEUES = {"type": "Queue", "queuing": {}}
MATCH = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}


def subjects(*some):
    return [("spec.rules", [{**RULES[0], "subjects": [s]}]) for s in some]


def resources(*some):
    base = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["n"]}
    return [("spec.rules", [{"subjects": RULES[0]["subjects"], "resourceRules": [{**base, **r}]}]) for r in some]


def urls(*some):
    return [
        (
            "spec.rules",
            [{"subjects": RULES[0]["subjects"], "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": u}]}],
        )
        for u in some
    ]


def matches(*some):
    return [("spec.matchConstraints.resourceRules", [{**MATCH, **m}]) for m in some]


def validation(*some):
    return [("spec.validations", [v]) for v in some]


def requests(*some):
    return [("spec.devices.requests", [r]) for r in some]


def exactly(*some):
    return requests(*({"name": "r", "exactly": {"deviceClassName": "gpu", **e}} for e in some))


def device(*some):
    return [("spec.devices", [{"name": "a", **d}]) for d in some]


FAULTS = {
    "horizontalpodautoscalers": [
        *metric(
            {},
            {"type": "Odd"},
            {"type": "Resource"},
            {"type": "Pods", **{k: CPU[k] for k in ("resource",)}},
            {**CPU, "pods": PODS["pods"]},
            {"type": "Resource", "resource": {}},
            {"type": "Pods", "pods": {}},
            {"type": "Object", "object": {}},
            {"type": "External", "external": {}},
            {"type": "ContainerResource", "containerResource": {}},
            {"type": "External", "external": {"metric": {"name": "a/b"}, "target": {"type": "Value", "value": "0"}}},
            {
                "type": "External",
                "external": {"metric": {"name": "a"}, "target": {"type": "Value", "value": "1", "averageValue": "2"}},
            },
            {
                "type": "Object",
                "object": {
                    "describedObject": {"kind": "a/b", "name": "..", "apiVersion": "a/b/c"},
                    "metric": {"name": ""},
                    "target": {"type": "Value", "averageValue": "-1"},
                },
            },
            {**CONTAINER, "containerResource": {**CONTAINER["containerResource"], "container": "Bad_"}},
        ),
        *target(type="Odd", averageUtilization=0),
        *target(type="Utilization"),
        *target(type="AverageValue", averageUtilization=5, averageValue="1"),
        *(
            ("spec.behavior", {"scaleUp": r})
            for r in (
                {"stabilizationWindowSeconds": -1},
                {"stabilizationWindowSeconds": 3601},
                {"selectPolicy": "Odd"},
                {"policies": [{"type": "Odd", "value": 0, "periodSeconds": 0}]},
                {"policies": [{"type": "Pods", "value": -1, "periodSeconds": 1801}]},
                {"tolerance": "-1"},
                {"tolerance": "100m"},
            )
        ),
        ("spec.minReplicas", 0, "spec.metrics", [OBJECT]),
        ("spec.scaleTargetRef", {"kind": "ReplicationController", "name": "x", "apiVersion": "v1"}),
        ("spec.scaleTargetRef", {"kind": "", "name": "a%", "apiVersion": "a/b/c"}),
    ],
    "certificatesigningrequests": [
        ("spec.usages", []),
        ("spec.usages", ["odd", "any", "any"]),
        ("spec.signerName", ""),
        ("spec.signerName", "x"),
        ("spec.signerName", "a/b"),
        ("spec.signerName", "a.b/c/d"),
        ("spec.signerName", "a.b/Bad_"),
        ("spec.signerName", "Bad_.b/c"),
        ("spec.signerName", "kubernetes.io/legacy-unknown"),
        ("spec.expirationSeconds", 5),
        ("spec.username", "other", "spec.groups", ["g"]),
        ("status", {"conditions": [{"type": "Approved", "status": "True"}]}),
        ("metadata.name", "Any_Name"),
    ],
    "flowschemas": [
        ("spec", None),
        ("spec.matchingPrecedence", -1),
        ("spec.matchingPrecedence", 10001),
        ("spec.matchingPrecedence", 1),
        ("spec.priorityLevelConfiguration.name", ""),
        ("spec.priorityLevelConfiguration.name", "Bad_"),
        ("spec.rules", [{}]),
        ("spec.rules", []),
        *subjects(
            {},
            {"kind": "User"},
            {"kind": "User", "user": {"name": ""}},
            {
                "kind": "User",
                "user": {"name": "u"},
                "group": {"name": "g"},
                "serviceAccount": {"name": "a", "namespace": "b"},
            },
            {"kind": "Group", "user": {"name": "u"}, "serviceAccount": {"name": "a", "namespace": "b"}},
            {"kind": "ServiceAccount", "serviceAccount": {}},
            {"kind": "ServiceAccount", "serviceAccount": {"name": "Bad_", "namespace": "Bad_"}},
            {
                "kind": "ServiceAccount",
                "serviceAccount": {"name": "*", "namespace": "a"},
                "user": {"name": "u"},
                "group": {"name": "g"},
            },
        ),
        *resources(
            {"verbs": []},
            {"verbs": ["*", "get"]},
            {"verbs": ["odd"]},
            {"apiGroups": []},
            {"apiGroups": ["*", ""]},
            {"resources": []},
            {"resources": ["*", "pods"]},
            {"namespaces": []},
            {"namespaces": [], "clusterScope": True},
            {"namespaces": ["*", "a"]},
            {"namespaces": ["Bad_"]},
        ),
        *urls([], ["*", "/a"], [""], ["/"], ["a"], ["/a b"], ["/a//b"], ["/a*"], ["/a/*"], ["/*/b"], ["/a/**"]),
    ],
    "prioritylevelconfigurations": [
        ("spec", None),
        ("spec.type", ""),
        ("spec.type", "Odd"),
        ("spec.type", "Exempt"),
        ("spec.type", "Exempt", "spec.limited", None),
        ("spec.limited", None),
        ("spec.exempt", {}),
        ("spec.limited.nominalConcurrencyShares", -1),
        ("spec.limited.nominalConcurrencyShares", 0),
        ("spec.limited.lendablePercent", 101),
        ("spec.limited.borrowingLimitPercent", -1),
        ("spec.limited.limitResponse", {}),
        ("spec.limited.limitResponse", {"type": "Odd"}),
        ("spec.limited.limitResponse", {"type": "Reject", "queuing": {}}),
        ("spec.limited.limitResponse", {"type": "Queue"}),
        ("spec.limited.limitResponse", QUEUES),
        *(
            ("spec.limited.limitResponse", {"type": "Queue", "queuing": q})
            for q in (
                {"queues": -1, "handSize": -1, "queueLengthLimit": -1},
                {"queues": 5, "handSize": 6},
                {"queues": 10000001},
                {"queues": 10000, "handSize": 5},
                {"queues": 10000, "handSize": 4},
            )
        ),
        ("metadata.name", "exempt", "spec", {"type": "Exempt", "exempt": {"lendablePercent": 7}}),
        ("metadata.name", "catch-all"),
    ],
    "validatingadmissionpolicies": [
        ("spec", None),
        ("spec.failurePolicy", "Odd"),
        ("spec.matchConstraints", None),
        ("spec.matchConstraints", {}),
        ("spec.matchConstraints.matchPolicy", "Odd"),
        ("spec.matchConstraints.namespaceSelector", {"matchLabels": {"a b": "c"}}),
        ("spec.matchConstraints.objectSelector", {"matchExpressions": [{"key": "a", "operator": "Odd"}]}),
        *matches(
            {"apiGroups": []},
            {"apiGroups": ["*", "a"]},
            {"apiVersions": ["*", "v1"]},
            {"apiVersions": [""]},
            {"operations": []},
            {"operations": ["*", "CREATE"]},
            {"operations": ["Odd"]},
            {"resources": []},
            {"resources": [""]},
            {"resources": ["*/*", "pods"]},
            {"resources": ["*", "pods"]},
            {"resources": ["pods/*", "pods/status"]},
            {"resources": ["*/status", "pods/status"]},
            {"scope": "Odd"},
            {"resourceNames": ["a", "a", "b/c"]},
        ),
        ("spec.paramKind", {}),
        ("spec.paramKind", {"apiVersion": "a/b/c", "kind": "a b"}),
        ("spec.paramKind", {"apiVersion": "Bad_/1", "kind": "Kind"}),
        ("spec.paramKind", {"apiVersion": "a.io/v1", "kind": "Kind"}),
        ("spec.matchConditions", [{}]),
        ("spec.matchConditions", [{"name": "a b", "expression": "true"}]),
        ("spec.matchConditions", [{"name": "a", "expression": "true"}, {"name": "a", "expression": "true"}]),
        ("spec.variables", [{}]),
        ("spec.variables", [{"name": "1a", "expression": "1"}]),
        ("spec.variables", [{"name": "for", "expression": "1"}]),
        ("spec.validations", []),
        *validation(
            {},
            {"expression": " "},
            {"expression": "true", "message": " "},
            {"expression": "true", "message": "a\nb"},
            {"expression": "true", "message": "a\n"},
            {"expression": "true", "messageExpression": " "},
            {"expression": "true", "reason": "Odd"},
            {"expression": "true", "reason": "Invalid"},
        ),
        ("spec.auditAnnotations", [{"key": "a b", "valueExpression": "'x'"}]),
        ("spec.auditAnnotations", [{"key": "a", "valueExpression": " "}, {"key": "a", "valueExpression": "'x'"}]),
    ],
    "validatingadmissionpolicybindings": [
        ("spec", None),
        ("spec.policyName", "Bad_"),
        ("spec.validationActions", []),
        ("spec.validationActions", ["Odd", "Deny", "Deny"]),
        ("spec.validationActions", ["Deny", "Warn"]),
        ("spec.paramRef", {}),
        ("spec.paramRef", {"name": "a/b", "selector": {}, "parameterNotFoundAction": "Odd"}),
        ("spec.paramRef", {"selector": {"matchLabels": {"a b": "c"}}, "parameterNotFoundAction": "Allow"}),
        ("spec.matchResources", {"resourceRules": [{}]}),
        ("spec.matchResources", {}),
    ],
    "deviceclasses": [
        ("spec", None),
        ("spec.selectors", [{}]),
        ("spec.selectors", [{"cel": {"expression": "x" * 10241}}]),
        ("spec.selectors", [{"cel": {"expression": "true"}}] * 33),
        ("spec.config", [{}]),
        ("spec.config", [{"opaque": {}}]),
        ("spec.config", [{"opaque": {"driver": "Bad_", "parameters": {"a": 1}}}]),
        ("spec.config", [{"opaque": {"driver": "a.io", "parameters": {}}}]),
        ("spec.extendedResourceName", "x"),
        ("spec.extendedResourceName", "a.io/b"),
        ("spec.extendedResourceName", "kubernetes.io/b"),
        ("spec.extendedResourceName", "requests.a.io/b"),
        ("metadata.name", "Bad_"),
    ],
    "resourceclaims": [
        ("spec.devices", {}),
        *requests(
            {},
            {"name": "r"},
            {"name": "r", "exactly": {}, "firstAvailable": [{}]},
            {"name": "r", "firstAvailable": [{}]},
            {"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": "x"}] * 2},
            {"name": "r", "firstAvailable": [{"name": f"a{i}", "deviceClassName": "x"} for i in range(9)]},
        ),
        *exactly(
            {"deviceClassName": ""},
            {"deviceClassName": "Bad_"},
            {"count": -1},
            {"allocationMode": "All", "count": 1},
            {"allocationMode": "Odd"},
            {"selectors": [{}]},
            {"tolerations": [{}]},
            {"tolerations": [{"operator": "Odd", "effect": "Odd"}]},
            {"tolerations": [{"operator": "Exists", "value": "x"}]},
            {"tolerations": [{"operator": "Equal", "value": "a b", "key": "a b"}]},
            {"capacity": {"requests": {"m": "1"}}},
        ),
        ("spec.devices.requests", [REQUEST, REQUEST]),
        ("spec.devices.requests", [{**REQUEST, "name": f"r{i}"} for i in range(33)]),
        ("spec.devices.constraints", [{}]),
        ("spec.devices.constraints", [{"matchAttribute": "x"}]),
        ("spec.devices.constraints", [{"matchAttribute": "a.io/b", "requests": ["r", "r"]}]),
        ("spec.devices.constraints", [{"matchAttribute": "/b", "requests": ["a/b/c"]}]),
        ("spec.devices.constraints", [{"distinctAttribute": "a.io/1b"}]),
        ("spec.devices.config", [{}]),
        ("spec.devices.config", [{"requests": ["Bad_"], **OPAQUE}]),
    ],
    "resourceclaimtemplates": [
        ("spec", None),
        ("spec.metadata", {"labels": {"a b": "c"}}),
        ("spec.metadata", {"annotations": {"a b": "c"}}),
        ("spec.spec.devices.requests", [{}]),
    ],
    "resourceslices": [
        ("spec", None),
        ("spec.driver", ""),
        ("spec.driver", "Bad_"),
        ("spec.pool", {}),
        ("spec.pool", {"name": "a/Bad_", "generation": -1, "resourceSliceCount": 0}),
        ("spec.nodeName", None),
        ("spec.nodeName", ""),
        ("spec.nodeName", "Bad_"),
        ("spec.allNodes", True),
        ("spec.nodeName", None, "spec.allNodes", False),
        ("spec.nodeName", None, "spec.allNodes", True),
        ("spec.nodeName", None, "spec.perDeviceNodeSelection", True),
        ("spec.nodeName", None, "spec.perDeviceNodeSelection", True, *device({"nodeName": "n"})[0]),
        ("spec.nodeName", None, "spec.perDeviceNodeSelection", True, *device({"nodeName": "n", "allNodes": True})[0]),
        ("spec.sharedCounters", [{"name": "a", "counters": {"b": {"value": "1"}}}]),
        ("spec.devices", None, "spec.sharedCounters", [{"name": "a", "counters": {"b": {"value": "1"}}}] * 2),
        ("spec.devices", None, "spec.sharedCounters", [{"name": "Bad_"}]),
        *device(
            {"name": "Bad_"},
            {"nodeName": "n"},
            {"attributes": {"x": {}}},
            {"attributes": {"x": {"string": "a" * 65}}},
            {"attributes": {"x": {"version": "1.2"}}},
            {"attributes": {"x": {"version": "1.2.3-a.1+b"}}},
            {"attributes": {"a.io/1x": {"bool": True}}},
            {"attributes": {"/x": {"bool": False}}},
            {"attributes": {"x" * 33: {"bool": False}}},
            {"attributes": {f"x{i}": {"int": i} for i in range(33)}},
            {"capacity": {"m": {"value": "1", "requestPolicy": {"default": "1"}}}},
            {"taints": [{}]},
            {"taints": [{"key": "a b", "effect": "Odd"}]},
            {"taints": [{"key": "a", "effect": "None", "value": "a b"}]},
            {"taints": [{"key": "a", "effect": "NoSchedule"}]},
            {"consumesCounters": [{}]},
            {"consumesCounters": [{"counterSet": "Bad_", "counters": {"a": {"value": "1"}}}]},
            {"bindingConditions": ["a"]},
            {"bindingConditions": ["a", "a"], "bindingFailureConditions": ["a", "b", "b"]},
            {"bindingConditions": [f"a{i}" for i in range(5)], "bindingFailureConditions": ["a b"]},
        ),
        ("spec.devices", [{"name": "a"}, {"name": "a"}]),
        ("spec.devices", [{"name": f"a{i}"} for i in range(129)]),
    ],
    "apiservices": [
        ("spec", None),
        ("spec.group", ""),
        ("spec.group", "Bad_"),
        ("spec.version", "1"),
        ("spec.groupPriorityMinimum", 0),
        ("spec.groupPriorityMinimum", 20001),
        ("spec.versionPriority", 1001),
        ("spec.caBundle", "YWFh"),
        ("spec.insecureSkipTLSVerify", True),
        ("metadata.name", "v1.other.io"),
    ],
}

CHANGES = {
    "horizontalpodautoscalers": [
        (
            {},
            [
                {"spec": {"minReplicas": 0}},
                {"spec": {"metrics": None}},
                {"spec": {"metrics": [PODS]}},
                {"spec": {"behavior": {"scaleUp": {}}}},
                {"spec": {"scaleTargetRef": {"apiVersion": "v1"}}},
                {"metadata": {"labels": {"a": "b"}}},
            ],
        )
    ],
    "certificatesigningrequests": [
        ({}, [{"spec": {"usages": ["any"]}}, {"metadata": {"labels": {"a": "b"}}}, {"status": {"certificate": "YQ=="}}])
    ],
    "deviceclasses": [({}, [{"spec": {"extendedResourceName": "a.io/b"}}, {"spec": {"selectors": [{}]}}])],
    "resourceclaims": [({}, [{"spec": {"devices": {"requests": []}}}, {"metadata": {"labels": {"a": "b"}}}])],
    "resourceclaimtemplates": [
        ({}, [{"spec": {"metadata": {"labels": {"a": "c"}}}}, {"metadata": {"labels": {"a": "b"}}}])
    ],
    "resourceslices": [
        (
            {},
            [
                {"spec": {"driver": "e.io"}},
                {"spec": {"pool": {"name": "q"}}},
                {"spec": {"nodeName": "m"}},
                {"spec": {"pool": {"generation": 2}}},
                {"spec": {"devices": []}},
            ],
        )
    ],
}


def signed():
    """A request for a certificate, PEM in base64."""
    made = subprocess.run(
        ["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        + ["-keyout", "/dev/null", "-subj", "/CN=someone"],
        check=True,
        capture_output=True,
    )
    return base64.b64encode(made.stdout).decode()


GOOD = {
    "horizontalpodautoscalers": {"spec": {"scaleTargetRef": TARGET, "maxReplicas": 5}},
    "certificatesigningrequests": {
        "spec": {"request": signed(), "signerName": "example.com/signer", "usages": ["client auth"]}
    },
    "flowschemas": {"spec": {"priorityLevelConfiguration": {"name": "exempt"}, "rules": RULES}},
    "prioritylevelconfigurations": {"spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}},
    "validatingadmissionpolicies": {
        "spec": {"matchConstraints": {"resourceRules": [MATCH]}, "validations": [{"expression": "true"}]}
    },
    "validatingadmissionpolicybindings": {"spec": {"policyName": "p", "validationActions": ["Deny"]}},
    "deviceclasses": {"spec": {}},
    "resourceclaims": {"spec": WANTED},
    "resourceclaimtemplates": {"spec": {"spec": WANTED}},
    "resourceslices": {
        "spec": {
            "driver": "d.io",
            "nodeName": "n",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "a"}],
        }
    },
    "apiservices": {
        "metadata": {"name": "v1.g.io"},
        "spec": {"group": "g.io", "version": "v1", "groupPriorityMinimum": 10, "versionPriority": 10},
    },
}

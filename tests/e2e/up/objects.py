# SPDX-License-Identifier: Apache-2.0
"""What the histories of asked.py are about: kinds, objects of them, and what users get wrong.

A text @ns@ in an object stands for the namespace of the history.
"""

import groups
import groups2

# kind: (path of the collection below the namespace, apiVersion)
KINDS = {
    "configmaps": ("/api/v1/namespaces/{ns}/configmaps", "v1", "ConfigMap"),
    "secrets": ("/api/v1/namespaces/{ns}/secrets", "v1", "Secret"),
    "pods": ("/api/v1/namespaces/{ns}/pods", "v1", "Pod"),
    "podtemplates": ("/api/v1/namespaces/{ns}/podtemplates", "v1", "PodTemplate"),
    "services": ("/api/v1/namespaces/{ns}/services", "v1", "Service"),
    "jobs": ("/apis/batch/v1/namespaces/{ns}/jobs", "batch/v1", "Job"),
    "cronjobs": ("/apis/batch/v1/namespaces/{ns}/cronjobs", "batch/v1", "CronJob"),
    "deployments": ("/apis/apps/v1/namespaces/{ns}/deployments", "apps/v1", "Deployment"),
    "leases": ("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases", "coordination.k8s.io/v1", "Lease"),
    "limitranges": ("/api/v1/namespaces/{ns}/limitranges", "v1", "LimitRange"),
    "widgets": ("/apis/tests.sluice/v1/namespaces/{ns}/widgets", "tests.sluice/v1", "Widget"),
    "statefulsets": ("/apis/apps/v1/namespaces/{ns}/statefulsets", "apps/v1", "StatefulSet"),
    "replicasets": ("/apis/apps/v1/namespaces/{ns}/replicasets", "apps/v1", "ReplicaSet"),
    "serviceaccounts": ("/api/v1/namespaces/{ns}/serviceaccounts", "v1", "ServiceAccount"),
    "resourcequotas": ("/api/v1/namespaces/{ns}/resourcequotas", "v1", "ResourceQuota"),
    "persistentvolumeclaims": ("/api/v1/namespaces/{ns}/persistentvolumeclaims", "v1", "PersistentVolumeClaim"),
    "events": ("/api/v1/namespaces/{ns}/events", "v1", "Event"),
    "newevents": ("/apis/events.k8s.io/v1/namespaces/{ns}/events", "events.k8s.io/v1", "Event"),
    "roles": ("/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles", "rbac.authorization.k8s.io/v1", "Role"),
    "rolebindings": (
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings",
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
    ),
    "poddisruptionbudgets": (
        "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
        "policy/v1",
        "PodDisruptionBudget",
    ),
    "endpoints": ("/api/v1/namespaces/{ns}/endpoints", "v1", "Endpoints"),
    "endpointslices": (
        "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices",
        "discovery.k8s.io/v1",
        "EndpointSlice",
    ),
}
WHOLE_CLUSTER = {"nodes": ("/api/v1/nodes", "v1", "Node")}  # not in the histories: their objects would meet
SAME = {"newevents": "events"}  # other forms of the same objects

# A kind of the users' own, with everything that a schema can say.
WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.tests.sluice"},
    "spec": {
        "group": "tests.sluice",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                },
                "additionalPrinterColumns": [
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.replicas"},
                    {"name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1},
                ],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["color"],
                                "properties": {
                                    "color": {"type": "string", "enum": ["red", "green", "blue"]},
                                    "replicas": {"type": "integer", "minimum": 0, "maximum": 10, "default": 1},
                                    "tag": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 8},
                                    "port": {"x-kubernetes-int-or-string": True},
                                    "maybe": {"type": "string", "nullable": True},
                                    "parts": {
                                        "type": "array",
                                        "maxItems": 4,
                                        "x-kubernetes-list-type": "map",
                                        "x-kubernetes-list-map-keys": ["id"],
                                        "items": {
                                            "type": "object",
                                            "required": ["id"],
                                            "properties": {
                                                "id": {"type": "string"},
                                                "n": {"type": "integer", "default": 7},
                                            },
                                        },
                                    },
                                    "words": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "set",
                                        "items": {"type": "string"},
                                    },
                                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                                    "map": {"type": "object", "additionalProperties": {"type": "integer"}},
                                },
                            },
                            "status": {
                                "type": "object",
                                "properties": {"replicas": {"type": "integer"}, "note": {"type": "string"}},
                            },
                        },
                    }
                },
            }
        ],
    },
}


def container(rng):
    c = {
        "name": rng.choice(("main", "side")),
        "image": rng.choice(("busybox", "busybox:1.36", "example.com/x@sha256:" + "a" * 64)),
    }
    if rng.random() < 0.5:
        c["command"] = ["sleep", "1"]
    if rng.random() < 0.4:
        c["env"] = [
            {"name": "A", "value": "1"},
            {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ]
    if rng.random() < 0.4:
        c["ports"] = [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP", "name": "dns"}]
    if rng.random() < 0.5:
        c["resources"] = rng.choice(
            (
                {"requests": {"cpu": "100m"}},
                {"limits": {"cpu": 1, "memory": "1Gi"}},
                {"requests": {"cpu": "0.5", "memory": "64Mi"}, "limits": {"cpu": "500m", "memory": "64Mi"}},
            )
        )
    if rng.random() < 0.3:
        c.update(
            rng.choice(
                (
                    {"livenessProbe": {"httpGet": {"port": 80}}},
                    {"readinessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 3}},
                    {"startupProbe": {"tcpSocket": {"port": "dns"}}},
                    {"livenessProbe": {"grpc": {"port": 5}}},
                    {"lifecycle": {"preStop": {"exec": {"command": ["true"]}}}},
                    {"securityContext": {"privileged": False, "runAsNonRoot": True, "capabilities": {"drop": ["ALL"]}}},
                    {"workingDir": "/w"},
                    {"stdin": True, "tty": True},
                    {
                        "envFrom": [
                            {"configMapRef": {"name": "a"}},
                            {"secretRef": {"name": "b", "optional": True}, "prefix": "P_"},
                        ]
                    },
                    {"terminationMessagePolicy": "FallbackToLogsOnError"},
                    {
                        "env": [
                            {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
                            {"name": "D", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                        ]
                    },
                )
            )
        )
    return c


def pod_spec(rng, restart=None):
    # The account is named, because the real server is told not to put it in.
    spec = {
        "containers": [container(rng)],
        "serviceAccountName": "default",
        "schedulingGates": [{"name": "tests.sluice/wait"}],
    }
    if restart or rng.random() < 0.3:
        spec["restartPolicy"] = restart or rng.choice(("Never", "OnFailure"))
    if rng.random() < 0.3:
        spec["nodeSelector"] = {"disk": "ssd"}
    if rng.random() < 0.3:
        spec["tolerations"] = [{"key": "x", "operator": "Exists", "effect": "NoSchedule"}]
    if rng.random() < 0.2:
        spec["volumes"] = [{"name": "v", "emptyDir": {}}, {"name": "c", "configMap": {"name": "a"}}]
        spec["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
    if rng.random() < 0.2:
        spec.update(
            rng.choice(
                (
                    {
                        "affinity": {
                            "nodeAffinity": {
                                "requiredDuringSchedulingIgnoredDuringExecution": {
                                    "nodeSelectorTerms": [
                                        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}
                                    ]
                                }
                            }
                        }
                    },
                    {
                        "affinity": {
                            "podAntiAffinity": {
                                "preferredDuringSchedulingIgnoredDuringExecution": [
                                    {
                                        "weight": 5,
                                        "podAffinityTerm": {
                                            "topologyKey": "host",
                                            "labelSelector": {"matchLabels": {"app": "x"}},
                                        },
                                    }
                                ]
                            }
                        }
                    },
                    {
                        "topologySpreadConstraints": [
                            {
                                "maxSkew": 1,
                                "topologyKey": "zone",
                                "whenUnsatisfiable": "ScheduleAnyway",
                                "labelSelector": {"matchLabels": {"app": "x"}},
                            }
                        ]
                    },
                    {"securityContext": {"runAsUser": 5, "fsGroup": 6, "supplementalGroups": [7]}},
                    {"hostNetwork": True},
                    {"terminationGracePeriodSeconds": 5},
                    {"activeDeadlineSeconds": 100},
                    {"dnsPolicy": "Default"},
                    {"hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a"]}]},
                    {"imagePullSecrets": [{"name": "x"}]},
                    {"enableServiceLinks": False},
                    {"shareProcessNamespace": True},
                    {"automountServiceAccountToken": False},
                    {"hostname": "h", "subdomain": "s"},
                )
            )
        )
    if rng.random() < 0.2:
        spec["initContainers"] = [{"name": "first", "image": "busybox", "command": ["true"]}]
    return spec


def claim(rng):
    return {
        "accessModes": [rng.choice(("ReadWriteOnce", "ReadOnlyMany"))],
        "resources": {"requests": {"storage": rng.choice(("1Gi", "500Mi"))}},
        **rng.choice(({}, {"storageClassName": "fast"}, {"volumeMode": "Block"}, {"volumeName": "v"})),
    }


def template(rng, restart=None, labels=None):
    spec = pod_spec(rng, restart)
    del spec["schedulingGates"], spec["serviceAccountName"]
    return {"metadata": {"labels": labels or {"app": "x"}}, "spec": spec}


MAKE = {
    "configmaps": lambda rng: {
        "data": {rng.choice("xyz"): rng.choice(("1", "two\nlines", "ü")) for _ in range(rng.randint(0, 3))}
    },
    "secrets": lambda rng: rng.choice(
        (
            {"stringData": {"k": "v"}},
            {"data": {"k": "dg=="}, "type": "Opaque"},
            {"data": {"k": "dg=="}, "immutable": True},
        )
    ),
    "pods": lambda rng: {"spec": pod_spec(rng)},
    "podtemplates": lambda rng: {"template": template(rng)},
    "services": lambda rng: {
        "spec": {
            "selector": {"app": "x"},
            "ports": [{"port": 80, "targetPort": rng.choice((8080, "http"))}],
            **rng.choice(
                (
                    {"clusterIP": "None"},
                    {"clusterIP": "None"},
                    {},
                    {"type": "NodePort"},
                    {"type": "LoadBalancer"},
                    {"type": "ExternalName", "externalName": "a.example.com"},
                    {"sessionAffinity": "ClientIP"},
                    {"type": "LoadBalancer", "externalTrafficPolicy": "Local"},
                    {"clusterIP": "None", "publishNotReadyAddresses": True},
                )
            ),
        }
    },
    "jobs": lambda rng: {
        "spec": {
            "suspend": True,
            "template": template(rng, rng.choice(("Never", "OnFailure"))),
            **rng.choice(
                (
                    {},
                    {"completions": 3, "parallelism": 2},
                    {"completionMode": "Indexed", "completions": 2, "backoffLimitPerIndex": 1},
                    {"ttlSecondsAfterFinished": 60},
                    {"backoffLimit": 0},
                    {"activeDeadlineSeconds": 30},
                )
            ),
        }
    },
    "cronjobs": lambda rng: {
        "spec": {
            "suspend": True,
            "schedule": rng.choice(("0 3 * * *", "@hourly", "*/5 1-3 * * mon")),
            "jobTemplate": {"spec": {"template": template(rng, "Never")}},
        }
    },
    "deployments": lambda rng: {
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "x"}},
            "template": template(rng),
            **rng.choice(
                (
                    {},
                    {"strategy": {"type": "Recreate"}},
                    {"strategy": {"rollingUpdate": {"maxSurge": "50%"}}},
                    {"minReadySeconds": 3},
                )
            ),
        }
    },
    "leases": lambda rng: {"spec": {"holderIdentity": rng.choice(("me", "you")), "leaseDurationSeconds": 15}},
    "limitranges": lambda rng: {
        "spec": {"limits": [{"type": "Container", "max": {"memory": "2Gi"}, "defaultRequest": {"cpu": "50m"}}]}
    },
    "widgets": lambda rng: {
        "spec": {
            "color": rng.choice(("red", "blue")),
            **rng.choice(
                (
                    {},
                    {"replicas": 3},
                    {"tag": "abc", "port": 80},
                    {"port": "http", "maybe": None},
                    {"parts": [{"id": "x"}, {"id": "y", "n": 1}]},
                    {"words": ["one", "two"]},
                    {"free": {"any": [1, {"x": None}]}},
                    {"map": {"a": 1}},
                )
            ),
        }
    },
    "statefulsets": lambda rng: {
        "spec": {
            "replicas": 0,
            "serviceName": "x",
            "selector": {"matchLabels": {"app": "x"}},
            "template": template(rng),
            **rng.choice(
                (
                    {},
                    {"podManagementPolicy": "Parallel"},
                    {"updateStrategy": {"type": "OnDelete"}},
                    {"updateStrategy": {"rollingUpdate": {"partition": 2}}},
                    {"minReadySeconds": 3},
                    {"ordinals": {"start": 5}},
                    {"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"}},
                    {"volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": claim(rng)}]},
                )
            ),
        }
    },
    "replicasets": lambda rng: {
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "x"}},
            "template": template(rng),
            **rng.choice(({}, {"minReadySeconds": 3})),
        }
    },
    "serviceaccounts": lambda rng: rng.choice(
        (
            {},
            {"automountServiceAccountToken": False},
            {"secrets": [{"name": "x"}]},
            {"imagePullSecrets": [{"name": "x"}, {"name": "y"}]},
        )
    ),
    "resourcequotas": lambda rng: {
        "spec": {
            "hard": rng.choice(
                (
                    {"pods": "10"},
                    {"requests.cpu": "1.5", "limits.memory": "2Gi"},
                    {"count/widgets.tests.sluice": 5},
                    {"requests.example.com/gpu": "4"},
                )
            ),
            **rng.choice(
                (
                    {},
                    {},
                    {"scopes": ["BestEffort"]},
                    {
                        "scopeSelector": {
                            "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["x"]}]
                        }
                    },
                )
            ),
        }
    },
    "persistentvolumeclaims": lambda rng: {"spec": claim(rng)},
    "events": lambda rng: {
        "involvedObject": {"kind": "Pod", "name": "x", "namespace": "@ns@", "apiVersion": "v1"},
        "reason": rng.choice(("Why", "What")),
        "message": "it was so",
        "type": rng.choice(("Normal", "Warning")),
        **rng.choice(
            ({}, {"source": {"component": "c", "host": "h"}, "count": 2}, {"firstTimestamp": "2024-05-06T07:08:09Z"})
        ),
    },
    "newevents": lambda rng: {
        "regarding": {"kind": "Pod", "name": "x", "namespace": "@ns@", "apiVersion": "v1"},
        "reason": rng.choice(("Why", "What")),
        "note": "it was so",
        "type": rng.choice(("Normal", "Warning")),
        "action": "Doing",
        "reportingController": "tests.sluice/x",
        "reportingInstance": "x-1",
        "eventTime": "2024-05-06T07:08:09.123456Z",
        **rng.choice(
            (
                {},
                {"series": {"count": 2, "lastObservedTime": "2024-05-06T07:08:10.000000Z"}},
                {"related": {"kind": "Job", "name": "y"}},
            )
        ),
    },
    "roles": lambda rng: {
        "rules": rng.choice(
            (
                [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}],
                [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
            )
        )
    },
    "rolebindings": lambda rng: {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "x"},
        "subjects": rng.choice(
            ([], [{"kind": "User", "name": "u"}], [{"kind": "ServiceAccount", "name": "s", "namespace": "n"}])
        ),
    },
    "poddisruptionbudgets": lambda rng: {
        "spec": {
            "selector": {"matchLabels": {"app": "x"}},
            **rng.choice(
                (
                    {"minAvailable": 1},
                    {"maxUnavailable": "50%"},
                    {"minAvailable": 2, "unhealthyPodEvictionPolicy": "AlwaysAllow"},
                )
            ),
        }
    },
    "endpoints": lambda rng: {
        "subsets": rng.choice(
            (
                [{"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80}]}],
                [{"notReadyAddresses": [{"ip": "1.2.3.5", "hostname": "h"}]}],
            )
        )
    },
    "endpointslices": lambda rng: {
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["1.2.3.4"]}],
        **rng.choice(({}, {"ports": [{"port": 80, "name": "http"}]})),
    },
}

# What users get wrong: a path into the object, and what stands there then (None: it is taken away).
SELECTOR = [
    ("spec.selector", None),
    ("spec.selector", {}),
    ("spec.selector.matchLabels", {"app": "other"}),
    ("spec.selector", {"matchExpressions": [{"key": "app", "operator": "Odd"}]}),
    ("spec.selector", {"matchExpressions": [{"key": "app", "operator": "In"}]}),
    ("spec.selector", {"matchLabels": {"app": "x", "b c": "d"}}),
]
WRONG = {
    "*": [
        ("metadata.name", "Not_A_Name"),
        ("metadata.name", "x" * 300),
        ("metadata.labels", {"bad key!": "x"}),
        ("metadata.labels", {"k": "bad value!"}),
        ("metadata.labels", "text"),
        ("metadata.annotations", {"a": 1}),
        ("metadata.namespace", "elsewhere"),
        ("metadata.finalizers", ["nonsense"]),
        ("metadata.ownerReferences", [{"apiVersion": "v1", "kind": "Pod", "name": "x"}]),
        ("metadata.generateName", "gen-"),
        ("kind", "Other"),
        ("apiVersion", "v9"),
        ("metadata.uid", "1-2-3"),
        ("metadata.resourceVersion", "7"),
        ("unknownField", 1),
        ("metadata.unknownField", 1),
        ("metadata", None),
        ("metadata.labels", {"a": "b", "c": ""}),
    ],
    "configmaps": [
        ("data", {"bad key": "x"}),
        ("data", {"k": 1}),
        ("data", ["x"]),
        ("binaryData", {"k": "%%"}),
        ("immutable", "yes"),
        ("immutable", True),
    ],
    "secrets": [("data", {"k": "not base64!"}), ("type", 5), ("type", "kubernetes.io/tls")],
    "pods": [
        ("spec.containers", []),
        ("spec.containers", None),
        ("spec.containers.0.name", None),
        ("spec.containers.0.name", "Bad_Name"),
        ("spec.containers.0.image", None),
        ("spec.restartPolicy", "Sometimes"),
        ("spec.containers.0.ports", [{"containerPort": 70000}]),
        ("spec.containers.0.env", [{"name": ""}]),
        ("spec.containers.0.resources", {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
        ("spec.containers.0.resources", {"requests": {"cpu": "much"}}),
        ("spec.containers.0.resources", {"requests": {"cpu": "-1"}}),
        ("spec.volumes", [{"name": "v"}, {"name": "v"}]),
        ("spec.priorityClassName", "nobody"),
        ("spec.containers.0.volumeMounts", [{"name": "nowhere", "mountPath": "/x"}]),
        ("spec.terminationGracePeriodSeconds", -5),
        ("spec.activeDeadlineSeconds", 0),
        ("spec", None),
        ("spec", "text"),
        ("spec.nodeSelector", {"a": 5}),
        ("spec.dnsPolicy", "Never"),
        ("spec.containers.0.imagePullPolicy", "Perhaps"),
        ("spec.tolerations", [{"operator": "Exists", "value": "x"}]),
        ("spec.hostNetwork", "maybe"),
        ("spec.containers.0.command", "sleep 1"),
        ("status", {"phase": "Running"}),
        ("spec.containers.0.livenessProbe", {}),
        ("spec.containers.0.livenessProbe", {"httpGet": {"port": 0}}),
        ("spec.containers.0.livenessProbe", {"httpGet": {"port": 80}, "periodSeconds": -1}),
        ("spec.containers.0.livenessProbe", {"httpGet": {"port": 80}, "exec": {"command": ["x"]}}),
        ("spec.containers.0.livenessProbe", {"exec": {}}),
        ("spec.containers.0.livenessProbe", {"httpGet": {"port": 80, "scheme": "FTP"}}),
        ("spec.containers.0.livenessProbe", {"tcpSocket": {"port": 80}, "successThreshold": 2}),
        ("spec.containers.0.readinessProbe", {"tcpSocket": {"port": 80}, "terminationGracePeriodSeconds": 5}),
        ("spec.containers.0.lifecycle", {"postStart": {"sleep": {"seconds": -1}}}),
        (
            "spec.containers.0.env",
            [{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        ),
        ("spec.containers.0.env", [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nowhere"}}}]),
        ("spec.containers.0.env", [{"name": "A", "valueFrom": {}}]),
        ("spec.containers.0.env", [{"name": "a=b"}]),
        ("spec.containers.0.env", [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.gpu"}}}]),
        ("spec.containers.0.env", [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "Bad_", "key": ""}}}]),
        ("spec.containers.0.envFrom", [{}]),
        ("spec.containers.0.envFrom", [{"configMapRef": {"name": ""}}]),
        ("spec.containers.0.envFrom", [{"configMapRef": {"name": "x"}, "secretRef": {"name": "y"}}]),
        ("spec.containers.0.ports", [{"containerPort": 80}, {"containerPort": 80}]),
        ("spec.containers.0.ports", [{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}]),
        ("spec.containers.0.ports", [{"containerPort": 80, "protocol": "X"}]),
        ("spec.containers.0.ports", [{"containerPort": 80, "name": "Bad_Name"}]),
        ("spec.containers.0.ports", [{"containerPort": 80, "hostPort": 70000}]),
        ("spec.containers.0.terminationMessagePolicy", "Odd"),
        ("spec.containers.0.securityContext", {"privileged": True, "allowPrivilegeEscalation": False}),
        ("spec.containers.0.securityContext", {"runAsUser": -1}),
        ("spec.containers.0.resources", {"requests": {"odd": "1"}}),
        ("spec.containers.0.resources", {"limits": {"example.com/gpu": "1.5"}}),
        ("spec.containers.0.resources", {"requests": {"example.com/gpu": "1"}}),
        ("spec.containers.0.resources", {"requests": {"hugepages-2Mi": "2Mi"}}),
        ("spec.containers.0.resources", {"limits": {"a b": "1"}}),
        ("spec.volumes", [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/x"}}]),
        ("spec.volumes", [{"name": "Bad_", "emptyDir": {}}]),
        ("spec.volumes", [{"name": "v", "hostPath": {"path": ""}}]),
        ("spec.volumes", [{"name": "v", "hostPath": {"path": "/x", "type": "Odd"}}]),
        ("spec.volumes", [{"name": "v", "configMap": {"name": ""}}]),
        ("spec.volumes", [{"name": "v", "secret": {"secretName": ""}}]),
        ("spec.volumes", [{"name": "v", "emptyDir": {"sizeLimit": "-1"}}]),
        ("spec.volumes", [{"name": "v", "persistentVolumeClaim": {}}]),
        ("spec.volumes", [{"name": "v", "configMap": {"name": "x", "defaultMode": 5000}}]),
        ("spec.volumes", [{"name": "v", "configMap": {"name": "x", "items": [{"key": "", "path": "../x"}]}}]),
        ("spec.volumes", [{"name": "v", "downwardAPI": {"items": [{"path": "x"}]}}]),
        ("spec.volumes", [{"emptyDir": {}}]),
        ("spec.containers.0.volumeMounts", [{"name": "v", "mountPath": ""}]),
        ("spec.containers", [{"name": "a", "image": "x"}, {"name": "a", "image": "y"}]),
        ("spec.initContainers", [{"name": "main", "image": "x"}, {"name": "side", "image": "x"}]),
        ("spec.initContainers", [{"name": "i", "image": "x", "livenessProbe": {"httpGet": {"port": 80}}}]),
        ("spec.initContainers", [{"name": "i", "image": "x", "restartPolicy": "Never"}]),
        ("spec.ephemeralContainers", [{"name": "e", "image": "x"}]),
        (
            "spec.affinity",
            {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}},
        ),
        (
            "spec.affinity",
            {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [{"key": "a b", "operator": "Odd"}]}]
                    }
                }
            },
        ),
        (
            "spec.affinity",
            {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "preference": {}}]}},
        ),
        ("spec.affinity", {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": ""}]}}),
        (
            "spec.affinity",
            {
                "podAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 101, "podAffinityTerm": {"topologyKey": "x"}}
                    ]
                }
            },
        ),
        ("spec.topologySpreadConstraints", [{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Odd"}]),
        (
            "spec.topologySpreadConstraints",
            [
                {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"},
                {"maxSkew": 2, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"},
            ],
        ),
        ("spec.tolerations", [{"key": "a b"}]),
        ("spec.tolerations", [{"operator": "Odd"}]),
        ("spec.tolerations", [{"key": "x", "effect": "Odd"}]),
        ("spec.tolerations", [{"key": "x", "effect": "NoSchedule", "tolerationSeconds": 5}]),
        ("spec.tolerations", [{}]),
        ("spec.securityContext", {"runAsUser": -5}),
        ("spec.securityContext", {"sysctls": [{"name": "Bad Name", "value": "1"}]}),
        ("spec.securityContext", {"fsGroupChangePolicy": "Odd"}),
        ("spec.securityContext", {"seccompProfile": {"type": "Odd"}}),
        ("spec.hostname", "Bad_Name"),
        ("spec.subdomain", "Bad_Name"),
        ("spec.nodeName", "Bad_Name"),
        ("spec.serviceAccountName", "Bad_Name"),
        ("spec.hostAliases", [{"ip": "x", "hostnames": ["Bad_"]}]),
        ("spec.dnsConfig", {"nameservers": ["x"]}),
        ("spec.dnsPolicy", "None"),
        ("spec.readinessGates", [{"conditionType": "a b"}]),
        ("spec.schedulingGates", [{"name": "a b"}]),
        ("spec.schedulingGates", [{"name": "x/y"}, {"name": "x/y"}]),
        ("spec.runtimeClassName", "nobody"),
        ("spec.preemptionPolicy", "Odd"),
        ("spec.os", {"name": "odd"}),
        ("spec.priority", 5),
        ("spec.overhead", {"cpu": "1"}),
        ("spec.hostPID", True),
        ("spec.shareProcessNamespace", "x"),
        ("spec.nodeSelector", {"a b": "c"}),
        ("spec.setHostnameAsFQDN", True),
        ("spec.hostUsers", False),
        ("spec.activeDeadlineSeconds", 3000000000),
    ],
    "jobs": [
        ("spec.template", None),
        ("spec.template.spec.restartPolicy", "Always"),
        ("spec.template.spec.restartPolicy", None),
        ("spec.parallelism", -1),
        ("spec.completions", "three"),
        ("spec.completionMode", "Odd"),
        ("spec.backoffLimit", -1),
        ("spec.selector", {"matchLabels": {"a": "b"}}),
        ("spec.ttlSecondsAfterFinished", -1),
        ("spec.managedBy", "bad value"),
    ],
    "cronjobs": [
        ("spec.schedule", "every day"),
        ("spec.schedule", ""),
        ("spec.schedule", "61 * * * *"),
        ("spec.concurrencyPolicy", "Maybe"),
        ("spec.timeZone", "Mars/Base"),
        ("spec.startingDeadlineSeconds", -1),
    ],
    "deployments": [
        ("spec.selector", None),
        ("spec.selector.matchLabels", {"app": "other"}),
        ("spec.replicas", -1),
        ("spec.strategy", {"type": "Odd"}),
        ("spec.template", None),
        ("spec.strategy", {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}),
        ("spec.template.spec.restartPolicy", "Never"),
        ("spec.minReadySeconds", -1),
    ],
    "services": [
        ("spec.ports", []),
        ("spec.ports.0.port", 0),
        ("spec.type", "Odd"),
        ("spec.ports.0.protocol", "XYZ"),
        ("spec.clusterIP", "not an address"),
    ],
    "leases": [("spec.leaseDurationSeconds", 0), ("spec.renewTime", "yesterday"), ("spec.leaseTransitions", -1)],
    "limitranges": [
        ("spec.limits.0.type", "Odd"),
        ("spec.limits.0.max", {"memory": "x"}),
        ("spec.limits.0.min", {"memory": "3Gi"}),
    ],
    "widgets": [
        ("spec.color", "pink"),
        ("spec.color", None),
        ("spec.replicas", 11),
        ("spec.replicas", "3"),
        ("spec.replicas", 1.5),
        ("spec.tag", "ABC"),
        ("spec.tag", "abcdefghij"),
        ("spec.port", 1.5),
        ("spec.parts", [{"id": "x"}, {"id": "x"}]),
        ("spec.parts", [{"n": 1}]),
        ("spec.parts", [{"id": str(i)} for i in range(5)]),
        ("spec.words", ["a", "a"]),
        ("spec.map", {"a": "x"}),
        ("spec", []),
        ("spec.other", 1),
    ],
    "statefulsets": [
        *SELECTOR,
        ("spec.replicas", -1),
        ("spec.template", None),
        ("spec.serviceName", "Bad_Name"),
        ("spec.serviceName", None),
        ("spec.podManagementPolicy", "Odd"),
        ("spec.updateStrategy", {"type": "Odd"}),
        ("spec.updateStrategy", {"type": "OnDelete", "rollingUpdate": {"partition": 1}}),
        ("spec.updateStrategy", {"rollingUpdate": {"partition": -1}}),
        ("spec.template.spec.restartPolicy", "Never"),
        ("spec.minReadySeconds", -1),
        ("spec.persistentVolumeClaimRetentionPolicy", {"whenDeleted": "Odd"}),
        ("spec.ordinals", {"start": -1}),
        ("spec.revisionHistoryLimit", -1),
        ("spec.volumeClaimTemplates", [{"metadata": {"name": "d"}}]),
        ("spec.template.spec.activeDeadlineSeconds", 5),
        ("spec.updateStrategy", {"rollingUpdate": {"maxUnavailable": "x"}}),
        ("spec.updateStrategy", {"rollingUpdate": {"maxUnavailable": 0}}),
    ],
    "replicasets": [
        *SELECTOR,
        ("spec.replicas", -1),
        ("spec.template", None),
        ("spec.template.spec.restartPolicy", "Never"),
        ("spec.minReadySeconds", -1),
        ("spec.template.spec.containers", []),
        ("spec", None),
        ("spec.replicas", "x"),
    ],
    "serviceaccounts": [
        ("secrets", "x"),
        ("secrets", [{"name": 5}]),
        ("imagePullSecrets", [{}]),
        ("automountServiceAccountToken", "x"),
    ],
    "resourcequotas": [
        ("spec.hard", {"pods": "-1"}),
        ("spec.hard", {"pods": "1.5"}),
        ("spec.hard", {"nothing": "1"}),
        ("spec.hard", {"requests.cpu": "x"}),
        ("spec.hard", {"bad key": "1"}),
        ("spec.scopes", ["Odd"]),
        ("spec.scopes", ["BestEffort", "NotBestEffort"]),
        ("spec.scopes", ["Terminating", "NotTerminating"]),
        ("spec.scopeSelector", {"matchExpressions": [{"scopeName": "Odd", "operator": "In"}]}),
        ("spec.scopeSelector", {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]}),
        ("spec.scopeSelector", {"matchExpressions": [{"scopeName": "BestEffort", "operator": "Odd"}]}),
        ("spec", None),
    ],
    "persistentvolumeclaims": [
        ("spec.accessModes", []),
        ("spec.accessModes", ["Odd"]),
        ("spec.accessModes", ["ReadWriteOncePod", "ReadWriteOnce"]),
        ("spec.resources", {}),
        ("spec.resources", {"requests": {"storage": "0"}}),
        ("spec.resources", {"requests": {"storage": "-1Gi"}}),
        ("spec.resources", {"requests": {"cpu": "1", "storage": "1Gi"}}),
        ("spec.storageClassName", "Bad_Name"),
        ("spec.volumeMode", "Odd"),
        ("spec.selector", {"matchLabels": {"a b": "c"}}),
        ("spec.dataSource", {"kind": "Odd", "name": "x"}),
        ("spec.storageClassName", ""),
        ("spec", None),
        ("spec.volumeAttributesClassName", "x"),
    ],
    "events": [
        ("involvedObject.namespace", "elsewhere"),
        ("involvedObject.namespace", None),
        ("involvedObject", None),
        ("count", "x"),
        ("eventTime", "2024-05-06T07:08:09.123456Z"),
        ("type", "Odd"),
        ("lastTimestamp", "yesterday"),
        ("reason", 5),
    ],
    "newevents": [
        ("regarding.namespace", "elsewhere"),
        ("regarding", None),
        ("eventTime", None),
        ("action", None),
        ("action", "x" * 200),
        ("reportingController", None),
        ("reportingController", "bad name"),
        ("reportingInstance", None),
        ("reportingInstance", "x" * 200),
        ("type", "Odd"),
        ("type", None),
        ("reason", None),
        ("reason", "x" * 200),
        ("note", "x" * 2000),
        ("series", {"count": 1, "lastObservedTime": "2024-05-06T07:08:10.000000Z"}),
        ("series", {"count": 3}),
        ("deprecatedCount", 3),
        ("deprecatedFirstTimestamp", "2024-05-06T07:08:09Z"),
        ("deprecatedSource", {"component": "c"}),
        ("eventTime", "yesterday"),
    ],
    "roles": [
        ("rules", [{}]),
        ("rules", [{"verbs": ["get"]}]),
        ("rules", [{"apiGroups": [""], "resources": ["pods"]}]),
        ("rules", [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]),
        ("rules", "x"),
        ("rules", [{"verbs": ["get"], "apiGroups": [""]}]),
    ],
    "rolebindings": [
        ("roleRef", None),
        ("roleRef.kind", "Odd"),
        ("roleRef.name", ""),
        ("roleRef.apiGroup", "x"),
        ("roleRef.name", "y"),
        ("subjects", [{"kind": "Odd", "name": "x"}]),
        ("subjects", [{"kind": "User"}]),
        ("subjects", [{"kind": "User", "name": "u", "apiGroup": "x"}]),
        ("subjects", [{"kind": "ServiceAccount", "name": "Bad_Name", "namespace": "n"}]),
        ("subjects", [{"kind": "ServiceAccount", "name": "x"}]),
        ("subjects", [{"name": "x"}]),
    ],
    "poddisruptionbudgets": [
        ("spec.minAvailable", -1),
        ("spec.minAvailable", "x"),
        ("spec.minAvailable", "150%"),
        ("spec.maxUnavailable", 1),
        ("spec.maxUnavailable", "101%"),
        ("spec.selector", {"matchLabels": {"a b": "c"}}),
        ("spec.selector", None),
        ("spec.unhealthyPodEvictionPolicy", "Odd"),
        ("spec", None),
    ],
}

for more in groups, groups2:
    KINDS.update(more.KINDS)
    WHOLE_CLUSTER.update(more.WHOLE_CLUSTER)
    WRONG.update(more.WRONG)
MAKE.update(groups.make(template))
MAKE.update(groups2.make())

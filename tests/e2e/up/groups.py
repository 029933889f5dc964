# SPDX-License-Identifier: Apache-2.0
"""Objects of networking, storage and of the sets besides Deployments: as in objects.py and faults.py."""

NET = "networking.k8s.io/v1"
STORE = "storage.k8s.io/v1"


def path(version, plural):
    return f"/apis/{version}/namespaces/{{ns}}/{plural}", version


KINDS = {
    "daemonsets": (*path("apps/v1", "daemonsets"), "DaemonSet"),
    "replicationcontrollers": ("/api/v1/namespaces/{ns}/replicationcontrollers", "v1", "ReplicationController"),
    "ingresses": (*path(NET, "ingresses"), "Ingress"),
    "networkpolicies": (*path(NET, "networkpolicies"), "NetworkPolicy"),
    "csistoragecapacities": (*path(STORE, "csistoragecapacities"), "CSIStorageCapacity"),
}
WHOLE_CLUSTER = {
    "ingressclasses": (f"/apis/{NET}/ingressclasses", NET, "IngressClass"),
    "ipaddresses": (f"/apis/{NET}/ipaddresses", NET, "IPAddress"),
    "servicecidrs": (f"/apis/{NET}/servicecidrs", NET, "ServiceCIDR"),
    "csidrivers": (f"/apis/{STORE}/csidrivers", STORE, "CSIDriver"),
    "csinodes": (f"/apis/{STORE}/csinodes", STORE, "CSINode"),
    "volumeattachments": (f"/apis/{STORE}/volumeattachments", STORE, "VolumeAttachment"),
    "volumeattributesclasses": (f"/apis/{STORE}/volumeattributesclasses", STORE, "VolumeAttributesClass"),
}

BACKEND = {"service": {"name": "s", "port": {"number": 80}}}
ROUTE = {"path": "/x", "pathType": "Prefix", "backend": BACKEND}
PEER = {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}


def make(template):
    """Objects of the histories; 'template' makes the template of a pod."""
    return {
        "daemonsets": lambda rng: {
            "spec": {
                "selector": {"matchLabels": {"app": "x"}},
                "template": template(rng),
                **rng.choice(
                    (
                        {},
                        {"updateStrategy": {"type": "OnDelete"}},
                        {"updateStrategy": {"rollingUpdate": {"maxSurge": "30%", "maxUnavailable": 0}}},
                        {"minReadySeconds": 3},
                    )
                ),
            }
        },
        "replicationcontrollers": lambda rng: {
            "spec": {
                "replicas": 0,
                "template": template(rng),
                **rng.choice(({}, {"selector": {"app": "x"}}, {"minReadySeconds": 3})),
            }
        },
        "ingresses": lambda rng: {
            "spec": rng.choice(
                (
                    {"rules": [{"host": "a.example.com", "http": {"paths": [ROUTE]}}]},
                    {"defaultBackend": BACKEND, "ingressClassName": "nginx"},
                    {
                        "rules": [{"host": "*.a.io"}, {"http": {"paths": [{**ROUTE, "pathType": "Exact"}]}}],
                        "tls": [{"hosts": ["b.io"], "secretName": "s"}],
                    },
                    {"defaultBackend": {"resource": {"apiGroup": "a.io", "kind": "Bucket", "name": "b"}}},
                )
            )
        },
        "networkpolicies": lambda rng: {
            "spec": {
                "podSelector": {"matchLabels": {"app": "x"}},
                **rng.choice(
                    (
                        {},
                        {"ingress": [{"from": [PEER], "ports": [{"port": 80}]}]},
                        {"egress": [{"to": [{"podSelector": {}}], "ports": [{"port": "http", "protocol": "UDP"}]}]},
                        {"egress": [{}], "policyTypes": ["Egress"]},
                        {"ingress": [{"ports": [{"port": 80, "endPort": 90}]}]},
                    )
                ),
            }
        },
        "csistoragecapacities": lambda rng: {
            "storageClassName": "fast",
            **rng.choice(({}, {"capacity": "10Gi"}, {"nodeTopology": {"matchLabels": {"zone": "a"}}})),
        },
    }


WRONG = {
    "daemonsets": [
        ("spec.selector", None),
        ("spec.selector", {}),
        ("spec.selector.matchLabels", {"app": "other"}),
        ("spec.template", None),
        ("spec.template.spec.restartPolicy", "Never"),
        ("spec.template.spec.activeDeadlineSeconds", 5),
        ("spec.minReadySeconds", -1),
        ("spec.revisionHistoryLimit", -1),
        ("spec.updateStrategy", {"type": "Odd"}),
        ("spec.updateStrategy", {"rollingUpdate": {"maxUnavailable": 0}}),
        ("spec.updateStrategy", {"rollingUpdate": {"maxSurge": 1}}),
        ("spec.updateStrategy", {"rollingUpdate": {"maxSurge": "x", "maxUnavailable": "101%"}}),
        ("spec.updateStrategy", {"type": "OnDelete", "rollingUpdate": {"maxSurge": -1}}),
        ("spec", None),
        ("metadata.annotations", {"deprecated.daemonset.template.generation": "7"}),
        ("metadata.annotations", {"deprecated.daemonset.template.generation": "x"}),
    ],
    "replicationcontrollers": [
        ("spec.selector", {"app": "other"}),
        ("spec.template", None),
        ("spec.template.metadata.labels", None),
        ("spec.replicas", -1),
        ("spec.minReadySeconds", -1),
        ("spec.template.spec.restartPolicy", "Never"),
        ("spec.template.spec.activeDeadlineSeconds", 5),
        ("spec.selector", {"matchLabels": {"a": "b"}}),
        ("spec", None),
        ("metadata.name", "a.b"),
    ],
}

FAULTS = {
    "ingresses": [
        ("spec", None),
        ("spec", {}),
        ("spec.defaultBackend", {}),
        ("spec.defaultBackend", {**BACKEND, "resource": {"kind": "a", "name": "b"}}),
        *(
            ("spec.defaultBackend", {"resource": r})
            for r in ({}, {"kind": "a/b", "name": ".."}, {"apiGroup": "Bad_", "kind": "a", "name": "b%"}, {"kind": "K"})
        ),
        *(
            ("spec.defaultBackend", {"service": s})
            for s in (
                {},
                {"name": "Bad_"},
                {"name": "1a", "port": {"name": "web"}},
                {"name": "a", "port": {"name": "web", "number": 80}},
                {"name": "a", "port": {"name": "Bad_Name"}},
                {"name": "a", "port": {"number": 70000}},
                {"name": "a", "port": {"number": -1}},
                {"name": "a.b", "port": {"name": "x" * 16}},
            )
        ),
        *(
            ("spec.rules", [r])
            for r in (
                {"host": "1.2.3.4"},
                {"host": "Bad_"},
                {"host": "*"},
                {"host": "*.io"},
                {"host": "*.*.io"},
                {"host": "a.*.io"},
                {"host": "*." + "a" * 254},
                {"host": "::1"},
                {"http": {}},
                {"http": {"paths": []}},
                {"http": {"paths": [{}]}},
                {"http": {"paths": [{"pathType": "Odd", "path": "x"}]}},
                {"http": {"paths": [{"pathType": "Exact", "backend": BACKEND}]}},
                {"http": {"paths": [{"pathType": "Exact", "path": "", "backend": BACKEND}]}},
                {"http": {"paths": [{"pathType": "Prefix", "path": "x//y", "backend": BACKEND}]}},
                {"http": {"paths": [{"pathType": "Prefix", "path": "/a//b/./c/../d%2f%2F/..", "backend": BACKEND}]}},
                {"http": {"paths": [{"pathType": "Exact", "path": "/a/.", "backend": BACKEND}]}},
                {"http": {"paths": [{"pathType": "ImplementationSpecific", "backend": BACKEND}]}},
                {"http": {"paths": [{"pathType": "ImplementationSpecific", "path": "//x", "backend": BACKEND}]}},
                {"http": {"paths": [{"pathType": "ImplementationSpecific", "path": "x", "backend": {}}]}},
            )
        ),
        ("spec.tls", [{"hosts": ["Bad_", "*", "*.a", "1.2.3.4"], "secretName": "Bad_"}]),
        ("spec.tls", [{}]),
        ("spec.ingressClassName", ""),
        ("spec.ingressClassName", "Bad_"),
        ("metadata.annotations", {"kubernetes.io/ingress.class": "a"}),
        ("metadata.annotations", {"kubernetes.io/ingress.class": "a"}, "spec.ingressClassName", "b"),
        ("metadata.annotations", {"kubernetes.io/ingress.class": "a"}, "spec.ingressClassName", "a"),
        ("metadata.name", "Bad_"),
    ],
    "ingressclasses": [
        ("spec", None),
        ("spec.controller", "x"),
        ("spec.controller", "Bad_/x"),
        ("spec.controller", "a.io/"),
        ("spec.controller", "a.io/" + "x" * 250),
        *(
            ("spec.parameters", p)
            for p in (
                {},
                {"kind": "a/b", "name": "c%"},
                {"kind": "K", "name": "n", "apiGroup": "Bad_"},
                {"kind": "K", "name": "n", "scope": "Odd"},
                {"kind": "K", "name": "n", "scope": "Namespace"},
                {"kind": "K", "name": "n", "scope": "Namespace", "namespace": "Bad_"},
                {"kind": "K", "name": "n", "scope": "Cluster", "namespace": "a"},
                {"kind": "K", "name": "n", "namespace": ""},
                {"kind": "K", "name": "n"},
            )
        ),
    ],
    "networkpolicies": [
        ("spec", None),
        ("spec.podSelector", {"matchLabels": {"a b": "c"}}),
        ("spec.policyTypes", ["Odd"]),
        ("spec.policyTypes", ["Ingress", "Egress", "Ingress"]),
        *(
            ("spec.ingress", [{"ports": [p]}])
            for p in (
                {},
                {"protocol": "Odd"},
                {"protocol": ""},
                {"port": 0},
                {"port": 65536, "endPort": 1},
                {"port": 80, "endPort": 79},
                {"port": 80, "endPort": 65536},
                {"port": "http", "endPort": 80},
                {"endPort": 80},
                {"port": "Bad_"},
                {"port": ""},
                {"port": 80, "endPort": 80},
            )
        ),
        *(
            ("spec.egress", [{"to": [p]}])
            for p in (
                {},
                {"podSelector": {}, **PEER},
                {"podSelector": {"matchLabels": {"a b": "c"}}, "namespaceSelector": {}},
                {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Odd"}]}},
                {"ipBlock": {}},
                {"ipBlock": {"cidr": "x"}},
                {"ipBlock": {"cidr": "10.0.0.1/8"}},
                {"ipBlock": {"cidr": "010.0.0.0/8"}},
                {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["x", "11.0.0.0/16", "10.0.0.0/8", "10.0.0.0/7"]}},
                {"ipBlock": {"cidr": "fd00::/64", "except": ["10.0.0.0/16", "fd00::/65"]}},
                {"ipBlock": {"cidr": "::ffff:10.0.0.0/120", "except": ["10.0.0.0/28"]}},
            )
        ),
    ],
    "ipaddresses": [
        ("spec", None),
        ("spec.parentRef", None),
        ("spec.parentRef", {}),
        ("spec.parentRef", {"group": "Bad_", "resource": "a/b", "name": "..", "namespace": "%"}),
        ("metadata.name", "x"),
        ("metadata.name", "010.0.0.1"),
        ("metadata.name", "fd00:0::1"),
        ("metadata.name", "FD00::1"),
        ("metadata.name", "fd00::1"),
        ("metadata.name", "::ffff:1.2.3.4"),
    ],
    "servicecidrs": [
        ("spec", None),
        ("spec.cidrs", []),
        ("spec.cidrs", ["x"]),
        ("spec.cidrs", ["10.0.0.1/24"]),
        ("spec.cidrs", ["10.7.0.0/24", "10.8.0.0/24"]),
        ("spec.cidrs", ["10.7.0.0/24", "fd00::/64"]),
        ("spec.cidrs", ["10.7.0.0/24", "fd00:0::/64"]),
        ("spec.cidrs", ["10.7.0.0/24", "fd00::/64", "10.9.0.0/24"]),
        ("spec.cidrs", ["FD00::/64"]),
        ("spec.cidrs", ["010.0.0.0/24"]),
        ("status", {"conditions": [{"type": "x"}]}),
    ],
    "csidrivers": [
        ("spec", None),
        ("spec.fsGroupPolicy", "Odd"),
        ("spec.fsGroupPolicy", ""),
        ("spec.tokenRequests", [{"audience": ""}]),
        ("spec.tokenRequests", [{"audience": "a"}, {"audience": "a", "expirationSeconds": 5}]),
        ("spec.tokenRequests", [{"audience": "a", "expirationSeconds": 5}]),
        ("spec.tokenRequests", [{"audience": "a", "expirationSeconds": 5000000000}]),
        ("spec.tokenRequests", [{"audience": "a"}], "spec.serviceAccountTokenInSecrets", True),
        ("spec.serviceAccountTokenInSecrets", True),
        ("spec.serviceAccountTokenInSecrets", False),
        ("spec.volumeLifecycleModes", ["Odd", "Ephemeral"]),
        ("spec.volumeLifecycleModes", []),
        ("spec.nodeAllocatableUpdatePeriodSeconds", 5),
        ("spec.attachRequired", None),
        ("spec.preventPodSchedulingIfMissing", True),
        ("spec.seLinuxMount", True),
        ("metadata.name", "Bad_"),
    ],
    "csinodes": [
        *(
            ("spec.drivers", [{"name": "d.io", "nodeID": "n", **d}])
            for d in (
                {"name": ""},
                {"name": "x" * 64},
                {"name": "Good.IO"},
                {"name": "Bad_"},
                {"nodeID": ""},
                {"nodeID": "x" * 257},
                {"allocatable": {"count": -1}},
                {"allocatable": {}},
                {"topologyKeys": ["", "a b", "a", "a"]},
                {"topologyKeys": []},
            )
        ),
        ("spec.drivers", [{"name": "d.io", "nodeID": "n"}, {"name": "d.io", "nodeID": "m"}]),
    ],
    "volumeattachments": [
        ("spec", None),
        ("spec.attacher", ""),
        ("spec.attacher", "Bad_"),
        ("spec.attacher", "x" * 64),
        ("spec.nodeName", ""),
        ("spec.nodeName", "Bad_"),
        ("spec.source", {}),
        ("spec.source", {"persistentVolumeName": ""}),
        ("spec.source", {"persistentVolumeName": "Bad_"}),
        ("spec.source", {"persistentVolumeName": "a", "inlineVolumeSpec": {}}),
        ("status", {"attached": True, "attachError": {"errorCode": -1}}),
    ],
    "csistoragecapacities": [
        ("storageClassName", ""),
        ("storageClassName", "Bad_"),
        ("capacity", "-1"),
        ("capacity", "x"),
        ("maximumVolumeSize", "-1"),
        ("nodeTopology", {"matchLabels": {"a b": "c"}}),
        ("metadata.generateName", "csi-"),
    ],
    "volumeattributesclasses": [
        ("driverName", ""),
        ("driverName", "a b"),
        ("driverName", "UP.io"),
        ("parameters", {}),
        ("parameters", {"": "x"}),
        ("parameters", {"a": ""}),
        ("parameters", {str(i): "x" for i in range(513)}),
    ],
}

LABELED = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main", "image": "x"}]}}
CHANGES = {
    "daemonsets": [
        (
            {},
            [
                {"spec": {"selector": {"matchLabels": {"a": "c"}}}},
                {"spec": {"template": {"metadata": {"labels": {"c": "d"}}}}},
                {"metadata": {"annotations": {"deprecated.daemonset.template.generation": "9"}}},
                {"metadata": {"annotations": None}},
                {"spec": {"minReadySeconds": 5}},
                {"spec": {"updateStrategy": {"type": "OnDelete"}}},
                {"spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": None}}},
                {"spec": {"updateStrategy": {"type": "Odd"}}},
            ],
        ),
        (
            {"metadata": {"annotations": {"deprecated.daemonset.template.generation": "5"}}},
            [{"spec": {"minReadySeconds": 5}}],
        ),
        (
            {"metadata": {"annotations": {"deprecated.daemonset.template.generation": "-5"}}},
            [{"spec": {"minReadySeconds": 5}}],
        ),
    ],
    "replicationcontrollers": [
        (
            {},
            [
                {"spec": {"selector": {"a": "c"}}},
                {"spec": {"selector": None}},
                {"spec": {"template": None}},
                {"spec": {"replicas": 3}},
                {"metadata": {"labels": None}},
            ],
        )
    ],
    "ingresses": [
        (
            {},
            [
                {"spec": {"ingressClassName": "Bad_"}},
                {"spec": {"rules": None}},
                {"spec": {"defaultBackend": BACKEND, "rules": None}},
                {"metadata": {"annotations": {"kubernetes.io/ingress.class": "a"}}},
                {"spec": {"ingressClassName": "b"}},
            ],
        )
    ],
    "ingressclasses": [
        (
            {},
            [
                {"spec": {"controller": "b.io/c"}},
                {"spec": {"parameters": {"kind": "K", "name": "n"}}},
                {"metadata": {"labels": {"a": "b"}}},
            ],
        )
    ],
    "networkpolicies": [
        (
            {},
            [
                {"spec": {"policyTypes": None}},
                {"spec": {"egress": [{}], "policyTypes": None}},
                {"spec": {"ingress": [{"from": [{"ipBlock": {"cidr": "x"}}]}]}},
            ],
        )
    ],
    "servicecidrs": [
        (
            {"spec": {"cidrs": ["10.77.0.0/24"]}},
            [
                {"spec": {"cidrs": ["10.78.0.0/24"]}},
                {"spec": {"cidrs": ["10.77.0.0/24", "10.78.0.0/24"]}},
                {"spec": {"cidrs": ["10.78.0.0/24", "fd77::/64"]}},
                {"spec": {"cidrs": None}},
                {"spec": {"cidrs": ["10.77.0.0/24", "fd77::/64"]}},
                {"spec": {"cidrs": ["10.77.0.0/24"]}},
                {"metadata": {"labels": {"a": "b"}}},
            ],
        )
    ],
    "csidrivers": [
        (
            {},
            [
                {"spec": {"attachRequired": False}},
                {"spec": {"volumeLifecycleModes": ["Ephemeral"]}},
                {"spec": {"podInfoOnMount": True}},
                {"spec": {"tokenRequests": [{"audience": "x"}]}},
                {"spec": {"requiresRepublish": True}},
            ],
        )
    ],
    "csinodes": [
        (
            {},
            [
                {"spec": {"drivers": [{"name": "d.io", "nodeID": "m"}]}},
                {"spec": {"drivers": [{"name": "d.io", "nodeID": "n", "allocatable": {"count": 5}}]}},
                {"spec": {"drivers": [{"name": "e.io", "nodeID": "n"}]}},
                {"spec": {"drivers": []}},
            ],
        )
    ],
    "volumeattachments": [
        ({}, [{"spec": {"nodeName": "m"}}, {"metadata": {"labels": {"a": "b"}}}, {"status": {"attached": True}}])
    ],
    "csistoragecapacities": [
        ({}, [{"storageClassName": "b"}, {"capacity": "5"}, {"nodeTopology": {"matchLabels": {"a": "b"}}}])
    ],
    "volumeattributesclasses": [
        (
            {},
            [
                {"driverName": "b.io"},
                {"parameters": {"a": "c"}},
                {"parameters": None},
                {"metadata": {"labels": {"a": "b"}}},
            ],
        )
    ],
}

GOOD = {
    "daemonsets": {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": LABELED}},
    "replicationcontrollers": {"spec": {"replicas": 0, "template": LABELED}},
    "ingresses": {"spec": {"rules": [{"host": "a.io", "http": {"paths": [ROUTE]}}]}},
    "ingressclasses": {"spec": {"controller": "a.io/b"}},
    "networkpolicies": {"spec": {"podSelector": {}}},
    "ipaddresses": {
        "metadata": {"name": "10.9.8.7"},
        "spec": {"parentRef": {"resource": "services", "name": "s", "namespace": "n"}},
    },
    "servicecidrs": {"spec": {"cidrs": ["10.7.0.0/24"]}},
    "csidrivers": {"spec": {}},
    "csinodes": {"spec": {"drivers": [{"name": "d.io", "nodeID": "n", "topologyKeys": ["a/b"]}]}},
    "volumeattachments": {"spec": {"attacher": "d.io", "nodeName": "n", "source": {"persistentVolumeName": "p"}}},
    "csistoragecapacities": {"storageClassName": "fast", "capacity": "1Gi"},
    "volumeattributesclasses": {"driverName": "d.io", "parameters": {"a": "b"}},
}

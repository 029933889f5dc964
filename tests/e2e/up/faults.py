# SPDX-License-Identifier: Apache-2.0
"""What can be wrong in objects, rule by rule: each is asked for once (test_same.py), and now and then in the histories.

A fault is a list of paths and values, path, value, path, value ..., that are put into a good object; None takes away.
"""

import groups
import groups2

C = "spec.containers.0."


def of_container(field, *values):
    return [(C + field, v) for v in values]


def volume(*sources):
    return [("spec.volumes", [{"name": "v", **s}]) for s in sources]


def mount(*mounts, **more):
    """In a pod with a folder v and a claim c."""
    volumes = [{"name": "v", "emptyDir": {}}, {"name": "c", "persistentVolumeClaim": {"claimName": "x"}}]
    return [
        (
            "spec.volumes",
            volumes,
            C + "volumeMounts",
            list(m) if isinstance(m, tuple) else [m],
            *(x for k, v in more.items() for x in (C + k, v)),
        )
        for m in mounts
    ]


def env(*vars):
    return [(C + "env", [v]) for v in vars]


def value_from(*sources):
    return env(*({"name": "A", "valueFrom": s} for s in sources))


def resources(requests=None, limits=None):
    return (C + "resources", {**({"requests": requests} if requests else {}), **({"limits": limits} if limits else {})})


HANDLERS = [
    {},
    {"exec": {}},
    {"exec": {"command": []}},
    {"exec": {"command": ["x"]}, "tcpSocket": {"port": 80}},
    {"exec": {"command": ["x"]}, "httpGet": {"port": 0}, "tcpSocket": {"port": 0}},
    {"httpGet": {}},
    {"httpGet": {"port": 0}},
    {"httpGet": {"port": 65536}},
    {"httpGet": {"port": -1, "path": ""}},
    {"httpGet": {"port": ""}},
    {"httpGet": {"port": "web"}},
    {"httpGet": {"port": "Bad_Name"}},
    {"httpGet": {"port": "a--b"}},
    {"httpGet": {"port": "-a"}},
    {"httpGet": {"port": "80"}},
    {"httpGet": {"port": "sixteen-letters-x"}},
    {"httpGet": {"port": 80, "path": ""}},
    {"httpGet": {"port": 80, "path": "no slash"}},
    {"httpGet": {"port": 80, "scheme": "FTP"}},
    {"httpGet": {"port": 80, "scheme": ""}},
    {"httpGet": {"port": 80, "scheme": "https"}},
    {"httpGet": {"port": 80, "httpHeaders": [{"name": "Bad Name", "value": "x"}]}},
    {"httpGet": {"port": 80, "httpHeaders": [{"name": "", "value": "x"}]}},
    {
        "httpGet": {
            "port": 80,
            "httpHeaders": [{"name": "X-Good", "value": ""}, {"name": "x_y", "value": ""}, {"name": "ü", "value": "x"}],
        }
    },
    {"httpGet": {"port": 80, "host": "any thing"}},
    {"tcpSocket": {}},
    {"tcpSocket": {"port": 0}},
    {"tcpSocket": {"port": "Bad_Name"}},
    {"tcpSocket": {"port": "nowhere"}},
    {"httpGet": {"port": 1.5}},
    {"tcpSocket": {"port": 80}, "httpGet": {"port": 80}},
]
PROBES = HANDLERS + [
    {"grpc": {}},
    {"grpc": {"port": 0}},
    {"grpc": {"port": 65536}},
    {"grpc": {"port": "web"}},
    {"grpc": {"port": 5, "service": "any thing"}},
    {"grpc": {"port": 5}, "exec": {"command": ["x"]}},
    {"sleep": {"seconds": 1}},
    *(
        {"tcpSocket": {"port": 80}, **p}
        for p in (
            {"initialDelaySeconds": -1},
            {"timeoutSeconds": -1},
            {"periodSeconds": -1},
            {"successThreshold": -1},
            {"failureThreshold": -1},
            {"successThreshold": 0},
            {"timeoutSeconds": 0},
            {"successThreshold": 3},
            {"terminationGracePeriodSeconds": 0},
            {"terminationGracePeriodSeconds": -1},
            {"terminationGracePeriodSeconds": 7},
            {"initialDelaySeconds": -1, "periodSeconds": -2, "failureThreshold": -3},
        )
    ),
]
HOOKS = HANDLERS + [
    {"sleep": {"seconds": -1}},
    {"sleep": {"seconds": 31}},
    {"sleep": {"seconds": 0}},
    {"sleep": {}},
    {"sleep": {"seconds": 1}, "exec": {"command": ["x"]}},
    {"grpc": {"port": 5}},
    {"grpc": {"port": 5}, "sleep": {"seconds": 1}},
]

PODS = [
    # probes and hooks
    *of_container("livenessProbe", *PROBES),
    *of_container("readinessProbe", *PROBES[-20:]),
    *of_container("startupProbe", *PROBES[-16:]),
    *of_container(
        "lifecycle",
        {},
        *({"postStart": h} for h in HOOKS),
        *({"preStop": h} for h in HOOKS[-14:]),
        {"postStart": {}, "preStop": {}},
    ),
    ("spec.terminationGracePeriodSeconds", 5, C + "lifecycle", {"preStop": {"sleep": {"seconds": 6}}}),
    ("spec.terminationGracePeriodSeconds", -5, C + "lifecycle", {"preStop": {"sleep": {"seconds": 6}}}),
    *(
        ("spec.initContainers", [{"name": "i", "image": "x", **c}])
        for c in (
            {"restartPolicy": "Always", "livenessProbe": {}},
            {"restartPolicy": "Always", "lifecycle": {"preStop": {}}, "startupProbe": {"exec": {}}},
            {"readinessProbe": {"exec": {}}, "startupProbe": {}, "lifecycle": {}},
            {"restartPolicy": "Odd"},
            {"restartPolicy": ""},
            {"restartPolicy": "OnFailure"},
            {"name": ""},
            {"ports": [{"containerPort": 1, "hostPort": 5}, {"containerPort": 2, "hostPort": 5}]},
            {"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]},
            {
                "restartPolicy": "Never",
                "restartPolicyRules": [{"action": "Odd"}, {"action": "Restart", "exitCodes": {"operator": "Odd"}}],
            },
        )
    ),
    *of_container("restartPolicy", "Odd", "Always", "Never", ""),
    *of_container("restartPolicyRules", [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}], [{}]),
    (
        C + "restartPolicy",
        "Never",
        C + "restartPolicyRules",
        [{"action": "Odd", "exitCodes": {"operator": "Odd", "values": [1]}}, {"action": "Restart"}],
    ),
    # the image, the name and ports
    *of_container(
        "image",
        "",
        " x",
        "x ",
        " ",
        "any thing",
        "Capital",
        "Host/x",
        "host.io/Capital",
        "host.io:5/x",
        "x:Tag",
        "x:latest",
        "host:5/x:latest",
        "x@y",
    ),
    *of_container("name", "", "a.b", "x" * 64),
    *of_container("terminationMessagePolicy", "", "Odd"),
    *of_container("imagePullPolicy", "", "Odd"),
    *of_container(
        "ports",
        [{}],
        [{"containerPort": 0}],
        [{"containerPort": -1, "hostPort": -1, "name": "", "protocol": ""}],
        [{"containerPort": 80, "name": "80"}, {"containerPort": 80, "name": "a--b"}],
        [
            {"containerPort": 1, "hostPort": 5},
            {"containerPort": 2, "hostPort": 5},
            {"containerPort": 3, "hostPort": 5, "protocol": "UDP"},
        ],
        [{"containerPort": 80, "name": "Bad_Name"}, {"containerPort": 80, "name": "Bad_Name"}],
    ),
    # env
    *env(
        {"name": ""},
        {"name": "a b"},
        {"name": "a=b"},
        {"name": "1a"},
        {"name": "ü"},
        {"name": "A", "value": "x", "valueFrom": {}},
        {"name": "A", "value": "", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {
            "name": "A",
            "value": "x",
            "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}, "configMapKeyRef": {"name": "x", "key": "y"}},
        },
        {},
    ),
    *value_from(
        {},
        {"fieldRef": {}},
        {"fieldRef": {"fieldPath": "metadata.name"}, "secretKeyRef": {"name": "x", "key": "y"}},
        {"fieldRef": {"apiVersion": "v2", "fieldPath": "metadata.name"}},
        {"fieldRef": {"apiVersion": "", "fieldPath": "metadata.name"}},
        {"fieldRef": {"fieldPath": "metadata.labels"}},
        {"fieldRef": {"fieldPath": "metadata.annotations"}},
        {"fieldRef": {"fieldPath": "metadata.labels['a']"}},
        {"fieldRef": {"fieldPath": "metadata.labels['']"}},
        {"fieldRef": {"fieldPath": "metadata.labels['a b']"}},
        {"fieldRef": {"fieldPath": "metadata.annotations['A/B']"}},
        {"fieldRef": {"fieldPath": "metadata.annotations['a b']"}},
        {"fieldRef": {"fieldPath": "spec.nodeName['x']"}},
        {"fieldRef": {"fieldPath": "metadata.labels['a"}},
        {"fieldRef": {"fieldPath": "spec.host"}},
        {"fieldRef": {"fieldPath": "spec.restartPolicy"}},
        {"fieldRef": {"fieldPath": "status.phase"}},
        {"fieldRef": {"fieldPath": "status.podIPs"}},
        {"fieldRef": {"fieldPath": "status.hostIPs"}},
        {"fieldRef": {"fieldPath": "spec.hostIP"}},
        {"fieldRef": {"fieldPath": "metadata.uid"}},
        {"resourceFieldRef": {}},
        {"resourceFieldRef": {"resource": "cpu"}},
        {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "2"}},
        {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}},
        {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1000m"}},
        {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1m"}},
        {"resourceFieldRef": {"resource": "requests.memory", "divisor": "1Mi"}},
        {"resourceFieldRef": {"resource": "limits.ephemeral-storage", "divisor": "3"}},
        {"resourceFieldRef": {"resource": "limits.hugepages-2Mi", "divisor": "5"}},
        {"resourceFieldRef": {"resource": "requests.hugepages-2Mi"}},
        {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "x"}},
        {"resourceFieldRef": {"resource": "limits.hugepages"}},
        {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}},
        {"configMapKeyRef": {}},
        {"configMapKeyRef": {"name": "Bad_", "key": "a b"}},
        {"configMapKeyRef": {"name": "x", "key": ".."}},
        {"configMapKeyRef": {"name": "x", "key": "..a"}},
        {"configMapKeyRef": {"name": "x", "key": "."}},
        {"secretKeyRef": {"name": "x", "key": "x" * 254}},
        {"secretKeyRef": {"name": "", "key": "a"}},
        {"fileKeyRef": {}},
        {"fileKeyRef": {"key": "a=b", "volumeName": "Bad_", "path": "../x"}},
        {"fileKeyRef": {"key": "A", "volumeName": "nowhere", "path": "x"}},
        {"fileKeyRef": {"key": "A", "volumeName": "v", "path": "/x"}},
    ),
    (
        "spec.volumes",
        [{"name": "v", "emptyDir": {}}],
        *env({"name": "A", "valueFrom": {"fileKeyRef": {"key": "A", "volumeName": "v", "path": "x"}}})[0],
    ),
    (
        "spec.volumes",
        [{"name": "v", "configMap": {"name": "x"}}],
        *env({"name": "A", "valueFrom": {"fileKeyRef": {"key": "A", "volumeName": "v", "path": "x"}}})[0],
    ),
    *of_container(
        "envFrom",
        [{}],
        [{"configMapRef": {}}],
        [{"configMapRef": {"name": "Bad_"}}],
        [{"secretRef": {"name": "Bad_"}}],
        [{"secretRef": {"name": ""}, "configMapRef": {"name": ""}}],
        [{"prefix": "a=b", "secretRef": {"name": "x"}}],
        [{"prefix": "1 ü"}],
        [{"secretRef": {"name": "x-"}}, {}],
        [{"prefix": "ü", "secretRef": {"name": "x"}}],
    ),
    # resources
    resources({"cpu": "2"}, {"cpu": "1"}),
    resources({"memory": 5}, {"memory": "4"}),
    resources({"cpu": "1500m"}, {"cpu": 1}),
    resources({"cpu": "-1"}),
    resources(None, {"memory": "-1Gi"}),
    resources({"odd": "1"}),
    resources(None, {"odd": "1"}),
    resources({"a b": "1"}),
    resources({"storage": "1"}),
    resources(None, {"storage": "1"}),
    resources({"pods": "1"}),
    resources({"example.com/x": "1"}),
    resources({"example.com/x": "1"}, {"example.com/x": "2"}),
    resources({"example.com/x": "2"}, {"example.com/x": "1"}),
    resources(None, {"example.com/x": "0.5"}),
    resources(None, {"example.com/x": "500m"}),
    resources({"example.com/x": "1"}, {"example.com/x": "1"}),
    resources(None, {"kubernetes.io/x": "1"}),
    resources(None, {"x.kubernetes.io/y": "1"}),
    resources({"kubernetes.io/x": "2"}, {"kubernetes.io/x": "1"}),
    resources(None, {"requests.example.com/x": "1"}),
    resources(None, {"example.com/" + "x" * 64: "1"}),
    resources(None, {"example.com/": "1"}),
    resources(None, {"/x": "1"}),
    resources(None, {"a/b/c": "1"}),
    resources(None, {"attachable-volumes-x": "1"}),
    resources(None, {"hugepages-2Mi": "2Mi"}),
    resources(None, {"hugepages-2Mi": "2Mi", "cpu": "1"}),
    resources(None, {"hugepages-2Mi": "3Mi", "cpu": "1"}),
    resources({"hugepages-2Mi": "2Mi", "cpu": "1"}),
    resources({"hugepages-2Mi": "2Mi"}, {"hugepages-2Mi": "4Mi", "cpu": "1"}),
    resources({"hugepages-2Mi": "1Mi", "cpu": "1"}, {"hugepages-2Mi": "1Mi"}),
    resources(None, {"hugepages-odd": "1", "cpu": "1"}),
    resources(None, {"hugepages-": "1", "cpu": "1"}),
    resources({"hugepages-1Gi": "0", "memory": "1"}, {"hugepages-1Gi": "0"}),
    resources({"ephemeral-storage": "2"}, {"ephemeral-storage": "1"}),
    *of_container(
        "resources",
        {"claims": [{"name": ""}]},
        {"claims": [{"name": "x"}]},
        {"claims": [{"name": "x"}, {"name": "x"}]},
        {"claims": [{"name": "x", "request": "Bad_"}]},
        {"requests": []},
        {"limits": {"cpu": None}},
    ),
    *of_container(
        "resizePolicy",
        [{"resourceName": "cpu", "restartPolicy": "Odd"}],
        [{"resourceName": "gpu", "restartPolicy": "NotRequired"}],
        [{}],
    ),
    # volumes and their sources
    *volume(
        {},
        {"name": "", "emptyDir": {}},
        {"name": "a.b", "emptyDir": {}},
        {"name": "x" * 64, "emptyDir": {}},
        {"emptyDir": {"sizeLimit": "-1"}},
        {"emptyDir": {"medium": "Odd"}},
        {"emptyDir": {"medium": "HugePages"}},
        {"emptyDir": {}, "hostPath": {"path": ""}, "secret": {}},
        {"hostPath": {}},
        {"hostPath": {"path": "/a/../b"}},
        {"hostPath": {"path": "a"}},
        {"hostPath": {"path": "", "type": "Odd"}},
        {"hostPath": {"path": "/x", "type": "File"}},
        {"hostPath": {"path": "/..", "type": "Odd"}},
        {"secret": {}},
        {"secret": {"secretName": "Bad_"}},
        {"secret": {"secretName": "x", "defaultMode": 512}},
        {"secret": {"secretName": "x", "defaultMode": -1}},
        {"secret": {"secretName": "x", "items": [{}]}},
        {"secret": {"secretName": "x", "items": [{"key": "a", "path": "/b"}]}},
        {"secret": {"secretName": "x", "items": [{"key": "a", "path": "b/../c"}]}},
        {"secret": {"secretName": "x", "items": [{"key": "a", "path": "..b"}]}},
        {"secret": {"secretName": "x", "items": [{"key": "a", "path": "../b"}]}},
        {"secret": {"secretName": "x", "items": [{"key": "a", "path": "..", "mode": 5000}]}},
        {"secret": {"secretName": "x", "items": [{"key": "a", "path": "/../b"}]}},
        {"configMap": {}},
        {
            "configMap": {
                "name": "x",
                "items": [{"key": "a", "path": "b", "mode": 0o777}, {"key": "a", "path": "b", "mode": 512}],
            }
        },
        {"configMap": {"name": "x", "defaultMode": 0}, "secret": {"secretName": ""}},
        {"persistentVolumeClaim": {}},
        {"persistentVolumeClaim": {"claimName": "Bad_"}},
        {"persistentVolumeClaim": {"claimName": "x", "readOnly": True}, "nfs": {}},
        {"downwardAPI": {}},
        {"downwardAPI": {"items": [{}]}},
        {
            "downwardAPI": {
                "items": [
                    {
                        "path": "x",
                        "fieldRef": {"fieldPath": "metadata.labels"},
                        "resourceFieldRef": {"resource": "limits.cpu"},
                    }
                ]
            }
        },
        {"downwardAPI": {"items": [{"path": "/x", "fieldRef": {"fieldPath": "status.podIP"}}]}},
        {"downwardAPI": {"items": [{"path": "x", "fieldRef": {"fieldPath": "spec.odd"}}]}},
        {"downwardAPI": {"items": [{"path": "x", "resourceFieldRef": {"resource": "limits.cpu"}}]}},
        {"downwardAPI": {"items": [{"path": "x", "resourceFieldRef": {"resource": "odd", "containerName": "main"}}]}},
        {
            "downwardAPI": {
                "items": [
                    {
                        "path": "x",
                        "resourceFieldRef": {"resource": "limits.cpu", "containerName": "main", "divisor": "7"},
                    }
                ]
            }
        },
        {
            "downwardAPI": {
                "defaultMode": 512,
                "items": [{"path": "x", "mode": -1, "fieldRef": {"fieldPath": "metadata.annotations['a b']"}}],
            }
        },
        {"downwardAPI": {}, "emptyDir": {}},
        {"projected": {}},
        {"projected": {"defaultMode": 512}},
        {"projected": {"sources": [{"secret": {}}]}},
        {"projected": {"sources": [{"secret": {"name": "x", "items": [{}]}}]}},
        {"projected": {"sources": [{"configMap": {"items": [{"key": "a", "path": "/b", "mode": 512}]}}]}},
        {"projected": {"sources": [{"secret": {"name": "x"}, "configMap": {"name": "y"}}]}},
        {
            "projected": {
                "sources": [
                    {"secret": {"name": "x", "items": [{"key": "a", "path": "p"}]}},
                    {"configMap": {"name": "y", "items": [{"key": "a", "path": "p"}]}},
                ]
            }
        },
        {
            "projected": {
                "sources": [
                    {
                        "downwardAPI": {
                            "items": [
                                {"path": "p", "fieldRef": {"fieldPath": "metadata.name"}},
                                {"path": "p", "fieldRef": {"fieldPath": "status.phase"}},
                            ]
                        }
                    }
                ]
            }
        },
        {"projected": {"sources": [{"downwardAPI": {"items": [{}]}}]}},
        {"projected": {"sources": [{"serviceAccountToken": {}}]}},
        {"projected": {"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 5}}]}},
        {"projected": {"sources": [{"serviceAccountToken": {"path": "../t", "expirationSeconds": 5000000000}}]}},
        {"nfs": {}},
        {"nfs": {"server": "x"}},
        {"nfs": {"server": "x", "path": "y"}},
        {"nfs": {"server": "", "path": "/y"}},
        {"csi": {}},
        {"csi": {"driver": "Bad_"}},
        {"csi": {"driver": "x" * 64}},
        {"csi": {"driver": "Good.io", "nodePublishSecretRef": {}}},
        {"csi": {"driver": "a", "nodePublishSecretRef": {"name": "Bad_"}}},
        {"ephemeral": {}},
        {"ephemeral": {"volumeClaimTemplate": {}}},
        {
            "ephemeral": {
                "volumeClaimTemplate": {"spec": {"accessModes": ["Odd"], "resources": {"requests": {"storage": "0"}}}}
            }
        },
        {
            "ephemeral": {
                "volumeClaimTemplate": {
                    "metadata": {"name": "x", "labels": {"a b": "c"}, "annotations": {"a b": "c"}},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}},
                }
            }
        },
        {
            "ephemeral": {
                "volumeClaimTemplate": {
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
                }
            }
        },
        {"image": {}},
        {"image": {"reference": ""}},
        {"image": {"reference": "x", "pullPolicy": "Odd"}},
        {"image": {"reference": "x"}},
        {"iscsi": {}},
        {"iscsi": {"targetPortal": "x", "iqn": "odd", "lun": 256}},
        {"iscsi": {"targetPortal": "x", "iqn": "iqn.2001-04.com.example:x", "lun": 1, "chapAuthSession": True}},
        {"iscsi": {"targetPortal": "x", "iqn": "iqn.odd", "lun": 0}},
        {"iscsi": {"targetPortal": "x", "iqn": "eui.0123456789abcdef", "lun": -1, "initiatorName": "naa.x"}},
        {"fc": {}},
        {"fc": {"targetWWNs": ["a"]}},
        {"fc": {"targetWWNs": ["a"], "wwids": ["b"], "lun": 300}},
        {"gitRepo": {}},
        {"gitRepo": {"repository": "x", "directory": "../y"}},
        {"gcePersistentDisk": {}},
        {"gcePersistentDisk": {"pdName": "x", "partition": 300}},
        {"awsElasticBlockStore": {}},
        {"awsElasticBlockStore": {"volumeID": "x", "partition": -1}},
        {"glusterfs": {}},
        {"rbd": {}},
        {"cinder": {}},
        {"cephfs": {}},
        {"quobyte": {}},
        {"flexVolume": {}},
        {"azureFile": {}},
        {"vsphereVolume": {}},
        {"photonPersistentDisk": {}},
        {"portworxVolume": {}},
        {"azureDisk": {}},
        {"storageos": {}},
        {"scaleIO": {}},
        {"flocker": {}},
        {"emptyDir": {}, "cephfs": {}},
        {"odd": {}},
    ),
    ("spec.volumes", [{"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}}]),
    ("spec.volumes", [{"name": "a"}, {"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}}]),
    ("spec.volumes", [{"emptyDir": {}}, {"emptyDir": {}}]),
    (
        "spec.volumes",
        [
            {
                "name": "e",
                "ephemeral": {
                    "volumeClaimTemplate": {
                        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
                    }
                },
            },
            {"name": "p", "persistentVolumeClaim": {"claimName": "fault-e"}},
        ],
    ),
    *mount(
        {},
        {"name": "nowhere", "mountPath": "/x"},
        {"name": "v"},
        {"name": "v", "mountPath": ""},
        ({"name": "v", "mountPath": "/x"}, {"name": "c", "mountPath": "/x"}),
        ({"name": "v"}, {"name": "v"}),
        {"name": "v", "mountPath": "x"},
        {"name": "v", "mountPath": "a:b"},
        {"name": "v", "mountPath": "/x", "subPath": "/a"},
        {"name": "v", "mountPath": "/x", "subPath": "a/../b"},
        {"name": "v", "mountPath": "/x", "subPath": "/.."},
        {"name": "v", "mountPath": "/x", "subPath": "..a"},
        {"name": "v", "mountPath": "/x", "subPath": "a", "subPathExpr": "b"},
        {"name": "v", "mountPath": "/x", "subPathExpr": "../$(A)"},
        {"name": "v", "mountPath": "/x", "subPathExpr": "/a"},
        {"name": "v", "mountPath": "/x", "mountPropagation": "Odd"},
        {"name": "v", "mountPath": "/x", "mountPropagation": "Bidirectional"},
        {"name": "v", "mountPath": "/x", "mountPropagation": "None"},
        {"name": "v", "mountPath": "/x", "recursiveReadOnly": "Odd"},
        {"name": "v", "mountPath": "/x", "recursiveReadOnly": "Enabled"},
        {
            "name": "v",
            "mountPath": "/x",
            "readOnly": True,
            "recursiveReadOnly": "Enabled",
            "mountPropagation": "HostToContainer",
        },
        {"name": "v", "mountPath": "/x", "recursiveReadOnly": "Disabled"},
        {"name": "v", "mountPath": "/x", "readOnly": True, "recursiveReadOnly": "IfPossible"},
    ),
    *mount({"name": "v", "mountPath": "/x", "mountPropagation": "Bidirectional"}, securityContext={"privileged": True}),
    *mount({"name": "v", "mountPath": "/x"}, volumeDevices=[{"name": "c", "devicePath": "/x"}]),
    *mount({"name": "c", "mountPath": "/x"}, volumeDevices=[{"name": "c", "devicePath": "/y"}]),
    *mount((), volumeDevices=[{}]),
    *mount((), volumeDevices=[{"name": "v", "devicePath": "/y"}]),
    *mount((), volumeDevices=[{"name": "c", "devicePath": "/y"}, {"name": "c", "devicePath": "/y"}]),
    *mount((), volumeDevices=[{"name": "c", "devicePath": "/../y"}]),
    *mount((), volumeDevices=[{"name": "nowhere", "devicePath": "y"}]),
    *mount((), volumeDevices=[{"name": "c", "devicePath": "/y"}]),
    ("spec.volumes", [{"name": "v"}], C + "volumeMounts", [{"name": "v", "mountPath": "/x"}]),
    # namespaces of the host
    *(
        ("spec.hostUsers", False, "spec." + k, True)
        for k in ("hostPID", "hostIPC", "hostNetwork", "shareProcessNamespace")
    ),
    ("spec.hostPID", True, "spec.shareProcessNamespace", True),
    ("spec.hostUsers", False, *mount((), volumeDevices=[{"name": "c", "devicePath": "/y"}])[0]),
    ("spec.hostNetwork", True, C + "ports", [{"containerPort": 80, "hostPort": 81}]),
    (
        "spec.hostNetwork",
        True,
        C + "ports",
        [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}, {"containerPort": 0}],
    ),
    (
        "spec.hostNetwork",
        True,
        "spec.initContainers",
        [{"name": "i", "image": "x", "ports": [{"containerPort": 80, "hostPort": 81}]}],
    ),
    ("spec.imagePullSecrets", [{"name": "Bad_"}]),
]

CLAIMS = [
    ("spec.accessModes", ["ReadWriteOnce", "Odd", "ReadWriteOncePod"]),
    ("spec.accessModes", ["ReadWriteOncePod", "Odd"]),
    ("spec.accessModes", ["ReadWriteOnce", "ReadWriteOnce"]),
    ("spec.accessModes", [""]),
    ("spec.accessModes", None),
    ("spec.resources", None),
    ("spec.resources", {"requests": {}}),
    ("spec.resources", {"limits": {"storage": "1Gi"}}),
    ("spec.resources", {"requests": {"storage": "100m"}}),
    ("spec.resources", {"requests": {"storage": "1500m"}}),
    ("spec.resources", {"requests": {"storage": 5}}),
    ("spec.resources", {"requests": {"storage": "2Gi"}, "limits": {"storage": "1Gi"}}),
    ("spec.resources", {"requests": {"storage": "0.5Gi"}}),
    ("spec.resources", {"requests": {"storage": ""}}),
    ("spec.selector", {"matchExpressions": [{"key": "a", "operator": "Odd"}]}),
    ("spec.selector", {"matchLabels": {"a": "b c"}}),
    ("spec.volumeMode", ""),
    ("spec.storageClassName", "x" * 254),
    ("spec.volumeName", "Bad_Name"),
    ("spec.volumeAttributesClassName", "Bad_"),
    ("spec.volumeAttributesClassName", ""),
    ("spec.dataSource", {"kind": "PersistentVolumeClaim", "name": ""}),
    ("spec.dataSource", {"name": "x"}),
    ("spec.dataSource", {"kind": "PersistentVolumeClaim", "name": "x"}),
    ("spec.dataSource", {"kind": "Odd", "name": "x", "apiGroup": "Bad_"}),
    ("spec.dataSource", {"kind": "Odd", "name": "x", "apiGroup": "a.io"}),
    ("spec.dataSourceRef", {"kind": "", "name": ""}),
    ("spec.dataSourceRef", {"kind": "Odd", "name": "x"}),
    ("spec.dataSourceRef", {"kind": "Odd", "name": "x", "apiGroup": "a.io"}),
    ("spec.dataSourceRef", {"kind": "PersistentVolumeClaim", "name": "x", "namespace": "y"}),
    ("spec.dataSourceRef", {"kind": "PersistentVolumeClaim", "name": "x"}),
    (
        "spec.dataSource",
        {"kind": "PersistentVolumeClaim", "name": "x"},
        "spec.dataSourceRef",
        {"kind": "PersistentVolumeClaim", "name": "y"},
    ),
    (
        "spec.dataSource",
        {"kind": "PersistentVolumeClaim", "name": "x"},
        "spec.dataSourceRef",
        {"kind": "PersistentVolumeClaim", "name": "x"},
    ),
]


def ports(*lists, **more):
    return [
        (
            "spec.ports",
            list(v) if isinstance(v, (list, tuple)) else [v],
            *(x for k, w in more.items() for x in ("spec." + k, w)),
        )
        for v in lists
    ]


SERVICES = [
    *ports(
        {},
        {"port": 65536},
        {"port": -1},
        {"port": 80, "protocol": ""},
        {"port": 80, "protocol": "tcp"},
        {"port": 80, "name": "Bad_Name"},
        {"port": 80, "name": "x" * 64},
        {"port": 80, "name": "a.b"},
        {"port": 80, "targetPort": 0},
        {"port": 80, "targetPort": 65536},
        {"port": 80, "targetPort": "Bad_Name"},
        {"port": 80, "targetPort": "80"},
        {"port": 80, "targetPort": ""},
        {"port": 80, "targetPort": "sixteen-letters-x"},
        {"port": 80, "appProtocol": "a b"},
        {"port": 80, "appProtocol": ""},
        {"port": 80, "appProtocol": "kubernetes.io/h2c"},
        {"port": 80, "nodePort": 30080},
        {"port": 80, "nodePort": -1},
        ({"port": 80}, {"port": 81}),
        ({"port": 80, "name": "a"}, {"port": 81}),
        ({"port": 80, "name": "a"}, {"port": 81, "name": "a"}),
        ({"port": 80, "name": "a"}, {"port": 80, "name": "b"}),
        ({"port": 80, "name": "a"}, {"port": 80, "name": "b", "protocol": "UDP"}),
        ({"port": 80, "name": "Bad_"}, {"port": 81, "name": "Bad_"}),
        ({"port": 0, "name": "a"}, {"port": 0, "name": "b"}),
        "x",
        ({"port": "80"},),
    ),
    *ports(
        {"port": 80, "nodePort": 5},
        {"port": 80, "nodePort": 70000},
        {"port": 80, "nodePort": -1},
        ({"port": 80, "name": "a", "nodePort": 30123}, {"port": 81, "name": "b", "nodePort": 30123}),
        type="NodePort",
    ),
    *ports({"port": 80, "nodePort": 30080}, type="ExternalName", externalName="a.io", clusterIP=None),
    *ports([], type="ExternalName", externalName="a.io", clusterIP=None),
    *(
        ("spec." + k, v)
        for k, v in (
            ("sessionAffinity", "Odd"),
            ("sessionAffinity", ""),
            ("sessionAffinityConfig", {"clientIP": {"timeoutSeconds": 5}}),
            ("selector", {"a b": "c"}),
            ("externalTrafficPolicy", "Local"),
            ("internalTrafficPolicy", "Odd"),
            ("trafficDistribution", "Odd"),
            ("trafficDistribution", ""),
            ("healthCheckNodePort", 5),
            ("allocateLoadBalancerNodePorts", True),
            ("loadBalancerClass", "a.io/b"),
            ("loadBalancerSourceRanges", ["10.0.0.0/8"]),
            ("externalName", "a.io"),
            ("externalIPs", ["1.2.3.4"]),
            ("externalIPs", ["x", "127.0.0.1"]),
        )
    ),
    *(
        ("spec.sessionAffinity", "ClientIP", "spec.sessionAffinityConfig", v)
        for v in (
            {},
            {"clientIP": {}},
            {"clientIP": {"timeoutSeconds": 0}},
            {"clientIP": {"timeoutSeconds": 86401}},
            {"clientIP": {"timeoutSeconds": 86400}},
        )
    ),
    *(
        ("spec.type", "LoadBalancer", "spec.clusterIP", None, "spec." + k, v)
        for k, v in (
            ("loadBalancerSourceRanges", ["x"]),
            ("loadBalancerSourceRanges", ["10.0.0.0/8 ", "10.0.0.1/8", "1.2.3.4"]),
            ("loadBalancerClass", "a b"),
            ("loadBalancerClass", "x"),
            ("externalTrafficPolicy", "Odd"),
            ("healthCheckNodePort", 70000),
            ("allocateLoadBalancerNodePorts", False),
        )
    ),
    ("spec.type", "NodePort"),
    ("spec.type", "LoadBalancer"),
    ("spec.type", ""),
    ("spec.type", "ExternalName"),
    ("spec.type", "ExternalName", "spec.clusterIP", None, "spec.externalName", "Bad_"),
    ("spec.type", "ExternalName", "spec.clusterIP", None, "spec.externalName", "a.io."),
]

NODES = [
    ("spec.podCIDR", "x"),
    ("spec.podCIDR", "10.0.0.0/24"),
    ("spec.podCIDRs", ["10.0.0.0/24"]),
    ("spec.podCIDR", "10.0.0.0/24", "spec.podCIDRs", ["10.0.1.0/24"]),
    ("spec.podCIDR", "10.0.0.0/24", "spec.podCIDRs", ["10.0.0.0/24", "fd00::/64"]),
    ("spec.podCIDRs", ["x", "y"]),
    ("spec.podCIDRs", ["10.0.0.0/24", "10.0.1.0/24"]),
    ("spec.podCIDRs", ["10.0.0.0/24", "fd00::/64", "10.0.1.0/24"]),
    ("spec.podCIDRs", ["10.0.0.0/33"]),
    ("spec.podCIDRs", ["10.0.0.1/24"]),
    ("spec.podCIDRs", ["010.0.0.0/24"]),
    ("spec.podCIDRs", ["fd00::/129"]),
    ("spec.podCIDRs", ["fd00::/64", "10.0.0.0/24"]),
    ("spec.podCIDRs", ["10.0.0.0/24", "x"]),
    ("spec.podCIDRs", []),
    ("spec.podCIDRs", ["10.0.0.0"]),
    ("spec.podCIDRs", ["::ffff:10.0.0.0/120"]),
    ("spec.podCIDRs", ["10.0.0.0/024"]),
    ("spec.podCIDRs", [""]),
    ("spec.providerID", "any thing"),
    ("spec.unschedulable", True),
    ("spec.taints", [{}]),
    ("spec.taints", [{"key": "a b", "value": "c d", "effect": "Odd"}]),
    ("spec.taints", [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule", "value": "x"}]),
    ("spec.taints", [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}]),
    ("spec.externalID", "x"),
    ("status", {"capacity": {"cpu": "-1"}}),
    ("status", {"allocatable": {"memory": "x"}}),
    ("status", {"capacity": {"example.com/gpu": "1500m"}}),
    ("status", {"allocatable": {"odd": "1.5"}}),
    ("status", {"allocatable": {"pods": "1.5"}}),
    ("spec.configSource", {}),
    ("metadata.name", "Bad_Name"),
    ("spec", None),
    ("spec", "x"),
]

# What an object may become: each is merged into what the ones before it left, if the server let them.
CHANGES = {
    "nodes": [
        (
            {},
            [
                {"spec": {"providerID": "a"}},
                {"spec": {"providerID": "b"}},
                {"spec": {"providerID": None}},
                {"spec": {"podCIDR": "10.0.0.0/24"}},
                {"spec": {"podCIDRs": ["10.0.0.0/24", "fd00::/64"]}},
                {"spec": {"podCIDR": "10.0.1.0/24"}},
                {"spec": {"podCIDRs": ["10.0.1.0/24"]}},
                {"spec": {"podCIDR": "10.0.1.0/24", "podCIDRs": ["10.0.1.0/24"]}},
                {"spec": {"podCIDR": None, "podCIDRs": None}},
                {"spec": {"podCIDR": None}},
                {"spec": {"podCIDRs": None}},
                {"spec": {"podCIDRs": []}},
                {"spec": {"unschedulable": True}},
                {"spec": {"externalID": "x"}},
                {"spec": {"taints": [{"key": "a", "effect": "Odd"}]}},
                {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}]}},
                {"spec": {"configSource": {}}},
                {"spec": {"providerID": "b", "podCIDRs": ["10.0.2.0/24", "fd01::/64"]}},
            ],
        ),
        (
            {"spec": {"podCIDRs": ["10.0.0.0/24", "fd00::/64"]}},
            [
                {"spec": {"podCIDRs": ["10.0.3.0/24", "fd01::/64"]}},
                {"spec": {"podCIDRs": ["x", "fd01::/64"]}},
                {"spec": {"podCIDR": "fd00::/64"}},
                {"metadata": {"labels": {"a": "b"}}},
            ],
        ),
        (
            {},
            [
                {"spec": {"podCIDRs": ["10.0.0.0/24", "10.0.1.0/24"]}},
                {"spec": {"podCIDRs": ["x"]}},
                {"spec": {"podCIDRs": ["10.0.0.0/24"]}},
            ],
        ),
    ],
    "persistentvolumeclaims": [
        (
            {},
            [
                {"spec": {"accessModes": ["ReadOnlyMany"]}},
                {"spec": {"resources": {"requests": {"storage": "2Gi"}}}},
                {"spec": {"resources": {"requests": {"storage": "1Mi"}}}},
                {"spec": {"resources": {"requests": {"storage": "1024Mi"}}}},
                {"spec": {"volumeMode": "Block"}},
                {"spec": {"volumeMode": None}},
                {"spec": {"storageClassName": "x"}},
                {"spec": {"storageClassName": "y"}},
                {"spec": {"storageClassName": None}},
                {"spec": {"volumeName": "x"}},
                {"spec": {"volumeName": "y"}},
                {"spec": {"volumeName": None}},
                {"spec": {"selector": {"matchLabels": {"a": "b"}}}},
                {"spec": {"selector": {}}},
                {"spec": {"volumeAttributesClassName": "x"}},
                {"spec": {"dataSource": {"kind": "PersistentVolumeClaim", "name": "x"}}},
                {"spec": None},
                {"spec": {"accessModes": []}},
                {"spec": {"resources": None}},
                {"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "x"}}},
                {"spec": {"resources": {"limits": {"storage": "5Gi"}}}},
            ],
        ),
        (
            {"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "x"}}},
            [
                {"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "y"}}},
                {"spec": {"storageClassName": "y"}},
                {"spec": {"storageClassName": "x"}},
            ],
        ),
    ],
    "services": [
        (
            {},
            [
                {"spec": {"ports": [{"port": 80, "name": "a"}, {"port": 81}]}},
                {"spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 5}]}},
                {"spec": {"ports": None}},
                {"spec": {"selector": {"a b": "c"}}},
                {"spec": {"type": "ExternalName"}},
                {"spec": {"clusterIP": "10.0.0.77"}},
            ],
        )
    ],
}

FAULTS = {"pods": PODS, "persistentvolumeclaims": CLAIMS, "services": SERVICES, "nodes": NODES}

# Good objects that the faults are put into.
GOOD = {
    "pods": {
        "spec": {
            "containers": [{"name": "main", "image": "x", "ports": [{"containerPort": 80, "name": "web"}]}],
            "serviceAccountName": "default",
        }
    },
    "persistentvolumeclaims": {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    },
    "services": {"spec": {"clusterIP": "None", "ports": [{"port": 80}]}},
    "nodes": {"spec": {}},
}

for more in groups, groups2:
    FAULTS.update(more.FAULTS)
    CHANGES.update(more.CHANGES)
    GOOD.update(more.GOOD)

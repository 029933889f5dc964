# SPDX-License-Identifier: Apache-2.0
"""MiniCluster: a Flux instance in the pods of one Indexed Job.

The kind is the Flux Operator's, v1alpha1 as in the middle of 2023 and v1alpha2 as in March 2024: names, types and
defaults are the same. src/manager/admission/minicluster.c checks what a schema does not, and
src/manager/admission/convert_minicluster.c has the fields that only one of the versions has.
"""

from .shapes import V1ALPHA1, array, bare_amount, flag, int32, int64, record, strings, table, text, time, word

V1ALPHA2 = "v1alpha2"
IMAGE = "ghcr.io/rse-ops/accounting:app-latest"
VIEW = "ghcr.io/converged-computing/flux-view-rocky:tag-9"
MAX_NAME = 253
MAX_SCRIPT = 65536
MAX_LINE = 4096
MAX_CONTAINERS = 32
MAX_VOLUMES = 64
MAX_ENTRIES = 256
DEADLINE = 31500000


def _name(description):
    return text(description, max=MAX_NAME)


def _line(description, default=None):
    return text(description, max=MAX_LINE, default=default)


def _script(description):
    return text(description, max=MAX_SCRIPT)


def _words(description):
    return table(description, text("", max=MAX_SCRIPT), max=MAX_ENTRIES)


def _port(description, default=None):
    return int32(description, min=1, default=default) | {"maximum": 65535}


def _amounts(description):
    return table(description, bare_amount(""), max=MAX_ENTRIES)


def _resources(whose):
    return record(
        f"Resources of {whose}.",
        {
            "requests": _amounts("Requests, by the name of the resource."),
            "limits": _amounts("Limits, by the name of the resource."),
        },
    )


# ---- containers ----


def _existing(version):
    fields = {
        "path": _line("Where the volume is mounted in the container."),
        "claimName": _name("PersistentVolumeClaim that the volume is."),
        "configMapName": _name("ConfigMap that the volume has the content of."),
        "items": _words("Keys of the ConfigMap, each with the path of its file."),
        "secretName": _name("Secret that the volume has the content of."),
        "readOnly": flag("Mounted read-only.", default=False),
    }
    if version == V1ALPHA2:
        fields["hostPath"] = _line("Path on the node that the volume is.")
    about = "Volumes of the container that exist already, by name."
    return table(about, record("", fields), max=MAX_VOLUMES)


def _volumes(version):
    if version == V1ALPHA2:
        return {"volumes": _existing(version)}
    mount = record(
        "",
        {
            "path": _line("Where the volume is mounted in the container."),
            "readOnly": flag("Mounted read-only.", default=False),
        },
        need=["path"],
    )
    return {
        "volumes": table("Mounts of volumes of spec.volumes, by name.", mount, max=MAX_VOLUMES),
        "existingVolumes": _existing(version),
    }


def _commands(version):
    fields = {
        "init": _script("Runs before anything else."),
        "pre": _script("Runs before Flux is started."),
        "brokerPre": _script("Runs before Flux is started, in the pod of index 0 alone."),
        "workerPre": _script("Runs before Flux is started, in all other pods."),
        "post": _script("Runs when Flux has ended."),
        "prefix": _line("Words that are put before the command that Flux starts with."),
    }
    if version == V1ALPHA1:
        fields["runFluxAsRoot"] = flag("Flux is started by root instead of the Flux user.", default=False)
    else:
        fields["script"] = _script("Script that is run instead of a command.")
        fields["servicePre"] = _script("Runs before the command of a container that does not run Flux.")
    return record("Pieces of shell script at certain points of the entrypoint.", fields)


def _container(version):
    secret = record(
        "",
        {"name": _name("Name of the Secret."), "key": _name("Key within the Secret.")},
        need=["key", "name"],
    )
    fields = {
        "name": _name("Name of the container. Required unless it runs Flux, when it is that of the MiniCluster."),
        "image": _line("Image of the container.", default=IMAGE),
        "imagePullSecret": _name("Secret with the credentials that pull the image."),
        "pullAlways": flag("The image is pulled even if the node has it.", default=False),
        "workingDir": _line("Working directory of the command."),
        "command": _script("Command of the job. Empty: the cluster is interactive."),
        "runFlux": flag("Flux runs in this container. Exactly one does; a single one by default."),
        "launcher": flag("The command submits jobs itself: it is not submitted as one."),
        "batch": flag("Each line of the command is a job of one batch."),
        "batchRaw": flag("The lines of a batch are a script of their own: none is wrapped in a submission."),
        "logs": _line("Folder for the output of batch jobs. Empty: /tmp/fluxout."),
        "ports": strings(
            "Ports of the container, which a Service has unless it runs Flux.", each=_port(""), max=MAX_ENTRIES
        ),
        "environment": _words("Environment variables."),
        "secrets": table("Environment variables from Secrets.", secret, max=MAX_ENTRIES),
        "lifeCycle": record(
            "Commands at the ends of the container's life.",
            {
                "postStartExec": _line("Runs after the container has started."),
                "preStopExec": _line("Runs before the container is stopped."),
            },
        ),
        "resources": _resources("the container"),
        "commands": _commands(version),
        "noWrapEntrypoint": flag("The entrypoint of the image is kept, for a container that does not run Flux."),
        "securityContext": record(
            "Privileges of the container.",
            {
                "privileged": flag("The container is privileged."),
                "addCapabilities": strings("Capabilities that are added.", each=text("", max=64), max=64),
            },
        ),
        **_volumes(version),
    }
    if version == V1ALPHA1:
        del fields["noWrapEntrypoint"]
        fields["cores"] = int32("Number of cores of each pod that Flux manages. 0: all.", min=0)
        fields["diagnostics"] = flag("Diagnostics of Flux are run instead of the command.")
        fields["preCommand"] = _script("Runs before commands.pre.")
        fields["fluxUser"] = record(
            "User that Flux runs as.",
            {
                "name": _name("Name of the user.") | {"default": "flux"},
                "uid": int32("Number of the user.", min=0, default=1000),
            },
        )
    return record("A container.", fields)


# ---- Flux ----


def _bursting():
    broker = record(
        "Lead broker of the cluster that this one is a burst of. Unset: this is the first.",
        {
            "address": _name("Address of the broker."),
            "name": _name("Name of its MiniCluster, which hosts are named after."),
            "size": int32("Size of its MiniCluster.", min=0),
            "port": _port("Port of the broker.", default=8050),
        },
        need=["address", "name", "size"],
    )
    cluster = record(
        "A cluster elsewhere.",
        {"name": _name("What its hosts are named after. Unset: burst-N."), "size": int32("Number of hosts.", min=0)},
    )
    return record(
        "Clusters elsewhere that take part in this instance.",
        {
            "hostlist": _line("All hosts in the order of their ranks, instead of those that follow from the clusters."),
            "leadBroker": broker,
            "clusters": array("Clusters that may join, in the order of their ranks.", cluster, max=64),
        },
    )


def _view():
    return record(
        "Container that brings Flux into the pods.",
        {
            "disable": flag("The image of the application has Flux already.", default=False),
            "name": _name("Name of the container.") | {"default": "flux-view"},
            "image": _line("Image with Flux.", default=VIEW),
            "imagePullSecret": _name("Secret with the credentials that pull the image."),
            "pullAlways": flag("The image is pulled even if the node has it.", default=False),
            "mountPath": _line("Where Flux is mounted in all containers.", default="/mnt/flux"),
            "pythonPath": _line("Value of PYTHONPATH for Flux. Empty: what the image has."),
            "workingDir": _line("Working directory of the container."),
            "resources": _resources("the container"),
        },
    )


def _flux(version):
    fields = {
        "connectTimeout": _line("Time after which a broker tries again to reach its parent.", default="5s"),
        "logLevel": int32("Level of Flux's log, from 0 to 7.", default=6),
        "optionFlags": _line("Options of each submission."),
        "wrap": _line("Command that flux start wraps each broker in."),
        "minimalService": flag("The Service has the pod of index 0 alone."),
        "curveCert": _script("Curve certificate. Empty: one is made."),
        "mungeSecret": _name("Secret with a munge key, under munge.key."),
        "brokerConfig": _script("The whole configuration of the broker, in place of the one that is made."),
        "scheduler": record(
            "Scheduler of the instance.",
            {"queuePolicy": _line("Queue policy of Fluxion, such as fcfs (default) or easy.")},
        ),
        "bursting": _bursting(),
    }
    if version == V1ALPHA1:
        fields["installRoot"] = _line("Where the image has Flux.", default="/usr")
        fields["curveCertSecret"] = _name("Secret with a curve certificate, under curve.cert.")
    else:
        fields["container"] = _view()
        fields["arch"] = _line("Architecture of the nodes. Not needed here: nothing is downloaded.")
        fields["submitCommand"] = _line("Command that submits the job. Empty: flux submit.")
        fields["noWaitSocket"] = flag("Containers that do not run Flux do not wait for its socket.")
        fields["completeWorkers"] = flag("Pods other than that of index 0 end when Flux ends in them.")
    return record("Options of Flux.", fields)


# ---- the cluster ----


def _pod(version):
    fields = {
        "annotations": _words("Annotations of the pods."),
        "labels": _words("Labels of the pods."),
        "nodeSelector": _words("Labels that the nodes of the pods have."),
        "resources": _amounts("Overhead of the pods, by the name of the resource."),
        "serviceAccountName": _name("ServiceAccount of the pods."),
    }
    if version == V1ALPHA2:
        fields["schedulerName"] = _name("Scheduler of the pods.")
    return record("Options of the pods.", fields)


def _logging(strict):
    return record(
        "What the pods print.",
        {
            "quiet": flag("Only the output of the command is printed.", default=False),
            "strict": flag("The entrypoint ends with the first command that fails.", default=strict),
            "debug": flag("Submissions are verbose.", default=False),
            "timed": flag("Commands of Flux are timed with /usr/bin/time.", default=False),
            "zeromq": flag("Messages of ZeroMQ are logged.", default=False),
        },
    )


def _local_volumes():
    volume = record(
        "",
        {
            "path": _line("Path on the node, for the class hostpath."),
            "storageClass": _line("Class of the volume and its claim.", default="hostpath"),
            "driver": _line("CSI driver, for all other classes."),
            "volumeHandle": _line("Handle of the volume for the driver. Empty: the class."),
            "attributes": _words("Attributes of the volume for the driver."),
            "secret": _name("Secret with the credentials for the driver."),
            "secretNamespace": _name("Namespace of the Secret.") | {"default": "default"},
            "capacity": _line("Capacity of the volume and its claim.", default="5Gi"),
            "labels": _words("Labels of the volume."),
            "annotations": _words("Annotations of the volume."),
            "claimAnnotations": _words("Annotations of the claim."),
            "delete": flag("The volume goes with the MiniCluster.", default=True),
        },
        need=["path"],
    )
    return table("Volumes that are made for the MiniCluster, by name. Claims are named NAME-claim.", volume, max=16)


def _restful():
    return record(
        "REST API that runs when there is no command.",
        {
            "branch": _line("Branch of flux-restful-api that is run.", default="main"),
            "port": _port("Port of the API.", default=5000),
            "username": _line("User of the API. Empty: flux."),
            "token": _line("Token of the user. Empty: one is made."),
            "secretKey": _line("Key that signs tokens. Empty: one is made."),
        },
    )


def _spec(version):
    container = _container(version)
    network = {"headlessName": _name("Name of the headless Service.") | {"default": "flux-service"}}
    fields = {
        "size": int32("Number of pods.", min=1, default=1),
        "maxSize": int32("Number of pods that the cluster may grow to. 0: the size that it begins with.", min=0),
        "tasks": int32("Number of tasks of the command. 0: one for each node.", min=0, default=1),
        "containers": array("Containers of each pod.", container, max=MAX_CONTAINERS),
        "services": array("Containers of one more pod, beside the cluster.", container, max=MAX_CONTAINERS),
        "interactive": flag("Flux runs without a command until it is stopped.", default=False),
        "jobLabels": _words("Labels of the Job, such as the name of its queue."),
        "deadlineSeconds": int64("Seconds after which the Job is stopped.", min=1, default=DEADLINE),
        "cleanup": flag("The MiniCluster is deleted when the pod of index 0 has ended.", default=False),
        "shareProcessNamespace": flag("Containers of a pod see each other's processes."),
        "archive": record(
            "State of an earlier instance.", {"path": _line("File that the state is restored from, if it exists.")}
        ),
        "logging": _logging(version == V1ALPHA1),
        "network": record("Network of the cluster.", network),
        "pod": _pod(version),
        "flux": _flux(version),
    }
    if version == V1ALPHA1:
        user = record(
            "A user.",
            {"name": text("Name of the user.", max=32), "password": _line("Password, up to 8 characters.")},
            need=["name"],
        )
        fields["users"] = array("Users that are made in the pods.", user, max=MAX_ENTRIES)
        fields["volumes"] = _local_volumes()
        fields["fluxRestful"] = _restful()
    else:
        fields["minSize"] = int32("Number of pods that Flux waits for. 0: all that the cluster begins with.", min=0)
        network["disableAffinity"] = flag("Pods need not be apart from each other.")
    return record("Desired state of the MiniCluster.", fields, need=["containers"])


def _status():
    condition = record(
        "An observed condition of the object.",
        {
            "type": text("Type of the condition.", max=316),
            "status": word("Status of the condition.", "True", "False", "Unknown"),
            "reason": text("Machine-readable reason, in CamelCase.", max=1024),
            "message": text("Human-readable details.", max=32768),
            "lastTransitionTime": time("Time of the last transition of the status."),
            "observedGeneration": int64("Generation of the object that the condition was observed for.", min=0),
        },
        need=["lastTransitionTime", "message", "reason", "status", "type"],
    )
    return record(
        "Observed state of the MiniCluster.",
        {
            "size": int32("Number of pods that the Job has."),
            "maximumSize": int32("Number of pods that the cluster may grow to."),
            "selector": text("Labels of the pods, for the scale subresource.", max=MAX_LINE),
            "jobid": text("Uid of the Job.", max=MAX_NAME),
            "conditions": array(
                "JobRequested: not all objects exist yet. JobWaitingForResources: the Job waits in its queue. "
                "JobMiniClusterReady: all objects exist, and the Job may run. JobRunning: all pods run. JobFinished: "
                "the Job has ended. ControlledBySluice: False where the Flux Operator makes the objects.",
                condition,
                max=16,
            ),
        },
    )


MINI_CLUSTER = {
    "group": "flux-framework.org",
    "versions": [V1ALPHA1, V1ALPHA2],
    "storage": V1ALPHA2,
    "quiet": True,
    "conversion": "Webhook",
    "kind": "MiniCluster",
    "about": "A Flux instance in the pods of an Indexed Job.",
    "plural": "miniclusters",
    "scope": "Namespaced",
    "status": True,
    "scale": {
        "specReplicasPath": ".spec.size",
        "statusReplicasPath": ".status.size",
        "labelSelectorPath": ".status.selector",
    },
    "fields": lambda version: {"spec": _spec(version), "status": _status()},
}

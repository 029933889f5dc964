# SPDX-License-Identifier: Apache-2.0
"""One job of each kind that a real operator runs (operators.py): what it looks like, and when it has ended.

    job = JOBS["JobSet"]
    job.prepare(cluster)
    job.create(cluster, "one", seconds=2)       # pods of one cpu each, which run for two seconds
    until(lambda: job.finished(cluster, "one"))

All pods of a job have its name at the beginning of theirs. What a pod does is said by annotations on it, to the fake
kubelet and to `sluice up`.
"""

import contextlib
import dataclasses
import typing

import raydashboard
from kube import Failure, until

QUEUE = "kueue.x-k8s.io/queue-name"
PRIORITY = "kueue.x-k8s.io/priority-class"


def template(container, seconds, policy="Never"):
    """A pod that runs so long; None: until somebody ends it."""
    lasts = {"tests.sluice/run-seconds": "infinity", "sluice.dev/run-for": "1h"}
    if seconds is not None:
        lasts = {"tests.sluice/run-seconds": str(seconds), "sluice.dev/run-for": f"{seconds}s"}
    main = {"name": container, "image": "none", "command": ["work"], "resources": {"requests": {"cpu": "1"}}}
    spec = {"containers": [main], "terminationGracePeriodSeconds": 1}
    return {"metadata": {"annotations": lasts}, "spec": {**spec, "restartPolicy": policy} if policy else spec}


def field(value, name):
    """Whether a field of the status has that value."""
    return lambda thing: thing.get("status", {}).get(name) == value


def condition(name):
    def asked(thing):
        found = thing.get("status", {}).get("conditions") or []
        return any(c["type"] == name and c["status"] == "True" for c in found)

    return asked


@dataclasses.dataclass(frozen=True)
class Job:
    operators: tuple  # in the order in which they start
    kind: str
    api: str
    plural: str
    framework: str  # among the integrations of the configuration
    pods: int  # that run at a time, a cpu each
    spec: typing.Callable  # of a name and seconds
    ended: typing.Callable  # of the object, or of the batch Job of that name
    before: tuple = ()  # objects that it needs: path and object
    by_job: bool = False  # it is queued by the labels of the batch Job, whose end is its end
    gated: bool = False  # it serves until it is deleted, and its pods are what is queued
    outside: typing.Callable = lambda: contextlib.nullcontext({})  # gives an environment for its operators

    def path(self, name=""):
        return f"/apis/{self.api}/namespaces/default/{self.plural}" + (f"/{name}" if name else "")

    def prepare(self, cluster):
        for path, thing in self.before:
            cluster.request("POST", path, thing)

    def create(self, cluster, name, seconds, queue=None, priority=None):
        labels = {key: value for key, value in ((QUEUE, queue), (PRIORITY, priority)) if value}
        metadata, spec = {"name": name, "namespace": "default"}, self.spec(name, seconds)
        if self.by_job:
            spec["jobLabels"] = labels
        else:
            metadata["labels"] = labels
        thing = {"apiVersion": self.api, "kind": self.kind, "metadata": metadata, "spec": spec}

        def created():
            try:
                return cluster.request("POST", self.path(), thing)
            except Failure as why:
                if "failed calling webhook" not in str(why):
                    raise
            return None

        # An operator may say that it is ready just before its webhooks listen.
        return until(created, 30, f"{self.kind} {name} to be created")

    def get(self, cluster, name):
        return cluster.get(self.path(name))

    def finished(self, cluster, name):
        if self.by_job:
            return self.ended(cluster._try(f"/apis/batch/v1/namespaces/default/jobs/{name}") or {})
        return self.ended(self.get(cluster, name))

    def delete(self, cluster, name):
        cluster.request("DELETE", self.path(name), {"propagationPolicy": "Background"})

    @staticmethod
    def its_pods(cluster, name):
        found = cluster.get("/api/v1/namespaces/default/pods")["items"]
        return [pod for pod in found if pod["metadata"]["name"].startswith(f"{name}-")]

    def running(self, cluster, name):
        return {
            pod["metadata"]["name"]
            for pod in self.its_pods(cluster, name)
            if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
        }

    def ran(self, cluster, seconds, *names):
        """Waits until all have ended; returns for each the pods that were seen to run, or to have run to their end.

        All are looked at from the start, since an operator may delete pods as soon as its job has ended.
        """
        seen = {name: set() for name in names}

        def over():
            for name in names:
                seen[name].update(self.running(cluster, name))
                ended = [pod for pod in self.its_pods(cluster, name) if pod["status"].get("phase") == "Succeeded"]
                seen[name].update(pod["metadata"]["name"] for pod in ended)
            return all([self.finished(cluster, name) for name in names])

        until(over, seconds, f"the end of {self.kind} {' and '.join(names)}")
        return [seen[name] for name in names]


# ---- how each is written ----


def jobset(_, seconds):
    job = {"parallelism": 1, "completions": 1, "backoffLimit": 0, "template": template("main", seconds)}
    return {"replicatedJobs": [{"name": "workers", "replicas": 2, "template": {"spec": job}}]}


def mpijob(_, seconds):
    """Its launcher says when it is over; the workers are ended then."""
    replicas = {
        "Launcher": {"replicas": 1, "template": template("launcher", seconds)},
        "Worker": {"replicas": 2, "template": template("worker", None, None)},
    }
    return {"slotsPerWorker": 1, "runPolicy": {"cleanPodPolicy": "Running"}, "mpiReplicaSpecs": replicas}


def rayjob(_, seconds):
    """How long it runs says the dashboard."""
    group = {"groupName": "workers", "replicas": 1, "minReplicas": 1, "maxReplicas": 1, "rayStartParams": {}}
    cluster = {
        "rayVersion": "2.52.0",
        "headGroupSpec": {"rayStartParams": {}, "template": template("head", None, None)},
        "workerGroupSpecs": [{**group, "template": template("worker", None, None)}],
    }
    how = {"submissionMode": "HTTPMode", "shutdownAfterJobFinishes": True, "rayClusterSpec": cluster}
    return {"entrypoint": f"sleep {seconds}", **how}


def kubeflow(kind, field, container, roles):
    """A kind of the training operator, with so many replicas of each role."""

    def spec(_, seconds):
        each = {"restartPolicy": "OnFailure", "template": template(container, seconds, None)}
        replicas = {role: {"replicas": count, **each} for role, count in roles.items()}
        return {"runPolicy": {"cleanPodPolicy": "All"}, field: replicas}

    plural, pods = kind.lower() + "s", sum(roles.values())
    framework = f"kubeflow.org/{kind.lower()}"
    return Job(("training-operator",), kind, "kubeflow.org/v1", plural, framework, pods, spec, condition("Succeeded"))


def trainjob(_, seconds):
    """How long its pods run it adds to those of the runtime."""
    lasts = {"template": {"metadata": template("node", seconds)["metadata"]}}
    changed = {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": lasts}}]}}}
    return {
        "runtimeRef": {"kind": "TrainingRuntime", "name": "plain"},
        "runtimePatches": [{"manager": "tests.sluice/kinds", "trainingRuntimeSpec": changed}],
    }


def runtime():
    job = {"parallelism": 1, "completions": 1, "template": template("node", 1)}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    node = {"name": "node", "template": {"metadata": {"labels": labels}, "spec": job}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": "plain", "labels": {"trainer.kubeflow.org/framework": "torch"}},
        "spec": {"mlPolicy": {"numNodes": 2}, "template": {"spec": {"replicatedJobs": [node]}}},
    }


def appwrapper(name, seconds):
    job = {"parallelism": 2, "completions": 2, "backoffLimit": 0, "template": template("main", seconds)}
    metadata = {"name": f"{name}-job"}
    return {"components": [{"template": {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": job}}]}


def leaderworkerset(_, seconds):
    """It serves until it is deleted."""
    return {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template("main", None, None)}}


def minicluster(_, seconds):
    container = {"image": "none", "command": "work", "resources": {"requests": {"cpu": 1}}}
    pod = {"annotations": template("main", seconds)["metadata"]["annotations"]}
    return {"size": 2, "containers": [container], "pod": pod}


JOBS = {
    job.kind: job
    for job in (
        Job(
            ("jobset",),
            "JobSet",
            "jobset.x-k8s.io/v1alpha2",
            "jobsets",
            "jobset.x-k8s.io/jobset",
            2,
            jobset,
            condition("Completed"),
        ),
        Job(
            ("mpi-operator",),
            "MPIJob",
            "kubeflow.org/v2beta1",
            "mpijobs",
            "kubeflow.org/mpijob",
            3,
            mpijob,
            condition("Succeeded"),
        ),
        Job(
            ("kuberay",),
            "RayJob",
            "ray.io/v1",
            "rayjobs",
            "ray.io/rayjob",
            2,
            rayjob,
            field("SUCCEEDED", "jobStatus"),
            outside=raydashboard.served,
        ),
        kubeflow("PyTorchJob", "pytorchReplicaSpecs", "pytorch", {"Master": 1, "Worker": 1}),
        kubeflow("TFJob", "tfReplicaSpecs", "tensorflow", {"Chief": 1, "Worker": 1}),
        kubeflow("XGBoostJob", "xgbReplicaSpecs", "xgboost", {"Master": 1, "Worker": 1}),
        kubeflow("PaddleJob", "paddleReplicaSpecs", "paddle", {"Worker": 2}),
        kubeflow("JAXJob", "jaxReplicaSpecs", "jax", {"Worker": 2}),
        Job(
            ("jobset", "trainer"),
            "TrainJob",
            "trainer.kubeflow.org/v1alpha1",
            "trainjobs",
            "trainer.kubeflow.org/trainjob",
            2,
            trainjob,
            condition("Complete"),
            before=(("/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainingruntimes", runtime()),),
        ),
        Job(
            ("appwrapper",),
            "AppWrapper",
            "workload.codeflare.dev/v1beta2",
            "appwrappers",
            "workload.codeflare.dev/appwrapper",
            2,
            appwrapper,
            field("Succeeded", "phase"),
        ),
        Job(
            ("lws",),
            "LeaderWorkerSet",
            "leaderworkerset.x-k8s.io/v1",
            "leaderworkersets",
            "leaderworkerset.x-k8s.io/leaderworkerset",
            2,
            leaderworkerset,
            condition("Available"),
            gated=True,
        ),
        Job(
            ("flux-operator",),
            "MiniCluster",
            "flux-framework.org/v1alpha2",
            "miniclusters",
            "batch/job",
            2,
            minicluster,
            condition("Complete"),
            by_job=True,
        ),
    )
}

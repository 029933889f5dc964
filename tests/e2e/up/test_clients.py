# SPDX-License-Identifier: Apache-2.0
"""Clients that people have, against `sluice up`: three kubectl and Debian's Python client.

    tests/e2e/run up/test_clients.py -k debian  # only what has that in its name

kubectl is Debian's package (1.20, unpacked if it is not installed), the machine's own if it has one, and the one that
tests/e2e/kube builds. What is not to be had here is counted as skipped.
"""

import fcntl
import json
import os
import pathlib
import pty
import random
import re
import shutil
import struct
import subprocess
import tempfile
import termios
import textwrap
import urllib.request

import pytest

import kube
from kube import Failure, Unavailable, until
from sluice import program, say
from up import Up

TIME_LIMIT = 600
up = work = None
PATIENCE = 120

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  labels: {app: web}\ndata:\n  color: blue\n"
JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: count}
spec:
  completions: 2
  parallelism: 2
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: host
        command: [sh, -c, "for i in 1 2 3; do echo line $i; sleep 0.2; done"]
"""
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: host, command: [sleep, "1000"]}
"""


def packaged(package, program):
    """A program of a Debian package that is not installed: unpacked, from the archive that the machine uses."""
    folder = work / package
    folder.mkdir()
    got = subprocess.run(["apt-get", "download", package], cwd=folder, capture_output=True, text=True)
    files = list(folder.glob("*.deb"))
    if got.returncode or not files:
        raise Unavailable(f"{package} cannot be fetched: {got.stderr.strip()[-200:]}")
    subprocess.run(["dpkg-deb", "-x", files[0], folder], check=True)
    return folder / program


class Kubectl:
    def __init__(self, path, name):
        self.path, self.name, self.ns = path, name, "k-" + re.sub(r"\W", "-", name)

    def command(self, *args):
        return [
            str(self.path),
            f"--kubeconfig={up.kubeconfig}",
            f"--cache-dir={work / ('cache-' + self.ns)}",
            "-n",
            self.ns,
            *args,
        ]

    def __call__(self, *args, input=None, code=0, env=None):
        """What it prints; 'code': with which it has to end, None: whatever."""
        ran = subprocess.run(
            self.command(*args),
            input=input,
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, **(env or {})},
        )
        if code is not None and ran.returncode != code:
            raise Failure(
                f"kubectl {' '.join(args)}: exit {ran.returncode}, not {code}\n"
                f"{ran.stdout[-1500:]}\n{ran.stderr[-1500:]}"
            )
        return ran.stdout + ran.stderr

    def says(self, pattern, *args, **more):
        """Prints something of this form."""
        said = self(*args, **more)
        if not re.search(pattern, said, re.M):
            raise Failure(f"kubectl {' '.join(args)} does not say /{pattern}/, but:\n{said[-3000:]}")
        return said


KUBECTLS = {
    "built": lambda: up.bin / "kubectl",
    **({"own": lambda: pathlib.Path(shutil.which("kubectl"))} if shutil.which("kubectl") else {}),
    "debian": lambda: packaged("kubernetes-client", "usr/bin/kubectl"),
}


@pytest.fixture(scope="module", autouse=True)
def running():
    """Everything in one process."""
    global up, work
    with tempfile.TemporaryDirectory(prefix="sluice-clients-", ignore_cleanup_errors=True) as folder, Up() as up:
        work = pathlib.Path(folder)
        say(f"# ready after {up.ready_after:.2f} s")
        yield


# ---- what each kubectl has to do ----


def do_create(k):
    k.says(f"namespace/{k.ns} created", "create", "namespace", k.ns)
    k.says("configmap/made created", "create", "configmap", "made", "--from-literal=a=b")
    k.says("secret/hidden created", "create", "secret", "generic", "hidden", "--from-literal=p=q")
    k.says("AlreadyExists|already exists", "create", "configmap", "made", code=1)
    k.says("created \\(server dry run\\)", "create", "configmap", "dry", "--from-literal=a=b", "--dry-run=server")
    k.says("NotFound", "get", "configmap", "dry", code=1)


def do_apply(k):
    k.says("configmap/settings created", "apply", "-f", "-", input=CONFIG)
    k.says("configmap/settings unchanged", "apply", "-f", "-", input=CONFIG)
    k.says("configmap/settings configured", "apply", "-f", "-", input=CONFIG.replace("blue", "red"))
    k.says("^red$", "get", "cm", "settings", "-o", "jsonpath={.data.color}{'\\n'}")
    other = CONFIG.replace("settings", "served")
    k.says("serverside-applied", "apply", "--server-side", "-f", "-", input=other)
    k.says(
        "serverside-applied",
        "apply",
        "--server-side",
        "--field-manager=kubectl",
        "-f",
        "-",
        input=other.replace("blue", "green"),
    )
    k.says("conflict", "apply", "--server-side", "--field-manager=somebody", "-f", "-", input=other, code=1)
    k.says(
        "serverside-applied",
        "apply",
        "--server-side",
        "--field-manager=somebody",
        "--force-conflicts",
        "-f",
        "-",
        input=other,
    )
    k.says("unknown field|error validating", "apply", "-f", "-", input=CONFIG + "colour: x\n", code=1)
    k.says("^[-+] *color: ", "diff", "-f", "-", input=CONFIG.replace("blue", "white"), code=1)


def do_get(k):
    k.says(r"^NAME +DATA +AGE\n", "get", "configmaps")
    k.says(r"^configmap/settings$", "get", "cm", "settings", "-o", "name")
    assert json.loads(k("get", "cm", "settings", "-o", "json"))["data"] == {"color": "red"}
    k.says("^  color: red$", "get", "cm", "settings", "-o", "yaml")
    k.says(
        "^settings +red$",
        "get",
        "cm",
        "settings",
        "-o",
        "custom-columns=N:.metadata.name,C:.data.color",
        "--no-headers",
    )
    k.says("^red$", "get", "cm", "settings", "-o", 'go-template={{.data.color}}{{"\\n"}}')
    k.says(r"^NAME +DATA +AGE +LABELS\n", "get", "cm", "--show-labels")
    k.says(r"^NAME +STATUS +ROLES +AGE +VERSION +INTERNAL-IP", "get", "nodes", "-o", "wide")
    k.says("settings", "get", "cm", "-l", "app=web", "--field-selector", "metadata.name=settings")
    k.says("made", "get", "cm", "--chunk-size=1")
    k.says("settings", "get", "configmaps", "-A", "--sort-by=.metadata.name")
    k.says("(?s)configmap/made.*secret/hidden", "get", "cm,secrets")
    k.says("NotFound", "get", "cm", "nobody", code=1)
    k.says("doesn't have a resource type", "get", "nothings", code=1)


def do_describe(k):
    k.says(r"(?s)^Name: +settings.*color:\n----\nred", "describe", "cm", "settings")
    k.says(r"(?s)^Name: .*Capacity:.*cpu:", "describe", "nodes")


def do_edit_patch_label(k):
    k.says("edited", "edit", "cm", "settings", env={"EDITOR": "sed -i s/red/pink/"})
    k.says("patched", "patch", "cm", "settings", "--type=merge", "-p", '{"data":{"x":"1"}}')
    k.says("patched", "patch", "cm", "settings", "--type=json", "-p", '[{"op":"add","path":"/data/y","value":"2"}]')
    k.says("patched", "patch", "cm", "settings", "--type=strategic", "-p", '{"data":{"z":"3"}}')
    assert json.loads(k("get", "cm", "settings", "-o", "json"))["data"] == {
        "color": "pink",
        "x": "1",
        "y": "2",
        "z": "3",
    }
    k.says("labeled", "label", "cm", "settings", "tier=front")
    k.says("annotated", "annotate", "cm", "settings", "note=hello")
    k.says("overwrite", "label", "cm", "settings", "tier=back", code=1)
    k.says("labeled", "label", "--overwrite", "cm", "settings", "tier-")
    k.says("replaced", "replace", "-f", "-", input=CONFIG)


def do_jobs(k):
    k.says("job.batch/count created", "apply", "-f", "-", input=JOB)
    pod = until(
        lambda: re.search(
            r"^(\S+) .* (Running|Completed) ", k("get", "pods", "-l", "job-name=count", "--no-headers"), re.M
        ),
        PATIENCE,
        "a pod of the job",
    )[1]
    k.says("(?s)line 1\nline 2\nline 3", "logs", "-f", pod)
    k.says("condition met", "wait", "--for=condition=complete", "job/count", f"--timeout={PATIENCE}s")
    k.says("^line 3$", "logs", "job/count", "--tail=1")
    k.says(r"2/2", "get", "job", "count")
    until(lambda: "SuccessfulCreate" in k("get", "events"), PATIENCE, "events")
    k.says("(?s)Pods Statuses:.*2 Succeeded.*SuccessfulCreate", "describe", "job", "count")
    k.says("SuccessfulCreate", "get", "events")
    k.says("created", "create", "job", "again", "--image=host", "--", "true")
    k.says("condition met", "wait", "--for=condition=complete", "job/again", f"--timeout={PATIENCE}s")


def do_deployments(k):
    k.says("deployment.apps/web created", "apply", "-f", "-", input=DEPLOYMENT)
    k.says("successfully rolled out", "rollout", "status", "deployment/web", f"--timeout={PATIENCE}s")
    k.says(r"web +2/2 +2 +2", "get", "deployment", "web")
    k.says("scaled", "scale", "deployment", "web", "--replicas=3")
    k.says("successfully rolled out", "rollout", "status", "deployment/web", f"--timeout={PATIENCE}s")
    k.says("restarted", "rollout", "restart", "deployment/web")
    k.says("successfully rolled out", "rollout", "status", "deployment/web", f"--timeout={PATIENCE}s")
    k.says("(?s)REVISION.*2", "rollout", "history", "deployment/web")
    k.says("rolled back", "rollout", "undo", "deployment/web")
    k.says("(?s)web.*1/1|Running", "get", "all")


def noise(size, seed):
    """A text that is not the same anywhere."""
    return random.Random(seed).randbytes(size // 2).hex()


def do_exec(k):
    k.says("pod/box created", "run", "box", "--image=host", "--restart=Never", "--command", "--", "sleep", "1000")
    k.says("condition met", "wait", "--for=condition=Ready", "pod/box", f"--timeout={PATIENCE}s")
    k.says("^said\\n$", "exec", "box", "--", "echo", "said")
    k.says(
        "(?s)^out\\n.*err\\n.*exit code 3", "exec", "box", "--", "sh", "-c", "echo out; echo err >&2; exit 3", code=3
    )
    text = noise(1 << 20, 1)
    assert k("exec", "-i", "box", "--", "cat", input=text) == text, "1 MiB through cat comes back changed"
    assert k("exec", "box", "--", "sh", "-c", "head -c 20000000 /dev/zero | tr '\\0' x").count("x") == 20000000
    k.says("^5\\n$", "exec", "-i", "box", "--", "wc", "-c", input="hello")
    k.says("^same$", "exec", "box", "-c", "box", "--", "echo", "same")
    k.says("executable file not found", "exec", "box", "--", "no-such-program", code=1)
    k.says("NotFound|not found", "exec", "nobody", "--", "true", code=1)
    k.says("is not valid for pod box", "exec", "box", "-c", "nobody", "--", "true", code=1)


def in_terminal(k, *args, rows=33, columns=101, say=""):
    """What appears on a terminal of that size, until the program ends; its exit status."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.execv(str(k.path), k.command(*args))
    seen, said = b"", not say
    while True:
        try:
            some = os.read(terminal, 4096)
        except OSError:
            some = b""
        if not some:
            break
        seen += some
        if not said and b"ready" in seen:
            os.write(terminal, say.encode())
            said = True
    os.close(terminal)
    return seen.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def do_terminal(k):
    # The size comes after the beginning, so that it is waited for.
    script = """
        for i in $(seq 50); do [ "$(stty size)" = '33 101' ] && break; sleep 0.1; done
        stty size; tty; echo ready; read line; echo "<$line>"; exit 5
    """
    seen, code = in_terminal(k, "exec", "-it", "box", "--", "sh", "-c", script, say="typed\r")
    assert "33 101\r\n" in seen and "/dev/pts/" in seen and "<typed>" in seen and code == 5, (seen, code)


def do_attach(k):
    k.says(
        "pod/talker created",
        "run",
        "talker",
        "--image=host",
        "--restart=Never",
        "--command",
        "--",
        "sh",
        "-c",
        "while sleep 0.1; do echo tick; done",
    )
    k.says("condition met", "wait", "--for=condition=Ready", "pod/talker", f"--timeout={PATIENCE}s")
    attached = subprocess.Popen(
        k.command("attach", "talker"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert [attached.stdout.readline() for _ in range(3)] == ["tick\n"] * 3
    finally:
        attached.kill()
        attached.communicate()
    k.says("deleted", "delete", "pod", "talker", "--now")
    said = k(
        "run",
        "once",
        "-i",
        "--rm",
        "--image=host",
        "--restart=Never",
        "--command",
        "--",
        "sh",
        "-c",
        'read line; echo "got $line"',
        input="a word\n",
    )
    assert "got a word" in said, said
    k.says("NotFound", "get", "pod", "once", code=1)


def do_copy(k):
    here, there, back = work / f"here-{k.ns}", work / f"there-{k.ns}", work / f"back-{k.ns}"
    here.write_text(noise(3 << 20, 2))
    k("cp", str(here), f"{k.ns}/box:{there}")
    assert there.read_text() == here.read_text()
    k("cp", f"{k.ns}/box:{there}", str(back))
    assert back.read_text() == here.read_text()


def do_forward(k):
    served = work / f"served-{k.ns}"
    served.mkdir()
    (served / "large").write_text(noise(8 << 20, 3))
    (port,) = kube.free_ports(1)
    k.says(
        "created",
        "run",
        "web",
        "--image=host",
        "--restart=Never",
        "--command",
        "--",
        "python3",
        "-m",
        "http.server",
        "--bind=127.0.0.1",
        f"--directory={served}",
        str(port),
    )
    k.says("condition met", "wait", "--for=condition=Ready", "pod/web", f"--timeout={PATIENCE}s")
    # The pod is ready as soon as it runs; a connection before it listens would end kubectl's.
    until(lambda: quietly(urllib.request.urlopen, f"http://127.0.0.1:{port}/"), PATIENCE, "the server in the pod")
    forward = subprocess.Popen(
        k.command("port-forward", "pod/web", f":{port}"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        line = forward.stdout.readline()
        local = re.search(r"127\.0\.0\.1:(\d+) ->", line)
        assert local, line + forward.stderr.read()

        def ask(path):
            return urllib.request.urlopen(f"http://127.0.0.1:{local[1]}/{path}", timeout=20).read()

        until(lambda: quietly(ask, ""), 20, "an answer through the port")
        for _ in range(20):
            assert b"large" in ask("")
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(8) as pool:
            for text in pool.map(ask, ["large"] * 16):
                assert text == (served / "large").read_bytes()
    finally:
        forward.kill()
        forward.communicate()
    k.says("deleted", "delete", "pod", "web", "box", "--now")


def quietly(call, *args):
    try:
        return call(*args)
    except OSError:
        return None


def do_delete(k):
    k("rollout", "status", "deployment/web", f"--timeout={PATIENCE}s")
    k.says("deleted", "delete", "deployment", "web", "--cascade=orphan")
    k.says("web-", "get", "rs", "-o", "name")
    k.says("deleted", "delete", "rs", "-l", "app=web", "--cascade=foreground")
    until(lambda: "web-" not in k("get", "pods"), PATIENCE, "the end of the pods")
    k.says("deleted", "delete", "job", "count", "--cascade=background")
    until(lambda: "count-" not in k("get", "pods"), PATIENCE, "the end of the job's pods")
    k.says("deleted", "delete", "cm", "--all")
    k.says("deleted", "delete", "namespace", k.ns)
    k.says("NotFound", "get", "namespace", k.ns, code=1)


def do_ask(k):
    k.says(r"^jobs +.*batch/v1 +true +Job", "api-resources")
    k.says(r"kueue.x-k8s.io/v1beta2", "api-versions")
    k.says("(?s)KIND: +Job.*FIELDS:.*spec", "explain", "job")
    k.says("(?s)backoffLimit", "explain", "job.spec")
    k.says("Restricts the rule to this container of the pod", "explain", "job.spec.podFailurePolicy.rules.onExitCodes")
    k.says("(?s)KIND: +ClusterQueue.*Immutable", "explain", "clusterqueues")
    k.says("^yes", "auth", "can-i", "create", "jobs")
    k.says("Server Version", "version")
    k.says("is running at", "cluster-info")


def each(k):
    for name, do in list(globals().items()):
        if name.startswith("do_"):
            do(k)
            say(f"# {k.name}: {name[3:].replace('_', ', ')}")


@pytest.mark.parametrize("name", [n for n in KUBECTLS if n != "debian"])
def test_plugin(name):
    """kubectl sluice graph, kubectl sluice queue (T7 of fluxqueue): a link to the program is a plugin"""
    kubectl, folder = KUBECTLS[name](), work / f"plugin-{name}"
    folder.mkdir()
    (folder / "kubectl-sluice").symlink_to(program())
    env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "KUBECONFIG": str(up.kubeconfig)}

    def plugin(*args):
        ran = subprocess.run([kubectl, "sluice", *args], env=env, capture_output=True, text=True, timeout=100)
        assert ran.returncode == 0, ran.stderr[-2000:]
        return ran.stdout

    graph = json.loads(plugin("graph", "--output=json", "--jobs"))
    assert graph["fluxJobsServed"] and graph["graph"]["nodes"]["total"] == len(up.get("/api/v1/nodes")["items"])
    assert graph["graph"]["resources"]["cpu"]["total"] != "0", graph
    assert re.search(r"^node +\S+ +\S+ +up +cpu ", plugin("graph"), re.M)
    queue = json.loads(plugin("queue", "-A", "-o", "json"))
    assert queue["fluxJobs"]["served"] and queue["workloads"]["served"], queue
    assert "kubectl sluice queue" in plugin("queue", "--help")


@pytest.mark.parametrize("name", KUBECTLS)
def test_kubectl(name):
    """all that kubectl does"""
    k = Kubectl(KUBECTLS[name](), name)
    say(f"# {name}: " + k("version", "--client").splitlines()[0])
    each(k)


def test_python():
    """Debian's Python client: lists, watches, informers"""
    module = subprocess.run(
        ["/usr/bin/python3", "-c", "import kubernetes; print(kubernetes.__version__)"], capture_output=True, text=True
    )
    if module.returncode:
        raise Unavailable("python3-kubernetes is not installed")
    script = textwrap.dedent("""
        import sys, threading, kubernetes
        kubernetes.config.load_kube_config(sys.argv[1])
        core, batch = kubernetes.client.CoreV1Api(), kubernetes.client.BatchV1Api()
        seen = []
        w = kubernetes.watch.Watch()
        since = core.list_namespaced_config_map("default").metadata.resource_version
        def follow():
            asked = dict(label_selector="py=yes", resource_version=since, timeout_seconds=100)
            for e in w.stream(core.list_namespaced_config_map, "default", **asked):
                seen.append((e["type"], e["object"].metadata.name))
                if e["type"] == "DELETED":
                    w.stop()
        t = threading.Thread(target=follow); t.start()
        body = {"metadata": {"name": "py", "labels": {"py": "yes"}}, "data": {"a": "b"}}
        made = core.create_namespaced_config_map("default", body)
        made.data["a"] = "c"
        core.replace_namespaced_config_map("py", "default", made)
        core.patch_namespaced_config_map("py", "default", {"data": {"d": "e"}})
        assert core.read_namespaced_config_map("py", "default").data == {"a": "c", "d": "e"}
        try:
            core.replace_namespaced_config_map("py", "default", made)
            raise SystemExit("a stale version was taken")
        except kubernetes.client.ApiException as error:
            assert error.status == 409, error
        core.delete_namespaced_config_map("py", "default")
        t.join(100)
        assert seen == [("ADDED", "py"), ("MODIFIED", "py"), ("MODIFIED", "py"), ("DELETED", "py")], seen
        pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "host", "command": ["true"]}]}
        job = {"metadata": {"name": "py"}, "spec": {"template": {"spec": pod}}}
        batch.create_namespaced_job("default", job)
        for e in kubernetes.watch.Watch().stream(batch.list_namespaced_job, "default", timeout_seconds=100):
            if e["object"].status.succeeded:
                break
        else:
            raise SystemExit("the job has not finished")
        batch.delete_namespaced_job("py", "default", propagation_policy="Foreground")
        custom = kubernetes.client.CustomObjectsApi()
        kind = "kueue.x-k8s.io", "v1beta2", "resourceflavors"
        flavor = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "py"}}
        custom.create_cluster_custom_object(*kind, flavor)
        assert [o["metadata"]["name"] for o in custom.list_cluster_custom_object(*kind)["items"]] == ["py"]
        custom.delete_cluster_custom_object(*kind, "py")
        print("fine")
        """)
    ran = subprocess.run(
        ["/usr/bin/python3", "-c", script, str(up.kubeconfig)], capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0 and "fine" in ran.stdout, ran.stdout + ran.stderr


def test_python_stream():
    """Debian's Python client: a command in a container, with channels over a WebSocket"""
    if subprocess.run(["/usr/bin/python3", "-c", "import kubernetes.stream"], capture_output=True).returncode:
        raise Unavailable("python3-kubernetes or python3-websocket is not installed")
    script = textwrap.dedent("""
        import sys, time, kubernetes
        from kubernetes.stream import stream
        kubernetes.config.load_kube_config(sys.argv[1])
        core = kubernetes.client.CoreV1Api()
        main = {"name": "main", "image": "host", "command": ["sleep", "1000"]}
        pod = {"metadata": {"name": "talk"}, "spec": {"restartPolicy": "Never", "containers": [main]}}
        core.create_namespaced_pod("default", pod)
        while core.read_namespaced_pod("talk", "default").status.phase != "Running":
            time.sleep(0.1)
        def ask(*command, **more):
            more = {**dict(stdin=False, stdout=True, stderr=True, tty=False), **more}
            return stream(core.connect_get_namespaced_pod_exec, "talk", "default", command=list(command), **more)
        assert ask("echo", "hello") == "hello\\n"
        talk = ask("sh", "-c", "read a; echo $a; echo wrong >&2; exit 4", stdin=True, _preload_content=False)
        talk.write_stdin("typed\\n")
        talk.run_forever(timeout=20)
        assert (talk.read_stdout(), talk.read_stderr(), talk.returncode) == ("typed\\n", "wrong\\n", 4), talk.returncode
        core.delete_namespaced_pod("talk", "default", grace_period_seconds=0)
        print("fine")
        """)
    ran = subprocess.run(
        ["/usr/bin/python3", "-c", script, str(up.kubeconfig)], capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0 and "fine" in ran.stdout, ran.stdout + ran.stderr

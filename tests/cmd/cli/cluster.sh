# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # tests/cmd/cli/run has the other ends of $out, $err, $code, $load
# Commands that read a cluster, `sluice graph` and `sluice queue`, over an API server that answers from a file:
# T7 of what fluxqueue's authors wanted, the state of the scheduler in kubectl, is these two as a plugin.

unset KUBECONFIG KUBERNETES_SERVICE_HOST
export HOME=/nonexistent
flux=/apis/jobs.converged-computing.org/v1alpha1
kueue=/apis/kueue.x-k8s.io/v1beta2
visibility=/apis/visibility.kueue.x-k8s.io/v1beta2

end_all() {
    # shellcheck disable=SC2046 # numbers
    kill -9 $(jobs -p)
    wait
} 2>/dev/null
# kubeconfig PORT: of a server on this machine
kubeconfig() {
    cat >config <<YAML
apiVersion: v1
kind: Config
current-context: test
clusters: [{name: test, cluster: {server: "http://127.0.0.1:$1"}}]
users: [{name: test, user: {}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
YAML
    export KUBECONFIG=$PWD/config
}
# api EXPRESSION...: serves a cluster; each is Python over the answers 'a', with node(), pod(), fluxjob(), workload()
api() {
    python3 - "$@" >objects.json <<'PYTHON'
import json, sys
FLUX, KUEUE = "/apis/jobs.converged-computing.org/v1alpha1", "/apis/kueue.x-k8s.io/v1beta2"
VISIBILITY = "/apis/visibility.kueue.x-k8s.io/v1beta2"
ZONE = "topology.kubernetes.io/zone"
number = iter(range(1, 1000))

def meta(name, ns=None, **more):
    n = next(number)
    m = {"name": name, "uid": f"uid-{n}", "resourceVersion": str(n)}
    return m | {"creationTimestamp": f"2026-01-01T00:00:{n % 60:02}Z"} | ({"namespace": ns} if ns else {}) | more

def node(name, cpu="4", memory="8Gi", ready="True", labels={}, spec={}, **more):
    return {"metadata": meta(name, labels=labels), "spec": spec, "status": {
        "allocatable": {"cpu": cpu, "memory": memory, "pods": "10", **more},
        "conditions": [{"type": "Ready", "status": ready}]}}

def pod(name, node, cpu="1", memory="1Gi", ns="default"):
    return {"metadata": meta(name, ns), "status": {"phase": "Running"}, "spec": {"nodeName": node, "containers": [
        {"name": "main", "resources": {"requests": {"cpu": cpu, "memory": memory}}}]}}

JOBSPEC = """
version: 9999
resources:
- type: slot
  count: 1
  label: default
  with:
  - {type: core, count: 1}
  - {type: memory, count: 512}
tasks: [{command: [sleep], slot: default, count: {per_slot: 1}}]
attributes: {system: {duration: 0}}
"""

def fluxjob(name, state="Waiting", ns="default", spec={}, **status):
    return {"metadata": meta(name + "-pod", ns), "spec": {"type": 0, "name": name, "jobspec": JOBSPEC, **spec},
            "status": {"state": state, "pods": {"expected": 1, "bound": 0}, **status}}

def running(name, node, jobid, **more):
    return fluxjob(name, "Running", jobid=jobid, nodes=[{"name": node, "pods": 1}], nodeList=node, reason="Allocated",
                   startedAt="2026-01-01T00:00:00Z", selection="immediate", **more)

def workload(name, queue, ns="default", priority=0, conditions=(), **spec):
    return {"metadata": meta(name, ns, ownerReferences=[{"kind": "Job", "name": "j-" + name, "controller": True}]),
            "spec": {"queueName": queue, "priority": priority, "podSets": [{"count": 2}, {"count": 1}], **spec},
            "status": {"conditions": [dict(zip(("type", "status", "reason", "message"), c)) for c in conditions]}}

def localqueue(name, cluster_queue, ns="default"):
    return {"metadata": meta(name, ns), "spec": {"clusterQueue": cluster_queue}}

def configured(text):
    path = "/api/v1/namespaces/kueue-system/configmaps/kueue-manager-config"
    a[path] = {"data": {"controller_manager_config.yaml": text}}

a = {p: [] for p in ("/api/v1/nodes", "/api/v1/pods", "/apis/apps/v1/deployments", "/apis/apps/v1/replicasets",
     "/apis/apps/v1/statefulsets", "/apis/batch/v1/jobs", "/apis/scheduling.k8s.io/v1/priorityclasses",
     "/api/v1/limitranges", "/apis/node.k8s.io/v1/runtimeclasses", FLUX + "/fluxjobs",
     KUEUE + "/workloads", KUEUE + "/localqueues")}
for line in sys.argv[1:]:
    exec(line)
print(json.dumps(a))
PYTHON
    # The file keeps its standard input open for as long as the test runs.
    coproc SERVER { setpriv --pdeathsig KILL "$here/apiserver" objects.json; }
    trap end_all EXIT
    local port
    read -r port <&"${SERVER[0]}" || fail 'no API server'
    kubeconfig "$port"
}
lacks() { case $out in *"$1"*) fail "not expected on standard output: $1" ;; esac; }
# Nothing but reading.
reads_only() { ! grep -v '^GET ' requests || fail 'something was written'; }

# ---- the command line ----

test_cluster_help() {
    sluice graph --help
    exits 0 && quiet && says 'sluice graph [--jobs]' && says '-o, --output=FORMAT' && says 'docs/queue-commands.md'
    sluice queue --help
    exits 0 && quiet && says '-n, --namespace=NAME' && says 'kubectl-sluice'
    sluice completion bash
    says 'tree table json jgf dot' && says 'fluxjobs workloads'
    for verb in graph queue; do
        for width in 60 80 96; do
            COLUMNS=$width sluice $verb --help
            while IFS= read -r line; do
                case $line in
                '  sluice'* | '  ln -s'* | *'['* | *'docs/'* | *topology.kubernetes.io*) ;; # copied whole
                *) [ ${#line} -le "$width" ] || fail "longer than $width: $line" ;;
                esac
            done <out
        done
    done
}
test_cluster_misuse() {
    kubeconfig 1
    # words expected, then the command line
    while read -r words line; do
        # shellcheck disable=SC2086 # words of a command line
        sluice $line
        exits 2 && complains "${words//_/ }" && complains "try 'sluice ${line%% *} --help'"
    done <<LINES
one_of_tree,_table,_json,_jgf,_dot graph -o yaml
one_of_table,_json queue --output=dot
expected_TYPE=LABEL graph --level=rack
expected_TYPE=LABEL graph --level==a/b
expected_TYPE=LABEL graph --level=Rack=a/b
expected_TYPE=LABEL graph --level=rack=a/b/c
expected_TYPE=LABEL graph --level=rack=a/b,pod
expected_TYPE=LABEL graph --level=node=a/b
expected_TYPE=LABEL graph --level=pods=a/b
expected_TYPE=LABEL graph --level=slot=a/b
expected_TYPE=LABEL graph --level=or_slot=a/b
is_there_twice graph --level=rack=a/b,rack=a/c
is_there_twice graph --level=rack=a/b,row=a/b
more_than_8 graph --level=a=a,b=b,c=c,d=d,e=e,f=f,g=g,h=h,i=i
expected_names graph --resource=
expected_names graph --resource=,
expected_names graph --resource=cpu,
expected_names graph --resource=cpu,,memory
unexpected_argument graph nodes
--timeout graph --timeout=0s
did_you_mean_--namespace? queue --namespac=a
--namespace:_expected_a_name queue -n a/b
one_of_fluxjobs,_workloads queue --kind=pods
LINES
}
test_cluster_as_a_plugin() {
    ln -s "$SL_PROGRAM" kubectl-sluice
    SL_PROGRAM=$PWD/kubectl-sluice sluice graph --help
    exits 0 && says 'kubectl sluice graph [--jobs]'
    SL_PROGRAM=$PWD/kubectl-sluice sluice --help
    exits 0 && says 'kubectl sluice COMMAND [options]' && says "'kubectl sluice COMMAND --help'"
    SL_PROGRAM=$PWD/kubectl-sluice sluice queue --elephant
    exits 2 && complains "'kubectl sluice queue --help' lists them"
    SL_PROGRAM=$PWD/kubectl-sluice sluice completion bash
    exits 0 && says 'bash completion for sluice' && lacks 'kubectl sluice'
}

# ---- errors ----

test_cluster_no_kubeconfig() {
    for verb in graph queue; do
        sluice $verb
        exits 3 && complains kubeconfig
        sluice $verb --kubeconfig=nowhere
        exits 3 && complains nowhere
        kubeconfig 1
        sluice $verb --context=elephant
        exits 3 && complains elephant
        unset KUBECONFIG
    done
}
test_cluster_nobody_there() {
    kubeconfig 1
    for verb in graph queue; do
        sluice $verb
        exits 4 && complains 'http://127.0.0.1:1: list: no answer' && same "$out" ''
    done
}
test_cluster_not_in_time() {
    api 'a["/api/v1/nodes"] = a[KUEUE + "/workloads"] = "silent"'
    sluice graph --timeout=2s
    exits 4 && complains 'not read within 2s (--timeout), 9 of 10 lists are in'
    sluice queue --timeout=2s
    exits 4 && complains 'not read within 2s (--timeout), 2 of 3 lists are in'
}
test_cluster_who_are_you() {
    api 'for p in list(a): a[p] = 401'
    for verb in graph queue; do
        sluice $verb
        exits 4 && complains 'does not accept these credentials' && complains '401: Unauthorized'
    done
}
test_cluster_no_rights() {
    api 'a["/api/v1/pods"] = a[KUEUE + "/workloads"] = 403'
    sluice graph
    exits 4 && complains 'no right to list pods: list: 403: pods is forbidden: User "ann" cannot list'
    sluice queue
    exits 4 && complains 'no right to list workloads'
    sluice queue --kind=fluxjobs
    exits 0 && quiet
}
test_cluster_errors_are_retried() {
    api 'a["/api/v1/nodes"] = 500'
    sluice graph --timeout=2s
    exits 4 && complains 'not read within 2s' && complains '500: internal error'
}
test_cluster_not_installed() {
    api 'a["/api/v1/nodes"] = [node("n0")]' 'del a[FLUX + "/fluxjobs"]'
    sluice graph
    exits 0 && says n0 && complains 'no FluxJobs' && complains 'kubectl apply --server-side -f deploy/manifests.yaml'
    sluice queue
    exits 0 && says 'no Workload waits' && complains 'no FluxJobs'
    sluice queue -o json
    exits 0 && holds 'd["fluxJobs"] == {"served": False, "items": []} and d["workloads"]["served"]'
    sluice queue --kind=fluxjobs
    exits 4 && complains 'has no queues of this kind' && complains deploy/manifests.yaml
}

# ---- graph ----

cluster='a["/api/v1/nodes"] = [node("n0", labels={ZONE: "eu-1", "example.com/rack": "r0"}),
    node("n1", "8", labels={ZONE: "eu-1", "example.com/rack": "r1"}, **{"nvidia.com/gpu": "2"}),
    node("n2", labels={ZONE: "eu-2"}, ready="Unknown"),
    node("n3", "1500m", spec={"unschedulable": True})]
a["/api/v1/pods"] = [pod("system", "n0", "250m", "512Mi"), pod("system-1", "n1", "500m"), pod("gone", "nowhere")]
a[FLUX + "/fluxjobs"] = [running("train", "n1", 7), fluxjob("next", jobid=8, queuePosition=1)]'

test_graph_table() {
    api "$cluster"
    sluice graph
    exits 0 && quiet && reads_only
    [[ $out =~ ^TYPE\ +NAME\ +IN\ +STATUS\ +RESOURCE\ +FREE\ +JOBS\ +OTHERS\ +TOTAL ]] || fail 'no such table'
    # Of n2, which is down, and n3, which is cordoned, nothing is free.
    [[ $out =~ cluster0\ +-\ +4\ nodes,\ 1\ down,\ 1\ cordoned\ +cpu\ +10.25\ +1\ +0.75\ +17.5 ]] || fail 'no cluster'
    [[ $out =~ subnet\ +eu-1\ +-\ +2\ nodes\ +cpu\ +10.25\ +1\ +0.75\ +12 ]] || fail 'no eu-1'
    [[ $out =~ node\ +n0\ +eu-1\ +up\ +cpu\ +3.75\ +0\ +0.25\ +4 ]] || fail 'no n0'
    [[ $out =~ node\ +n1\ +eu-1\ +up\ +memory\ +6.5Gi\ +512Mi\ +1Gi\ +8Gi ]] || fail 'no memory of n1'
    [[ $out =~ node\ +n1\ +eu-1\ +up\ +nvidia.com/gpu\ +2\ +0\ +0\ +2 ]] || fail 'no gpu'
    [[ $out =~ node\ +n2\ +eu-2\ +down\ +cpu\ +0\ +0\ +0\ +4 ]] || fail 'no n2'
    [[ $out =~ node\ +n3\ +-\ +up,\ cordoned\ +cpu\ +0\ +0\ +0\ +1.5 ]] || fail 'no n3'
    # As many words from the right in each row.
    sluice graph --jobs --resource=cpu
    [[ $out =~ job\ +default/train-pod\ +n1\ +1\ pod\ +cpu\ +-\ +1\ +-\ +- ]] || fail 'no job'
    same "$(awk 'NR > 1 && $1 == "node" { print $(NF - 3) }' <<<"$out" | xargs)" '3.75 6.5 0 0'
    sluice graph --resource=memory,pods
    exits 0 && lacks ' cpu '
    says ' pods ' && says ' memory '
    sluice graph --resource=memory,nope,cpu
    exits 0 && complains "no node has 'nope'" && says ' cpu ' && says ' memory '
    sluice graph --resource=nope
    exits 4 && complains "no node has 'nope'" && same "$out" ''
    COLUMNS=70 sluice graph
    exits 0 && fits 70
}
test_graph_tree() {
    api "$cluster"
    sluice graph -o tree --jobs --resource=cpu,nvidia.com/gpu
    exits 0 && quiet
    says '├─ subnet eu-1' && says '│  ├─ n0' && says '│  └─ n1' && says '│     └─ default/train-pod'
    says '└─ n3'
    [[ $out =~ default/train-pod\ +1\ pod\ +cpu\ +1 ]] || fail 'no job'
    LC_ALL=C sluice graph -o tree --level=rack=example.com/rack --resource=cpu
    exits 0 && says '|- rack r0' && says '|  `- n0' && says '`- n3'
}
test_graph_json() {
    api "$cluster"
    sluice graph -o json --jobs
    exits 0 && quiet
    holds 'd["fluxJobsServed"] and d["graph"]["nodes"] == {"total": 4, "down": 1, "cordoned": 1}'
    holds 'd["graph"]["resources"]["cpu"] == {"free": "10250m", "jobs": "1", "others": "750m",
        "unavailable": "5500m", "total": "17500m"}'
    holds '[(c["type"], c["name"]) for c in d["graph"]["children"]] == [
        ("subnet", "eu-1"), ("subnet", "eu-2"), ("node", "n3")]'
    holds '[(j["name"], j["object"], j["resources"]) for j in d["graph"]["children"][0]["children"][1]["jobs"]] == [
        ("train-pod", {"kind": "Pod", "name": "train"}, {"cpu": "1", "memory": "512Mi", "pods": "1"})]'
    holds 'd["graph"]["children"][1]["children"][0]["up"] == False and d["graph"]["children"][2]["cordoned"]'
    holds 'd["graph"]["children"][2]["taints"] == ["node.kubernetes.io/unschedulable=:NoSchedule"]'
}
# Levels are those of the manager's configuration unless the command line names some.
test_graph_levels() {
    api "$cluster" 'configured("fluxqueue: {levels: [{type: row, nodeLabel: example.com/rack}]}")'
    sluice graph --resource=cpu
    exits 0 && says 'row   ' && lacks subnet
    sluice graph --resource=cpu --level=zone=topology.kubernetes.io/zone,rack=example.com/rack
    [[ $out =~ node\ +n1\ +eu-1/r1\ +up ]] || fail 'not two levels'
}
# What a job has is shown, also if its jobspec names a level that is not known here.
test_graph_unknown_level() {
    api "$cluster" 'a[FLUX + "/fluxjobs"] = [running("train", "n1", 7, spec={"jobspec": """
version: 9999
resources:
- {type: rack, count: 1, with: [{type: slot, count: 1, label: default, with: [{type: core, count: 3}]}]}
tasks: [{command: [sleep], slot: default, count: {per_slot: 1}}]
attributes: {}
"""})]'
    sluice graph --resource=cpu
    exits 0 && quiet
    [[ $out =~ node\ +n1\ +eu-1\ +up\ +cpu\ +4.5\ +3\ +0.5\ +8 ]] || fail 'the job has nothing'
}
test_graph_broken_configuration() {
    api "$cluster" 'configured("fluxqueue: [")'
    sluice graph --resource=cpu
    exits 0 && complains 'levels of the configuration not read' && says subnet
}
test_graph_for_other_programs() {
    api "$cluster"
    sluice graph -o dot --jobs
    exits 0 && quiet && says 'digraph G {' && says 'node n1\nup\ncpu: 6.5 of 8 free' && says 'subnet eu-1\n2 nodes'
    ! command -v dot >/dev/null || dot -Tsvg out >/dev/null || fail 'Graphviz cannot read it'
    sluice graph -o jgf
    exits 0 && quiet
    holds '{n["metadata"]["type"] for n in d["graph"]["nodes"]} >= {"cluster", "subnet", "node", "core"}'
    cp out graph.json
    echo quit | "$SL_PROGRAM" match -f jgf -L graph.json >out 2>err || fail 'sluice match cannot read it'
}
test_graph_of_nothing() {
    api
    sluice graph
    exits 0 && complains 'the cluster has no nodes' && same "$out" ''
    sluice graph -o json
    exits 0 && holds 'd["graph"] is None'
}
# A terminal would obey what is in such names.
test_cluster_strange_names() {
    api 'a["/api/v1/nodes"] = [node("\033[31mn0", **{"a\u009b7m": "1"})]' 'a["/api/v1/pods"] = 500' \
        'a[FLUX + "/fluxjobs"] = [fluxjob("\007bell", message="\033[2J", reason="\u009b1m", queue="q\033")]'
    sluice queue
    exits 0 && says '?bell' && says '?[2J'
    cat err >>out
    sluice graph --timeout=2s
    sluice graph -o tree --timeout=2s
    ! grep -q "$(printf '\033\\|\007\\|\302\233')" out err || fail 'bytes that a terminal obeys'
}

# ---- queue ----

jobs='a[FLUX + "/fluxjobs"] = [
    fluxjob("second", jobid=3, queuePosition=2, reason="Submitted", message="Waits in the queue"),
    fluxjob("first", "Reserved", jobid=2, queuePosition=1, reason="Reserved", reservation=True,
            estimatedStart="2126-01-01T00:00:00Z"),
    running("train", "n1", 1), fluxjob("old", "Completed"), fluxjob("gone", "Cancelled"), fluxjob("bad", "Failed"),
    fluxjob("never", "Rejected", jobid=9, reason="Unsatisfiable"),
    fluxjob("big", queue="large", ns="hpc", queuePosition=1, jobid=5)]'
workloads='a[KUEUE + "/localqueues"] = [localqueue("main", "team"), localqueue("main", "other", "hpc")]
a[KUEUE + "/workloads"] = [workload("low", "main"), workload("high", "main", priority=5, conditions=[
    ("QuotaReserved", "False", "Pending", "insufficient quota")]),
    workload("done", "main", conditions=[("Finished", "True", "", "")]),
    workload("runs", "main", conditions=[("QuotaReserved", "True", "", ""), ("Admitted", "True", "", "")]),
    workload("checked", "main", conditions=[("QuotaReserved", "True", "QuotaReserved", "")]),
    workload("off", "main", active=False), workload("lost", "nowhere"), workload("far", "main", "hpc")]'

test_queue_of_fluxjobs() {
    api "$jobs"
    sluice queue --kind=fluxjobs
    exits 0 && quiet && reads_only
    same "$(awk 'NR > 2 {print $1, $2, $3}' out)" "default - Running
default 1 Reserved
default 2 Waiting
default - Rejected
large 1 Waiting"
    [[ $out =~ Running\ +0/1\ +n1\ +.*ago\ +.*default/train-pod\ +Pod\ train\ +Allocated ]] || fail 'no train'
    [[ $out =~ Reserved\ +1\ +-\ +in\ [0-9]+d ]] || fail 'no start'
    [[ $out =~ default/second-pod\ +Pod\ second\ +Submitted:\ Waits ]] || fail 'no reason'
    COLUMNS=60 sluice queue --kind=fluxjobs
    exits 0 && fits 60
    sluice queue --kind=fluxjobs --queue=large
    exits 0 && says 'hpc/big-pod' && lacks train
    sluice queue -o json
    exits 0
    holds '[j["name"] for j in d["fluxJobs"]["items"]] == [
        "train-pod", "first-pod", "second-pod", "never-pod", "big-pod"]'
    holds '(lambda j: j["estimatedStart"] == "2126-01-01T00:00:00Z" and j["reservation"])(d["fluxJobs"]["items"][1])'
    holds 'd["fluxJobs"]["items"][0]["nodes"] == "n1" and d["fluxJobs"]["items"][0]["jobid"] == 1'
}
test_queue_of_workloads() {
    api "$workloads"
    sluice queue --kind=workloads
    exits 0 && quiet && reads_only
    same "$(awk 'NR > 2 {print $1, $2, $3, $8}' out | sed 's/ *$//')" "- ~1 Pending default/lost
other ~1 Pending hpc/far
team - QuotaReserved default/checked
team ~1 Pending default/high
team ~2 Pending default/low
team - Inactive default/off"
    says 'Pending: insufficient quota' && says 'Job j-high'
    sluice queue --kind=workloads -q main -o json
    exits 0
    holds '[(w["name"], w.get("position"), w["pods"]) for w in d["workloads"]["items"]] == [
        ("far", 1, 3), ("checked", None, 3), ("high", 1, 3), ("low", 2, 3), ("off", None, 3)]'
    holds 'd["workloads"]["items"][0]["positionGuessed"]'
}
# The order is the manager's, where it says so.
test_queue_order_of_the_manager() {
    api "$workloads" 'def seen(name, position, **more):
    return {"metadata": {"name": name, "namespace": "default"}, "positionInClusterQueue": position, **more}
a[VISIBILITY + "/clusterqueues/team/pendingworkloads"] = {"items": [seen("low", 0, reason="Pending",
    message="backs off", expectedStartTime="2126-01-01T00:00:00Z"), seen("high", 1), seen("elephant", 2)]}
a[VISIBILITY + "/clusterqueues/other/pendingworkloads"] = 403'
    sluice queue -q team
    exits 0 && quiet
    same "$(awk '/^team/ {print $2, $8 $9}' out | sed -n 2,3p | cut -d" " -f1)" "1
2"
    says 'Pending: backs off' && says 'in 3'
    sluice queue -o json
    holds '[(w["name"], w["position"], w["positionGuessed"]) for w in d["workloads"]["items"] if "position" in w] == [
        ("lost", 1, True), ("far", 1, True), ("low", 1, False), ("high", 2, False)]'
}
# A right in the namespace is enough, and only that one is read.
test_queue_of_a_namespace() {
    api "$jobs" "$workloads" 'n = "/namespaces/hpc/"
for g, p in ((FLUX, "fluxjobs"), (KUEUE, "workloads"), (KUEUE, "localqueues")):
    a[g + n + p] = [o for o in a[g + "/" + p] if o["metadata"]["namespace"] == "hpc"]
    a[g + "/" + p] = 403
a[VISIBILITY + n + "localqueues/main/pendingworkloads"] = {"items": [{"metadata": {"name": "far", "namespace": "hpc"},
    "positionInClusterQueue": 41}]}'
    sluice queue -n hpc -o json
    exits 0 && quiet && reads_only
    holds '[j["name"] for j in d["fluxJobs"]["items"]] == ["big-pod"]'
    holds '[(w["name"], w["position"], w["clusterQueue"]) for w in d["workloads"]["items"]] == [("far", 42, "other")]'
    sluice queue --all-namespaces
    exits 4 && complains 'no right to list'
    sluice queue -n hpc -A # as kubectl has it
    exits 4 && complains 'no right to list'
}
test_queue_of_nobody() {
    api
    sluice queue
    exits 0 && quiet && says 'no FluxJob waits or runs' && says 'no Workload waits'
}
test_queue_watch() {
    api "$jobs" 'a["watch " + FLUX + "/fluxjobs"] = [{"type": "ADDED", "object": fluxjob("late", queuePosition=3)}]'
    "$SL_PROGRAM" queue --watch --kind=fluxjobs -o json >out 2>err </dev/null &
    local pid=$!
    for _ in $(seq 100); do
        grep -q late out && break
        sleep 0.1
    done
    kill -INT $pid
    wait $pid
    code=$? out=$(cat out) err=$(cat err)
    exits 0 && quiet && says late-pod
    same "$(wc -l <out)" 2
    timeout 20 "$SL_PROGRAM" queue --watch --kind=fluxjobs 2>err | head -n 1 >first
    same "$(cat first)" FluxJobs
}

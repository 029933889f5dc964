# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # tests/cmd/cli/run has the other ends of $out, $err, $code, $load
# Input that is wrong: each says the file, the line and what was expected, and none is survived by luck.

# bad WORDS... <<YAML: the load is refused with exit 3 and all of these words
bad() {
    cat >bad.yaml
    sluice sim bad.yaml
    exits 3
    [ -z "$out" ] || fail 'expected no report'
    case $err in *Sanitizer* | *assert*) fail 'it crashed' ;; esac
    for words; do complains "$words"; done
}
flavors='[{name: f, resources: [{name: cpu, nominalQuota: 4}]}]'
queue="{name: q, spec: {resourceGroups: [{coveredResources: [cpu], flavors: $flavors}]}}"

test_missing_file() {
    sluice sim nowhere.yaml
    exits 3 && complains nowhere.yaml && complains 'No such file'
    sluice sim nowhere.scenario
    exits 3 && complains nowhere.scenario
    mkdir folder
    sluice sim folder
    [ "$code" -ge 3 ] || fail 'a folder is no file'
}
test_empty_file() { bad bad.yaml </dev/null; }
test_not_yaml() { printf 'a: [1, 2\nb: }\n' | bad 'bad.yaml:'; }
test_binary_garbage() { head -c 4096 /dev/urandom | bad bad.yaml; }
test_not_a_map() { printf -- '- 1\n- 2\n' | bad 'bad.yaml:1'; }
test_two_documents() { printf 'a: 1\n---\nb: 2\n' | bad 'one document'; }
test_no_workloads() { printf 'description: nothing\n' | bad 'no workloads'; }
test_unknown_key() {
    printf 'queues: [%s]\nclases: []\n' "$queue" | bad 'bad.yaml:2' 'unknown field "clases"' 'did you mean "classes"'
}
test_unknown_key_in_a_class() {
    printf 'queues: [%s]\nclasses:\n- {name: a, runtme: 1s, request: {cpu: 1}}\n' "$queue" |
        bad 'bad.yaml:3' 'unknown field "runtme"' 'did you mean "runtime"'
}
test_wrong_types() {
    printf 'queues: 7\n' | bad 'bad.yaml:1' 'queues' 'list'
    printf 'queues: [%s]\nclasses: [{name: a, runtime: 1s, request: 3}]\n' "$queue" | bad 'bad.yaml:2' request
    printf '%s\n' "queues: [$queue]" 'classes: [{name: a, runtime: fast, request: {cpu: 1}}]' |
        bad 'bad.yaml:2' runtime duration
    printf '%s\n' "queues: [$queue]" 'classes: [{name: a, count: many, runtime: 1s, request: {cpu: 1}}]' |
        bad 'bad.yaml:2' count
    printf 'queues: [%s]\nclasses: [{name: a, runtime: 1s, request: {cpu: lots}}]\n' "$queue" | bad 'bad.yaml:2' lots
}
test_negative_numbers() {
    printf '%s\n' "queues: [$queue]" 'classes: [{name: a, count: -1, runtime: 1s, request: {cpu: 1}}]' |
        bad 'bad.yaml:2' count
    printf 'queues: [%s]\nclasses: [{name: a, runtime: -1s, request: {cpu: 1}}]\n' "$queue" | bad 'bad.yaml:2' runtime
    printf '%s\n' "queues: [$queue]" 'classes: [{name: a, interval: -1s, runtime: 1s, request: {cpu: 1}}]' |
        bad 'bad.yaml:2' interval
    printf '%s\n' "queues: [$queue]" 'classes: [{name: a, pods: -2, runtime: 1s, request: {cpu: 1}}]' |
        bad 'bad.yaml:2' pods
    printf '%s\n' 'evictionDelay: -1s' "queues: [$queue]" 'classes: [{name: a, runtime: 1s, request: {cpu: 1}}]' |
        bad 'evictionDelay'
}
test_missing_parts() {
    printf 'queues: [%s]\nclasses: [{name: a, request: {cpu: 1}}]\n' "$queue" | bad 'bad.yaml:2' runtime
    printf 'queues: [%s]\nclasses: [{name: a, runtime: 1s}]\n' "$queue" | bad 'bad.yaml:2' request
    printf 'queues: [%s]\nclasses: [{runtime: 1s, request: {cpu: 1}}]\n' "$queue" | bad 'bad.yaml:2' name
    printf 'queues: [{name: q}]\nclasses: [{name: a, runtime: 1s, request: {cpu: 1}}]\n' | bad 'bad.yaml:1' spec
}
test_bad_names() {
    printf '%s\n' 'queues: [{name: "Big Queue", spec: {}}]' 'classes: [{name: a, runtime: 1s, request: {cpu: 1}}]' |
        bad 'bad.yaml:1' 'Big Queue'
    printf '%s\n' "queues: [$queue]" 'classes: [{name: "../x", runtime: 1s, request: {cpu: 1}}]' |
        bad 'bad.yaml:2' '../x'
    printf '%s\n' "queues: [$queue, $queue]" 'classes: [{name: a, runtime: 1s, request: {cpu: 1}}]' |
        bad 'two queues'
}
test_bad_queue_settings() {
    printf '%s\n' 'queues:' '- name: q' '  spec:' '    queueingStrategy: Fastest' \
        'classes: [{name: a, runtime: 1s, request: {cpu: 1}}]' |
        bad 'bad.yaml:4' Fastest BestEffortFIFO
    printf '%s\n' 'queues:' '- name: q' '  spec:' '    preemption: {withinClusterQueue: Always}' \
        'classes: [{name: a, runtime: 1s, request: {cpu: 1}}]' |
        bad 'bad.yaml:4' Always LowerPriority
}
test_too_much() {
    printf '%s\n' "queues: [$queue]" 'classes: [{name: a, count: 1000000000000, runtime: 1s, request: {cpu: 1}}]' |
        bad 'bad.yaml:2' 'at most'
    printf '%s\n' "queues: [$queue]" \
        'classes: [{name: a, count: 99999999999999999999999, runtime: 1s, request: {cpu: 1}}]' |
        bad 'bad.yaml:2' count
    printf '%s\n' 'queues: [{name: q, count: 1000, spec: {}}]' \
        'classes: [{name: a, count: 4000000, runtime: 1s, request: {cpu: 1}}]' |
        bad 'workloads in all'
    printf '%s\n' 'cohorts: [{name: c, count: 100000, queues: [{name: q, count: 100000, spec: {}}]}]' \
        'classes: [{name: a, runtime: 1s, request: {cpu: 1}}]' |
        bad 'queues'
    printf '%s\n' "queues: [$queue]" \
        'classes: [{name: a, count: 5000000, interval: 2000000h, runtime: 1s, request: {cpu: 1}}]' |
        bad 'beyond all time'
}
test_deep_nesting() {
    python3 -c 'print("a: " + "["*2000 + "]"*2000)' | bad 'bad.yaml:1'
    # a bomb of aliases
    python3 - <<'PY' | bad bad.yaml
print("a0: &a0 [x,x,x,x,x,x,x,x,x,x]")
for i in range(1, 12):
    print(f"a{i}: &a{i} [" + ",".join([f"*a{i-1}"] * 10) + "]")
PY
}
test_topology_is_refused() {
    printf '%s\n' 'cohorts:' '- className: c' '  queuesSets:' '  - className: q' '    nominalQuota: 1' \
        '    workloadsSets:' '    - workloads:' '      - {className: a, request: 1, tasLevel: rack}' |
        bad 'bad.yaml:8' topology
}
test_queue_that_does_not_exist() {
    printf '%s\n' 'workloads:' '- queue: a/b' '  workloads: [{class: a, runtime: 1s, request: {cpu: 1}}]' |
        bad 'bad.yaml:2' 'a/b'
    printf '%s\n' 'workloads:' '- queue: ab' '  workloads: [{class: a, runtime: 1s, request: {cpu: 1}}]' |
        bad 'bad.yaml:2' 'namespace/name'
}
# No quota is a result and not a mistake: the report says who waits, and why.
test_zero_capacity() {
    printf '%s\n' "queues: [${queue/nominalQuota: 4/nominalQuota: 0}]" \
        'classes: [{name: a, count: 3, runtime: 1s, request: {cpu: 1}}]' >zero.yaml
    sluice sim zero.yaml
    exits 0 && says '3 workloads are still waiting' && says 'q/a-0'
    sluice sim --json --chart --svg=x.svg zero.yaml
    exits 0
    holds 'd["pending"] == 3 and d["finished"] == 0 and d["work_bound_s"] is None and len(d["stuck"]) == 1'
}
test_huge_numbers() {
    printf '%s\n' "queues: [${queue/nominalQuota: 4/nominalQuota: 1000000000Ti}]" \
        'classes: [{name: a, count: 3, runtime: 1s, request: {cpu: 100E}}]' >huge.yaml
    sluice sim --json --chart --svg=x.svg huge.yaml
    exits 0
    case $err in *Sanitizer*) fail 'it crashed' ;; esac
    printf '%s\n' "queues: [$queue]" \
        'classes: [{name: a, count: 2, start: 300000h, runtime: 2000000h, request: {cpu: 1}}]' >long.yaml
    sluice sim --json long.yaml
    exits 0 && holds 'd["running"] == 2' # beyond the end of all time
}
test_nothing_takes_any_time() {
    printf '%s\n' "queues: [$queue]" \
        'classes: [{name: a, count: 100, interval: 0s, runtime: 0s, request: {cpu: 1}}]' >now.yaml
    sluice sim --json --chart --svg=x.svg now.yaml
    exits 0 && holds 'd["finished"] == 100 and d["makespan_s"] == 0'
}
test_bad_scenario() {
    printf 'scenario x\n  elephant\n' >bad.scenario
    sluice sim bad.scenario
    exits 3 && complains 'bad.scenario:'
}

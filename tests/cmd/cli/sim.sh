# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # tests/cmd/cli/run has the other ends of $out, $err, $code, $load
# Simulations of loads: what is promised about them, and what pictures look like.

test_sample_report() {
    sluice sim --json "$load/sample.yaml"
    exits 0 && quiet
    holds 'd["finished"] == d["workloads"] and d["pending"] == 0'
    holds 'd["preemptions"] > 0'
    holds 'any(q["mean_borrowed"] > 0 for q in d["queues"])'
    holds 'd["makespan_s"] >= d["work_bound_s"] > 0'
    holds '0 < d["utilisation"] <= 1'
    sluice sim "$load/sample.yaml"
    exits 0 && says makespan && says 'work bound' && says physics && says 'MEAN WAIT'
}
test_json_keys() {
    sluice sim --json "$load/sample.yaml"
    for key in makespan_s work_bound_s cpu_s classes preemptions digest utilisation decisions_per_s; do
        holds "'$key' in d"
    done
    holds 'all(k in c for c in d["classes"] for k in
        ("name", "mean_wait_s", "p50_wait_s", "p99_wait_s", "max_wait_s", "mean_first_wait_s"))'
    holds 'isinstance(d["digest"], str) and len(d["digest"]) == 16 and int(d["digest"], 16) >= 0'
    [ "$(wc -l <out)" -eq 1 ] || fail 'expected one line'
}
# The figures promised for Kueue's own performance tests.
test_baseline_target() {
    sluice sim --json "$load/baseline.yaml"
    exits 0
    echo "digest sim-baseline $(field '["digest"]')"
    holds 'd["workloads"] == d["finished"] == 15000 and len(d["queues"]) == 30'
    holds 'd["work_bound_s"] == 66'
    holds 'd["makespan_s"] <= 1.18 * d["work_bound_s"]'
    holds '[c for c in d["classes"] if c["name"] == "large"][0]["mean_wait_s"] < 0.1'
    sanitized || holds 'd["cpu_s"] < 2'
}
test_large_scale_target() {
    sluice sim --json "$load/large-scale.yaml"
    exits 0
    echo "digest sim-large-scale $(field '["digest"]')"
    holds 'd["workloads"] == d["finished"] == 50000 and len(d["queues"]) == 1000'
    holds 'd["work_bound_s"] == 4.025'
    holds 'd["makespan_s"] <= 1.17 * d["work_bound_s"]'
    sanitized || holds 'd["cpu_s"] < 2'
}
test_same_input_same_digest() {
    sluice sim --json "$load/sample.yaml"
    a=$(field '["digest"]')
    echo "digest sim-sample $a"
    sluice sim --json --chart --svg=x.svg "$load/sample.yaml"
    same "$(field '["digest"]')" "$a"
    sluice sim --json --journal=x.journal "$load/sample.yaml"
    same "$(field '["digest"]')" "$a"
}
test_engine_checks_itself() {
    sluice sim --check --json "$load/sample.yaml"
    exits 0
}
test_until_stops_the_clock() {
    sluice sim --json --until=3h "$load/sample.yaml"
    exits 0
    holds 'd["makespan_s"] <= 3 * 3600 and d["finished"] < d["workloads"] and d["running"] > 0'
}
test_several_files() {
    sluice sim --json "$load/sample.yaml" "$load/sample.yaml"
    exits 0
    [ "$(wc -l <out)" -eq 2 ] || fail 'expected a line for each file'
    sluice sim "$load/sample.yaml" "$load/sample.yaml"
    [ "$(grep -c makespan out)" -eq 2 ] || fail 'expected two reports'
}
test_load_from_standard_input() {
    "$SL_PROGRAM" sim --json - <"$load/sample.yaml" >out 2>err
    code=$? out=$(cat out) err=$(cat err)
    exits 0 && holds 'd["finished"] > 0'
}
test_chart() {
    COLUMNS=100 sluice sim --chart "$load/sample.yaml"
    exits 0 && says 'all queues' && says physics && says borrowed && says pending && says '█'
    COLUMNS=100 LC_ALL=C sluice sim --chart "$load/sample.yaml"
    exits 0
    ! grep -qP '[^\x00-\x7F]' out || fail 'more than ASCII in the C locale'
    fits 100
    COLUMNS=100 sluice sim --json --chart "$load/sample.yaml"
    holds 'd["finished"] > 0' && complains 'all queues'
}
test_svg_is_well_formed() {
    sluice sim --svg=x.svg "$load/baseline.yaml"
    exits 0
    python3 - <<'PY' || fail 'not a picture'
import xml.dom.minidom
d = xml.dom.minidom.parse("x.svg")
text = open("x.svg").read()
assert d.documentElement.tagName == "svg"
assert "http" not in text.replace("http://www.w3.org/2000/svg", "")  # self-contained
assert "nan" not in text and "inf" not in text.replace("information", "")
for word in ("cohort-0", "cohort-4", "used within the quota", "borrowed", "pending", " s</text>"):
    assert word in text, word
PY
}
test_svg_that_cannot_be_written() {
    sluice sim --svg=no/such/folder/x.svg "$load/sample.yaml"
    exits 4 && complains 'no/such/folder/x.svg' && complains 'No such file'
    [ -e /dev/full ] || skip 'no /dev/full here'
    sluice sim --svg=/dev/full "$load/sample.yaml"
    exits 4 && complains 'No space left'
}
test_kueue_generator_files_are_read() {
    cat >generator.yaml <<'YAML'
cohorts:
  - className: cohort
    count: 2
    queuesSets:
    - className: cq
      count: 3
      nominalQuota: 20
      borrowingLimit: 100
      reclaimWithinCohort: Any
      withinClusterQueue: LowerPriority
      workloadsSets:
      - count: 10
        creationIntervalMs: 100
        workloads:
        - className: small
          runtimeMs: 200
          priority: 50
          request: 1
        - className: big
          runtimeMs: 100
          priority: 100
          request: 5
YAML
    sluice sim --json generator.yaml
    exits 0
    holds 'd["workloads"] == d["finished"] == 120 and len(d["queues"]) == 6'
    holds 'd["queues"][0]["name"] == "cq-0-0-cohort-0"'
}
test_own_objects() {
    cat >own.yaml <<'YAML'
objects:
- apiVersion: kueue.x-k8s.io/v1beta2
  kind: ResourceFlavor
  metadata: {name: spot}
- apiVersion: kueue.x-k8s.io/v1beta2
  kind: ClusterQueue
  metadata: {name: gpu}
  spec:
    namespaceSelector: {}
    resourceGroups:
    - coveredResources: [cpu, nvidia.com/gpu]
      flavors:
      - name: spot
        resources:
        - {name: cpu, nominalQuota: 8}
        - {name: nvidia.com/gpu, nominalQuota: 2}
- apiVersion: kueue.x-k8s.io/v1beta2
  kind: LocalQueue
  metadata: {name: main, namespace: lab}
  spec: {clusterQueue: gpu}
workloads:
- queue: lab/main
  workloads:
  - class: train
    count: 5
    interval: 1s
    runtime: 10s
    podSets:
    - {name: driver, request: {cpu: 1}}
    - {name: workers, count: 2, request: {cpu: 1, nvidia.com/gpu: 1}}
YAML
    sluice sim --json own.yaml
    exits 0
    holds 'd["finished"] == 5 and d["makespan_s"] == 50 and d["work_bound_s"] == 50'
}
test_eviction_delay() {
    sed 's/^description.*/evictionDelay: 1m/' "$load/sample.yaml" >slow.yaml
    sluice sim --json slow.yaml
    exits 0 && holds 'd["finished"] == d["workloads"]'
}
test_scenarios() {
    sluice sim "$root"/tests/scenario/1-order.scenario
    [ "$code" -le 1 ] || fail 'a scenario of this project does not run'
    says 'passed' && says 'skipped'
}
test_earlier_names_of_scenarios() {
    printf '%s\n' 'story One job' 'queue a' '  quota default cpu=4' 'job w queue=a cpu=1' \
        'expect admitted w' >old.story
    sluice sim old.story
    exits 0 && says '1 passed, 0 failed, 0 skipped'
}

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # tests/cmd/cli/run has the other ends of $out, $err, $code, $load
# The journal: written, replayed, damaged, and replayed with other queues.

journal() {
    sluice sim --json --journal=run.journal "${1-$load/sample.yaml}"
    exits 0
    digest=$(field '["digest"]')
    cp out run.json
}

test_replay_ends_in_the_same_digest() {
    journal
    head -1 run.journal | grep -q sluice_journal || fail 'no header line'
    tail -1 run.journal | grep -q "$digest" || fail 'no closing line with the digest'
    python3 -c 'import json; [json.loads(line) for line in open("run.journal")]' || fail 'not JSON lines'
    sluice sim --json --replay=run.journal
    exits 0 && same "$(field '["digest"]')" "$digest"
    sluice sim --replay=run.journal
    exits 0 && says 'same decisions'
}
test_replay_measures_the_same() {
    journal
    sluice sim --json --replay=run.journal
    python3 - <<'PY' || fail 'the replay measured something else'
import json
a, b = json.load(open("run.json")), json.load(open("out"))
for key in ("makespan_s", "work_bound_s", "preemptions", "utilisation", "classes", "queues", "finished"):
    assert a[key] == b[key], (key, a[key], b[key])
PY
}
test_replay_of_the_baseline() {
    journal "$load/baseline.yaml"
    sluice sim --json --replay=run.journal
    exits 0 && same "$(field '["digest"]')" "$digest"
}
test_journal_of_a_replay_is_the_journal() {
    journal
    sluice sim --json --replay=run.journal --journal=again.journal
    exits 0
    # but for the header, which names its source
    [ "$(tail -n +2 run.journal | md5sum)" = "$(tail -n +2 again.journal | md5sum)" ] || fail 'they differ'
}
test_no_partial_file_is_left() {
    journal
    [ ! -e run.journal.partial ] || fail 'run.journal.partial is still there'
}
test_full_disk() {
    [ -e /dev/full ] || skip 'no /dev/full here'
    sluice sim --journal=/dev/full "$load/baseline.yaml"
    exits 4 && complains '/dev/full' && complains 'No space left'
}
# A limit on file sizes is a small disk.
test_small_disk() {
    (ulimit -f 64; trap '' XFSZ; "$SL_PROGRAM" sim --json --journal=run.journal "$load/baseline.yaml" >out 2>err)
    code=$? out=$(cat out) err=$(cat err)
    exits 4 && complains run.journal
    [ ! -e run.journal ] || fail 'a broken journal got its final name'
    [ -e run.journal.partial ] || fail 'what was written is not kept as .partial'
    sluice sim --replay=run.journal.partial
    exits 3 && complains 'run.journal.partial:'
}
test_folder_that_does_not_exist() {
    sluice sim --journal=no/such/run.journal "$load/sample.yaml"
    exits 4 && complains 'no/such/run.journal'
}
test_journal_that_does_not_exist() {
    sluice sim --replay=nowhere.journal
    exits 3 && complains nowhere.journal
}
test_truncated() {
    journal
    head -c 20000 run.journal >cut.journal # in the middle of a line
    sluice sim --replay=cut.journal
    exits 3 && complains 'cut.journal:'
    head -n 50 run.journal >cut.journal # at the end of one
    sluice sim --replay=cut.journal
    exits 3 && complains 'cut.journal:' && complains 'end'
    : >empty.journal
    sluice sim --replay=empty.journal
    exits 3 && complains 'empty.journal'
}
test_corrupt() {
    journal
    sed '20s/.*/{"what":1}/' run.journal >bad.journal
    sluice sim --replay=bad.journal
    exits 3 && complains 'bad.journal:20'
    sed '20s/$/ x/' run.journal >bad.journal
    sluice sim --replay=bad.journal
    exits 3 && complains 'bad.journal:20'
    sed '1s/"sluice_journal":1/"sluice_journal":99/' run.journal >bad.journal
    sluice sim --replay=bad.journal
    exits 3 && complains 'bad.journal:1' && complains '99'
    sluice sim --replay="$load/sample.yaml"
    exits 3 && complains 'sample.yaml:1'
    head -c 5000 /dev/urandom >bad.journal
    sluice sim --replay=bad.journal
    exits 3 && complains 'bad.journal:1'
    (cat run.journal; tail -1 run.journal) >bad.journal
    sluice sim --replay=bad.journal
    exits 3 && complains 'bad.journal:'
}
test_other_decisions_are_found() {
    journal
    # one workload never came: from there on the decisions differ
    python3 - <<'PY'
lines = open("run.journal").read().splitlines()
gone = next(i for i, line in enumerate(lines) if '"tag"' in line)
del lines[gone]
open("other.journal", "w").write("\n".join(lines) + "\n")
PY
    sluice sim --replay=other.journal
    [ "$code" -eq 1 ] || [ "$code" -eq 3 ] || fail 'not noticed'
    complains 'other.journal:'
}
test_tampered_digest_is_found() {
    journal
    python3 - <<'PY'
import re
lines = open("run.journal").read().splitlines()
i = next(i for i, line in enumerate(lines) if '"cycle"' in line)
lines[i] = re.sub(r'"digest":"[0-9a-f]{16}"', '"digest":"0123456789abcdef"', lines[i])
open("other.journal", "w").write("\n".join(lines) + "\n")
print(i + 1)
PY
    sluice sim --replay=other.journal
    exits 1 && complains 'other.journal:' && complains 'differ'
}
bigger='
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: biology}
spec:
  namespaceSelector: {}
  cohortName: institute
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: default
      resources:
      - {name: cpu, nominalQuota: 96}
      - {name: memory, nominalQuota: 1Ti}
'
test_what_if() {
    journal
    echo "$bigger" >change.yaml
    sluice sim --replay=run.journal --what-if=change.yaml
    exits 0 && says BEFORE && says AFTER && says CHANGE && says makespan && says 'class simulation' &&
        says 'queue physics'
    sluice sim --json --replay=run.journal --what-if=change.yaml
    exits 0
    holds 'd["before"]["digest"] == "'"$digest"'"'
    holds 'd["after"]["finished"] == d["before"]["finished"] == d["after"]["workloads"]'
    holds 'd["after"]["makespan_s"] <= d["before"]["makespan_s"]'
    holds 'd["after"]["preemptions"] < d["before"]["preemptions"]'
}
# Without a real change the second run decides as the first did.
test_what_if_nothing_changes() {
    journal
    printf 'apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: unused}\n' >change.yaml
    sluice sim --json --replay=run.journal --what-if=change.yaml
    exits 0
    holds 'd["before"]["digest"] == d["after"]["digest"]'
    holds 'd["before"]["makespan_s"] == d["after"]["makespan_s"] and d["before"]["classes"] == d["after"]["classes"]'
}
test_what_if_deletes() {
    journal
    cat >change.yaml <<'YAML'
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: biology, annotations: {sluice.dev/what-if: delete}}
YAML
    sluice sim --json --replay=run.journal --what-if=change.yaml
    exits 0
    holds 'd["after"]["finished"] < d["before"]["finished"]'
}
test_what_if_bad_change() {
    journal
    printf 'kind: Elephant\n' >change.yaml
    sluice sim --replay=run.journal --what-if=change.yaml
    exits 3 && complains 'change.yaml:'
    sluice sim --replay=run.journal --what-if=nowhere.yaml
    exits 3 && complains nowhere.yaml
    printf '%s\n' 'apiVersion: kueue.x-k8s.io/v1beta2' 'kind: Workload' 'metadata: {name: x, namespace: y}' \
        'spec: {queueName: z, podSets: []}' >change.yaml
    sluice sim --replay=run.journal --what-if=change.yaml
    exits 3 && complains 'change.yaml:'
}
# A scenario is a run like any other. Each of this project's becomes a file of its own.
test_scenario_journal() {
    sluice sim --journal=x.journal "$root"/tests/scenario/1-order.scenario
    exits 3 && complains 'holds one scenario'
    python3 - "$root"/tests/scenario/*.scenario <<'PY'
import re, sys
n = 0
for path in sys.argv[1:]:
    for part in re.split(r"(?m)^(?=scenario\b)", open(path).read())[1:]:
        n += 1
        if n % 10 == 0:
            open(f"s{n}.scenario", "w").write(part)
PY
    for scenario in s*.scenario; do
        sluice sim --journal=x.journal "$scenario"
        exits 0
        sluice sim --json --replay=x.journal
        exits 0
    done
}

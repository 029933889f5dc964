# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # tests/cmd/cli/run has the other ends of $out, $err, $code, $root
# Job traces: the table of policies, its JSON, and what is said about wrong options and files.

sample=$root/examples/trace/sample.swf

# job NUMBER SUBMIT RUN PROCESSORS LIMIT
job() { echo "$1 $2 -1 $3 -1 -1 -1 $4 $5 -1 1 -1 -1 -1 1 -1 -1 -1"; }
# The ten jobs that tests/cmd/sim/test_trace.c works out by hand.
ten() {
    echo '; MaxProcs: 4'
    job 1 0 10 2 10 && job 2 0 4 1 6 && job 3 1 5 3 5 && job 4 1 2 4 2 && job 5 2 20 1 20
    job 6 3 3 1 3 && job 7 5 4 2 8 && job 8 12 1 1 1 && job 9 16 4 3 6 && job 10 16 1 5 1
}

test_trace_sample() {
    sluice sim --json --policy=fcfs,easy,hybrid:4,conservative "$sample"
    exits 0 && quiet
    for i in 0 1 2 3; do
        echo "digest trace-$(field "[\"policies\"][$i][\"policy\"]") $(field "[\"policies\"][$i][\"digest\"]")"
    done
    holds 'd["jobs"] == 2000 and d["nodes"] == 64 and d["processors"] == 512 and d["killed"] > 0'
    holds '[p["policy"] for p in d["policies"]] == ["fcfs", "easy", "hybrid:4", "conservative"]'
    holds 'all(p["finished"] == 2000 and p["never"] == 0 for p in d["policies"])'
    holds 'all(0 < p["utilisation"] <= 1 and p["mean_bounded_slowdown"] >= 1 for p in d["policies"])'
    holds 'd["policies"][0]["backfilled"] == 0 and d["policies"][0]["reserved"] == 0'
    holds 'd["policies"][1]["backfilled"] > 0 and d["policies"][1]["late"] == 0'
    holds 'all(p["late"] == 0 for p in d["policies"])'
    # Backfilling is what it is for.
    holds 'all(p["mean_wait_s"] < d["policies"][0]["mean_wait_s"] for p in d["policies"][1:])'
}
test_trace_same_without_memory() {
    sluice sim --json --policy=easy "$sample"
    a=$(field '["policies"][0]["digest"]')
    sluice sim --json --policy=easy --node-memory=1Ti "$sample"
    same "$(field '["policies"][0]["digest"]')" "$a"
    sluice sim --json --policy=easy --node-memory=16Gi "$sample"
    holds 'd["policies"][0]["finished"] == 2000'
    [ "$(field '["policies"][0]["digest"]')" != "$a" ] || fail 'memory does not count'
}
test_trace_table() {
    ten >ten.swf
    sluice sim ten.swf
    exits 0 && quiet
    says '10 jobs on 4 nodes with 4 processors' && says '1 can never run on this machine'
    for word in POLICY MAKESPAN 'MEAN WAIT' SLOWDOWN BACKFILLED LATE fcfs easy conservative; do says "$word"; done
    sluice sim --json ten.swf
    holds '[p["makespan_s"] for p in d["policies"]] == [37, 28, 37]'
    holds '[p["backfilled"] for p in d["policies"]] == [0, 4, 2]'
    holds '[p["never"] for p in d["policies"]] == [1, 1, 1]'
    holds 'd["policies"][1]["mean_wait_s"] == 5.889 and d["policies"][1]["median_wait_s"] == 1'
    COLUMNS=60 sluice sim ten.swf
    exits 0 && fits 60
}
test_trace_tell() {
    ten >ten.swf
    sluice sim --policy=easy --tell ten.swf
    exits 0
    grep -v '^ ' out | head -7 >told
    cat >want <<'E2'
easy 0 start 1
easy 0 start 2
easy 1 reserve 3 at 10
easy 2 start 5 backfilled
easy 4 start 6 backfilled
easy 10 start 3
easy 10 reserve 4 at 22
E2
    cmp -s told want || fail "expected '$(cat want)', found '$(cat told)'"
    says 'easy 16 reject 10'
}
test_trace_until() {
    ten >ten.swf
    sluice sim --policy=fcfs --until=12s ten.swf
    exits 0 && says 'fcfs: 1 jobs run and 5 wait at the end'
    sluice sim --until=10ms ten.swf
    exits 2 && complains '--until=10ms: expected at least a second'
}
test_trace_pictures() {
    COLUMNS=100 sluice sim --chart --svg=x.svg "$sample"
    exits 0 && says conservative && says '(512 processors)' && says pending && fits 100
    python3 -c 'import xml.dom.minidom; assert xml.dom.minidom.parse("x.svg").documentElement.tagName == "svg"' ||
        fail 'not a picture'
    COLUMNS=100 sluice sim --json --chart --policy=easy "$sample"
    holds 'd["jobs"] == 2000' && complains easy
}
test_trace_several_files() {
    ten >a.swf
    ten >b.swf
    sluice sim --json a.swf b.swf
    exits 0
    [ "$(wc -l <out)" -eq 2 ] || fail 'expected a line for each file'
}
test_trace_queues() {
    ten | sed '/^5 /s/1 -1 -1 -1$/9 -1 -1 -1/' >two.swf
    sluice sim --policy=fcfs --tell two.swf
    exits 0 && says 'fcfs 2 start 5'
    sluice sim --policy=fcfs --tell --one-queue two.swf
    exits 0 && says 'fcfs 17 start 5'
}
test_trace_progress() {
    sluice sim --progress --policy=easy "$sample"
    exits 0 && complains simulating
}
test_trace_options() {
    ten >t.swf
    wrong() {
        expected=$1
        shift
        sluice sim "$@" t.swf
        exits 2 && complains "$expected" && complains "try 'sluice sim --help'"
        [ -z "$out" ] || fail 'expected no report'
    }
    wrong "policy 'sjf': expected fcfs, easy, hybrid, hybrid:N" --policy=fcfs,sjf
    wrong "policy 'easy' twice" --policy=easy,easy
    wrong '--match=best' --match=best
    wrong '--depth=0: expected a number from 1 to 1000000' --depth=0
    wrong '--resolution=0: expected a number from 1 to 86400' --resolution=0
    wrong '--nodes=-4: expected a number from 1 to 1000000' --nodes=-4
    wrong '--nodes=10x: expected' --nodes=10x
    wrong '--nodes=: expected' --nodes=
    wrong '--node-cpu=65537: expected a number from 1 to 65536' --node-cpu=65537
    wrong '--node-memory=lots' --node-memory=lots
    wrong '--node-memory=1: expected 1Mi to 1Pi' --node-memory=1
    wrong '--journal and --check cannot be used with traces' --check
    wrong '--tell and --json cannot be combined' --tell --json
    wrong 'traces cannot be mixed with other files' "$load/sample.yaml"
    sluice sim --nodes=4 "$load/sample.yaml"
    exits 2 && complains 'need a trace, a FILE that ends in .swf'
}
test_trace_files() {
    bad() {
        cat >bad.swf
        sluice sim bad.swf
        exits 3
        [ -z "$out" ] || fail 'expected no report'
        complains "$1"
    }
    sluice sim nowhere.swf
    exits 3 && complains 'nowhere.swf: No such file'
    bad 'bad.swf: no job that ran: expected lines of 18 numbers' </dev/null
    ten | sed 's/^5 2 -1 20/5 2 -1 long/' | bad "bad.swf:6: field 4 (run time) is 'long': expected a number"
    ten | tr -d ';' | bad "bad.swf:1: field 1 (job number) is 'MaxProcs:'"
    ten | sed 1d | bad 'bad.swf: the header has neither MaxNodes nor MaxProcs: expected --nodes=N'
    head -c 4096 /dev/urandom | bad 'bad.swf:'
}
test_trace_help() {
    sluice sim --help
    exits 0
    for word in --policy --match --depth --one-queue --resolution --nodes --node-cpu --node-memory .swf; do
        says "$word"
    done
    sluice completion bash
    exits 0 && says conservative && says '--node-memory' && says lonodex
}

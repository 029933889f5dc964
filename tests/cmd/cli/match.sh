# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # tests/cmd/cli/run has the other ends of $out, $err, $code, $load
# sluice match: what the sessions in match/ cannot show.
sessions=$here/match

# commands OPTIONS... <<COMMANDS: what it said is in $out and $err
commands() {
    (cd "$sessions/files" && "$SL_PROGRAM" match "$@") >out 2>err
    code=$?
    out=$(cat out)
    err=$(cat err)
}

test_match_help_teaches() {
    sluice match --help
    exits 0 && quiet && says 'Usage' && says '-L, --load-file=FILE' && says 'Examples' && says 'Exit codes'
    fits 96
    cp out long
    sluice match -h
    exits 0
    [ -z "$out" ] || fail 'expected nothing on standard output'
    cmp -s long err || fail '-h and --help differ'
}
# What it may say is in the help: the words of every option that takes one of a few.
test_match_help_lists_the_words() {
    sluice match --help
    for words in /v1/match rv1exec_force hinodex variation jgf_shorthand rv1_nosched graphml C+P+IBA flexible; do
        says "$words"
    done
}
test_match_completes() {
    sluice completion bash
    exits 0
    cp out script
    complete_with() {
        # shellcheck disable=SC2016 # for the other bash
        bash --norc -c 'source ./script; COMP_WORDS=('"$1"'); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            _sluice; echo "${COMPREPLY[@]}"'
    }
    same "$(complete_with "sluice match -P lo")" 'low lonode lonodex locality'
    same "$(complete_with "sluice match --match-format rv1_")" 'rv1_nosched rv1_shorthand'
    same "$(complete_with "sluice match -f h")" 'hwloc'
    same "$(complete_with "sluice match -p A")" '' # nobody knows
    same "$(complete_with "sluice match -S C+P")" 'C+PA C+PFS1BA C+P+IBA'
    same "$(complete_with "sluice match --load-f")" '--load-file --load-format'
    same "$(complete_with "sluice match --li")" '--listen'
    case " $(complete_with "sluice match -") " in *' -L '*' -t '*) ;; *) fail 'letters are not offered' ;; esac
    : >graph.json
    same "$(complete_with "sluice match -L graph")" 'graph.json'
}
# A person at a terminal is asked; -d does not ask.
test_match_prompts_on_a_terminal() {
    command -v script >/dev/null || skip 'no script(1) here'
    cp "$sessions"/files/tiny.graphml .
    printf 'get-status /tiny0\nquit\n' |
        script -qec "'$SL_PROGRAM' match -L tiny.graphml" /dev/null >out 2>err
    code=$?
    out=$(cat out)
    exits 0 && says 'sluice> ' && says '/tiny0 is up'
    printf 'quit\n' | script -qec "'$SL_PROGRAM' match -d -L tiny.graphml" /dev/null >out 2>err
    out=$(cat out)
    case $out in *'sluice>'*) fail 'it asked' ;; esac
}
# Whoever writes a command and waits gets the answer before the next.
test_match_answers_at_once() {
    mkfifo in
    (cd "$sessions/files" && exec "$SL_PROGRAM" match -L tiny.graphml) <in >out 2>err &
    pid=$!
    exec 9>in
    printf 'get-status /tiny0\nfind nonsense\n' >&9
    for _ in $(seq 600); do
        [ ! -s err ] || break
        sleep 0.1
    done
    out=$(cat out) err=$(cat err)
    exec 9>&-
    wait "$pid"
    code=$?
    exits 0 && says '/tiny0 is up' && complains 'invalid criteria: nonsense.'
}
test_match_keeps_the_order_of_what_it_says() {
    (cd "$sessions/files" && printf 'get-status /tiny0\nfind x\nget-status /tiny0\nlist\ncancel 1\n' |
        "$SL_PROGRAM" match -L tiny.graphml) >both 2>&1
    same "$(cat both)" "$(printf '%s\n' '/tiny0 is up' 'findfind: invalid criteria: x.' '/tiny0 is up' \
        'cancel: ERROR: nonexistent job 1')"
}
test_match_too_long_a_line() {
    { head -c 3000000 /dev/zero | tr '\0' 'x'; printf '\nget-status /tiny0\n'; } | commands -L tiny.graphml
    out=$(cat out) err=$(cat err) code=0
    says '/tiny0 is up' && complains 'ERROR: a line of more than'
    [ "$(wc -l <err)" -eq 1 ] || fail 'said more than once'
}
test_match_garbage_as_commands() {
    head -c 100000 /dev/urandom | commands -L tiny.graphml
    code=$? out=$(cat out) err=$(cat err)
    case $err in *Sanitizer* | *assert*) fail 'it crashed' ;; esac
}
test_match_full_disk() {
    [ -e /dev/full ] || skip 'no /dev/full here'
    printf 'match allocate core.yaml\n' | commands -L tiny.graphml -t /dev/full
    code=$(cd "$sessions/files" && printf 'match allocate core.yaml\n' |
        "$SL_PROGRAM" match -L tiny.graphml -t /dev/full >/dev/null 2>&1; echo $?)
    err=$(cat err)
    exits 1 && complains '--test-output: /dev/full'
}
# Thousands of matches of one file, each read anew, in no time worth speaking of.
test_match_four_thousand() {
    sed 's/multi_scale">2</multi_scale">1000</' "$sessions/files/tiny.graphml" |
        awk '/id="cores"/ { sub("1000", "16") } { print }' >big.graphml
    cat >n1c4.yaml <<'YAML'
version: 9999
resources:
  - {type: node, count: 1, with: [{type: slot, count: 1, label: x, with: [{type: core, count: 4}]}]}
tasks: [{command: ["app"], slot: x, count: {per_slot: 1}}]
attributes: {system: {duration: 3600}}
YAML
    for _ in $(seq 4000); do echo 'match allocate n1c4.yaml'; done >lines
    begun=$(date +%s)
    "$SL_PROGRAM" match -L big.graphml -P lonode <lines >out 2>err
    code=$? err=$(cat err)
    took=$(($(date +%s) - begun))
    exits 0 && quiet
    same "$(grep -c RESOURCES=ALLOCATED out)" 4000
    sanitized || [ "$took" -le 3 ] || fail "took $took seconds"
}
# What matching gave, given back to a new session as updates, is told in the same words.
test_match_and_update_agree() {
    cp "$sessions"/files/* .
    for format in jgf rv1_nosched; do
        reader=jgf
        [ "$format" = jgf ] || reader=rv1exec
        for _ in 1 2 3 4 5 6 7; do echo 'match allocate_orelse_reserve core.yaml'; done >lines
        "$SL_PROGRAM" match -L tiny.graphml -P high -F "$format" -t first <lines || fail 'matching failed'
        grep -v INFO first | split -l 1 --additional-suffix=.json - "$format"_
        n=0
        for file in "$format"_*.json; do
            n=$((n + 1))
            at=$(grep -A2 "JOBID=$n\$" first | sed -n 's/.*AT=//p')
            echo "update reserve $reader $file $n ${at/Now/0} 60"
        done >lines
        "$SL_PROGRAM" match -L tiny.graphml -P high -F "$format" -t second <lines || fail 'updating failed'
        cmp first second || fail "$format: they differ"
    done
}
# A part of a job that is given back can be given out again, over and over.
test_match_partial_cancel_leaves_nothing_behind() {
    cp "$sessions"/files/* .
    echo '{"version": 1, "execution": {"R_lite": [{"rank": "1", "children": {"core": "0-1"}}]}}' >rank1.json
    for i in 1 2 3 4 5; do
        printf 'match allocate both.yaml\npartial-cancel %d rv1exec rank1.json\n' $((2 * i - 1))
        printf 'match allocate node.yaml\ncancel %d\ncancel %d\n' $((2 * i - 1)) $((2 * i))
    done >lines
    echo 'find sched-now=allocated' >>lines
    "$SL_PROGRAM" match -L tiny.graphml -P low <lines >out 2>err
    code=$? out=$(cat out) err=$(cat err)
    exits 0 && quiet
    same "$(grep -c RESOURCES=ALLOCATED out)" 10
    same "$(tail -3 out | head -2 | tail -1)" 'INFO: EXPRESSION="sched-now=allocated"'
    same "$(tail -4 out | head -1)" 'INFO: ============================='
}

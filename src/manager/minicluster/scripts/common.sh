# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
# What all entrypoints of a MiniCluster begin with. The assignments before it are made of the spec.

say() {
    if [ -z "$mc_quiet" ]; then printf '%s\n' "$*"; fi
}

# A piece of script of the spec.
piece() {
    if [ -n "$mc_quiet" ]; then "$1" >/dev/null 2>&1; else "$1"; fi
}

has_flux() {
    command -v flux >/dev/null 2>&1
}

# The pod of index 0 has the lead broker. Its host is named after the index, unless pods are
# processes of one machine.
is_lead() {
    [ "${JOB_COMPLETION_INDEX:-}" = 0 ] || [ "$(hostname)" = "$mc_main_host" ]
}

# A command as words. What is more than one simple command becomes the argument of a shell.
words=()
split_command() {
    case "$1" in
    *[\;\&\|\<\>\(\)\`\#]* | *$'\n'*) words=(bash -c "$1") ;;
    *) eval "words=($1)" ;;
    esac
}

# How many nodes and tasks a submission asks for, and the options that all of them have.
submit_flags() {
    if [ "$mc_tasks" -eq 0 ]; then
        printf -- '-N %s' "$mc_size"
    elif [ "$mc_tasks" -ge "$mc_size" ]; then
        printf -- '-N %s -n %s' "$mc_size" "$mc_tasks"
    else
        printf -- '-n %s' "$mc_tasks"
    fi
    printf -- '%s%s' "${mc_option_flags:+ $mc_option_flags}" "${mc_debug:+ -vvv}"
}

# A batch job: a submission for each line of the command, or the lines as they are.
write_batch() {
    local line number=0
    printf '#!/bin/bash\n' >flux-job.batch
    if [ -n "$mc_batch_raw" ]; then
        printf '%s\n' "$mc_command" >>flux-job.batch
    else
        while IFS= read -r line; do
            if [ -n "$line" ]; then
                printf 'flux submit --flags waitable --error=%s/job-%d.err --output=%s/job-%d.out %s\n' \
                    "$FLUX_OUTPUT_DIR" "$number" "$FLUX_OUTPUT_DIR" "$number" "$line" >>flux-job.batch
            fi
            number=$((number + 1))
        done <<<"$mc_command"
        printf 'flux queue idle\nflux jobs -a\n' >>flux-job.batch
    fi
    chmod +x flux-job.batch
}

# Options of every broker of the instance: run directory, state directory.
broker_options=()
set_broker_options() {
    broker_options=(-Scron.directory=/etc/flux/system/cron.d -Stbon.fanout=256 "-Srundir=$1" "-Sstatedir=$2"
        "-Slocal-uri=local://$1/local" "-Slog-stderr-level=$mc_log_level" -Slog-stderr-mode=local)
    if [ -n "$mc_interactive" ]; then broker_options+=(-Sbroker.rc2_none); fi
    if [ -n "$mc_connect_timeout" ]; then broker_options+=("-Stbon.connect_timeout=$mc_connect_timeout"); fi
    if [ -n "$mc_quorum" ]; then broker_options+=("-Sbroker.quorum=$mc_quorum"); fi
    if [ -n "$mc_zeromq" ]; then broker_options+=(-Stbon.zmqdebug=1); fi
    if [ -n "$mc_archive" ] && [ -e "$mc_archive" ]; then
        say "Restoring the state of $mc_archive"
        broker_options+=("-Scontent.restore=$mc_archive")
    fi
}

# flux start with the configuration $1 and the rest as the initial program.
start_flux() {
    local config=$1 start=()
    shift
    if [ -n "$mc_timed" ]; then start+=(/usr/bin/time -f 'FLUXTIME fluxstart wall time %E'); fi
    start+=("${as_flux[@]}" flux start)
    if [ -n "$mc_wrap" ]; then start+=("--wrap=$mc_wrap"); fi
    start+=(-o --config "$config" "${broker_options[@]}")
    if [ $# -gt 0 ] && [ -n "$mc_timed" ]; then start+=(/usr/bin/time -f 'FLUXTIME fluxsubmit wall time %E'); fi
    say "Starting: ${start[*]} $*"
    "${start[@]}" "$@"
}

as_flux=()
run_lead() {
    local config=$1 flags prefix=() submit=()
    eval "prefix=($mc_prefix)"
    if [ -z "$mc_command" ]; then
        say "Starting: ${as_flux[*]} flux broker --config-path $config ${broker_options[*]}"
        "${as_flux[@]}" "${prefix[@]}" flux broker --config-path "$config" "${broker_options[@]}"
        return
    fi
    flags=$(submit_flags)
    if [ -n "$mc_batch" ]; then
        start_flux "$config" "${prefix[@]}" sh -c \
            "flux batch $flags --flags waitable ./flux-job.batch && flux job wait --all"
        return
    fi
    split_command "$mc_command"
    if [ -n "$mc_launcher" ]; then
        start_flux "$config" "${prefix[@]}" "${words[@]}"
        return
    fi
    eval "submit=(${mc_submit_command:-flux submit} $flags --quiet --watch)"
    start_flux "$config" "${prefix[@]}" "${submit[@]}" "${words[@]}"
}

# A worker comes back for as long as the cluster lives: the lead may restart.
run_worker() {
    local config=$1 status
    while true; do
        status=0
        start_flux "$config" || status=$?
        if [ "$status" -eq 0 ] || [ -n "$mc_complete_workers" ]; then break; fi
        say "Flux ended with status $status, starting again in 15 s"
        sleep 15
    done
}

# Without Flux the command runs as it is, once.
run_alone() {
    if ! is_lead; then
        printf '%s\n' "Flux is not installed here: the command runs in the pod of index 0 alone, and this one ends." >&2
        return 0
    fi
    if [ -z "$mc_command" ]; then
        printf '%s\n' "Flux is not installed here, and there is no command: waiting until the pod is stopped." >&2
        sleep infinity
    fi
    printf '%s\n' "Flux is not installed here: the command runs alone, without a Flux instance." >&2
    bash -c "$mc_command"
}

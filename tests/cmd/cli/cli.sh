# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # tests/cmd/cli/run has the other ends of $out, $err, $code, $load
# The command line itself: help, mistakes, completion, output that cannot be written.

test_help_of_the_program() {
    for words in --help -h help; do
        sluice "$words"
        exits 0 && quiet && says 'Usage' && says 'sim' && says 'Exit codes' && says 'Examples'
    done
}
test_help_of_each_verb() {
    for verb in sim match pool graph queue completion version help; do
        sluice "$verb" --help
        exits 0 && quiet && says 'Usage'
    done
    sluice help sim
    exits 0 && says '--what-if=FILE' && says 'Examples' && says '--journal=FILE'
}
test_help_fits_the_width() {
    for width in 60 80 96; do
        COLUMNS=$width sluice sim --help
        while IFS= read -r line; do
            case $line in
            '  sluice'* | *'['*) ;; # a line to be copied stays whole
            *) [ ${#line} -le "$width" ] || fail "longer than $width: $line" ;;
            esac
        done <out
    done
}
test_no_verb_is_a_mistake() {
    sluice
    exits 2 && complains 'Usage'
}
test_unknown_verb() {
    sluice simm
    exits 2 && complains "did you mean 'sim'"
    sluice elephant
    exits 2 && complains "expected a command, found 'elephant'"
    sluice help elephant
    exits 2 && complains 'elephant'
}
test_unknown_option() {
    sluice sim --jsno x.yaml
    exits 2 && complains 'unknown option --jsno; did you mean --json?'
    sluice sim --elephant x.yaml
    exits 2 && complains 'unknown option --elephant' && complains '--help'
    sluice sim -j x.yaml
    exits 2 && complains 'two dashes'
    sluice version --json
    exits 2 && complains 'unknown option --json'
}
test_values_of_options() {
    sluice sim --svg
    exits 2 && complains '--svg needs a value'
    sluice sim --svg --json x.yaml
    exits 2 && complains '--svg needs a value'
    sluice sim --svg= x.yaml
    exits 2 && complains '--svg needs a FILE'
    sluice sim --json=yes x.yaml
    exits 2 && complains '--json takes no value'
    sluice sim --svg=a --svg=b x.yaml
    exits 2 && complains 'given more than once'
    sluice sim --until=soon x.yaml
    exits 2 && complains '--until'
    sluice sim --until=0s x.yaml
    exits 2 && complains 'more than 0s'
    sluice sim --color=blue x.yaml
    exits 2 && complains 'auto, always, never'
}
test_both_forms_of_a_value() {
    sluice sim --until=1s --json "$load/sample.yaml" && exits 0
    a=$(field '["digest"]')
    sluice sim --until 1s --json "$load/sample.yaml" && exits 0
    same "$(field '["digest"]')" "$a"
}
test_conflicts() {
    sluice sim
    exits 2 && complains 'expected a FILE'
    sluice sim --replay=a b.yaml
    exits 2 && complains '--replay'
    sluice sim --what-if=a b.yaml
    exits 2 && complains '--what-if needs --replay'
    sluice sim --tell b.yaml
    exits 2 && complains '--tell is only valid with scenarios'
    sluice sim --json a.scenario
    exits 2 && complains 'cannot be used with scenarios'
    sluice sim a.scenario b.yaml
    exits 2 && complains 'mixed'
    sluice sim --svg=x a.yaml b.yaml
    exits 2 && complains 'one FILE at a time'
    sluice version now
    exits 2 && complains "unexpected argument 'now'"
}
test_dashes_end_the_options() {
    sluice sim -- --json
    exits 3 && complains -- '--json'
}
test_version() {
    sluice version
    exits 0 && quiet
    [[ $out =~ ^sluice\ [0-9]+\.[0-9]+\.[0-9]+ ]] || fail 'not a version'
    v=$out
    sluice --version
    exits 0 && same "$out" "$v"
}
test_completion_bash_parses() {
    sluice completion bash
    exits 0 && quiet
    bash -n out || fail 'bash does not read it'
}
# What bash would offer after these words.
offers() {
    # shellcheck disable=SC2016 # for the other bash
    bash --norc -c '. ./script; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        _sluice; printf "%s\n" "${COMPREPLY[@]}"' x "$@"
}
test_completion_bash_completes() {
    sluice completion bash && cp out script
    same "$(offers sluice si)" sim
    same "$(offers sluice sim --js)" --json
    same "$(offers sluice sim --color ne)" never
    same "$(offers sluice sim --color = al)" always
    same "$(offers sluice completion f)" fish
    touch my-load.yaml
    same "$(offers sluice sim my)" my-load.yaml
    same "$(offers sluice sim --svg my)" my-load.yaml
}
test_completion_zsh_parses() {
    sluice completion zsh
    exits 0 && says '#compdef sluice' && says '--what-if'
    command -v zsh >/dev/null || skip 'no zsh here'
    zsh -n out || fail 'zsh does not read it'
}
# Sourced, and as a file in the place where zsh looks for it.
test_completion_zsh_completes() {
    command -v zsh >/dev/null || skip 'no zsh here'
    mkdir functions
    sluice completion zsh && cp out functions/_sluice
    offers() { zsh -f "$here/offer.zsh" "${how-compinit -D -u; source $PWD/functions/_sluice}" "$1" | paste -sd' '; }
    completes_as_zsh_and_fish_do
    same "$(offers 'sluice sim --color=al')" always
    same "$(offers 'sluice match -Plo')" 'locality lonode lonodex low'
    how="fpath=($PWD/functions \$fpath); compinit -D -u"
    same "$(offers 'sluice match -S C+P')" 'C+P+IBA C+PA C+PFS1BA'
}
test_completion_fish_parses() {
    sluice completion fish
    exits 0 && says 'complete -c sluice' && says 'what-if'
    command -v fish >/dev/null || skip 'no fish here'
    fish --no-execute out || fail 'fish does not read it'
}
test_completion_fish_completes() {
    command -v fish >/dev/null || skip 'no fish here'
    sluice completion fish && cp out script
    offers() {
        # shellcheck disable=SC2016 # for fish
        HOME=$PWD fish -c 'source script; complete -C $argv[1]' "$1" | cut -f1 | LC_ALL=C sort -u | paste -sd' '
    }
    completes_as_zsh_and_fish_do
    same "$(offers 'sluice sim --color=al')" --color=always
    same "$(offers 'sluice match -Plo')" '-Plocality -Plonode -Plonodex -Plow'
}
# offers WORDS: what there is to go on with, in order of its bytes
completes_as_zsh_and_fish_do() {
    touch my-load.yaml
    same "$(offers 'sluice ')" 'completion help match serve sim up version'
    same "$(offers 'sluice si')" sim
    same "$(offers 'sluice help mat')" match
    same "$(offers 'sluice completion f')" fish
    same "$(offers 'sluice sim --js')" --json
    same "$(offers 'sluice sim --color ne')" never
    same "$(offers 'sluice sim my')" my-load.yaml
    same "$(offers 'sluice sim --svg my')" my-load.yaml
    same "$(offers 'sluice up --nodes ')" '' # a number, which nobody knows
    same "$(offers 'sluice up --nodes 3 --node-c')" --node-cpu
    same "$(offers 'sluice up --vi')" --virtual-node
    same "$(offers 'sluice match -P lo')" 'locality lonode lonodex low'
    same "$(offers 'sluice match --match-format rv1_')" 'rv1_nosched rv1_shorthand'
    same "$(offers 'sluice match -L my')" my-load.yaml
    same "$(offers 'sluice match -p ')" ''
    letters=$(offers 'sluice match -' | tr ' ' '\n' | grep '^-.$' | paste -sd' ')
    same "$letters" '-F -L -P -S -T -W -d -e -f -g -h -o -p -r -t'
}
test_completion_of_another_shell() {
    sluice completion tcsh
    exits 2 && complains 'bash, zsh or fish'
    sluice completion
    exits 2 && complains 'SHELL'
}
test_no_colours_in_a_pipe() {
    sluice sim "$load/sample.yaml"
    exits 0
    case $out in *$'\033'*) fail 'escape sequences in a pipe' ;; esac
    sluice sim --color=always "$load/sample.yaml"
    says $'\033[1m'
}
test_no_progress_in_a_pipe() {
    sluice sim "$load/sample.yaml"
    exits 0 && quiet
    sluice sim --progress "$load/sample.yaml"
    exits 0 && complains '100%'
}
# script(1) gives it a terminal.
test_colours_on_a_terminal() {
    command -v script >/dev/null || skip 'no script(1) here'
    TERM=xterm script -qec "$SL_PROGRAM sim $load/sample.yaml" /dev/null >screen </dev/null
    grep -q $'\033\[1m' screen || fail 'no bold text on a terminal'
    grep -q 'simulating \[' screen || fail 'no progress bar on a terminal'
    NO_COLOR=1 TERM=xterm script -qec "$SL_PROGRAM sim $load/sample.yaml" /dev/null >screen </dev/null
    grep -q $'\033\[1m' screen && fail 'NO_COLOR is not honoured'
    TERM=dumb script -qec "$SL_PROGRAM sim $load/sample.yaml" /dev/null >screen </dev/null
    grep -q $'\033\[1m' screen && fail 'colours on a dumb terminal'
    true
}
test_tables_fit_the_terminal() {
    for width in 40 60 80; do
        COLUMNS=$width sluice sim "$load/sample.yaml"
        exits 0
        fits "$width"
    done
}
test_standard_output_closed() {
    "$SL_PROGRAM" version >&- 2>err
    code=$?
    err=$(cat err) && : >out
    exits 4 && complains 'standard output'
}
test_standard_output_full() {
    [ -e /dev/full ] || skip 'no /dev/full here'
    "$SL_PROGRAM" sim --json "$load/sample.yaml" >/dev/full 2>err
    code=$?
    err=$(cat err) && : >out
    exits 4 && complains 'No space left'
}
# A report must not end up in a file that took the place of a closed descriptor.
test_closed_descriptors_are_not_reused() {
    "$SL_PROGRAM" sim --svg=x.svg "$load/sample.yaml" >&- 2>err
    code=$? && : >out
    exits 4
    grep -q makespan x.svg && fail 'the report was written into the picture'
    true
}
test_reader_that_goes_away() {
    "$SL_PROGRAM" sim --json "$load/large-scale.yaml" 2>err | head -c 10 >out
    code=${PIPESTATUS[0]}
    [ "$code" -eq 141 ] || [ "$code" -eq 4 ] || [ "$code" -eq 0 ] || fail 'bad end'
    [ ! -s err ] || fail 'a reader that has seen enough needs no message'
    # the same with SIGPIPE ignored
    (trap '' PIPE; "$SL_PROGRAM" sim --json "$load/large-scale.yaml" 2>err; echo $? >rc) | head -c 10 >out
    [ ! -s err ] || fail 'message about a broken pipe'
}

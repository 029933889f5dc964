#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/check-logs finds a message that is not constant, and a page that does not match the source.
# usage: logs.sh CHECK_LOGS
set -eu
check=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/src/manager/admission" "$root/docs"
passed=0
failed=0

# tree CALL HEADING LEVEL FIELDS: a source file and a page of one message
tree() {
    printf '%s\n' "$1" >"$root/src/manager/admission/x.c"
    # shellcheck disable=SC2016
    printf '### `%s`\n- level: %s\n- fields: %s\n' "$2" "$3" "$4" >"$root/docs/logs.md"
}

# says WHAT ...: the check refuses the tree, and names it
says() {
    what=$1
    shift
    tree "$@"
    if "$check" "$root" >"$root/out" 2>&1; then
        echo "not found: $what"
        failed=$((failed + 1))
    elif grep -q "$what" "$root/out"; then
        passed=$((passed + 1))
    else
        echo "found otherwise: $what"
        cat "$root/out"
        failed=$((failed + 1))
    fi
}

allows() {
    tree "$@"
    if "$check" "$root" >"$root/out" 2>&1; then
        passed=$((passed + 1))
    else
        echo "refused: $1"
        cat "$root/out"
        failed=$((failed + 1))
    fi
}

call='sl_log(SL_LOG_WARN, "disk (full)", SL_S("file", path(x, 1)), SL_I("limit", 3));'
# shellcheck disable=SC2016
allows "$call" 'disk (full)' warn '`file`, `limit`'
allows 'sl_log(on ? SL_LOG_DEBUG : SL_LOG_INFO, on ? "started" : "stopped");' stopped info none
allows 'sl_log(SL_LOG_INFO, "one "
       "two");' 'one two' info none
passing='static void complain(struct x *x, const char *what) { sl_log(SL_LOG_INFO, what); }'
allows "$passing
void f(void) { complain(x, \"lost\"); }" lost info none
says 'a log message is not constant: other' "$passing
void f(void) { complain(x, other); $call }" 'disk (full)' warn none
says 'no such message in the source: disk full' "$call" 'disk full' warn none
says 'logged at warn, not error' "$call" 'disk (full)' error none
# shellcheck disable=SC2016
says 'without the field path' "$call" 'disk (full)' warn '`path`'
says 'level and fields do not follow' "$call" 'disk (full)' '' none
says 'src/manager/admission/x.c:1: a log message is not constant: text' \
    "sl_log(SL_LOG_INFO, text); $call" 'disk (full)' warn none
says 'src/manager/admission/x.c:1: a log message is not constant: "v" VERSION' \
    "sl_log(SL_LOG_INFO, \"v\" VERSION); $call" 'disk (full)' warn none
says 'no such message in the source: gone' "/* sl_log(SL_LOG_INFO, \"gone\"); */ $call" gone info none

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]

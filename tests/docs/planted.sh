#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/check-docs and tools/rules-table find what breaks their rules, and nothing where none is
# broken.
# usage: planted.sh CHECK_DOCS RULES_TABLE
# shellcheck disable=SC2016 # Markdown: nothing in single quotes is to be expanded
set -eu
docs=$1
rules=$2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
passed=0
failed=0

# A tree in order: two pages, one rule, one scenario, one comment.
good() {
    rm -rf "$root/tree"
    mkdir -p "$root/tree/docs" "$root/tree/src" "$root/tree/tests/scenario"
    printf '%s\n' '# Index' '' '[a page](page.md#part-one), [rules](rules.md)' \
        >"$root/tree/docs/README.md"
    printf '%s\n' '# Page' '' '## Part one' '' 'One sentence.' 'Another, with `a. B` in code.' \
        >"$root/tree/docs/page.md"
    printf '%s\n' '# Rules' '' '### 1.1 Order' '' '**1.1.1** The older is first.' '' \
        '- `order`: Age decides' >"$root/tree/docs/rules.md"
    printf '%s\n' 'scenario Age decides' 'rules 1.1.1' >"$root/tree/tests/scenario/order.scenario"
    printf '%s\n' '/* Rule 1.1.1, and rules 1.1 and 1.1.1. */' >"$root/tree/src/a.c"
}

# says WHAT TOOL...: it fails, and prints a line with WHAT
says() {
    what=$1
    shift
    if "$@" --root "$root/tree" >"$root/out" 2>&1; then
        echo "not found: $what"
        failed=$((failed + 1))
    elif grep -q -e "$what" "$root/out"; then
        passed=$((passed + 1))
    else
        echo "found otherwise: $what"
        cat "$root/out"
        failed=$((failed + 1))
    fi
    good
}

# page LINE: adds it to the page
page() {
    printf '\n%s\n' "$1" >>"$root/tree/docs/page.md"
}

good
if "$docs" --root "$root/tree" >"$root/out" 2>&1 &&
    "$rules" --check --root "$root/tree" >>"$root/out" 2>&1; then
    passed=$((passed + 1))
else
    echo "a tree in order is refused:"
    cat "$root/out"
    failed=$((failed + 1))
fi

page "$(printf '%0170d' 0)"
says 'page.md:8: 170 columns' "$docs"
page "| $(printf '%0170d' 0) |"
says 'page.md:8: 174 columns' "$docs"
page 'One sentence. Another one.'
says 'page.md:8: more than one sentence' "$docs"
page 'A sentence that'
printf '%s\n' 'goes on.' >>"$root/tree/docs/page.md"
says 'page.md:8: a sentence goes on' "$docs"
page 'See [nothing](missing.md).'
says 'page.md:8: no such file: missing.md' "$docs"
page 'See [nothing](page.md#part-two).'
says 'page.md:8: no such heading: page.md#part-two' "$docs"
page 'It is in `src/b.c`, beside `src/a.c` and `src/*.c`.'
says 'page.md:8: no such path: src/b.c' "$docs"
page 'A wish of the room next door.'
says "page.md:8: 'wish': say pending change" "$docs"
printf '%s\n' '# Another' >"$root/tree/docs/other.md"
says 'README.md:1: does not list other.md' "$docs"

printf '%s\n' 'scenario Another' 'rules 1.1.1' >"$root/tree/tests/scenario/z.scenario"
says 'not up to date' "$rules" --check
printf '%s\n' 'scenario Another' 'rules 1.1.9' >"$root/tree/tests/scenario/z.scenario"
says 'z.scenario names rule 1.1.9, which' "$rules" --check
printf '%s\n' '' '/* As in rule 1.2. */' >>"$root/tree/src/a.c"
says 'src/a.c:3 cites rule 1.2, which' "$rules" --check
printf '\n%s\n' '**1.1.2** Nothing shows it.' >>"$root/tree/docs/rules.md"
says 'rule 1.1.2 has no scenario and no reason' "$rules" --check
printf '\n%s\n\n%s\n' '**1.1.2**' 'Not shown by a scenario: it has no text.' \
    >>"$root/tree/docs/rules.md"
says 'rule 1.1.2 has no text' "$rules" --check
printf '\n%s\n' '**1.1.1** Again.' >>"$root/tree/docs/rules.md"
says 'rule 1.1.1 stands twice' "$rules" --check

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]

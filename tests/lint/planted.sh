#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each check of tools/lint finds what is planted for it, and nothing in a tree that is right.
#
#     tests/lint/planted.sh SOURCE_ROOT
#
# Rules of tools/check-layers and of the pages have more cases in tests/layers and tests/docs; here is
# one of each, to see that lint runs them. A check whose tool is missing is counted as skipped.
# shellcheck disable=SC2016 # nothing that is planted is to be expanded
set -eu
source=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
passed=0 failed=0 skipped=0

# Verdicts of its own; what tools/setup has installed is the machine's.
installed=${XDG_CACHE_HOME:-$HOME/.cache}/sluice
export XDG_CACHE_HOME=$work/cache
mkdir -p "$work/cache/sluice"
for folder in "$installed"/ruff-*/; do
    [ ! -d "$folder" ] || ln -s "$folder" "$work/cache/sluice/"
done

licence='SPDX-License-Identifier: Apache-2.0'
# put FILE LINE...: a file of the tree, with the line that every source has
put() {
    local file=$1
    shift
    mkdir -p "$(dirname "$tree/$file")"
    case $file in
    *.[ch]) printf '%s\n' "/* $licence */" "$@" ;;
    *.md | *.scenario) printf '%s\n' "$@" ;;
    *) printf '%s\n' "$1" "# $licence" "${@:2}" ;;
    esac >"$tree/$file"
}
good() {
    rm -rf "$tree"
    mkdir -p "$tree"
    cp "$source/.clang-format" "$source/ruff.toml" "$source/.shellcheckrc" "$tree"
    put src/core/base/x.c 'int x(void);'
    put tools/script '#!/bin/sh' 'echo "$1"'
    put tools/program '#!/usr/bin/env python3' 'print(1)'
    put api/module.py '# A module.' 'X = 1'
    put meson.build '# The root.' "project('x', 'c')"
    put docs/README.md '# Index' '' '[rules](rules.md)'
    put docs/rules.md '# Rules' '' '### 1.1 Order' '' '**1.1.1** The older is first.' '' '- `order`: Age decides'
    put tests/scenario/order.scenario 'scenario Age decides' 'rules 1.1.1'
    : >"$tree/api/__init__.py"
}
lint() { "$source/tools/lint" --root "$tree" "$@" >"$work/out" 2>&1; }
wrong() {
    echo "$1"
    cat "$work/out"
    failed=$((failed + 1))
}

# finds CHECK WORDS...: it fails, and each of these is in what it prints
finds() {
    local check=$1 words
    shift
    if lint "$check"; then
        if grep -q SKIPPED "$work/out"; then skipped=$((skipped + 1)); else wrong "$check found nothing: $1"; fi
        return
    fi
    for words; do
        grep -qF -- "$words" "$work/out" || { wrong "$check found otherwise: $words" && return; }
    done
    passed=$((passed + 1))
}
# allows CHECK
allows() {
    if ! lint "$1"; then wrong "$1 refused what is right"; else passed=$((passed + 1)); fi
}
line() { printf '%*s' "$1" '' | tr ' ' x; }

good
if lint licence columns unfinished paths docs rules format scripts python python-format; then
    passed=$((passed + 1))
else
    wrong 'a tree that is right is refused'
fi

for file in src/core/base/x.c tools/script tools/program api/module.py meson.build; do
    grep -v SPDX "$tree/$file" >"$work/without"
    cat "$work/without" >"$tree/$file"
done
finds licence "src/core/base/x.c:1: no line '$licence'" tools/script:1: tools/program:1: api/module.py:1: meson.build:1:

good
put src/core/base/x.c "/* $(line 94) */" "/* $(line 95) */"
put tools/script '#!/bin/sh' "# $(line 118)" "# $(line 119)"
finds columns 'src/core/base/x.c:3: 101 columns, at most 100' 'tools/script:4: 121 columns, at most 120'
good
put src/core/base/x.c "/* $(line 94) */"
allows columns
sed -i 's/^ColumnLimit: .*/ColumnLimit: 90/' "$tree/.clang-format" # the verdict was for another limit
finds columns 'x.c:2: 100 columns, at most 90'

good
put tools/program '#!/usr/bin/env python3' "# $(printf 'FIX%s' ME): later"
put docs/README.md '# Index' '' "$(printf 'TO%s' DO)" '[rules](rules.md)'
finds unfinished tools/program:3: docs/README.md:3:

good
put tools/script '#!/bin/sh' "cd $(printf '/%s/you' home)"
finds paths 'tools/script:3:' 'a path of one machine'

# An uninitialised variable with scope cleanup. tools/check-layers has more rules: tests/layers.
good
put src/core/base/x.c 'void x(void) {' '    _cleanup_(sl_buf_done) struct sl_buf b;' '}'
finds layers 'src/core/base/x.c:3: a variable with scope cleanup is initialised where it is declared'

# JSON that is put together by hand.
good
put src/manager/admission/x.c 'void x(void) {' '    sl_buf_puts(b, "{\"a\":1}");' '}'
finds layers 'src/manager/admission/x.c:3: JSON is written with lib/json/writer.h, not by hand'

# An edge that is allowed and not used: seen only in a whole tree, which has a main.
good
"$source/tools/check-layers" --edges | while read -r component others; do
    put "src/$component/x.c" "$(for other in $others; do echo "#include \"$other/x.h\""; done)"
done
put src/main.c 'int main(void);'
put src/core/model/x.c 'int x(void);'
finds layers 'core/model may use core/base and does not'

# A tag that two headers define, and a name that says no component. More in tests/layers/names.sh.
good
put src/core/base/x.h 'struct sl_buf {' '    int x;' '};'
put src/core/base/y.h 'struct sl_buf {' '    int y;' '};' 'void settle(void);'
finds names 'tag sl_buf is defined in 2 headers' 'function settle has no prefix'

good
put docs/logs.md '# Logs'
put src/core/base/x.c 'void x(void) {' '    sl_log(SL_LOG_INFO, text);' '}'
finds logs 'src/core/base/x.c:3: a log message is not constant: text'

good
put docs/README.md '# Index' '' 'See [it](missing.md).' 'And [rules](rules.md).'
finds docs 'docs/README.md:3: no such file: missing.md'

good
put src/core/base/x.c '/* Rule 1.1.9. */'
finds rules 'cites rule 1.1.9'

good
put src/core/base/x.c 'int  x( void );'
finds format src/core/base/x.c:2:

good
put tools/script '#!/bin/sh' 'rm -r $1'
finds scripts 'tools/script:3:' SC2086
finds scripts SC2086 # what was wrong is not remembered as right
put tools/script '#!/bin/sh' 'rm -r "$1"'
allows scripts

good
put tools/program '#!/usr/bin/env python3' 'import os'
put api/module.py '# A module.' 'x = undefined'
finds python 'tools/program:3:' F401 api/module.py:3: F821
put api/module.py '# A module.' 'x = [1,2]'
finds python-format api/module.py

# What a missing tool would have found is skipped, and counted.
rm -f "$work"/cache/sluice/ruff-*
if lint python && grep -q '^0 passed, 0 failed, 1 skipped' "$work/out"; then
    passed=$((passed + 1))
else
    wrong 'a missing tool is not skipped'
fi
if lint nonsense; then wrong 'a check that does not exist'; else passed=$((passed + 1)); fi

# tools/run-tests counts a program, names its time, and goes no further if it fails.
program() {
    printf '%s\n' '#!/bin/sh' "echo '$1'" "exit $2" >"$work/program"
    chmod +x "$work/program"
}
program '3 passed, 0 failed, 1 skipped (0.2 s)' 0
if (cd "$work" && "$source/tools/run-tests" ./program) >"$work/out" 2>&1 &&
    grep -q '^longest .*: ./program 0 s$' "$work/out" &&
    [ "$(tail -n 1 "$work/out")" = '3 passed, 0 failed, 1 skipped' ]; then
    passed=$((passed + 1))
else
    wrong 'run-tests does not count a program'
fi
program 'x.c:1: wrong' 1
if (cd "$work" && "$source/tools/run-tests" ./program ./program) >"$work/out" 2>&1; then
    wrong 'run-tests goes on after a failure'
elif [ "$(grep -c '^x.c:1: wrong$' "$work/out")" -eq 1 ] && grep -q '^0 passed, 1 failed, 0 skipped$' "$work/out"; then
    passed=$((passed + 1))
else
    wrong 'run-tests does not stop at a program that fails'
fi

# What runs beside others begins before them, and has ended before its folder is tested again. Here it waits for them.
mkdir -p "$work/one" "$work/two" "$work/bin"
for folder in one two; do
    mkdir "$work/$folder/meson-info"
    touch "$work/$folder/build.ninja"
    echo '[]' | tee "$work/$folder/meson-info/intro-targets.json" >"$work/$folder/meson-info/intro-tests.json"
done
printf '%s\n' '#!/bin/sh' >"$work/bin/ninja"
cat >"$work/bin/meson" <<'END'
#!/bin/sh
case "$*" in
*'one '*'--suite waits') name=beside-waits what='until [ -e two.ran ]; do sleep 0.1; done; touch one.waited' ;;
*'one '*'--no-suite waits') name=testlog what='[ -e one.waited ]' ;;
*) name=testlog what='touch two.ran' ;;
esac
result=OK
timeout 60 sh -c "$what" || result=FAIL
mkdir -p "$3/meson-logs"
printf '{"name": "t", "result": "%s", "returncode": 0, "duration": 0, "command": [], "stdout": ""}\n' $result \
    >"$3/meson-logs/$name.json"
[ $result = OK ]
END
chmod +x "$work/bin/ninja" "$work/bin/meson"
if (cd "$work" && PATH="$work/bin:$PATH" "$source/tools/run-tests" beside:one:waits two one:-waits) >"$work/out" 2>&1 &&
    [ "$(sed -n 's/^\([a-z:-]*\): 1 passed, 0 failed, 0 skipped .*/\1/p' "$work/out" | xargs)" = \
        'two beside:one:waits one:-waits' ] && [ "$(tail -n 1 "$work/out")" = '3 passed, 0 failed, 0 skipped' ]; then
    passed=$((passed + 1))
else
    wrong 'run-tests does not run one folder beside another'
fi

# A suite without tests, as by a wrong name, is no success.
printf '%s\n' '#!/bin/sh' 'echo "No suitable tests defined."' >"$work/bin/meson"
if (cd "$work" && PATH="$work/bin:$PATH" "$source/tools/run-tests" one:wiats) >"$work/out" 2>&1; then
    wrong 'run-tests takes a suite without tests'
elif grep -q '^one: no tests in suite wiats$' "$work/out" && grep -q '^0 passed, 1 failed, 0 skipped$' "$work/out"; then
    passed=$((passed + 1))
else
    wrong 'run-tests does not say that a suite has no tests'
fi

# Every row of the table has a case above.
mapfile -t checks < <(sed -n 's/^    ("\([a-z-]*\)", .*/\1/p' "$source/tools/lint")
for check in "${checks[@]}"; do
    : >"$work/out"
    if grep -q "^finds $check " "$0"; then passed=$((passed + 1)); else wrong "nothing is planted for $check"; fi
done

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]

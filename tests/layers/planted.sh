#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each rule of tools/check-layers finds the line that breaks it, and nothing in one that does not.
# usage: planted.sh CHECK_LAYERS
set -eu
check=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
passed=0
failed=0

# says WHAT FILE LINE: the check refuses a tree with this one line, and names it
says() {
    mkdir -p "$(dirname "$root/src/$2")"
    printf '%s\n' "$3" >"$root/src/$2"
    if "$check" "$root" >"$root/out" 2>&1; then
        echo "not found: $3"
        failed=$((failed + 1))
    elif grep -q "^src/$2:1: .*$1" "$root/out"; then
        passed=$((passed + 1))
    else
        echo "found otherwise: $3"
        cat "$root/out"
        failed=$((failed + 1))
    fi
    rm "$root/src/$2"
}

# allows FILE LINE
allows() {
    mkdir -p "$(dirname "$root/src/$1")"
    printf '%s\n' "$2" >"$root/src/$1"
    if "$check" "$root" >"$root/out" 2>&1; then
        passed=$((passed + 1))
    else
        echo "refused: $2"
        cat "$root/out"
        failed=$((failed + 1))
    fi
    rm "$root/src/$1"
}

says 'yyjson_get_len is for src/lib/json alone' manager/admission/x.c 'size_t n = yyjson_get_len(v);'
says 'yyjson_get_str is for src/lib/json alone' manager/admission/x.c 'put(out, yyjson_get_str(v), 3);'
says 'yyjson_mut_get_str is for' manager/admission/x.c 'const char *s = yyjson_mut_get_str(v);'
says 'yyjson_mut_get_len is for' manager/admission/x.c 'if (yyjson_mut_get_len (v)) return;'
says 'unsafe_yyjson_get_len is for' manager/admission/x.h \
    'static inline size_t n(void *v) { return unsafe_yyjson_get_len(v); }'
allows lib/json/x.c 'size_t n = unsafe_yyjson_get_len(v);'
allows manager/admission/x.c '/* yyjson_get_str is for others */ size_t n = sl_json_size(v);'
says 'yyjson_equals is for src/lib/json alone' manager/admission/x.c 'if (yyjson_equals(a, b)) return;'
says 'yyjson_mut_equals is for src/lib/json alone' manager/admission/x.c 'same = yyjson_mut_equals (a, b);'
says 'unsafe_yyjson_equals is for' manager/admission/x.h \
    'static inline bool n(void *v) { return unsafe_yyjson_equals(v, v); }'
allows lib/json/x.c 'if (yyjson_equals(a, b)) return;'
allows manager/admission/x.c 'if (yyjson_equals_str(a, "b")) return;'
says 'strcpy is banned' manager/admission/x.c 'strcpy(a, b);'
says 'initialised where it is declared' manager/admission/x.c '_cleanup_(sl_buf_done) struct sl_buf b;'
says 'initialised where it is declared' manager/admission/x.c '_cleanup_(sl_buf_done) struct sl_buf a, b = SL_BUF(64);'
says 'at the start of its line' manager/admission/x.c 'int r; _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(64);'
says 'at the start of its line' manager/admission/x.c 'struct sl_buf b _cleanup_(sl_buf_done);'
says 'at the start of its line' manager/admission/x.c \
    '__attribute__((cleanup(sl_buf_done))) struct sl_buf b = SL_BUF(64);'
says 'begins as SL_BUF' manager/admission/x.c '_cleanup_(sl_buf_done) struct sl_buf b = {0};'
allows manager/admission/x.c '_cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(64);'
allows manager/admission/x.c '_cleanup_(sl_freep) char *a = f(1, 2), *b = NULL;'

# Errors.
says 'so it returns int' manager/admission/x.c 'static bool f(int a, struct sl_err *err) {'
says 'so it returns int' manager/admission/x.c 'struct x *f(int a, struct sl_err *err) {'
says 'fills in last' manager/admission/x.c 'int f(int a, struct sl_err *err, int *ret) {'
says 'f returns the code of an error: _must_check_' manager/admission/x.h 'int f(int a, struct sl_err *err);'
says 'so it returns int' cluster/apiserver/x.c 'static int64_t f(int a, struct sl_err *err) {'
says 'fills in last' cluster/schema/x.c 'int f(const char *from, struct sl_err *err, int code, ...) {'
says 'f returns the code of an error: _must_check_' core/engine/x.h 'int f(int a, struct sl_err *err);'
allows manager/admission/x.h 'int f(int a, struct sl_err *err) _must_check_;'
allows manager/admission/x.c 'static int f(struct sl_err *err, const char *found) {'
allows manager/admission/x.c 'static void f(struct x *x, const struct sl_err *err) {'
says 'yyjson_obj_foreach is for src/lib/json alone' manager/admission/x.c 'yyjson_obj_foreach (v, i, n, key, value)'
says 'core/base may not use manager/admission' core/base/x.c '#include "manager/admission/review.h"'
says 'lib/log may not use kube/types' lib/log/x.c '#include "kube/types/field.h"'
says 'cluster/store may not use manager/config' cluster/store/x.c '#include "manager/config/config.h"'
says 'err.h is not named from src/' core/base/x.c '#include "err.h"'
says 'is not for the pure layer core/base' core/base/x.c '#include <time.h>'
says 'fork is for src/cluster/kubelet/process/spawn.c alone' manager/admission/x.c 'pid_t pid = fork();'
says '_Fork is for' cluster/kubelet/x.c 'if ((pid = _Fork()) == 0) _exit(0);'
says 'posix_spawn is for' manager/admission/x.c 'r = posix_spawn(&pid, path, NULL, NULL, argv, environ);'
says 'popen is for' cluster/kubelet/process/spawn.c 'FILE *f = popen(command, "r");'
says 'SYS_clone3 is for' manager/admission/x.c 'pid = syscall(SYS_clone3, &how, sizeof how);'
says 'fork is for' cluster/kubelet/process/spawn.c 'pid = fork();'
allows cluster/kubelet/process/spawn.c 'r = posix_spawn(&pid, path, NULL, NULL, argv, environ);'
allows cluster/kubelet/process/supervisor.c 'pid = fork(); /* not vfork() */'
allows manager/admission/x.c 'g = sl_graph_clone(m); p->fork(x);'
says 'sl_digest_str is for what leaves the process' manager/admission/x.c 'sl_map_add(&m, sl_digest_str(0, name), i);'
says 'sl_json_digest is for what leaves the process' manager/controllers/x.c 'uint64_t h = sl_json_digest(1, spec);'
allows core/base/collection/hash.c 'uint64_t sl_digest_str(uint64_t seed, const char *s) { return 0; }'
allows manager/admission/x.c 'sl_map_add(&m, sl_hash_str(0, name), i); /* not sl_digest_str() */'
says 'asked with sl_buf_full' manager/admission/x.c 'bool cut = b.overflow;'
says 'asked with sl_buf_full' manager/admission/x.h 'if (out->overflow) return;'
says 'result of snprintf is ignored' manager/admission/x.c '(void)snprintf(out, sizeof out, "%s", name);'
says 'result of snprintf is ignored' manager/admission/x.c '    snprintf(out, sizeof out, "%s", name);'
says 'result of snprintf is ignored' manager/admission/x.c 'if (f(x)) snprintf(out, sizeof out, "%s", name);'
says 'result of snprintf is ignored' manager/admission/x.c \
    '{ if (x) return; else snprintf(out, sizeof out, "%s", name); }'
says 'result of snprintf is ignored' manager/admission/x.c \
    '{ switch (x) { case 1: snprintf(out, sizeof out, "%s", name); } }'
says 'result of vsnprintf is ignored' manager/admission/x.c '(void)vsnprintf(out, sizeof out, fmt, ap);'
allows manager/admission/x.c 'size_t n = x ? 1 : (size_t)snprintf(out, sizeof out, "%s", name);'
allows manager/admission/x.c 'if (snprintf(out, sizeof out, "%s", name) < 3) return;'
allows manager/admission/x.c 'bool fits = snprintf(out, sizeof out, "%s", name) < (int)sizeof out;'
allows core/base/x.c '(void)snprintf(out, sizeof out, "%s", name);'
says 'is asked sl_arena_full' manager/controllers/x.c 'sl_arena_init(&a, CEILING_NODE);'
says 'is asked sl_arena_full' cluster/merge/x.c 'struct sl_arena a = SL_ARENA(4096); /* sl_arena_full(&a) */'
says 'is asked sl_arena_full' core/engine/x.c 'sl_arena_init(&a, 4096);'
says 'is asked sl_arena_full' manager/admission/x.c 'sl_arena_init(&a, 4096);'
says 'is asked sl_arena_full' cluster/up/x.c 'sl_arena_init(&a, 4096);'
allows manager/controllers/x.c 'sl_arena_init(&a, CEILING_NODE); if (sl_arena_full(&a)) return;'
allows cluster/schema/protobuf/protobuf.c 'sl_arena_init(&w->arena, 4096);'

says 'not by hand' manager/admission/x.c 'sl_buf_puts(b, "{\"a\":1}");'
says 'not by hand' manager/admission/x.c 'sl_buf_printf(b, ",\"%s\":%d", key, 1);'
says 'not by hand' cluster/up/x.c 'sl_buf_puts(b, "\"app.io/name\": ");'
says 'not by hand' manager/admission/x.h '#define HEAD "{\"kind\":\"List\", \"items\":["'
allows lib/json/x.c 'sl_buf_puts(b, "{\"a\":1}");'
allows manager/admission/x.c '/* "{\"a\":1}" */ sl_jw_int(w, "a", 1); f(SL_JSON_CONST({"a" : 1}));'
allows manager/admission/x.c 'sl_err_set(err, SL_EINVAL, "volume \"%s\": no such field: \"x\"", name);'

# A whole tree by the table of the check: in each component one file that uses all it may.
"$check" --edges >"$root/edges"
while read -r component others; do
    mkdir -p "$root/src/$component"
    for other in $others; do echo "#include \"$other/x.h\""; done >"$root/src/$component/edges.c"
done <"$root/edges"
: >"$root/src/main.c"

# whole WHAT: the check refuses the whole tree with these words, or, without any, takes it
whole() {
    if "$check" "$root" >"$root/out" 2>&1; then ok=yes; else ok=no; fi
    if [ $ok = yes ]; then found=; else found=$(grep "^tools/check-layers: $1\$" "$root/out" || echo another); fi
    if [ "$found" = "${1:+tools/check-layers: $1}" ]; then
        passed=$((passed + 1))
    else
        echo "a whole tree: ${1:-no fault} was expected"
        cat "$root/out"
        failed=$((failed + 1))
    fi
}

whole ''
: >"$root/src/core/model/edges.c"
whole 'core/model may use core/base and does not'
rm "$root/src/main.c" # of a part of a tree nobody can tell
whole ''

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]

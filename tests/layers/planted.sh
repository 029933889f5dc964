#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each rule of tools/check-layers finds the line that breaks it, and nothing in one that does not.
# usage: planted.sh CHECK_LAYERS
set -eu
check=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/src/api" "$root/src/base" "$root/src/json" "$root/src/runtime" \
    "$root/src/controllers" "$root/src/merge" "$root/src/schema" "$root/src/engine" "$root/src/up"
passed=0
failed=0

# says WHAT FILE LINE: the check refuses a tree with this one line, and names it
says() {
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

says 'yyjson_get_len is for src/json alone' api/x.c 'size_t n = yyjson_get_len(v);'
says 'yyjson_get_str is for src/json alone' api/x.c 'put(out, yyjson_get_str(v), 3);'
says 'yyjson_mut_get_str is for' api/x.c 'const char *s = yyjson_mut_get_str(v);'
says 'yyjson_mut_get_len is for' api/x.c 'if (yyjson_mut_get_len (v)) return;'
says 'unsafe_yyjson_get_len is for' api/x.h 'static inline size_t n(void *v) { return unsafe_yyjson_get_len(v); }'
allows json/x.c 'size_t n = unsafe_yyjson_get_len(v);'
allows api/x.c '/* yyjson_get_str is for others */ size_t n = sl_json_size(v);'
says 'yyjson_equals is for src/json alone' api/x.c 'if (yyjson_equals(a, b)) return;'
says 'yyjson_mut_equals is for src/json alone' api/x.c 'same = yyjson_mut_equals (a, b);'
says 'unsafe_yyjson_equals is for' api/x.h 'static inline bool n(void *v) { return unsafe_yyjson_equals(v, v); }'
allows json/x.c 'if (yyjson_equals(a, b)) return;'
allows api/x.c 'if (yyjson_equals_str(a, "b")) return;'
says 'strcpy is banned' api/x.c 'strcpy(a, b);'
says 'initialised where it is declared' api/x.c '_cleanup_(sl_buf_done) struct sl_buf b;'
says 'initialised where it is declared' api/x.c '_cleanup_(sl_buf_done) struct sl_buf a, b = SL_BUF(64);'
says 'at the start of its line' api/x.c 'int r; _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(64);'
says 'at the start of its line' api/x.c 'struct sl_buf b _cleanup_(sl_buf_done);'
says 'at the start of its line' api/x.c '__attribute__((cleanup(sl_buf_done))) struct sl_buf b = SL_BUF(64);'
says 'begins as SL_BUF' api/x.c '_cleanup_(sl_buf_done) struct sl_buf b = {0};'
allows api/x.c '_cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(64);'
allows api/x.c '_cleanup_(sl_freep) char *a = f(1, 2), *b = NULL;'
says 'yyjson_obj_foreach is for src/json alone' api/x.c 'yyjson_obj_foreach (v, i, n, key, value)'
says 'base may not use api' base/x.c '#include "api/review.h"'
says 'is not for the pure layer base' base/x.c '#include <time.h>'
says 'fork is for src/runtime/spawn.c alone' api/x.c 'pid_t pid = fork();'
says '_Fork is for' runtime/x.c 'if ((pid = _Fork()) == 0) _exit(0);'
says 'posix_spawn is for' api/x.c 'r = posix_spawn(&pid, path, NULL, NULL, argv, environ);'
says 'popen is for' runtime/spawn.c 'FILE *f = popen(command, "r");'
says 'SYS_clone3 is for' api/x.c 'pid = syscall(SYS_clone3, &how, sizeof how);'
says 'fork is for' runtime/spawn.c 'pid = fork();'
allows runtime/spawn.c 'r = posix_spawn(&pid, path, NULL, NULL, argv, environ);'
allows runtime/supervisor.c 'pid = fork(); /* not vfork() */'
allows api/x.c 'g = sl_graph_clone(m); p->fork(x);'
says 'sl_digest_str is for what leaves the process' api/x.c 'sl_map_add(&m, sl_digest_str(0, name), i);'
says 'sl_json_digest is for what leaves the process' controllers/x.c 'uint64_t h = sl_json_digest(1, spec);'
allows base/hash.c 'uint64_t sl_digest_str(uint64_t seed, const char *s) { return 0; }'
allows api/x.c 'sl_map_add(&m, sl_hash_str(0, name), i); /* not sl_digest_str() */'
says 'asked with sl_buf_full' api/x.c 'bool cut = b.overflow;'
says 'asked with sl_buf_full' api/x.h 'if (out->overflow) return;'
says 'result of snprintf is ignored' api/x.c '(void)snprintf(out, sizeof out, "%s", name);'
says 'result of snprintf is ignored' api/x.c '    snprintf(out, sizeof out, "%s", name);'
says 'result of snprintf is ignored' api/x.c 'if (f(x)) snprintf(out, sizeof out, "%s", name);'
says 'result of snprintf is ignored' api/x.c '{ if (x) return; else snprintf(out, sizeof out, "%s", name); }'
says 'result of snprintf is ignored' api/x.c '{ switch (x) { case 1: snprintf(out, sizeof out, "%s", name); } }'
says 'result of vsnprintf is ignored' api/x.c '(void)vsnprintf(out, sizeof out, fmt, ap);'
allows api/x.c 'size_t n = x ? 1 : (size_t)snprintf(out, sizeof out, "%s", name);'
allows api/x.c 'if (snprintf(out, sizeof out, "%s", name) < 3) return;'
allows api/x.c 'bool fits = snprintf(out, sizeof out, "%s", name) < (int)sizeof out;'
allows base/x.c '(void)snprintf(out, sizeof out, "%s", name);'
says 'is asked sl_arena_full' controllers/x.c 'sl_arena_init(&a, CEILING_NODE);'
says 'is asked sl_arena_full' merge/x.c 'struct sl_arena a = SL_ARENA(4096); /* sl_arena_full(&a) */'
says 'is asked sl_arena_full' engine/x.c 'sl_arena_init(&a, 4096);'
says 'is asked sl_arena_full' api/x.c 'sl_arena_init(&a, 4096);'
says 'is asked sl_arena_full' up/x.c 'sl_arena_init(&a, 4096);'
allows controllers/x.c 'sl_arena_init(&a, CEILING_NODE); if (sl_arena_full(&a)) return;'
allows schema/wire.c 'sl_arena_init(&w->arena, 4096);'

says 'not by hand' api/x.c 'sl_buf_puts(b, "{\"a\":1}");'
says 'not by hand' api/x.c 'sl_buf_printf(b, ",\"%s\":%d", key, 1);'
says 'not by hand' up/x.c 'sl_buf_puts(b, "\"app.io/name\": ");'
says 'not by hand' api/x.h '#define HEAD "{\"kind\":\"List\", \"items\":["'
allows json/x.c 'sl_buf_puts(b, "{\"a\":1}");'
allows api/x.c '/* "{\"a\":1}" */ sl_jw_int(w, "a", 1); f(SL_JSON_CONST({"a" : 1}));'
allows api/x.c 'sl_err_set(err, SL_EINVAL, "volume \"%s\": no such field: \"x\"", name);'

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each rule of tools/check-names finds the header or the object that breaks it, and nothing in one that does not.
# usage: names.sh CHECK_NAMES
set -eu
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/src/core/engine" "$root/src/core/topo" "$root/src/lib/log" "$root/build/src/core/engine"
check=$root/check-names
passed=0
failed=0

# The rules with a table of three components.
table() {
    awk -v rows="$1" '
        /^OWNERS = \{/ { print; print rows; skip = 1; next }
        skip && /^}/ { skip = 0 }
        !skip { print }
    ' "$2" >"$check"
    chmod +x "$check"
}
rows='    "core/engine": ("eng_", "engine placer"),
    "core/topo": ("topo_", "topo"),
    "lib/log": ("log_", "log"),'
table "$rows" "$1"

# says WHAT [LIBRARY]: the check refuses the tree, and says so
says() {
    if "$check" "$root" ${2+"$2"} >"$root/out" 2>&1; then
        echo "not found: $1"
        failed=$((failed + 1))
    elif grep -q "$1" "$root/out"; then
        passed=$((passed + 1))
    else
        echo "found otherwise: $1"
        cat "$root/out"
        failed=$((failed + 1))
    fi
}

# allows [LIBRARY]
allows() {
    if "$check" "$root" ${1+"$1"} >"$root/out" 2>&1; then
        passed=$((passed + 1))
    else
        echo "refused:"
        cat "$root/out"
        failed=$((failed + 1))
    fi
}

# one HEADER TEXT
one() {
    printf '%s\n' "$2" >"$root/src/$1"
}

one core/engine/state.h '/* struct node { is a comment */
#ifndef SL_ENGINE_STATE_H
#define SL_ENGINE_STATE_H
#define ENG_NONE 7
struct sl_log;
struct eng_node { int v; enum eng_mode { ENG_A, ENG_B = 2 } mode; };
typedef int (*eng_apply_fn)(struct eng_node *n);
typedef struct { int v; } sl_engine_id;
typedef void eng_command(struct eng_node *n);
TAILQ_HEAD(eng_nodes, eng_node);
int eng_fit(struct eng_node *n) __attribute__((nonnull(1)));
struct eng_node *sl_engine_new(void (*done)(void *ctx), void *ctx) _must_check_;
void sl_engine_say(const char *fmt, ...) _printf_(1, 2);
static inline int eng_used(const struct eng_node *n) { return n->v; }
extern const char *const eng_words[2], sl_engine_name[];
_Static_assert(1, "words");
#endif'
one core/topo/state.h '#define TOPO_NONE 7
struct topo_node { int v; };'
allows
# ---- prefixes ----
one core/topo/x.h 'struct node { int v; };'
says '^src/core/topo/x.h:1: tag node has no prefix of core/topo (topo_ or one of its nouns)'
one core/topo/x.h 'int fit(int a);'
says '^src/core/topo/x.h:1: function fit has no prefix'
one core/topo/x.h '

extern int kinds[3];'
says '^src/core/topo/x.h:3: variable kinds has no prefix'
one core/topo/x.h 'typedef int amount;'
says '^src/core/topo/x.h:1: typedef amount has no prefix'
one core/topo/x.h 'typedef bool (*drop_fn)(const char *key, bool label);'
says '^src/core/topo/x.h:1: typedef drop_fn has no prefix'
one core/topo/x.h 'static inline int used(int a) { return a; }'
says '^src/core/topo/x.h:1: inline used has no prefix'
one core/topo/x.h 'static inline int eng_more(int a) { return a; }'
says '^src/core/topo/x.h:1: inline eng_more has no prefix of core/topo'
one core/topo/x.h 'int sl_topology_new(void);'
says 'function sl_topology_new has no prefix'
one core/topo/x.h 'TAILQ_HEAD(places, topo_node);'
says 'tag places has no prefix'
one core/topo/x.h 'int sl_topo_new(void); struct sl_engine *topo_use(struct sl_engine *e); struct sl_topo { int v; };'
allows
# ---- one meaning ----
one core/topo/x.h 'struct topo_node { int w; };'
says '^src/core/topo/state.h:2: tag topo_node is defined in 2 headers: src/core/topo/x.h:1'
one core/topo/x.h 'enum topo_mode { ENG_B };'
says 'constant ENG_B is defined in 2 headers'
one core/topo/x.h '#define TOPO_NONE 8'
says 'macro TOPO_NONE is defined in 2 headers'
one core/topo/x.h '#define ROW(x) x
#undef ROW'
one lib/log/x.h '#define ROW(x) x
#undef ROW'
allows
rm "$root/src/lib/log/x.h" "$root/src/core/topo/x.h"
# ---- folders ----
mkdir "$root/src/lib/new"
one lib/new/x.h 'int new_f(void);'
says '^src/lib/new/x.h:1: its folder is in no row'
rm -r "$root/src/lib/new"
# ---- what is linked ----
library=$root/build/src/core/engine/libsl_engine.a
# object TEXT
object() {
    printf '%s\n' "$1" | ${CC:-cc} -x c -c -o "$root/a.c.o" -
    rm -f "$library"
    ar rc "$library" "$root/a.c.o"
}
object 'int eng_fit(void) { return 0; } int sl_engine_f; static int fit(void) { return 0; }
int sl_placer(void) { return fit(); }'
allows "$library"
object 'int eng_fit(void) { return 0; } int decide(void) { return 0; }'
says '^src/core/engine/a.c: decide has no prefix of core/engine (eng_ or one of its nouns)' "$library"
object 'int kinds[3] = {1};'
says 'a.c: kinds has no prefix' "$library"
object 'int sl_topo_new(void) { return 0; }'
says 'a.c: sl_topo_new has no prefix of core/engine' "$library"
object 'int engine_new(void) { return 0; }'
says 'a.c: engine_new has no prefix' "$library"
# ---- the table itself ----
table "$rows
    \"core/graph\": (\"graph_\", \"topo\")," "$1"
says 'sl_topo belongs to core/topo and core/graph'
table "$rows" "$1"
touch "$root/meson.build"
says 'no name begins with sl_log'

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules by number: each is a script (script.h) that both matchers have to follow. Numbers are
 * those of the description that docs/graph.md grew from: 1 the graph, 3 requests, 5 filters, 6
 * verbs, 7 the walk, 8 policies, 9 jobs. "Ours" marks what other schedulers of such graphs do
 * otherwise.
 */
#ifndef SL_TESTS_CORE_GRAPH_RULES_H
#define SL_TESTS_CORE_GRAPH_RULES_H

#include "core/base/macros.h"

struct rule {
    const char *name, *script;
};

/* Ended by an empty one. */
extern const struct rule rules_graph[], rules_verbs[], rules_walk[], rules_policy[], rules_jobs[];

#endif

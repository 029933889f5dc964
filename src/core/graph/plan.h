/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A planner: free amounts of one pool over time. Spans [at, at + length) take amounts; free at a
 * moment is the total less what the spans that cover it take. Times are whole seconds within the
 * planner's own [start, end); between two points nothing changes.
 *
 * A point is a time at which the amount taken changes. The points are in a balanced tree, each with
 * its change and with the sum, the greatest and the least running sum of the changes of its
 * subtree. So adding and removing a span and the least free amount of a window are O(log n), n
 * being the number of points, and the earliest time at which an amount is free for so long is O(log
 * n) for each interval before it in which there is too little.
 *
 * Nodes are numbers in one array, so that a copy is a copy of arrays. A planner without spans owns
 * no array. Pure; not thread-safe.
 */
#ifndef SL_CORE_GRAPH_PLAN_H
#define SL_CORE_GRAPH_PLAN_H

#include "core/base/collection/vec.h"
#include "core/base/err.h"

#define SL_PLAN_NEVER INT64_MAX
#define SL_PLAN_MAX_SPANS (UINT32_C(1) << 24)
/* Of a total, and of all that is taken at a moment. */
#define SL_PLAN_MAX_AMOUNT (INT64_C(1) << 61)

struct sl_plan;

/* start < end; total from 0 to SL_PLAN_MAX_AMOUNT. */
struct sl_plan *sl_plan_new(int64_t start, int64_t end, int64_t total);
struct sl_plan *sl_plan_clone(const struct sl_plan *p);
void sl_plan_free(struct sl_plan *p);
int64_t sl_plan_total(const struct sl_plan *p);
/* More or less of it; may fall below what is taken, and then free amounts are negative. */
void sl_plan_set_total(struct sl_plan *p, int64_t total);

/* The span must be one: length > 0, amount >= 0, within the planner's time (SL_EINVAL); and it must
 * fit: that much free (SL_ELIMIT). An amount of 0 always fits. Numbers of spans that were removed
 * are given out again. */
int sl_plan_add(struct sl_plan *p, int64_t at, int64_t length, int64_t amount, uint32_t *ret_span,
                struct sl_err *err) _must_check_;
/* The same without checking whether it is free. More than SL_PLAN_MAX_AMOUNT taken at a moment is
 * SL_ELIMIT. */
int sl_plan_force(struct sl_plan *p, int64_t at, int64_t length, int64_t amount, uint32_t *ret_span,
                  struct sl_err *err) _must_check_;
/* False if there is no such span. */
bool sl_plan_remove(struct sl_plan *p, uint32_t span);
/* Takes this much less; all of it removes the span. False if the span has less, or is none. */
bool sl_plan_reduce(struct sl_plan *p, uint32_t span, int64_t amount);
uint32_t sl_plan_spans(const struct sl_plan *p);
uint32_t sl_plan_points(const struct sl_plan *p);
/* Bytes that it holds. */
size_t sl_plan_bytes(const struct sl_plan *p);

/* A time that is not the planner's: INT64_MIN. */
int64_t sl_plan_free_at(const struct sl_plan *p, int64_t at);
/* The least that is free at any moment of the window. A window that is empty or not within the
 * planner's time: INT64_MIN. */
int64_t sl_plan_free_during(const struct sl_plan *p, int64_t at, int64_t length);
/* The earliest time, 'from' or later, from which on amount is free for length and the planner's
 * time does not end; SL_PLAN_NEVER if there is none. It is 'from' (or the planner's start), or a
 * point at which less is taken than before it. */
int64_t sl_plan_earliest(const struct sl_plan *p, int64_t from, int64_t length, int64_t amount);

/* Several resources at once: planners of equal time, whose spans have the same numbers. */
struct sl_plans;
struct sl_plans *sl_plans_new(int64_t start, int64_t end, const int64_t *totals, uint32_t n);
struct sl_plans *sl_plans_clone(const struct sl_plans *p);
void sl_plans_free(struct sl_plans *p);
uint32_t sl_plans_count(const struct sl_plans *p);
const struct sl_plan *sl_plans_get(const struct sl_plans *p, uint32_t i);
void sl_plans_set_total(struct sl_plans *p, uint32_t i, int64_t total);
/* One more resource, as the last. Spans that are there take nothing of it. */
void sl_plans_grow(struct sl_plans *p, int64_t total);
/* An amount of each; 0 takes nothing. All or nothing. */
int sl_plans_add(struct sl_plans *p, int64_t at, int64_t length, const int64_t *amounts,
                 uint32_t *ret_span, struct sl_err *err) _must_check_;
bool sl_plans_remove(struct sl_plans *p, uint32_t span);
/* All or nothing; a span that has nothing left is removed. */
bool sl_plans_reduce(struct sl_plans *p, uint32_t span, const int64_t *amounts);
bool sl_plans_fit(const struct sl_plans *p, int64_t at, int64_t length, const int64_t *amounts);
/* The earliest time from which on all amounts are free for length. */
int64_t sl_plans_earliest(const struct sl_plans *p, int64_t from, int64_t length,
                          const int64_t *amounts);

#endif

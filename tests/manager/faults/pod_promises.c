/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histories with --timed: those of --exact in which most units and the pods of the queue on the
 * graph say how long they run at most, so that Workloads for which there is no room get
 * reservations (docs/fluxqueue.md).
 *
 * A Workload that was shown a start is admitted no later than GRACE after it, unless an event
 * StartDelayed has said otherwise since. A leader does not know what another one has promised, and
 * means another time after its clock was set: then nothing is judged. Nor is a Workload that is
 * inactive, or whose queue is stopped, which its condition says, or that is started by one who
 * leads no longer.
 *
 * A fault that was planted: without the event in tell_delay (decide.c) history 20 is the first that
 * finds it.
 */
#include "core/base/stamp.h"
#include "pods.h"

#define GRACE (31 * SL_SEC) /* of the engine, and the second that a stamp cuts off */
#define SHOWN "nodes and quota are reserved for it from "

uint32_t promises_limit(struct world *w, uint32_t unit) {
    return pods_of(w)->timed && unit % 4 != 3 ? 30 + 20 * unit : 0;
}

static const char *message_of(yyjson_val *wl) {
    return sl_json_str(sl_json_find(sl_json_at(wl, "status.conditions"), "type", "QuotaReserved"),
                       "message");
}

/* By the clock of whoever wrote it; 0: none is shown. */
static sl_time shown_start(yyjson_val *wl) {
    const char *at = strstr(message_of(wl), SHOWN);
    char text[SL_STAMP_TEXT] = "";
    sl_time start = 0;
    if (!at)
        return 0;
    at += strlen(SHOWN);
    size_t n = strcspn(at, " ");
    if (n >= sizeof text)
        return 0;
    memcpy(text, at, n);
    return sl_stamp_parse(text, &start) ? start : 0;
}

static struct promise *find_promise(struct world *w, yyjson_val *o, const char *name) {
    struct pods *p = pods_of(w);
    for (uint32_t i = 0; i < MAX_PROMISES; i++)
        if (strcmp(p->promises[i].name, sl_json_str(o, name)) == 0)
            return &p->promises[i];
    return NULL;
}

static struct promise *new_promise(struct world *w) {
    struct pods *p = pods_of(w);
    for (uint32_t i = 0; i < MAX_PROMISES; i++)
        if (!*p->promises[i].name)
            return &p->promises[i];
    world_fail(w, "more than %u Workloads have reservations", MAX_PROMISES);
    return NULL;
}

static void judge(struct world *w, const struct fakeapi_change *c, struct promise *x,
                  sl_span clock) {
    sl_span late = fakeapi_now(w->api) + x->clock - x->start;
    if (x->made < w->leads_since || x->clock != clock)
        return;
    pods_of(w)->kept += late <= GRACE;
    pods_of(w)->put_off += late > GRACE;
    if (late > GRACE && x->told < x->made)
        world_fail(w, "%s is admitted %lld s later than promised, and nobody was told", c->key,
                   (long long)(late / SL_SEC));
}

static void workload_changed(struct world *w, const struct fakeapi_change *c) {
    struct promise *x = find_promise(w, c->now ? c->now : c->before, "metadata.name");
    if (!c->now || !sl_json_bool(c->now, "spec.active", true) || world_is(c->now, "Finished") ||
        strstr(message_of(c->now), " inactive") || strstr(message_of(c->now), " stopped")) {
        if (x)
            *x = (struct promise){0};
        return;
    }
    if (c->client == FAKEAPI_NOBODY)
        return;
    if (world_is_late(w, c)) {
        if (world_holds(c->now) && x)
            *x = (struct promise){0}; /* it has started, whoever decided that */
        return;
    }
    sl_span clock = fakeapi_port(w->api, c->client)->wall - fakeapi_now(w->api);
    sl_time start = world_holds(c->now) ? 0 : shown_start(c->now);
    if (world_holds(c->now) && x) {
        judge(w, c, x, clock);
        *x = (struct promise){0};
    } else if (start && (!x || x->made < w->leads_since || x->clock != clock || start < x->start ||
                         x->told >= x->made)) {
        x = x ? x : new_promise(w);
        if (!x)
            return;
        *x = (struct promise){.start = start, .made = fakeapi_now(w->api), .clock = clock};
        (void)snprintf(x->name, sizeof x->name, "%s", sl_json_str(c->now, "metadata.name"));
        world_tell(w, "    %s is to start at %.0f", x->name, (double)(start - clock) / 1e9);
    }
}

void promises_noticed(struct world *w, const struct fakeapi_change *c) {
    if (!pods_of(w) || !pods_of(w)->timed || w->failed)
        return;
    if (strcmp(c->kind->plural, "workloads") == 0)
        workload_changed(w, c);
    if (strcmp(c->kind->plural, "events") != 0 || !c->now ||
        strcmp(sl_json_str(c->now, "reason"), "StartDelayed") != 0)
        return;
    struct promise *x = find_promise(w, c->now, "regarding.name");
    if (x)
        x->told = fakeapi_now(w->api);
}

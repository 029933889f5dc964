/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages and what happens to them. A message is on its way to each receiver by itself, and what
 * goes wrong is decided when it is published; whether anybody is there, when it arrives.
 */
#include <stddef.h>
#include <string.h>

#include "fakenats_int.h"

const char *const fakenats_fault_names[FAKENATS_FAULTS] = {
    "lose",    "delay", "reorder", "duplicate",  "poison",   "outage",
    "silence", "deny",  "move",    "disconnect", "partition"};
_Static_assert(offsetof(struct fakenats_faults, partition) ==
                   (FAKENATS_FAULTS - 1) * sizeof(uint32_t),
               "names are in the order of the struct");

static bool one_in(struct fakenats *n, const uint32_t *odds) {
    if (!*odds || !sl_prng_one_in(&n->prng, *odds))
        return false;
    n->stats.struck[odds - &n->faults.lose]++;
    return true;
}

static sl_time within(struct fakenats *n, sl_span longest) {
    return fakeapi_now(n->api) + sl_prng_range(&n->prng, SL_MSEC, longest);
}

bool fakenats_matches(const char *pattern, const char *subject) {
    for (;;) {
        size_t p = strcspn(pattern, "."), s = strcspn(subject, ".");

        if (p == 1 && *pattern == '>')
            return s > 0;
        if (s == 0 || !((p == 1 && *pattern == '*') || (p == s && !memcmp(pattern, subject, p))))
            return false;
        if (!pattern[p] || !subject[s])
            return pattern[p] == subject[s];
        pattern += p + 1;
        subject += s + 1;
    }
}

static bool is_subscribed(const struct conn *k, const char *subject) {
    for (uint32_t i = 0; i < k->subjects.n; i++)
        if (!k->subjects.v[i].refused && fakenats_matches(k->subjects.v[i].name, subject))
            return true;
    return false;
}

/* ---- on the way ---- */

static void arrive(void *ctx, uint64_t at) {
    struct fakenats *n = ctx;
    struct flight f = n->flights.v[at];
    struct client *c = &n->clients[f.client];
    struct conn *k = fn_conn(c, f.conn);

    n->flights.v[at] = (struct flight){0};
    *sl_vec_push(&n->free_flights) = (uint32_t)at;
    if (k && k->epoch == f.epoch && k->server != NO_SERVER &&
        !fn_is_silent(n, &n->servers[k->server]) && is_subscribed(k, f.subject))
        fn_put_message(c, k, f.subject, f.data, f.len);
    sl_freep(&f.subject);
    sl_freep(&f.data);
}

static void send_to(struct fakenats *n, struct client *c, const struct conn *k, const char *subject,
                    struct sl_text data, sl_time when) {
    struct flight f = {.client = (uint32_t)(c - n->clients), .conn = k->id, .epoch = k->epoch};
    uint32_t at = n->free_flights.n ? sl_vec_pop(&n->free_flights) : n->flights.n;

    f.subject = sl_strdup(subject);
    f.data = sl_alloc(data.n + 1);
    memcpy(f.data, data.s, data.n);
    f.len = data.n;
    if (at == n->flights.n)
        (void)sl_vec_push(&n->flights);
    n->flights.v[at] = f;
    fakeapi_at(n->api, when, arrive, n, at);
}

static void pass_on(struct fakenats *n, struct client *c, const struct conn *k, const char *subject,
                    struct sl_text data) {
    const struct fakenats_faults *f = &n->faults;
    sl_time when = within(n, 3 * SL_MSEC);

    if (one_in(n, &f->lose))
        return;
    if (one_in(n, &f->delay))
        when = within(n, 5 * SL_SEC);
    if (one_in(n, &f->reorder))
        when += sl_prng_range(&n->prng, SL_SEC, 90 * SL_SEC);
    if (one_in(n, &f->poison))
        data.s = fakenats_poison(n, (uint32_t)sl_prng_below(&n->prng, FAKENATS_POISONS), &data.n);
    send_to(n, c, k, subject, data, when);
    if (one_in(n, &f->duplicate))
        send_to(n, c, k, subject, data, within(n, 5 * SL_SEC));
}

/* ---- servers go wrong while they are used ---- */

static void inject_fault(struct fakenats *n, uint32_t server) {
    const struct fakenats_faults *f = &n->faults;

    if (one_in(n, &f->outage))
        fakenats_outage(n, server,
                        within(n, sl_prng_one_in(&n->prng, 3) ? 10 * SL_MINUTE : SL_MINUTE));
    if (one_in(n, &f->silence))
        fakenats_silence(n, server, within(n, f->longest_silence));
    if (one_in(n, &f->deny))
        fakenats_deny(n, server, within(n, 2 * SL_MINUTE));
    if (one_in(n, &f->move))
        fakenats_move(n, server, within(n, 30 * SL_SEC));
    if (one_in(n, &f->disconnect))
        fakenats_cut(n, server);
    if (one_in(n, &f->partition))
        fakenats_partition(n, (uint32_t)sl_prng_below(&n->prng, 2), within(n, 5 * SL_MINUTE));
}

void fakenats_some_faults(struct sl_prng *p, uint32_t rarely, struct fakenats_faults *ret) {
    uint32_t *all = &ret->lose;

    *ret = (struct fakenats_faults){.longest_silence = 20 * SL_SEC};
    for (uint32_t i = 0; i < FAKENATS_FAULTS; i++) {
        uint32_t least = &all[i] >= &ret->outage ? rarely : 10;
        uint32_t odds = (uint32_t)sl_prng_range(p, least, 8 * (int64_t)least);
        all[i] = sl_prng_one_in(p, 2) ? odds : 0;
    }
}

void fakenats_set_faults(struct fakenats *n, const struct fakenats_faults *f) {
    sl_time now = fakeapi_now(n->api);

    n->faults = f ? *f : (struct fakenats_faults){0};
    if (f)
        return;
    for (uint32_t i = 0; i < n->n_servers; i++) {
        struct server *s = &n->servers[i];
        s->down_until = s->denied_until = now;
        s->silent_until = s->silent_until > now ? now : s->silent_until;
    }
    for (uint32_t i = 0; i < FAKENATS_CLIENTS; i++)
        n->clients[i].cut_until = now;
}

void fakenats_publish(struct fakenats *n, uint32_t server, const char *subject, const char *data,
                      size_t len) {
    const struct server *s = &n->servers[server];

    n->stats.published++;
    inject_fault(n, server);
    if (fakeapi_now(n->api) < s->down_until || fn_is_silent(n, s))
        return;
    for (uint32_t i = 0; i < FAKENATS_CLIENTS; i++)
        for (uint32_t j = 0; j < MAX_CONNS; j++) {
            struct client *c = &n->clients[i];
            const struct conn *k = &c->conns[j];
            if (k->id && k->server != NO_SERVER && k->cluster == s->s.cluster)
                pass_on(n, c, k, subject, (struct sl_text){data, len});
        }
}

/* ---- poison ---- */

#define SEVEN                                                                                      \
    "\"a:NoSchedule\",\"b:NoSchedule\",\"c:NoSchedule\",\"d:NoSchedule\",\"e:NoSchedule\","        \
    "\"f:NoSchedule\",\"g:NoSchedule\""

static const char *const poisons[] = {
    "",
    "null",
    "[]",
    "{",
    "\"\"",
    "cpu=85",
    "\xff\xfe{}",
    "{\"quotas\":7}",
    "{\"quotas\":[\"cpu\"]}",
    "{\"quotas\":{\"cpu\":-1}}",
    "{\"quotas\":{\"cpu\":\"-5\"}}",
    "{\"quotas\":{\"cpu\":NaN}}",
    "{\"quotas\":{\"cpu\":\"NaN\"}}",
    "{\"quotas\":{\"cpu\":1e999}}",
    "{\"quotas\":{\"cpu\":true,\"memory\":{},\"pods\":[]}}",
    "{\"quotas\":{\"cpu\":\"1\",\"cpu\":\"1000\"}}",
    "{\"quotas\":{\"cpu\":\"1\"},\"quotas\":{}}",
    "{\"quotas\":{\"no name\":1}}",
    "{\"quotas\":{\"cpu\":\"1\\u0000\"}}",
    "{\"quotas\":{\"cpu\":\"1\"},\"labels\":7}",
    "{\"quotas\":{\"cpu\":\"1\"},\"taints\":[" SEVEN ",\"h:NoSchedule\"]}",
    "{\"quotas\":{\"cpu\":\"1\"},\"taints\":{}}",
};

/* The last two are long: nested deeply, and longer than a message may be. */
const char *fakenats_poison(struct fakenats *n, uint32_t i, size_t *ret_len) {
    sl_assert(i < FAKENATS_POISONS);
    if (i < SL_LEN(poisons)) {
        *ret_len = strlen(poisons[i]);
        return poisons[i];
    }
    *ret_len = i == SL_LEN(poisons) ? 5000 : SL_NATS_MAX_MESSAGE + 1;
    sl_freep(&n->poison);
    n->poison = sl_alloc(*ret_len);
    memset(n->poison, '[', *ret_len);
    return n->poison;
}
_Static_assert(SL_LEN(poisons) + 2 == FAKENATS_POISONS, "fakenats.h says how many");

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice pool publish`: one message at once and then one in each period. What is printed on
 * standard output the server has confirmed.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/pool_cmd.h"
#include "core/base/fmt.h"
#include "kube/types/syntax.h"
#include "lib/json/writer.h"
#include "manager/masterqueue/payload.h"

#define EVERY (30 * SL_SEC)
#define WAIT (10 * SL_SEC)
#define LINGER_MS 100u /* a refusal comes just after the confirmation of what it refuses */
#define MAX_COUNT 1000000000u

static const struct {
    enum cli_pool_opt opt;
    const char *resource;
} quotas[] = {
    {SL_POOL_OPT_CPU, "cpu"},
    {SL_POOL_OPT_MEMORY, "memory"},
    {SL_POOL_OPT_PODS, "pods"},
    {SL_POOL_OPT_GPU, "nvidia.com/gpu"},
};

struct publishing {
    struct cli_pool pool;
    struct sl_buf subject, payload;
    uint64_t count, done; /* 0: without end */
    uint64_t sent;
    bool ending;
    uint32_t errors; /* of the server, at the last message */
};

/* ---- what is published ---- */

/* Each part of a list, as one string of the array. */
static void write_list(struct sl_jw *w, const char *key, const char *list) {
    sl_jw_array(w, key);
    for (const char *s = list; s && *s; s += *s == ',') {
        size_t n = strcspn(s, ",");
        sl_jw_text(w, NULL, (struct sl_text){s, n});
        s += n;
    }
    sl_jw_end(w);
}

/* NAME=QTY,... as fields. */
static int write_resources(struct sl_jw *w, const char *list, struct sl_err *err) {
    for (const char *s = list; s && *s; s += *s == ',') {
        size_t n = strcspn(s, ",");
        const char *eq = memchr(s, '=', n);
        char name[320];
        if (!eq || eq == s || (size_t)(eq - s) >= sizeof name)
            return sl_err_set(err, SL_EINVAL, "--resource: expected NAME=QTY, found '%.*s'",
                              (int)(n < 60 ? n : 60), s);
        memcpy(name, s, (size_t)(eq - s));
        name[eq - s] = '\0';
        sl_jw_text(w, name, (struct sl_text){eq + 1, (size_t)(s + n - eq - 1)});
        s += n;
    }
    return 0;
}

static int write_raw(const struct cli_args *a, struct sl_buf *out, struct sl_err *err) {
    struct sl_jw w = SL_JW(out);

    sl_jw_object(&w, NULL);
    sl_jw_object(&w, "quotas");
    for (size_t i = 0; i < SL_LEN(quotas); i++)
        if (a->opts[quotas[i].opt])
            sl_jw_str(&w, quotas[i].resource, a->opts[quotas[i].opt]);
    int r = write_resources(&w, a->opts[SL_POOL_OPT_RESOURCE], err);
    if (r < 0)
        return r;
    sl_jw_end(&w);
    write_list(&w, "labels", a->opts[SL_POOL_OPT_LABEL]);
    write_list(&w, "taints", a->opts[SL_POOL_OPT_TAINT]);
    sl_jw_end_to(&w, 0);
    return sl_buf_full(out) ? sl_err_set(err, SL_ELIMIT, "the message is longer than %zu bytes",
                                         SL_POOL_MAX_BYTES)
                            : 0;
}

/* By the rules of those who read it, and as a provider writes it. */
static int make_payload(const struct cli_args *a, struct sl_buf *out, struct sl_err *err) {
    _cleanup_(sl_buf_done) struct sl_buf raw = SL_BUF(SL_POOL_MAX_BYTES);
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA((size_t)1 << 20);
    struct sl_pool_payload p;
    int r = write_raw(a, &raw, err);

    if (r < 0) {
        (void)sl_buf_full(&raw);
        return r;
    }
    r = sl_pool_payload_read(sl_buf_str(&raw), raw.len, &arena, &p, err);
    if (r < 0)
        return r;
    if (p.n_left_out > 0)
        return sl_err_set(err, SL_EINVAL, "%s", p.left_out);
    if (p.n_quotas == 0)
        return sl_err_set(err, SL_EINVAL,
                          "expected what the pool has: --cpu, --memory, --pods, --gpu, --resource");
    sl_pool_payload_print(&p, out);
    return sl_buf_full(out) ? sl_err_set(err, SL_ELIMIT, "the message is too long") : 0;
}

static int make_subject(const struct cli_args *a, struct sl_buf *out, struct sl_err *err) {
    const char *pool = a->opts[SL_POOL_OPT_POOL];

    if (!pool)
        return sl_err_set(err, SL_EINVAL, "expected --pool=NAME");
    if (sl_syntax_dns_label(pool, strlen(pool)).n > 0)
        return sl_err_set(
            err, SL_EINVAL,
            "--pool: expected at most 63 lower-case letters, digits and '-', found '%.64s'", pool);
    sl_buf_printf(out, "%s.%s", cli_pool_subject(a), pool);
    return sl_buf_full(out) ? sl_err_set(err, SL_ELIMIT, "the subject is longer than %u bytes",
                                         SL_NATS_MAX_SUBJECT)
                            : 0;
}

static int read_count(const struct cli_args *a, uint64_t *ret, struct sl_err *err) {
    const char *text = a->opts[SL_POOL_OPT_COUNT];
    char *end;

    if (!text)
        return 0;
    *ret = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || strlen(text) > 10 || *ret == 0 || *ret > MAX_COUNT)
        return sl_err_set(err, SL_EINVAL, "--count=%.40s: expected a number from 1 to %u", text,
                          MAX_COUNT);
    return 0;
}

/* ---- when ---- */

static void on_end(uv_timer_t *h) {
    uv_stop(h->loop);
}

static void end_after(struct publishing *p, uint64_t ms) {
    p->ending = true;
    (void)uv_timer_stop(&p->pool.timer);
    (void)uv_timer_start(&p->pool.deadline, on_end, ms, 0);
}

static void send_now(struct publishing *p) {
    struct sl_err err;

    /* The subject was checked, and one message does not reach a ceiling. */
    if (sl_nats_client_publish(p->pool.client, p->pool.conn, sl_buf_str(&p->subject),
                               sl_buf_str(&p->payload), p->payload.len, &err) < 0) {
        fprintf(p->pool.args->term->err, "%s\n", err.text);
        p->pool.n_errors++;
        uv_stop(&p->pool.loop);
        return;
    }
    p->sent++;
    if (p->count)
        (void)uv_timer_start(
            &p->pool.deadline, on_end,
            (uint64_t)(cli_pool_span(p->pool.args, SL_POOL_OPT_WAIT, WAIT) / SL_MSEC), 0);
}

static void on_period(uv_timer_t *h) {
    send_now(SL_CONTAINER_OF((struct cli_pool *)h->data, struct publishing, pool));
}

/* Has the server got it? */
static void on_turn(struct cli_pool *pool) {
    struct publishing *p = SL_CONTAINER_OF(pool, struct publishing, pool);

    if (p->sent == p->done || sl_nats_client_unsent(pool->client, pool->conn) > 0)
        return;
    p->done = p->sent;
    (void)uv_timer_stop(&pool->deadline);
    if (pool->n_errors == p->errors) /* else it was refused */
        fprintf(pool->args->term->out, "%s %s\n", sl_buf_str(&p->subject), sl_buf_str(&p->payload));
    p->errors = pool->n_errors;
    if (fflush(pool->args->term->out) != 0)
        uv_stop(&pool->loop); /* nobody reads it any more; judged at the end */
    if (p->ending || (p->count && p->done >= p->count))
        end_after(p, LINGER_MS);
}

static void on_stop(struct cli_pool *pool) {
    struct publishing *p = SL_CONTAINER_OF(pool, struct publishing, pool);

    if (p->ending || sl_nats_client_unsent(pool->client, pool->conn) == 0) {
        p->ending = true;
        uv_stop(&pool->loop); /* a second Ctrl-C does not wait */
    } else {
        end_after(p, pool->why[0] || !pool->was_up ? 0 : 2000);
    }
}

/* ---- the command ---- */

static int publish(struct publishing *p, const struct cli_args *a, struct sl_err *err) {
    int r = cli_pool_open(&p->pool, a, err);

    if (r < 0)
        return r;
    uint64_t every = (uint64_t)(cli_pool_span(a, SL_POOL_OPT_EVERY, EVERY) / SL_MSEC);
    every = every ? every : 1;
    (void)uv_timer_start(&p->pool.timer, on_period, every, every);
    send_now(p);
    cli_pool_run(&p->pool);
    bool failed = p->pool.n_errors > 0 || (p->count && p->done < p->count && !p->ending);
    r = failed ? cli_pool_failure(&p->pool, err) : SL_EXIT_OK;
    cli_pool_close(&p->pool);
    return r;
}

int cli_pool_publish(const struct cli_args *a, struct sl_err *err) {
    struct publishing p = {.pool = {.turn = on_turn, .stop = on_stop}};

    sl_buf_init(&p.subject, SL_NATS_MAX_SUBJECT);
    sl_buf_init(&p.payload, SL_POOL_MAX_BYTES);
    int r = make_subject(a, &p.subject, err);
    if (r >= 0)
        r = make_payload(a, &p.payload, err);
    if (r >= 0)
        r = read_count(a, &p.count, err);
    r = r < 0 ? cli_pool_misuse(a, err) : publish(&p, a, err);
    sl_buf_done(&p.subject);
    sl_buf_done(&p.payload);
    return r;
}

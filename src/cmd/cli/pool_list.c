/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice pool list`: listens for a while, keeps the newest message of each pool, and shows them in
 * the order of their names. What cannot be read is shown with the reason.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/pool_cmd.h"
#include "core/base/fmt.h"
#include "lib/json/writer.h"
#include "manager/masterqueue/payload.h"

#define WAIT (35 * SL_SEC)
#define DRAW_MS 100u
#define MAX_POOLS 4096u
#define MAX_ARENA ((size_t)256 << 10) /* of one pool; a message has 64 KiB */
#define MAX_JSON ((size_t)512 << 20)
#define MAX_CELL ((size_t)400)

struct pool {
    char *name;
    struct sl_arena arena;
    struct sl_pool_payload *payload; /* NULL: malformed */
    struct sl_err err;
    uint64_t messages;
    uint64_t at_ms; /* of the loop */
};

struct listing {
    struct cli_pool pool;
    SL_VEC(struct pool) pools;
    uint64_t n_ignored; /* messages of further pools */
    uint64_t begin_ms, wait_ms, waited_ms;
    struct cli_progress progress;
};

static const struct cli_column columns[] = {
    {.title = "POOL", .shrink = 12},
    {.title = "CPU", .right = true},
    {.title = "MEMORY", .right = true},
    {.title = "PODS", .right = true, .drop = 1},
    {.title = "GPU", .right = true, .drop = 2},
    {.title = "LABELS", .shrink = 10, .drop = 4},
    {.title = "TAINTS", .shrink = 10, .drop = 3},
    {.title = "AGE", .right = true, .drop = 5},
};
static const char *const shown[] = {"cpu", "memory", "pods", "nvidia.com/gpu"};

/* ---- messages ---- */

static struct pool *find(struct listing *l, const char *name) {
    for (uint32_t i = 0; i < l->pools.n; i++)
        if (strcmp(l->pools.v[i].name, name) == 0)
            return &l->pools.v[i];
    if (l->pools.n == MAX_POOLS)
        return NULL;
    struct pool *p = sl_vec_push(&l->pools);
    *p = (struct pool){.name = sl_strdup(name)};
    sl_arena_init(&p->arena, MAX_ARENA);
    return p;
}

static void on_message(struct cli_pool *pool, const struct sl_nats_event *e) {
    struct listing *l = SL_CONTAINER_OF(pool, struct listing, pool);
    const char *dot = strrchr(e->subject, '.');
    struct pool *p = find(l, dot ? dot + 1 : e->subject);

    if (!p) {
        l->n_ignored++;
        return;
    }
    sl_arena_clear(&p->arena);
    p->payload = NULL;
    p->messages++;
    p->at_ms = uv_now(&pool->loop);
    struct sl_pool_payload *payload = sl_arena_alloc0(&p->arena, 1, sizeof *payload);
    int r = e->data ? sl_pool_payload_read(e->data, e->len, &p->arena, payload, &p->err)
                    : sl_err_set(&p->err, SL_ELIMIT, "%zu bytes, expected at most %zu", e->len,
                                 SL_POOL_MAX_BYTES);
    if (r >= 0)
        p->payload = payload;
}

static void on_draw(uv_timer_t *h) {
    struct listing *l = SL_CONTAINER_OF((struct cli_pool *)h->data, struct listing, pool);
    char note[64];

    sl_fmt_short(note, sizeof note, "%u pools", l->pools.n);
    cli_progress_at(&l->progress, uv_now(h->loop) - l->begin_ms, l->wait_ms, note);
}

static void on_end(uv_timer_t *h) {
    uv_stop(h->loop);
}

static void on_stop(struct cli_pool *pool) {
    uv_stop(&pool->loop);
}

/* ---- as a table ---- */

static int by_name(const void *a, const void *b) {
    const struct pool *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static void print_labels(const struct sl_pool_payload *p, struct sl_buf *b) {
    for (uint32_t i = 0; i < p->n_labels; i++)
        sl_buf_printf(b, "%s%s=%s", i ? "," : "", p->labels[i].key, p->labels[i].value);
}

static void print_taints(const struct sl_pool_payload *p, struct sl_buf *b) {
    for (uint32_t i = 0; i < p->n_taints; i++)
        sl_buf_printf(b, "%s%s=%s:%s", i ? "," : "", p->taints[i].key, p->taints[i].value,
                      p->taints[i].effect);
}

/* A cell of a list, "-" if it is empty. */
static void list_cell(struct cli_table *t, const struct sl_pool_payload *p,
                      void (*print)(const struct sl_pool_payload *p, struct sl_buf *b)) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF_SHORT(MAX_CELL);

    if (p)
        print(p, &b);
    cli_table_cell(t, SL_STYLE_NONE, "%s", b.len ? sl_buf_str(&b) : "-");
}

static void add_row(struct cli_table *t, const struct listing *l, const struct pool *p) {
    cli_table_cell(t, p->payload ? SL_STYLE_NONE : SL_STYLE_BAD, "%s", p->name);
    for (size_t i = 0; i < SL_LEN(shown); i++) {
        const struct sl_pool_quota *q =
            p->payload ? sl_pool_payload_quota(p->payload, shown[i]) : NULL;
        cli_table_cell(t, SL_STYLE_NONE, "%s", q ? q->text : "-");
    }
    list_cell(t, p->payload, print_labels);
    list_cell(t, p->payload, print_taints);
    cli_table_cell(t, SL_STYLE_NONE, "%llus",
                   (unsigned long long)(uv_now(&l->pool.loop) - p->at_ms) / 1000);
}

static void print_remark(FILE *err, const struct pool *p) {
    char text[1024] = "";

    if (!p->payload)
        sl_fmt_short(text, sizeof text, "%s: malformed: %s", p->name, p->err.text);
    else if (p->payload->n_left_out > 0)
        sl_fmt_short(text, sizeof text, "%s: %u left out: %s", p->name, p->payload->n_left_out,
                     p->payload->left_out);
    cli_text_clean(text);
    if (text[0])
        fprintf(err, "%s\n", text);
}

/* What does not fit into cells. */
static void print_remarks(const struct listing *l) {
    FILE *err = l->pool.args->term->err;

    for (uint32_t i = 0; i < l->pools.n; i++)
        print_remark(err, &l->pools.v[i]);
    if (l->n_ignored > 0)
        fprintf(err, "more than %u pools: %llu messages of others are not shown\n", MAX_POOLS,
                (unsigned long long)l->n_ignored);
    if (l->pools.n == 0)
        fprintf(err, "no pool published on %s.* within %llu s\n", cli_pool_subject(l->pool.args),
                (unsigned long long)l->waited_ms / 1000);
}

static void print_table(const struct listing *l) {
    struct cli_table t;

    cli_table_init(&t, columns, SL_LEN(columns));
    for (uint32_t i = 0; i < l->pools.n; i++)
        add_row(&t, l, &l->pools.v[i]);
    if (l->pools.n > 0)
        cli_table_print(&t, l->pool.args->term, 0);
    cli_table_done(&t);
    print_remarks(l);
}

/* ---- as JSON ---- */

static void write_payload(struct sl_jw *w, const struct sl_pool_payload *p) {
    sl_jw_object(w, "quotas");
    for (uint32_t i = 0; i < p->n_quotas; i++)
        sl_jw_str(w, p->quotas[i].resource, p->quotas[i].text);
    sl_jw_end(w);
    sl_jw_object(w, "labels");
    for (uint32_t i = 0; i < p->n_labels; i++)
        sl_jw_str(w, p->labels[i].key, p->labels[i].value);
    sl_jw_end(w);
    sl_jw_array(w, "taints");
    for (uint32_t i = 0; i < p->n_taints; i++) {
        sl_jw_object(w, NULL);
        sl_jw_str(w, "key", p->taints[i].key);
        sl_jw_str(w, "value", p->taints[i].value);
        sl_jw_str(w, "effect", p->taints[i].effect);
        sl_jw_end(w);
    }
    sl_jw_end(w);
    if (p->n_left_out > 0)
        sl_jw_str(w, "leftOut", p->left_out);
}

static int print_json(const struct listing *l, struct sl_err *err) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_JSON);
    struct sl_jw w = SL_JW(&b);

    sl_jw_object(&w, NULL);
    sl_jw_str(&w, "subject", cli_pool_subject(l->pool.args));
    sl_jw_array(&w, "pools");
    for (uint32_t i = 0; i < l->pools.n; i++) {
        const struct pool *p = &l->pools.v[i];
        sl_jw_object(&w, NULL);
        sl_jw_str(&w, "name", p->name);
        sl_jw_uint(&w, "messages", p->messages);
        sl_jw_seconds(&w, "ageSeconds", (sl_span)(uv_now(&l->pool.loop) - p->at_ms) * SL_MSEC);
        if (p->payload)
            write_payload(&w, p->payload);
        else
            sl_jw_str(&w, "error", p->err.text);
        sl_jw_end(&w);
    }
    sl_jw_end(&w);
    sl_jw_uint(&w, "ignoredMessages", l->n_ignored);
    sl_jw_end_to(&w, 0);
    sl_buf_putc(&b, '\n');
    if (sl_buf_full(&b))
        return sl_err_set(err, SL_ELIMIT, "the list is too long");
    (void)fwrite(sl_buf_str(&b), 1, b.len, l->pool.args->term->out); /* judged at the end */
    return SL_EXIT_OK;
}

/* ---- the command ---- */

static int start(struct listing *l, const struct cli_args *a, struct sl_err *err) {
    char subject[SL_NATS_MAX_SUBJECT + 3];
    int r = cli_pool_open(&l->pool, a, err);

    if (r < 0)
        return r;
    sl_fmt(subject, sizeof subject, "%s.*", cli_pool_subject(a));
    l->pool.port->ops->subscribe(l->pool.port, l->pool.conn, subject);
    l->wait_ms = (uint64_t)(cli_pool_span(a, SL_POOL_OPT_WAIT, WAIT) / SL_MSEC);
    l->begin_ms = uv_now(&l->pool.loop);
    cli_progress_start(&l->progress, a->term, "listening", false);
    (void)uv_timer_start(&l->pool.deadline, on_end, l->wait_ms, 0);
    if (l->progress.on)
        (void)uv_timer_start(&l->pool.timer, on_draw, DRAW_MS, DRAW_MS);
    return 0;
}

static int show(struct listing *l, struct sl_err *err) {
    const char *output = l->pool.args->opts[SL_POOL_OPT_OUTPUT];

    bool lost = l->pools.n == 0 && l->pool.why[0];

    l->waited_ms = uv_now(&l->pool.loop) - l->begin_ms;
    if (!l->pool.was_up || lost || l->pool.n_errors > 0)
        return cli_pool_failure(&l->pool, err);
    if (l->pools.n > 1)
        qsort(l->pools.v, l->pools.n, sizeof *l->pools.v, by_name);
    if (output && strcmp(output, "json") == 0)
        return print_json(l, err);
    print_table(l);
    return SL_EXIT_OK;
}

int cli_pool_list(const struct cli_args *a, struct sl_err *err) {
    struct listing l = {.pool = {.message = on_message, .stop = on_stop}};
    int r = start(&l, a, err);

    if (r < 0)
        return r;
    cli_pool_run(&l.pool);
    cli_progress_end(&l.progress);
    r = show(&l, err);
    for (uint32_t i = 0; i < l.pools.n; i++) {
        sl_freep(&l.pools.v[i].name);
        sl_arena_done(&l.pools.v[i].arena);
    }
    sl_vec_free(&l.pools);
    cli_pool_close(&l.pool);
    return r;
}

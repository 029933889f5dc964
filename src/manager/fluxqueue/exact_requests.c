/* SPDX-License-Identifier: Apache-2.0 */
/* Podsets of Workloads as requests for the graph (exact.h). */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "manager/fluxqueue/exact_int.h"

static void ask_clear(struct fq_ask *a) {
    sl_match_request_freep(&a->request);
    sl_freep(&a->text);
    sl_freep(&a->claims);
    sl_freep(&a->kept);
    sl_freep(&a->refused);
    *a = (struct fq_ask){0};
}

void fq_exact_forget_requests(struct sl_fluxqueue *q) {
    for (uint32_t i = 0; q->asks && i < FQ_ASKS; i++)
        ask_clear(&q->asks[i]);
}

static int ask_claims(const struct sl_fluxqueue *q, const struct fq_ask *a, struct sl_arena *arena,
                      struct sl_constraint *ret, struct sl_err *err) {
    char name[SL_REC_NAME];
    const char *why = fq_claims_trouble(q, a->ns, a->claims, name);
    if (a->claims && !sl_inf_watches(q->inf, FQ_CLAIM))
        return sl_err_set(err, SL_ENOENT, "the claims of volumes are being read");
    if (why)
        return sl_err_set(err, SL_ENOENT, "the PersistentVolumeClaim %s %s", name, why);
    fq_claims_where(q, a->ns, a->claims, arena, ret);
    return 0;
}

/* Of the annotation, as far as it is a number: if it is none, there is no request. */
static uint32_t step_of(yyjson_val *pod) {
    unsigned long n = strtoul(sl_json_annotation(pod, SL_FLUX_TASKS_PER_NODE), NULL, 10);
    return n > 0 && n <= FQ_MAX_PODS ? (uint32_t)n : 1;
}

/* Beside what it has: what holds between all its pods. 'text' is the jobspec of all of them. */
static int compile_more(struct sl_fluxqueue *q, struct fq_ask *a, const struct sl_buf *text,
                        uint32_t together, struct sl_constraint *also, struct sl_arena *arena,
                        struct sl_err *err) {
    struct fq_jobspec_tier tiers[FQ_MAX_LEVELS + 1];
    struct fq_jobspec_ask ask = {.kind = FQ_ANY_KIND, .also = also};
    struct fq_jobspec_info info = {0};
    struct fq_spread spread;
    int r = fq_jobspec_compile_ask(sl_match_graph(q->match), &q->universe, text->s, text->len, &ask,
                                   arena, &info, &a->request, err);
    if (r < 0 || a->n_kept == 0) {
        a->whole = info.whole_nodes;
        a->flat = a->n_kept == 0 && info.n_tiers == 0;
        return r;
    }
    sl_match_request_freep(&a->request);
    fq_spread_read(q, &info, together, &spread);
    fq_spread_shape(q, &spread, a->count, tiers);
    (void)fq_spread_where(q, &spread, tiers, a->kept, a->n_kept, false, arena, also);
    ask.pods = a->count;
    ask.tiers = tiers;
    ask.n_tiers = spread.n;
    a->whole = info.whole_nodes;
    return fq_jobspec_compile_ask(sl_match_graph(q->match), &q->universe, text->s, text->len, &ask,
                                  arena, &info, &a->request, err);
}

static int compile(struct sl_fluxqueue *q, struct fq_ask *a, struct sl_err *err) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(FQ_MAX_COMPILE);
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(FQ_MAX_JOBSPEC);
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(a->text, strlen(a->text), 0);
    yyjson_val *pod = yyjson_doc_get_root(d);
    _cleanup_(sl_json_docp) yyjson_doc *placed = fq_runtime_apply(q, sl_json_get(pod, "spec"));
    struct fq_usage *usage = fq_usage_get(q, sl_json_get(pod, "spec"));
    struct fq_jobspec_options options = q->options;
    struct sl_constraint also = {0};
    uint32_t together = 0, all = a->count;

    for (uint32_t i = 0; i < a->n_kept; i++)
        all += a->kept[i].pods;
    fq_ports_ask(q, usage);
    fq_usage_unref(q, usage);
    a->step = step_of(pod);
    options.name = "pod";
    options.duration = a->duration;
    options.ret_together = &together;
    options.pod = placed ? yyjson_doc_get_root(placed) : NULL;
    int r = ask_claims(q, a, &arena, &also, err);
    if (r >= 0)
        r = fq_jobspec_write(SL_FLUX_POD, pod, all, &options, &b, err);
    if (r >= 0)
        r = compile_more(q, a, &b, together, &also, &arena, err);
    if (r >= 0 && sl_arena_full(&arena)) {
        sl_match_request_freep(&a->request);
        r = sl_err_set(err, SL_ELIMIT, "the jobspec is too large");
    }
    return r;
}

static char *read_claims(struct sl_fluxqueue *q, const char *pod) {
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(pod, strlen(pod), 0);
    char *claims = fq_claims_read(q, sl_json_get(yyjson_doc_get_root(d), "spec"), NULL);
    return claims;
}

/* What is known of its claims: it is made anew when that changes. */
static uint64_t claims_state(const struct sl_fluxqueue *q, const struct fq_ask *a) {
    char name[SL_REC_NAME];
    const char *why = fq_claims_trouble(q, a->ns, a->claims, name);
    uint64_t h = sl_hash_u64(fq_claims_hash(q, a->ns, a->claims), sl_inf_watches(q->inf, FQ_CLAIM));
    return why ? sl_hash_str(sl_hash_str(h, name), why) : h;
}

static void make_request(struct sl_fluxqueue *q, struct fq_ask *a, uint64_t state) {
    struct sl_err err = {0};
    sl_match_request_freep(&a->request);
    sl_freep(&a->refused);
    a->state = state;
    if (compile(q, a, &err) < 0)
        a->refused = sl_strdup(err.text);
}

/* What the one has for this podset; NULL: nobody has anything. To be freed. */
static struct fq_kept *kept_of(const struct fq_exact *x, uint32_t podset, uint32_t *ret_n) {
    uint32_t n = 0;
    for (uint32_t i = 0; x && i < x->seats.n; i++)
        n += x->seats.v[i].podset == podset && x->seats.v[i].count > 0;
    struct fq_kept *v = n ? sl_alloc0(n, sizeof *v) : NULL;
    *ret_n = n;
    n = 0;
    for (uint32_t i = 0; v && i < x->seats.n; i++)
        if (x->seats.v[i].podset == podset && x->seats.v[i].count > 0)
            v[n++] = (struct fq_kept){x->seats.v[i].node, x->seats.v[i].count};
    return v;
}

static struct fq_ask *ask(struct sl_fluxqueue *q, const struct sl_exact_podset *p, uint32_t podset,
                          const struct fq_exact *has, uint32_t count, int64_t duration, bool once) {
    sl_sym ns = sl_sym_put(&q->inf->syms, p->ns);
    uint64_t h = sl_hash_u64(sl_hash_u64(sl_hash_str(ns, p->pod), count), (uint64_t)duration);
    struct fq_ask *a = NULL;
    uint32_t n_kept;
    struct fq_kept *kept = kept_of(has, podset, &n_kept);
    if (n_kept)
        h = sl_hash_bytes(h, kept, n_kept * sizeof *kept);
    if (!q->asks)
        q->asks = sl_alloc0(FQ_ASKS, sizeof *q->asks);
    for (uint32_t i = 0; i < FQ_ASKS && !a; i++) {
        struct fq_ask *x = &q->asks[i];
        if (x->text && x->hash == h && x->ns == ns && x->count == count &&
            x->duration == duration && x->n_kept == n_kept &&
            (n_kept == 0 || memcmp(x->kept, kept, n_kept * sizeof *kept) == 0) &&
            strcmp(x->text, p->pod) == 0)
            a = x;
    }
    if (!a) {
        a = &q->asks[once ? FQ_MAX_ASKS : q->next_ask++ % FQ_MAX_ASKS];
        ask_clear(a);
        *a = (struct fq_ask){.hash = h,
                             .ns = ns,
                             .text = sl_strdup(p->pod),
                             .claims = read_claims(q, p->pod),
                             .kept = TAKE_PTR(kept),
                             .n_kept = n_kept,
                             .count = count,
                             .duration = duration};
    }
    sl_freep(&kept);
    uint64_t state = sl_hash_u64(a->claims ? claims_state(q, a) : 0, q->limits) | 1;
    if (a->state != state)
        make_request(q, a, state);
    return a;
}

/* Those of before are kept while there is room: a search asks for the same again and again. */
struct fq_ask *fq_exact_ask(struct sl_fluxqueue *q, const struct sl_exact_podset *p,
                            uint32_t podset, const struct fq_exact *has, uint32_t count,
                            int64_t duration) {
    return ask(q, p, podset, has, count, duration, false);
}

struct fq_ask *fq_exact_ask_once(struct sl_fluxqueue *q, const struct sl_exact_podset *p,
                                 uint32_t podset, const struct fq_exact *has, uint32_t count,
                                 int64_t duration) {
    return ask(q, p, podset, has, count, duration, true);
}

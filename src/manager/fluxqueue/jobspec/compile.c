/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A jobspec becomes a request for the live graph. What the reader made of the text is copied with
 * the units, types and properties of the graph in it:
 *
 *     resources   counts in the units of pools, `gpu` by its name, `pods` in every slot
 *     constraint  see constraint.c
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/quantity.h"
#include "kube/types/kueue/objects.h"
#include "lib/graphio/jobspec_read.h"
#include "manager/fluxqueue/jobspec/jobspec_int.h"

#define MAX_VALUES (UINT32_C(64) << 10) /* of the text; aliases count with their content */
#define MAX_DEPENDENCIES 64u

struct compiler {
    const struct sl_graph *g; /* NULL: any type is one of it */
    const struct fq_universe *u;
    struct sl_arena *arena; /* the jobspec's */
    const struct sl_toleration *tolerations;
    uint32_t n_tolerations;
    const struct fq_jobspec_ask *ask;
    int64_t begin;
    struct sl_err *err;
};

/* ---- the text ---- */

int fq_jobspec_parse(const char *file, const char *text, size_t len, struct sl_doc **ret_doc,
                     struct sl_jobspec **ret, struct sl_err *err) {
    _cleanup_(sl_doc_freep) struct sl_doc *d = NULL;
    size_t at = 0;
    int r = SL_EINVAL;

    if (len > FQ_MAX_JOBSPEC)
        return sl_err_set(err, SL_ELIMIT, "%s: expected at most %zu bytes, got %zu", file,
                          FQ_MAX_JOBSPEC, len);
    while (at < len &&
           (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n'))
        at++;
    if (at < len && text[at] == '{')
        r = sl_doc_json_within(file, text, len, MAX_VALUES, &d, NULL);
    if (r < 0)
        r = sl_doc_yaml_within(file, text, len, MAX_VALUES, &d, err);
    if (r >= 0)
        r = sl_graphio_jobspec_decode(d, ret, err);
    if (r >= 0 && ret_doc)
        *ret_doc = TAKE_PTR(d);
    return r;
}

/* Seconds since 1970, as a number or a string of one. */
static bool read_seconds(const struct sl_doc_node *n, int64_t *ret) {
    char *end;
    double d;

    if (!n)
        return false;
    if (n->kind == SL_DOC_NODE_INT) {
        *ret = n->num;
    } else if (n->kind == SL_DOC_NODE_FLOAT || n->kind == SL_DOC_NODE_STR) {
        d = strtod(n->text, &end);
        if (!*n->text || *end || !(d >= 0 && d <= (double)FQ_MAX_SECONDS))
            return false;
        *ret = (int64_t)ceil(d);
    } else {
        return false;
    }
    return *ret >= 0 && *ret <= FQ_MAX_SECONDS;
}

/* The only dependency that can be waited for is a time; the last of several counts. */
static int read_dependencies(struct compiler *c, const struct sl_doc_node *list) {
    int64_t at;

    if (!list || list->kind == SL_DOC_NODE_NULL)
        return 0;
    if (list->kind != SL_DOC_NODE_LIST || list->n > MAX_DEPENDENCIES)
        return sl_err_set(c->err, SL_EINVAL,
                          "jobspec:%u: dependencies: expected a list of at most %u", list->line,
                          MAX_DEPENDENCIES);
    for (uint32_t i = 0; i < list->n; i++) {
        const struct sl_doc_node *n = &list->items[i], *scheme = sl_doc_node_get(n, "scheme");
        if (!scheme || scheme->kind != SL_DOC_NODE_STR || strcmp(scheme->text, "begin-time") != 0)
            return sl_err_set(c->err, SL_EINVAL,
                              "jobspec:%u: dependencies: expected the scheme begin-time, got "
                              "\"%.60s\"",
                              n->line,
                              scheme && scheme->kind == SL_DOC_NODE_STR ? scheme->text : "");
        if (!read_seconds(sl_doc_node_get(n, "value"), &at))
            return sl_err_set(c->err, SL_EINVAL,
                              "jobspec:%u: begin-time: expected seconds since 1970", n->line);
        if (at > c->begin)
            c->begin = at;
    }
    return 0;
}

/* What the reader of jobspecs leaves alone. */
static int read_system(struct compiler *c, const struct sl_doc *d) {
    const struct sl_doc_node *s =
        sl_doc_node_get(sl_doc_node_get(&d->roots[0], "attributes"), "system");
    const struct sl_doc_node *tolerations = sl_doc_node_get(s, "tolerations");
    struct sl_read rd = {.file = "jobspec", .arena = c->arena, .err = c->err};

    if (tolerations && tolerations->kind == SL_DOC_NODE_NULL)
        tolerations = NULL;
    c->tolerations = sl_decode_tolerations(&rd, tolerations, FQ_MAX_TOLERATIONS, &c->n_tolerations);
    return rd.code < 0 ? rd.code : read_dependencies(c, sl_doc_node_get(s, "dependencies"));
}

/* ---- units ---- */

/* Counts are multiplied by 'by' and divided by 'div', rounded up. */
struct scale {
    uint64_t by, div;
};

static int find_scale(const struct sl_req_spec *s, struct scale *ret, struct sl_err *err) {
    static const struct {
        const char *unit;
        struct scale to_kib;
    } units[] = {
        {"", {1024, 1}},
        {"Ki", {1, 1}},
        {"KiB", {1, 1}},
        {"Mi", {1024, 1}},
        {"MiB", {1024, 1}},
        {"Gi", {1 << 20, 1}},
        {"GiB", {1 << 20, 1}},
        {"Ti", {1 << 30, 1}},
        {"TiB", {1 << 30, 1}},
        {"bytes", {1, 1024}},
        {"B", {1, 1024}},
        {"KB", {1000, 1024}},
        {"kB", {1000, 1024}},
        {"MB", {1000000, 1024}},
        {"GB", {1000000000, 1024}},
        {"TB", {UINT64_C(1000000000000), 1024}},
    };
    const char *unit = s->unit ? s->unit : "";

    *ret = (struct scale){1, 1};
    if (strcmp(s->type, "core") == 0) {
        if (!*unit || strcmp(unit, "core") == 0 || strcmp(unit, "cores") == 0)
            ret->by = 1000;
        else if (strcmp(unit, "m") != 0 && strcmp(unit, "milli") != 0)
            return sl_err_set(err, SL_EINVAL,
                              "core: expected no unit, cores, m or milli, got \"%.40s\"", unit);
        return 0;
    }
    if (!sl_quantity_is_bytes(s->type))
        return 0;
    for (size_t i = 0; i < SL_LEN(units); i++)
        if (strcmp(unit, units[i].unit) == 0) {
            *ret = units[i].to_kib;
            return 0;
        }
    return sl_err_set(err, SL_EINVAL,
                      "%.60s: expected no unit (MiB), Ki, Mi, Gi, Ti, KB, MB, GB, TB or bytes, got "
                      "\"%.40s\"",
                      s->type, unit);
}

static bool scale_number(const struct scale *s, uint32_t *v) {
    unsigned __int128 n = ((unsigned __int128)*v * s->by + s->div - 1) / s->div;

    *v = n > SL_REQ_COUNT_MAX ? SL_REQ_COUNT_MAX : (uint32_t)n;
    return n <= SL_REQ_COUNT_MAX;
}

static int scale_count(struct compiler *c, const struct sl_req_spec *s, struct sl_req_count *n) {
    struct scale by;
    int r = find_scale(s, &by, c->err);
    bool good = true;

    if (r < 0 || by.by == by.div)
        return r;
    if (!n->set && n->op != '+')
        return sl_err_set(
            c->err, SL_EINVAL,
            "%.60s: expected a number, a set or the operator + for what has a unit, got "
            "the operator %c",
            s->type, n->op);
    if (n->set) {
        uint32_t *set = sl_arena_alloc(c->arena, (n->n_set + 1) * sizeof(*set)), kept = 0;
        for (uint32_t i = 0; i < n->n_set && good; i++) {
            set[kept] = n->set[i];
            good = scale_number(&by, &set[kept]);
            kept += kept == 0 || set[kept] > set[kept - 1]; /* rounded to the same: once */
        }
        n->set = set;
        n->n_set = kept;
    }
    good = scale_number(&by, &n->min) && good;
    good = scale_number(&by, &n->operand) && good;
    if (!scale_number(&by, &n->max)) /* so much that it is no bound */
        n->max = SL_REQ_COUNT_MAX;
    return good ? 0
                : sl_err_set(c->err, SL_EINVAL, "%.60s: more than %u %s", s->type, SL_REQ_COUNT_MAX,
                             strcmp(s->type, "core") == 0 ? "thousandths of a core" : "KiB");
}

/* ---- resources ---- */

static uint32_t least(const struct sl_req_count *c) {
    return c->set ? c->set[0] : c->min;
}

static bool is_fixed(const struct sl_req_count *c, uint32_t n) {
    return c->set ? c->n_set == 1 && c->set[0] == n : c->min == n && c->max == n;
}

static int find_type(struct compiler *c, const char **type) {
    _cleanup_(sl_buf_done) struct sl_buf names = SL_BUF_SHORT(160);

    if (!c->g || sl_graph_has_type(c->g, *type))
        return 0;
    if (strcmp(*type, "gpu") != 0 || c->u->n_gpus == 0)
        return sl_err_set(c->err, SL_ENOENT, "no node has %.80s", *type);
    if (c->u->n_gpus == 1) {
        *type = c->u->gpus[0];
        return sl_graph_has_type(c->g, *type)
                   ? 0
                   : sl_err_set(c->err, SL_ENOENT, "no node has %.80s", *type);
    }
    for (uint32_t i = 0; i < c->u->n_gpus; i++)
        sl_buf_printf(&names, "%s%s", i == 0 ? "" : ", ", c->u->gpus[i]);
    return sl_err_set(c->err, SL_EINVAL, "gpu: expected one of %s, since nodes have all of them",
                      sl_buf_str(&names));
}

static int copy_list(struct compiler *c, const struct sl_req_spec **list, uint32_t *n,
                     bool in_slot);

static int copy_one(struct compiler *c, struct sl_req_spec *s, bool in_slot) {
    bool slot = s->kind != SL_REQ_RESOURCE;
    int r = slot ? 0 : scale_count(c, s, &s->count);

    if (r >= 0 && !slot)
        r = find_type(c, &s->type);
    return r < 0 ? r : copy_list(c, &s->with, &s->n_with, in_slot || slot);
}

/* A slot is a pod, which is on one node: `pods` goes where its pools are. */
static int add_pods(struct compiler *c, const struct sl_req_spec **list, uint32_t *n) {
    static const struct sl_req_spec one = {.type = "pods",
                                           .count = {.min = 1, .max = 1, .op = '+', .operand = 1}};
    struct sl_req_spec *v = sl_arena_alloc(c->arena, (*n + 1) * sizeof(*v));

    if (*n > 0)
        memcpy(v, *list, *n * sizeof(*v));
    *list = v;
    for (uint32_t i = 0; i < *n; i++) {
        if (v[i].kind != SL_REQ_RESOURCE)
            continue;
        if (strcmp(v[i].type, "pods") == 0)
            return is_fixed(&v[i].count, 1)
                       ? 0
                       : sl_err_set(c->err, SL_EINVAL,
                                    "pods: expected 1 in a slot, which is one pod");
    }
    for (uint32_t i = 0; i < *n; i++) {
        if (v[i].n_with == 0 && strcmp(v[i].type, "node") != 0)
            continue;
        if (*n > 1 || v[i].kind != SL_REQ_RESOURCE || !is_fixed(&v[i].count, 1))
            return sl_err_set(c->err, SL_EINVAL,
                              "%.60s: expected 1 of it and nothing beside it in a slot: a pod runs "
                              "on one node",
                              v[i].type);
        return add_pods(c, &v[i].with, &v[i].n_with);
    }
    v[*n] = one;
    (*n)++;
    return !c->g || sl_graph_has_type(c->g, "pods")
               ? 0
               : sl_err_set(c->err, SL_ENOENT, "no node has pods");
}

static int copy_list(struct compiler *c, const struct sl_req_spec **list, uint32_t *n,
                     bool in_slot) {
    struct sl_req_spec *v = sl_arena_alloc(c->arena, (*n + 1) * sizeof(*v));
    int r = 0;

    if (*n > 0)
        memcpy(v, *list, *n * sizeof(*v));
    for (uint32_t i = 0; i < *n && r >= 0; i++) {
        r = copy_one(c, &v[i], in_slot);
        if (r >= 0 && v[i].kind != SL_REQ_RESOURCE && !in_slot)
            r = add_pods(c, &v[i].with, &v[i].n_with);
    }
    *list = v;
    return r;
}

/* ---- slots ---- */

/* What is known of the slots of a list, and of all below it. */
struct slots {
    uint64_t pods;                  /* the least */
    const struct sl_req_spec *list; /* the list with the only slots, */
    uint32_t n_list, n_lists;       /* if this is 1 */
    const struct sl_req_spec *node; /* around it, the nearest */
    bool whole;
};

static uint64_t times(uint64_t a, uint64_t b) {
    uint64_t r;
    return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

static uint64_t plus(uint64_t a, uint64_t b) {
    uint64_t r;
    return __builtin_add_overflow(a, b, &r) ? UINT64_MAX : r;
}

/* A node inside a slot is exclusive. */
static bool has_node(const struct sl_req_spec *s) {
    for (uint32_t i = 0; i < s->n_with; i++)
        if (s->with[i].kind == SL_REQ_RESOURCE &&
            (strcmp(s->with[i].type, "node") == 0 || has_node(&s->with[i])))
            return true;
    return false;
}

/* Alternatives: the least of them (xor_slot), or so many of any kind (or_slot). */
static uint64_t find_slots(const struct sl_req_spec *v, uint32_t n, const struct sl_req_spec *node,
                           bool exclusive, struct slots *ret) {
    uint64_t sum = 0, either = UINT64_MAX;
    bool any = false;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t count = least(&v[i].count);
        if (v[i].kind == SL_REQ_RESOURCE) {
            bool is_node = strcmp(v[i].type, "node") == 0;
            uint64_t inside = find_slots(v[i].with, v[i].n_with, is_node ? &v[i] : node,
                                         exclusive || v[i].exclusive == SL_TRUE, ret);
            sum = plus(sum, times(count, inside));
            continue;
        }
        any = true;
        ret->whole |= exclusive || has_node(&v[i]);
        if (v[i].kind == SL_REQ_SLOT)
            sum = plus(sum, count);
        else if (count < either)
            either = count;
    }
    if (any) {
        ret->list = v;
        ret->n_list = n;
        ret->node = node;
        ret->n_lists++;
    }
    return either == UINT64_MAX ? sum : plus(sum, either);
}

static struct sl_req_count fixed(uint32_t n) {
    return (struct sl_req_count){.min = n, .max = n, .op = '+', .operand = 1};
}

/* The slots in the levels and nodes that are asked for. */
static void surround(struct compiler *c, struct sl_jobspec *j, struct sl_req_spec *slots,
                     uint32_t n, uint32_t pods) {
    const struct fq_jobspec_tier *t = c->ask->tiers;
    uint32_t n_tiers = c->ask->n_tiers;

    for (uint32_t i = 0; i < n; i++)
        slots[i].count = fixed(t[n_tiers - 1].each);
    j->resources = slots;
    j->n_resources = n;
    for (uint32_t i = n_tiers; i-- > 0;) {
        struct sl_req_spec *around = sl_arena_alloc(c->arena, sizeof(*around));
        *around = (struct sl_req_spec){.type = t[i].type,
                                       .exclusive = t[i].exclusive ? SL_TRUE : SL_UNSET,
                                       .count = fixed((i ? t[i - 1].each : pods) / t[i].each),
                                       .with = j->resources,
                                       .n_with = j->n_resources};
        j->resources = around;
        j->n_resources = 1;
    }
}

/* So many more pods of the same kind: of the only one, of alternatives, or of this one of several.
 * If nothing is said of what is around them, on whole nodes: as many on each as the others have, or
 * on one if there are less. */
static int grow(struct compiler *c, struct sl_jobspec *j, const struct slots *s, uint32_t pods) {
    struct sl_req_spec *v = sl_arena_alloc(c->arena, (s->n_list + 1) * sizeof(*v)), *node;
    uint32_t n = 0, each = pods, kinds = 0;

    if (s->n_lists == 1)
        for (uint32_t i = 0; i < s->n_list; i++) {
            if (s->list[i].kind == SL_REQ_RESOURCE)
                continue;
            bool is_slot = s->list[i].kind == SL_REQ_SLOT;
            if (!is_slot || c->ask->kind == FQ_ANY_KIND || c->ask->kind == kinds)
                v[n++] = s->list[i];
            kinds += is_slot;
        }
    if (n == 0 || (kinds > 1 && n > 1))
        return sl_err_set(c->err, SL_EINVAL, "a job with several kinds of slots cannot grow");
    if (c->ask->n_tiers > 0) {
        surround(c, j, v, n, pods);
        return 0;
    }
    bool around = s->node && s->node->exclusive == SL_TRUE;
    if (around && least(&v[0].count) < each)
        each = least(&v[0].count);
    for (uint32_t i = 0; i < n; i++)
        v[i].count = fixed(each);
    j->resources = v;
    j->n_resources = n;
    if (!around)
        return 0;
    node = sl_arena_alloc(c->arena, sizeof(*node));
    *node = *s->node;
    node->count = fixed(pods / each + (pods % each > 0));
    node->with = v;
    node->n_with = n;
    j->resources = node;
    j->n_resources = 1;
    return 0;
}

/* ---- tiers ---- */

/* The only thing in its list, around slots. */
static bool is_around(const struct sl_req_spec *v, uint32_t n) {
    return n == 1 && v[0].kind == SL_REQ_RESOURCE;
}

/* What is around all slots, if that is one thing in the other, each a fixed number of times. */
static void put_tiers(const struct sl_jobspec *j, const struct slots *s, struct sl_arena *a,
                      struct fq_jobspec_info *ret) {
    struct fq_jobspec_tier *t = sl_arena_alloc0(a, FQ_MAX_LEVELS + 2, sizeof(*t));
    const struct sl_req_spec *v = j->resources;
    uint32_t n = j->n_resources, n_tiers = 0;
    uint64_t each = 0;

    for (; is_around(v, n) && n_tiers < FQ_MAX_LEVELS + 2; n = v->n_with, v = v->with) {
        if (!is_fixed(&v->count, least(&v->count)))
            return;
        t[n_tiers++] = (struct fq_jobspec_tier){.type = sl_arena_strdup(a, v->type),
                                                .count = least(&v->count),
                                                .exclusive = v->exclusive == SL_TRUE};
    }
    if (s->n_lists != 1 || v != s->list)
        return;
    for (uint32_t i = 0; i < n; i++) {
        if (v[i].kind != SL_REQ_SLOT || !is_fixed(&v[i].count, least(&v[i].count)))
            return;
        each = plus(each, least(&v[i].count));
    }
    for (uint32_t i = n_tiers; i-- > 0; each = times(each, t[i].count))
        t[i].each = (uint32_t)each; /* of all there are FQ_MAX_PODS */
    ret->tiers = t;
    ret->n_tiers = n_tiers;
}

/* ---- the whole ---- */

static void put_kind(const struct sl_req_spec *slot, struct sl_arena *a, struct fq_slot_kind *ret) {
    uint32_t count = least(&slot->count);
    struct fq_slot_amount *v;

    while (slot->n_with == 1 && slot->with[0].n_with > 0)
        slot = &slot->with[0];
    v = sl_arena_alloc(a, (slot->n_with + 1) * sizeof(*v));
    for (uint32_t i = 0; i < slot->n_with; i++)
        v[i] = (struct fq_slot_amount){.type = sl_arena_strdup(a, slot->with[i].type),
                                       .amount = least(&slot->with[i].count)};
    *ret = (struct fq_slot_kind){.v = v, .n = slot->n_with, .count = count};
}

/* The pools of one pod, of each kind of slots, if all are required and stand in one list. */
static void put_kinds(const struct slots *s, struct sl_arena *a, struct fq_jobspec_info *ret) {
    struct fq_slot_kind *kinds = sl_arena_alloc(a, (s->n_list + 1) * sizeof(*kinds));
    uint32_t n = 0;

    if (s->n_lists != 1)
        return;
    for (uint32_t i = 0; i < s->n_list; i++) {
        if (s->list[i].kind == SL_REQ_RESOURCE)
            continue;
        if (s->list[i].kind != SL_REQ_SLOT && n > 0) /* alternatives */
            return;
        put_kind(&s->list[i], a, &kinds[n++]);
    }
    sl_assert(n > 0);
    ret->kinds = kinds;
    ret->n_kinds = n;
    if (n == 1) {
        ret->slot = kinds[0].v;
        ret->n_slot = kinds[0].n;
    }
}

static uint32_t count_kinds(const struct slots *s) {
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n_list; i++)
        n += s->list[i].kind == SL_REQ_SLOT;
    return n;
}

static int compile(struct compiler *c, struct sl_jobspec *j, struct slots *s) {
    int r = copy_list(c, &j->resources, &j->n_resources, false);

    if (r < 0)
        return r;
    s->pods = find_slots(j->resources, j->n_resources, NULL, false, s);
    if (s->pods == 0)
        return sl_err_set(c->err, SL_EINVAL, "expected a slot in the jobspec: a pod is one");
    if (s->pods > FQ_MAX_PODS)
        return sl_err_set(c->err, SL_EINVAL, "expected at most %u slots", FQ_MAX_PODS);
    if (count_kinds(s) > FQ_MAX_KINDS)
        return sl_err_set(c->err, SL_EINVAL, "expected at most %u kinds of slots", FQ_MAX_KINDS);
    if (j->duration < 0 || j->duration > FQ_MAX_SECONDS)
        return sl_err_set(c->err, SL_EINVAL, "duration: expected a number from 0 to %" PRId64,
                          FQ_MAX_SECONDS);
    return 0;
}

int fq_jobspec_compile(const struct sl_graph *g, const struct fq_universe *u, const char *text,
                       size_t len, uint32_t pods, struct sl_arena *a,
                       struct fq_jobspec_info *ret_info, struct sl_match_request **ret,
                       struct sl_err *err) {
    const struct fq_jobspec_ask ask = {.pods = pods, .kind = FQ_ANY_KIND};
    return fq_jobspec_compile_ask(g, u, text, len, &ask, a, ret_info, ret, err);
}

static void put_info(const struct compiler *c, const struct sl_jobspec *j, const struct slots *s,
                     struct sl_arena *a, struct fq_jobspec_info *ret) {
    *ret = (struct fq_jobspec_info){
        .pods = (uint32_t)s->pods,
        .whole_nodes = s->whole,
        .duration = j->duration,
        .begin = c->begin,
        .queue = sl_arena_strdup(a, j->queue ? j->queue : ""),
    };
    put_kinds(s, a, ret);
}

/* Both must hold. */
static void join_constraints(struct sl_jobspec *j, const struct sl_constraint *also) {
    struct sl_constraint *both = sl_arena_alloc(&j->arena, 2 * sizeof(*both));

    if (!also || also->kind == SL_CONSTRAINT_ALL)
        return;
    if (j->constraint.kind == SL_CONSTRAINT_ALL) {
        j->constraint = *also;
        return;
    }
    both[0] = j->constraint;
    both[1] = *also;
    j->constraint = (struct sl_constraint){.kind = SL_CONSTRAINT_AND, .terms = both, .n_terms = 2};
}

int fq_jobspec_compile_ask(const struct sl_graph *g, const struct fq_universe *u, const char *text,
                           size_t len, const struct fq_jobspec_ask *ask, struct sl_arena *a,
                           struct fq_jobspec_info *ret_info, struct sl_match_request **ret,
                           struct sl_err *err) {
    _cleanup_(fq_universe_done) struct fq_universe own = {0};
    _cleanup_(sl_jobspec_freep) struct sl_jobspec *j = NULL;
    _cleanup_(sl_doc_freep) struct sl_doc *d = NULL;
    struct compiler c = {.g = g, .u = u ? u : &own, .ask = ask, .err = err};
    struct fq_jobspec_info info = {0};
    struct slots s = {0};
    uint32_t pods = ask->pods;
    int r;

    if (pods > FQ_MAX_PODS)
        return sl_err_set(err, SL_EINVAL, "expected at most %u pods, got %u", FQ_MAX_PODS, pods);
    r = fq_jobspec_parse("jobspec", text, len, &d, &j, err);
    if (r >= 0 && !u)
        r = fq_universe_init(&own, g, err);
    if (r < 0)
        return r;
    c.arena = &j->arena;
    if (j->duration == 0)
        j->duration = ask->duration;
    r = read_system(&c, d);
    if (r >= 0)
        r = compile(&c, j, &s);
    if (r >= 0)
        put_tiers(j, &s, a, &info);
    if (r >= 0 && pods > 0)
        r = grow(&c, j, &s, pods);
    if (r >= 0)
        join_constraints(j, ask->also);
    if (r >= 0)
        r = fq_constraint_compile(g, c.u, c.tolerations, c.n_tolerations, &j->arena, &j->constraint,
                                  err);
    if (r >= 0)
        r = sl_match_request_new(g, j, ret, err);
    if (r < 0)
        return r;
    put_info(&c, j, &s, a, ret_info);
    if (pods)
        ret_info->pods = pods;
    ret_info->tiers = info.tiers;
    ret_info->n_tiers = info.n_tiers;
    return 0;
}

int fq_jobspec_measure(const char *text, size_t len, int64_t duration, struct sl_arena *a,
                       struct fq_jobspec_info *ret_info, struct sl_err *err) {
    _cleanup_(sl_jobspec_freep) struct sl_jobspec *j = NULL;
    struct compiler c = {.err = err};
    struct slots s = {0};
    int r = fq_jobspec_parse("jobspec", text, len, NULL, &j, err);

    if (r < 0)
        return r;
    c.arena = &j->arena;
    if (j->duration == 0)
        j->duration = duration;
    r = compile(&c, j, &s);
    if (r < 0)
        return r;
    put_info(&c, j, &s, a, ret_info);
    put_tiers(j, &s, a, ret_info);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The language of 'find': predicates KEY=VALUE, joined by 'and', 'or' or nothing (which is 'and'),
 * strictly from left to right, with parentheses. Stored as a list in evaluation order, so that
 * nested parentheses cost no more than an entry on a small stack.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/bits.h"
#include "core/graph/hostlist.h"
#include "core/graph/match/match_int.h"

#define TERMS_MAX 1024u
#define DEPTH_MAX 64u

enum key {
    KEY_STATUS,
    KEY_SCHED_NOW,
    KEY_SCHED_FUTURE,
    KEY_AGFILTER,
    KEY_NAMES,
    KEY_PROPERTY,
    KEY_JOB_ALLOC,
    KEY_JOB_SPAN,
    KEY_JOB_TAG,
    KEY_JOB_RESERVED,
};

static const char *const keys[] = {
    [KEY_STATUS] = "status",
    [KEY_SCHED_NOW] = "sched-now",
    [KEY_SCHED_FUTURE] = "sched-future",
    [KEY_AGFILTER] = "agfilter",
    [KEY_NAMES] = "names",
    [KEY_PROPERTY] = "property",
    [KEY_JOB_ALLOC] = "jobid-alloc",
    [KEY_JOB_SPAN] = "jobid-span",
    [KEY_JOB_TAG] = "jobid-tag",
    [KEY_JOB_RESERVED] = "jobid-reserved",
};

enum step_kind { STEP_TEST, STEP_AND, STEP_OR };

/* A step of the work: a predicate puts a truth on the stack, AND and OR take two and put one. */
struct step {
    enum step_kind kind;
    enum key key;
    bool yes; /* of values that come in pairs: up, allocated, reserved, true */
    int64_t job;
    const char *text;         /* a property */
    const char *const *names; /* sorted */
    uint32_t n_names;
};

struct sl_find {
    struct sl_arena arena;
    SL_VEC(struct step) steps;
    bool sums;
    int64_t sums_job;
};

void sl_find_free(struct sl_find *f) {
    if (!f)
        return;
    sl_vec_free(&f->steps);
    sl_arena_done(&f->arena);
    free(f);
}

void sl_find_freep(struct sl_find **f) {
    sl_find_free(*f);
    *f = NULL;
}

bool sl_find_sums(const struct sl_find *f, int64_t *ret_jobid) {
    *ret_jobid = f->sums_job;
    return f->sums;
}

/* ---- values ---- */

static char *lower(struct sl_arena *a, const char *s, size_t len) {
    char *t = sl_arena_strndup(a, s, len);
    for (char *p = t; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
    return t;
}

static bool digits(const char *s, const char *alphabet, uint64_t *ret) {
    uint64_t n = 0, base = strlen(alphabet);
    if (!*s)
        return false;
    for (; *s; s++) {
        const char *d = strchr(alphabet, *s);
        if (!d || __builtin_mul_overflow(n, base, &n) ||
            __builtin_add_overflow(n, (uint64_t)(d - alphabet), &n))
            return false;
    }
    *ret = n;
    return true;
}

/* Job ids as Flux writes them: decimal, 0x…, dotted hexadecimal (also as job.… keys), or base 58
 * with an f or ƒ in front. */
static bool job_id(const char *s, int64_t *ret) {
    static const char hex[] = "0123456789abcdef";
    static const char base58[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    char flat[64];
    uint64_t n = 0;
    size_t len = 0;
    bool good;
    if (strncmp(s, "job.", 4) == 0)
        s += 4;
    if (strncmp(s, "0x", 2) == 0) {
        good = digits(s + 2, hex, &n);
    } else if (strchr(s, '.')) {
        for (const char *p = s; *p && len + 1 < sizeof(flat); p++)
            if (*p != '.')
                flat[len++] = *p;
        flat[len] = '\0';
        good = digits(flat, hex, &n);
    } else if (*s == 'f') {
        good = digits(s + 1, base58, &n);
    } else if (strncmp(s, "\xc6\x92", 2) == 0) {
        good = digits(s + 2, base58, &n);
    } else {
        good = digits(s, "0123456789", &n);
    }
    *ret = (int64_t)n;
    return good && n <= INT64_MAX;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "node[1-3,7],login" spread out and sorted. */
static bool expand_hosts(struct sl_arena *a, const char *s, struct step *ret) {
    struct sl_hostlist hosts = {0};
    struct sl_err err;
    bool good = sl_hostlist_add(&hosts, a, s, &err) >= 0 && hosts.names.n > 0;
    const char **kept = sl_arena_alloc(a, (hosts.names.n + 1) * sizeof(*kept));
    if (good) {
        memcpy(kept, hosts.names.v, hosts.names.n * sizeof(*kept));
        qsort(kept, hosts.names.n, sizeof(*kept), by_text);
    }
    ret->names = kept;
    ret->n_names = hosts.names.n;
    sl_hostlist_done(&hosts);
    return good;
}

static bool either(const char *value, const char *yes, const char *no, bool *ret) {
    *ret = strcmp(value, yes) == 0;
    return *ret || strcmp(value, no) == 0;
}

static bool read_value(struct sl_find *f, struct step *s, const char *text, size_t len) {
    const char *value = lower(&f->arena, text, len);
    bool good = len > 0;
    switch (s->key) {
    case KEY_STATUS:
        return good && either(value, "up", "down", &s->yes);
    case KEY_SCHED_NOW:
        return good && either(value, "allocated", "free", &s->yes);
    case KEY_SCHED_FUTURE:
        return good && either(value, "reserved", "free", &s->yes);
    case KEY_AGFILTER:
        good =
            good && (either(value, "true", "false", &s->yes) || either(value, "t", "f", &s->yes));
        f->sums = f->sums || (good && s->yes);
        return good;
    case KEY_NAMES:
        return good && expand_hosts(&f->arena, value, s);
    case KEY_PROPERTY:
        s->text = value;
        return good;
    case KEY_JOB_ALLOC:
    case KEY_JOB_SPAN:
    case KEY_JOB_TAG:
    case KEY_JOB_RESERVED:
        good = good && job_id(sl_arena_strndup(&f->arena, text, len), &s->job);
        if (good)
            f->sums_job = s->job;
        return good;
    }
    return false;
}

/* ---- reading ---- */

static bool read_test(struct sl_find *f, const char *s, size_t len) {
    const char *eq = memchr(s, '=', len);
    if (!eq)
        return false;
    const char *key = lower(&f->arena, s, (size_t)(eq - s));
    for (size_t i = 0; i < SL_LEN(keys); i++) {
        struct step t = {.kind = STEP_TEST, .key = (enum key)i};
        if (strcmp(keys[i], key) != 0)
            continue;
        if (!read_value(f, &t, eq + 1, len - (size_t)(eq - s) - 1))
            return false;
        *sl_vec_push(&f->steps) = t;
        return true;
    }
    return false;
}

/* Where a parenthesis was opened: what joins it to what is left of it. */
struct level {
    int join;   /* STEP_AND, STEP_OR; -1: nothing is to its left */
    bool some;  /* something stands in it already */
    bool named; /* 'and' or 'or' was just read */
};

static bool read_all(struct sl_find *f, const char *s) {
    struct level levels[DEPTH_MAX] = {{.join = -1}};
    uint32_t depth = 0;
    for (s += strspn(s, " \t"); *s; s += strspn(s, " \t")) {
        struct level *l = &levels[depth];
        size_t len = *s == '(' || *s == ')' ? 1 : strcspn(s, " \t()");
        const char *word = lower(&f->arena, s, len);
        bool done = false; /* an operand is complete */
        if (f->steps.n >= TERMS_MAX)
            return false;
        if (strcmp(word, "and") == 0 || strcmp(word, "or") == 0) {
            if (!l->some || l->named)
                return false;
            l->join = word[0] == 'a' ? STEP_AND : STEP_OR;
            l->named = true;
        } else if (*s == '(') {
            if (l->some && !l->named)
                l->join = STEP_AND;
            if (++depth == DEPTH_MAX)
                return false;
            levels[depth] = (struct level){.join = -1};
        } else if (*s == ')') {
            if (depth == 0 || !l->some || l->named)
                return false;
            l = &levels[--depth];
            done = true;
        } else {
            if (l->some && !l->named)
                l->join = STEP_AND;
            if (!read_test(f, s, len))
                return false;
            done = true;
        }
        if (done) {
            if (l->some)
                *sl_vec_push(&f->steps) = (struct step){.kind = (enum step_kind)l->join};
            l->some = true;
            l->named = false;
        }
        s += len;
    }
    return depth == 0 && levels[0].some && !levels[0].named;
}

int sl_find_parse(const char *text, struct sl_find **ret, struct sl_err *err) {
    struct sl_find *f = sl_alloc0(1, sizeof(*f));
    sl_arena_init(&f->arena, (size_t)256 << 20);
    f->sums_job = -1;
    if (strlen(text) > 65536 || !read_all(f, text)) {
        sl_find_free(f);
        return sl_err_set(err, SL_EINVAL, "invalid criteria: %.180s.", text);
    }
    *ret = f;
    return 0;
}

/* ---- evaluating ---- */

/* What jobs do with a vertex. */
struct use {
    bool allocated, reserved;
};

static bool job_has(const struct sl_match *m, const struct graph_job *j, uint32_t from, uint32_t to,
                    bool exclusively) {
    for (uint32_t i = j->spans; i; i = m->spans.v[i].next_of_job) {
        const struct graph_span *s = &m->spans.v[i];
        const struct graph_block *b = &m->blocks.v[s->block];
        uint32_t n = graph_block_words(b);
        for (uint32_t p = from > b->pos ? from : b->pos; p < to && p < b->pos + b->n; p++) {
            uint64_t x = m->words.v[s->bits + (p - b->pos) / 64];
            uint64_t sh = m->words.v[s->bits + n + (p - b->pos) / 64];
            if ((exclusively ? x : x | sh) >> (p - b->pos) % 64 & 1)
                return true;
        }
    }
    for (uint32_t i = j->shares; i; i = m->shares.v[i].next_of_job) {
        uint32_t p = m->pools.v[m->shares.v[i].pool].pos;
        if (p >= from && p < to)
            return true;
    }
    return false;
}

static struct use use_of_one(const struct sl_match *m, uint32_t pos) {
    const struct graph_block *b = &m->blocks.v[m->spots[pos].block];
    const struct graph_pool *p = m->spots[pos].divisible ? graph_pool_at(m, pos) : NULL;
    struct use u = {0};
    for (uint32_t i = b->spans; i; i = m->spans.v[i].next) {
        const struct graph_span *s = &m->spans.v[i];
        if (!(m->words.v[s->bits + (pos - b->pos) / 64] >> (pos - b->pos) % 64 & 1))
            continue;
        u.allocated = u.allocated || s->allocated;
        u.reserved = u.reserved || !s->allocated;
    }
    for (uint32_t i = p ? p->shares : 0; i; i = m->shares.v[i].next) {
        u.allocated = u.allocated || m->shares.v[i].allocated;
        u.reserved = u.reserved || !m->shares.v[i].allocated;
    }
    return u;
}

/* What is below something exclusive goes with it. */
static struct use use_of(const struct sl_match *m, uint32_t pos) {
    struct use u = use_of_one(m, pos);
    for (sl_vtx v = graph_vertex_at(m, pos)->parent; v != SL_VTX_NONE;
         v = sl_graph_vertex(m->g, v)->parent) {
        struct use above = use_of_one(m, sl_graph_vertex(m->g, v)->pos);
        u.allocated = u.allocated || above.allocated;
        u.reserved = u.reserved || above.reserved;
    }
    return u;
}

/* With vertices of several parents, what is below one does not say what a job has of it. */
static uint64_t **job_vertices(const struct sl_match *m, const struct sl_find *f) {
    if (m->n_more == 0)
        return NULL;
    uint64_t **has = sl_alloc0((size_t)f->steps.n + 1, sizeof(*has));
    for (uint32_t i = 0; i < f->steps.n; i++) {
        const struct step *s = &f->steps.v[i];
        bool asks = s->kind == STEP_TEST && (s->key == KEY_JOB_TAG || s->key == KEY_JOB_SPAN);
        const struct graph_job *j = asks ? graph_hold_job(m, s->job) : NULL;
        struct sl_grant g = {0};
        if (!j)
            continue;
        has[i] = sl_alloc0((size_t)m->n_spots / 64 + 1, sizeof(*has[i]));
        sl_grant_of_job(m, j, &g);
        for (uint32_t k = 0; k < g.picks.n; k++)
            sl_bits_set(has[i], sl_graph_vertex(m->g, g.picks.v[k].v)->pos);
        sl_grant_done(&g);
    }
    return has;
}

static bool test(const struct sl_match *m, const struct step *s, uint32_t pos,
                 const uint64_t *has) {
    char buf[SL_VERTEX_NAME];
    const char *name;
    const struct graph_job *j;
    sl_vtx v = m->spots[pos].v;
    switch (s->key) {
    case KEY_STATUS:
        return !m->spots[pos].down == s->yes;
    case KEY_SCHED_NOW:
        return use_of(m, pos).allocated == s->yes;
    case KEY_SCHED_FUTURE:
        return use_of(m, pos).reserved == s->yes;
    case KEY_AGFILTER:
        return true;
    case KEY_NAMES:
        name = sl_vertex_name(m->g, v, buf);
        return bsearch(&name, s->names, s->n_names, sizeof(*s->names), by_text) != NULL;
    case KEY_PROPERTY:
        return sl_vertex_prop(m->g, v, s->text) != NULL;
    case KEY_JOB_ALLOC:
    case KEY_JOB_RESERVED:
        j = graph_hold_job(m, s->job);
        return j && (j->state == SL_JOB_ALLOCATED) == (s->key == KEY_JOB_ALLOC) &&
               job_has(m, j, pos, pos + 1, true);
    case KEY_JOB_SPAN:
    case KEY_JOB_TAG:
        j = graph_hold_job(m, s->job);
        return j &&
               (has ? sl_bits_get(has, pos) : job_has(m, j, pos, graph_end_of(m, pos), false)) &&
               (s->key == KEY_JOB_TAG || m->spots[pos].inner != GRAPH_NONE);
    }
    return false;
}

static bool expression_holds(const struct sl_match *m, const struct sl_find *f, uint32_t pos,
                             uint64_t *const *has) {
    uint64_t stack[DEPTH_MAX / 64 + 1] = {0}; /* truths, the top one lowest */
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->steps.n; i++) {
        const struct step *s = &f->steps.v[i];
        if (s->kind == STEP_TEST) {
            stack[1] = stack[1] << 1 | stack[0] >> 63;
            stack[0] = stack[0] << 1 | test(m, s, pos, has ? has[i] : NULL);
            n++;
            continue;
        }
        bool a = stack[0] & 1, b = stack[0] >> 1 & 1;
        stack[0] = stack[0] >> 1 | stack[1] << 63;
        stack[1] >>= 1;
        stack[0] = (stack[0] & ~UINT64_C(1)) | (s->kind == STEP_AND ? a && b : a || b);
        n--;
    }
    sl_assert(n == 1);
    return stack[0] & 1;
}

void sl_match_find(const struct sl_match *m, const struct sl_find *f, struct sl_grant *ret) {
    sl_vec_clear(&ret->picks);
    ret->state = SL_JOB_MATCHED;
    ret->at = ret->duration = 0;
    ret->n_slots = 0;
    uint64_t **jobs = job_vertices(m, f);
    for (uint32_t pos = 0; pos < m->n_spots; pos++)
        if (expression_holds(m, f, pos, jobs))
            *sl_vec_push(&ret->picks) = (struct sl_pick){pos, graph_vertex_at(m, pos)->size, true};
    for (uint32_t i = 0; jobs && i < f->steps.n; i++)
        sl_freep(&jobs[i]);
    sl_freep(&jobs);
    sl_grant_finish(m, NULL, NULL, ret);
    int64_t jobid;
    uint32_t n = 0;
    bool sums = sl_find_sums(f, &jobid);
    const struct graph_job *j = jobid >= 0 ? graph_hold_job(m, jobid) : NULL;
    for (uint32_t i = 0; i < ret->picks.n; i++) {
        uint32_t pos = sl_graph_vertex(m->g, ret->picks.v[i].v)->pos;
        bool has = m->spots[pos].inner != GRAPH_NONE && graph_layout_filters(m, pos, NULL, 0) > 0;
        if (has && jobid >= 0)
            has = j && job_has(m, j, pos + 1, graph_end_of(m, pos), true);
        if (sums && !has)
            continue;
        ret->picks.v[n] = ret->picks.v[i];
        ret->picks.v[n++].exclusive = true;
    }
    ret->picks.n = n;
}

/* ---- sums ---- */

static int64_t used_below(const struct sl_match *m, const struct graph_job *only, uint32_t pos,
                          int64_t at, uint16_t type) {
    uint32_t from = pos + 1, to = graph_end_of(m, pos);
    int64_t used = 0;
    for (uint32_t i = from < to ? m->spots[from].block : m->blocks.n;
         i < m->blocks.n && m->blocks.v[i].pos < to; i++) {
        const struct graph_block *b = &m->blocks.v[i];
        for (uint32_t k = b->spans; k; k = m->spans.v[k].next) {
            const struct graph_span *s = &m->spans.v[k];
            if (only ? &m->jobs.v[s->job] != only : at < s->from || at >= s->to)
                continue;
            for (uint32_t w = 0; w < graph_block_words(b); w++)
                for (uint64_t left = m->words.v[s->bits + w]; left; left &= left - 1) {
                    uint32_t p = b->pos + w * 64 + (uint32_t)__builtin_ctzll(left);
                    if (p >= from && p < to && m->spots[p].type == type)
                        used += graph_vertex_at(m, p)->size;
                }
        }
    }
    for (uint32_t i = 0; i < m->pools.n; i++) {
        const struct graph_pool *p = &m->pools.v[i];
        if (p->pos < from || p->pos >= to || m->spots[p->pos].type != type)
            continue;
        for (uint32_t k = p->shares; k; k = m->shares.v[k].next) {
            const struct graph_share *s = &m->shares.v[k];
            if (only ? &m->jobs.v[s->job] == only : at >= s->from && at < s->to)
                used += s->amount;
        }
    }
    return used;
}

uint32_t sl_match_sums(const struct sl_match *m, sl_vtx v, int64_t at, int64_t jobid,
                       struct sl_match_filter_sum *ret, uint32_t max) {
    uint32_t pos = sl_graph_vertex(m->g, v)->pos, n = 0;
    const struct graph_job *only = jobid >= 0 ? graph_hold_job(m, jobid) : NULL;
    if (m->spots[pos].inner == GRAPH_NONE || (jobid >= 0 && !only))
        return 0;
    sl_sym *types = sl_alloc((m->all_filters.n + 1) * sizeof(*types));
    uint32_t n_types = graph_layout_filters(m, pos, types, m->all_filters.n);
    for (uint32_t i = 0; i < n_types; i++) {
        uint32_t type = graph_layout_type(m, types[i]);
        int64_t total = 0;
        for (uint32_t p = pos + 1; p < graph_end_of(m, pos) && type != GRAPH_NONE; p++)
            total += m->spots[p].type == type ? graph_vertex_at(m, p)->size : 0;
        if (n < max)
            ret[n] = (struct sl_match_filter_sum){
                types[i], used_below(m, only, pos, at, (uint16_t)type), total};
        n++;
    }
    sl_freep(&types);
    return n;
}

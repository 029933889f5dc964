/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Terms about other pods and preferences of nodes, parsed once for a class; the groups of pods by
 * labels that their selectors are evaluated on, and the domains that nodes form.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/controllers/namespace/namespace.h"
#include "cluster/scheduler/scheduler_int.h"
#include "core/base/collection/hash.h"
#include "lib/json/json.h"

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

/* Where each kind of term stands. Spread constraints of both kinds are in one list. */
static const struct {
    const char *path, *list;
} lists[] = {
    [TERM_SPREAD] = {NULL, "topologySpreadConstraints"},
    [TERM_AFFINITY] = {"affinity.podAffinity", REQUIRED},
    [TERM_ANTI_AFFINITY] = {"affinity.podAntiAffinity", REQUIRED},
    [TERM_SOFT_SPREAD] = {NULL, "topologySpreadConstraints"},
    [TERM_PREFERRED_AFFINITY] = {"affinity.podAffinity", PREFERRED},
    [TERM_PREFERRED_ANTI_AFFINITY] = {"affinity.podAntiAffinity", PREFERRED},
};

static yyjson_val *list_of(yyjson_val *spec, enum sched_term_kind how) {
    return yyjson_obj_get(lists[how].path ? sl_json_at(spec, lists[how].path) : spec,
                          lists[how].list);
}

static yyjson_val *preferred_terms_of(yyjson_val *spec) {
    return yyjson_obj_get(sl_json_at(spec, "affinity.nodeAffinity"), PREFERRED);
}

/* As text and not by sl_json_hash, for which an empty selector (all) and an absent one (none) are
 * the same. */
static bool put_list(struct sl_buf *b, const char *name, yyjson_val *list) {
    if (!yyjson_arr_size(list))
        return false;
    sl_buf_puts(b, name);
    sl_json_put(b, list);
    return true;
}

bool sched_pod_terms_put(struct sl_buf *b, yyjson_val *pod) {
    static const char *const names[TERM_N] = {"spread", "near", "apart", NULL, "like", "dislike"};
    yyjson_val *spec = yyjson_obj_get(pod, "spec");
    bool others = false;
    (void)put_list(b, "nodes", preferred_terms_of(spec));
    for (size_t how = 0; how < TERM_N; how++)
        if (names[how])
            others |= put_list(b, names[how], list_of(spec, (enum sched_term_kind)how));
    return others;
}

/* ---- terms ---- */

static const char *const *strings(struct sl_arena *a, yyjson_val *list, uint32_t *ret_n) {
    const char **v = sl_arena_alloc(a, (yyjson_arr_size(list) + 1) * sizeof *v);
    size_t i, n;
    yyjson_val *s;
    *ret_n = 0;
    yyjson_arr_foreach (list, i, n, s)
        if (yyjson_is_str(s))
            v[(*ret_n)++] = sl_arena_strdup(a, sl_json_text(s));
    return v;
}

/* Rules that require the pod's own values of these labels, or exclude them; keys that it does not
 * have are left out. */
static void add_own(struct sl_arena *a, struct sl_selector *s, yyjson_val *keys, yyjson_val *labels,
                    enum sl_label_op op) {
    size_t max = yyjson_arr_size(keys), i, n;
    yyjson_val *key;
    if (!max || s->nothing || max > SL_SELECTOR_MAX_RULES)
        return;
    struct sl_label_rule *to = sl_arena_alloc(a, (s->n + max) * sizeof *to);
    for (uint32_t k = 0; k < s->n; k++)
        to[k] = s->v[k];
    yyjson_arr_foreach (keys, i, n, key) {
        const char *value = sl_json_opt(sl_json_same_key(labels, key));
        const char **one = sl_arena_alloc(a, sizeof *one);
        if (!value)
            continue;
        *one = sl_arena_strdup(a, value);
        to[s->n++] = (struct sl_label_rule){sl_arena_strdup(a, sl_json_text(key)), op, one, 1};
    }
    s->v = to;
}

static void read_selector(struct sl_arena *a, yyjson_val *from, struct sl_selector *ret) {
    bool good = cl_rules_read(a, yyjson_obj_get(from, "matchLabels"),
                              yyjson_obj_get(from, "matchExpressions"), ret);
    ret->nothing = !good || !from || yyjson_is_null(from);
}

static uint32_t take_key(struct sched *s, const char *name) {
    uint32_t spare = s->keys.n;
    for (uint32_t i = 0; i < s->keys.n; i++) {
        if (!s->keys.v[i].name) {
            spare = i;
        } else if (strcmp(s->keys.v[i].name, name) == 0) {
            s->keys.v[i].refs++;
            return i;
        }
    }
    if (spare == s->keys.n)
        (void)sl_vec_push(&s->keys);
    s->keys.v[spare] =
        (struct sched_key){.name = sl_strdup(name), .refs = 1, .epoch = s->epoch - 1};
    return spare;
}

static int32_t bounded(int64_t n) {
    return n < 0 ? 0 : n > 1 << 20 ? 1 << 20 : (int32_t)n;
}

static void read_affinity(struct sl_arena *a, struct sched_term *t, yyjson_val *v,
                          yyjson_val *labels) {
    yyjson_val *names = sl_json_at(v, "namespaces"), *select = sl_json_at(v, "namespaceSelector");
    add_own(a, &t->selector, sl_json_at(v, "matchLabelKeys"), labels, SL_OP_IN);
    add_own(a, &t->selector, sl_json_at(v, "mismatchLabelKeys"), labels, SL_OP_NOT_IN);
    t->namespaces = strings(a, names, &t->n_namespaces);
    read_selector(a, select, &t->namespace_selector);
    bool chooses = select && !yyjson_is_null(select);
    t->all_namespaces = chooses && !t->namespace_selector.nothing && !t->namespace_selector.n;
    t->by_namespace_label = chooses && !t->all_namespaces;
    t->own_namespace = !chooses && !t->n_namespaces;
}

static void read_spread(struct sl_arena *a, struct sched_term *t, yyjson_val *v,
                        yyjson_val *labels) {
    add_own(a, &t->selector, sl_json_at(v, "matchLabelKeys"), labels, SL_OP_IN);
    t->own_namespace = true;
    t->weight = bounded(sl_json_int(v, "maxSkew", 1));
    t->min_domains = bounded(sl_json_int(v, "minDomains", 1));
    t->ignore_node_affinity = strcmp(sl_json_str(v, "nodeAffinityPolicy"), "Ignore") == 0;
    t->honor_taints = strcmp(sl_json_str(v, "nodeTaintsPolicy"), "Honor") == 0;
}

static void read_term(struct sched *s, struct sched_class *k, enum sched_term_kind how,
                      yyjson_val *from, yyjson_val *labels) {
    struct sched_pod_terms *w = k->pod_terms;
    bool spread = how == TERM_SPREAD || how == TERM_SOFT_SPREAD;
    bool soft = strcmp(sl_json_str(from, "whenUnsatisfiable"), "ScheduleAnyway") == 0;
    bool weighed = how == TERM_PREFERRED_AFFINITY || how == TERM_PREFERRED_ANTI_AFFINITY;
    yyjson_val *v = weighed ? sl_json_at(from, "podAffinityTerm") : from;
    if (spread && soft != (how == TERM_SOFT_SPREAD))
        return;
    if (w->n_terms == SCHED_MAX_TERMS) {
        k->unreadable = true;
        return;
    }
    struct sched_term *t = &w->terms[w->n_terms];
    *t = (struct sched_term){.kind = how, .key = take_key(s, sl_json_str(v, "topologyKey"))};
    read_selector(&k->arena, yyjson_obj_get(v, "labelSelector"), &t->selector);
    if (spread)
        read_spread(&k->arena, t, v, labels);
    else
        read_affinity(&k->arena, t, v, labels);
    if (weighed)
        t->weight = bounded(sl_json_int(from, "weight", 1));
    s->n_by_namespace_label += t->by_namespace_label;
    w->by[how] |= UINT64_C(1) << w->n_terms++;
}

static void read_preferred_term(struct sched_class *k, yyjson_val *from) {
    struct sched_pod_terms *w = k->pod_terms;
    yyjson_val *v = sl_json_at(from, "preference");
    struct sched_preferred_term *t = &w->preferred[w->n_preferred];
    *t = (struct sched_preferred_term){.weight = bounded(sl_json_int(from, "weight", 1))};
    w->n_preferred += sched_node_term_read(&k->arena, v, &t->hosts);
}

void sched_pod_terms_read(struct sched *s, struct sched_class *k, yyjson_val *pod) {
    yyjson_val *spec = yyjson_obj_get(pod, "spec"), *labels = sl_json_at(pod, "metadata.labels"),
               *v;
    struct sched_pod_terms *w = k->pod_terms = sl_arena_alloc0(&k->arena, 1, sizeof *w);
    size_t i, n;
    w->terms = sl_arena_alloc(&k->arena, SCHED_MAX_TERMS * sizeof *w->terms);
    w->preferred = sl_arena_alloc(&k->arena, SCHED_MAX_PREFERRED * sizeof *w->preferred);
    for (size_t how = 0; how < TERM_N; how++)
        yyjson_arr_foreach (list_of(spec, (enum sched_term_kind)how), i, n, v)
            read_term(s, k, (enum sched_term_kind)how, v, labels);
    yyjson_arr_foreach (preferred_terms_of(spec), i, n, v)
        if (w->n_preferred < SCHED_MAX_PREFERRED)
            read_preferred_term(k, v);
        else
            k->unreadable = true;
    if (w->by[TERM_AFFINITY] || w->by[TERM_SPREAD])
        *sl_vec_push(&s->affinity_classes) = k->id;
}

void sched_pod_terms_done(struct sched *s, struct sched_class *k) {
    for (uint32_t i = 0; k->pod_terms && i < k->pod_terms->n_terms; i++) {
        struct sched_key *key = &s->keys.v[k->pod_terms->terms[i].key];
        s->n_by_namespace_label -= k->pod_terms->terms[i].by_namespace_label;
        if (--key->refs)
            continue;
        sl_freep(&key->name);
        sl_vec_free(&key->of);
    }
    for (uint32_t i = 0; k->pod_terms && i < s->affinity_classes.n; i++)
        if (s->affinity_classes.v[i] == k->id) {
            s->affinity_classes.v[i] = sl_vec_last(&s->affinity_classes);
            s->affinity_classes.n--;
            break;
        }
    k->pod_terms = NULL;
}

/* Is the namespace one that the term's selector takes? One that is not known has no labels. */
static bool chosen(const struct sched *s, const struct sched_term *t, sl_sym ns) {
    static const struct sl_labels none = {NULL, 0};
    struct sl_rec *r = sl_inf_find(s->c->inf, K_NAMESPACE, "", cl_str(s->c, ns));
    return sl_selector_matches(&t->namespace_selector, r ? &cl_namespace_of(r)->labels : &none);
}

/* Waiting pods may wait for that, and scheduled ones may match others now. */
void sched_namespaces_changed(struct sl_cluster *c) {
    c->schedule->capacity_freed |= c->schedule->n_by_namespace_label > 0;
}

bool sched_term_matches(const struct sched *s, const struct sched_class *k,
                        const struct sched_term *t, const struct sched_label_group *group) {
    bool here = t->all_namespaces || (t->own_namespace && group->ns == k->ns);
    if ((t->kind == TERM_SPREAD || t->kind == TERM_SOFT_SPREAD) && !t->selector.n)
        return false; /* one that would match all counts none */
    for (uint32_t i = 0; i < t->n_namespaces && !here; i++)
        here = strcmp(t->namespaces[i], cl_str(s->c, group->ns)) == 0;
    return (here || (t->by_namespace_label && chosen(s, t, group->ns))) &&
           sl_selector_matches(&t->selector, &group->labels);
}

/* ---- crowds ---- */

static uint64_t label_group_hash(const struct cl_pod *p) {
    return sl_hash_u64(p->f.labels, p->rec.ns);
}

bool sched_label_group_matches(const struct sched_label_group *group, const struct cl_pod *p) {
    return group->hash == label_group_hash(p);
}

static const char *copy_text(char **to, const char *s) {
    size_t n = strlen(s) + 1;
    char *at = memcpy(*to, s, n);
    *to += n;
    return at;
}

static void read_labels(struct sched_label_group *group, const char *text) {
    yyjson_doc *d = text ? yyjson_read(text, strlen(text), 0) : NULL;
    yyjson_obj_iter it = yyjson_obj_iter_with(yyjson_doc_get_root(d)); /* of what may be absent */
    size_t many = yyjson_obj_size(yyjson_doc_get_root(d)) + 1;
    /* Escaped or not, texts are no longer than what they were read from. */
    group->v = sl_alloc0(1, many * (sizeof *group->v + 2) + (text ? strlen(text) : 0));
    char *to = (char *)(group->v + many);
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&it));) {
        const char *value = sl_json_opt(yyjson_obj_iter_get_val(key));
        if (!value)
            continue;
        const char *name = copy_text(&to, sl_json_text(key));
        group->v[group->labels.n++] = (struct sl_label){name, copy_text(&to, value)};
    }
    group->labels.v = group->v;
    yyjson_doc_free(d);
}

struct sched_label_group *sched_label_group_of(struct sched *s, const struct cl_pod *p) {
    struct sched_pod *v = p->sched;
    uint64_t h = label_group_hash(p);
    if (v->label_group && v->label_group->hash == h)
        return v->label_group;
    sched_label_group_unref(s, v->label_group);
    uint32_t id = sl_map_get(&s->label_group_by_hash, h);
    if (id == SL_MAP_NONE) {
        struct sched_label_group *group = sl_alloc0(1, sizeof *group);
        id = s->free_label_groups.n ? sl_vec_pop(&s->free_label_groups) : s->label_groups.n;
        if (id == s->label_groups.n)
            (void)sl_vec_push(&s->label_groups);
        s->label_groups.v[id] = group;
        group->hash = h;
        group->id = id;
        group->ns = p->rec.ns;
        read_labels(group, p->labels);
        sl_map_add(&s->label_group_by_hash, h, id);
    }
    v->label_group = s->label_groups.v[id];
    v->label_group->refs++;
    return v->label_group;
}

void sched_label_group_unref(struct sched *s, struct sched_label_group *group) {
    if (!group || --group->refs)
        return;
    (void)sl_map_del(&s->label_group_by_hash, group->hash, group->id);
    s->label_groups.v[group->id] = NULL;
    *sl_vec_push(&s->free_label_groups) = group->id;
    sl_freep(&group->v);
    sl_freep(&group);
}

/* ---- domains ---- */

static void find_domains(struct sched *s, struct sched_key *k) {
    SL_VEC(const char *) values = {0};
    struct sl_map by_hash = {0};
    sl_vec_clear(&k->of);
    for (uint32_t i = 0; i < s->places.n; i++) {
        const struct sched_node *n = s->places.v[i].node;
        const char *value = n ? sl_labels_get(&n->labels, k->name) : NULL;
        uint32_t cursor, at = SCHED_NO_DOMAIN;
        if (value) {
            uint64_t h = sl_hash_str(1, value);
            at = sl_map_first(&by_hash, h, &cursor);
            while (at < values.n && strcmp(values.v[at], value) != 0)
                at = sl_map_next(&by_hash, h, &cursor);
            if (at == SL_MAP_NONE) {
                at = values.n;
                *sl_vec_push(&values) = value;
                sl_map_add(&by_hash, h, at);
            }
        }
        *sl_vec_push(&k->of) = at;
    }
    k->n = values.n;
    k->epoch = s->epoch;
    sl_vec_free(&values);
    sl_map_done(&by_hash);
}

struct sched_key *sched_key(struct sched *s, uint32_t key) {
    struct sched_key *k = &s->keys.v[key];
    if (k->epoch != s->epoch)
        find_domains(s, k);
    while (k->of.n < s->places.n) /* of nodes that are not known */
        *sl_vec_push(&k->of) = SCHED_NO_DOMAIN;
    return k;
}

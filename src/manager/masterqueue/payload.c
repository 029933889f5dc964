/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two kinds of mistakes. Of a quota, or of the whole: nothing is taken, because a pool with half of
 * its quotas is a pool of another size. Of a label or a taint: that one is left out. A pool that
 * asks for more taints than a flavor can hold is a mistake of the whole: without one of them it
 * would get work that it does not want.
 */
#include "manager/masterqueue/payload.h"

#include <stdlib.h>

#include "core/model/labels.h"
#include "kube/types/syntax.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"

#define MAX_VALUES 8192u /* of the JSON: ten times what all lists can hold */
#define MAX_QUANTITY 64u /* bytes of its text */
#define MAX_EXPONENT 2u  /* digits: 1e18 is most of what a quantity holds */
#define MAX_EXCERPT 40u  /* bytes of a text that a message repeats */
#define MOST "9223372036854775807"

/* What providers sent without an object around it, before 2025. */
static const char *const flat_names[] = {"cpu", "memory", "pods", "nvidia.com/gpu"};

struct reading {
    struct sl_arena *arena;
    struct sl_pool_payload p;
};

/* As much of a text as a message may repeat, up to the end of a character: a %.*s of it. */
static int excerpt(struct sl_text t) {
    size_t n = t.n < MAX_EXCERPT ? t.n : MAX_EXCERPT;

    while (n < t.n && n > 0 && ((unsigned char)t.s[n] & 0xc0) == 0x80)
        n--;
    return (int)n;
}

static const char *type_of(yyjson_val *v) {
    return yyjson_is_raw(v) ? "a number" : yyjson_get_type_desc(v);
}

/* A key that decides something and stands there twice: readers would differ in which one counts. */
static int find_once(yyjson_val *object, const char *name, yyjson_val **ret, struct sl_err *err) {
    yyjson_val *key, *val, *found = NULL;
    size_t i, n;

    sl_obj_foreach (object, i, n, key, val) {
        if (!sl_text_is(sl_json_view(key), name))
            continue;
        if (found)
            return sl_err_set(err, SL_EINVAL, "%s: the key is there twice", name);
        found = val;
    }
    *ret = found;
    return 0;
}

/* ---- quotas ---- */

/* Quantities have exponents, too; those that no amount needs are a mistake or an attack. */
static bool has_huge_exponent(struct sl_text t) {
    size_t digits = 0;

    while (digits < t.n && t.s[t.n - 1 - digits] >= '0' && t.s[t.n - 1 - digits] <= '9')
        digits++;
    if (digits <= MAX_EXPONENT || digits == t.n)
        return false;
    char before = t.s[t.n - 1 - digits];
    if ((before == '+' || before == '-') && digits + 1 < t.n)
        before = t.s[t.n - 2 - digits];
    return before == 'e' || before == 'E';
}

/* What is wrong with an amount; NULL: nothing. */
static const char *amount_fault(struct sl_text t, sl_quantity *ret) {
    if (t.n > MAX_QUANTITY || has_huge_exponent(t) || sl_quantity_parse(t.s, t.n, ret, NULL) < 0)
        return "expected a quantity such as 16, 1500m or 64Gi";
    if (*ret < 0)
        return "expected a quantity of 0 or more";
    if (*ret == SL_QUANTITY_MAX && !sl_text_is(t, MOST))
        return "expected a quantity of at most " MOST;
    return NULL;
}

static int read_quota(struct reading *r, struct sl_text name, yyjson_val *v, struct sl_err *err) {
    struct sl_text t = yyjson_is_raw(v) ? sl_json_raw(v) : sl_json_view(v);
    sl_quantity amount = 0;

    if (sl_syntax_label_key(name.s, name.n).n > 0)
        return sl_err_set(err, SL_EINVAL,
                          "quotas: \"%.*s\": expected the name of a resource such as cpu or "
                          "nvidia.com/gpu",
                          excerpt(name), name.s);
    for (uint32_t i = 0; i < r->p.n_quotas; i++)
        if (sl_text_is(name, r->p.quotas[i].resource))
            return sl_err_set(err, SL_EINVAL, "quotas.%.*s: the key is there twice", excerpt(name),
                              name.s);
    if (!yyjson_is_raw(v) && !yyjson_is_str(v))
        return sl_err_set(err, SL_EINVAL, "quotas.%.*s: expected a quantity, got %s", excerpt(name),
                          name.s, type_of(v));
    const char *fault = amount_fault(t, &amount);
    if (fault)
        return sl_err_set(err, SL_EINVAL, "quotas.%.*s: %s, got \"%.*s\"", excerpt(name), name.s,
                          fault, excerpt(t), t.s);
    if (r->p.n_quotas == SL_POOL_MAX_RESOURCES)
        return sl_err_set(err, SL_ELIMIT, "quotas: more than %u resources", SL_POOL_MAX_RESOURCES);
    r->p.quotas[r->p.n_quotas++] =
        (struct sl_pool_quota){.resource = sl_arena_strndup(r->arena, name.s, name.n),
                               .text = sl_arena_strndup(r->arena, t.s, t.n),
                               .amount = amount};
    return 0;
}

static int read_flat_quotas(struct reading *r, yyjson_val *root, struct sl_err *err) {
    for (size_t i = 0; i < SL_LEN(flat_names); i++) {
        yyjson_val *v = NULL;
        int e = find_once(root, flat_names[i], &v, err);

        if (e == 0 && v)
            e = read_quota(r, sl_text_of(flat_names[i]), v, err);
        if (e < 0)
            return e;
    }
    return 0;
}

static int by_resource(const void *a, const void *b) {
    const struct sl_pool_quota *x = a, *y = b;

    return strcmp(x->resource, y->resource);
}

static int read_quotas(struct reading *r, yyjson_val *root, struct sl_err *err) {
    yyjson_val *quotas = NULL, *key, *val;
    size_t i, n;
    int e = find_once(root, "quotas", &quotas, err);

    if (e < 0)
        return e;
    if (!quotas) {
        e = read_flat_quotas(r, root, err);
    } else if (!yyjson_is_obj(quotas) && !yyjson_is_null(quotas)) {
        return sl_err_set(err, SL_EINVAL, "quotas: expected an object, got %s", type_of(quotas));
    } else {
        sl_obj_foreach (quotas, i, n, key, val) {
            e = read_quota(r, sl_json_view(key), val, err);
            if (e < 0)
                return e;
        }
    }
    qsort(r->p.quotas, r->p.n_quotas, sizeof r->p.quotas[0], by_resource);
    return e;
}

/* ---- labels and taints ---- */

/* The first one is explained; an administrator who mends it sees the next. */
static void leave_out(struct reading *r, const char *list, size_t i, yyjson_val *v,
                      const char *why) {
    struct sl_text t = yyjson_is_str(v) ? sl_json_view(v) : sl_text_of(type_of(v));

    if (r->p.n_left_out++ == 0)
        r->p.left_out =
            sl_arena_printf(r->arena, "%s[%zu] \"%.*s\": %s", list, i, excerpt(t), t.s, why);
}

/* What is wrong with a label; NULL: nothing, and there is one more. */
static const char *add_label(struct reading *r, struct sl_text key, struct sl_text value) {
    if (sl_syntax_label_key(key.s, key.n).n > 0 || sl_syntax_label_value(value.s, value.n).n > 0)
        return "expected key=value or key, as Kubernetes' labels are";
    for (uint32_t i = 0; i < r->p.n_labels; i++)
        if (sl_text_is(key, r->p.labels[i].key))
            return "there is a label of this key before";
    if (r->p.n_labels == SL_POOL_MAX_LABELS)
        return "there are too many labels";
    r->p.labels[r->p.n_labels++] =
        (struct sl_pool_label){.key = sl_arena_strndup(r->arena, key.s, key.n),
                               .value = sl_arena_strndup(r->arena, value.s, value.n)};
    return NULL;
}

/* The text before and after the first (or last) of these characters; all and "" without one. */
static struct sl_text cut_at(struct sl_text t, const char *at, struct sl_text *ret_rest) {
    *ret_rest = SL_TEXT("");
    if (!at)
        return t;
    *ret_rest = (struct sl_text){at + 1, (size_t)(t.s + t.n - at - 1)};
    return (struct sl_text){t.s, (size_t)(at - t.s)};
}

static const char *read_label(struct reading *r, yyjson_val *v) {
    struct sl_text t = sl_json_view(v), value;
    struct sl_text key = cut_at(t, memchr(t.s, '=', t.n), &value);

    return yyjson_is_str(v) ? add_label(r, key, value) : "expected a string key=value";
}

/* As an object; of the keys that are taken none may be there twice. */
static int read_label_object(struct reading *r, yyjson_val *labels, struct sl_err *err) {
    yyjson_val *key, *val;
    size_t i, n;

    sl_obj_foreach (labels, i, n, key, val) {
        struct sl_text k = sl_json_view(key);

        for (uint32_t j = 0; j < r->p.n_labels; j++)
            if (sl_text_is(k, r->p.labels[j].key))
                return sl_err_set(err, SL_EINVAL, "labels.%.*s: the key is there twice", excerpt(k),
                                  k.s);
        const char *why = yyjson_is_str(val) ? add_label(r, k, sl_json_view(val))
                                             : "expected a string as its value";
        if (why)
            leave_out(r, "labels", i, key, why);
    }
    return 0;
}

static int by_label(const void *a, const void *b) {
    const struct sl_pool_label *x = a, *y = b;

    return strcmp(x->key, y->key);
}

static int read_labels(struct reading *r, yyjson_val *root, struct sl_err *err) {
    yyjson_val *labels = NULL, *item;
    size_t i, n;
    int e = find_once(root, "labels", &labels, err);

    if (e < 0)
        return e;
    if (yyjson_is_obj(labels)) {
        e = read_label_object(r, labels, err);
        if (e < 0)
            return e;
    } else if (labels && !yyjson_is_arr(labels) && !yyjson_is_null(labels)) {
        return sl_err_set(err, SL_EINVAL, "labels: expected an array, got %s", type_of(labels));
    }
    yyjson_arr_foreach (labels, i, n, item) {
        const char *why = read_label(r, item);
        if (why)
            leave_out(r, "labels", i, item, why);
    }
    qsort(r->p.labels, r->p.n_labels, sizeof r->p.labels[0], by_label);
    return 0;
}

/* What is wrong with a taint; NULL: nothing, and *ret is one. */
static const char *parse_taint(struct reading *r, yyjson_val *v, struct sl_pool_taint *ret) {
    struct sl_text t = sl_json_view(v), value, effect;
    struct sl_text whole = cut_at(t, memrchr(t.s, ':', t.n), &effect);
    struct sl_text key = cut_at(whole, memchr(whole.s, '=', whole.n), &value);
    enum sl_taint_effect known = SL_TAINT_ANY;

    if (!yyjson_is_str(v) || sl_syntax_label_key(key.s, key.n).n > 0 ||
        sl_syntax_label_value(value.s, value.n).n > 0)
        return "expected key=value:effect or key:effect";
    for (enum sl_taint_effect e = SL_TAINT_NO_SCHEDULE; e <= SL_TAINT_NO_EXECUTE; e++)
        if (sl_text_is(effect, sl_taint_effect_name(e)))
            known = e;
    if (known == SL_TAINT_ANY)
        return "expected the effect NoSchedule, PreferNoSchedule or NoExecute";
    *ret = (struct sl_pool_taint){.key = sl_arena_strndup(r->arena, key.s, key.n),
                                  .value = sl_arena_strndup(r->arena, value.s, value.n),
                                  .effect = sl_taint_effect_name(known)};
    return NULL;
}

static bool has_taint(const struct sl_pool_payload *p, const struct sl_pool_taint *t) {
    for (uint32_t i = 0; i < p->n_taints; i++)
        if (strcmp(p->taints[i].key, t->key) == 0 && strcmp(p->taints[i].effect, t->effect) == 0)
            return true;
    return false;
}

/* Of a virtual node, which the flavor has in any case: a second one makes it invalid. */
static bool is_of_node(const struct sl_pool_taint *t) {
    return strcmp(t->key, SL_POOL_NODE_TAINT) == 0 &&
           strcmp(t->effect, sl_taint_effect_name(SL_TAINT_NO_SCHEDULE)) == 0;
}

static int read_taints(struct reading *r, yyjson_val *root, struct sl_err *err) {
    yyjson_val *taints = NULL, *item;
    size_t i, n;
    int e = find_once(root, "taints", &taints, err);

    if (e < 0)
        return e;
    if (taints && !yyjson_is_arr(taints) && !yyjson_is_null(taints))
        return sl_err_set(err, SL_EINVAL, "taints: expected an array, got %s", type_of(taints));
    yyjson_arr_foreach (taints, i, n, item) {
        struct sl_pool_taint t;
        const char *why = parse_taint(r, item, &t);

        if (!why && is_of_node(&t) && strcmp(t.value, "true") == 0)
            continue;
        if (!why && (has_taint(&r->p, &t) || is_of_node(&t)))
            why = "there is a taint of this key and effect before";
        if (why) {
            leave_out(r, "taints", i, item, why);
            continue;
        }
        if (r->p.n_taints == SL_POOL_MAX_TAINTS)
            return sl_err_set(err, SL_ELIMIT,
                              "taints: more than %u, which is all that a flavor can hold",
                              SL_POOL_MAX_TAINTS);
        r->p.taints[r->p.n_taints++] = t;
    }
    return 0;
}

/* ---- the whole ---- */

int sl_pool_payload_read(const char *data, size_t len, struct sl_arena *a,
                         struct sl_pool_payload *ret, struct sl_err *err) {
    _cleanup_(sl_json_docp) yyjson_doc *doc = NULL;
    struct reading r = {.arena = a};

    if (len > SL_POOL_MAX_BYTES)
        return sl_err_set(err, SL_ELIMIT, "%zu bytes, expected at most %zu", len,
                          SL_POOL_MAX_BYTES);
    int e = sl_json_read_raw(data, len, MAX_VALUES, &doc, err);
    if (e < 0)
        return e;
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (!yyjson_is_obj(root))
        return sl_err_set(err, SL_EINVAL, "expected a JSON object, got %s", type_of(root));
    if (sl_json_has_nul(root))
        return sl_err_set(err, SL_EINVAL, "a text has a NUL inside");
    e = read_quotas(&r, root, err);
    if (e == 0)
        e = read_labels(&r, root, err);
    if (e == 0)
        e = read_taints(&r, root, err);
    if (e < 0)
        return e;
    if (sl_arena_full(a))
        return sl_err_set(err, SL_ELIMIT, "the texts take more memory than there is for them");
    *ret = r.p;
    return 0;
}

/* A provider sends amounts of cpu and memory as strings and counts as numbers. */
static bool is_count(const struct sl_pool_quota *q) {
    size_t n = strspn(q->text, "0123456789");

    return strcmp(q->resource, "cpu") != 0 && strcmp(q->resource, "memory") != 0 && n > 0 &&
           q->text[n] == '\0' && (q->text[0] != '0' || n == 1);
}

void sl_pool_payload_print(const struct sl_pool_payload *p, struct sl_buf *out) {
    struct sl_jw w = SL_JW(out);

    sl_jw_object(&w, NULL);
    sl_jw_object(&w, "quotas");
    for (uint32_t i = 0; i < p->n_quotas; i++) {
        const struct sl_pool_quota *q = &p->quotas[i];

        if (is_count(q))
            sl_jw_raw(&w, q->resource, q->text);
        else
            sl_jw_str(&w, q->resource, q->text);
    }
    sl_jw_end(&w);
    sl_jw_array(&w, "labels");
    for (uint32_t i = 0; i < p->n_labels; i++)
        sl_jw_strf(&w, NULL, "%s=%s", p->labels[i].key, p->labels[i].value);
    sl_jw_end(&w);
    sl_jw_array(&w, "taints");
    for (uint32_t i = 0; i < p->n_taints; i++)
        sl_jw_strf(&w, NULL, "%s=%s:%s", p->taints[i].key, p->taints[i].value, p->taints[i].effect);
    sl_jw_end_to(&w, 0);
}

static bool same_quotas(const struct sl_pool_payload *a, const struct sl_pool_payload *b) {
    if (a->n_quotas != b->n_quotas)
        return false;
    for (uint32_t i = 0; i < a->n_quotas; i++)
        if (strcmp(a->quotas[i].resource, b->quotas[i].resource) != 0 ||
            a->quotas[i].amount != b->quotas[i].amount)
            return false;
    return true;
}

static bool same_labels(const struct sl_pool_payload *a, const struct sl_pool_payload *b) {
    if (a->n_labels != b->n_labels)
        return false;
    for (uint32_t i = 0; i < a->n_labels; i++)
        if (strcmp(a->labels[i].key, b->labels[i].key) != 0 ||
            strcmp(a->labels[i].value, b->labels[i].value) != 0)
            return false;
    return true;
}

static bool same_taints(const struct sl_pool_payload *a, const struct sl_pool_payload *b) {
    if (a->n_taints != b->n_taints)
        return false;
    for (uint32_t i = 0; i < a->n_taints; i++)
        if (strcmp(a->taints[i].key, b->taints[i].key) != 0 ||
            strcmp(a->taints[i].value, b->taints[i].value) != 0 ||
            strcmp(a->taints[i].effect, b->taints[i].effect) != 0)
            return false;
    return true;
}

bool sl_pool_payload_same(const struct sl_pool_payload *a, const struct sl_pool_payload *b) {
    return same_quotas(a, b) && same_labels(a, b) && same_taints(a, b);
}

const struct sl_pool_quota *sl_pool_payload_quota(const struct sl_pool_payload *p,
                                                  const char *resource) {
    for (uint32_t i = 0; i < p->n_quotas; i++)
        if (strcmp(p->quotas[i].resource, resource) == 0)
            return &p->quotas[i];
    return NULL;
}

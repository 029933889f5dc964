/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several LimitRanges act as one that is as narrow as all of them; of two defaults the first
 * applies, in their order. (Limits that stand in for missing requests are done by the decoder of
 * podsets.)
 */
#include "kube/types/kueue/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fmt.h"
#include "core/base/quantity.h"
#include "kube/types/kueue/objects.h"
#include "lib/json/json.h"

#define MAX_POD_BYTES ((size_t)4 << 20)
#define MAX_POD_ARENA ((size_t)16 << 20) /* the requests of a pod */
#define MAX_POD_VALUES (UINT32_C(256) << 10)
#define MAX_ERROR_BYTES 16384

/* ---- resource lists ---- */

/* Which value of a resource stays. */
enum keep { FIRST, LOWEST, HIGHEST };

struct bag {
    uint32_t n;
    bool crowded; /* there were more than a pod may have: whose they are is refused */
    struct amount {
        const char *resource;
        yyjson_mut_val *written; /* NULL if it is a sum */
        sl_quantity q;
    } v[SL_MAX_PODSET_RESOURCES];
};

/* The resource's place, n if it is not there. */
static uint32_t find_resource(const struct bag *b, const char *resource) {
    uint32_t i = 0;
    while (i < b->n && strcmp(b->v[i].resource, resource) != 0)
        i++;
    return i;
}

static void put_amount(struct bag *b, struct amount x, enum keep keep) {
    uint32_t i = find_resource(b, x.resource);
    if (i == SL_LEN(b->v)) {
        b->crowded = true;
        return;
    }
    if (i == b->n)
        b->n++;
    else if (keep == FIRST || (keep == LOWEST ? x.q >= b->v[i].q : x.q <= b->v[i].q))
        return;
    b->v[i] = x;
}

static void put_list(struct bag *b, yyjson_mut_val *list, enum keep keep) {
    size_t i, n;
    yyjson_mut_val *key, *val;
    yyjson_mut_obj_foreach (list, i, n, key, val) {
        struct amount x = {.resource = sl_json_mut_text(key), .written = val};
        struct sl_text t = sl_json_mut_view(val);
        struct sl_err err;
        if (yyjson_mut_is_int(val))
            x.q = (sl_quantity)yyjson_mut_get_sint(val) * SL_NANO;
        else if (!yyjson_mut_is_str(val) || sl_quantity_parse(t.s, t.n, &x.q, &err) < 0)
            continue;
        put_amount(b, x, keep);
    }
}

/* ---- all LimitRanges in one ---- */

enum scope { CONTAINER, POD, SCOPES };
static const char *const scope_names[SCOPES] = {"Container", "Pod"};

enum { MAX, MIN, LIMITS, REQUESTS, LISTS }; /* the last two: defaults */
static const struct {
    const char *key;
    enum keep keep;
} lists[LISTS] = {{"max", LOWEST}, {"min", HIGHEST}, {"default", FIRST}, {"defaultRequest", FIRST}};

struct bounds {
    struct bag v[LISTS];
};

static void put_item(struct bounds of[SCOPES], yyjson_mut_val *item) {
    const char *type = sl_json_mut_text(yyjson_mut_obj_get(item, "type"));
    for (uint32_t s = 0; s < SCOPES; s++) {
        if (strcmp(type, scope_names[s]) != 0)
            continue;
        for (uint32_t i = 0; i < LISTS; i++)
            put_list(&of[s].v[i], yyjson_mut_obj_get(item, lists[i].key), lists[i].keep);
    }
}

/* The bounds point into d. */
static void read_bounds(const struct kueue_limits *l, yyjson_mut_doc *d,
                        struct bounds ret[SCOPES]) {
    for (uint32_t r = 0; r < l->n_ranges; r++) {
        const char *text = l->ranges[r];
        yyjson_doc *range = yyjson_read(text, strlen(text), 0);
        yyjson_mut_val *item,
            *items = yyjson_val_mut_copy(d, sl_json_at(yyjson_doc_get_root(range), "spec.limits"));
        size_t i, n;
        yyjson_mut_arr_foreach (items, i, n, item)
            put_item(ret, item);
        yyjson_doc_free(range);
    }
}

/* ---- what is added to a pod ---- */

static const char *const container_lists[] = {"initContainers", "containers"};

static yyjson_mut_val *map_at(yyjson_mut_doc *d, yyjson_mut_val *o, const char *key) {
    yyjson_mut_val *v = yyjson_mut_obj_get(o, key);
    if (yyjson_mut_is_obj(v))
        return v;
    (void)yyjson_mut_obj_remove_key(o, key); /* null is as good as absent */
    return yyjson_mut_obj_add_obj(d, o, key);
}

static void add_missing(yyjson_mut_doc *d, yyjson_mut_val *resources, const char *key,
                        const struct bag *defaults) {
    yyjson_mut_val *list = defaults->n ? map_at(d, resources, key) : NULL;
    for (uint32_t i = 0; i < defaults->n; i++)
        if (!yyjson_mut_obj_get(list, defaults->v[i].resource))
            (void)yyjson_mut_obj_add_val(d, list, defaults->v[i].resource,
                                         yyjson_mut_val_mut_copy(d, defaults->v[i].written));
}

static void add_defaults(yyjson_mut_doc *d, yyjson_mut_val *pod, const struct bounds of[SCOPES]) {
    size_t i, n;
    yyjson_mut_val *c, *whole = yyjson_mut_obj_get(pod, "resources");
    for (size_t k = 0; k < SL_LEN(container_lists); k++) {
        yyjson_mut_arr_foreach (yyjson_mut_obj_get(pod, container_lists[k]), i, n, c) {
            yyjson_mut_val *resources = map_at(d, c, "resources");
            add_missing(d, resources, "limits", &of[CONTAINER].v[LIMITS]);
            add_missing(d, resources, "requests", &of[CONTAINER].v[REQUESTS]);
        }
    }
    if (yyjson_mut_is_obj(whole)) { /* only a pod that has resources of its own */
        add_missing(d, whole, "limits", &of[POD].v[LIMITS]);
        add_missing(d, whole, "requests", &of[POD].v[REQUESTS]);
    }
}

static void add_overhead(const char *runtime_class, yyjson_mut_doc *d, yyjson_mut_val *pod) {
    if (!runtime_class || yyjson_mut_obj_size(yyjson_mut_obj_get(pod, "overhead")) > 0)
        return;
    _cleanup_(sl_json_docp) yyjson_doc *c = yyjson_read(runtime_class, strlen(runtime_class), 0);
    yyjson_val *fixed = sl_json_at(yyjson_doc_get_root(c), "overhead.podFixed");
    if (fixed) {
        (void)yyjson_mut_obj_remove_key(pod, "overhead");
        (void)yyjson_mut_obj_add_val(d, pod, "overhead", yyjson_val_mut_copy(d, fixed));
    }
}

/* ---- what is forbidden ---- */

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* One error as it is, several in brackets: the buffer may hold those of earlier podsets. */
static void add_error(struct sl_buf *invalid, const char *error) {
    static const char head[] = "resources didn't satisfy LimitRange constraints: ";
    size_t at = sizeof head - 1;
    if (!invalid->len) {
        sl_buf_printf(invalid, "%s%s", head, error);
        return;
    }
    if (invalid->s[at] != '[') {
        sl_buf_putc(invalid, ']');
        memmove(invalid->s + at + 1, invalid->s + at, invalid->len - at - 1);
        invalid->s[at] = '[';
        sl_buf_putc(invalid, ']');
    }
    invalid->s[--invalid->len] = 0;
    sl_buf_printf(invalid, ", %s]", error);
}

/* Reports which resources of 'a' are above those of 'b'; what only one of them has does not
 * matter. */
static void compare(const struct bag *a, const struct bag *b, uint32_t podset, const char *where,
                    const char *message, struct sl_buf *invalid) {
    const char *names[SL_MAX_PODSET_RESOURCES];
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        const char *resource = a->v[i].resource;
        uint32_t k = find_resource(b, resource);
        if (k < b->n &&
            sl_amount_of_request(resource, a->v[i].q) > sl_amount_of_request(resource, b->v[k].q))
            names[n++] = resource;
    }
    if (!n)
        return;
    _cleanup_(sl_buf_done) struct sl_buf error = SL_BUF_SHORT(MAX_ERROR_BYTES);
    qsort(names, n, sizeof *names, by_text);
    sl_buf_printf(&error, "spec.podSets[%u].template.spec%s: Invalid value: ", podset, where);
    for (uint32_t i = 0; i < n; i++) {
        sl_buf_putc(&error, i ? ',' : '[');
        sl_buf_json(&error, names[i]);
    }
    sl_buf_printf(&error, "]: %s", message);
    add_error(invalid, sl_buf_str(&error));
}

/* A resource that was left out might have a bound, or be requested. */
static void check_size(const struct bag *b, const char *whose, struct sl_buf *invalid) {
    char text[128];
    if (!b->crowded)
        return;
    sl_fmt(text, sizeof text, "more than %d resources in %s", SL_MAX_PODSET_RESOURCES, whose);
    add_error(invalid, text);
}

static void check_bounds(const struct bounds *b, const struct bag *low, const struct bag *high,
                         uint32_t podset, const char *where, struct sl_buf *invalid) {
    compare(high, &b->v[MAX], podset, where, "requests must not be above the limitRange max",
            invalid);
    compare(&b->v[MIN], low, podset, where, "requests must not be below the limitRange min",
            invalid);
}

static void check_containers(const struct bounds *b, yyjson_mut_val *pod, uint32_t podset,
                             struct sl_buf *invalid) {
    static const char *const fields[] = {"requests", "limits"};
    size_t i, n;
    yyjson_mut_val *c;
    for (size_t k = 0; k < SL_LEN(container_lists); k++) {
        yyjson_mut_arr_foreach (yyjson_mut_obj_get(pod, container_lists[k]), i, n, c) {
            struct bag low = {.n = 0}, high = {.n = 0};
            char where[64];
            for (size_t l = 0; l < SL_LEN(fields); l++) {
                yyjson_mut_val *list =
                    yyjson_mut_obj_get(yyjson_mut_obj_get(c, "resources"), fields[l]);
                put_list(&low, list, LOWEST);
                put_list(&high, list, HIGHEST);
            }
            sl_fmt(where, sizeof where, ".%s[%zu]", container_lists[k], i);
            check_size(&high, "one container", invalid);
            check_bounds(b, &low, &high, podset, where, invalid);
        }
    }
}

static void passed_over(void *ctx, uint32_t line, const char *text) {
    (void)ctx, (void)line, (void)text; /* reported where its shape is made */
}

/* The pod as a whole requests what the decoder sums up. */
static void check_pod(const struct bounds *b, const char *pod, size_t len, uint32_t podset,
                      struct sl_buf *invalid) {
    struct sl_doc *d = NULL;
    struct sl_err err;
    struct bag total = {.n = 0};

    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(MAX_POD_BYTES);
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(MAX_POD_ARENA);
    struct sl_jw j = SL_JW(&text);
    sl_jw_object(&j, NULL);
    sl_jw_str(&j, "name", "main");
    sl_jw_int(&j, "count", 1);
    sl_jw_object(&j, "template");
    sl_jw_raw_n(&j, "spec", pod, len);
    sl_jw_end_to(&j, 0);
    if (!sl_buf_full(&text) &&
        sl_doc_json_within("pod", text.s, text.len, MAX_POD_VALUES, &d, &err) >= 0) {
        struct sl_read rd = {.file = "pod", .arena = &arena, .err = &err, .warn = passed_over};
        struct sl_podset_spec p;
        sl_decode_podset(&rd, &d->roots[0], &p);
        for (uint32_t i = 0; i < p.n_requests; i++)
            put_amount(&total,
                       (struct amount){.resource = p.requests[i].resource, .q = p.requests[i].q},
                       FIRST);
        if (total.crowded || sl_arena_full(&arena))
            add_error(invalid, "the pod asks for more than can be compared");
        check_bounds(b, &total, &total, podset, "", invalid);
    } else {
        add_error(invalid, "the pod is too large to be compared");
    }
    sl_doc_free(d);
}

/* ---- the pod ---- */

void kueue_limits_put_pod(const struct kueue_limits *l, const char *pod, uint32_t podset,
                          struct sl_buf *out, struct sl_buf *invalid) {
    yyjson_doc *as_written =
        l->n_ranges || l->runtime_class ? yyjson_read(pod, strlen(pod), 0) : NULL;
    if (!as_written) {
        sl_buf_puts(out, pod);
        return;
    }
    yyjson_mut_doc *d = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_val_mut_copy(d, yyjson_doc_get_root(as_written));
    struct bounds of[SCOPES] = {0};
    size_t len = 0;

    add_overhead(l->runtime_class, d, root);
    if (l->n_ranges) {
        read_bounds(l, d, of);
        for (uint32_t i = 0; i < SCOPES * LISTS; i++)
            check_size(&of[i / LISTS].v[i % LISTS], "the LimitRanges of the namespace", invalid);
        add_defaults(d, root, of);
        check_containers(&of[CONTAINER], root, podset, invalid);
    }
    char *text = yyjson_mut_val_write(root, 0, &len);
    sl_assert(text);
    if (of[POD].v[MAX].n || of[POD].v[MIN].n)
        check_pod(&of[POD], text, len, podset, invalid);
    sl_buf_add(out, text, len);
    free(text);
    yyjson_mut_doc_free(d);
    yyjson_doc_free(as_written);
}

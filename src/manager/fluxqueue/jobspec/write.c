/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An object as a jobspec. The text has the order and the indentation of fluxqueue's own: keys of
 * maps sorted, lists not indented. Whatever comes from the object is checked or quoted.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

#include "core/base/fmt.h"
#include "core/base/quantity.h"
#include "core/base/stamp.h"
#include "kube/types/kueue/objects.h"
#include "kube/types/podset.h"
#include "kube/types/syntax.h"
#include "manager/fluxqueue/jobspec/jobspec_int.h"

#define MAX_POD_BYTES ((size_t)1 << 20) /* what is decoded of a pod, as text */
#define DECODE_BYTES ((size_t)8 << 20)  /* its decoded form, and its constraint */
#define MAX_NODES (UINT32_C(64) << 10)  /* values of what is decoded */

/* ---- YAML ---- */

struct yaml {
    struct sl_buf *b;
    uint32_t depth; /* of the map that is being written */
    bool item;      /* the next line begins an item of a list */
};

/* Goes into a list of maps or texts, or into a map; out again by the depth. */
static void begin(struct yaml *y) {
    for (uint32_t i = 0; i + y->item < y->depth; i++)
        sl_buf_puts(y->b, "  ");
    if (y->item)
        sl_buf_puts(y->b, "- ");
    y->item = false;
}

/* A text that every reader of YAML takes for one is written as it is. */
static void put_text(struct yaml *y, const char *s) {
    static const char *const words[] = {"true", "false", "yes",  "no",  "on", "off",
                                        "y",    "n",     "null", "inf", "nan"};
    bool plain = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z');

    for (const char *p = s; *p && plain; p++)
        plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
                *p == '-' || *p == '_' || *p == '.' || *p == '/';
    for (size_t i = 0; i < SL_LEN(words) && plain; i++)
        plain = strcasecmp(s, words[i]) != 0;
    if (plain)
        sl_buf_puts(y->b, s);
    else
        sl_buf_json(y->b, s);
    sl_buf_putc(y->b, '\n');
}

static void put_key(struct yaml *y, const char *key) {
    begin(y);
    sl_buf_printf(y->b, "%s:\n", key);
}

static void put_int(struct yaml *y, const char *key, int64_t v) {
    begin(y);
    sl_buf_printf(y->b, "%s: %" PRId64 "\n", key, v);
}

static void put_str(struct yaml *y, const char *key, const char *v) {
    begin(y);
    sl_buf_printf(y->b, "%s: ", key);
    put_text(y, v);
}

/* An item of the list whose key was just written. */
static void put_item(struct yaml *y, const char *v, bool quoted) {
    y->depth++;
    y->item = true;
    begin(y);
    if (quoted) {
        sl_buf_json(y->b, v);
        sl_buf_putc(y->b, '\n');
    } else {
        put_text(y, v);
    }
    y->depth--;
}

/* ---- the object ---- */

struct writer {
    enum sl_flux_type type;
    yyjson_val *object, *spec, *labels; /* spec and labels of the pod */
    const struct fq_jobspec_options *o;
    const char *name, *ns;
    struct fq_shape shape;
    bool whole;
    int64_t duration, begin;
    const char *queue;
    struct sl_arena arena; /* of what was decoded, together with doc */
    struct sl_doc *doc;
    struct sl_podset_spec pod;
    struct sl_constraint where;
    struct fq_jobspec_parts parts;
    struct sl_err *err;
};

static uint32_t offset(const struct yaml *y) {
    return (uint32_t)y->b->len;
}

/* An annotation; NULL if there is none. */
static int annotation(const struct writer *w, const char *key, const char **ret) {
    yyjson_val *v = sl_json_get(sl_json_at(w->object, "metadata.annotations"), key);

    *ret = NULL;
    if (!v)
        return 0;
    if (!yyjson_is_str(v) || sl_text_has_nul(sl_json_view(v)))
        return sl_err_set(w->err, SL_EINVAL, "%s: expected a string", key);
    *ret = sl_json_text(v);
    return 0;
}

/* Digits alone, as a number up to max. */
static bool read_number(const char *s, int64_t max, int64_t *ret) {
    int64_t v = 0;

    if (!*s)
        return false;
    for (; *s; s++) {
        if (*s < '0' || *s > '9' || v > (max - (*s - '0')) / 10)
            return false;
        v = v * 10 + (*s - '0');
    }
    *ret = v;
    return true;
}

/* Rounded up. */
static int64_t seconds_of(sl_span s) {
    return s / SL_SEC + (s % SL_SEC > 0);
}

static int deadline(yyjson_val *spec, int64_t *ret, struct sl_err *err) {
    yyjson_val *v = sl_json_get(spec, "activeDeadlineSeconds");
    int64_t n = sl_json_int(spec, "activeDeadlineSeconds", 0);

    if (!v)
        return 0;
    if (n < 1)
        return sl_err_set(err, SL_EINVAL, "activeDeadlineSeconds: expected a positive number");
    *ret = n > FQ_MAX_SECONDS ? FQ_MAX_SECONDS : n;
    return 0;
}

static int read_duration(struct writer *w) {
    const char *text;
    sl_span span;
    int r = annotation(w, SL_FLUX_DURATION, &text);

    w->duration = w->o->duration;
    if (r < 0)
        return r;
    if (text) {
        if (read_number(text, FQ_MAX_SECONDS, &w->duration))
            return 0;
        if (sl_span_parse(text, strlen(text), &span, NULL) < 0 || span < 0 ||
            seconds_of(span) > FQ_MAX_SECONDS)
            return sl_err_set(w->err, SL_EINVAL,
                              SL_FLUX_DURATION ": expected seconds, or a duration such as 1h30m, "
                                               "got \"%.60s\"",
                              text);
        w->duration = seconds_of(span);
        return 0;
    }
    if (w->type == SL_FLUX_POD || w->type == SL_FLUX_POD_GROUP)
        return deadline(w->spec, &w->duration, w->err);
    if (w->type != SL_FLUX_JOB) /* pods of others are replaced */
        return 0;
    r = deadline(w->spec, &w->duration, w->err);
    return r < 0 ? r : deadline(sl_json_get(w->object, "spec"), &w->duration, w->err);
}

static int read_begin(struct writer *w) {
    const char *text;
    sl_time at;
    int r = annotation(w, SL_FLUX_BEGIN, &text);

    if (r < 0 || !text || read_number(text, FQ_MAX_SECONDS, &w->begin))
        return r;
    if (!sl_stamp_parse(text, &at) || at < 0 || seconds_of(at) > FQ_MAX_SECONDS)
        return sl_err_set(w->err, SL_EINVAL,
                          SL_FLUX_BEGIN ": expected a time such as 2026-01-31T12:00:00Z, or "
                                        "seconds since 1970, got \"%.60s\"",
                          text);
    w->begin = seconds_of(at);
    return 0;
}

static int read_queue(struct writer *w) {
    yyjson_val *label = sl_json_get(sl_json_at(w->object, "metadata.labels"), SL_FLUX_QUEUE);
    int r = 0;

    if (label && !yyjson_is_str(label))
        return sl_err_set(w->err, SL_EINVAL, SL_FLUX_QUEUE ": expected a string");
    w->queue = label ? sl_json_text(label) : NULL;
    if (!label)
        r = annotation(w, SL_FLUX_QUEUE, &w->queue);
    if (r < 0 || (!w->queue && !label))
        return r;
    if (!*w->queue || sl_syntax_label_value(w->queue, strlen(w->queue)).n > 0)
        return sl_err_set(w->err, SL_EINVAL,
                          SL_FLUX_QUEUE ": expected the name of a queue, got \"%.60s\"", w->queue);
    return 0;
}

static int read_within(struct writer *w) {
    _cleanup_(sl_buf_done) struct sl_buf names = SL_BUF_SHORT(120);
    const char *text;
    int r = annotation(w, SL_FLUX_WITHIN, &text);

    if (r < 0 || !text)
        return r;
    struct fq_tier *t = fq_shape_tier(&w->shape, text);
    if (t)
        return fq_shape_together(&w->shape, t, SL_FLUX_WITHIN, w->err);
    fq_shape_names(&w->shape, &names);
    return sl_err_set(w->err, SL_EINVAL, SL_FLUX_WITHIN ": expected %s, got \"%.60s\"",
                      sl_buf_str(&names), text);
}

static int read_per_node(struct writer *w) {
    struct fq_tier *node = &w->shape.tiers[w->shape.n_levels];
    const char *whole, *tasks;
    int64_t k = 1;
    int r = annotation(w, SL_FLUX_WHOLE_NODES, &whole);

    if (r >= 0)
        r = annotation(w, SL_FLUX_TASKS_PER_NODE, &tasks);
    if (r < 0)
        return r;
    if (whole && strcmp(whole, "true") != 0 && strcmp(whole, "false") != 0)
        return sl_err_set(w->err, SL_EINVAL,
                          SL_FLUX_WHOLE_NODES ": expected true or false, got \"%.60s\"", whole);
    w->whole = whole && strcmp(whole, "true") == 0;
    if (tasks && (!read_number(tasks, FQ_MAX_PODS, &k) || k < 1))
        return sl_err_set(w->err, SL_EINVAL,
                          SL_FLUX_TASKS_PER_NODE ": expected a number from 1 to %u, got \"%.60s\"",
                          FQ_MAX_PODS, tasks);
    if (w->shape.pods % k != 0)
        return sl_err_set(w->err, SL_EINVAL,
                          SL_FLUX_TASKS_PER_NODE
                          ": expected a number that divides the %u pods, got "
                          "%" PRId64,
                          w->shape.pods, k);
    if (tasks)
        return fq_shape_exact(node, (uint32_t)k, SL_FLUX_TASKS_PER_NODE, w->err);
    if (w->whole && !node->exact)
        node->exact = 1;
    return 0;
}

/* Requests, node constraints and tolerations, by the decoder of podsets. */
static int read_pod(struct writer *w) {
    static const char place[] = "pod:1: "; /* there is but one line, of our own making */
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(MAX_POD_BYTES);
    struct sl_err err = {0};
    struct sl_read rd = {.file = "pod", .arena = &w->arena, .err = &err};

    sl_podspec_put(&text, w->spec, true);
    if (sl_buf_full(&text))
        return sl_err_set(w->err, SL_ELIMIT,
                          "the pod has more than %zu bytes of resources, affinity "
                          "and tolerations",
                          MAX_POD_BYTES);
    rd.code = sl_doc_json_within("pod", text.s, text.len, MAX_NODES, &w->doc, &err);
    if (rd.code >= 0)
        sl_decode_podset(&rd, &w->doc->roots[0], &w->pod);
    if (rd.code >= 0 && w->pod.n_tolerations > FQ_MAX_TOLERATIONS)
        rd.code = sl_err_set(&err, SL_ELIMIT, "more than %u tolerations", FQ_MAX_TOLERATIONS);
    if (rd.code < 0)
        return sl_err_set(w->err, rd.code, "%s",
                          err.text +
                              (strncmp(err.text, place, strlen(place)) == 0 ? strlen(place) : 0));
    return 0;
}

static int read_object(struct writer *w) {
    bool pod = w->type == SL_FLUX_POD || w->type == SL_FLUX_POD_GROUP;
    yyjson_val *of = pod ? w->object : sl_json_at(w->object, "spec.template");

    w->spec = w->o->pod ? w->o->pod : sl_json_get(of, "spec");
    w->labels = sl_json_at(of, "metadata.labels");
    w->ns = sl_json_str(w->object, "metadata.namespace");
    w->name = sl_json_str(w->object, "metadata.name");
    if (w->type == SL_FLUX_POD_GROUP && *sl_json_label(w->object, SL_FLUX_GROUP))
        w->name = sl_json_label(w->object, SL_FLUX_GROUP);
    if (!*w->ns)
        w->ns = "default";
    if (w->o->name)
        w->name = w->o->name;
    if (!yyjson_is_obj(w->spec))
        return sl_err_set(w->err, SL_EINVAL, "expected %s", pod ? "spec" : "spec.template.spec");
    if (sl_syntax_subdomain(w->name, strlen(w->name)).n > 0 &&
        (!*w->name || sl_syntax_label_value(w->name, strlen(w->name)).n > 0))
        return sl_err_set(w->err, SL_EINVAL,
                          "metadata.name: expected the name of an object, got \"%.80s\"", w->name);
    if (sl_syntax_dns_label(w->ns, strlen(w->ns)).n > 0)
        return sl_err_set(w->err, SL_EINVAL,
                          "metadata.namespace: expected the name of a namespace, got \"%.80s\"",
                          w->ns);
    if (yyjson_arr_size(sl_json_get(w->spec, "resourceClaims")) > 0)
        return sl_err_set(w->err, SL_EINVAL,
                          "resourceClaims: claims of devices cannot be honoured by this queue");
    return 0;
}

static int read_all(struct writer *w) {
    int (*const steps[])(struct writer *) = {
        read_object, read_duration, read_begin, read_queue, read_within, read_pod,
    };
    int r = 0;

    for (size_t i = 0; i < SL_LEN(steps) && r >= 0; i++)
        r = steps[i](w);
    if (r >= 0)
        r = fq_shape_read(&w->shape, w->spec, w->labels, w->ns, w->err);
    if (r >= 0) /* last: a default of its own, if nothing else has said how many */
        r = read_per_node(w);
    if (r >= 0)
        r = fq_shape_solve(&w->shape, w->err);
    return r < 0 ? r : fq_where_read(w->spec, &w->pod, &w->arena, &w->where, w->err);
}

/* ---- resources ---- */

struct pool {
    const char *type, *unit;
    int64_t count;
};

/* How a resource of Kubernetes is called and counted in the graph. */
static int make_pool(const struct sl_request *q, struct pool *ret, struct sl_err *err) {
    const char *name = q->resource;
    bool cpu = strcmp(name, "cpu") == 0, bytes = sl_quantity_is_bytes(name);

    if (fq_port_is(name))
        return sl_err_set(err, SL_EINVAL, "%.80s: expected a hostPort of a container", name);
    if (!cpu && !bytes && !strchr(name, '/'))
        return sl_err_set(err, SL_EINVAL,
                          "expected cpu, memory, ephemeral-storage, hugepages-SIZE or a resource "
                          "with a domain, got \"%.80s\"",
                          name);
    *ret = (struct pool){.type = cpu ? "core" : name,
                         .unit = cpu     ? "m"
                                 : bytes ? "Ki"
                                         : NULL,
                         .count = sl_amount_of_request(name, q->q)};
    if (bytes)
        ret->count = ret->count / 1024 + (ret->count % 1024 > 0);
    if (ret->count > SL_REQ_COUNT_MAX)
        return sl_err_set(err, SL_EINVAL, "%.80s: expected at most %u%s in one pod, got %" PRId64,
                          name, SL_REQ_COUNT_MAX, ret->unit ? ret->unit : "", ret->count);
    return 0;
}

/* core and memory first, as people read them. */
static int by_type(const void *a, const void *b) {
    static const char *const first[] = {"core", "memory"};
    const struct pool *x = a, *y = b;

    for (size_t i = 0; i < SL_LEN(first); i++) {
        int d = (strcmp(y->type, first[i]) == 0) - (strcmp(x->type, first[i]) == 0);
        if (d)
            return d;
    }
    return strcmp(x->type, y->type);
}

static int put_slot(struct writer *w, struct yaml *y, uint32_t count) {
    struct pool pools[SL_MAX_PODSET_RESOURCES + FQ_MAX_POD_PORTS + 1];
    char names[FQ_MAX_POD_PORTS][FQ_PORT_NAME];
    struct fq_ports ports;
    uint32_t n = 0;
    int r = 0;

    if (!fq_ports_read(w->spec, &ports))
        return sl_err_set(w->err, SL_ELIMIT, "more than %u host ports", FQ_MAX_POD_PORTS);

    for (uint32_t i = 0; i < w->pod.n_requests && r >= 0; i++) {
        r = make_pool(&w->pod.requests[i], &pools[n], w->err);
        n += pools[n].count > 0;
    }
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < ports.n; i++)
        pools[n++] = (struct pool){.type = fq_port_name(ports.v[i], names[i]), .count = 1};
    qsort(pools, n, sizeof(*pools), by_type);
    pools[n++] = (struct pool){.type = "pods", .count = 1};
    y->item = true;
    w->parts.slot = offset(y);
    w->parts.slots = count;
    put_int(y, "count", count);
    put_str(y, "label", w->name);
    w->parts.slot_type = offset(y);
    put_str(y, "type", "slot");
    put_key(y, "with");
    y->depth++;
    for (uint32_t i = 0; i < n; i++) {
        y->item = true;
        put_int(y, "count", pools[i].count);
        put_str(y, "type", pools[i].type);
        if (pools[i].unit)
            put_str(y, "unit", pools[i].unit);
    }
    y->depth--;
    w->parts.slot_end = offset(y);
    return 0;
}

static int put_resources(struct writer *w, struct yaml *y) {
    const struct fq_shape *s = &w->shape;
    uint32_t above = s->pods, depth = y->depth;

    put_key(y, "resources");
    y->depth++;
    for (uint32_t i = s->first; i < s->n_levels + s->nodes; i++) {
        y->item = true;
        put_int(y, "count", above / s->tiers[i].each);
        if (w->whole && i == s->n_levels) {
            begin(y);
            sl_buf_puts(y->b, "exclusive: true\n");
        }
        put_str(y, "type", s->tiers[i].type);
        put_key(y, "with");
        y->depth++;
        above = s->tiers[i].each;
    }
    int r = put_slot(w, y, above);
    y->depth = depth;
    return r;
}

/* ---- attributes ---- */

static void put_constraint(struct yaml *y, const struct sl_constraint *c) {
    static const char *const words[] = {
        [SL_CONSTRAINT_AND] = "and",        [SL_CONSTRAINT_OR] = "or",
        [SL_CONSTRAINT_NOT] = "not",        [SL_CONSTRAINT_PROPERTIES] = "properties",
        [SL_CONSTRAINT_HOSTS] = "hostlist",
    };
    put_key(y, words[c->kind]);
    for (uint32_t i = 0; i < c->n_names; i++)
        put_item(y, c->names[i], true);
    y->depth++;
    for (uint32_t i = 0; i < c->n_terms; i++) {
        y->item = true;
        put_constraint(y, &c->terms[i]);
    }
    y->depth--;
}

static void put_tolerations(const struct writer *w, struct yaml *y) {
    yyjson_val *list = sl_json_get(w->spec, "tolerations"), *v;
    size_t i, n;

    if (w->pod.n_tolerations == 0)
        return;
    put_key(y, "tolerations");
    y->depth++;
    yyjson_arr_foreach (list, i, n, v) {
        const struct sl_toleration *t = &w->pod.tolerations[i];
        y->item = true;
        if (t->effect != SL_TAINT_ANY)
            put_str(y, "effect", sl_taint_effect_name(t->effect));
        if (*t->key)
            put_str(y, "key", t->key);
        put_str(y, "operator", t->exists ? "Exists" : "Equal");
        if (yyjson_is_int(sl_json_get(v, "tolerationSeconds")))
            put_int(y, "tolerationSeconds", sl_json_int(v, "tolerationSeconds", 0));
        if (*t->value)
            put_str(y, "value", t->value);
    }
    y->depth--;
}

static void put_attributes(const struct writer *w, struct yaml *y) {
    char text[24];

    put_key(y, "attributes");
    y->depth++;
    put_key(y, "system");
    y->depth++;
    if (w->where.kind != SL_CONSTRAINT_ALL) {
        put_key(y, "constraints");
        y->depth++;
        put_constraint(y, &w->where);
        y->depth--;
    }
    if (w->begin > 0) { /* RFC 26: the value is a string */
        put_key(y, "dependencies");
        y->depth++;
        y->item = true;
        put_str(y, "scheme", "begin-time");
        sl_fmt(text, sizeof(text), "%" PRId64, w->begin);
        put_str(y, "value", text);
        y->depth--;
    }
    put_int(y, "duration", w->duration);
    if (w->queue)
        put_str(y, "queue", w->queue);
    put_tolerations(w, y);
    y->depth -= 2;
}

static void put_tasks(struct writer *w, struct yaml *y) {
    put_key(y, "tasks");
    w->parts.task = offset(y);
    y->depth++;
    y->item = true;
    put_key(y, "command");
    put_item(y, "echo", false);
    put_item(y, w->ns, false);
    put_item(y, w->name, false);
    put_key(y, "count");
    y->depth++;
    put_int(y, "per_slot", 1);
    y->depth--;
    w->parts.task_slot = offset(y);
    put_str(y, "slot", w->name);
    w->parts.task_end = offset(y);
    y->depth--;
}

/* ---- the whole ---- */

static int write_object(struct writer *w, struct sl_buf *text) {
    struct yaml y = {.b = text};
    int r = read_all(w);

    if (r < 0)
        return r;
    put_attributes(w, &y);
    r = put_resources(w, &y);
    put_tasks(w, &y);
    put_int(&y, "version", 1);
    if (r >= 0 && sl_arena_full(&w->arena))
        r = sl_err_set(w->err, SL_ELIMIT, "the pod has too many terms of affinity");
    return r;
}

static uint32_t together(const struct fq_shape *s) {
    uint32_t bits = 0;

    for (uint32_t i = 0; i <= s->n_levels; i++)
        bits |= (uint32_t)s->tiers[i].together << i;
    return bits;
}

/* The owner's own jobspec, which only has to be one. */
static int copy_jobspec(const char *given, struct sl_buf *text, struct sl_err *err) {
    _cleanup_(sl_jobspec_freep) struct sl_jobspec *j = NULL;
    size_t len = strlen(given);
    int r = 0;

    if (len <= FQ_MAX_JOBSPEC) /* else the buffer will be full */
        r = fq_jobspec_parse(SL_FLUX_JOBSPEC, given, len, NULL, &j, err);
    sl_buf_add(text, given, len);
    return r;
}

int fq_jobspec_write(enum sl_flux_type type, yyjson_val *object, uint32_t pods,
                     const struct fq_jobspec_options *o, struct sl_buf *out, struct sl_err *err) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(FQ_MAX_JOBSPEC);
    struct writer w = {
        .type = type, .object = object, .o = o, .err = err, .arena = SL_ARENA(DECODE_BYTES)};
    const char *given;
    int r;

    if (pods < 1 || pods > FQ_MAX_PODS)
        return sl_err_set(err, SL_EINVAL, "expected from 1 to %u pods, got %u", FQ_MAX_PODS, pods);
    fq_shape_init(&w.shape, pods, o);
    r = annotation(&w, SL_FLUX_JOBSPEC, &given);
    if (r >= 0)
        r = given ? copy_jobspec(given, &text, err) : write_object(&w, &text);
    sl_doc_free(w.doc);
    sl_arena_done(&w.arena);
    if (sl_buf_full(&text) && r >= 0)
        r = sl_err_set(err, SL_ELIMIT, "expected a jobspec of at most %zu bytes", FQ_MAX_JOBSPEC);
    if (r < 0)
        return r;
    w.parts.whole = w.whole;
    if (o->ret_parts)
        *o->ret_parts = w.parts;
    if (o->ret_together)
        *o->ret_together = given ? FQ_TOGETHER_UNKNOWN : together(&w.shape);
    sl_buf_add(out, text.s, text.len);
    return sl_buf_full(out)
               ? sl_err_set(err, SL_ELIMIT, "no space for a jobspec of %zu bytes", text.len)
               : 0;
}

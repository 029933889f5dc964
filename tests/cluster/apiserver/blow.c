/* SPDX-License-Identifier: Apache-2.0 */
#include "blow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json/json.h"

#define PART_BYTES ((size_t)8 << 20)
#define NO_COPY (-1)
#define MADE_DEPTH 6u /* of what is made up */

struct maker {
    struct sl_buf *out;
    const struct blow_target *t;
    const struct blow_how *how;
    uint32_t around; /* the step whose list is repeated; BLOW_STEPS: none */
    bool all;
    int64_t copy;
};

/* ---- what is made up from a schema ---- */

static bool is_name(const char *key) {
    static const char *const names[] = {"name",      "key",  "topologyKey",  "ip",
                                        "mountPath", "path", "containerPort"};
    for (size_t i = 0; i < SL_LEN(names); i++)
        if (strcmp(key, names[i]) == 0)
            return true;
    return false;
}

static bool is_key_of(const struct sl_schema *list, const char *name) {
    for (uint32_t i = 0; list && i < list->n_keys; i++)
        if (strcmp(list->keys[i], name) == 0)
            return true;
    return false;
}

static void put_generated(struct maker *m, const struct sl_schema *s, const struct sl_schema *list,
                          unsigned depth);

static void made_text(struct maker *m, const struct sl_schema *s) {
    yyjson_val *words = s->rules ? s->rules->words : NULL;
    const char *format = s->format ? s->format : "";

    if (yyjson_arr_size(words))
        sl_buf_json(m->out, sl_json_text(yyjson_arr_get_first(words)));
    else if (strcmp(format, "date-time") == 0)
        sl_buf_puts(m->out, "\"2024-01-01T00:00:00Z\"");
    else if (strcmp(format, "byte") == 0)
        sl_buf_puts(m->out, "\"YQ==\"");
    else
        sl_buf_printf(m->out, "\"x-%lld\"", (long long)m->copy);
}

/* Keys, names and whatever has to be there. */
static void made_object(struct maker *m, const struct sl_schema *s, const struct sl_schema *list,
                        const char *but, unsigned depth) {
    bool comma = false;

    for (uint32_t i = 0; i < s->n_fields; i++) {
        const struct sl_schema_field *f = &s->fields[i];
        if ((but && strcmp(f->name, but) == 0) ||
            (!f->required && !is_name(f->name) && !is_key_of(list, f->name)))
            continue;
        sl_buf_printf(m->out, "%s\"%s\":", comma ? "," : "", f->name);
        put_generated(m, f->schema, NULL, depth + 1);
        comma = true;
    }
    if (but && comma)
        sl_buf_putc(m->out, ',');
}

static void put_generated(struct maker *m, const struct sl_schema *s, const struct sl_schema *list,
                          unsigned depth) {
    switch (s->type) {
    case SL_T_STRING:
        made_text(m, s);
        break;
    case SL_T_INT:
    case SL_T_NUMBER:
    case SL_T_INT_OR_STRING:
        sl_buf_printf(m->out, "%lld", (long long)(m->copy < 0 ? 1 : m->copy % 65535 + 1));
        break;
    case SL_T_BOOL:
        sl_buf_puts(m->out, "true");
        break;
    case SL_T_QUANTITY:
        sl_buf_puts(m->out, "\"1\"");
        break;
    case SL_T_LIST:
        sl_buf_putc(m->out, '[');
        if (depth < MADE_DEPTH)
            put_generated(m, s->items, s, depth + 1);
        sl_buf_putc(m->out, ']');
        break;
    case SL_T_MAP:
        sl_buf_puts(m->out, depth < MADE_DEPTH ? "{\"k\":" : "{");
        if (depth < MADE_DEPTH)
            put_generated(m, s->items, NULL, depth + 1);
        sl_buf_putc(m->out, '}');
        break;
    case SL_T_OBJECT:
        sl_buf_putc(m->out, '{');
        if (depth < MADE_DEPTH)
            made_object(m, s, list, NULL, depth);
        sl_buf_putc(m->out, '}');
        break;
    case SL_T_ANY:
        sl_buf_printf(m->out, "{\"a\":%lld}", (long long)m->copy);
        break;
    }
}

/* ---- what is there ---- */

static void put_existing(struct maker *m, yyjson_val *v, bool named) {
    size_t i, n;
    yyjson_val *key, *in;

    if (yyjson_is_obj(v)) {
        sl_buf_putc(m->out, '{');
        sl_obj_foreach (v, i, n, key, in) {
            sl_buf_printf(m->out, "%s\"%s\":", i ? "," : "", sl_json_text(key));
            put_existing(m, in, is_name(sl_json_text(key)));
        }
        sl_buf_putc(m->out, '}');
    } else if (yyjson_is_arr(v)) {
        sl_buf_putc(m->out, '[');
        yyjson_arr_foreach (v, i, n, in) {
            sl_buf_puts(m->out, i ? "," : "");
            put_existing(m, in, false);
        }
        sl_buf_putc(m->out, ']');
    } else if (yyjson_is_str(v) && named && m->copy != NO_COPY) {
        sl_buf_printf(m->out, "\"%s-%lld\"", sl_json_text(v), (long long)m->copy);
    } else if (yyjson_is_str(v)) {
        sl_buf_json(m->out, sl_json_text(v));
    } else {
        char *text = yyjson_val_write(v, 0, NULL);
        sl_buf_puts(m->out, text);
        free(text); /* yyjson's */
    }
}

/* ---- the target ---- */

static void one(struct maker *m, const struct sl_schema *s, yyjson_val *like) {
    if (yyjson_is_str(like))
        sl_buf_printf(m->out, "\"%s-%lld\"", sl_json_text(like), (long long)m->copy);
    else if (like)
        put_existing(m, like, false);
    else
        put_generated(m, s->items, s, 1);
}

static int64_t how_many(struct maker *m, const struct sl_schema *s, yyjson_val *like, size_t bytes,
                        size_t more, int64_t most) {
    struct sl_buf part = SL_BUF(PART_BYTES), *out = m->out;
    int64_t copy = m->copy;

    m->out = &part;
    m->copy = 100000;
    one(m, s, like);
    m->out = out;
    m->copy = copy;
    int64_t n = (int64_t)(bytes / (part.len + more)) + 1;
    sl_buf_done(&part);
    return most && n > most ? most : n;
}

static void blown(struct maker *m, const struct sl_schema *s, yyjson_val *base, size_t bytes) {
    const struct blow_how *how = m->how;
    static const struct sl_schema text = {.type = SL_T_STRING};
    static const struct sl_schema texts = {.type = SL_T_MAP, .items = &text};
    bool list = s->type == SL_T_LIST;
    int64_t copy = m->copy;
    size_t i, n;
    yyjson_val *key, *in, *like = list ? yyjson_arr_get_first(base) : NULL;

    if (s->type == SL_T_ANY || s->type == SL_T_OBJECT)
        s = &texts;
    bool objects = list && (s->items->type == SL_T_OBJECT || yyjson_is_obj(like));
    int64_t many = how_many(m, s, like, bytes, list ? 1 : 10, objects ? how->most : 0);
    sl_buf_putc(m->out, list ? '[' : '{');
    for (int64_t k = 0; k < many; k++) {
        m->copy = how->from + (how->same ? 0 : how->reversed ? many - 1 - k : k);
        sl_buf_puts(m->out, k ? "," : "");
        if (!list)
            sl_buf_printf(
                m->out, "\"k-%lld\":", (long long)(how->from + (how->reversed ? many - 1 - k : k)));
        one(m, s, like);
    }
    m->copy = copy;
    if (!list) {
        sl_obj_foreach (base, i, n, key, in) { /* at the end, where a search finds it last */
            sl_buf_printf(m->out, ",\"%s\":", sl_json_text(key));
            put_existing(m, in, false);
        }
    }
    sl_buf_putc(m->out, list ? ']' : '}');
}

/* ---- the way to it ---- */

static void value(struct maker *m, uint32_t at, const struct sl_schema *s, yyjson_val *base,
                  const struct sl_schema *list);

static void metadata(struct maker *m, yyjson_val *base) {
    size_t i, n;
    yyjson_val *key, *in;

    sl_buf_printf(m->out, "\"metadata\":{%s", m->how->meta);
    sl_obj_foreach (base, i, n, key, in) {
        sl_buf_printf(m->out, "\"%s\":", sl_json_text(key));
        put_existing(m, in, false);
        sl_buf_putc(m->out, ',');
    }
    if (yyjson_obj_get(base, "labels"))
        m->out->len--; /* the comma */
    else
        sl_buf_puts(m->out, "\"labels\":{}");
    sl_buf_puts(m->out, "},");
}

static void object(struct maker *m, uint32_t at, const struct sl_schema *s, yyjson_val *base,
                   const struct sl_schema *list) {
    const struct blow_step *step = &m->t->steps[at];
    size_t i, n;
    yyjson_val *key, *in, *below = yyjson_obj_get(base, step->name);

    sl_buf_putc(m->out, '{');
    if (at == 0)
        sl_buf_puts(m->out, m->how->head);
    if (at == 0 && strcmp(step->name, "metadata") != 0)
        metadata(m, yyjson_obj_get(base, "metadata"));
    if (at == 1 && strcmp(m->t->steps[0].name, "metadata") == 0)
        sl_buf_puts(m->out, m->how->meta);
    if (base && (m->all || at > 0)) {
        sl_obj_foreach (base, i, n, key, in) {
            const char *name = sl_json_text(key);
            if (strcmp(name, step->name) == 0 || (at == 0 && strcmp(name, "metadata") == 0))
                continue;
            if (!m->all && !is_key_of(list, name) && !is_name(name))
                continue;
            sl_buf_printf(m->out, "\"%s\":", name);
            put_existing(m, in, is_name(name));
            sl_buf_putc(m->out, ',');
        }
    } else if (at > 0 && strcmp(m->t->steps[0].name, "metadata") != 0) {
        made_object(m, s, list, step->name, at);
    }
    sl_buf_printf(m->out, "\"%s\":", step->name);
    value(m, at + 1, step->schema, below, NULL);
    sl_buf_putc(m->out, '}');
}

static void several(struct maker *m, uint32_t at, const struct sl_schema *s, yyjson_val *base) {
    bool list = s->type == SL_T_LIST;
    int64_t many = at == m->around ? 48 : 1, copy = m->copy;
    yyjson_val *like = list                    ? yyjson_arr_get_first(base)
                       : yyjson_obj_size(base) ? unsafe_yyjson_get_first(base) + 1
                                               : NULL;

    sl_buf_putc(m->out, list ? '[' : '{');
    for (int64_t k = 0; k < many; k++) {
        int64_t as = m->how->reversed ? many - 1 - k : k;
        m->copy = many > 1 ? as : like ? NO_COPY : 0;
        sl_buf_puts(m->out, k ? "," : "");
        if (!list)
            sl_buf_printf(m->out, "\"k-%lld\":", (long long)as);
        value(m, at + 1, s->items, like, s);
    }
    m->copy = copy;
    sl_buf_putc(m->out, list ? ']' : '}');
}

static void value(struct maker *m, uint32_t at, const struct sl_schema *s, yyjson_val *base,
                  const struct sl_schema *list) {
    if (at == m->t->n)
        blown(m, s, base, m->how->bytes / (m->around < BLOW_STEPS ? 48 : 1));
    else if (m->t->steps[at].kind == BLOW_FIELD)
        object(m, at, s, base, list);
    else
        several(m, at, s, base);
}

static uint32_t around(const struct blow_target *t) {
    for (uint32_t i = t->n; i-- > 0;)
        if (t->steps[i].kind != BLOW_FIELD)
            return i;
    return BLOW_STEPS;
}

bool blow_nests(const struct blow_target *t) {
    return around(t) < BLOW_STEPS;
}

bool blow_under(const struct blow_target *t, const char *field) {
    return strcmp(t->steps[0].name, field) == 0;
}

const struct sl_schema *blow_schema(const struct blow_target *t) {
    return t->steps[t->n - 1].schema;
}

void blow_print(struct sl_buf *out, const struct blow_target *t, const struct blow_how *how,
                bool all) {
    struct maker m = {.out = out,
                      .t = t,
                      .how = how,
                      .around = how->nested ? around(t) : BLOW_STEPS,
                      .all = all,
                      .copy = NO_COPY};
    value(&m, 0, t->root, t->base, NULL);
}

void blow_value(struct sl_buf *out, const struct blow_target *t, const struct blow_how *how) {
    struct maker m = {
        .out = out, .t = t, .how = how, .around = BLOW_STEPS, .all = true, .copy = NO_COPY};
    blown(&m, blow_schema(t), NULL, how->bytes);
}

const char *blow_name(const struct blow_target *t, struct sl_buf *out) {
    sl_buf_clear(out);
    for (uint32_t i = 0; i < t->n; i++)
        sl_buf_printf(out, "%s%s", t->steps[i].kind == BLOW_FIELD && i ? "." : "",
                      t->steps[i].kind == BLOW_FIELD  ? t->steps[i].name
                      : t->steps[i].kind == BLOW_ITEM ? "[]"
                                                      : "{}");
    return sl_buf_str(out);
}

/* ---- the walk ---- */

/* Types may refer to each other in circles: each is entered once. */
static bool entered(const struct blow_target *t, const struct sl_schema *s) {
    for (uint32_t i = 0; i + 1 < t->n; i++)
        if (t->steps[i].schema == s)
            return true;
    return s == t->root;
}

static void walk(struct blow_target *t, const struct sl_schema *s, blow_fn fn, void *ctx);

static void step(struct blow_target *t, struct blow_step to, blow_fn fn, void *ctx) {
    if (t->n == BLOW_STEPS)
        return;
    t->steps[t->n++] = to;
    walk(t, to.schema, fn, ctx);
    t->n--;
}

static void walk(struct blow_target *t, const struct sl_schema *s, blow_fn fn, void *ctx) {
    const struct sl_schema *owner = t->owner;

    if (t->n && entered(t, s))
        return;
    if (s->name)
        t->owner = s;
    if (t->n && (s->type == SL_T_LIST || s->type == SL_T_MAP || s->type == SL_T_ANY ||
                 (s->type == SL_T_OBJECT && s->keeps_unknown)))
        fn(ctx, t);
    if (s->type == SL_T_LIST)
        step(t, (struct blow_step){BLOW_ITEM, NULL, s->items}, fn, ctx);
    else if (s->type == SL_T_MAP)
        step(t, (struct blow_step){BLOW_ENTRY, NULL, s->items}, fn, ctx);
    else if (s->type == SL_T_OBJECT)
        for (uint32_t i = 0; i < s->n_fields; i++)
            step(t, (struct blow_step){BLOW_FIELD, s->fields[i].name, s->fields[i].schema}, fn,
                 ctx);
    t->owner = owner;
}

void blow_each(const struct sl_schema *root, yyjson_val *base, blow_fn fn, void *ctx) {
    struct blow_target t = {.root = root, .base = base, .owner = root};
    walk(&t, root, fn, ctx);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No name, key, path, label or enumerated value has a NUL inside: everything behind it would be
 * hidden from readers of C strings, and one name could be stored under another. So a body with one
 * is rejected when it is read, and an object again after patches and webhooks were applied.
 * Free-form strings (data, annotations, messages, commands of containers, all of a custom resource
 * but its metadata) may have any character.
 */
#include <string.h>

#include "cluster/apiserver/server.h"

#define WHY "must not contain a NUL character"

struct walk {
    struct sl_field_errs *errs;
    bool found;
};

static bool in(const char *const *words, struct sl_text t) {
    for (; *words; words++)
        if (sl_text_is(t, *words))
            return true;
    return false;
}

/* Below these are texts that only their owner interprets. */
static bool is_free(struct sl_text key) {
    static const char *const keys[] = {"annotations", "args",    "command", "data",
                                       "description", "message", "note",    "reason",
                                       "stringData",  NULL};
    return in(keys, key);
}

/* The value of a variable is its owner's; that of a taint or toleration is a label's. */
static bool is_own_value(struct sl_text key, yyjson_val *of) {
    return sl_text_is(key, "value") && !yyjson_obj_get(of, "key");
}

static void report_nul(struct walk *w, const struct sl_path *at, struct sl_text t,
                       const char *why) {
    sl_field_invalid(w->errs, at, sl_field_value_text(t), "%s", why);
    w->found = true;
}

/* free: texts may be anything, keys may not. The first fault ends it. */
static void check_texts(struct walk *w, const struct sl_path *at, yyjson_val *v, bool free,
                        uint32_t depth) {
    size_t i, n;
    yyjson_val *key, *item;

    if (w->found || depth > SL_API_MAX_DEPTH) /* which is refused as such */
        return;
    if (yyjson_is_str(v) && !free && sl_text_has_nul(sl_json_view(v)))
        report_nul(w, at, sl_json_view(v), WHY);
    yyjson_arr_foreach (v, i, n, item) {
        if (yyjson_is_str(item) || yyjson_is_ctn(item))
            check_texts(w, SL_PATH_AT(at, i), item, free, depth + 1);
    }
    sl_obj_foreach (v, i, n, key, item) {
        struct sl_text name = sl_json_view(key);
        if (sl_text_has_nul(name)) {
            report_nul(w, at, name, "a key " WHY);
            return;
        }
        if (yyjson_is_str(item) || yyjson_is_ctn(item))
            check_texts(w, SL_PATH(at, name.s), item,
                        free || is_free(name) || is_own_value(name, v), depth + 1);
    }
}

bool api_texts_check(struct sl_field_errs *errs, yyjson_val *object, bool custom) {
    struct walk w = {.errs = errs};
    size_t i, n;
    yyjson_val *key, *value;

    if (!sl_json_has_nul(
            object)) /* as it should be; where it stands is only sought if there is one */
        return true;
    if (!yyjson_is_obj(object)) { /* a list of operations: its keys and no more */
        check_texts(&w, SL_PATH(NULL, "body"), object, true, 0);
        return !w.found;
    }
    sl_obj_foreach (object, i, n, key, value) {
        struct sl_text name = sl_json_view(key);
        bool head = sl_text_is(name, "apiVersion") || sl_text_is(name, "kind") ||
                    sl_text_is(name, "metadata");
        if (sl_text_has_nul(name))
            report_nul(&w, SL_PATH(NULL, "body"), name, "a key " WHY);
        else
            check_texts(&w, SL_PATH(NULL, name.s), value, is_free(name) || (custom && !head), 0);
        if (w.found)
            break;
    }
    return !w.found;
}

bool api_rq_texts(struct api_rq *rq, yyjson_val *body) {
    struct sl_field_errs errs = {.arena = &rq->arena};

    if (api_texts_check(&errs, body, rq->kind && rq->kind->crd))
        return true;
    api_rq_bad(rq, "%s", errs.text[0]);
    return false;
}

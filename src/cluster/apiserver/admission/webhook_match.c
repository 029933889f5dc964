/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which requests a webhook is called for: its rules, selectors and matchConditions. A condition is
 * evaluated on the review that would be sent.
 */
#include <string.h>

#include "cluster/apiserver/admission/admission.h"
#include "cluster/apiserver/cel/cel.h"
#include "kube/types/selector.h"
#include "lib/json/json.h"

/* ---- rules ---- */

static bool lists(yyjson_val *list, const char *word) {
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach (list, i, n, v) {
        if (strcmp(sl_json_text(v), "*") == 0 || strcmp(sl_json_text(v), word) == 0)
            return true;
    }
    return false;
}

/* "pods", "pods/status", "*", "*" "/" "*", "pods/" "*" */
static bool lists_resource(yyjson_val *list, const char *plural, const char *sub) {
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach (list, i, n, v) {
        const char *word = sl_json_text(v), *slash = strchr(word, '/');
        size_t len = slash ? (size_t)(slash - word) : strlen(word);
        bool name = (len == 1 && *word == '*') ||
                    (strlen(plural) == len && strncmp(plural, word, len) == 0);
        bool rest = slash ? strcmp(slash + 1, "*") == 0 || strcmp(slash + 1, sub) == 0 : !*sub;
        if (name && rest)
            return true;
    }
    return false;
}

/* The version in which it expects the object; NULL: no rule matches. */
const struct api_kind_version *api_hook_version(struct api_write *w, yyjson_val *hook) {
    const struct api_rq *rq = w->rq;
    const struct api_kind *k = rq->kind;
    bool exact = strcmp(sl_json_str(hook, "matchPolicy"), "Exact") == 0;
    yyjson_val *rule;
    size_t i, n;

    yyjson_arr_foreach (sl_json_get(hook, "rules"), i, n, rule) {
        const char *scope = sl_json_str(rule, "scope");
        yyjson_val *versions = sl_json_get(rule, "apiVersions");
        if (!lists(sl_json_get(rule, "apiGroups"), k->group) ||
            !lists(sl_json_get(rule, "operations"), api_admit_operation(w)) ||
            !lists_resource(sl_json_get(rule, "resources"), k->plural, w->c.subresource) ||
            (strcmp(scope, "Namespaced") == 0 && !k->namespaced) ||
            (strcmp(scope, "Cluster") == 0 && k->namespaced))
            continue;
        if (lists(versions, rq->version->name))
            return rq->version;
        for (uint32_t j = 0; !exact && j < k->n_versions; j++)
            if (k->versions[j].served && lists(versions, k->versions[j].name))
                return &k->versions[j];
    }
    return NULL;
}

/* ---- selectors ---- */

static bool selects(struct api_rq *rq, yyjson_val *selector, yyjson_val *object) {
    struct sl_selector s;

    return sl_label_selector_read(&rq->arena, selector, &s) &&
           sl_label_selector_matches(&s, sl_json_at(object, "metadata.labels"));
}

bool api_hook_selects(struct api_write *w, yyjson_val *hook) {
    struct api_rq *rq = w->rq;
    yyjson_val *now = api_admit_object(w), *spaces = sl_json_get(hook, "namespaceSelector");
    yyjson_val *objects = sl_json_get(hook, "objectSelector");
    bool is_space = rq->kind == rq->s->namespaces;

    if (sl_json_size(objects) && !(now && selects(rq, objects, now)) &&
        !(w->c.old && selects(rq, objects, w->c.old)))
        return false;
    if (!sl_json_size(spaces) || (!rq->kind->namespaced && !is_space))
        return true;
    if (is_space)
        return selects(rq, spaces, now ? now : w->c.old);
    _cleanup_(sl_json_docp) yyjson_doc *ns = api_kind_read(rq->s, rq->s->namespaces, "", rq->ns);
    return ns && selects(rq, spaces, yyjson_doc_get_root(ns));
}

/* ---- matchConditions ---- */

/* What a webhook would be sent; NULL: it is too large. */
static yyjson_val *review_of(struct api_write *w, const struct api_kind_version *v) {
    struct api_admission *a = w->admission;

    if (a->review && a->review_version == v && a->review_changes == a->changes)
        return yyjson_doc_get_root(a->review);
    _cleanup_(sl_buf_done) struct sl_buf body = SL_BUF(SL_REVIEW_MAX);
    yyjson_doc_free(a->review);
    a->review = NULL;
    if (api_review_print(w, v, a->uid, &body) && !sl_buf_full(&body))
        a->review = yyjson_read(body.s, body.len, 0);
    a->review_version = v;
    a->review_changes = a->changes;
    return yyjson_doc_get_root(a->review);
}

int api_hook_conditions(struct api_write *w, yyjson_val *hook, const struct api_kind_version *v,
                        const char **ret_name, struct sl_err *err) {
    yyjson_val *list = sl_json_get(hook, "matchConditions"), *c;
    bool holds = true;
    size_t i, n;

    if (!sl_json_size(list))
        return 1;
    yyjson_val *request = sl_json_get(review_of(w, v), "request"), *none = &(yyjson_val){0};
    static const struct api_cel_env env = {.names = {"object", "oldObject", "request"}};
    yyjson_val *object = sl_json_get(request, "object"), *old = sl_json_get(request, "oldObject");
    const struct api_cel_input in = {.v = {object ? object : none, old ? old : none, request}};
    yyjson_arr_foreach (list, i, n, c) {
        struct api_cel *cel;
        *ret_name = sl_json_str(c, "name");
        if (!request)
            return sl_err_set(err, SL_ELIMIT, "the review is too large");
        const char *why;
        int r = api_cel_compile(sl_json_str(c, "expression"), &env, w->c.arena, &cel, &why);
        if (r < 0)
            r = sl_err_set(err, r, "%s", why);
        else
            r = api_cel_holds(cel, &in, &w->admission->steps, &holds, err);
        if (r < 0 || !holds)
            return r < 0 ? r : 0;
    }
    return 1;
}

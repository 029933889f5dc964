/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that every cluster has (api/kubernetes/bootstrap.jsonl): roles and their bindings, levels
 * of flow control, the range of service addresses, local API services. What is there already stays
 * as it is.
 */
#include "cluster/apiserver/firsts.h"

#include <string.h>

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/server.h"
#include "core/base/fmt.h"
#include "core/base/stamp.h"
#include "lib/json/json.h"
#include "lib/json/mutable.h"
#include "lib/json/writer.h"

static struct api_kind *kind_of(struct sl_apiserver *s, yyjson_val *object) {
    const char *version = sl_json_str(object, "apiVersion"), *slash = strchr(version, '/');
    char group[100] = "";

    if (slash)
        sl_fmt(group, sizeof group, "%.*s", (int)(slash - version), version);
    return api_kind_by_kind(s, group, sl_json_str(object, "kind"));
}

/* Line by line; NULL at the end. */
static yyjson_doc *next_object(const char **at) {
    const char *end = api_first_objects[0].text + api_first_objects[0].len, *from = *at;
    const char *line = from < end ? memchr(from, '\n', (size_t)(end - from)) : NULL;

    if (!line)
        return NULL;
    *at = line + 1;
    return yyjson_read(from, (size_t)(line - from), 0);
}

yyjson_doc *api_first_object(const struct api_kind *k, const char *name) {
    const char *at = api_first_objects[0].text;
    yyjson_doc *doc;

    while ((doc = next_object(&at))) {
        yyjson_val *o = yyjson_doc_get_root(doc);
        if (strcmp(sl_json_str(o, "kind"), k->kind) == 0 &&
            strcmp(sl_json_str(o, "metadata.name"), name) == 0)
            return doc;
        yyjson_doc_free(doc);
    }
    return NULL;
}

/* Its conditions, as of now. */
static int make_status(struct sl_apiserver *s, api_first_request request, const char *path,
                       yyjson_val *object, struct sl_err *err) {
    _cleanup_(sl_json_mut_docp) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc), *v;
    _cleanup_(sl_buf_done) struct sl_buf body = SL_BUF(API_FIRST);
    char now[SL_STAMP_TEXT];
    size_t i, n;

    sl_json_mut_keep(doc, root, "status", object);
    yyjson_mut_arr_foreach (sl_json_mut_at(root, "status.conditions"), i, n, v) {
        sl_json_mut_set_str(doc, v, "lastTransitionTime", sl_stamp(s->wall, now));
    }
    sl_json_mut_put(&body, root);
    sl_assert(!sl_buf_full(&body));
    return request(s, "PATCH", path, SL_MERGE_PATCH, sl_buf_str(&body), body.len, err);
}

static int make(struct sl_apiserver *s, api_first_request request, yyjson_val *object,
                struct sl_err *err) {
    const struct api_kind *k = kind_of(s, object);
    const char *name = sl_json_str(object, "metadata.name"),
               *ns = sl_json_str(object, "metadata.namespace");
    _cleanup_(sl_json_docp) yyjson_doc *have = api_kind_read(s, k, ns, name);
    _cleanup_(sl_buf_done) struct sl_buf body = SL_BUF(API_FIRST_OBJECT);
    char path[400];

    if (have)
        return 0;
    sl_json_put(&body, object);
    sl_assert(!sl_buf_full(&body));
    sl_fmt(path, sizeof path, "/%s%s%s%s%s%s/%s", *k->group ? "apis/" : "api", k->group, "/",
           sl_json_str(object, "apiVersion") + (*k->group ? strlen(k->group) + 1 : 0),
           *ns ? "/namespaces/" : "", ns, k->plural);
    int r = request(s, "POST", path, SL_JSON, sl_buf_str(&body), body.len, err);
    if (r < 0 || !sl_json_get(object, "status"))
        return r;
    size_t len = strlen(path);
    sl_fmt(path + len, sizeof path - len, "/%s/status", name);
    return make_status(s, request, path, object, err);
}

/* Facts for servers beside this one. */
static int make_config(struct sl_apiserver *s, api_first_request request, const char *name,
                       const char *key, const char *value, struct sl_err *err) {
    _cleanup_(sl_json_mut_docp) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    _cleanup_(sl_json_docp) yyjson_doc *made = NULL;
    yyjson_mut_val *root = yyjson_mut_obj(doc);

    sl_json_mut_set_str(doc, root, "apiVersion", "v1");
    sl_json_mut_set_str(doc, root, "kind", "ConfigMap");
    sl_json_mut_set_str(doc, sl_json_mut_obj(doc, root, "metadata"), "name", name);
    sl_json_mut_set_str(doc, sl_json_mut_obj(doc, root, "metadata"), "namespace", "kube-system");
    if (value)
        sl_json_mut_set_str(doc, sl_json_mut_obj(doc, root, "data"), key, value);
    made = yyjson_mut_val_imut_copy(root, NULL);
    return make(s, request, yyjson_doc_get_root(made), err);
}

int api_firsts_make(struct sl_apiserver *s, const char *ca, api_first_request request,
                    struct sl_err *err) {
    const char *at = api_first_objects[0].text;
    char today[SL_STAMP_TEXT];
    yyjson_doc *doc;
    int r = 0;

    while (r >= 0 && (doc = next_object(&at))) {
        r = make(s, request, yyjson_doc_get_root(doc), err);
        yyjson_doc_free(doc);
    }
    (void)sl_stamp(s->wall, today);
    today[strlen("2000-01-01")] = '\0';
    if (r >= 0)
        r = make_config(s, request, "kube-apiserver-legacy-service-account-token-tracking", "since",
                        today, err);
    if (r >= 0)
        r = make_config(s, request, "extension-apiserver-authentication", "client-ca-file", ca,
                        err);
    return r;
}

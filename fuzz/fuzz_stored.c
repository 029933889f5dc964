/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects as an older Sluice, another program or a damaged name left them in the store, under
 * kinds that they need not be of. Each line of an input is one of them: RESOURCE NAME JSON, where
 * RESOURCE is as in the store's file ("pods", "batch/jobs") and JSON may be anything that has
 * metadata. All that
 * reads what is stored then reads it: single objects, lists, tables, selectors, scales, patches of
 * all sorts, what looks up an owner, a namespace or a webhook; and at last they are deleted.
 * Whatever they are: each request is answered once, and the server goes on.
 */
#include <stdint.h>
#include <stdlib.h>

#include "api_fz.h"
#include "cluster/apiserver/server.h"
#include "lib/json/mutable.h"

#define INPUTS_PER_SERVER 500u
#define MAX_OBJECTS 8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct api_fz api;

struct stored {
    const struct api_kind *kind;
    const char *name;
};

static struct api_kind *find_kind(const char *resource) {
    const char *slash = strchr(resource, '/');
    char group[64] = "";

    if (slash && (size_t)(slash - resource) < sizeof group)
        memcpy(group, resource, (size_t)(slash - resource));
    return api_kind_find(api.s, group, slash ? slash + 1 : resource);
}

/* Names are of the row's own; all else is as it stands. The text, to be freed; NULL: it is none
 * that the server would take from its file. */
static char *named(const struct api_kind *k, const char *name, const char *json, size_t *ret_len) {
    yyjson_doc *in = yyjson_read(json, strlen(json), 0);
    yyjson_mut_doc *doc = in ? yyjson_doc_mut_copy(in, NULL) : NULL;
    yyjson_mut_val *meta = yyjson_mut_obj_get(yyjson_mut_doc_get_root(doc), "metadata");
    char *text = NULL;

    if (yyjson_mut_is_obj(meta)) {
        sl_json_mut_set_str(doc, meta, "name", name);
        sl_json_mut_set_str(doc, meta, "uid", "uid");
        if (k->namespaced)
            sl_json_mut_set_str(doc, meta, "namespace", "default");
        else
            (void)yyjson_mut_obj_remove_key(meta, "namespace");
        text = yyjson_mut_write(doc, 0, ret_len);
    }
    yyjson_mut_doc_free(doc);
    yyjson_doc_free(in);
    return text;
}

/* As if it had been there when the server started. */
static bool put(char *line, struct stored *ret) {
    char *name = strchr(line, ' '), *json = name ? strchr(name + 1, ' ') : NULL;
    struct sl_err err;
    size_t len;

    if (!json)
        return false;
    *name++ = *json++ = '\0';
    const struct api_kind *k = find_kind(line);
    if (!k || k->review || !*name || strlen(name) > 63 ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz.-0123456789") != strlen(name))
        return false;
    k = api_stored_kind(k);
    char *text = named(k, name, json, &len);
    if (!text)
        return false;
    *ret = (struct stored){k, name};
    struct sl_store_object o = {
        .ns = k->namespaced ? "default" : "", .name = name, .uid = "uid", .text = text, .len = len};
    bool ok = api_object_readable(api.s, &o) &&
              sl_store_put(api.s->store, k->number, o.ns, name, "uid", text, len, NULL, &err) >= 0;
    free(text);
    return ok;
}

static void ask(const char *method, const char *path, const char *query, const char *type,
                const char *accept, const char *body) {
    struct sl_api_request rq = api_fz_request(method, path, query, type, body, strlen(body));

    rq.accept = accept;
    (void)api_fz_ask(&api, &rq);
}

static void use(const struct stored *o, const char *version) {
    static const char *const accepts[] = {"application/json",
                                          "application/json;as=Table;v=v1;g=meta.k8s.io",
                                          "application/yaml", SL_AS_METADATA_LIST};
    static const char *const patches[][2] = {
        {SL_MERGE_PATCH, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"},
        {"application/strategic-merge-patch+json",
         "{\"spec\":{\"containers\":[{\"name\":\"c\"}]}}"},
        {"application/json-patch+json",
         "[{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{\"a\":\"b\"}}]"},
        {SL_APPLY_PATCH, "{\"metadata\":{\"annotations\":{\"c\":\"d\"}}}"},
    };
    static const char *const subs[] = {"status", "scale"};
    struct sl_buf list = SL_BUF(512), one = SL_BUF(1024), sub = SL_BUF(1100);

    sl_buf_printf(&list, "%s%s/%s%s/%s", *o->kind->group ? "/apis/" : "/api", o->kind->group,
                  version, o->kind->namespaced ? "/namespaces/default" : "", o->kind->plural);
    sl_buf_printf(&one, "%s/%s", sl_buf_str(&list), o->name);
    for (size_t i = 0; i < SL_LEN(accepts); i++) {
        ask("GET", sl_buf_str(&list), "labelSelector=a%3Db%2Cc&limit=1", "", accepts[i], "");
        ask("GET", sl_buf_str(&list), "fieldSelector=metadata.name%3D", "", accepts[i], "");
        ask("GET", sl_buf_str(&one), "", "", i == 3 ? SL_AS_METADATA : accepts[i], "");
    }
    ask("GET", sl_buf_str(&list),
        "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "", accepts[1], "");
    for (size_t i = 0; i < SL_LEN(patches); i++)
        ask("PATCH", sl_buf_str(&one), "fieldManager=f&force=true", patches[i][0], accepts[0],
            patches[i][1]);
    for (size_t i = 0; i < SL_LEN(subs); i++) {
        sl_buf_clear(&sub);
        sl_buf_printf(&sub, "%s/%s", sl_buf_str(&one), subs[i]);
        ask("GET", sl_buf_str(&sub), "", "", accepts[0], "");
        ask("PATCH", sl_buf_str(&sub), "", SL_MERGE_PATCH, accepts[0],
            "{\"spec\":{\"replicas\":2},\"status\":{}}");
    }
    ask("DELETE", sl_buf_str(&one), "gracePeriodSeconds=0&propagationPolicy=Foreground", "",
        accepts[0], "");
    sl_buf_done(&list);
    sl_buf_done(&one);
    sl_buf_done(&sub);
}

/* What finalizers hold goes, too: others begin with an empty store. */
static void drop(const struct stored *o) {
    struct sl_store_object *now =
        sl_store_get(api.s->store, o->kind->number, o->kind->namespaced ? "default" : "", o->name);
    struct sl_err err;

    if (now)
        sl_assert(sl_store_delete(api.s->store, now, "{}", 2, &err) >= 0);
}

static void stop(void) {
    api_fz_stop(&api);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct stored stored[MAX_OBJECTS];
    uint32_t n = 0;
    char *line;

    api_fz_input(&api, (struct sl_apiserver_spec){0}, INPUTS_PER_SERVER, stop);
    char *text = sl_alloc(size + 1), *at = text;
    memcpy(text, data, size);
    text[size] = '\0';
    while (n < MAX_OBJECTS && (line = api_fz_line(&at)))
        n += put(line, &stored[n]);
    for (uint32_t i = 0; i < n; i++) {
        api_hooks_changed(api.s, stored[i].kind);
        for (uint32_t v = 0; v < stored[i].kind->n_versions; v++)
            use(&stored[i], stored[i].kind->versions[v].name);
    }
    /* What happens to others looks these up, as namespaces, limits, quotas, services, webhooks. */
    ask("POST", "/api/v1/namespaces/default/pods", "dryRun=All", SL_JSON, SL_JSON,
        "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
        "\"i\"}]}}");
    for (uint32_t i = 0; i < n; i++)
        drop(&stored[i]);
    api_fz_turn(&api, 2);
    sl_freep(&text);
    return 0;
}

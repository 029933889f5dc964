/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/schema/openapi/openapi_int.h"

#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/mem.h"

static void head(struct sl_openapi *w, const struct sl_openapi_api *api) {
    sl_jw_object(&w->j, NULL);
    sl_jw_str(&w->j, w->v3 ? "openapi" : "swagger", w->v3 ? "3.0.0" : "2.0");
    sl_jw_object(&w->j, "info");
    sl_jw_str(&w->j, "title", "Kubernetes");
    sl_jw_str(&w->j, "version", api->release);
    sl_jw_end(&w->j);
}

void sl_openapi_doc(struct sl_openapi *w, const char *doc, size_t len) {
    if (len > 0)
        sl_jw_text(&w->j, "description", (struct sl_text){doc, len});
}

static void paths(struct sl_openapi *w, const struct sl_openapi_api *api) {
    sl_jw_object(&w->j, "paths");
    for (size_t i = 0; i < api->n; i++)
        sl_openapi_paths(w, &api->kinds[i]);
    sl_jw_end(&w->j);
}

void sl_openapi_v2(const struct sl_openapi_api *api, struct sl_buf *out) {
    struct sl_openapi w = {.j = SL_JW(out)};

    head(&w, api);
    paths(&w, api);
    sl_openapi_definitions(&w, "definitions", api);
    sl_jw_end(&w.j);
}

/* ---- version 3 ---- */

static bool is_of(const struct sl_openapi_kind *k, const char *group, const char *version) {
    return strcmp(k->group, group) == 0 && strcmp(k->version, version) == 0;
}

bool sl_openapi_v3(const struct sl_openapi_api *api, const char *group, const char *version,
                   struct sl_buf *out) {
    struct sl_openapi w = {.j = SL_JW(out), .v3 = true};
    struct sl_openapi_kind *kinds = sl_alloc0(api->n + 1, sizeof(*kinds));
    struct sl_openapi_api own = *api;

    own.kinds = kinds;
    own.n = 0;
    for (size_t i = 0; i < api->n; i++)
        if (is_of(&api->kinds[i], group, version))
            kinds[own.n++] = api->kinds[i];
    if (own.n > 0) {
        head(&w, &own);
        paths(&w, &own);
        sl_jw_object(&w.j, "components");
        sl_openapi_definitions(&w, "schemas", &own);
        sl_jw_end_to(&w.j, 0);
    }
    sl_freep(&kinds);
    return own.n > 0;
}

void sl_openapi_v3_index(const struct sl_openapi_api *api, struct sl_buf *out) {
    struct sl_jw w = SL_JW(out);
    _cleanup_(sl_buf_done) struct sl_buf doc = SL_BUF(SL_OPENAPI_MAX_BYTES);
    _cleanup_(sl_buf_done) struct sl_buf path = SL_BUF(1024);

    sl_jw_object(&w, NULL);
    sl_jw_object(&w, "paths");
    for (size_t i = 0; i < api->n; i++) {
        const struct sl_openapi_kind *k = &api->kinds[i];
        bool first = true;
        for (size_t j = 0; j < i && first; j++)
            first = !is_of(&api->kinds[j], k->group, k->version);
        if (!first)
            continue;
        sl_buf_clear(&doc);
        sl_buf_clear(&path);
        (void)sl_openapi_v3(api, k->group, k->version, &doc);
        sl_buf_printf(&path, "%s%s/%s", *k->group ? "apis/" : "api", k->group, k->version);
        sl_jw_object(&w, sl_buf_str(&path));
        sl_jw_strf(&w, "serverRelativeURL", "/openapi/v3/%s?hash=%016llX%016llX", sl_buf_str(&path),
                   (unsigned long long)sl_digest_bytes(0, doc.s, doc.len),
                   (unsigned long long)sl_digest_bytes(1, doc.s, doc.len));
        sl_jw_end(&w);
    }
    sl_jw_end_to(&w, 0);
}

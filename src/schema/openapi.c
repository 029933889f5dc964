#include "schema/openapi_int.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

void sl_openapi_key(struct sl_openapi *w, const char *key) {
    const char *last = w->out->len > 0 ? &w->out->s[w->out->len - 1] : "{";

    if (*last != '{' && *last != '[')
        sl_buf_putc(w->out, ',');
    sl_buf_json(w->out, key);
    sl_buf_putc(w->out, ':');
}

void sl_openapi_text(struct sl_openapi *w, const char *key, const char *text) {
    sl_openapi_key(w, key);
    sl_buf_json(w->out, text);
}

static void head(struct sl_openapi *w, const char *release) {
    sl_buf_putc(w->out, '{');
    sl_openapi_text(w, w->v3 ? "openapi" : "swagger", w->v3 ? "3.0.0" : "2.0");
    sl_openapi_key(w, "info");
    sl_buf_putc(w->out, '{');
    sl_openapi_text(w, "title", "Kubernetes");
    sl_openapi_text(w, "version", release);
    sl_buf_putc(w->out, '}');
}

static void paths(struct sl_openapi *w, const struct sl_openapi_kind *kinds, size_t n) {
    sl_openapi_key(w, "paths");
    sl_buf_putc(w->out, '{');
    for (size_t i = 0; i < n; i++)
        sl_openapi_paths(w, &kinds[i]);
    sl_buf_putc(w->out, '}');
}

void sl_openapi_v2(const struct sl_openapi_kind *kinds, size_t n, const char *release,
                   struct sl_buf *out) {
    struct sl_openapi w = {.out = out};

    head(&w, release);
    paths(&w, kinds, n);
    sl_openapi_key(&w, "definitions");
    sl_openapi_definitions(&w, kinds, n);
    sl_buf_putc(out, '}');
}

/* ---- version 3 ---- */

static bool is_of(const struct sl_openapi_kind *k, const char *group, const char *version) {
    return strcmp(k->group, group) == 0 && strcmp(k->version, version) == 0;
}

bool sl_openapi_v3(const struct sl_openapi_kind *kinds, size_t n, const char *release,
                   const char *group, const char *version, struct sl_buf *out) {
    struct sl_openapi w = {.out = out, .v3 = true};
    struct sl_openapi_kind *own = sl_alloc0(n + 1, sizeof(*own));
    size_t n_own = 0;

    for (size_t i = 0; i < n; i++)
        if (is_of(&kinds[i], group, version))
            own[n_own++] = kinds[i];
    if (n_own > 0) {
        head(&w, release);
        paths(&w, own, n_own);
        sl_openapi_key(&w, "components");
        sl_buf_puts(out, "{\"schemas\":");
        sl_openapi_definitions(&w, own, n_own);
        sl_buf_puts(out, "}}");
    }
    sl_freep(&own);
    return n_own > 0;
}

void sl_openapi_v3_index(const struct sl_openapi_kind *kinds, size_t n, const char *release,
                         struct sl_buf *out) {
    struct sl_openapi w = {.out = out, .v3 = true};
    _cleanup_(sl_buf_done) struct sl_buf doc, path;

    sl_buf_init(&doc, SL_OPENAPI_MAX_BYTES);
    sl_buf_init(&path, 1024);
    sl_buf_puts(out, "{\"paths\":{");
    for (size_t i = 0; i < n; i++) {
        const struct sl_openapi_kind *k = &kinds[i];
        bool first = true;
        for (size_t j = 0; j < i && first; j++)
            first = !is_of(&kinds[j], k->group, k->version);
        if (!first)
            continue;
        sl_buf_clear(&doc);
        sl_buf_clear(&path);
        (void)sl_openapi_v3(kinds, n, release, k->group, k->version, &doc);
        sl_buf_printf(&path, "%s%s/%s", *k->group ? "apis/" : "api", k->group, k->version);
        sl_openapi_key(&w, sl_buf_str(&path));
        sl_buf_printf(out, "{\"serverRelativeURL\":\"/openapi/v3/%s?hash=%016llX%016llX\"}",
                      sl_buf_str(&path), (unsigned long long)sl_hash_bytes(0, doc.s, doc.len),
                      (unsigned long long)sl_hash_bytes(1, doc.s, doc.len));
    }
    sl_buf_puts(out, "}}");
}

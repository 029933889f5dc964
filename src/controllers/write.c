/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and bodies of writes. */
#include "controllers/rec.h"

#include <string.h>

#define FIELD_MANAGER "kueue"

static void put_path(const struct sl_manager *m, struct sl_buf *b, const struct kind *k, sl_sym ns,
                     const char *name, const char *subresource) {
    sl_buf_puts(b, k->path);
    if (k->namespaced)
        sl_buf_printf(b, "/namespaces/%s", str(m, ns));
    sl_buf_printf(b, "/%s", k->plural);
    if (name)
        sl_buf_printf(b, "/%s", name);
    if (subresource && *subresource)
        sl_buf_printf(b, "/%s", subresource);
}

void write_patch(struct sl_manager *m, const struct rec *r, const char *subresource,
                 struct sl_write *w) {
    const struct kind *k = &kinds[r->kind];
    w->method = SL_PATCH;
    w->content_type = SL_MERGE_PATCH;
    put_path(m, &w->path, k, r->ns, r->name, subresource);
    sl_buf_puts(&w->path, "?fieldManager=" FIELD_MANAGER);
    put_path(m, &w->read_path, k, r->ns, r->name, NULL);
}

void write_guard(struct sl_write *w, const struct rec *r) {
    sl_buf_printf(&w->body, "{\"metadata\":{\"resourceVersion\":\"%llu\",\"uid\":",
                  (unsigned long long)r->rv);
    sl_buf_json(&w->body, r->uid);
}

void write_apply(struct sl_manager *m, const struct rec *r, const char *subresource,
                 const char *manager, struct sl_write *w) {
    const struct kind *k = &kinds[r->kind];
    w->method = SL_PATCH;
    w->content_type = SL_APPLY_PATCH;
    put_path(m, &w->path, k, r->ns, r->name, subresource);
    sl_buf_printf(&w->path, "?fieldManager=%s&force=true", manager);
    put_path(m, &w->read_path, k, r->ns, r->name, NULL);
    sl_buf_printf(&w->body,
                  "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":", k->api_version,
                  k->kind);
    sl_buf_json(&w->body, r->name);
    if (k->namespaced) {
        sl_buf_puts(&w->body, ",\"namespace\":");
        sl_buf_json(&w->body, str(m, r->ns));
    }
    sl_buf_printf(&w->body, ",\"resourceVersion\":\"%llu\",\"uid\":", (unsigned long long)r->rv);
    sl_buf_json(&w->body, r->uid);
    sl_buf_putc(&w->body, '}');
}

void write_create(struct sl_manager *m, enum rec_kind k, const char *ns, struct sl_write *w) {
    w->method = SL_POST;
    w->content_type = SL_JSON;
    put_path(m, &w->path, &kinds[k], sl_sym_put(&m->syms, ns), NULL, NULL);
    sl_buf_puts(&w->path, "?fieldManager=" FIELD_MANAGER);
}

void write_read_other(struct sl_manager *m, enum rec_kind k, sl_sym ns, const char *name,
                      struct sl_write *w) {
    w->method = SL_GET;
    w->tag = WRITE_FOREIGN;
    put_path(m, &w->path, &kinds[k], ns, name, NULL);
}

void write_read(struct sl_manager *m, const struct rec *r, struct sl_write *w) {
    w->method = SL_GET;
    put_path(m, &w->path, &kinds[r->kind], r->ns, r->name, NULL);
}

void write_delete(struct sl_manager *m, const struct rec *r, bool background, struct sl_write *w) {
    w->method = SL_DELETE;
    w->content_type = SL_JSON;
    put_path(m, &w->path, &kinds[r->kind], r->ns, r->name, NULL);
    sl_buf_puts(&w->body, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",");
    if (background)
        sl_buf_puts(&w->body, "\"propagationPolicy\":\"Background\",");
    sl_buf_puts(&w->body, "\"preconditions\":{\"uid\":");
    sl_buf_json(&w->body, r->uid);
    sl_buf_puts(&w->body, "}}");
}

void write_finalizer(struct sl_manager *m, const struct rec *r, bool on, struct sl_write *w) {
    const char *others = str(m, r->finalizers);
    write_patch(m, r, NULL, w);
    write_guard(w, r);
    sl_buf_printf(&w->body, ",\"finalizers\":[%s%s%s]}}", others, on && *others ? "," : "",
                  on ? "\"kueue.x-k8s.io/resource-in-use\"" : "");
}

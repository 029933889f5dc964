/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and heads of bodies. */
#include "kube/informer/informer.h"

static void put_pair(struct sl_buf *b, const char *lead, const char *text) {
    sl_buf_puts(b, lead);
    sl_buf_puts(b, text);
}

void sl_rec_kind_path(struct sl_buf *b, const struct sl_rec_kind *k, const char *ns,
                      const char *name, const char *subresource) {
    sl_buf_puts(b, k->path);
    if (k->namespaced)
        put_pair(b, "/namespaces/", ns);
    put_pair(b, "/", k->plural);
    if (name)
        put_pair(b, "/", name);
    if (subresource && *subresource)
        put_pair(b, "/", subresource);
}

void sl_rec_path(struct sl_buf *b, const struct sl_rec *r, const char *subresource) {
    sl_rec_kind_path(b, r->table->kind, sl_rec_ns(r), r->name, subresource);
}

static void set_request(struct sl_write *w, enum sl_kube_method method, const char *type) {
    w->method = method;
    w->content_type = type;
}

/* Of the object or a subresource, by this field manager; read again after a conflict. */
static void change(const struct sl_rec *r, const char *subresource, const char *manager,
                   struct sl_write *w) {
    sl_rec_path(&w->path, r, subresource);
    put_pair(&w->path, "?fieldManager=", manager);
    sl_rec_path(&w->read_path, r, NULL);
}

static const char *manager_of(const struct sl_rec *r) {
    return r->table->informer->spec.field_manager;
}

void sl_rec_build_patch(const struct sl_rec *r, const char *subresource, struct sl_write *w) {
    set_request(w, SL_PATCH, SL_MERGE_PATCH);
    change(r, subresource, manager_of(r), w);
}

void sl_rec_put_guard(struct sl_jw *j, const struct sl_rec *r) {
    sl_jw_object(j, NULL);
    sl_jw_object(j, "metadata");
    sl_jw_strf(j, "resourceVersion", "%llu", (unsigned long long)r->rv);
    sl_jw_str(j, "uid", r->uid);
}

void sl_rec_build_guarded(const struct sl_rec *r, const char *subresource, struct sl_write *w) {
    sl_rec_build_patch(r, subresource, w);
    sl_rec_put_guard(&w->json, r);
}

void sl_rec_build_ops(const struct sl_rec *r, struct sl_write *w) {
    set_request(w, SL_PATCH, SL_JSON_PATCH);
    change(r, NULL, manager_of(r), w);
    sl_jw_array(&w->json, NULL);
    sl_jw_object(&w->json, NULL);
    sl_jw_str(&w->json, "op", "replace"); /* a 'test' would be answered 422, which is final */
    sl_jw_str(&w->json, "path", "/metadata/resourceVersion");
    sl_jw_strf(&w->json, "value", "%llu", (unsigned long long)r->rv);
    sl_jw_end(&w->json);
}

void sl_rec_build_apply(const struct sl_rec *r, const char *subresource, const char *manager,
                        struct sl_write *w) {
    const struct sl_rec_kind *k = r->table->kind;
    set_request(w, SL_PATCH, SL_APPLY_PATCH);
    change(r, subresource, manager, w);
    sl_buf_puts(&w->path, "&force=true");
    struct sl_jw *j = &w->json;
    sl_jw_object(j, NULL);
    sl_jw_str(j, "apiVersion", k->api_version);
    sl_jw_str(j, "kind", k->kind);
    sl_jw_object(j, "metadata");
    sl_jw_str(j, "name", r->name);
    if (k->namespaced)
        sl_jw_str(j, "namespace", sl_rec_ns(r));
    sl_jw_strf(j, "resourceVersion", "%llu", (unsigned long long)r->rv);
    sl_jw_str(j, "uid", r->uid);
    sl_jw_end(j);
}

void sl_rec_put_finalizers(struct sl_jw *j, const struct sl_rec *r, bool on) {
    const char *others = sl_inf_str(r->table->informer, r->finalizers);
    sl_jw_array(j, "finalizers");
    if (*others)
        sl_jw_items(j, others);
    if (on)
        sl_jw_str(j, NULL, r->table->kind->finalizer);
    sl_jw_end(j);
}

void sl_rec_build_finalizer(const struct sl_rec *r, bool on, struct sl_write *w) {
    sl_rec_build_guarded(r, NULL, w);
    sl_rec_put_finalizers(&w->json, r, on);
}

void sl_rec_build_post(const struct sl_rec *r, const char *subresource, struct sl_write *w) {
    set_request(w, SL_POST, SL_JSON);
    change(r, subresource, manager_of(r), w);
}

void sl_inf_build_create(const struct sl_informer *f, uint32_t kind, const char *ns,
                         struct sl_write *w) {
    set_request(w, SL_POST, SL_JSON);
    sl_rec_kind_path(&w->path, f->tables[kind].kind, ns, NULL, NULL);
    put_pair(&w->path, "?fieldManager=", f->spec.field_manager);
}

void sl_rec_build_delete(const struct sl_rec *r, const char *policy, int64_t grace,
                         struct sl_write *w) {
    set_request(w, SL_DELETE, SL_JSON);
    sl_rec_path(&w->path, r, NULL);
    sl_rec_path(&w->read_path, r, NULL);
    struct sl_jw *j = &w->json;
    sl_jw_object(j, NULL);
    sl_jw_str(j, "kind", "DeleteOptions");
    sl_jw_str(j, "apiVersion", "v1");
    if (policy)
        sl_jw_str(j, "propagationPolicy", policy);
    if (grace >= 0)
        sl_jw_int(j, "gracePeriodSeconds", grace);
    sl_jw_object(j, "preconditions");
    sl_jw_str(j, "uid", r->uid);
}

void sl_rec_build_read(const struct sl_rec *r, struct sl_write *w) {
    w->method = SL_GET;
    sl_rec_path(&w->path, r, NULL);
}

void sl_inf_build_read(const struct sl_informer *f, uint32_t kind, const char *ns, const char *name,
                       struct sl_write *w) {
    w->method = SL_GET;
    w->foreign = true;
    sl_rec_kind_path(&w->path, f->tables[kind].kind, ns, name, NULL);
}

void sl_rec_put_owner(struct sl_jw *j, const struct sl_rec *owner) {
    const struct sl_rec_kind *k = owner->table->kind;
    sl_jw_object(j, NULL);
    sl_jw_str(j, "apiVersion", k->api_version);
    sl_jw_str(j, "kind", k->kind);
    sl_jw_str(j, "name", owner->name);
    sl_jw_str(j, "uid", owner->uid);
    sl_jw_bool(j, "controller", true);
    sl_jw_bool(j, "blockOwnerDeletion", true);
    sl_jw_end(j);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and bodies of writes. */
#include "cluster/cluster_int.h"

#include <stdlib.h>
#include <string.h>

#define FIELD_MANAGER "kube-controller-manager"

void cl_write_path(const struct sl_cluster *c, struct sl_buf *b, const struct kind *k, sl_sym ns,
                   const char *name, const char *subresource) {
    sl_buf_puts(b, k->path);
    if (k->namespaced)
        sl_buf_printf(b, "/namespaces/%s", str(c, ns));
    sl_buf_printf(b, "/%s", k->plural);
    if (name)
        sl_buf_printf(b, "/%s", name);
    if (subresource)
        sl_buf_printf(b, "/%s", subresource);
}

static void write_to(const struct sl_cluster *c, const struct rec *r, const char *subresource,
                     enum sl_method method, const char *type, struct sl_write *w) {
    w->method = method;
    w->content_type = type;
    cl_write_path(c, &w->path, r->table->kind, r->ns, r->name, subresource);
    sl_buf_puts(&w->path, "?fieldManager=" FIELD_MANAGER);
    cl_write_path(c, &w->read_path, r->table->kind, r->ns, r->name, NULL);
}

void cl_write_patch(const struct sl_cluster *c, const struct rec *r, const char *subresource,
                    struct sl_write *w) {
    write_to(c, r, subresource, SL_PATCH, SL_MERGE_PATCH, w);
    sl_buf_printf(&w->body, "{\"metadata\":{\"resourceVersion\":\"%llu\",\"uid\":",
                  (unsigned long long)r->rv);
    sl_buf_json(&w->body, r->uid);
}

void cl_write_post(const struct sl_cluster *c, const struct rec *r, const char *subresource,
                   struct sl_write *w) {
    write_to(c, r, subresource, SL_POST, SL_JSON, w);
}

void cl_write_create(const struct sl_cluster *c, const struct kind *k, sl_sym ns,
                     struct sl_write *w) {
    w->method = SL_POST;
    w->content_type = SL_JSON;
    cl_write_path(c, &w->path, k, ns, NULL, NULL);
    sl_buf_puts(&w->path, "?fieldManager=" FIELD_MANAGER);
}

void cl_write_delete(const struct sl_cluster *c, const struct rec *r, const char *policy,
                     int64_t grace, struct sl_write *w) {
    w->method = SL_DELETE;
    w->content_type = SL_JSON;
    cl_write_path(c, &w->path, r->table->kind, r->ns, r->name, NULL);
    cl_write_path(c, &w->read_path, r->table->kind, r->ns, r->name, NULL);
    sl_buf_puts(&w->body, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",");
    if (policy)
        sl_buf_printf(&w->body, "\"propagationPolicy\":\"%s\",", policy);
    if (grace >= 0)
        sl_buf_printf(&w->body, "\"gracePeriodSeconds\":%lld,", (long long)grace);
    jput_text(&w->body, "\"preconditions\":{\"uid\":", r->uid);
    sl_buf_puts(&w->body, "}}");
}

void cl_write_read(const struct sl_cluster *c, const struct rec *r, struct sl_write *w) {
    w->method = SL_GET;
    cl_write_path(c, &w->path, r->table->kind, r->ns, r->name, NULL);
}

void cl_write_owner(struct sl_buf *b, const struct rec *owner) {
    const struct kind *k = owner->table->kind;
    sl_buf_printf(b, "{\"apiVersion\":\"%s\",\"kind\":\"%s\"", k->api_version, k->kind);
    jput_text(b, ",\"name\":", owner->name);
    jput_text(b, ",\"uid\":", owner->uid);
    sl_buf_puts(b, ",\"controller\":true,\"blockOwnerDeletion\":true}");
}

void cl_write_condition(struct sl_buf *b, const char *type, bool status, const char *reason,
                        const char *message, sl_time probed, sl_time changed) {
    sl_buf_printf(b, "{\"type\":\"%s\",\"status\":\"%s\"", type, status ? "True" : "False");
    if (probed) {
        sl_buf_puts(b, ",\"lastProbeTime\":");
        jput_time(b, probed);
    }
    if (changed) {
        sl_buf_puts(b, ",\"lastTransitionTime\":");
        jput_time(b, changed);
    }
    if (*reason)
        jput_text(b, ",\"reason\":", reason);
    if (*message)
        jput_text(b, ",\"message\":", message);
    sl_buf_putc(b, '}');
}

char *cl_text_of(yyjson_val *v) {
    return v && !yyjson_is_null(v) ? yyjson_val_write(v, 0, NULL) : NULL;
}

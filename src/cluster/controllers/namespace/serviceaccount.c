/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every living namespace has: the account "default" and, if the authority's certificate is
 * known, the ConfigMap kube-root-ca.crt. Both come back when they are deleted.
 */
#include <string.h>

#include "cluster/controllers/namespace/namespace.h"
#include "core/base/collection/hash.h"
#include "lib/json/json.h"

#define AGAIN (2 * SL_SEC)
#define ROOT "kube-root-ca.crt"

static struct sl_rec *namespace_of(struct sl_cluster *c, const struct sl_rec *r) {
    return sl_inf_find(c->inf, K_NAMESPACE, "", sl_rec_ns(r));
}

bool cl_account_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    (void)ctx;
    (void)r;
    (void)o;
    return false;
}

void cl_account_gone(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;
    struct sl_rec *ns_rec = namespace_of(c, r);

    if (!ns_rec)
        return;
    cl_namespace_of(ns_rec)->account_at = cl_namespace_of(ns_rec)->root_at = 0;
    sl_rec_enqueue(ns_rec);
}

static uint64_t hash_of(const char *certificate) {
    return sl_hash_str(11, certificate);
}

bool cl_root_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct cl_root_ca *k = SL_CONTAINER_OF(r, struct cl_root_ca, rec);
    yyjson_val *v = yyjson_obj_get(yyjson_obj_get(o, "data"), "ca.crt");

    (void)ctx;
    k->data = hash_of(sl_json_text(v));
    return true;
}

static bool is_stale(const struct sl_cluster *c, const struct sl_rec *r) {
    return c->spec.ca && cl_on(c, CL_ROOT_CA) && !r->deleting &&
           SL_CONTAINER_OF(r, const struct cl_root_ca, rec)->data != hash_of(c->spec.ca);
}

void cl_root_changed(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;
    if (is_stale(c, r))
        sl_rec_write(r);
}

bool cl_root_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_cluster *c = ctx;
    if (!is_stale(c, r))
        return false;
    sl_rec_build_guarded(r, NULL, w);
    sl_jw_end(&w->json);
    sl_jw_object(&w->json, "data");
    sl_jw_str(&w->json, "ca.crt", c->spec.ca);
    return true;
}

/* ---- what is missing ---- */

static bool lacks_account(struct sl_cluster *c, const struct cl_namespace *n) {
    return cl_on(c, CL_SERVICE_ACCOUNTS) &&
           !sl_inf_find(c->inf, K_SERVICE_ACCOUNT, n->rec.name, "default");
}

static bool lacks_root(struct sl_cluster *c, const struct cl_namespace *n) {
    return c->spec.ca && cl_on(c, CL_ROOT_CA) &&
           !sl_inf_find(c->inf, K_CONFIG_MAP, n->rec.name, ROOT);
}

bool cl_ns_defaults_missing(struct sl_cluster *c, const struct cl_namespace *n) {
    return lacks_account(c, n) || lacks_root(c, n);
}

bool cl_ns_defaults_build(struct sl_cluster *c, struct cl_namespace *n, struct sl_write *w) {
    sl_time now = c->client->mono;
    bool account = lacks_account(c, n), root = lacks_root(c, n);

    if ((!account || n->account_at > now) && (!root || n->root_at > now)) {
        if (account || root)
            sl_rec_write_at(&n->rec, now + AGAIN); /* it may be on its way here */
        return false;
    }
    account &= n->account_at <= now;
    *(account ? &n->account_at : &n->root_at) = now + AGAIN;
    sl_inf_build_create(c->inf, account ? K_SERVICE_ACCOUNT : K_CONFIG_MAP, n->rec.name, w);
    struct sl_jw *j = &w->json;
    sl_jw_object(j, NULL);
    sl_jw_str(j, "apiVersion", "v1");
    sl_jw_str(j, "kind", account ? "ServiceAccount" : "ConfigMap");
    sl_jw_object(j, "metadata");
    sl_jw_str(j, "name", account ? "default" : ROOT);
    if (!account) {
        sl_jw_object(j, "annotations");
        sl_jw_str(j, "kubernetes.io/description",
                  "The certificates with which this cluster's API server can be trusted.");
        sl_jw_end(j);
        sl_jw_end(j);
        sl_jw_object(j, "data");
        sl_jw_str(j, "ca.crt", c->spec.ca);
    }
    return true;
}

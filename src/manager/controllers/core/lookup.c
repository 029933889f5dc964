/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups in the records, for integrations and admission. */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/collection/hash.h"
#include "kube/types/kueue/objects.h"
#include "lib/json/json.h"
#include "manager/controllers/core/bridge.h"
#include "manager/controllers/core/kinds.h"
#include "manager/controllers/core/lookup.h"
#include "manager/controllers/workload/workload.h"

#include <openssl/evp.h>

static bool selects(const struct sl_manager *m, const struct sl_selector *s, const char *ns) {
    struct sl_label own = {"kubernetes.io/metadata.name", ns};
    struct sl_rec *r = sl_inf_find(m->inf, REC_NAMESPACE, "", ns);
    if (!r) {
        struct sl_labels only = {&own, 1};
        return sl_selector_matches(s, &only);
    }
    const char *text = mgr_conf_of(r)->text;
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(text, strlen(text), 0);
    yyjson_val *map = sl_json_at(yyjson_doc_get_root(d), "metadata.labels"), *key, *val;
    /* All of them: a label that is left out would let a namespace slip past the selector. */
    _cleanup_(sl_freep) struct sl_label *v = sl_alloc0(yyjson_obj_size(map) + 1, sizeof *v);
    uint32_t n = 0;
    size_t i, total;
    sl_obj_foreach (map, i, total, key, val)
        if (yyjson_is_str(val))
            v[n++] = (struct sl_label){sl_json_text(key), sl_json_text(val)};
    struct sl_labels labels = {v, n};
    bool yes = sl_selector_matches(s, &labels);
    return yes;
}

bool mgr_ns_managed_by_name(const struct sl_manager *m, const char *ns) {
    return selects(m, &m->settings->managed_namespaces, ns);
}

bool mgr_ns_flux(const struct sl_manager *m, const char *ns) {
    return !sl_inf_find(m->inf, REC_NAMESPACE, "", ns) ||
           selects(m, &m->settings->flux.namespaces, ns);
}

bool mgr_ns_managed(const struct sl_manager *m, sl_sym ns) {
    return mgr_ns_managed_by_name(m, mgr_str(m, ns));
}

yyjson_doc *mgr_flavor_doc(const struct sl_manager *m, sl_sym flavor) {
    struct sl_rec *r = sl_inf_find(m->inf, REC_FLAVOR, "", mgr_str(m, flavor));
    return r ? yyjson_read(mgr_conf_of(r)->text, strlen(mgr_conf_of(r)->text), 0) : NULL;
}

static bool has_flavor(const struct mgr_wl_admission *a, sl_sym flavor) {
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t k = 0; k < a->v[i].n; k++)
            if (a->v[i].v[k].flavor == flavor)
                return true;
    return false;
}

bool sl_manager_flavor_used(const struct sl_manager *m, const char *flavor) {
    sl_sym y = sl_sym_find(m->syms, flavor);
    uint32_t at = 0;
    for (struct sl_rec *r; y != SL_MAP_NONE && (r = sl_inf_each(m->inf, REC_WORKLOAD, &at));) {
        const struct mgr_rec_wl *w = mgr_wl_of(r);
        if (w->seen.admission && has_flavor(w->seen.admission, y) &&
            !mgr_wl_condition_is_true(m, w, "Finished")) /* it keeps what it was admitted to */
            return true;
    }
    return false;
}

static const struct sl_rec *global_default(const struct sl_manager *m) {
    const struct sl_rec *best = NULL;
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, REC_PRIORITY_CLASS, &at));)
        if (mgr_conf_of(r)->chosen &&
            (!best ||
             mgr_conf_of(r)->value < SL_CONTAINER_OF(best, const struct mgr_rec_conf, rec)->value))
            best = r;
    return best;
}

bool mgr_priority_of(const struct sl_manager *m, const char *wpc_label, const char *pod_class,
                     struct mgr_priority *ret) {
    struct sl_rec *r;
    *ret = (struct mgr_priority){0, "", "", ""};
    if (wpc_label && *wpc_label) {
        r = sl_inf_find(m->inf, REC_WORKLOAD_PRIORITY_CLASS, "", wpc_label);
        *ret = (struct mgr_priority){r ? (int32_t)mgr_conf_of(r)->value : 0, "kueue.x-k8s.io",
                                     "WorkloadPriorityClass", wpc_label};
        return r != NULL;
    }
    if (pod_class && *pod_class) {
        r = sl_inf_find(m->inf, REC_PRIORITY_CLASS, "", pod_class);
        *ret = (struct mgr_priority){r ? (int32_t)mgr_conf_of(r)->value : 0, "scheduling.k8s.io",
                                     "PriorityClass", pod_class};
        return r != NULL;
    }
    const struct sl_rec *d = global_default(m);
    if (d)
        *ret = (struct mgr_priority){
            (int32_t)SL_CONTAINER_OF(d, const struct mgr_rec_conf, rec)->value, "scheduling.k8s.io",
            "PriorityClass", d->name};
    return true;
}

/* ---- names ---- */

#define MAX_PREFIX 247u /* of 253, with room for "-" and five digits */
#define MAX_SHORT_PREFIX 57u

void mgr_wl_name(struct sl_buf *out, const char *kind, const char *group, const char *name,
                 const char *uid, const char *extra, bool shorter) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int len = 0;
    size_t start = out->len, most = shorter ? MAX_SHORT_PREFIX : MAX_PREFIX;

    for (const char *s = kind; *s; s++)
        sl_buf_putc(out, (char)(*s >= 'A' && *s <= 'Z' ? *s - 'A' + 'a' : *s));
    sl_buf_printf(out, "-%s", name);
    if (out->len - start > most) {
        out->len = start + most;
        out->s[out->len] = '\0';
    }
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(8192);
    sl_buf_printf(&b, "%s\n%s\n%s\n%s", kind, group, name, uid);
    if (extra && *extra)
        sl_buf_printf(&b, "\n%s", extra);
    sl_assert(EVP_Digest(b.s, b.len, digest, &len, EVP_sha1(), NULL) == 1);
    sl_buf_printf(out, "-%02x%02x%x", digest[0], digest[1], digest[2] >> 4);
}

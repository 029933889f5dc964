/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ConfigMaps and Secrets that a pod names: read when it starts, and again when one of its
 * containers is started again.
 */
#include <stdio.h>
#include <string.h>

#include "cluster/kubelet/kubelet_int.h"
#include "core/base/arena.h"
#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "kube/client/secret.h"
#include "lib/json/json.h"

#define AGAIN SL_SEC

static void add_reference(struct klet_pod *p, bool secret, const char *name) {
    struct klet_local_pod *re = p->local;

    if (!*name)
        return;
    for (uint32_t i = 0; i < re->refs.n; i++)
        if (re->refs.v[i].secret == secret && strcmp(re->refs.v[i].name, name) == 0)
            return;
    if (re->refs.n >= RT_MAX_REFS) /* reported where it is needed: klet_refs_none */
        return;
    *sl_vec_push(&re->refs) =
        (struct klet_ref){.secret = secret, .name = sl_strdup(name), .pod = p};
}

static void add_container_references(struct klet_pod *p, yyjson_val *c) {
    yyjson_val *env = sl_json_at(c, "env"), *from = sl_json_at(c, "envFrom"), *one;
    size_t i, n;

    yyjson_arr_foreach (env, i, n, one) {
        add_reference(p, false, sl_json_str(one, "valueFrom.configMapKeyRef.name"));
        add_reference(p, true, sl_json_str(one, "valueFrom.secretKeyRef.name"));
    }
    yyjson_arr_foreach (from, i, n, one) {
        add_reference(p, false, sl_json_str(one, "configMapRef.name"));
        add_reference(p, true, sl_json_str(one, "secretRef.name"));
    }
}

static void add_references(struct klet_pod *p) {
    yyjson_val *spec = sl_json_at(yyjson_doc_get_root(p->local->doc), "spec"), *one, *source;
    yyjson_val *volumes = sl_json_at(spec, "volumes");
    size_t i, n, k, m;

    for (uint32_t c = 0; c < p->n_cs; c++)
        add_container_references(p, p->cs[c].spec);
    yyjson_arr_foreach (volumes, i, n, one) {
        yyjson_val *sources = sl_json_at(one, "projected.sources");
        add_reference(p, false, sl_json_str(one, "configMap.name"));
        add_reference(p, true, sl_json_str(one, "secret.secretName"));
        yyjson_arr_foreach (sources, k, m, source) {
            add_reference(p, false, sl_json_str(source, "configMap.name"));
            add_reference(p, true, sl_json_str(source, "secret.name"));
        }
    }
}

static struct klet_ref *ref_of(struct klet_pod *p, const struct klet_ref *r) {
    return r >= p->local->refs.v && r < p->local->refs.v + p->local->refs.n ? (struct klet_ref *)r
                                                                            : NULL;
}

static void reference_answered(void *ctx, const struct sl_kube_reply *rp) {
    struct klet_ref *r = ctx;
    struct klet_pod *p = r->pod;

    sl_assert(ref_of(p, r));
    r->call.v = 0;
    if (rp->status == 404) {
        r->known = true;
    } else if (rp->status == 200) {
        struct sl_err err = {0};
        r->known = true;
        if (sl_json_read(rp->body, rp->len, &r->doc, &err) < 0)
            r->why = sl_strdup(err.text);
    } else {
        p->local->refs_at = p->rt->client->mono + AGAIN;
    }
    klet_pod_enqueue(p);
}

/* Names of objects need no escaping in a path. */
static void request_reference(struct klet_pod *p, struct klet_ref *r) {
    char path[SL_WRITER_MAX_PATH];

    sl_fmt(path, sizeof path, "/api/v1/namespaces/%.300s/%s/%.300s", p->ns,
           r->secret ? "secrets" : "configmaps", r->name);
    r->call =
        sl_kube_request(p->rt->client, &(struct sl_kube_request){.method = SL_GET, .path = path},
                        reference_answered, r);
}

bool klet_refs_get(struct klet_pod *p) {
    struct klet_local_pod *re = p->local;
    bool all = true;

    if (!re->refs_requested) {
        re->refs_requested = true;
        re->refs_at = 0;
        add_references(p); /* from here on the vector does not move */
    }
    for (uint32_t i = 0; i < re->refs.n; i++) {
        struct klet_ref *r = &re->refs.v[i];
        if (r->known)
            continue;
        all = false;
        if (!r->call.v && p->rt->client->mono >= re->refs_at)
            request_reference(p, r);
        else if (!r->call.v)
            klet_pod_enqueue_at(p, re->refs_at);
    }
    all &= klet_tokens_get(p);
    return klet_services_get(p) && all;
}

void klet_refs_free(struct klet_pod *p) {
    struct klet_local_pod *re = p->local;

    klet_services_free(p);
    for (uint32_t i = 0; i < re->refs.n; i++) {
        struct klet_ref *r = &re->refs.v[i];
        sl_kube_cancel(p->rt->client, r->call);
        sl_freep(&r->name);
        sl_freep(&r->why);
        yyjson_doc_free(r->doc);
    }
    sl_vec_free(&re->refs);
}

void klet_refs_again(struct klet_pod *p) {
    klet_refs_free(p);
    klet_tokens_again(p);
    p->local->refs_requested = false;
    p->local->volumes = false;
}

yyjson_val *klet_refs_find(const struct klet_pod *p, bool secret, const char *name) {
    for (uint32_t i = 0; i < p->local->refs.n; i++) {
        const struct klet_ref *r = &p->local->refs.v[i];
        if (r->secret == secret && strcmp(r->name, name) == 0)
            return r->doc ? yyjson_doc_get_root(r->doc) : NULL;
    }
    return NULL;
}

int klet_refs_none(const struct klet_pod *p, bool secret, const char *name, bool optional,
                   struct sl_err *err) {
    const char *kind = secret ? "secret" : "configmap";
    bool requested = false;

    for (uint32_t i = 0; i < p->local->refs.n; i++) {
        const struct klet_ref *r = &p->local->refs.v[i];
        if (r->secret != secret || strcmp(r->name, name) != 0)
            continue;
        if (r->why)
            return sl_err_set(err, SL_ELIMIT, "%s \"%s\" cannot be read: %s", kind, name, r->why);
        requested = true;
    }
    if (!requested && *name)
        return sl_err_set(err, SL_ELIMIT, "%s \"%s\": a pod may name %u ConfigMaps and Secrets",
                          kind, name, RT_MAX_REFS);
    return optional ? 0 : sl_err_set(err, SL_ENOENT, "%s \"%s\" not found", kind, name);
}

const char *klet_refs_bytes(yyjson_val *v, bool encoded, struct sl_arena *a, size_t *ret_len) {
    const struct sl_text t = sl_json_view(v);

    if (!yyjson_is_str(v))
        return NULL;
    *ret_len = t.n;
    if (!encoded)
        return t.s;
    char *out = sl_arena_alloc(a, t.n / 4 * 3 + 4);
    int64_t n = sl_base64_decode(t.s, t.n, out);

    if (n < 0)
        return NULL;
    *ret_len = (size_t)n;
    return out;
}

yyjson_val *klet_refs_key(struct klet_pod *p, yyjson_val *object, bool secret, const char *key,
                          bool *ret_encoded) {
    yyjson_val *v = klet_lookup(p, sl_json_at(object, "data"), key);

    *ret_encoded = secret || !v;
    return v || secret ? v : klet_lookup(p, sl_json_at(object, "binaryData"), key);
}

/* ---- looking up many keys ---- */

void klet_lookups_begin(struct klet_pod *p) {
    sl_assert(!p->local->lookups_open && !p->local->lookups.n);
    p->local->lookups_open = true;
}

void klet_lookups_end(struct klet_pod *p) {
    for (uint32_t i = 0; i < p->local->lookups.n; i++)
        sl_json_fields_done(&p->local->lookups.v[i]);
    sl_vec_free(&p->local->lookups);
    p->local->lookups_open = false;
}

yyjson_val *klet_lookup(struct klet_pod *p, yyjson_val *map, const char *key) {
    struct klet_local_pod *re = p->local;
    uint32_t i = 0;

    if (!re->lookups_open || !yyjson_is_obj(map))
        return yyjson_obj_get(map, key);
    while (i < re->lookups.n && re->lookups.v[i].object != map)
        i++;
    if (i == re->lookups.n)
        *sl_vec_push(&re->lookups) = sl_json_fields_of(map);
    return sl_json_field(&re->lookups.v[i], sl_text_of(key));
}

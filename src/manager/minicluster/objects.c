/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which objects a cluster has besides its Job, and their bodies. The order is that in which they
 * come: the pods of the Job find all that they mount.
 */
#include <string.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "manager/minicluster/mc_int.h"

#define BROKER_PORT 8050

/* ---- which there are ---- */

struct walk {
    const struct mc_view *v;
    uint32_t left; /* objects that come before the one that is looked for */
    struct mc_child *ret;
};

static bool here(struct walk *w, uint8_t kind, bool shared, const char *name, const char *suffix) {
    if (w->left-- > 0)
        return false;
    *w->ret = (struct mc_child){.kind = kind, .shared = shared};
    sl_fmt(w->ret->name, sizeof w->ret->name, "%.230s%s", name, suffix);
    return true;
}

static bool config_maps(struct walk *w) {
    const char *name = w->v->name;
    if (!w->v->old)
        return here(w, MC_CONFIG_MAP, false, name, "-entrypoint");
    return here(w, MC_CONFIG_MAP, false, name, "-flux-config") ||
           here(w, MC_CONFIG_MAP, false, name, "-entrypoint") ||
           (!*mc_text(w->v, "flux.curveCertSecret", "") &&
            here(w, MC_CONFIG_MAP, false, name, "-curve-mount"));
}

static bool volumes(struct walk *w) {
    size_t i, n;
    yyjson_val *key, *volume;
    if (!w->v->old)
        return false;
    sl_obj_foreach (sl_json_get(w->v->spec, "volumes"), i, n, key, volume) {
        if (here(w, MC_VOLUME, true, sl_json_text(key), "") ||
            here(w, MC_CLAIM, true, sl_json_text(key), "-claim"))
            return true;
    }
    return false;
}

/* Containers beside Flux are reached by a Service of their name. */
static bool side_services(struct walk *w) {
    size_t i, n;
    yyjson_val *c;
    yyjson_arr_foreach (sl_json_get(w->v->spec, "containers"), i, n, c) {
        if ((int)i != w->v->runner && sl_json_size(sl_json_get(c, "ports")) > 0 &&
            here(w, MC_SERVICE, true, sl_json_str(c, "name"), "")) {
            w->ret->late = true;
            return true;
        }
    }
    return false;
}

bool mc_child_at(const struct mc_view *v, uint32_t n, struct mc_child *ret) {
    struct walk w = {v, n, ret};
    return config_maps(&w) || volumes(&w) ||
           (sl_json_size(sl_json_get(v->spec, "services")) > 0 &&
            here(&w, MC_POD, false, v->name, "-services")) ||
           here(&w, MC_SERVICE, true, v->service, "") || here(&w, MC_JOB, false, v->name, "") ||
           side_services(&w);
}

/* ---- ConfigMaps ---- */

static void put_script(struct sl_jw *j, const char *key, const struct mc_view *v,
                       uint32_t container,
                       void (*put)(struct sl_buf *, const struct mc_view *, uint32_t)) {
    put(sl_jw_begin_str(j, key), v, container);
    sl_jw_end_str(j);
}

static void put_curve(struct sl_jw *j, const struct mc_view *v, sl_time now) {
    const char *given = mc_text(v, "flux.curveCert", "");
    char host[SL_REC_NAME];
    sl_fmt(host, sizeof host, "%.240s-0", v->name);
    struct sl_buf *b = sl_jw_begin_str(j, "curve.cert");
    if (*given)
        sl_buf_puts(b, given);
    else
        mc_curve_put(b, host, now);
    sl_jw_end_str(j);
}

static void put_entrypoints(struct sl_jw *j, const struct mc_view *v, sl_time now) {
    uint32_t n = (uint32_t)sl_json_size(sl_json_get(v->spec, "containers"));
    char key[32];
    for (uint32_t i = 0; i < n; i++) {
        bool runs = (int)i == v->runner;
        if (!runs && !mc_is_wrapped(v, i))
            continue;
        sl_fmt(key, sizeof key, "%s-%u", runs ? "wait" : "start", i);
        put_script(j, key, v, i, runs ? mc_wait_script_put : mc_start_script_put);
    }
    if (v->old)
        return;
    mc_init_script_put(sl_jw_begin_str(j, v->view_name), v);
    sl_jw_end_str(j);
    put_curve(j, v, now);
}

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static void put_config_map(struct sl_jw *j, const struct mc_view *v, const char *name,
                           sl_time now) {
    sl_jw_object(j, "data");
    if (ends_with(name, "-flux-config")) {
        mc_broker_put(sl_jw_begin_str(j, "hostfile"), v);
        sl_jw_end_str(j);
    } else if (ends_with(name, "-curve-mount")) {
        put_curve(j, v, now);
    } else {
        put_entrypoints(j, v, now);
    }
    sl_jw_end(j);
}

/* ---- Services ---- */

static void put_port(struct sl_jw *j, int64_t port, bool named, bool target) {
    sl_jw_object(j, NULL);
    if (named)
        sl_jw_strf(j, "name", "port-%lld", (long long)port);
    sl_jw_str(j, "protocol", "TCP");
    sl_jw_int(j, "port", port);
    if (target)
        sl_jw_int(j, "targetPort", port);
    sl_jw_end(j);
}

/* The names of all pods, or the lead broker alone. */
static void put_headless(struct sl_jw *j, const struct mc_view *v) {
    bool minimal = sl_json_bool(v->spec, "flux.minimalService", false);
    sl_jw_object(j, "spec");
    sl_jw_object(j, "selector");
    sl_jw_str(j, "job-name", v->name);
    if (minimal)
        sl_jw_str(j, MC_JOB_INDEX, "0");
    sl_jw_end(j);
    if (minimal) {
        sl_jw_array(j, "ports");
        put_port(j, BROKER_PORT, false, false);
        sl_jw_end(j);
    } else {
        sl_jw_str(j, "clusterIP", "None");
    }
    sl_jw_end(j);
}

static yyjson_val *container_named(const struct mc_view *v, const char *name) {
    size_t i, n;
    yyjson_val *c;
    yyjson_arr_foreach (sl_json_get(v->spec, "containers"), i, n, c) {
        if ((int)i != v->runner && strcmp(sl_json_str(c, "name"), name) == 0)
            return c;
    }
    return NULL;
}

/* Kubernetes wants names of ports where there are several. */
static void put_side_service(struct sl_jw *j, const struct mc_view *v, yyjson_val *container) {
    yyjson_val *ports = sl_json_get(container, "ports"), *port;
    size_t i, n;
    sl_jw_object(j, "spec");
    sl_jw_object(j, "selector");
    sl_jw_str(j, MC_APP_NAME, v->name);
    sl_jw_end(j);
    sl_jw_array(j, "ports");
    yyjson_arr_foreach (ports, i, n, port)
        put_port(j, yyjson_get_sint(port), sl_json_size(ports) > 1, true);
    sl_jw_end(j);
    sl_jw_end(j);
}

static bool put_service(struct sl_jw *j, const struct mc_view *v, const char *name) {
    yyjson_val *container = container_named(v, name);
    if (strcmp(name, v->service) == 0)
        put_headless(j, v);
    else if (container)
        put_side_service(j, v, container);
    else
        return false;
    return true;
}

/* ---- volumes of v1alpha1 ---- */

static const char *class_of(yyjson_val *volume) {
    const char *class = sl_json_str(volume, "storageClass");
    return *class ? class : "hostpath";
}

static void put_secret_ref(struct sl_jw *j, const char *key, yyjson_val *volume) {
    const char *ns = sl_json_str(volume, "secretNamespace");
    sl_jw_object(j, key);
    sl_jw_str(j, "name", sl_json_str(volume, "secret"));
    sl_jw_str(j, "namespace", *ns ? ns : "default");
    sl_jw_end(j);
}

static void put_source(struct sl_jw *j, yyjson_val *volume) {
    static const char *const refs[] = {"nodePublishSecretRef", "controllerPublishSecretRef",
                                       "nodeStageSecretRef"};
    const char *class = class_of(volume), *handle = sl_json_str(volume, "volumeHandle");
    if (strcmp(class, "hostpath") == 0) {
        sl_jw_object(j, "hostPath");
        sl_jw_str(j, "path", sl_json_str(volume, "path"));
        sl_jw_end(j);
        return;
    }
    sl_jw_object(j, "csi");
    sl_jw_str(j, "driver", sl_json_str(volume, "driver"));
    sl_jw_str(j, "volumeHandle", *handle ? handle : class);
    for (size_t i = 0; i < SL_LEN(refs); i++)
        put_secret_ref(j, refs[i], volume);
    mc_map_put(j, "volumeAttributes", sl_json_get(volume, "attributes"));
    sl_jw_end(j);
}

static void put_access(struct sl_jw *j) {
    sl_jw_array(j, "accessModes");
    sl_jw_str(j, NULL, "ReadWriteMany");
    sl_jw_end(j);
}

static const char *capacity_of(yyjson_val *volume) {
    const char *capacity = sl_json_str(volume, "capacity");
    return *capacity ? capacity : "5Gi";
}

/* A volume is in no namespace, so no owner reference takes it along: an annotation says who made
 * it, and what has it goes with that cluster. */
static void put_volume(struct sl_jw *j, const char *name, yyjson_val *volume,
                       const struct sl_rec *owner) {
    size_t i, n;
    yyjson_val *key, *value;
    sl_jw_object(j, NULL);
    mc_head_put(j, "v1", "PersistentVolume", name, NULL);
    mc_map_put(j, "labels", sl_json_get(volume, "labels"));
    sl_jw_object(j, "annotations");
    sl_obj_foreach (sl_json_get(volume, "annotations"), i, n, key, value)
        if (strcmp(sl_json_text(key), MC_VOLUME_OF) != 0)
            sl_jw_val(j, sl_json_text(key), value);
    sl_jw_str(j, MC_VOLUME_OF, sl_json_bool(volume, "delete", true) ? owner->uid : MC_VOLUME_KEPT);
    sl_jw_end(j);
    sl_jw_end(j);
    sl_jw_object(j, "spec");
    sl_jw_str(j, "persistentVolumeReclaimPolicy", "Delete");
    sl_jw_str(j, "storageClassName", class_of(volume));
    put_access(j);
    put_source(j, volume);
    sl_jw_object(j, "capacity");
    sl_jw_str(j, "storage", capacity_of(volume));
    sl_jw_end(j);
    sl_jw_end(j);
    sl_jw_end(j);
}

static void put_claim(struct sl_jw *j, const char *name, yyjson_val *volume,
                      const struct sl_rec *owner) {
    sl_jw_object(j, NULL);
    mc_head_put(j, "v1", "PersistentVolumeClaim", name, owner);
    mc_map_put(j, "annotations", sl_json_get(volume, "claimAnnotations"));
    sl_jw_end(j);
    sl_jw_object(j, "spec");
    sl_jw_str(j, "storageClassName", class_of(volume));
    put_access(j);
    sl_jw_str(j, "volumeMode", "Filesystem");
    sl_jw_object(j, "resources");
    sl_jw_object(j, "requests");
    sl_jw_str(j, "storage", capacity_of(volume));
    sl_jw_end(j);
    sl_jw_end(j);
    sl_jw_end(j);
    sl_jw_end(j);
}

static bool put_storage(struct sl_jw *j, const struct mc_view *v, const struct sl_rec *child,
                        const struct sl_rec *owner) {
    char key[SL_REC_NAME];
    sl_fmt(key, sizeof key, "%s", child->name);
    if (child->kind == MC_CLAIM && ends_with(key, "-claim"))
        key[strlen(key) - strlen("-claim")] = '\0';
    yyjson_val *volume = yyjson_obj_get(sl_json_get(v->spec, "volumes"), key);
    if (!volume)
        return false;
    if (child->kind == MC_CLAIM)
        put_claim(j, child->name, volume, owner);
    else
        put_volume(j, child->name, volume, owner);
    return true;
}

/* ---- all of them ---- */

bool mc_child_put(struct sl_jw *j, const struct mc_view *v, const struct mc_cluster *c,
                  const struct sl_rec *child, sl_time now) {
    switch (child->kind) {
    case MC_JOB:
        mc_job_put(j, v, c->elastic, &c->rec);
        return true;
    case MC_POD:
        mc_service_pod_put(j, v, &c->rec);
        return true;
    case MC_CLAIM:
    case MC_VOLUME:
        return put_storage(j, v, child, &c->rec);
    default:
        break;
    }
    sl_jw_object(j, NULL);
    mc_head_put(j, "v1", child->kind == MC_SERVICE ? "Service" : "ConfigMap", child->name, &c->rec);
    sl_jw_end(j);
    if (child->kind == MC_SERVICE)
        return put_service(j, v, child->name);
    put_config_map(j, v, child->name, now);
    return true;
}

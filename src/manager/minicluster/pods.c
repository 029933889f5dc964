/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers and volumes of the pods, as the Flux Operator makes them. Where it does what cannot
 * work (docs/minicluster.md has the list), what works is done instead.
 */
#include <string.h>

#include "core/base/fmt.h"
#include "manager/minicluster/mc_int.h"

#define VIEW_IMAGE "ghcr.io/converged-computing/flux-view-rocky:tag-9"
#define IMAGE "ghcr.io/rse-ops/accounting:app-latest"
#define EXECUTABLE 0777
#define READABLE_BY_ALL 0644
#define RESTFUL_PORT 5000

/* ---- small pieces ---- */

void mc_map_put(struct sl_jw *j, const char *key, yyjson_val *object) {
    if (sl_json_size(object) > 0)
        sl_jw_val(j, key, object);
}

static void put_opt(struct sl_jw *j, const char *key, const char *text) {
    if (*text)
        sl_jw_str(j, key, text);
}

static void put_named(struct sl_jw *j, const char *key, const char *name) {
    sl_jw_object(j, key);
    sl_jw_str(j, "name", name);
    sl_jw_end(j);
}

static void put_item(struct sl_jw *j, const char *key, const char *path, int mode) {
    sl_jw_object(j, NULL);
    sl_jw_str(j, "key", key);
    sl_jw_str(j, "path", path);
    if (mode)
        sl_jw_int(j, "mode", mode);
    sl_jw_end(j);
}

/* Amounts that are numbers are written as such: the API has both. */
static void put_resources(struct sl_jw *j, yyjson_val *resources) {
    sl_jw_object(j, "resources");
    mc_map_put(j, "requests", sl_json_get(resources, "requests"));
    mc_map_put(j, "limits", sl_json_get(resources, "limits"));
    sl_jw_end(j);
}

/* ---- volumes ---- */

/* A volume named after the cluster, with keys of a ConfigMap of the same name. */
static void begin_config_map(struct sl_jw *j, const struct mc_view *v, const char *suffix) {
    sl_jw_object(j, NULL);
    sl_jw_strf(j, "name", "%s%s", v->name, suffix);
    sl_jw_object(j, "configMap");
    sl_jw_strf(j, "name", "%s%s", v->name, suffix);
}

static void end_volume(struct sl_jw *j) {
    sl_jw_end(j);
    sl_jw_end(j);
}

static void put_scripts(struct sl_jw *j, const struct mc_view *v) {
    uint32_t n = (uint32_t)sl_json_size(sl_json_get(v->spec, "containers"));
    char key[32], path[40];
    begin_config_map(j, v, "-entrypoint");
    sl_jw_array(j, "items");
    for (uint32_t i = 0; i < n; i++) {
        bool runs = (int)i == v->runner;
        if (!runs && !mc_is_wrapped(v, i))
            continue;
        sl_fmt(key, sizeof key, "%s-%u", runs ? "wait" : "start", i);
        sl_fmt(path, sizeof path, "%s.sh", key);
        put_item(j, key, path, EXECUTABLE);
    }
    if (!v->old) {
        put_item(j, v->view_name, "flux-init.sh", EXECUTABLE);
        put_item(j, "curve.cert", "curve.cert", 0);
    }
    sl_jw_end(j);
    end_volume(j);
}

static void put_secret_volume(struct sl_jw *j, const char *name, const char *secret,
                              const char *key) {
    sl_jw_object(j, NULL);
    sl_jw_str(j, "name", name);
    sl_jw_object(j, "secret");
    sl_jw_str(j, "secretName", secret);
    if (key) {
        sl_jw_array(j, "items");
        put_item(j, key, key, 0);
        sl_jw_end(j);
    }
    end_volume(j);
}

static void put_curve_volume(struct sl_jw *j, const struct mc_view *v) {
    const char *secret = mc_text(v, "flux.curveCertSecret", "");
    char name[SL_REC_NAME];
    sl_fmt(name, sizeof name, "%.240s-curve-mount", v->name);
    if (*secret) {
        put_secret_volume(j, name, secret, "curve.cert");
        return;
    }
    begin_config_map(j, v, "-curve-mount");
    end_volume(j);
}

/* Claims of the volumes that are made for the cluster. */
static void put_claims(struct sl_jw *j, const struct mc_view *v) {
    size_t i, n;
    yyjson_val *key, *volume;
    sl_obj_foreach (sl_json_get(v->spec, "volumes"), i, n, key, volume) {
        sl_jw_object(j, NULL);
        sl_jw_str(j, "name", sl_json_text(key));
        sl_jw_object(j, "persistentVolumeClaim");
        sl_jw_strf(j, "claimName", "%s-claim", sl_json_text(key));
        end_volume(j);
    }
}

static void put_v1alpha1_volumes(struct sl_jw *j, const struct mc_view *v) {
    const char *munge = mc_text(v, "flux.mungeSecret", "");
    begin_config_map(j, v, "-flux-config");
    sl_jw_array(j, "items");
    put_item(j, "hostfile", "broker.toml",
             sl_json_size(sl_json_get(v->spec, "users")) > 0 ? READABLE_BY_ALL : 0);
    sl_jw_end(j);
    end_volume(j);
    put_scripts(j, v);
    put_curve_volume(j, v);
    if (*munge)
        put_secret_volume(j, munge, munge, "munge.key");
    mc_existing_put(j, v, sl_json_get(v->spec, "containers"));
    put_claims(j, v);
}

void mc_volumes_put(struct sl_jw *j, const struct mc_view *v) {
    sl_jw_array(j, "volumes");
    if (v->old) {
        put_v1alpha1_volumes(j, v);
    } else {
        sl_jw_object(j, NULL);
        sl_jw_str(j, "name", v->view_name);
        sl_jw_object(j, "emptyDir");
        end_volume(j);
        put_scripts(j, v);
        mc_existing_put(j, v, sl_json_get(v->spec, "containers"));
    }
    sl_jw_end(j);
}

static void put_existing(struct sl_jw *j, const char *name, yyjson_val *volume) {
    size_t i, n;
    yyjson_val *key, *path;
    if (*sl_json_str(volume, "secretName")) {
        put_secret_volume(j, name, sl_json_str(volume, "secretName"), NULL);
        return;
    }
    sl_jw_object(j, NULL);
    sl_jw_str(j, "name", name);
    if (*sl_json_str(volume, "hostPath")) {
        sl_jw_object(j, "hostPath");
        sl_jw_str(j, "path", sl_json_str(volume, "hostPath"));
    } else if (*sl_json_str(volume, "configMapName")) {
        sl_jw_object(j, "configMap");
        sl_jw_str(j, "name", sl_json_str(volume, "configMapName"));
        if (sl_json_size(sl_json_get(volume, "items")) > 0) {
            sl_jw_array(j, "items");
            sl_obj_foreach (sl_json_get(volume, "items"), i, n, key, path)
                put_item(j, sl_json_text(key), sl_json_text(path), 0);
            sl_jw_end(j);
        }
    } else {
        sl_jw_object(j, "persistentVolumeClaim");
        sl_jw_str(j, "claimName", sl_json_str(volume, "claimName"));
    }
    end_volume(j);
}

static yyjson_val *existing_of(const struct mc_view *v, yyjson_val *container) {
    return sl_json_get(container, v->old ? "existingVolumes" : "volumes");
}

/* A name that several containers have is one volume: that of the last. */
static bool is_named_later(const struct mc_view *v, yyjson_val *containers, size_t after,
                           yyjson_val *key) {
    size_t i, n;
    yyjson_val *c;
    yyjson_arr_foreach (containers, i, n, c) {
        if (i > after && sl_json_same_key(existing_of(v, c), key))
            return true;
    }
    return false;
}

void mc_existing_put(struct sl_jw *j, const struct mc_view *v, yyjson_val *containers) {
    size_t i, n, k, m;
    yyjson_val *c, *key, *volume;
    yyjson_arr_foreach (containers, i, n, c) {
        sl_obj_foreach (existing_of(v, c), k, m, key, volume) {
            if (!is_named_later(v, containers, i, key))
                put_existing(j, sl_json_text(key), volume);
        }
    }
}

/* ---- mounts ---- */

static void put_mount(struct sl_jw *j, const char *name, const char *path, bool read_only) {
    sl_jw_object(j, NULL);
    sl_jw_str(j, "name", name);
    sl_jw_str(j, "mountPath", path);
    if (read_only)
        sl_jw_bool(j, "readOnly", true);
    sl_jw_end(j);
}

static void put_own_mount(struct sl_jw *j, const struct mc_view *v, const char *suffix,
                          const char *path) {
    char name[SL_REC_NAME];
    sl_fmt(name, sizeof name, "%.240s%s", v->name, suffix);
    put_mount(j, name, path, true);
}

static void put_own_mounts(struct sl_jw *j, const struct mc_view *v) {
    const char *munge = mc_text(v, "flux.mungeSecret", "");
    if (v->old) {
        put_own_mount(j, v, "-curve-mount", "/mnt/curve/");
        put_own_mount(j, v, "-flux-config", "/etc/flux/config");
    } else {
        put_mount(j, v->view_name, v->view_path, false);
    }
    put_own_mount(j, v, "-entrypoint", "/flux_operator/");
    if (v->old && *munge)
        put_mount(j, munge, "/etc/munge", true);
}

/* A mount that comes before this one has its path: two would be refused. */
static bool is_mounted(const struct mc_view *v, yyjson_val *containers, yyjson_val *mount) {
    const char *path = sl_json_str(mount, "path");
    static const char *const fields[] = {"volumes", "existingVolumes"};
    size_t i, n, k, m;
    yyjson_val *c, *key, *other;
    yyjson_arr_foreach (containers, i, n, c) {
        for (size_t f = 0; f < (v->old ? 2u : 1u); f++) {
            sl_obj_foreach (sl_json_get(c, fields[f]), k, m, key, other) {
                if (other == mount)
                    return false;
                if (strcmp(sl_json_str(other, "path"), path) == 0)
                    return true;
            }
        }
    }
    return false;
}

static void put_mounts_of(struct sl_jw *j, const struct mc_view *v, yyjson_val *containers,
                          size_t at, const char *field) {
    size_t i, n;
    yyjson_val *key, *mount;
    sl_obj_foreach (sl_json_get(yyjson_arr_get(containers, at), field), i, n, key, mount) {
        if (!is_mounted(v, containers, mount))
            put_mount(j, sl_json_text(key), sl_json_str(mount, "path"),
                      sl_json_bool(mount, "readOnly", false));
    }
}

/* A container has the mounts of those before it, too, as with the Flux Operator. */
static void put_mounts(struct sl_jw *j, const struct mc_view *v, yyjson_val *containers, size_t at,
                       bool service) {
    sl_jw_array(j, "volumeMounts");
    if (!service)
        put_own_mounts(j, v);
    for (size_t i = 0; i <= at; i++) {
        put_mounts_of(j, v, containers, i, "volumes");
        if (v->old)
            put_mounts_of(j, v, containers, i, "existingVolumes");
    }
    sl_jw_end(j);
}

/* ---- containers ---- */

static void put_ports(struct sl_jw *j, const struct mc_view *v, yyjson_val *container, bool runs) {
    size_t i, n;
    yyjson_val *port;
    sl_jw_array(j, "ports");
    if (v->old && runs) {
        sl_jw_object(j, NULL);
        sl_jw_int(j, "containerPort", sl_json_int32(v->spec, "fluxRestful.port", RESTFUL_PORT));
        sl_jw_str(j, "protocol", "TCP");
        sl_jw_end(j);
    }
    yyjson_arr_foreach (sl_json_get(container, "ports"), i, n, port) {
        sl_jw_object(j, NULL);
        sl_jw_val(j, "containerPort", port);
        sl_jw_str(j, "protocol", "TCP");
        sl_jw_end(j);
    }
    sl_jw_end(j);
}

static void put_environment(struct sl_jw *j, yyjson_val *container) {
    size_t i, n;
    yyjson_val *key, *v;
    sl_jw_array(j, "env");
    sl_obj_foreach (sl_json_get(container, "environment"), i, n, key, v) {
        sl_jw_object(j, NULL);
        sl_jw_str(j, "name", sl_json_text(key));
        sl_jw_val(j, "value", v);
        sl_jw_end(j);
    }
    sl_obj_foreach (sl_json_get(container, "secrets"), i, n, key, v) {
        sl_jw_object(j, NULL);
        sl_jw_str(j, "name", sl_json_text(key));
        sl_jw_object(j, "valueFrom");
        sl_jw_object(j, "secretKeyRef");
        sl_jw_str(j, "name", sl_json_str(v, "name"));
        sl_jw_str(j, "key", sl_json_str(v, "key"));
        sl_jw_end(j);
        sl_jw_end(j);
        sl_jw_end(j);
    }
    sl_jw_end(j);
}

static void put_hook(struct sl_jw *j, const char *key, const char *command) {
    if (!*command)
        return;
    sl_jw_object(j, key);
    sl_jw_object(j, "exec");
    sl_jw_array(j, "command");
    sl_jw_str(j, NULL, command);
    sl_jw_end(j);
    sl_jw_end(j);
    sl_jw_end(j);
}

static void put_lifecycle(struct sl_jw *j, yyjson_val *container) {
    sl_jw_object(j, "lifecycle");
    put_hook(j, "postStart", sl_json_str(container, "lifeCycle.postStartExec"));
    put_hook(j, "preStop", sl_json_str(container, "lifeCycle.preStopExec"));
    sl_jw_end(j);
}

static void put_security(struct sl_jw *j, const struct mc_view *v, yyjson_val *container) {
    yyjson_val *caps = sl_json_at(container, "securityContext.addCapabilities");
    sl_jw_object(j, "securityContext");
    sl_jw_bool(j, "privileged", sl_json_bool(container, "securityContext.privileged", false));
    if (!v->old || sl_json_size(caps) > 0) {
        sl_jw_object(j, "capabilities");
        if (sl_json_size(caps) > 0)
            sl_jw_val(j, "add", caps);
        sl_jw_end(j);
    }
    sl_jw_end(j);
}

static void put_command(struct sl_jw *j, const char *script, const char *argument) {
    sl_jw_array(j, "command");
    sl_jw_str(j, NULL, "/bin/bash");
    sl_jw_str(j, NULL, script);
    if (argument)
        sl_jw_str(j, NULL, argument);
    sl_jw_end(j);
}

static void put_wrapped(struct sl_jw *j, const struct mc_view *v, yyjson_val *container, size_t at,
                        bool runs) {
    char script[48];
    if (!runs && !mc_is_wrapped(v, (uint32_t)at))
        return;
    sl_fmt(script, sizeof script, "/flux_operator/%s-%zu.sh", runs ? "wait" : "start", at);
    put_command(j, script, v->old ? sl_json_str(container, "command") : NULL);
}

static const char *pull_policy(yyjson_val *container) {
    return sl_json_bool(container, "pullAlways", false) ? "Always" : "IfNotPresent";
}

static void put_container(struct sl_jw *j, const struct mc_view *v, yyjson_val *containers,
                          size_t at, bool service) {
    yyjson_val *container = yyjson_arr_get(containers, at);
    bool runs = !service && (int)at == v->runner;
    const char *image = sl_json_str(container, "image");
    sl_jw_object(j, NULL);
    sl_jw_str(j, "name", runs ? v->name : sl_json_str(container, "name"));
    sl_jw_str(j, "image", *image ? image : IMAGE);
    sl_jw_str(j, "imagePullPolicy", pull_policy(container));
    put_opt(j, "workingDir", sl_json_str(container, "workingDir"));
    if (!service)
        put_wrapped(j, v, container, at, runs);
    put_mounts(j, v, containers, at, service);
    sl_jw_bool(j, "stdin", true);
    sl_jw_bool(j, "tty", true);
    put_lifecycle(j, container);
    put_resources(j, sl_json_get(container, "resources"));
    put_security(j, v, container);
    put_ports(j, v, container, runs);
    put_environment(j, container);
    sl_jw_end(j);
}

static void put_init_container(struct sl_jw *j, const struct mc_view *v) {
    yyjson_val *view = sl_json_at(v->spec, "flux.container");
    sl_jw_array(j, "initContainers");
    sl_jw_object(j, NULL);
    sl_jw_str(j, "name", v->view_name);
    sl_jw_str(j, "image", mc_text(v, "flux.container.image", VIEW_IMAGE));
    put_command(j, "/flux_operator/flux-init.sh", NULL);
    sl_jw_str(j, "imagePullPolicy", pull_policy(view));
    put_opt(j, "workingDir", sl_json_str(view, "workingDir"));
    sl_jw_array(j, "volumeMounts");
    put_own_mounts(j, v);
    sl_jw_end(j);
    sl_jw_bool(j, "stdin", true);
    sl_jw_bool(j, "tty", true);
    put_resources(j, sl_json_get(view, "resources"));
    sl_jw_end(j);
    sl_jw_end(j);
}

static void put_pull_secrets(struct sl_jw *j, const struct mc_view *v) {
    size_t i, n;
    yyjson_val *c;
    sl_jw_array(j, "imagePullSecrets");
    yyjson_arr_foreach (sl_json_get(v->spec, "containers"), i, n, c) {
        if (*sl_json_str(c, "imagePullSecret"))
            put_named(j, NULL, sl_json_str(c, "imagePullSecret"));
    }
    sl_jw_end(j);
}

void mc_containers_put(struct sl_jw *j, const struct mc_view *v) {
    yyjson_val *containers = sl_json_get(v->spec, "containers");
    put_pull_secrets(j, v);
    if (!v->old)
        put_init_container(j, v);
    sl_jw_array(j, "containers");
    for (size_t i = 0; i < sl_json_size(containers); i++)
        put_container(j, v, containers, i, false);
    sl_jw_end(j);
}

void mc_service_containers_put(struct sl_jw *j, const struct mc_view *v) {
    yyjson_val *services = sl_json_get(v->spec, "services");
    put_pull_secrets(j, v);
    sl_jw_array(j, "volumes");
    mc_existing_put(j, v, services);
    sl_jw_end(j);
    sl_jw_array(j, "containers");
    for (size_t i = 0; i < sl_json_size(services); i++)
        put_container(j, v, services, i, true);
    sl_jw_end(j);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of MiniClusters. Every list is held to its ceiling before it is walked.
 */
#include "manager/admission/minicluster.h"

#include <string.h>

#include "core/base/collection/wordset.h"
#include "kube/types/syntax.h"
#include "lib/json/json.h"
#include "manager/admission/convert.h"

#define NOT_NEGATIVE "must be greater than or equal to 0"
#define MAX_LABEL 63u
#define MAX_PASSWORD 8u /* of crypt(3) */

struct check {
    struct sl_field_errs *e;
    const char *cluster;
    bool old; /* v1alpha1 */
    yyjson_val *spec;
    struct sl_wordset names, services; /* of containers, and of those */
};

/* ---- the version ---- */

bool sl_minicluster_is_v1alpha1(yyjson_val *object) {
    return strcmp(sl_json_str(object, "apiVersion"), SL_MINICLUSTER_GROUP "/v1alpha1") == 0;
}

yyjson_doc *sl_minicluster_as_made(yyjson_val *stored) {
    _cleanup_(sl_json_mut_docp) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    bool old = sl_minicluster_made_as_v1alpha1(stored);
    struct sl_err ignored;
    struct sl_convert cv = {.doc = doc, .room_bytes = SL_CONVERT_MAX_BYTES, .err = &ignored};
    yyjson_mut_val *v = NULL;

    sl_assert(doc);
    if (sl_convert_object(&cv, stored,
                          old ? SL_MINICLUSTER_GROUP "/v1alpha1" : SL_MINICLUSTER_GROUP "/v1alpha2",
                          &v) < 0)
        return NULL;
    yyjson_mut_doc_set_root(doc, v);
    return yyjson_mut_doc_imut_copy(doc, NULL);
}

int sl_minicluster_runner(yyjson_val *spec) {
    yyjson_val *containers = sl_json_get(spec, "containers"), *c;
    int runner = -1, runners = 0;
    size_t i, n;

    if (sl_json_size(containers) == 1)
        return 0;
    yyjson_arr_foreach (containers, i, n, c) {
        if (!sl_json_bool(c, "runFlux", false))
            continue;
        runner = (int)i;
        runners++;
    }
    return runners == 1 ? runner : -1;
}

/* ---- single values ---- */

static void report(struct sl_field_errs *e, const struct sl_path *at, struct sl_text t,
                   struct sl_syntax_errors f) {
    for (uint32_t i = 0; i < f.n; i++)
        sl_field_invalid(e, at, sl_field_value_text(t), "%s", f.v[i]);
}

static void check_label_name(struct check *c, const struct sl_path *at, struct sl_text t) {
    report(c->e, at, t, sl_syntax_dns_label(t.s, t.n));
}

static void check_path(struct check *c, const struct sl_path *at, yyjson_val *v) {
    struct sl_text t = sl_json_view(v);

    if (t.n == 0)
        sl_field_required(c->e, at, "");
    else if (t.s[0] != '/')
        sl_field_invalid(c->e, at, sl_field_value_text(t), "must be an absolute path");
    else if (memchr(t.s, ':', t.n))
        sl_field_invalid(c->e, at, sl_field_value_text(t), "must not contain ':'");
}

static void check_amounts(struct check *c, const struct sl_path *at, yyjson_val *amounts) {
    yyjson_val *key, *v;
    size_t i, n;

    if (!sl_syntax_check_size(c->e, at, amounts, SL_MINICLUSTER_MAX_ENTRIES))
        return;
    sl_obj_foreach (amounts, i, n, key, v) {
        const struct sl_path *amount_at = SL_PATH_KEY(at, sl_json_text(key));
        struct sl_text t = sl_json_view(key);
        sl_quantity q;
        sl_syntax_check_label_key(c->e, amount_at, t.s, t.n);
        if (!sl_json_quantity(v, &q))
            sl_field_invalid(c->e, amount_at, sl_field_value_json(v),
                             "must be a quantity, such as 4, 500m or 1Gi");
        else if (q < 0)
            sl_field_invalid(c->e, amount_at, sl_field_value_json(v), NOT_NEGATIVE);
    }
}

static void check_resources(struct check *c, const struct sl_path *at, yyjson_val *resources) {
    check_amounts(c, SL_PATH(at, "requests"), sl_json_get(resources, "requests"));
    check_amounts(c, SL_PATH(at, "limits"), sl_json_get(resources, "limits"));
}

/* ---- sizes ---- */

static int64_t check_count(struct check *c, const char *field, int64_t fallback, int64_t least) {
    const struct sl_path *at = SL_PATH(SL_PATH(NULL, "spec"), field);
    int64_t v = sl_json_int(c->spec, field, fallback);

    if (v < least)
        sl_field_invalid(c->e, at, sl_field_value_int(v), "must be greater than or equal to %lld",
                         (long long)least);
    else if (v > SL_MINICLUSTER_MAX_SIZE)
        sl_field_invalid(c->e, at, sl_field_value_int(v), "must be at most %d",
                         SL_MINICLUSTER_MAX_SIZE);
    return v;
}

static void check_sizes(struct check *c) {
    const struct sl_path *at = SL_PATH(NULL, "spec");
    int64_t size = check_count(c, "size", 1, 1);
    int64_t max = check_count(c, "maxSize", 0, 0);
    int64_t min = c->old ? 0 : check_count(c, "minSize", 0, 0);
    int64_t deadline = sl_json_int(c->spec, "deadlineSeconds", 1);

    if (max > 0 && max < size)
        sl_field_invalid(c->e, SL_PATH(at, "maxSize"), sl_field_value_int(max),
                         "must not be less than size (%lld)", (long long)size);
    if (min > 0 && min > size)
        sl_field_invalid(c->e, SL_PATH(at, "minSize"), sl_field_value_int(min),
                         "must not be greater than size (%lld)", (long long)size);
    if (sl_json_int(c->spec, "tasks", 1) < 0)
        sl_field_invalid(c->e, SL_PATH(at, "tasks"),
                         sl_field_value_int(sl_json_int(c->spec, "tasks", 1)), NOT_NEGATIVE);
    if (deadline < 1)
        sl_field_invalid(c->e, SL_PATH(at, "deadlineSeconds"), sl_field_value_int(deadline),
                         "must be greater than or equal to 1");
}

/* ---- containers ---- */

/* One source, and a path to mount it at. */
static void check_existing(struct check *c, const struct sl_path *at, yyjson_val *volumes) {
    static const char *const sources[] = {"claimName", "configMapName", "hostPath", "secretName"};
    yyjson_val *key, *v;
    size_t i, n;

    if (!sl_syntax_check_size(c->e, at, volumes, SL_MINICLUSTER_MAX_VOLUMES))
        return;
    sl_obj_foreach (volumes, i, n, key, v) {
        const struct sl_path *volume_at = SL_PATH_KEY(at, sl_json_text(key));
        uint32_t given = 0;
        check_label_name(c, volume_at, sl_json_view(key));
        for (size_t k = 0; k < SL_LEN(sources); k++)
            given += *sl_json_str(v, sources[k]) != '\0';
        if (given != 1)
            sl_field_invalid(c->e, volume_at, sl_field_value_json(v),
                             "exactly one of claimName, configMapName, hostPath and secretName "
                             "must be set");
        check_path(c, SL_PATH(volume_at, "path"), sl_json_get(v, "path"));
    }
}

/* Of v1alpha1: mounts of what spec.volumes makes. */
static void check_mounts(struct check *c, const struct sl_path *at, yyjson_val *mounts) {
    yyjson_val *made = sl_json_get(c->spec, "volumes"), *key, *v;
    size_t i, n;

    if (!sl_syntax_check_size(c->e, at, mounts, SL_MINICLUSTER_MAX_VOLUMES))
        return;
    sl_obj_foreach (mounts, i, n, key, v) {
        const struct sl_path *mount_at = SL_PATH_KEY(at, sl_json_text(key));
        if (!sl_json_same_key(made, key))
            sl_field_not_found_in(c->e, mount_at, sl_field_value_text(sl_json_view(key)),
                                  "must be one of spec.volumes");
        check_path(c, SL_PATH(mount_at, "path"), sl_json_get(v, "path"));
    }
}

static void check_ports(struct check *c, const struct sl_path *at, yyjson_val *ports) {
    uint64_t seen[1024] = {0};
    yyjson_val *v;
    size_t i, n;

    if (!sl_syntax_check_size(c->e, at, ports, SL_MINICLUSTER_MAX_ENTRIES))
        return;
    yyjson_arr_foreach (ports, i, n, v) {
        const struct sl_path *port_at = SL_PATH_AT(at, i);
        int64_t port = yyjson_is_int(v) ? yyjson_get_sint(v) : 0;
        if (port < 1 || port > 65535) {
            sl_field_invalid(c->e, port_at, sl_field_value_json(v),
                             "must be between 1 and 65535, inclusive");
            continue;
        }
        if (seen[port / 64] >> (port % 64) & 1)
            sl_field_duplicate(c->e, port_at, sl_field_value_int(port), "");
        seen[port / 64] |= UINT64_C(1) << (port % 64);
    }
}

static void check_environment(struct check *c, const struct sl_path *at, yyjson_val *container) {
    yyjson_val *plain = sl_json_get(container, "environment");
    yyjson_val *secrets = sl_json_get(container, "secrets"), *key, *v;
    const struct sl_path *secrets_at = SL_PATH(at, "secrets");
    size_t i, n;

    if (!sl_syntax_check_size(c->e, SL_PATH(at, "environment"), plain,
                              SL_MINICLUSTER_MAX_ENTRIES) ||
        !sl_syntax_check_size(c->e, secrets_at, secrets, SL_MINICLUSTER_MAX_ENTRIES))
        return;
    sl_obj_foreach (plain, i, n, key, v) {
        struct sl_text t = sl_json_view(key);
        if (t.n == 0 || memchr(t.s, '=', t.n))
            sl_field_invalid(c->e, SL_PATH(at, "environment"), sl_field_value_text(t),
                             "a variable has a name without '='");
    }
    sl_obj_foreach (secrets, i, n, key, v) {
        const struct sl_path *one = SL_PATH_KEY(secrets_at, sl_json_text(key));
        if (!*sl_json_str(v, "name"))
            sl_field_required(c->e, SL_PATH(one, "name"), "");
        if (!*sl_json_str(v, "key"))
            sl_field_required(c->e, SL_PATH(one, "key"), "");
        if (sl_json_same_key(plain, key))
            sl_field_duplicate(c->e, one, sl_field_value_text(sl_json_view(key)),
                               "environment has it, too");
    }
}

static void check_command(struct check *c, const struct sl_path *at, yyjson_val *container) {
    bool batch = sl_json_bool(container, "batch", false);

    if (batch && sl_json_bool(container, "launcher", false))
        sl_field_forbidden(c->e, SL_PATH(at, "batch"),
                           "may not be set together with launcher: choose one");
    if (*sl_json_str(container, "commands.script") && *sl_json_str(container, "command"))
        sl_field_forbidden(c->e, SL_PATH(at, "commands.script"),
                           "may not be set together with command: choose one");
    if (batch && !*sl_json_str(container, "command"))
        sl_field_required(c->e, SL_PATH(at, "command"), "batch is set: one job for each line");
}

static void check_common(struct check *c, const struct sl_path *at, yyjson_val *container) {
    check_ports(c, SL_PATH(at, "ports"), sl_json_get(container, "ports"));
    check_environment(c, at, container);
    check_resources(c, SL_PATH(at, "resources"), sl_json_get(container, "resources"));
    if (c->old)
        check_mounts(c, SL_PATH(at, "volumes"), sl_json_get(container, "volumes"));
    check_existing(c, SL_PATH(at, c->old ? "existingVolumes" : "volumes"),
                   sl_json_get(container, c->old ? "existingVolumes" : "volumes"));
}

/* A name of its own, which is also that of a Service where the container has ports. */
static void check_container_name(struct check *c, const struct sl_path *at, yyjson_val *container,
                                 struct sl_wordset *names, const char *why) {
    struct sl_text t = sl_json_view(sl_json_get(container, "name"));
    const struct sl_path *name_at = SL_PATH(at, "name");

    if (t.n == 0) {
        sl_field_required(c->e, name_at, why);
        return;
    }
    check_label_name(c, name_at, t);
    if (!sl_wordset_add(names, sl_json_str(container, "name")))
        sl_field_duplicate(c->e, name_at, sl_field_value_text(t), "");
}

/* A container has the mounts of those before it, too. */
static void check_mount_count(struct check *c, const struct sl_path *at, yyjson_val *containers) {
    size_t i, n, mounts = 0;
    yyjson_val *container;

    yyjson_arr_foreach (containers, i, n, container) {
        mounts += sl_json_size(sl_json_get(container, "volumes"));
        mounts += sl_json_size(sl_json_get(container, "existingVolumes"));
    }
    if (mounts > SL_MINICLUSTER_MAX_MOUNTS)
        sl_field_too_many(c->e, at, mounts, SL_MINICLUSTER_MAX_MOUNTS);
}

static void check_containers(struct check *c) {
    const struct sl_path *at = SL_PATH(SL_PATH(NULL, "spec"), "containers");
    yyjson_val *containers = sl_json_get(c->spec, "containers"), *container;
    int runner = sl_minicluster_runner(c->spec);
    uint32_t runners = 0;
    size_t i, n;

    if (sl_json_size(containers) == 0) {
        sl_field_required(c->e, at, "one that runs Flux");
        return;
    }
    if (!sl_syntax_check_size(c->e, at, containers, SL_MINICLUSTER_MAX_CONTAINERS))
        return;
    yyjson_arr_foreach (containers, i, n, container) {
        const struct sl_path *one = SL_PATH_AT(at, i);
        bool runs = (int)i == runner || sl_json_bool(container, "runFlux", false);
        runners += runs;
        if (runs)
            check_command(c, one, container);
        else
            check_container_name(c, one, container, &c->names, "unless runFlux is set");
        check_common(c, one, container);
    }
    check_mount_count(c, SL_PATH(at, "volumes"), containers);
    if (runners != 1)
        sl_field_invalid(c->e, at, sl_field_value_int(runners),
                         "exactly one container must have runFlux");
}

static void check_services(struct check *c) {
    static const char *const none[] = {"pre", "brokerPre", "workerPre"};
    const struct sl_path *at = SL_PATH(SL_PATH(NULL, "spec"), "services");
    yyjson_val *services = sl_json_get(c->spec, "services"), *service;
    size_t i, n;

    if (!sl_syntax_check_size(c->e, at, services, SL_MINICLUSTER_MAX_CONTAINERS))
        return;
    check_mount_count(c, SL_PATH(at, "volumes"), services);
    yyjson_arr_foreach (services, i, n, service) {
        const struct sl_path *one = SL_PATH_AT(at, i);
        check_container_name(c, one, service, &c->services, "of each service");
        if (sl_json_bool(service, "runFlux", false))
            sl_field_forbidden(c->e, SL_PATH(one, "runFlux"), "a service does not run Flux");
        for (size_t k = 0; k < SL_LEN(none); k++)
            if (*sl_json_str(sl_json_get(service, "commands"), none[k]))
                sl_field_forbidden(c->e, SL_PATH(SL_PATH(one, "commands"), none[k]),
                                   "services have no such commands");
        check_common(c, one, service);
    }
}

/* ---- what only v1alpha1 has ---- */

static void check_users(struct check *c) {
    const struct sl_path *at = SL_PATH(SL_PATH(NULL, "spec"), "users");
    yyjson_val *users = sl_json_get(c->spec, "users"), *user;
    size_t i, n;

    if (!sl_syntax_check_size(c->e, at, users, SL_MINICLUSTER_MAX_ENTRIES))
        return;
    yyjson_arr_foreach (users, i, n, user) {
        struct sl_text name = sl_json_view(sl_json_get(user, "name"));
        check_label_name(c, SL_PATH(SL_PATH_AT(at, i), "name"), name);
        if (sl_json_view(sl_json_get(user, "password")).n > MAX_PASSWORD)
            sl_field_too_long(c->e, SL_PATH(SL_PATH_AT(at, i), "password"), MAX_PASSWORD);
    }
}

static void check_volumes(struct check *c) {
    const struct sl_path *at = SL_PATH(SL_PATH(NULL, "spec"), "volumes");
    yyjson_val *volumes = sl_json_get(c->spec, "volumes"), *key, *v;
    size_t i, n;

    if (!sl_syntax_check_size(c->e, at, volumes, SL_MINICLUSTER_MAX_VOLUMES))
        return;
    sl_obj_foreach (volumes, i, n, key, v) {
        const struct sl_path *one = SL_PATH_KEY(at, sl_json_text(key));
        const char *class = sl_json_str(v, "storageClass");
        sl_quantity q;
        check_label_name(c, one, sl_json_view(key));
        if (*class && strcmp(class, "hostpath") != 0 && !*sl_json_str(v, "secret"))
            sl_field_required(c->e, SL_PATH(one, "secret"), "unless storageClass is hostpath");
        if (*sl_json_str(v, "capacity") && !sl_json_quantity(sl_json_get(v, "capacity"), &q))
            sl_field_invalid(c->e, SL_PATH(one, "capacity"),
                             sl_field_value_str(sl_json_str(v, "capacity")),
                             "must be a quantity, such as 5Gi");
    }
}

/* ---- the rest ---- */

/* Names that are made of it: "<name>-entrypoint" and "<name>-curve-mount" are volumes, and
 * "<name>-99" is the name of a host. */
static void check_name(struct check *c) {
    const struct sl_path *at = SL_PATH(NULL, "metadata.name");
    size_t most = MAX_LABEL - strlen(c->old ? "-curve-mount" : "-entrypoint");
    size_t n = strlen(c->cluster);

    if (n > 0 && c->cluster[n - 1] == '-') /* a generateName, which gets an end */
        n += 5;
    else
        check_label_name(c, at, (struct sl_text){c->cluster, n});
    if (n > most)
        sl_field_invalid(c->e, at, sl_field_value_str(c->cluster),
                         "must be at most %zu characters long, since names are made of it", most);
}

static void check_flux(struct check *c) {
    const struct sl_path *at = SL_PATH(SL_PATH(NULL, "spec"), "flux");
    yyjson_val *flux = sl_json_get(c->spec, "flux");
    struct sl_text view = sl_json_view(sl_json_at(flux, "container.name"));
    yyjson_val *mount = sl_json_at(flux, "container.mountPath");

    if (view.n > 0) {
        check_label_name(c, SL_PATH(at, "container.name"), view);
        if (sl_wordset_has(&c->names, sl_json_str(flux, "container.name")))
            sl_field_duplicate(c->e, SL_PATH(at, "container.name"), sl_field_value_text(view),
                               "another container has it");
    }
    if (sl_json_view(mount).n > 0)
        check_path(c, SL_PATH(at, "container.mountPath"), mount);
    check_resources(c, SL_PATH(at, "container.resources"), sl_json_at(flux, "container.resources"));
    if (*sl_json_str(flux, "bursting.hostlist") &&
        sl_json_size(sl_json_at(flux, "bursting.clusters")) > 0)
        sl_field_forbidden(c->e, SL_PATH(at, "bursting.hostlist"),
                           "may not be set together with clusters: choose one");
}

static void check_rest(struct check *c) {
    const struct sl_path *at = SL_PATH(NULL, "spec");
    struct sl_text service = sl_json_view(sl_json_at(c->spec, "network.headlessName"));

    if (service.n > 0)
        check_label_name(c, SL_PATH(at, "network.headlessName"), service);
    sl_syntax_check_labels(c->e, SL_PATH(at, "jobLabels"), sl_json_get(c->spec, "jobLabels"));
    sl_syntax_check_labels(c->e, SL_PATH(at, "pod.labels"), sl_json_at(c->spec, "pod.labels"));
    sl_syntax_check_labels(c->e, SL_PATH(at, "pod.nodeSelector"),
                           sl_json_at(c->spec, "pod.nodeSelector"));
    sl_syntax_check_annotations(c->e, SL_PATH(at, "pod.annotations"),
                                sl_json_at(c->spec, "pod.annotations"));
    check_amounts(c, SL_PATH(at, "pod.resources"), sl_json_at(c->spec, "pod.resources"));
}

void sl_minicluster_check(struct sl_field_errs *e, const char *name, yyjson_val *object) {
    struct check c = {.e = e,
                      .cluster = name,
                      .old = sl_minicluster_is_v1alpha1(object),
                      .spec = sl_json_get(object, "spec")};

    if (sl_json_bytes(c.spec) > SL_MINICLUSTER_MAX_TEXT) {
        sl_field_too_long(e, SL_PATH(NULL, "spec"), SL_MINICLUSTER_MAX_TEXT);
        return;
    }
    if (sl_json_has_nul(c.spec)) {
        sl_field_forbidden(e, SL_PATH(NULL, "spec"), "a text has a NUL character (\\u0000) in it");
        return;
    }
    check_name(&c);
    if (*name)
        (void)sl_wordset_add(&c.names, name); /* of the container that runs Flux */
    check_sizes(&c);
    check_containers(&c);
    check_services(&c);
    check_flux(&c);
    check_rest(&c);
    if (c.old) {
        check_users(&c);
        check_volumes(&c);
    }
    sl_wordset_done(&c.names);
    sl_wordset_done(&c.services);
}

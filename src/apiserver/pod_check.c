/*
 * What people get wrong in pods, in kube-apiserver's words. What the schema says of types and
 * required lists is said before.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "apiserver/kinds.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"

static const char *const pull_policies[] = {"Always", "IfNotPresent", "Never", NULL};
static const char *const message_policies[] = {"File", "FallbackToLogsOnError", NULL};
static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
static const char *const restart_policies[] = {"Always", "OnFailure", "Never", NULL};
static const char *const dns_policies[] = {"ClusterFirstWithHostNet", "ClusterFirst", "Default",
                                           "None", NULL};
static const char *const preemption_policies[] = {"PreemptLowerPriority", "Never", NULL};

/* ---- amounts ---- */

bool sl_amount_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v,
                     sl_quantity *ret) {
    if (!sl_json_quantity(v, ret))
        return false; /* was refused when it was decoded */
    if (*ret >= 0)
        return true;
    sl_field_invalid(e, at, sl_bad_str(sl_json_text(v)), SL_NOT_NEGATIVE);
    return false;
}

static bool is_native(const char *name) {
    return !strchr(name, '/') || strstr(name, "kubernetes.io/");
}

static bool is_hugepages(const char *name) {
    return strncmp(name, "hugepages-", 10) == 0;
}

/* May more be used than was asked for? */
static bool may_overcommit(const char *name) {
    return is_native(name) && !is_hugepages(name);
}

static void resource_name(struct sl_field_errs *e, const struct sl_path *at, const char *name) {
    static const char *const standard[] = {"cpu", "memory", "ephemeral-storage"};
    struct sl_faults f = sl_syntax_label_key(name, strlen(name));

    for (uint32_t i = 0; i < f.n; i++)
        sl_field_invalid(e, at, sl_bad_str(name), "%s", f.v[i]);
    if (!strchr(name, '/')) {
        bool known = is_hugepages(name);
        for (size_t i = 0; i < SL_LEN(standard); i++)
            known = known || strcmp(name, standard[i]) == 0;
        if (!known && !f.n)
            sl_field_invalid(e, at, sl_bad_str(name),
                             "must be a standard resource type or fully qualified");
        if (!known)
            sl_field_invalid(e, at, sl_bad_str(name), "must be a standard resource for containers");
    } else if (!f.n && !is_native(name) && strncmp(name, "requests.", 9) == 0) {
        sl_field_invalid(e, at, sl_bad_str(name), "doesn't follow extended resource name standard");
    }
}

static void amount(struct sl_field_errs *e, const struct sl_path *at, const char *name,
                   yyjson_val *v) {
    sl_quantity q;

    resource_name(e, at, name);
    if (sl_amount_check(e, at, v, &q) && !is_native(name) && q % SL_NANO != 0)
        sl_field_invalid(e, at, sl_bad_str(sl_json_text(v)), "must be an integer");
}

/* A quantity as a text for a message: numbers are written out. */
static const char *amount_text(yyjson_val *v, char out[SL_QUANTITY_TEXT]) {
    sl_quantity q;

    if (yyjson_is_str(v))
        return yyjson_get_str(v);
    return sl_json_quantity(v, &q) ? sl_quantity_format(q, out) : "0";
}

static bool asks_plain(yyjson_val *list) {
    return sl_json_get(list, "cpu") || sl_json_get(list, "memory");
}

static bool asks_huge(yyjson_val *list) {
    yyjson_val *key, *v;
    size_t i, n;

    if (!list)
        return false;
    yyjson_obj_foreach (list, i, n, key, v) {
        if (is_hugepages(yyjson_get_str(key)))
            return true;
    }
    return false;
}

static void requests_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *requests,
                           yyjson_val *limits) {
    const struct sl_path *req_at = SL_PATH(at, "requests");
    char asked_text[SL_QUANTITY_TEXT], limit_text[SL_QUANTITY_TEXT];
    yyjson_val *key, *v;
    size_t i, n;

    yyjson_obj_foreach (requests, i, n, key, v) {
        const char *name = yyjson_get_str(key);
        yyjson_val *limit = sl_json_get(limits, name);
        sl_quantity asked, most;

        amount(e, SL_PATH_KEY(req_at, name), name, v);
        if (!sl_json_quantity(v, &asked))
            continue;
        if (!limit || !sl_json_quantity(limit, &most)) {
            if (!may_overcommit(name))
                sl_field_required(e, SL_PATH(at, "limits"),
                                  "Limit must be set for non overcommitable resources");
            continue;
        }
        if (asked != most && !may_overcommit(name))
            sl_field_invalid(e, req_at, sl_bad_str(amount_text(v, asked_text)),
                             "must be equal to %s limit of %s", name,
                             amount_text(limit, limit_text));
        else if (asked > most)
            sl_field_invalid(e, req_at, sl_bad_str(amount_text(v, asked_text)),
                             "must be less than or equal to %s limit of %s", name,
                             amount_text(limit, limit_text));
    }
}

void sl_resources_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *resources) {
    yyjson_val *limits = sl_json_get(resources, "limits"),
               *requests = sl_json_get(resources, "requests"), *key, *v;
    size_t i, n;

    if (limits) {
        yyjson_obj_foreach (limits, i, n, key, v) {
            amount(e, SL_PATH_KEY(SL_PATH(at, "limits"), yyjson_get_str(key)), yyjson_get_str(key),
                   v);
        }
    }
    if (requests) {
        requests_check(e, at, requests, limits);
    }
    if ((asks_huge(limits) || asks_huge(requests)) && !asks_plain(limits) && !asks_plain(requests))
        sl_field_forbidden(e, at, "HugePages require cpu or memory");
}
/* ---- containers ---- */

struct scope {
    yyjson_val *spec, *volumes, *claims; /* what mounts may name */
    const bool *wrong;                   /* of the volumes: those with faults are not known */
};

static void ports(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list) {
    size_t i, n;
    yyjson_val *p;

    yyjson_arr_foreach (list, i, n, p) {
        const struct sl_path *p_at = SL_PATH_AT(at, i);
        const char *name = sl_json_str(p, "name");
        int64_t port = sl_json_int(p, "containerPort", 0), host = sl_json_int(p, "hostPort", 0);

        if (*name) {
            struct sl_faults f = sl_word_port(name, strlen(name));
            sl_word_check(e, SL_PATH(p_at, "name"), name, strlen(name), sl_word_port);
            if (f.n == 0 && sl_json_find(list, "name", name) != p)
                sl_field_duplicate(e, SL_PATH(p_at, "name"), sl_bad_str(name), "");
        }
        if (port == 0)
            sl_field_required(e, SL_PATH(p_at, "containerPort"), "");
        else if (port < 1 || port > 65535)
            sl_field_invalid(e, SL_PATH(p_at, "containerPort"), sl_bad_int(port), SL_PORT_RANGE);
        if (host != 0 && (host < 1 || host > 65535))
            sl_field_invalid(e, SL_PATH(p_at, "hostPort"), sl_bad_int(host), SL_PORT_RANGE);
        sl_check_one_of(e, p_at, p, "protocol", protocols, true);
    }
}

static void key_ref(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *ref) {
    const char *name = sl_json_str(ref, "name");

    sl_word_check(e, SL_PATH(at, "name"), name, strlen(name), sl_syntax_subdomain);
    sl_word_check_at(e, at, ref, "key", sl_word_data_key, true);
}

static void field_ref(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *ref) {
    static const char *const paths[] = {"metadata.name", "metadata.namespace",
                                        "metadata.uid",  "spec.hostIP",
                                        "spec.nodeName", "spec.serviceAccountName",
                                        "status.hostIP", "status.hostIPs",
                                        "status.podIP",  "status.podIPs"};
    /* Known to pods, but not here. */
    static const char *const known[] = {"metadata.labels",    "metadata.annotations",
                                        "spec.restartPolicy", "spec.schedulerName",
                                        "spec.hostNetwork",   "status.phase"};
    const char *path = sl_json_str(ref, "fieldPath");
    bool elsewhere = false;

    if (*path == '\0') {
        sl_field_required(e, SL_PATH(at, "fieldPath"), "");
        return;
    }
    if (strncmp(path, "metadata.labels['", 17) == 0 ||
        strncmp(path, "metadata.annotations['", 22) == 0)
        return;
    for (size_t i = 0; i < SL_LEN(paths); i++)
        if (strcmp(path, paths[i]) == 0)
            return;
    for (size_t i = 0; i < SL_LEN(known); i++)
        elsewhere = elsewhere || strcmp(path, known[i]) == 0;
    if (elsewhere)
        sl_field_unsupported(e, SL_PATH(at, "fieldPath"), sl_bad_str(path), paths, SL_LEN(paths));
    else
        sl_field_invalid(e, SL_PATH(at, "fieldPath"), sl_bad_str(path),
                         "error converting fieldPath: field label not supported: %s", path);
}

static const char *const amounts[] = {"limits.cpu",
                                      "limits.ephemeral-storage",
                                      "limits.memory",
                                      "requests.cpu",
                                      "requests.ephemeral-storage",
                                      "requests.memory",
                                      NULL};

static void value_from(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *var) {
    yyjson_val *from = sl_json_get(var, "valueFrom"), *ref;
    size_t count = 0;

    if (!from)
        return;
    if ((ref = sl_json_get(from, "fieldRef"))) {
        count++;
        field_ref(e, SL_PATH(at, "fieldRef"), ref);
    }
    if ((ref = sl_json_get(from, "resourceFieldRef"))) {
        count++;
        if (!strstr(sl_json_str(ref, "resource"), "s.hugepages-"))
            sl_check_one_of(e, SL_PATH(at, "resourceFieldRef"), ref, "resource", amounts, true);
    }
    if ((ref = sl_json_get(from, "configMapKeyRef"))) {
        count++;
        key_ref(e, SL_PATH(at, "configMapKeyRef"), ref);
    }
    if ((ref = sl_json_get(from, "secretKeyRef"))) {
        count++;
        key_ref(e, SL_PATH(at, "secretKeyRef"), ref);
    }
    count += sl_json_get(from, "fileKeyRef") != NULL;
    if (count == 0)
        sl_field_invalid(e, at, sl_bad_str(""),
                         "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
                         "`secretKeyRef` or `fileKeyRef`");
    else if (*sl_json_str(var, "value"))
        sl_field_invalid(e, at, sl_bad_str(""), "may not be specified when `value` is not empty");
    else if (count > 1)
        sl_field_invalid(e, at, sl_bad_str(""),
                         "may not have more than one field specified at a time");
}

static void env(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *c) {
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (sl_json_get(c, "env"), i, n, v) {
        const struct sl_path *v_at = SL_PATH_AT(SL_PATH(at, "env"), i);
        sl_word_check_at(e, v_at, v, "name", sl_word_env, true);
        value_from(e, SL_PATH(v_at, "valueFrom"), v);
    }
    yyjson_arr_foreach (sl_json_get(c, "envFrom"), i, n, v) {
        const struct sl_path *v_at = SL_PATH_AT(SL_PATH(at, "envFrom"), i);
        yyjson_val *config = sl_json_get(v, "configMapRef"), *secret = sl_json_get(v, "secretRef");
        if (config && *sl_json_str(config, "name") == '\0')
            sl_field_required(e, SL_PATH(SL_PATH(v_at, "configMapRef"), "name"), "");
        if (secret && *sl_json_str(secret, "name") == '\0')
            sl_field_required(e, SL_PATH(SL_PATH(v_at, "secretRef"), "name"), "");
        if (!config && !secret)
            sl_field_invalid(e, SL_PATH(at, "envFrom"), sl_bad_str(""),
                             "must specify one of: `configMapRef` or `secretRef`");
        else if (config && secret)
            sl_field_invalid(e, SL_PATH(at, "envFrom"), sl_bad_str(""),
                             "may not have more than one field specified at a time");
    }
}

static bool has_claim(yyjson_val *claims, const char *name) {
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (claims, i, n, v) {
        if (strcmp(sl_json_str(v, "metadata.name"), name) == 0)
            return true;
    }
    return false;
}

static bool has_volume(const struct scope *s, const char *name) {
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (s->volumes, i, n, v) {
        if (!s->wrong[i] && strcmp(sl_json_str(v, "name"), name) == 0)
            return true;
    }
    return has_claim(s->claims, name);
}

static void mounts(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list,
                   const struct scope *s) {
    size_t i, n;
    yyjson_val *m;

    yyjson_arr_foreach (list, i, n, m) {
        const struct sl_path *m_at = SL_PATH_AT(at, i);
        const char *name = sl_json_str(m, "name"), *path = sl_json_str(m, "mountPath");

        if (*name == '\0')
            sl_field_required(e, SL_PATH(m_at, "name"), "");
        if (!has_volume(s, name))
            sl_field_not_found(e, SL_PATH(m_at, "name"), sl_bad_str(name));
        if (*path == '\0')
            sl_field_required(e, SL_PATH(m_at, "mountPath"), "");
        if (sl_json_find(list, "mountPath", path) != m && sl_json_get(m, "mountPath"))
            sl_field_invalid(e, SL_PATH(m_at, "mountPath"), sl_bad_str(path), "must be unique");
    }
}

/* Names of devices that the pod claims. */
static void claims_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *c,
                         yyjson_val *spec) {
    yyjson_val *have = sl_json_get(spec, "resourceClaims"), *v;
    size_t i, n;

    yyjson_arr_foreach (sl_json_at(c, "resources.claims"), i, n, v) {
        const char *name = sl_json_str(v, "name");
        if (!*name)
            sl_field_required(e, SL_PATH_AT(at, i), "");
        else if (!sl_json_find(have, "name", name))
            sl_field_not_found(e, SL_PATH_AT(at, i),
                               sl_bad_str(name)); /* what there is, is not told */
    }
}

static void container(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *c,
                      const struct scope *s) {
    const char *image = sl_json_str(c, "image");

    sl_word_check_at(e, at, c, "name", sl_word_label, true);
    if (*image == '\0')
        sl_field_required(e, SL_PATH(at, "image"), "");
    else if (strchr(" \t\n\r", image[0]) || strchr(" \t\n\r", image[strlen(image) - 1]))
        sl_field_invalid(e, SL_PATH(at, "image"), sl_bad_str(image),
                         "must not have leading or trailing whitespace");
    sl_check_one_of(e, at, c, "terminationMessagePolicy", message_policies, false);
    ports(e, SL_PATH(at, "ports"), sl_json_get(c, "ports"));
    env(e, at, c);
    mounts(e, SL_PATH(at, "volumeMounts"), sl_json_get(c, "volumeMounts"), s);
    sl_check_one_of(e, at, c, "imagePullPolicy", pull_policies, false);
    sl_resources_check(e, SL_PATH(at, "resources"), sl_json_get(c, "resources"));
    claims_check(e, SL_PATH(SL_PATH(at, "resources"), "claims"), c, s->spec);
    sl_container_security_check(e, SL_PATH(at, "securityContext"),
                                sl_json_get(c, "securityContext"));
}

/* Two containers cannot have the same port of the node. */
static void host_ports(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list) {
    SL_VEC(const char *) keys = {0};
    struct sl_map seen = {0};
    yyjson_val *c, *p;
    size_t i, n, j, m;

    yyjson_arr_foreach (list, i, n, c) {
        yyjson_arr_foreach (sl_json_get(c, "ports"), j, m, p) {
            int64_t port = sl_json_int(p, "hostPort", 0);
            if (!port)
                continue;
            const char *key = sl_arena_printf(e->arena, "%s/%s/%lld", sl_json_str(p, "protocol"),
                                              sl_json_str(p, "hostIP"), (long long)port);
            uint64_t hash = sl_hash_str(0, key);
            uint32_t at_key, k = sl_map_first(&seen, hash, &at_key);
            while (k != SL_MAP_NONE && strcmp(keys.v[k], key) != 0)
                k = sl_map_next(&seen, hash, &at_key);
            if (k != SL_MAP_NONE) {
                sl_field_duplicate(
                    e, SL_PATH(SL_PATH_AT(SL_PATH(SL_PATH_AT(at, i), "ports"), j), "hostPort"),
                    sl_bad_str(key), "");
                continue;
            }
            sl_map_add(&seen, hash, keys.n);
            *sl_vec_push(&keys) = key;
        }
    }
    sl_map_done(&seen);
    sl_vec_free(&keys);
}

static void containers(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec,
                       const struct scope *s) {
    yyjson_val *list = sl_json_get(spec, "containers"),
               *inits = sl_json_get(spec, "initContainers"), *c;
    const struct sl_path *list_at = SL_PATH(at, "containers"),
                         *inits_at = SL_PATH(at, "initContainers");
    static const char *const not_of_init[] = {"lifecycle", "livenessProbe", "readinessProbe",
                                              "startupProbe"};
    size_t i, n;

    if (sl_json_size(list) == 0)
        sl_field_required(e, list_at, "");
    yyjson_arr_foreach (list, i, n, c) {
        const struct sl_path *c_at = SL_PATH_AT(list_at, i);
        container(e, c_at, c, s);
        if (sl_json_find(list, "name", sl_json_str(c, "name")) != c && sl_json_get(c, "name"))
            sl_field_duplicate(e, SL_PATH(c_at, "name"), sl_bad_str(sl_json_str(c, "name")), "");
        sl_hooks_check(e, c_at, c, s->spec);
    }
    host_ports(e, list_at, list);
    yyjson_arr_foreach (inits, i, n, c) {
        const struct sl_path *c_at = SL_PATH_AT(inits_at, i);
        const char *name = sl_json_str(c, "name");
        container(e, c_at, c, s);
        if (*name && (sl_json_find(inits, "name", name) != c || sl_json_find(list, "name", name)))
            sl_field_duplicate(e, SL_PATH(c_at, "name"), sl_bad_str(name), "");
        if (strcmp(sl_json_str(c, "restartPolicy"), "Always") == 0) {
            sl_hooks_check(e, c_at, c, s->spec);
            continue;
        }
        for (size_t k = 0; k < SL_LEN(not_of_init); k++)
            if (sl_json_get(c, not_of_init[k]))
                sl_field_forbidden(
                    e, SL_PATH(c_at, not_of_init[k]),
                    "may not be set for init containers without restartPolicy=Always");
    }
}

/* ---- pods ---- */

static void gates(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec) {
    yyjson_val *list = sl_json_get(spec, "schedulingGates"), *g;
    size_t i, n;

    yyjson_arr_foreach (list, i, n, g) {
        const struct sl_path *g_at = SL_PATH_AT(SL_PATH(at, "schedulingGates"), i);
        const char *name = sl_json_str(g, "name");
        struct sl_faults f = sl_syntax_label_key(name, strlen(name));
        for (uint32_t k = 0; k < f.n; k++)
            sl_field_invalid(e, g_at, sl_bad_str(name), "%s", f.v[k]);
        if (sl_json_find(list, "name", name) != g)
            sl_field_duplicate(e, g_at, sl_bad_str(name), "");
    }
}

/* Words of a pod spec and what they have to be. */
static const struct {
    const char *field;
    struct sl_faults (*rule)(const char *s, size_t len);
} words[] = {
    {"serviceAccountName", sl_syntax_subdomain},
    {"nodeName", sl_syntax_subdomain},
    {"hostname", sl_word_label},
    {"subdomain", sl_word_label},
    {"priorityClassName", sl_syntax_subdomain},
    {"runtimeClassName", sl_syntax_subdomain},
};

void sl_pod_spec_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec,
                       enum sl_pod_place place, yyjson_val *claims) {
    struct scope s = {.spec = spec, .volumes = sl_json_get(spec, "volumes"), .claims = claims};
    yyjson_val *deadline = sl_json_get(spec, "activeDeadlineSeconds"), *grace;
    size_t i;

    s.wrong = sl_volumes_check(e, SL_PATH(at, "volumes"), s.volumes);
    containers(e, at, spec, &s);
    sl_check_one_of(e, at, spec, "restartPolicy", restart_policies, false);
    sl_check_one_of(e, at, spec, "dnsPolicy", dns_policies, false);
    sl_check_labels(e, SL_PATH(at, "nodeSelector"), sl_json_get(spec, "nodeSelector"));
    sl_pod_security_check(e, SL_PATH(at, "securityContext"), sl_json_get(spec, "securityContext"));
    sl_pod_hosts_check(e, at, spec);
    sl_affinity_check(e, SL_PATH(at, "affinity"), sl_json_get(spec, "affinity"));
    gates(e, at, spec);
    sl_spread_check(e, SL_PATH(at, "topologySpreadConstraints"),
                    sl_json_get(spec, "topologySpreadConstraints"));
    for (i = 0; i < SL_LEN(words); i++)
        if (place != SL_IN_STATEFUL || words[i].rule != sl_word_label)
            sl_word_check_at(e, at, spec, words[i].field, words[i].rule, false);
    if (deadline && (yyjson_get_sint(deadline) < 1 || yyjson_get_sint(deadline) > INT32_MAX))
        sl_field_invalid(e, SL_PATH(at, "activeDeadlineSeconds"),
                         sl_bad_int(yyjson_get_sint(deadline)),
                         "must be between 1 and %d, inclusive", INT32_MAX);
    grace = sl_json_get(spec, "terminationGracePeriodSeconds");
    if (grace && yyjson_get_sint(grace) < 0 && place == SL_IN_POD)
        sl_field_invalid(e, SL_PATH(at, "terminationGracePeriodSeconds"),
                         sl_bad_int(yyjson_get_sint(grace)), SL_NOT_NEGATIVE);
    sl_tolerations_check(e, SL_PATH(at, "tolerations"), sl_json_get(spec, "tolerations"));
    sl_check_one_of(e, at, spec, "preemptionPolicy", preemption_policies, false);
    if (place != SL_IN_POD && sl_json_size(sl_json_get(spec, "ephemeralContainers")) > 0)
        sl_field_forbidden(e, SL_PATH(at, "ephemeralContainers"),
                           "ephemeral containers not allowed in pod template");
}

void sl_template_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *tmpl,
                       enum sl_pod_place place, yyjson_val *claims) {
    sl_check_labels(e, SL_PATH(at, "labels"), sl_json_at(tmpl, "metadata.labels"));
    sl_check_annotations(e, SL_PATH(at, "annotations"), sl_json_at(tmpl, "metadata.annotations"));
    sl_pod_spec_check(e, SL_PATH(at, "spec"), sl_json_get(tmpl, "spec"), place, claims);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation of pods, with kube-apiserver's messages. Types and required lists are validated by the
 * schema before.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "core/base/buf.h"
#include "core/base/collection/hash.h"
#include "core/base/collection/map.h"
#include "core/base/collection/vec.h"
#include "lib/json/json.h"

#define MAX_RULES 20
#define MAX_CODES 255
#define MAX_NAMES 900u /* of claims in a message */

static const char *const pull_policies[] = {"Always", "IfNotPresent", "Never", NULL};
static const char *const message_policies[] = {"File", "FallbackToLogsOnError", NULL};
static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
static const char *const restart_policies[] = {"Always", "OnFailure", "Never", NULL};
static const char *const dns_policies[] = {"ClusterFirstWithHostNet", "ClusterFirst", "Default",
                                           "None", NULL};
static const char *const preemption_policies[] = {"PreemptLowerPriority", "Never", NULL};

/* ---- amounts ---- */

bool api_amount_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v,
                      sl_quantity *ret) {
    if (!sl_json_quantity(v, ret))
        return false; /* was refused when it was decoded */
    if (*ret >= 0)
        return true;
    sl_field_invalid(e, at, sl_field_value_str(sl_json_text(v)), SL_NOT_NEGATIVE);
    return false;
}

static bool is_native(const char *name) {
    return !strchr(name, '/') || strstr(name, "kubernetes.io/");
}

static bool is_hugepages(const char *name) {
    return strncmp(name, "hugepages-", 10) == 0;
}

/* A quantity as a text for a message: numbers are written out. */
static const char *amount_text(yyjson_val *v, char out[SL_QUANTITY_TEXT]) {
    sl_quantity q;

    if (yyjson_is_str(v))
        return sl_json_text(v);
    return sl_json_quantity(v, &q) ? sl_quantity_format(q, out) : "0";
}

/* May limits exceed requests? */
static bool may_overcommit(const char *name) {
    return is_native(name) && !is_hugepages(name);
}

static bool is_one_of(const char *const *words, size_t n, const char *word) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

/* Has a domain, and would have a name as what quotas count. */
static bool is_extended(struct sl_arena *a, const char *name) {
    const char *counted = sl_arena_printf(a, "requests.%s", name);

    return !is_native(name) && strncmp(name, "requests.", 9) != 0 &&
           sl_syntax_label_key(counted, strlen(counted)).n == 0;
}

static void resource_name(struct sl_field_errs *e, const struct sl_path *at, const char *name) {
    static const char *const standard[] = {"cpu", "memory", "ephemeral-storage"};
    /* Names that quotas have, but containers do not. */
    static const char *const quota[] = {"requests.cpu",
                                        "requests.memory",
                                        "requests.ephemeral-storage",
                                        "limits.cpu",
                                        "limits.memory",
                                        "limits.ephemeral-storage",
                                        "pods",
                                        "resourcequotas",
                                        "services",
                                        "replicationcontrollers",
                                        "secrets",
                                        "configmaps",
                                        "persistentvolumeclaims",
                                        "storage",
                                        "requests.storage",
                                        "services.nodeports",
                                        "services.loadbalancers"};
    struct sl_syntax_errors f = sl_syntax_label_key(name, strlen(name));

    for (uint32_t i = 0; i < f.n; i++)
        sl_field_invalid(e, at, sl_field_value_str(name), "%s", f.v[i]);
    if (!strchr(name, '/')) {
        bool known = is_hugepages(name) || is_one_of(standard, SL_LEN(standard), name);
        if (!known && !f.n && !is_one_of(quota, SL_LEN(quota), name) &&
            strncmp(name, "requests.hugepages-", 19) != 0)
            sl_field_invalid(e, at, sl_field_value_str(name),
                             "must be a standard resource type or fully qualified");
        if (!known)
            sl_field_invalid(e, at, sl_field_value_str(name),
                             "must be a standard resource for containers");
    } else if (!is_native(name) && !is_extended(e->arena, name)) {
        sl_field_invalid(e, at, sl_field_value_str(name),
                         "doesn't follow extended resource name standard");
    }
}

/* A multiple of the page size, which the name contains. */
static void pages_check(struct sl_field_errs *e, const struct sl_path *at, const char *name,
                        yyjson_val *v) {
    const char *size = name + strlen("hugepages-");
    char text[SL_QUANTITY_TEXT];
    sl_quantity page = 0, q = 0;

    if (!is_hugepages(name) || !sl_json_quantity(v, &q))
        return;
    if (sl_quantity_parse(size, strlen(size), &page, NULL) < 0 || page <= 0 || page % SL_NANO ||
        ((q + SL_NANO - 1) / SL_NANO) % (page / SL_NANO))
        sl_field_invalid(e, at, sl_field_value_str(amount_text(v, text)),
                         "%s is not positive integer multiple of %s", amount_text(v, text), name);
}

void api_resource_value_check(struct sl_field_errs *e, const struct sl_path *at, const char *name,
                              yyjson_val *v) {
    static const char *const whole[] = {"pods",
                                        "resourcequotas",
                                        "services",
                                        "replicationcontrollers",
                                        "secrets",
                                        "configmaps",
                                        "persistentvolumeclaims",
                                        "services.nodeports",
                                        "services.loadbalancers"};
    sl_quantity q;

    (void)api_amount_check(e, at, v, &q);
    if ((is_extended(e->arena, name) || is_one_of(whole, SL_LEN(whole), name)) &&
        sl_json_quantity(v, &q) && q % SL_NANO != 0)
        sl_field_invalid(e, at, sl_field_value_str(sl_json_text(v)), "must be an integer");
}

static void amount(struct sl_field_errs *e, const struct sl_path *at, const char *name,
                   yyjson_val *v) {
    resource_name(e, at, name);
    api_resource_value_check(e, at, name, v);
}

static bool requests_plain(yyjson_val *list) {
    return sl_json_get(list, "cpu") || sl_json_get(list, "memory");
}

static bool requests_hugepages(yyjson_val *list) {
    yyjson_val *key, *v;
    size_t i, n;

    if (!list)
        return false;
    sl_obj_foreach (list, i, n, key, v) {
        if (is_hugepages(sl_json_text(key)))
            return true;
    }
    return false;
}

static void requests_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *requests,
                           yyjson_val *limits) {
    const struct sl_path *req_at = SL_PATH(at, "requests");
    char request_text[SL_QUANTITY_TEXT], limit_text[SL_QUANTITY_TEXT];
    yyjson_val *key, *v;
    size_t i, n;

    sl_obj_foreach (requests, i, n, key, v) {
        const char *name = sl_json_text(key);
        yyjson_val *limit = sl_json_get(limits, name);
        sl_quantity request, most;

        amount(e, SL_PATH_KEY(req_at, name), name, v);
        if (!sl_json_quantity(v, &request))
            continue;
        if (!limit || !sl_json_quantity(limit, &most)) {
            if (!may_overcommit(name))
                sl_field_required(e, SL_PATH(at, "limits"),
                                  "Limit must be set for non overcommitable resources");
        } else if (request != most && !may_overcommit(name))
            sl_field_invalid(e, req_at, sl_field_value_str(amount_text(v, request_text)),
                             "must be equal to %s limit of %s", name,
                             amount_text(limit, limit_text));
        else if (request > most)
            sl_field_invalid(e, req_at, sl_field_value_str(amount_text(v, request_text)),
                             "must be less than or equal to %s limit of %s", name,
                             amount_text(limit, limit_text));
        pages_check(e, SL_PATH_KEY(req_at, name), name, v);
    }
}

void api_resources_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *resources) {
    yyjson_val *limits = sl_json_get(resources, "limits"),
               *requests = sl_json_get(resources, "requests"), *key, *v;
    size_t i, n;

    if (limits) {
        sl_obj_foreach (limits, i, n, key, v) {
            amount(e, SL_PATH_KEY(SL_PATH(at, "limits"), sl_json_text(key)), sl_json_text(key), v);
            pages_check(e, SL_PATH_KEY(SL_PATH(at, "limits"), sl_json_text(key)), sl_json_text(key),
                        v);
        }
    }
    if (requests) {
        requests_check(e, at, requests, limits);
    }
    if ((requests_hugepages(limits) || requests_hugepages(requests)) && !requests_plain(limits) &&
        !requests_plain(requests))
        sl_field_forbidden(e, at, "HugePages require cpu or memory");
}
/* ---- containers ---- */

struct scope {
    yyjson_val *spec;
    struct api_volumes volumes; /* what mounts may name */
    struct sl_wordset claims;   /* of devices, and a text of their names */
    const char *claim_names;
};

static void find_claims(struct scope *s, struct sl_arena *arena) {
    _cleanup_(sl_buf_done) struct sl_buf names = SL_BUF_SHORT(MAX_NAMES);
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (sl_json_get(s->spec, "resourceClaims"), i, n, v) {
        (void)sl_wordset_add(&s->claims, sl_json_str(v, "name"));
        sl_buf_printf(&names, "%s%s", i ? ", " : "", sl_json_str(v, "name"));
    }
    s->claim_names = sl_arena_strdup(arena, sl_buf_str(&names));
}

static void ports(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list) {
    struct sl_wordset names = {0};
    size_t i, n;
    yyjson_val *p;

    yyjson_arr_foreach (list, i, n, p) {
        const struct sl_path *p_at = SL_PATH_AT(at, i);
        const char *name = sl_json_str(p, "name");
        int64_t port = sl_json_int(p, "containerPort", 0), host = sl_json_int(p, "hostPort", 0);

        if (*name) {
            struct sl_syntax_errors f = api_word_port(name, strlen(name));
            api_word_check(e, SL_PATH(p_at, "name"), name, strlen(name), api_word_port);
            if (!sl_wordset_add(&names, name) && f.n == 0)
                sl_field_duplicate(e, SL_PATH(p_at, "name"), sl_field_value_str(name), "");
        }
        if (port == 0)
            sl_field_required(e, SL_PATH(p_at, "containerPort"), "");
        else if (port < 1 || port > 65535)
            sl_field_invalid(e, SL_PATH(p_at, "containerPort"), sl_field_value_int(port),
                             SL_PORT_RANGE);
        if (host != 0 && (host < 1 || host > 65535))
            sl_field_invalid(e, SL_PATH(p_at, "hostPort"), sl_field_value_int(host), SL_PORT_RANGE);
        api_check_one_of(e, p_at, p, "protocol", protocols, true);
    }
    sl_wordset_done(&names);
}

/* Names of devices that the pod claims, each once as a whole or by its requests. */
static void claims_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *c,
                         const struct scope *s) {
    struct sl_wordset names = {0}, parts = {0}; /* "name/request", "name/" as a whole */
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (sl_json_at(c, "resources.claims"), i, n, v) {
        const char *name = sl_json_str(v, "name"), *request = sl_json_str(v, "request");
        if (!*name) {
            sl_field_required(e, SL_PATH_AT(at, i), "");
            continue;
        }
        bool again = !sl_wordset_add(&names, name);
        bool same = !sl_wordset_add(&parts, sl_arena_printf(e->arena, "%s/%s", name, request));
        bool whole =
            again && (!*request || sl_wordset_has(&parts, sl_arena_printf(e->arena, "%s/", name)));
        if (!whole)
            api_word_check_at(e, SL_PATH_AT(at, i), v, "request", sl_syntax_dns_label, false);
        if (whole)
            sl_field_duplicate(e, SL_PATH_AT(at, i), sl_field_value_str(name), "");
        else if (same)
            sl_field_duplicate(
                e, SL_PATH_AT(at, i),
                sl_field_value_str(sl_arena_printf(e->arena, "%s/%s", name, request)), "");
        if (!sl_wordset_has(&s->claims, name))
            sl_field_not_found_in(e, SL_PATH_AT(at, i), sl_field_value_str(name),
                                  "must be one of the names in pod.spec.resourceClaims%s%s",
                                  *s->claim_names ? ": " : " which is empty", s->claim_names);
    }
    sl_wordset_done(&names);
    sl_wordset_done(&parts);
}

static void resize_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *c,
                         yyjson_val *spec) {
    static const char *const resources[] = {"cpu", "memory"};
    static const char *const policies[] = {"NotRequired", "RestartContainer"};
    static const struct {
        const char *field;
        const char *const *words;
    } rules[] = {{"resourceName", resources}, {"restartPolicy", policies}};
    yyjson_val *list = sl_json_get(c, "resizePolicy"), *v;
    bool never = strcmp(sl_json_str(spec, "restartPolicy"), "Never") == 0;
    _cleanup_(sl_wordset_done) struct sl_wordset names = {0};
    size_t i, n;

    yyjson_arr_foreach (list, i, n, v) {
        const char *name = sl_json_str(v, "resourceName"), *how = sl_json_str(v, "restartPolicy");
        if (*name && !sl_wordset_add(&names, name))
            sl_field_duplicate(e, SL_PATH_AT(at, i), sl_field_value_str(name), "");
        for (size_t k = 0; k < SL_LEN(rules); k++) {
            const char *word = sl_json_str(v, rules[k].field);
            if (!*word)
                sl_field_required(e, at, "");
            else if (strcmp(word, rules[k].words[0]) != 0 && strcmp(word, rules[k].words[1]) != 0)
                sl_field_unsupported(e, at, sl_field_value_str(word), rules[k].words, 2);
        }
        if (never && strcmp(how, policies[0]) != 0)
            sl_field_invalid(e, at, sl_field_value_str(how),
                             "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
    }
}

/* The restart policy of a container, if it differs from the pod's. */
static void restart_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *c) {
    static const char *const policies[] = {"Always", "Never", "OnFailure", NULL};
    static const char *const actions[] = {"Restart", "RestartAllContainers"};
    static const char *const operators[] = {"In", "NotIn"};
    yyjson_val *rules = sl_json_get(c, "restartPolicyRules"), *v;
    size_t i, n;

    if (sl_json_get(c, "restartPolicy"))
        api_check_one_of(e, at, c, "restartPolicy", policies, false);
    else if (sl_json_size(rules) > 0)
        sl_field_required(e, SL_PATH(at, "restartPolicy"),
                          "must specify restartPolicy when restart rules are used");
    if (sl_json_size(rules) > MAX_RULES)
        sl_field_too_many(e, SL_PATH(at, "restartPolicyRules"), sl_json_size(rules), MAX_RULES);
    yyjson_arr_foreach (rules, i, n, v) {
        const struct sl_path *v_at = SL_PATH_AT(SL_PATH(at, "restartPolicyRules"), i),
                             *codes_at = SL_PATH(v_at, "exitCodes");
        yyjson_val *codes = sl_json_get(v, "exitCodes");
        const char *action = sl_json_str(v, "action"), *op = sl_json_str(codes, "operator");
        size_t values = sl_json_size(sl_json_get(codes, "values"));
        if (strcmp(action, actions[0]) != 0 && strcmp(action, actions[1]) != 0)
            sl_field_unsupported(e, SL_PATH(v_at, "action"), sl_field_value_str(action), actions,
                                 2);
        if (!codes)
            sl_field_required(e, codes_at, "must be specified");
        else if (strcmp(op, operators[0]) != 0 && strcmp(op, operators[1]) != 0)
            sl_field_unsupported(e, SL_PATH(codes_at, "operator"), sl_field_value_str(op),
                                 operators, 2);
        if (values > MAX_CODES)
            sl_field_too_many(e, SL_PATH(codes_at, "values"), values, MAX_CODES);
    }
}

static void container(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *c,
                      const struct scope *s) {
    api_word_check_at(e, at, c, "name", sl_syntax_dns_label, true);
    if (!*sl_json_str(c, "image"))
        sl_field_required(e, SL_PATH(at, "image"), "");
    api_check_one_of(e, at, c, "terminationMessagePolicy", message_policies, false);
    ports(e, SL_PATH(at, "ports"), sl_json_get(c, "ports"));
    api_env_check(e, at, c);
    api_mounts_check(e, at, c, &s->volumes);
    api_check_one_of(e, at, c, "imagePullPolicy", pull_policies, false);
    api_resources_check(e, SL_PATH(at, "resources"), sl_json_get(c, "resources"));
    claims_check(e, SL_PATH(SL_PATH(at, "resources"), "claims"), c, s);
    resize_check(e, SL_PATH(at, "resizePolicy"), c, s->spec);
    api_container_security_check(e, SL_PATH(at, "securityContext"),
                                 sl_json_get(c, "securityContext"));
}

/* Two containers cannot have the same port of the node; those that run one after the other
 * ('alone': only this one) may. */
static void host_ports(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list,
                       yyjson_val *alone) {
    struct sl_wordset seen = {0};
    yyjson_val *c, *p;
    size_t i, n, j, m;

    yyjson_arr_foreach (list, i, n, c) {
        /* A single one is reported as if it were the first. */
        const struct sl_path *c_at = SL_PATH_AT(at, alone ? 0 : i);
        yyjson_arr_foreach (!alone || c == alone ? sl_json_get(c, "ports") : NULL, j, m, p) {
            int64_t port = sl_json_int(p, "hostPort", 0);
            if (!port)
                continue;
            const char *key = sl_arena_printf(e->arena, "%s/%s/%lld", sl_json_str(p, "protocol"),
                                              sl_json_str(p, "hostIP"), (long long)port);
            if (!sl_wordset_add(&seen, key))
                sl_field_duplicate(e, SL_PATH(SL_PATH_AT(SL_PATH(c_at, "ports"), j), "hostPort"),
                                   sl_field_value_str(key), "");
        }
    }
    sl_wordset_done(&seen);
}

static void containers(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec,
                       const struct scope *s) {
    yyjson_val *list = sl_json_get(spec, "containers"),
               *inits = sl_json_get(spec, "initContainers"), *c, *p;
    const struct sl_path *list_at = SL_PATH(at, "containers"),
                         *inits_at = SL_PATH(at, "initContainers");
    static const char *const not_of_init[] = {"lifecycle", "livenessProbe", "readinessProbe",
                                              "startupProbe"};
    _cleanup_(sl_wordset_done) struct sl_wordset names = {0};
    size_t i, n, j, m;

    if (sl_json_size(list) == 0)
        sl_field_required(e, list_at, "");
    yyjson_arr_foreach (list, i, n, c) {
        const struct sl_path *c_at = SL_PATH_AT(list_at, i);
        container(e, c_at, c, s);
        if (sl_json_get(c, "name") && !sl_wordset_add(&names, sl_json_str(c, "name")))
            sl_field_duplicate(e, SL_PATH(c_at, "name"), sl_field_value_str(sl_json_str(c, "name")),
                               "");
        api_hooks_check(e, c_at, c, s->spec);
        restart_check(e, c_at, c);
    }
    host_ports(e, list_at, list, NULL);
    yyjson_arr_foreach (inits, i, n, c) {
        const struct sl_path *c_at = SL_PATH_AT(inits_at, i);
        const char *name = sl_json_str(c, "name");
        container(e, c_at, c, s);
        restart_check(e, c_at, c);
        if (*name && !sl_wordset_add(&names, name))
            sl_field_duplicate(e, SL_PATH(c_at, "name"), sl_field_value_str(name), "");
        host_ports(e, inits_at, inits, c);
        bool stays = strcmp(sl_json_str(c, "restartPolicy"), "Always") == 0;
        if (stays)
            api_hooks_check(e, c_at, c, s->spec);
        for (size_t k = 0; !stays && k < SL_LEN(not_of_init); k++)
            if (sl_json_get(c, not_of_init[k]))
                sl_field_forbidden(
                    e, SL_PATH(c_at, not_of_init[k]),
                    "may not be set for init containers without restartPolicy=Always");
        yyjson_arr_foreach (sl_json_get(c, "resizePolicy"), j, m, p) {
            if (!stays && strcmp(sl_json_str(p, "restartPolicy"), "RestartContainer") == 0)
                sl_field_invalid(
                    e, SL_PATH(SL_PATH_AT(SL_PATH(c_at, "resizePolicy"), j), "restartPolicy"),
                    sl_field_value_str("RestartContainer"),
                    "must not be set to 'RestartContainer' for non-sidecar initContainers");
        }
    }
}

/* Images of pods; in templates, another component may fill them in. */
static void images_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list) {
    static const char space[] = " \t\n\v\f\r";
    size_t i, n;
    yyjson_val *c;

    yyjson_arr_foreach (list, i, n, c) {
        const char *image = sl_json_str(c, "image");
        if (*image && (strchr(space, image[0]) || strchr(space, image[strlen(image) - 1])))
            sl_field_invalid(e, SL_PATH(SL_PATH_AT(at, i), "image"), sl_field_value_str(image),
                             "must not have leading or trailing whitespace");
    }
}

/* ---- pods ---- */

static void gates(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec) {
    yyjson_val *list = sl_json_get(spec, "schedulingGates"), *g;
    _cleanup_(sl_wordset_done) struct sl_wordset names = {0};
    size_t i, n;

    yyjson_arr_foreach (list, i, n, g) {
        const struct sl_path *g_at = SL_PATH_AT(SL_PATH(at, "schedulingGates"), i);
        const char *name = sl_json_str(g, "name");
        struct sl_syntax_errors f = sl_syntax_label_key(name, strlen(name));
        for (uint32_t k = 0; k < f.n; k++)
            sl_field_invalid(e, g_at, sl_field_value_str(name), "%s", f.v[k]);
        if (!sl_wordset_add(&names, name))
            sl_field_duplicate(e, g_at, sl_field_value_str(name), "");
    }
}

static void times_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec,
                        enum api_pod_place place) {
    yyjson_val *deadline = sl_json_get(spec, "activeDeadlineSeconds");
    int64_t grace = sl_json_int(spec, "terminationGracePeriodSeconds", 0);

    if (deadline && (yyjson_get_sint(deadline) < 1 || yyjson_get_sint(deadline) > INT32_MAX))
        sl_field_invalid(e, SL_PATH(at, "activeDeadlineSeconds"),
                         sl_field_value_int(yyjson_get_sint(deadline)),
                         "must be between 1 and %d, inclusive", INT32_MAX);
    if (grace < 0 && place == SL_IN_POD)
        sl_field_invalid(e, SL_PATH(at, "terminationGracePeriodSeconds"), sl_field_value_int(grace),
                         SL_NOT_NEGATIVE);
}

/* In kube-apiserver's order, which is the order of the errors. */
void api_pod_spec_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec,
                        enum api_pod_place place, const char *pod, yyjson_val *claims) {
    struct scope s = {.spec = spec};

    find_claims(&s, e->arena);
    s.volumes =
        api_volumes_check(e, SL_PATH(at, "volumes"), sl_json_get(spec, "volumes"), pod, claims);
    containers(e, at, spec, &s);
    api_volumes_done(&s.volumes);
    sl_wordset_done(&s.claims);
    api_pod_network_check(e, at, spec, place == SL_IN_POD);
    api_check_one_of(e, at, spec, "restartPolicy", restart_policies, false);
    api_check_one_of(e, at, spec, "dnsPolicy", dns_policies, false);
    sl_syntax_check_labels(e, SL_PATH(at, "nodeSelector"), sl_json_get(spec, "nodeSelector"));
    api_pod_security_check(e, SL_PATH(at, "securityContext"), spec);
    api_affinity_check(e, SL_PATH(at, "affinity"), sl_json_get(spec, "affinity"));
    api_pod_dns_check(e, at, spec);
    gates(e, at, spec);
    api_spread_check(e, SL_PATH(at, "topologySpreadConstraints"),
                     sl_json_get(spec, "topologySpreadConstraints"));
    api_pod_users_check(e, at, spec);
    api_word_check_at(e, at, spec, "serviceAccountName", sl_syntax_subdomain, false);
    api_word_check_at(e, at, spec, "nodeName", sl_syntax_subdomain, false);
    times_check(e, at, spec, place);
    if (place != SL_IN_STATEFUL) { /* with a name for its pods, it has these, too */
        api_word_check_at(e, at, spec, "hostname", sl_syntax_dns_label, false);
        api_word_check_at(e, at, spec, "subdomain", sl_syntax_dns_label, false);
    }
    api_tolerations_check(e, SL_PATH(at, "tolerations"), sl_json_get(spec, "tolerations"));
    api_pod_aliases_check(e, SL_PATH(at, "hostAliases"), sl_json_get(spec, "hostAliases"));
    api_word_check_at(e, at, spec, "priorityClassName", sl_syntax_subdomain, false);
    api_word_check_at(e, at, spec, "runtimeClassName", sl_syntax_subdomain, false);
    api_check_one_of(e, at, spec, "preemptionPolicy", preemption_policies, false);
    api_pod_os_check(e, SL_PATH(at, "os"), sl_json_get(spec, "os"));
    if (place != SL_IN_POD && sl_json_size(sl_json_get(spec, "ephemeralContainers")) > 0)
        sl_field_forbidden(e, SL_PATH(at, "ephemeralContainers"),
                           "ephemeral containers not allowed in pod template");
    api_env_files_check(e, at, spec);
    if (place == SL_IN_POD) {
        images_check(e, SL_PATH(at, "containers"), sl_json_get(spec, "containers"));
        images_check(e, SL_PATH(at, "initContainers"), sl_json_get(spec, "initContainers"));
    }
}

void api_template_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *tmpl,
                        enum api_pod_place place, yyjson_val *claims) {
    sl_syntax_check_labels(e, SL_PATH(at, "labels"), sl_json_at(tmpl, "metadata.labels"));
    sl_syntax_check_annotations(e, SL_PATH(at, "annotations"),
                                sl_json_at(tmpl, "metadata.annotations"));
    api_pod_spec_check(e, SL_PATH(at, "spec"), sl_json_get(tmpl, "spec"), place, NULL, claims);
}

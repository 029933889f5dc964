/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of a pod on its way in: defaults that depend on other fields, what the admission
 * plugins of a cluster put in (limit ranges, priority, tolerations, the service account), and the
 * first status.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "core/base/stamp.h"
#include "lib/json/json.h"

/* ---- what templates have too ---- */

/* Can it be the name of an image at all? Letters are small, but for the host's and the tag. */
static bool is_image(const char *image) {
    const char *slash = strchr(image, '/');
    size_t host = slash ? (size_t)(slash - image) : 0;
    bool tag = false;

    if (host && !memchr(image, '.', host) && !memchr(image, ':', host) &&
        strncmp(image, "localhost/", 10) != 0 &&
        strcspn(image, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") >= host)
        host = 0;
    for (const char *p = image; *p; p++) {
        bool capital = *p >= 'A' && *p <= 'Z';
        tag = tag || ((size_t)(p - image) > host && (*p == ':' || *p == '@'));
        if (capital ? !tag && (size_t)(p - image) >= host
                    : !strchr("abcdefghijklmnopqrstuvwxyz0123456789._-/:@+[]", *p))
            return false;
    }
    return true;
}

/* The tag of an image is "latest", or there is neither tag nor digest. */
static bool is_latest(const char *image) {
    const char *slash = strrchr(image, '/'), *last = slash ? slash + 1 : image;
    const char *at = strchr(last, '@'), *colon = strrchr(last, ':');

    if (at || !*last || !is_image(image)) /* what is missing is reported elsewhere */
        return false;
    return !colon || strcmp(colon, ":latest") == 0;
}

static void container_defaults(yyjson_mut_doc *doc, yyjson_mut_val *list) {
    size_t i, n;
    yyjson_mut_val *c;

    yyjson_mut_arr_foreach (list, i, n, c) {
        sl_json_mut_default_str(doc, c, "imagePullPolicy",
                                is_latest(sl_json_mut_str(c, "image")) ? "Always" : "IfNotPresent");
    }
}

/* Nothing but a name. */
static bool has_source(yyjson_mut_val *volume) {
    size_t i, n;
    yyjson_mut_val *key, *v;

    yyjson_mut_obj_foreach (volume, i, n, key, v) {
        if (!yyjson_mut_equals_str(key, "name") && !yyjson_mut_is_null(v))
            return true;
    }
    return false;
}

void api_template_defaults(yyjson_mut_doc *doc, yyjson_mut_val *spec) {
    const char *name = sl_json_mut_str(spec, "serviceAccountName"),
               *old_name = sl_json_mut_str(spec, "serviceAccount");
    yyjson_mut_val *volumes = sl_json_mut_get(spec, "volumes"), *v;
    size_t i, n;

    container_defaults(doc, sl_json_mut_get(spec, "containers"));
    container_defaults(doc, sl_json_mut_get(spec, "initContainers"));
    container_defaults(doc, sl_json_mut_get(spec, "ephemeralContainers"));
    yyjson_mut_arr_foreach (volumes, i, n, v) {
        if (yyjson_mut_is_obj(v) && !has_source(v))
            sl_json_mut_set(doc, v, "emptyDir", yyjson_mut_obj(doc));
        yyjson_mut_val *image = sl_json_mut_get(v, "image");
        if (image)
            sl_json_mut_default_str(
                doc, image, "pullPolicy",
                is_latest(sl_json_mut_str(image, "reference")) ? "Always" : "IfNotPresent");
    }
    if (*name)
        sl_json_mut_set_str(doc, spec, "serviceAccount", name);
    else if (*old_name)
        sl_json_mut_set_str(doc, spec, "serviceAccountName", old_name);
}

/* ---- quality of service ---- */

enum { CPU, MEMORY, COMPUTE };
static const char *const compute[COMPUTE] = {"cpu", "memory"};

/* Adds the amount that a container requests; false: it has none for this resource. */
static bool add_amount(yyjson_mut_val *list, const char *name, sl_quantity *sum) {
    yyjson_mut_val *v = sl_json_mut_get(list, name);
    sl_quantity q = 0;

    struct sl_text t = sl_json_mut_view(v);

    if (yyjson_mut_is_str(v)) {
        if (sl_quantity_parse(t.s, t.n, &q, NULL) < 0)
            return false;
    } else if (yyjson_mut_is_int(v)) {
        q = (sl_quantity)yyjson_mut_get_sint(v) * SL_NANO;
    }
    *sum += q;
    return q > 0;
}

struct qos {
    sl_quantity requests[COMPUTE], most[COMPUTE];
    bool any_request[COMPUTE], any_most[COMPUTE], all_limited;
};

static void qos_add_resources(yyjson_mut_val *resources, struct qos *q) {
    for (int i = 0; i < COMPUTE; i++) {
        q->any_request[i] |=
            add_amount(sl_json_mut_get(resources, "requests"), compute[i], &q->requests[i]);
        bool limited = add_amount(sl_json_mut_get(resources, "limits"), compute[i], &q->most[i]);
        q->any_most[i] |= limited;
        q->all_limited = q->all_limited && limited;
    }
}

const char *api_pod_qos(yyjson_mut_val *spec) {
    static const char *const lists[] = {"containers", "initContainers"};
    struct qos q = {.all_limited = true};
    bool nothing = true, same = true;
    size_t i, n;
    yyjson_mut_val *c;

    if (sl_json_mut_get(spec, "resources")) {
        qos_add_resources(sl_json_mut_get(spec, "resources"), &q);
    } else {
        for (size_t l = 0; l < SL_LEN(lists); l++) {
            yyjson_mut_arr_foreach (sl_json_mut_get(spec, lists[l]), i, n, c) {
                qos_add_resources(sl_json_mut_get(c, "resources"), &q);
            }
        }
    }
    for (i = 0; i < COMPUTE; i++) {
        nothing = nothing && !q.any_request[i] && !q.any_most[i];
        same = same && q.any_request[i] == q.any_most[i] && q.requests[i] == q.most[i];
    }
    return nothing ? "BestEffort" : q.all_limited && same ? "Guaranteed" : "Burstable";
}

/* ---- admission: limit ranges ---- */

struct limits {
    yyjson_mut_doc *doc;
    yyjson_mut_val *spec;
    struct sl_buf message; /* for the annotation */
};

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Puts in what is absent; notes the names for the annotation. */
static void put_limits(struct limits *l, yyjson_mut_val *container, const char *field,
                       const char *word, const char *collection, yyjson_val *amounts) {
    size_t i, n, count = 0;
    yyjson_val *key, *v;
    yyjson_mut_val *list;

    if (sl_json_size(amounts) == 0)
        return;
    const char **set = sl_alloc0(sl_json_size(amounts), sizeof *set);
    list = sl_json_mut_obj(l->doc, container, field);
    sl_obj_foreach (amounts, i, n, key, v) {
        const char *name = sl_json_text(key);
        if (!list || sl_json_mut_get(list, name))
            continue;
        sl_json_mut_set(l->doc, list, name, yyjson_val_mut_copy(l->doc, v));
        set[count++] = name;
    }
    qsort(set, count, sizeof(*set), by_text);
    for (i = 0; i < count; i++)
        sl_buf_printf(&l->message, "%s%s", i ? ", " : l->message.len ? "; " : "", set[i]);
    if (count)
        sl_buf_printf(&l->message, " %s for %s %s", word, collection,
                      sl_json_mut_str(container, "name"));
    sl_freep(&set);
}

static bool apply_limits(yyjson_val *range, void *ctx) {
    static const struct {
        const char *list, *name;
    } lists[] = {{"containers", "container"}, {"initContainers", "init container"}};
    struct limits *l = ctx;
    size_t i, n, ci, cn;
    yyjson_val *item;
    yyjson_mut_val *c;

    for (size_t k = 0; k < SL_LEN(lists); k++) {
        yyjson_arr_foreach (sl_json_at(range, "spec.limits"), i, n, item) {
            if (strcmp(sl_json_str(item, "type"), "Container") != 0)
                continue;
            yyjson_mut_arr_foreach (sl_json_mut_get(l->spec, lists[k].list), ci, cn, c) {
                if (sl_json_mut_obj(l->doc, c, "resources")) {
                    put_limits(l, c, "resources.requests", "request", lists[k].name,
                               sl_json_get(item, "defaultRequest"));
                    put_limits(l, c, "resources.limits", "limit", lists[k].name,
                               sl_json_get(item, "default"));
                }
            }
        }
    }
    return false; /* the next one, too */
}

static void admit_limits(struct api_change *c, yyjson_mut_val *spec) {
    struct api_kind *k = api_kind_find(c->server, "", "limitranges");
    struct limits l = {.doc = c->doc, .spec = spec};

    if (!k)
        return;
    sl_buf_init(&l.message, (size_t)16 << 10);
    sl_buf_short(&l.message); /* may be truncated */
    yyjson_doc_free(api_kind_pick(c->server, k, c->ns, apply_limits, &l));
    if (l.message.len) {
        yyjson_mut_val *notes = sl_json_mut_obj(c->doc, c->object, "metadata.annotations");
        char *text =
            sl_arena_printf(c->arena, "LimitRanger plugin set: %s", sl_buf_str(&l.message));
        sl_json_mut_set_str(c->doc, notes, "kubernetes.io/limit-ranger", text);
    }
    sl_buf_done(&l.message);
}

/* ---- admission: priority ---- */

static bool is_global_default(yyjson_val *class, void *ctx) {
    (void)ctx;
    return sl_json_bool(class, "globalDefault", false);
}

static void admit_priority(struct api_change *c, yyjson_mut_val *spec) {
    struct api_kind *k = api_kind_find(c->server, "scheduling.k8s.io", "priorityclasses");
    const char *name = sl_json_mut_str(spec, "priorityClassName"), *policy = "PreemptLowerPriority";
    yyjson_val *class;
    _cleanup_(sl_json_docp) yyjson_doc *found = NULL;
    int64_t value = 0;

    if (k)
        found = *name ? api_kind_read(c->server, k, "", name)
                      : api_kind_pick(c->server, k, "", is_global_default, NULL);
    if (*name && !found) {
        api_change_refuse(c, 403, "Forbidden",
                          "pods \"%s\" is forbidden: no PriorityClass with name %s was found",
                          sl_json_mut_str(c->object, "metadata.name"), name);
        return;
    }
    if (found) {
        class = yyjson_doc_get_root(found);
        value = sl_json_int(class, "value", 0);
        if (*name == '\0')
            sl_json_mut_set_str(c->doc, spec, "priorityClassName",
                                sl_json_str(class, "metadata.name"));
        if (*sl_json_str(class, "preemptionPolicy"))
            policy = sl_json_str(class, "preemptionPolicy");
    }
    if (sl_json_mut_get(spec, "priority") && sl_json_mut_int(spec, "priority", 0) != value)
        api_change_refuse(
            c, 403, "Forbidden",
            "pods \"%s\" is forbidden: the integer value of priority (%lld) must not be provided "
            "in pod spec; "
            "priority admission controller computed %lld from the given PriorityClass name",
            sl_json_mut_str(c->object, "metadata.name"),
            (long long)sl_json_mut_int(spec, "priority", 0), (long long)value);
    const char *policy_given = sl_json_mut_str(spec, "preemptionPolicy");
    if (*policy_given && strcmp(policy_given, policy) != 0)
        api_change_refuse(
            c, 403, "Forbidden",
            "pods \"%s\" is forbidden: the string value of PreemptionPolicy (%s) must "
            "not be provided in pod spec; priority admission controller computed %s "
            "from the given PriorityClass name",
            sl_json_mut_str(c->object, "metadata.name"), policy_given, policy);
    sl_json_mut_set_int(c->doc, spec, "priority", value);
    sl_json_mut_default_str(c->doc, spec, "preemptionPolicy", policy);
}

/* ---- admission: tolerations, runtime classes ---- */

static bool tolerates(yyjson_mut_val *tolerations, const char *taint) {
    size_t i, n;
    yyjson_mut_val *t;

    yyjson_mut_arr_foreach (tolerations, i, n, t) {
        const char *key = sl_json_mut_str(t, "key"), *effect = sl_json_mut_str(t, "effect");
        if ((*key == '\0' || strcmp(key, taint) == 0) &&
            (*effect == '\0' || strcmp(effect, "NoExecute") == 0))
            return true;
    }
    return false;
}

static void admit_tolerations(struct api_change *c, yyjson_mut_val *spec) {
    static const char *const taints[] = {"node.kubernetes.io/not-ready",
                                         "node.kubernetes.io/unreachable"};

    for (size_t i = 0; i < SL_LEN(taints); i++) {
        yyjson_mut_val *list = sl_json_mut_get(spec, "tolerations"), *t;
        if (tolerates(list, taints[i]))
            continue;
        if (!yyjson_mut_is_arr(list)) {
            list = yyjson_mut_arr(c->doc);
            sl_json_mut_set(c->doc, spec, "tolerations", list);
        }
        t = yyjson_mut_arr_add_obj(c->doc, list);
        yyjson_mut_obj_add_str(c->doc, t, "key", taints[i]);
        yyjson_mut_obj_add_str(c->doc, t, "operator", "Exists");
        yyjson_mut_obj_add_str(c->doc, t, "effect", "NoExecute");
        yyjson_mut_obj_add_int(c->doc, t, "tolerationSeconds", 300);
    }
}

static void admit_runtime(struct api_change *c, yyjson_mut_val *spec) {
    struct api_kind *k = api_kind_find(c->server, "node.k8s.io", "runtimeclasses");
    const char *name = sl_json_mut_str(spec, "runtimeClassName");
    _cleanup_(sl_json_docp) yyjson_doc *class = NULL;
    yyjson_val *overhead;

    if (*name == '\0' || !k)
        return;
    class = api_kind_read(c->server, k, "", name);
    if (!class) {
        api_change_refuse(c, 403, "Forbidden",
                          "pods \"%s\" is forbidden: pod rejected: RuntimeClass \"%s\" not found",
                          sl_json_mut_str(c->object, "metadata.name"), name);
        return;
    }
    overhead = sl_json_at(yyjson_doc_get_root(class), "overhead.podFixed");
    if (overhead && !sl_json_mut_get(spec, "overhead"))
        sl_json_mut_set(c->doc, spec, "overhead", yyjson_val_mut_copy(c->doc, overhead));
}

/* ---- the pod itself ---- */

/* Limits without requests: requests equal them. */
static void requests_of_limits(yyjson_mut_doc *doc, yyjson_mut_val *list) {
    size_t i, n, ki, kn;
    yyjson_mut_val *c, *key, *v;

    yyjson_mut_arr_foreach (list, i, n, c) {
        yyjson_mut_val *limits = sl_json_mut_at(c, "resources.limits"), *requests;
        if (!yyjson_mut_is_obj(limits))
            continue;
        requests = sl_json_mut_obj(doc, c, "resources.requests");
        yyjson_mut_obj_foreach (limits, ki, kn, key, v) {
            if (requests && !sl_json_mut_get(requests, sl_json_mut_text(key)))
                sl_json_mut_set(doc, requests, sl_json_mut_text(key),
                                yyjson_mut_val_mut_copy(doc, v));
        }
    }
}

static void host_ports(yyjson_mut_doc *doc, yyjson_mut_val *list) {
    size_t i, n, pi, pn;
    yyjson_mut_val *c, *p;

    yyjson_mut_arr_foreach (list, i, n, c) {
        yyjson_mut_arr_foreach (sl_json_mut_get(c, "ports"), pi, pn, p) {
            if (sl_json_mut_int(p, "hostPort", 0) == 0)
                sl_json_mut_set_int(doc, p, "hostPort", sl_json_mut_int(p, "containerPort", 0));
        }
    }
}

static void pod_defaults(struct api_change *c) {
    yyjson_mut_val *spec = sl_json_mut_get(c->object, "spec");

    if (!api_change_is_object(c) || !yyjson_mut_is_obj(spec))
        return;
    requests_of_limits(c->doc, sl_json_mut_get(spec, "containers"));
    requests_of_limits(c->doc, sl_json_mut_get(spec, "initContainers"));
    sl_json_mut_default_bool(c->doc, spec, "enableServiceLinks", true);
    if (sl_json_mut_bool(spec, "hostNetwork", false)) {
        host_ports(c->doc, sl_json_mut_get(spec, "containers"));
        host_ports(c->doc, sl_json_mut_get(spec, "initContainers"));
    }
    if (sl_json_mut_int(spec, "terminationGracePeriodSeconds", 0) < 0)
        sl_json_mut_set_int(c->doc, spec, "terminationGracePeriodSeconds", 1);
    api_template_defaults(c->doc, spec);
}

static void pod_admit(struct api_change *c) {
    yyjson_mut_val *spec = sl_json_mut_get(c->object, "spec");

    if (!api_change_is_object(c) || !yyjson_mut_is_obj(spec))
        return;
    admit_tolerations(c, spec);
    if (api_change_is_create(c)) {
        admit_limits(c, spec);
        sl_json_mut_default_str(c->doc, spec, "serviceAccountName",
                                *sl_json_mut_str(spec, "serviceAccount")
                                    ? sl_json_mut_str(spec, "serviceAccount")
                                    : "default");
        api_admit_account(c, spec);
        admit_priority(c, spec);
        admit_runtime(c, spec);
    } else { /* an update without it keeps the stored value */
        static const char *const given[] = {"priority", "preemptionPolicy"};
        for (size_t i = 0; i < SL_LEN(given); i++)
            if (!sl_json_mut_get(spec, given[i]))
                sl_json_mut_keep(c->doc, spec, given[i], sl_json_get(c->old, "spec"));
    }
    api_template_defaults(c->doc, spec);
}

/* A condition as the server writes it: without a reason, if that is "". */
static void put_condition(struct api_change *c, yyjson_mut_val *conditions, const char *type,
                          const char *is, const char *reason, const char *message) {
    yyjson_mut_val *o = NULL, *at;
    char now[SL_STAMP_TEXT];
    size_t i, n;

    yyjson_mut_arr_foreach (conditions, i, n, at) {
        if (strcmp(sl_json_mut_str(at, "type"), type) == 0)
            o = at;
    }
    if (!o)
        o = yyjson_mut_arr_add_obj(c->doc, conditions);
    else
        yyjson_mut_obj_clear(o);
    yyjson_mut_obj_add_str(c->doc, o, "type", type);
    yyjson_mut_obj_add_str(c->doc, o, "status", is);
    yyjson_mut_obj_add_null(c->doc, o, "lastProbeTime");
    yyjson_mut_obj_add_strcpy(c->doc, o, "lastTransitionTime", sl_stamp(c->now, now));
    if (*reason) {
        yyjson_mut_obj_add_str(c->doc, o, "reason", reason);
        yyjson_mut_obj_add_str(c->doc, o, "message", message);
    }
}

static void pod_prepare(struct api_change *c) {
    yyjson_mut_val *status, *conditions;

    if (strcmp(c->subresource, "binding") == 0) {
        status = sl_json_mut_obj(c->doc, c->object, "status");
        conditions = sl_json_mut_get(status, "conditions");
        if (!yyjson_mut_is_arr(conditions)) {
            conditions = yyjson_mut_arr(c->doc);
            sl_json_mut_set(c->doc, status, "conditions", conditions);
        }
        put_condition(c, conditions, "PodScheduled", "True", "", "");
        sl_json_mut_set(c->doc, status, "nominatedNodeName", NULL);
        return;
    }
    if (!api_change_is_create(c)) {
        if (strcmp(c->subresource, "status") == 0) {
            sl_json_mut_keep(c->doc, sl_json_mut_get(c->object, "metadata"), "ownerReferences",
                             sl_json_get(c->old, "metadata"));
            status = sl_json_mut_obj(c->doc, c->object, "status");
            if (*sl_json_mut_str(status, "qosClass") == '\0')
                sl_json_mut_keep(c->doc, status, "qosClass", sl_json_get(c->old, "status"));
            if (sl_json_mut_int(status, "observedGeneration", 0) == 0)
                sl_json_mut_keep(c->doc, status, "observedGeneration",
                                 sl_json_get(c->old, "status"));
        }
        return;
    }
    status = yyjson_mut_obj(c->doc);
    yyjson_mut_obj_add_str(c->doc, status, "phase", "Pending");
    if (yyjson_mut_arr_size(sl_json_mut_at(c->object, "spec.schedulingGates")) > 0)
        put_condition(c, yyjson_mut_obj_add_arr(c->doc, status, "conditions"), "PodScheduled",
                      "False", "SchedulingGated",
                      "Scheduling is blocked due to non-empty scheduling gates");
    yyjson_mut_obj_add_str(c->doc, status, "qosClass",
                           api_pod_qos(sl_json_mut_get(c->object, "spec")));
    sl_json_mut_set(c->doc, c->object, "status", status);
}

static void pod_validate(struct api_change *c, yyjson_val *pod) {
    const struct sl_path *at = SL_PATH(NULL, "spec");
    yyjson_val *spec = sl_json_get(pod, "spec");

    if (strcmp(c->subresource, "status") == 0)
        return;
    api_pod_spec_check(c->errs, at, spec, SL_IN_POD, sl_json_str(pod, "metadata.name"), NULL);
    if (!c->old) {
        if (*sl_json_str(spec, "nodeName") &&
            sl_json_size(sl_json_get(spec, "schedulingGates")) > 0)
            sl_field_forbidden(c->errs, SL_PATH(at, "nodeName"),
                               "cannot be set until all schedulingGates have been cleared");
        if (sl_json_size(sl_json_get(spec, "ephemeralContainers")) > 0)
            sl_field_forbidden(c->errs, SL_PATH(at, "ephemeralContainers"),
                               "cannot be set on create");
        if (c->errs->n == 0 && !*sl_json_str(spec, "runtimeClassName") &&
            yyjson_obj_size(sl_json_get(spec, "overhead")) > 0)
            api_change_refuse(c, 403, "Forbidden",
                              "pods \"%s\" is forbidden: pod rejected: Pod Overhead set without "
                              "corresponding RuntimeClass defined Overhead",
                              sl_json_str(pod, "metadata.name"));
        api_pod_warn(c, pod, "spec");
    } else if (api_change_is_object(c)) {
        api_pod_update_check(c->errs, c->old, pod);
    }
}

/* Where it runs it gets the time to end; where it does not, it goes at once. */
static int64_t pod_grace(yyjson_val *pod, int64_t requested) {
    const char *phase = sl_json_str(pod, "status.phase");
    int64_t grace =
        requested >= 0 ? requested : sl_json_int(pod, "spec.terminationGracePeriodSeconds", 0);

    if (*sl_json_str(pod, "spec.nodeName") == '\0' || strcmp(phase, "Failed") == 0 ||
        strcmp(phase, "Succeeded") == 0)
        return 0;
    return grace < 0 ? 1 : grace;
}

/* The node is not part of what the user requests. */
static bool pod_is_new_generation(yyjson_val *old, yyjson_val *pod) {
    static const char *const skip[] = {"nodeName", NULL};
    return !sl_json_same_but(sl_json_get(old, "spec"), sl_json_get(pod, "spec"), skip);
}

const struct api_strategy api_pod_strategy = {
    .prepare = pod_prepare,
    .defaults = pod_defaults,
    .admit = pod_admit,
    .validate = pod_validate,
    .meta = SL_META_BOTH,
    .is_new_generation = pod_is_new_generation,
    .grace = pod_grace,
    .returns_deleted = true,
};

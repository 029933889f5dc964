/* SPDX-License-Identifier: Apache-2.0 */
/* What the objects of the API say, as plainly as possible. */
#include "fluxworld.h"

bool view_terminal(yyjson_val *pod) {
    const char *phase = sl_json_str(pod, "status.phase");
    return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

bool view_ours(yyjson_val *pod) {
    return strcmp(sl_json_str(pod, "spec.schedulerName"), "FluxionScheduler") == 0;
}

bool view_plain(yyjson_val *pod) {
    return fakeapi_number(sl_json_str(pod, "metadata.name"), "q", &(uint32_t){0}, NULL);
}

uint32_t view_node(const char *name) {
    uint32_t n;
    return fakeapi_number(name, "n", &n, NULL) && n < MAX_NODES ? n : MAX_NODES;
}

bool view_other_gates(yyjson_val *pod) {
    size_t i, n;
    yyjson_val *g;
    yyjson_arr_foreach (sl_json_at(pod, "spec.schedulingGates"), i, n, g)
        if (strcmp(sl_json_str(g, "name"), "fluxqueue") != 0)
            return true;
    return false;
}

/* ---- amounts ---- */

static int64_t amount(yyjson_val *list, const char *key, sl_quantity unit) {
    sl_quantity q = 0;
    return sl_json_quantity(sl_json_get(list, key), &q) ? (int64_t)(q / unit) : 0;
}

static struct amounts amounts_of(yyjson_val *list) {
    struct amounts a = {0};
    a.n[CPU] = amount(list, "cpu", SL_NANO / 1000);
    a.n[MEMORY] = amount(list, "memory", (sl_quantity)SL_NANO * 1024);
    a.n[GPU] = amount(list, "example.com/gpu", SL_NANO);
    a.n[COUNT] = amount(list, "pods", SL_NANO);
    return a;
}

/* The sum of its containers, or what the first step takes if that is more. */
struct amounts view_requests(yyjson_val *spec) {
    struct amounts sum = {0};
    size_t i, n;
    yyjson_val *c;
    yyjson_arr_foreach (sl_json_at(spec, "containers"), i, n, c) {
        struct amounts a = amounts_of(sl_json_at(c, "resources.requests"));
        for (uint32_t r = 0; r < RESOURCES; r++)
            sum.n[r] += a.n[r];
    }
    yyjson_arr_foreach (sl_json_at(spec, "initContainers"), i, n, c) {
        struct amounts a = amounts_of(sl_json_at(c, "resources.requests"));
        for (uint32_t r = 0; r < RESOURCES; r++)
            sum.n[r] = a.n[r] > sum.n[r] ? a.n[r] : sum.n[r];
    }
    sum.n[COUNT] = 1;
    return sum;
}

struct amounts view_allocatable(yyjson_val *node) {
    return amounts_of(sl_json_at(node, "status.allocatable"));
}

bool view_fits(const struct amounts *need, const struct amounts *free) {
    for (uint32_t r = 0; r < RESOURCES; r++)
        if (need->n[r] > 0 && need->n[r] > free->n[r])
            return false;
    return true;
}

/* ---- nodes ---- */

static bool tolerates(yyjson_val *spec, const char *key, const char *value, const char *effect) {
    size_t i, n;
    yyjson_val *t;
    yyjson_arr_foreach (sl_json_at(spec, "tolerations"), i, n, t) {
        const char *k = sl_json_str(t, "key"), *e = sl_json_str(t, "effect");
        bool exists = strcmp(sl_json_str(t, "operator"), "Exists") == 0;
        if ((*e && strcmp(e, effect) != 0) || (*k && strcmp(k, key) != 0) || (!*k && !exists))
            continue;
        if (exists || strcmp(sl_json_str(t, "value"), value) == 0)
            return true;
    }
    return false;
}

bool view_admits(yyjson_val *node, yyjson_val *spec) {
    size_t i, n;
    yyjson_val *t, *key, *val;
    if (!sl_json_condition(node, "Ready") || sl_json_at(node, "metadata.deletionTimestamp"))
        return false;
    if (sl_json_bool(node, "spec.unschedulable", false) &&
        !tolerates(spec, "node.kubernetes.io/unschedulable", "", "NoSchedule"))
        return false;
    yyjson_arr_foreach (sl_json_at(node, "spec.taints"), i, n, t)
        if (strcmp(sl_json_str(t, "effect"), "PreferNoSchedule") != 0 &&
            !tolerates(spec, sl_json_str(t, "key"), sl_json_str(t, "value"),
                       sl_json_str(t, "effect")))
            return false;
    sl_obj_foreach (sl_json_at(spec, "nodeSelector"), i, n, key, val) {
        const char *is = sl_json_label_opt(node, sl_json_text(key));
        if (!is || strcmp(is, sl_json_text(val)) != 0)
            return false;
    }
    return true;
}

/* ---- owners ---- */

static yyjson_val *controller_of(yyjson_val *o) {
    size_t i, n;
    yyjson_val *ref;
    yyjson_arr_foreach (sl_json_at(o, "metadata.ownerReferences"), i, n, ref)
        if (sl_json_bool(ref, "controller", false))
            return ref;
    return NULL;
}

/* The controller itself, if it is still there. */
static yyjson_val *owner_of(struct world *w, yyjson_val *ref) {
    static const struct {
        const char *kind, *path;
    } kinds[] = {{"Job", JOBS "/"},
                 {"StatefulSet", APPS "statefulsets/"},
                 {"ReplicaSet", APPS "replicasets/"},
                 {"Deployment", APPS "deployments/"}};
    char path[200];
    for (size_t i = 0; i < SL_LEN(kinds); i++) {
        if (strcmp(sl_json_str(ref, "kind"), kinds[i].kind) != 0)
            continue;
        (void)snprintf(path, sizeof path, "%s%s", kinds[i].path, sl_json_str(ref, "name"));
        yyjson_val *o = fakeapi_get(w->api, path);
        return o && strcmp(sl_json_str(o, "metadata.uid"), sl_json_str(ref, "uid")) == 0 ? o : NULL;
    }
    return NULL;
}

void view_flux_of(struct world *w, yyjson_val *pod, char out[96]) {
    yyjson_val *ref = controller_of(pod), *owner = ref ? owner_of(w, ref) : NULL,
               *above = owner ? controller_of(owner) : NULL;
    *out = '\0';
    if (!view_ours(pod) || view_plain(pod) || (ref && !owner) || (above && !owner_of(w, above)))
        return;
    ref = above ? above : ref;
    (void)snprintf(out, 96, "%s-%s", sl_json_str(ref ? ref : sl_json_get(pod, "metadata"), "name"),
                   ref ? sl_json_str(ref, "kind") : "pod");
    for (char *c = out; *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
}

struct flux *view_flux(struct world *w, const char *name) {
    for (uint32_t i = w->fluxes.n; i-- > 0;)
        if (strcmp(w->fluxes.v[i].name, name) == 0 && !w->fluxes.v[i].gone)
            return &w->fluxes.v[i];
    return NULL;
}

yyjson_val *view_object(struct world *w, yyjson_val *flux) {
    static const char *const paths[] = {PODS "/", JOBS "/", APPS "deployments/",
                                        APPS "replicasets/", APPS "statefulsets/"};
    char path[200];
    int64_t type = sl_json_int(flux, "spec.type", -1);
    yyjson_val *ref = controller_of(flux);
    if (type < 0 || type >= (int64_t)SL_LEN(paths))
        return NULL;
    (void)snprintf(path, sizeof path, "%s%s", paths[type], sl_json_str(flux, "spec.name"));
    yyjson_val *o = fakeapi_get(w->api, path);
    return o && ref && strcmp(sl_json_str(ref, "uid"), sl_json_str(o, "metadata.uid")) == 0 ? o
                                                                                            : NULL;
}

yyjson_val *view_pod_spec(yyjson_val *o) {
    yyjson_val *template = sl_json_at(o, "spec.template.spec");
    return template ? template : sl_json_at(o, "spec");
}

static bool is_rack(yyjson_val *term) {
    return strcmp(sl_json_str(term, "topologyKey"), "example.com/rack") == 0;
}

uint32_t view_rules(yyjson_val *o, struct rule v[MAX_RULES]) {
    static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution";
    yyjson_val *spec = view_pod_spec(o), *affinity = sl_json_get(spec, "affinity"), *term,
               *apart = sl_json_get(sl_json_get(affinity, "podAntiAffinity"), required),
               *near = sl_json_get(sl_json_get(affinity, "podAffinity"), required);
    const char *tasks = sl_json_annotation(o, "fluxqueue/tasks-per-node");
    uint32_t n = 0;
    size_t i, all;
    if (*sl_json_annotation(o, "fluxqueue/within"))
        v[n++] = (struct rule){.rack = true};
    if (*tasks)
        v[n++] = (struct rule){.most = (uint32_t)strtoul(tasks, NULL, 10)};
    yyjson_arr_foreach (apart, i, all, term)
        if (n < MAX_RULES)
            v[n++] = (struct rule){is_rack(term), 1};
    yyjson_arr_foreach (near, i, all, term)
        if (n < MAX_RULES)
            v[n++] = (struct rule){is_rack(term), 0};
    yyjson_arr_foreach (sl_json_get(spec, "topologySpreadConstraints"), i, all, term)
        if (n < MAX_RULES)
            v[n++] = (struct rule){is_rack(term), (uint32_t)sl_json_int(term, "maxSkew", 1)};
    return n;
}

int64_t view_wanted(yyjson_val *o) {
    if (sl_json_at(o, "spec.containers"))
        return !view_terminal(o);
    if (sl_json_at(o, "spec.replicas"))
        return sl_json_int(o, "spec.replicas", 1);
    int64_t parallelism = sl_json_int(o, "spec.parallelism", 1),
            left = sl_json_int(o, "spec.completions", -1);
    if (sl_json_condition(o, "Complete") || sl_json_condition(o, "Failed"))
        return 0;
    if (left < 0)
        return sl_json_int(o, "status.succeeded", 0) ? sl_json_int(o, "status.active", 0)
                                                     : parallelism;
    left -= sl_json_int(o, "status.succeeded", 0);
    return left < parallelism ? left < 0 ? 0 : left : parallelism;
}

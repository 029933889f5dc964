/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ray: what KubeRay adds to pods when it makes them, and what stands in no template, counts.
 *
 * - With in-tree autoscaling the head has the container "autoscaler".
 * - With fault tolerance of the GCS a job cleans up Redis when the cluster ends; it takes the place
 *   of the head, whose Ray container requests at least as much.
 * - A RayJob has a pod that submits (K8sJobMode), or the head has a container that does
 *   (SidecarMode).
 */
#include <string.h>
#include <strings.h>

#include "core/base/fmt.h"
#include "lib/json/json.h"
#include "manager/jobkinds/rows.h"

#define HEAD ".headGroupSpec"
#define SUBMITTER "ray-job-submitter"

struct amounts {
    const char *cpu, *memory;
};
static const struct amounts autoscaler = {"500m", "512Mi"};
static const struct amounts submitter = {"500m", "200Mi"}, submitter_limit = {"1", "1Gi"};
static const struct amounts cleanup = {"200m", "256Mi"};

static yyjson_mut_val *list_of(yyjson_mut_doc *d, const struct amounts *a) {
    yyjson_mut_val *v = yyjson_mut_obj(d);
    (void)yyjson_mut_obj_add_str(d, v, "cpu", a->cpu);
    (void)yyjson_mut_obj_add_str(d, v, "memory", a->memory);
    return v;
}

static yyjson_mut_val *container(yyjson_mut_doc *d, const char *name,
                                 const struct amounts *requests, const struct amounts *limits) {
    yyjson_mut_val *c = yyjson_mut_obj(d);
    (void)yyjson_mut_obj_add_str(d, c, "name", name);
    yyjson_mut_val *r = yyjson_mut_obj_add_obj(d, c, "resources");
    (void)yyjson_mut_obj_add_val(d, r, "requests", list_of(d, requests));
    (void)yyjson_mut_obj_add_val(d, r, "limits", list_of(d, limits));
    return c;
}

static yyjson_mut_val *autoscaler_of(yyjson_mut_doc *d, yyjson_val *cluster) {
    yyjson_val *own = sl_json_at(cluster, "autoscalerOptions.resources");
    yyjson_mut_val *c = container(d, "autoscaler", &autoscaler, &autoscaler);
    if (own)
        (void)yyjson_mut_obj_put(c, yyjson_mut_str(d, "resources"), yyjson_val_mut_copy(d, own));
    return c;
}

static yyjson_mut_val *object_in(yyjson_mut_doc *d, yyjson_mut_val *o, const char *key) {
    yyjson_mut_val *v = yyjson_mut_obj_get(o, key);
    if (yyjson_mut_is_obj(v))
        return v;
    v = yyjson_mut_obj(d);
    (void)yyjson_mut_obj_put(o, yyjson_mut_str(d, key), v);
    return v;
}

static void raise_to(yyjson_mut_doc *d, yyjson_mut_val *requests, yyjson_val *had, const char *key,
                     const char *amount) {
    sl_quantity now = 0, least = 0;
    bool has = sl_json_quantity(yyjson_obj_get(had, key), &now);
    if (sl_quantity_parse(amount, strlen(amount), &least, NULL) >= 0 && (!has || now < least))
        (void)yyjson_mut_obj_put(requests, yyjson_mut_str(d, key), yyjson_mut_str(d, amount));
}

static void add_cleanup(yyjson_mut_doc *d, yyjson_mut_val *containers, yyjson_val *head) {
    yyjson_mut_val *first = yyjson_mut_arr_get_first(containers);
    yyjson_val *had =
        sl_json_at(yyjson_arr_get_first(sl_json_at(head, "spec.containers")), "resources.requests");
    if (!yyjson_mut_is_obj(first))
        return;
    yyjson_mut_val *requests = object_in(d, object_in(d, first, "resources"), "requests");
    raise_to(d, requests, had, "cpu", cleanup.cpu);
    raise_to(d, requests, had, "memory", cleanup.memory);
}

static bool is_tolerant(yyjson_val *o, yyjson_val *cluster) {
    return sl_json_at(cluster, "gcsFaultToleranceOptions") ||
           strcasecmp(sl_json_annotation(o, "ray.io/ft-enabled"), "true") == 0;
}

static void change_head(yyjson_val *o, yyjson_val *cluster, bool submits,
                        struct sl_jobkind_podsets *ret) {
    struct sl_jobkind_pods *head = &ret->v[0];
    bool scales = sl_json_bool(cluster, "enableInTreeAutoscaling", false);
    bool tolerant = is_tolerant(o, cluster);
    yyjson_val *list = sl_json_at(head->template, "spec.containers");
    if ((!scales && !tolerant && !submits) || !yyjson_is_arr(list))
        return;
    yyjson_mut_doc *d = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *t = yyjson_val_mut_copy(d, head->template);
    yyjson_mut_val *containers = yyjson_mut_obj_get(yyjson_mut_obj_get(t, "spec"), "containers");
    if (tolerant)
        add_cleanup(d, containers, head->template);
    if (scales)
        (void)yyjson_mut_arr_append(containers, autoscaler_of(d, cluster));
    if (submits)
        (void)yyjson_mut_arr_append(containers,
                                    container(d, SUBMITTER, &submitter, &submitter_limit));
    head->template = jobkind_keep(ret, d, t);
}

/* The pod that KubeRay makes if none is described: with the head's image. */
static yyjson_val *default_submitter(struct sl_jobkind_podsets *ret) {
    yyjson_val *head = yyjson_arr_get_first(sl_json_at(ret->v[0].template, "spec.containers"));
    yyjson_mut_doc *d = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *t = yyjson_mut_obj(d), *spec = yyjson_mut_obj_add_obj(d, t, "spec");
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(d, spec, "containers");
    yyjson_mut_val *c = container(d, SUBMITTER, &submitter, &submitter_limit);
    (void)yyjson_mut_obj_add_strcpy(d, c, "image", sl_json_str(head, "image"));
    (void)yyjson_mut_arr_append(list, c);
    (void)yyjson_mut_obj_add_str(d, spec, "restartPolicy", "Never");
    return jobkind_keep(ret, d, t);
}

static int add_submitter(yyjson_val *o, struct sl_jobkind_podsets *ret, struct sl_err *err) {
    struct sl_jobkind_pods *p = jobkind_add(ret);
    if (!p)
        return jobkind_too_many(err);
    p->name = "submitter";
    p->path = "spec.submitterPodTemplate";
    p->pointer = "/spec/submitterPodTemplate";
    p->base = sl_json_at(o, p->path);
    p->template = p->base ? p->base : default_submitter(ret);
    if (!yyjson_is_obj(p->template))
        return sl_err_set(err, SL_EINVAL, "%s: expected a pod template", p->path);
    return 0;
}

int jobkind_ray(const struct sl_jobkind *k, yyjson_val *o, struct sl_jobkind_podsets *ret,
                struct sl_err *err) {
    char path[SL_JOBKIND_MAX_PATH + 1];
    size_t n = strlen(k->groups[0].at) - strlen(HEAD);
    sl_fmt(path, sizeof path, "%.*s", (int)n, k->groups[0].at);
    yyjson_val *cluster = sl_json_at(o, path);
    const char *mode =
        k->rule == SL_JOBKIND_RAYJOB ? sl_json_str(o, "spec.submissionMode") : "none";
    int r = jobkind_plain(k, o, ret, err);
    if (r < 0)
        return r;
    change_head(o, cluster, strcmp(mode, "SidecarMode") == 0, ret);
    /* The schema has it as the default. */
    return !*mode || strcmp(mode, "K8sJobMode") == 0 ? add_submitter(o, ret, err) : 0;
}

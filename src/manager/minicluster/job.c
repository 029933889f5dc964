/* SPDX-License-Identifier: Apache-2.0 */
/* The Job of a MiniCluster, and the pod of its services. */
#include <string.h>

#include "core/base/fmt.h"
#include "manager/minicluster/mc_int.h"

#define BACKOFF_LIMIT 100
#define DEADLINE 31500000 /* about a year */
#define ELASTIC "kueue.x-k8s.io/elastic-job"
#define PREFERRED 100

void mc_head_put(struct sl_jw *j, const char *api_version, const char *kind, const char *name,
                 const struct sl_rec *owner) {
    sl_jw_str(j, "apiVersion", api_version);
    sl_jw_str(j, "kind", kind);
    sl_jw_object(j, "metadata");
    sl_jw_str(j, "name", name);
    if (!owner)
        return;
    sl_jw_array(j, "ownerReferences");
    sl_rec_put_owner(j, owner);
    sl_jw_end(j);
}

struct label {
    const char *key, *value;
};

static bool is_one_of(const struct label *v, size_t n, const char *key) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i].key, key) == 0)
            return true;
    return false;
}

/* The labels of the spec, and ours in place of those with the same names. */
static void put_labels(struct sl_jw *j, const struct mc_view *v, const struct label *own,
                       size_t n_own) {
    size_t i, n;
    yyjson_val *key, *value;
    sl_jw_object(j, "labels");
    sl_obj_foreach (sl_json_at(v->spec, "pod.labels"), i, n, key, value)
        if (!is_one_of(own, n_own, sl_json_text(key)))
            sl_jw_val(j, sl_json_text(key), value);
    for (i = 0; i < n_own; i++)
        sl_jw_str(j, own[i].key, own[i].value);
    sl_jw_end(j);
}

/* ---- affinity: pods of a cluster near each other, and not on one node ---- */

static void put_term(struct sl_jw *j, const struct mc_view *v, const char *key,
                     const char *topology) {
    sl_jw_object(j, key);
    sl_jw_array(j, "preferredDuringSchedulingIgnoredDuringExecution");
    sl_jw_object(j, NULL);
    sl_jw_int(j, "weight", PREFERRED);
    sl_jw_object(j, "podAffinityTerm");
    sl_jw_str(j, "topologyKey", topology);
    sl_jw_object(j, "labelSelector");
    sl_jw_array(j, "matchExpressions");
    sl_jw_object(j, NULL);
    sl_jw_str(j, "key", MC_APP_NAME);
    sl_jw_str(j, "operator", "In");
    sl_jw_array(j, "values");
    sl_jw_str(j, NULL, v->name);
    sl_jw_end(j); /* values */
    sl_jw_end(j); /* the requirement */
    sl_jw_end(j); /* matchExpressions */
    sl_jw_end(j); /* labelSelector */
    sl_jw_end(j); /* podAffinityTerm */
    sl_jw_end(j); /* the preference */
    sl_jw_end(j); /* the list */
    sl_jw_end(j);
}

static void put_affinity(struct sl_jw *j, const struct mc_view *v) {
    if (v->old || sl_json_bool(v->spec, "network.disableAffinity", false))
        return;
    sl_jw_object(j, "affinity");
    put_term(j, v, "podAffinity", "topology.kubernetes.io/zone");
    put_term(j, v, "podAntiAffinity", "kubernetes.io/hostname");
    sl_jw_end(j);
}

/* ---- the Job ---- */

static void put_opt(struct sl_jw *j, const struct mc_view *v, const char *key, const char *path) {
    const char *text = mc_text(v, path, "");
    if (*text)
        sl_jw_str(j, key, text);
}

/* What the pods of the Job and that of services have alike. */
static void put_common(struct sl_jw *j, const struct mc_view *v) {
    sl_jw_str(j, "subdomain", v->service);
    sl_jw_bool(j, "setHostnameAsFQDN", false);
    sl_jw_str(j, "restartPolicy", "OnFailure");
    put_opt(j, v, "serviceAccountName", "pod.serviceAccountName");
    mc_map_put(j, "nodeSelector", sl_json_at(v->spec, "pod.nodeSelector"));
}

static void put_template(struct sl_jw *j, const struct mc_view *v) {
    const struct label labels[] = {
        {"namespace", v->ns}, {MC_APP_NAME, v->name}, {MC_HPA_SELECTOR, v->name}};
    bool share = sl_json_bool(v->spec, "shareProcessNamespace", false);
    sl_jw_object(j, "template");
    sl_jw_object(j, "metadata");
    sl_jw_str(j, "name", v->name);
    sl_jw_str(j, "namespace", v->ns);
    put_labels(j, v, labels, SL_LEN(labels));
    mc_map_put(j, "annotations", sl_json_at(v->spec, "pod.annotations"));
    sl_jw_end(j);
    sl_jw_object(j, "spec");
    put_common(j, v);
    if (!v->old || share)
        sl_jw_bool(j, "shareProcessNamespace", share);
    if (!v->old)
        put_opt(j, v, "schedulerName", "pod.schedulerName");
    put_affinity(j, v);
    mc_map_put(j, "overhead", sl_json_at(v->spec, "pod.resources"));
    mc_volumes_put(j, v);
    mc_containers_put(j, v);
    sl_jw_end(j);
    sl_jw_end(j);
}

void mc_job_put(struct sl_jw *j, const struct mc_view *v, const char *elastic,
                const struct sl_rec *owner) {
    sl_jw_object(j, NULL);
    mc_head_put(j, "batch/v1", "Job", v->name, owner);
    mc_map_put(j, "labels", sl_json_get(v->spec, "jobLabels"));
    if (elastic) {
        sl_jw_object(j, "annotations");
        sl_jw_str(j, ELASTIC, elastic);
        sl_jw_end(j);
    }
    sl_jw_end(j);
    sl_jw_object(j, "spec");
    sl_jw_int(j, "backoffLimit", BACKOFF_LIMIT);
    sl_jw_int(j, "completions", v->size);
    sl_jw_int(j, "parallelism", v->size);
    sl_jw_str(j, "completionMode", "Indexed");
    sl_jw_int(j, "activeDeadlineSeconds", sl_json_int(v->spec, "deadlineSeconds", DEADLINE));
    put_template(j, v);
    sl_jw_end(j);
    sl_jw_end(j);
}

void mc_service_pod_put(struct sl_jw *j, const struct mc_view *v, const struct sl_rec *owner) {
    const struct label labels[] = {{"namespace", v->ns},
                                   {MC_APP_NAME, v->name},
                                   {"job-name", v->name},
                                   {MC_JOB_INDEX, "services"}};
    char name[SL_REC_NAME];
    sl_fmt(name, sizeof name, "%.240s-services", v->name);
    sl_jw_object(j, NULL);
    mc_head_put(j, "v1", "Pod", name, owner);
    put_labels(j, v, labels, SL_LEN(labels));
    mc_map_put(j, "annotations", sl_json_at(v->spec, "pod.annotations"));
    sl_jw_end(j);
    sl_jw_object(j, "spec");
    sl_jw_str(j, "hostname", name);
    put_common(j, v);
    mc_service_containers_put(j, v);
    sl_jw_end(j);
    sl_jw_end(j);
}

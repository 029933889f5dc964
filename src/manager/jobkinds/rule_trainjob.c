/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TrainJobs: the podsets are those of the JobSet that the Trainer makes of a runtime, with what the
 * TrainJob and its patches change of it. Made here as far as it counts: number of nodes, amounts,
 * containers, placement. What the Trainer's plugins add for its own purposes (variables, volumes
 * with keys) takes nothing of a node.
 *
 * An admission is written as a patch of ours among spec.runtimePatches, while the TrainJob is
 * suspended. Our own patch is left out here, so the podsets are the same whether it runs or not.
 */
#include <string.h>

#include "lib/json/json.h"
#include "manager/jobkinds/rows.h"

#define STEP "trainer.kubeflow.org/trainjob-ancestor-step"
#define NODE "node"
#define MAX_PATCHES 64u
#define MAX_MERGED 1024u /* items of a list that is merged by name */

/* ---- merging, as the schema of JobSets has it ---- */

static yyjson_mut_val *merged(yyjson_mut_doc *d, yyjson_mut_val *base, yyjson_val *over);

static bool is_named(yyjson_val *list) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (list, i, n, v)
        if (!*sl_json_str(v, "name"))
            return false;
    return n > 0 && n <= MAX_MERGED;
}

/* Lists whose items have names are merged by these, others are replaced. */
static yyjson_mut_val *merged_list(yyjson_mut_doc *d, yyjson_mut_val *base, yyjson_val *over) {
    size_t i, n, k, nk;
    yyjson_val *v;
    yyjson_mut_val *had;
    if (!is_named(over) || yyjson_mut_arr_size(base) > MAX_MERGED)
        return yyjson_val_mut_copy(d, over);
    yyjson_arr_foreach (over, i, n, v) {
        bool found = false;
        yyjson_mut_arr_foreach (base, k, nk, had) {
            if (strcmp(sl_json_mut_text(yyjson_mut_obj_get(had, "name")), sl_json_str(v, "name")) !=
                0)
                continue;
            found = merged(d, had, v) != NULL;
            break;
        }
        if (!found)
            (void)yyjson_mut_arr_append(base, yyjson_val_mut_copy(d, v));
    }
    return base;
}

/* Changes the base and returns it, or what takes its place. */
static yyjson_mut_val *merged(yyjson_mut_doc *d, yyjson_mut_val *base, yyjson_val *over) {
    size_t i, n;
    yyjson_val *k, *v;
    if (yyjson_is_arr(over) && yyjson_mut_is_arr(base))
        return merged_list(d, base, over);
    if (!yyjson_is_obj(over) || !yyjson_mut_is_obj(base))
        return yyjson_val_mut_copy(d, over);
    sl_obj_foreach (over, i, n, k, v) {
        const char *key = sl_json_text(k);
        yyjson_mut_val *had = yyjson_mut_obj_get(base, key);
        if (yyjson_is_null(v))
            (void)yyjson_mut_obj_remove_key(base, key);
        else if (!had)
            (void)yyjson_mut_obj_add_val(d, base, key, yyjson_val_mut_copy(d, v));
        else {
            yyjson_mut_val *now = merged(d, had, v);
            if (now != had)
                (void)yyjson_mut_obj_put(base, yyjson_val_mut_copy(d, k), now);
        }
    }
    return base;
}

/* ---- one replicated job ---- */

struct train {
    yyjson_val *job, *trainer, *policy; /* policy: mlPolicy of the runtime; NULL: none */
    yyjson_mut_doc *d;
};

static yyjson_mut_val *mut_at(yyjson_mut_val *v, const char *const *path, size_t n) {
    for (size_t i = 0; i < n; i++)
        v = yyjson_mut_obj_get(v, path[i]);
    return v;
}
#define AT(v, ...)                                                                                 \
    mut_at((v), (const char *const[]){__VA_ARGS__}, SL_LEN(((const char *const[]){__VA_ARGS__})))

static bool launcher_counts(const struct train *t) {
    return sl_json_bool(t->policy, "mpi.runLauncherAsNode", false);
}

static int32_t nodes_of(const struct train *t, const char *name, bool trains, int32_t otherwise) {
    bool mpi = sl_json_at(t->policy, "mpi") != NULL;
    int32_t asked = sl_json_int32(t->trainer, "numNodes", -1);
    int32_t n = trains && t->policy ? sl_json_int32(t->policy, "numNodes", 1) : otherwise;
    if (asked < 0)
        return n;
    if (!mpi)
        return trains ? asked : n;
    if (strcmp(name, NODE) != 0)
        return n;
    return !launcher_counts(t) ? asked : asked > 2 ? asked - 1 : 1;
}

static void change_node(const struct train *t, yyjson_mut_val *c, bool trains, bool amounts) {
    static const char *const fields[] = {"image", "command", "args"};
    yyjson_val *resources = sl_json_at(t->trainer, "resourcesPerNode"), *v;
    for (size_t i = 0; trains && i < SL_LEN(fields); i++)
        if ((v = sl_json_at(t->trainer, fields[i])))
            (void)yyjson_mut_obj_put(c, yyjson_mut_str(t->d, fields[i]),
                                     yyjson_val_mut_copy(t->d, v));
    if (!amounts || !resources)
        return;
    yyjson_mut_val *had = yyjson_mut_obj_get(c, "resources");
    yyjson_mut_val *now = had ? merged(t->d, had, resources) : yyjson_val_mut_copy(t->d, resources);
    if (now != had)
        (void)yyjson_mut_obj_put(c, yyjson_mut_str(t->d, "resources"), now);
}

static int add_job(const struct train *t, yyjson_mut_val *rj, struct sl_jobkind_podsets *ret,
                   struct sl_err *err) {
    const char *name = sl_json_mut_text(yyjson_mut_obj_get(rj, "name"));
    yyjson_mut_val *pod = AT(rj, "template", "spec", "template"), *c;
    const char *step = sl_json_mut_text(AT(rj, "template", "metadata", "labels", STEP));
    bool trains = strcmp(step, "trainer") == 0, first = trains || strstr(step, "-initializer");
    bool amounts = t->policy && (trains || (launcher_counts(t) && strcmp(name, NODE) == 0));
    yyjson_mut_val *count = AT(rj, "template", "spec", "parallelism"),
                   *replicas = yyjson_mut_obj_get(rj, "replicas");
    int64_t units = first || !yyjson_mut_is_int(replicas) ? 1 : yyjson_mut_get_sint(replicas);
    int64_t pods = yyjson_mut_is_int(count) ? yyjson_mut_get_sint(count) : 1;
    size_t i, n;
    if (!*name || !yyjson_mut_is_obj(pod))
        return sl_err_set(err, SL_EINVAL,
                          "the runtime's spec.template.spec.replicatedJobs: expected jobs with a "
                          "name and a pod template");
    struct sl_jobkind_pods *p = jobkind_add(ret);
    if (!p)
        return jobkind_too_many(err);
    if (trains || amounts)
        yyjson_mut_arr_foreach (AT(pod, "spec", "containers"), i, n, c)
            if (strcmp(sl_json_mut_text(yyjson_mut_obj_get(c, "name")), NODE) == 0)
                change_node(t, c, trains, amounts);
    p->name = jobkind_lower(&ret->arena, name);
    p->path = sl_arena_printf(&ret->arena, "spec.runtimeRef[%.253s].template.spec.template", name);
    p->pointer = "";
    p->form = SL_JOBKIND_PATCH;
    p->units = jobkind_times(units, 1);
    p->count = jobkind_times(p->units, nodes_of(t, name, trains, jobkind_times(pods, 1)));
    p->rank_label = "batch.kubernetes.io/job-completion-index";
    p->sub_label = "jobset.sigs.k8s.io/job-index";
    p->sub_count = p->units;
    p->template = jobkind_copy(ret, pod);
    return 0;
}

/* ---- the whole ---- */

bool sl_jobkind_needs(const struct sl_jobkind *k, yyjson_val *o, struct sl_jobkind_need *ret) {
    if (k->rule != SL_JOBKIND_TRAINJOB)
        return false;
    const char *kind = sl_json_str(o, "spec.runtimeRef.kind");
    ret->cluster = !*kind || strcmp(kind, "ClusterTrainingRuntime") == 0;
    ret->kind = ret->cluster ? "ClusterTrainingRuntime" : "TrainingRuntime";
    ret->name = sl_json_str(o, "spec.runtimeRef.name");
    return true;
}

static void patch_all(struct train *t, yyjson_mut_val **spec) {
    size_t i, n;
    yyjson_val *p;
    yyjson_arr_foreach (sl_json_at(t->job, "spec.runtimePatches"), i, n, p) {
        yyjson_val *over = sl_json_at(p, "trainingRuntimeSpec.template.spec");
        if (i < MAX_PATCHES && over &&
            strcmp(sl_json_str(p, "manager"), SL_JOBKIND_PATCH_MANAGER) != 0)
            *spec = merged(t->d, *spec, over);
    }
}

int jobkind_trainjob(yyjson_val *o, yyjson_val *runtime, struct sl_jobkind_podsets *ret,
                     struct sl_err *err) {
    yyjson_val *template = sl_json_at(runtime, "spec.template.spec");
    struct train t = {.job = o,
                      .trainer = sl_json_at(o, "spec.trainer"),
                      .policy = sl_json_at(runtime, "spec.mlPolicy")};
    yyjson_mut_val *rj;
    size_t i, n;
    int r = 0;
    if (!runtime)
        return sl_err_set(err, SL_ENOENT, "spec.runtimeRef: there is no runtime \"%.120s\"",
                          sl_json_str(o, "spec.runtimeRef.name"));
    t.d = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *spec = template ? yyjson_val_mut_copy(t.d, template) : yyjson_mut_obj(t.d);
    patch_all(&t, &spec);
    yyjson_mut_arr_foreach (yyjson_mut_obj_get(spec, "replicatedJobs"), i, n, rj) {
        r = add_job(&t, rj, ret, err);
        if (r < 0)
            break;
    }
    yyjson_mut_doc_free(t.d);
    return r;
}

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

#include "core/base/collection/hash.h"
#include "core/base/collection/map.h"
#include "core/base/mem.h"
#include "lib/json/json.h"
#include "manager/jobkinds/rows.h"

#define STEP "trainer.kubeflow.org/trainjob-ancestor-step"
#define NODE "node"
#define MAX_PATCHES 64u

/* ---- merging, as the schema of JobSets has it ---- */

static yyjson_mut_val *merged(yyjson_mut_doc *d, yyjson_val *base, yyjson_val *over);

static bool is_named(yyjson_val *list) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (list, i, n, v)
        if (!*sl_json_str(v, "name"))
            return false;
    return n > 0;
}

/* The items of a list by name. */
struct named {
    yyjson_val **v; /* NULL: used */
    struct sl_map by_name;
};

static struct named named_of(yyjson_val *list) {
    struct named l = {.v = sl_alloc0(yyjson_arr_size(list), sizeof *l.v)};
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (list, i, n, v) {
        l.v[i] = v;
        sl_map_add(&l.by_name, sl_hash_str(1, sl_json_str(v, "name")), (uint32_t)i);
    }
    return l;
}

/* The first that is not used yet, once. */
static yyjson_val *take(struct named *l, const char *name) {
    sl_map_foreach (i, &l->by_name, sl_hash_str(1, name)) {
        yyjson_val *v = l->v[i];
        if (v && strcmp(sl_json_str(v, "name"), name) == 0) {
            l->v[i] = NULL;
            return v;
        }
    }
    return NULL;
}

/* Lists whose items have names are merged by these, others are replaced. */
static yyjson_mut_val *merged_list(yyjson_mut_doc *d, yyjson_val *base, yyjson_val *over) {
    yyjson_mut_val *out = yyjson_mut_arr(d);
    size_t i, n;
    yyjson_val *v;
    struct named l = named_of(over);
    yyjson_arr_foreach (base, i, n, v) {
        yyjson_val *change = take(&l, sl_json_str(v, "name"));
        (void)yyjson_mut_arr_append(out, change ? merged(d, v, change) : yyjson_val_mut_copy(d, v));
    }
    for (i = 0; i < yyjson_arr_size(over); i++)
        if (l.v[i])
            (void)yyjson_mut_arr_append(out, yyjson_val_mut_copy(d, l.v[i]));
    sl_map_done(&l.by_name);
    sl_freep(&l.v);
    return out;
}

static void put(yyjson_mut_doc *d, yyjson_mut_val *out, yyjson_val *key, yyjson_mut_val *v) {
    (void)yyjson_mut_obj_add(out, yyjson_val_mut_copy(d, key), v);
}

/* A copy of the base with the changes; a null takes a field away. */
static yyjson_mut_val *merged(yyjson_mut_doc *d, yyjson_val *base, yyjson_val *over) {
    size_t i, n;
    yyjson_val *k, *v;
    if (yyjson_is_arr(base) && is_named(over))
        return merged_list(d, base, over);
    if (!yyjson_is_obj(over) || !yyjson_is_obj(base))
        return yyjson_val_mut_copy(d, over);
    yyjson_mut_val *out = yyjson_mut_obj(d);
    struct sl_json_fields in_over = sl_json_fields_of(over), in_base = sl_json_fields_of(base);
    sl_obj_foreach (base, i, n, k, v) {
        yyjson_val *change = sl_json_field(&in_over, sl_json_view(k));
        if (!yyjson_is_null(change))
            put(d, out, k, change ? merged(d, v, change) : yyjson_val_mut_copy(d, v));
    }
    sl_obj_foreach (over, i, n, k, v)
        if (!yyjson_is_null(v) && !sl_json_field(&in_base, sl_json_view(k)))
            put(d, out, k, yyjson_val_mut_copy(d, v));
    sl_json_fields_done(&in_over);
    sl_json_fields_done(&in_base);
    return out;
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
    _cleanup_(sl_json_docp) yyjson_doc *base = had ? yyjson_mut_val_imut_copy(had, NULL) : NULL;
    (void)yyjson_mut_obj_put(c, yyjson_mut_str(t->d, "resources"),
                             merged(t->d, yyjson_doc_get_root(base), resources));
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

/* The base with one patch more; what 'held' had is freed. */
static yyjson_val *patched(yyjson_val *base, yyjson_val *over, yyjson_doc **held) {
    yyjson_mut_doc *d = yyjson_mut_doc_new(NULL);
    yyjson_doc *made = yyjson_mut_val_imut_copy(merged(d, base, over), NULL);
    yyjson_mut_doc_free(d);
    yyjson_doc_free(*held);
    *held = made;
    return yyjson_doc_get_root(made);
}

/* The template of a runtime with all patches but ours. */
static yyjson_mut_val *patch_all(const struct train *t, yyjson_val *spec) {
    _cleanup_(sl_json_docp) yyjson_doc *held = NULL;
    size_t i, n;
    yyjson_val *p;
    yyjson_arr_foreach (sl_json_at(t->job, "spec.runtimePatches"), i, n, p) {
        yyjson_val *over = sl_json_at(p, "trainingRuntimeSpec.template.spec");
        if (sl_json_size(over) && strcmp(sl_json_str(p, "manager"), SL_JOBKIND_PATCH_MANAGER) != 0)
            spec = patched(spec, over, &held);
    }
    return spec ? yyjson_val_mut_copy(t->d, spec) : yyjson_mut_obj(t->d);
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
    if (yyjson_arr_size(sl_json_at(o, "spec.runtimePatches")) > MAX_PATCHES)
        return sl_err_set(err, SL_ELIMIT, "spec.runtimePatches: at most %u are applied",
                          MAX_PATCHES);
    t.d = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *spec = patch_all(&t, template);
    yyjson_mut_arr_foreach (yyjson_mut_obj_get(spec, "replicatedJobs"), i, n, rj) {
        r = add_job(&t, rj, ret, err);
        if (r < 0)
            break;
    }
    yyjson_mut_doc_free(t.d);
    return r;
}

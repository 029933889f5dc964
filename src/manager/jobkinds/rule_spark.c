/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SparkApplications: a driver and its executors, described by fields of Spark. What the operator's
 * webhook makes of them in the pods is made here as far as it counts: containers with their
 * amounts, volumes, placement.
 */
#include <string.h>

#include "core/base/fmt.h"
#include "lib/json/json.h"
#include "manager/jobkinds/rows.h"

#define LOCAL_DIR "spark-local-dir-"
#define MAX_AMOUNT 64

struct pod {
    yyjson_mut_doc *d;
    yyjson_mut_val *meta, *spec, *first; /* first: Spark's own container */
    yyjson_val *app, *of;                /* of: spec.driver or spec.executor */
};

static void copy_if(struct pod *p, yyjson_mut_val *to, const char *key, yyjson_val *v) {
    if (v && !yyjson_is_null(v))
        (void)yyjson_mut_obj_add_val(p->d, to, key, yyjson_val_mut_copy(p->d, v));
}

/* The fields of both; where both have one, the second's. */
static void fill(struct pod *p, yyjson_mut_val *map, yyjson_val *from, yyjson_val *over) {
    struct sl_json_fields fields = sl_json_fields_of(over);
    size_t i, n;
    yyjson_val *k, *v;
    sl_obj_foreach (from, i, n, k, v)
        if (!sl_json_field(&fields, sl_json_view(k)))
            (void)yyjson_mut_obj_add(map, yyjson_val_mut_copy(p->d, k),
                                     yyjson_val_mut_copy(p->d, v));
    sl_obj_foreach (over, i, n, k, v)
        (void)yyjson_mut_obj_add(map, yyjson_val_mut_copy(p->d, k), yyjson_val_mut_copy(p->d, v));
    sl_json_fields_done(&fields);
}

static void put_meta(struct pod *p) {
    static const char *const maps[] = {"labels", "annotations"};
    for (size_t i = 0; i < SL_LEN(maps); i++) {
        yyjson_mut_val *map = yyjson_mut_obj(p->d);
        fill(p, map, yyjson_obj_get(sl_json_at(p->of, "template.metadata"), maps[i]),
             yyjson_obj_get(p->of, maps[i]));
        if (yyjson_mut_obj_size(map))
            (void)yyjson_mut_obj_add_val(p->d, p->meta, maps[i], map);
    }
}

static void append(struct pod *p, yyjson_mut_val *list, yyjson_val *from) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (from, i, n, v)
        (void)yyjson_mut_arr_append(list, yyjson_val_mut_copy(p->d, v));
}

/* ---- amounts ---- */

/* "512m" of Java is "512Mi"; what has no unit of Java stays as it is. */
static void java_memory(const char *s, char out[MAX_AMOUNT]) {
    static const char units[] = "kmgtp";
    size_t n = strlen(s);
    size_t end = n && (s[n - 1] == 'b' || s[n - 1] == 'B') ? n - 1 : n;
    const char *unit = end ? strchr(units, s[end - 1] | 0x20) : NULL;
    if (n >= MAX_AMOUNT - 2 || !unit || !*unit)
        sl_fmt(out, MAX_AMOUNT, "%.60s", s);
    else
        sl_fmt(out, MAX_AMOUNT, "%.*s%ci", (int)(end - 1), s,
               *unit == 'k' ? 'K' : *unit - 'a' + 'A');
}

static int put_amount(struct pod *p, const char *list, const char *resource, const char *field,
                      bool java, struct sl_err *err) {
    const char *s = sl_json_str(p->of, field);
    char amount[MAX_AMOUNT];
    sl_quantity q;
    if (!*s)
        return 0;
    if (java)
        java_memory(s, amount);
    else
        sl_fmt(amount, sizeof amount, "%.60s", s);
    if (sl_quantity_parse(amount, strlen(amount), &q, NULL) < 0)
        return sl_err_set(err, SL_EINVAL, "%s: \"%.60s\" is no amount", field, s);
    yyjson_mut_val *r = yyjson_mut_obj_get(p->first, "resources"),
                   *to = yyjson_mut_obj_get(r, list);
    if (!to)
        to = yyjson_mut_obj_add_obj(p->d, r, list);
    (void)yyjson_mut_obj_add_strcpy(p->d, to, resource, amount);
    return 0;
}

static void put_gpu(struct pod *p) {
    const char *name = sl_json_str(p->of, "gpu.name");
    int32_t n = sl_json_int32(p->of, "gpu.quantity", 0);
    yyjson_mut_val *r = yyjson_mut_obj_get(p->first, "resources"),
                   *to = yyjson_mut_obj_get(r, "limits");
    if (!*name || !n)
        return;
    if (!to)
        to = yyjson_mut_obj_add_obj(p->d, r, "limits");
    (void)yyjson_mut_obj_put(to, yyjson_mut_strcpy(p->d, name), yyjson_mut_int(p->d, n));
}

static int put_amounts(struct pod *p, struct sl_err *err) {
    static const struct {
        const char *list, *resource, *field;
        bool java;
    } of[] = {{"requests", "cpu", "coreRequest", false},
              {"limits", "cpu", "coreLimit", false},
              {"requests", "memory", "memory", true},
              {"limits", "memory", "memoryLimit", true}};
    (void)yyjson_mut_obj_add_obj(p->d, p->first, "resources");
    for (size_t i = 0; i < SL_LEN(of); i++) {
        int r = put_amount(p, of[i].list, of[i].resource, of[i].field, of[i].java, err);
        if (r < 0)
            return r;
    }
    put_gpu(p);
    return 0;
}

/* ---- volumes ---- */

static void put_volumes(struct pod *p) {
    yyjson_val *all = sl_json_at(p->app, "spec.volumes"), *mount;
    yyjson_mut_val *volumes = yyjson_mut_arr(p->d), *mounts = yyjson_mut_arr(p->d);
    size_t i, n;
    yyjson_arr_foreach (sl_json_at(p->of, "volumeMounts"), i, n, mount) {
        const char *name = sl_json_str(mount, "name");
        yyjson_val *v = i < SL_JOBKIND_MAX_PODSETS ? sl_json_find(all, "name", name) : NULL;
        if (!v || strncmp(name, LOCAL_DIR, strlen(LOCAL_DIR)) == 0)
            continue;
        bool there = false;
        size_t k, nk;
        yyjson_mut_val *had;
        yyjson_mut_arr_foreach (volumes, k, nk, had)
            there |= strcmp(sl_json_mut_text(yyjson_mut_obj_get(had, "name")), name) == 0;
        if (!there)
            (void)yyjson_mut_arr_append(volumes, yyjson_val_mut_copy(p->d, v));
        (void)yyjson_mut_arr_append(mounts, yyjson_val_mut_copy(p->d, mount));
    }
    if (yyjson_mut_arr_size(mounts)) {
        (void)yyjson_mut_obj_add_val(p->d, p->spec, "volumes", volumes);
        (void)yyjson_mut_obj_add_val(p->d, p->first, "volumeMounts", mounts);
    }
}

/* ---- the pod ---- */

static int put_pod(struct pod *p, const char *container, struct sl_err *err) {
    static const char *const fields[] = {"priorityClassName", "affinity", "tolerations"};
    yyjson_val *selector = sl_json_at(p->app, "spec.nodeSelector"); /* of all pods */
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(p->d, p->spec, "containers");
    p->first = yyjson_mut_arr_add_obj(p->d, list);
    (void)yyjson_mut_obj_add_str(p->d, p->first, "name", container);
    int r = put_amounts(p, err);
    if (r < 0)
        return r;
    append(p, list, sl_json_at(p->of, "sidecars"));
    if (sl_json_size(sl_json_at(p->of, "initContainers")))
        copy_if(p, p->spec, "initContainers", sl_json_at(p->of, "initContainers"));
    for (size_t i = 0; i < SL_LEN(fields); i++)
        copy_if(p, p->spec, fields[i], yyjson_obj_get(p->of, fields[i]));
    copy_if(p, p->spec, "nodeSelector",
            selector ? selector : yyjson_obj_get(p->of, "nodeSelector"));
    put_volumes(p);
    put_meta(p);
    return 0;
}

static int add_pod(yyjson_val *o, const char *role, const char *container,
                   struct sl_jobkind_podsets *ret, struct sl_err *err) {
    struct sl_jobkind_pods *q = jobkind_add(ret);
    struct pod p = {.d = yyjson_mut_doc_new(NULL), .app = o};
    yyjson_mut_val *t = yyjson_mut_obj(p.d);
    q->name = role;
    q->form = SL_JOBKIND_POD;
    q->path = sl_arena_printf(&ret->arena, "spec.%s", role);
    q->pointer = sl_arena_printf(&ret->arena, "/spec/%s", role);
    p.of = q->base = sl_json_at(o, q->path);
    p.meta = yyjson_mut_obj_add_obj(p.d, t, "metadata");
    p.spec = yyjson_mut_obj_add_obj(p.d, t, "spec");
    int r = yyjson_is_obj(p.of) ? put_pod(&p, container, err)
                                : sl_err_set(err, SL_EINVAL, "expected the pod's description");
    q->template = jobkind_keep(ret, p.d, t);
    return r < 0 ? sl_err_wrap(err, r, "%s", q->path) : 0;
}

int jobkind_spark(const struct sl_jobkind *k, yyjson_val *o, struct sl_jobkind_podsets *ret,
                  struct sl_err *err) {
    (void)k;
    int r = add_pod(o, "driver", "spark-kubernetes-driver", ret, err);
    if (r >= 0)
        r = add_pod(o, "executor", "spark-kubernetes-executor", ret, err);
    if (r >= 0)
        ret->v[1].count = sl_json_int32(o, "spec.executor.instances", 0);
    return r;
}

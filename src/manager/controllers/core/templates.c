/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pod templates, interned: thousands of jobs created from one manifest share one record of about a
 * kilobyte. Containers are cached as a hash and their resources; the rest of a pod's spec is not
 * relevant here and is read again from the API when it is needed.
 */
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/collection/wordset.h"
#include "kube/types/kueue/objects.h"
#include "lib/json/json.h"
#include "lib/log/log.h"
#include "manager/controllers/core/bridge.h"
#include "manager/controllers/core/ceilings.h"
#include "manager/controllers/core/templates.h"
#include "manager/controllers/queue/limit_range.h"
#include "manager/controllers/topology/topology.h"
#include "manager/controllers/workload/workload.h"

#define MAX_TEXT ((size_t)16 << 20) /* twice the longest event of a watch */
#define MAX_SHAPES 8192u

struct known_shape {
    uint64_t hash;
    sl_shape_id id; /* a reference */
    char *invalid;
};

struct mgr_templates {
    struct sl_map by_hash;
    SL_VEC(struct mgr_template *) v; /* NULL: free */
    SL_VEC(uint32_t) free_ids;
    struct sl_map shapes_by_hash;
    SL_VEC(struct known_shape) shapes; /* cache of mgr_template_shape */
};

static void put_value(struct sl_jw *j, const char *key, yyjson_val *v) {
    if (v && !yyjson_is_null(v))
        sl_jw_val(j, key, v);
}

static const char *const parts_of_meta[] = {"labels", "annotations"};
static const char *const parts_of_spec[] = {"nodeSelector", "tolerations", "schedulingGates"};
static const char *const pod_members[] = {
    "nodeSelector", "affinity",          "tolerations",      "overhead",
    "resources",    "priorityClassName", "runtimeClassName", "topologySpreadConstraints"};
static const char *const container_lists[] = {"initContainers", "containers"};

/* What the API server or we ourselves write into every template: it carries no information, and no
 * two jobs would share a template. */
static bool is_noise(const char *key) {
    static const char *const keys[] = {"job-name",
                                       "controller-uid",
                                       "batch.kubernetes.io/job-name",
                                       "batch.kubernetes.io/controller-uid",
                                       "kueue.x-k8s.io/workload",
                                       "kueue.x-k8s.io/workload-slice-name"};
    for (size_t i = 0; i < SL_LEN(keys); i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

static void put_strings(struct sl_jw *j, const char *name, yyjson_val *map) {
    size_t i, n;
    yyjson_val *key, *val;
    bool open = false;
    sl_obj_foreach (map, i, n, key, val) {
        if (is_noise(sl_json_text(key)))
            continue;
        if (!open)
            sl_jw_object(j, name);
        open = true;
        put_value(j, sl_json_text(key), val);
    }
    if (open)
        sl_jw_end(j);
}

static uint64_t hash_strings(uint64_t h, yyjson_val *map) {
    size_t i, n;
    yyjson_val *key, *val;
    uint64_t sum = 0;
    sl_obj_foreach (map, i, n, key, val)
        if (!is_noise(sl_json_text(key)))
            sum += sl_json_hash(sl_hash_str(7, sl_json_text(key)), val);
    return sl_hash_u64(h, sum);
}

/* Quantities by what they mean. */
static uint64_t hash_amounts(uint64_t h, yyjson_val *map) {
    size_t i, n;
    yyjson_val *key, *val;
    uint64_t sum = 0;
    sl_obj_foreach (map, i, n, key, val) {
        sl_quantity q = 0;
        uint64_t x = sl_hash_str(8, sl_json_text(key));
        if (!sl_json_quantity(val, &q))
            x = sl_json_hash(x, val);
        sum += sl_hash_u64(sl_hash_u64(x, (uint64_t)q), (uint64_t)(q >> 64));
    }
    return sl_hash_u64(h, sum);
}

static uint64_t hash_resources(uint64_t h, yyjson_val *o) {
    size_t i, n;
    yyjson_val *key, *val;
    uint64_t sum = 0;
    sl_obj_foreach (o, i, n, key, val) {
        const char *k = sl_json_text(key);
        bool amounts = strcmp(k, "requests") == 0 || strcmp(k, "limits") == 0;
        if (sl_json_size(val))
            sum += amounts ? hash_amounts(sl_hash_str(9, k), val)
                           : sl_json_hash(sl_hash_str(9, k), val);
    }
    return sum ? sl_hash_u64(h, sum) : h;
}

/* Of a variable named twice the last value counts, at the place of the first. */
static uint64_t hash_env(uint64_t h, yyjson_val *list) {
    struct sl_wordset names = {0};
    SL_VEC(yyjson_val *) last = {0};
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (list, i, n, v) {
        const char *name = sl_json_str(v, "name");
        if (sl_wordset_add(&names, name))
            *sl_vec_push(&last) = v;
        else
            last.v[sl_wordset_find(&names, name)] = v;
    }
    for (uint32_t k = 0; k < last.n; k++)
        h = sl_json_hash(sl_hash_u64(h, 1), last.v[k]);
    sl_vec_free(&last);
    sl_wordset_done(&names);
    return h;
}

/* TCP is the default of a Workload's schema, and need not be one of the job's. */
static uint64_t hash_ports(uint64_t h, yyjson_val *list) {
    size_t i, n, k, nk;
    yyjson_val *p, *key, *val;
    yyjson_arr_foreach (list, i, n, p) {
        uint64_t sum = 0;
        sl_obj_foreach (p, k, nk, key, val) {
            bool usual =
                strcmp(sl_json_text(key), "protocol") == 0 && strcmp(sl_json_text(val), "TCP") == 0;
            if (!usual && !yyjson_is_null(val))
                sum += sl_json_hash(sl_hash_str(14, sl_json_text(key)), val);
        }
        h = sl_hash_u64(sl_hash_u64(h, i), sum);
    }
    return h;
}

static uint64_t hash_containers(uint64_t h, yyjson_val *list) {
    size_t i, n, k, nk;
    yyjson_val *c, *key, *val;
    yyjson_arr_foreach (list, i, n, c) {
        uint64_t sum = 0;
        sl_obj_foreach (c, k, nk, key, val) {
            const char *s = sl_json_text(key);
            if (strcmp(s, "env") == 0)
                sum += yyjson_arr_size(val) ? hash_env(11, val) : 0;
            else if (strcmp(s, "ports") == 0)
                sum += yyjson_arr_size(val) ? hash_ports(15, val) : 0;
            else if (strcmp(s, "resources") == 0)
                sum += hash_resources(12, val);
            else if (!yyjson_is_null(val) && !(yyjson_is_ctn(val) && !sl_json_size(val)))
                sum += sl_json_hash(sl_hash_str(13, s), val);
        }
        h = sl_hash_u64(sl_hash_u64(h, i), sum);
    }
    return h;
}

uint64_t mgr_template_tolerations_hash(yyjson_val *tolerations) {
    return sl_json_hash(2, tolerations);
}

static uint64_t hash_members(uint64_t h, yyjson_val *o, const char *const *keys, size_t n) {
    for (size_t i = 0; i < n; i++)
        h = sl_json_hash(sl_hash_str(h, keys[i]), yyjson_obj_get(o, keys[i]));
    return h;
}

/* Volumes that only some nodes can use: those of claims, and those that are made with the pod. */
static bool is_claim(yyjson_val *volume) {
    return yyjson_obj_get(volume, "persistentVolumeClaim") || yyjson_obj_get(volume, "ephemeral");
}

static uint64_t hash_claims(uint64_t h, yyjson_val *volumes) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (volumes, i, n, v)
        if (is_claim(v))
            h = sl_json_hash(h, v);
    return h;
}

static void put_claims(struct sl_jw *j, yyjson_val *volumes) {
    size_t i, n;
    yyjson_val *v;
    bool open = false;
    yyjson_arr_foreach (volumes, i, n, v) {
        if (!is_claim(v))
            continue;
        if (!open)
            sl_jw_array(j, "volumes");
        open = true;
        sl_jw_val(j, NULL, v);
    }
    if (open)
        sl_jw_end(j);
}

static void put_host_ports(struct sl_jw *j, yyjson_val *ports) {
    size_t i, n;
    yyjson_val *p;
    bool open = false;
    yyjson_arr_foreach (ports, i, n, p) {
        if (sl_json_int(p, "hostPort", 0) <= 0)
            continue;
        if (!open)
            sl_jw_array(j, "ports");
        open = true;
        sl_jw_val(j, NULL, p);
    }
    if (open)
        sl_jw_end(j);
}

static char *parts_text(yyjson_val *meta, yyjson_val *spec) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_TEXT);
    struct sl_jw j = SL_JW(&b);
    sl_jw_object(&j, NULL);
    for (size_t i = 0; i < SL_LEN(parts_of_meta); i++)
        put_strings(&j, parts_of_meta[i], yyjson_obj_get(meta, parts_of_meta[i]));
    for (size_t i = 0; i < SL_LEN(parts_of_spec); i++)
        put_value(&j, parts_of_spec[i], yyjson_obj_get(spec, parts_of_spec[i]));
    sl_jw_end(&j);
    char *s = sl_strdup(sl_buf_str(&b));
    return s;
}

/* The spec with containers reduced to what they take of a node. */
static char *pod_text(yyjson_val *spec) {
    size_t k, n;
    yyjson_val *c;

    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_TEXT);
    struct sl_jw j = SL_JW(&b);
    sl_jw_object(&j, NULL);
    for (size_t i = 0; i < SL_LEN(pod_members); i++)
        put_value(&j, pod_members[i], yyjson_obj_get(spec, pod_members[i]));
    for (size_t i = 0; i < SL_LEN(container_lists); i++) {
        sl_jw_array(&j, container_lists[i]);
        yyjson_arr_foreach (yyjson_obj_get(spec, container_lists[i]), k, n, c) {
            sl_jw_object(&j, NULL);
            put_value(&j, "name", yyjson_obj_get(c, "name"));
            put_value(&j, "restartPolicy", yyjson_obj_get(c, "restartPolicy"));
            put_value(&j, "resources", yyjson_obj_get(c, "resources"));
            put_host_ports(&j, yyjson_obj_get(c, "ports"));
            sl_jw_end(&j);
        }
        sl_jw_end(&j);
    }
    put_claims(&j, yyjson_obj_get(spec, "volumes"));
    sl_jw_end(&j);
    char *s = sl_strdup(sl_buf_str(&b));
    return s;
}

struct mgr_template *mgr_template_get(struct sl_manager *m, yyjson_val *tmpl) {
    yyjson_val *meta = yyjson_obj_get(tmpl, "metadata"), *spec = yyjson_obj_get(tmpl, "spec");
    uint64_t containers = 1;
    for (size_t i = 0; i < SL_LEN(container_lists); i++)
        containers =
            hash_containers(sl_hash_u64(containers, i), yyjson_obj_get(spec, container_lists[i]));
    uint64_t tolerations = mgr_template_tolerations_hash(yyjson_obj_get(spec, "tolerations"));
    uint64_t h = sl_hash_u64(containers, tolerations);
    for (size_t i = 0; i < SL_LEN(parts_of_meta); i++)
        h = hash_strings(h, yyjson_obj_get(meta, parts_of_meta[i]));
    h = hash_members(h, spec, parts_of_spec, SL_LEN(parts_of_spec));
    h = hash_members(h, spec, pod_members, SL_LEN(pod_members));
    h = hash_claims(h, yyjson_obj_get(spec, "volumes"));

    uint32_t i = sl_map_get(&m->templates->by_hash, h);
    if (i != SL_MAP_NONE) {
        m->templates->v.v[i]->refs++;
        return m->templates->v.v[i];
    }
    struct mgr_template *t = sl_alloc0(1, sizeof *t);
    t->id = m->templates->free_ids.n ? sl_vec_pop(&m->templates->free_ids) : m->templates->v.n;
    if (t->id == m->templates->v.n)
        (void)sl_vec_push(&m->templates->v);
    m->templates->v.v[t->id] = t;
    t->refs = 1;
    t->hash = h;
    t->containers = containers;
    t->tolerations = tolerations;
    t->parts = parts_text(meta, spec);
    t->pod = pod_text(spec);
    t->priority_class = sl_strdup(sl_json_str(spec, "priorityClassName"));
    sl_map_add(&m->templates->by_hash, h, t->id);
    return t;
}

static void template_free(struct mgr_template *t) {
    sl_freep(&t->parts);
    sl_freep(&t->pod);
    sl_freep(&t->priority_class);
    sl_freep(&t);
}

void mgr_template_unref(struct sl_manager *m, struct mgr_template *t) {
    if (!t || --t->refs)
        return;
    (void)sl_map_del(&m->templates->by_hash, t->hash, t->id);
    *sl_vec_push(&m->templates->free_ids) = t->id;
    m->templates->v.v[t->id] = NULL;
    template_free(t);
}

void mgr_templates_new(struct sl_manager *m) {
    m->templates = sl_alloc0(1, sizeof *m->templates);
}

void mgr_templates_end(struct sl_manager *m) {
    mgr_template_forget_shapes(m);
    for (uint32_t i = 0; i < m->templates->v.n; i++)
        if (m->templates->v.v[i])
            template_free(m->templates->v.v[i]);
    sl_vec_free(&m->templates->v);
    sl_vec_free(&m->templates->free_ids);
    sl_vec_free(&m->templates->shapes);
    sl_map_done(&m->templates->by_hash);
    sl_map_done(&m->templates->shapes_by_hash);
    sl_freep(&m->templates);
}

/* ---- shapes ---- */

void mgr_template_forget_shapes(struct sl_manager *m) {
    for (uint32_t i = 0; i < m->templates->shapes.n; i++) {
        sl_engine_shape_release(m->engine, m->templates->shapes.v[i].id);
        sl_freep(&m->templates->shapes.v[i].invalid);
    }
    sl_vec_clear(&m->templates->shapes);
    sl_map_done(&m->templates->shapes_by_hash);
    m->templates->shapes_by_hash = (struct sl_map){0};
}

static void passed_over(void *ctx, uint32_t line, const char *text) {
    (void)ctx, (void)line;
    sl_log(SL_LOG_DEBUG, "unexpected value in pod template", SL_S("error", text));
}

/* The podsets as a Workload in the form of the API, so that there is one decoder. */
static void put_workload(struct sl_manager *m, sl_sym ns, const struct mgr_wl_podset *v, uint32_t n,
                         struct sl_buf *b, struct sl_buf *invalid) {
    struct sl_jw *j = &SL_JW(b);
    sl_jw_object(j, NULL);
    sl_jw_str(j, "apiVersion", "kueue.x-k8s.io/v1beta2");
    sl_jw_str(j, "kind", "Workload");
    sl_jw_object(j, "metadata");
    sl_jw_str(j, "name", "w");
    sl_jw_end(j);
    sl_jw_object(j, "spec");
    sl_jw_array(j, "podSets");
    for (uint32_t i = 0; i < n; i++) {
        sl_jw_object(j, NULL);
        sl_jw_str(j, "name", mgr_str(m, v[i].name));
        sl_jw_int(j, "count", v[i].count);
        if (v[i].min_count > 0)
            sl_jw_int(j, "minCount", v[i].min_count);
        if (v[i].group) {
            sl_jw_object(j, "topologyRequest");
            sl_jw_str(j, "podSetGroupName", mgr_str(m, v[i].group));
            sl_jw_end(j);
        }
        sl_jw_object(j, "template");
        mgr_limits_put_pod(m, ns, v[i].template->pod, i, sl_jw_value(j, "spec"), invalid);
        sl_jw_end(j);
        sl_jw_end(j);
    }
    sl_jw_end_to(j, 0);
}

static void refused(const struct sl_err *err) {
    sl_log(SL_LOG_WARN, "malformed pod sets not queued", SL_S("error", err->text));
}

bool mgr_podsets_read(struct sl_manager *m, sl_sym ns, const struct mgr_wl_podset *v, uint32_t n,
                      struct mgr_podsets *ret) {
    struct sl_err err = {0};
    bool fine = false;

    *ret = (struct mgr_podsets){0};
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(CEILING_ASKED_TEXT);
    _cleanup_(sl_buf_done) struct sl_buf invalid = SL_BUF_SHORT(32768);
    sl_arena_init(&ret->arena, CEILING_PODSETS);
    put_workload(m, ns, v, n, &b, &invalid);
    if (sl_buf_full(&b))
        (void)sl_err_set(&err, SL_ELIMIT, "they are too large");
    else if (sl_doc_json_within("workload", b.s, b.len, CEILING_ASKED_VALUES, &ret->doc, &err) >=
             0) {
        struct sl_read rd = {
            .file = "workload", .arena = &ret->arena, .err = &err, .warn = passed_over};
        struct sl_kueue_object x;
        sl_kueue_object_decode(&rd, &ret->doc->roots[0], &x);
        fine = x.kind == SL_KUEUE_OBJECT_WORKLOAD && x.n_podsets == n;
        if (fine)
            ret->v = mgr_tas_build_requests(m, v, x.podsets, n, &ret->arena);
        if (fine && sl_arena_full(&ret->arena)) {
            fine = false;
            (void)sl_err_set(&err, SL_ELIMIT, "they are too large");
        }
        if (x.kind == SL_KUEUE_OBJECT_WORKLOAD && x.fact.workload.invalid)
            ret->invalid = x.fact.workload.invalid;
        else if (rd.half)
            ret->invalid = "resources validation failed: there are more containers or resources "
                           "than can be counted, or amounts that are none";
        else if (invalid.len)
            ret->invalid = sl_arena_strdup(&ret->arena, sl_buf_str(&invalid));
    }
    if (!fine)
        refused(&err);
    return fine;
}

void mgr_podsets_done(struct mgr_podsets *p) {
    sl_doc_free(p->doc);
    sl_arena_done(&p->arena);
}

static bool make_shape(struct sl_manager *m, sl_sym ns, const struct mgr_wl_podset *v, uint32_t n,
                       struct known_shape *ret) {
    struct mgr_podsets p;
    struct sl_err err = {0};
    bool fine = mgr_podsets_read(m, ns, v, n, &p);
    if (fine && sl_engine_shape(m->engine, p.v, n, &ret->id, &err) < 0) {
        refused(&err);
        fine = false;
    }
    if (fine && p.invalid)
        ret->invalid = sl_strdup(p.invalid);
    mgr_podsets_done(&p);
    return fine;
}

bool mgr_template_shape(struct sl_manager *m, sl_sym ns, const struct mgr_wl_podset *v, uint32_t n,
                        sl_shape_id *ret, const char **ret_invalid) {
    uint64_t h = sl_hash_u64(3, mgr_limits_matter(m, ns) ? ns : 0);
    for (uint32_t i = 0; i < n; i++) {
        h = sl_hash_u64(sl_hash_u64(h, v[i].template->hash), v[i].name);
        h = sl_hash_u64(sl_hash_u64(sl_hash_u64(h, v[i].group), v[i].request),
                        (uint64_t)(uint32_t)v[i].count << 32 | (uint32_t)v[i].min_count);
    }
    uint32_t i = sl_map_get(&m->templates->shapes_by_hash, h);
    if (i == SL_MAP_NONE) {
        struct known_shape s = {.hash = h};
        if (!make_shape(m, ns, v, n, &s)) {
            sl_freep(&s.invalid);
            return false;
        }
        if (m->templates->shapes.n >= MAX_SHAPES)
            mgr_template_forget_shapes(m);
        i = m->templates->shapes.n;
        *sl_vec_push(&m->templates->shapes) = s;
        sl_map_add(&m->templates->shapes_by_hash, h, i);
    }
    *ret = m->templates->shapes.v[i].id;
    *ret_invalid = m->templates->shapes.v[i].invalid;
    return true;
}

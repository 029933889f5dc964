/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any JSON as a MiniCluster: once converted it stays what it is in each version, the rules look at
 * all of it, and of what they let pass, and also of what they do not, the pods and the scripts are
 * written whole.
 */
#include <string.h>

#include "lib/json/seek.h"
#include "manager/admission/convert.h"
#include "manager/minicluster/mc_int.h"

#define MOST_INPUT ((size_t)16 << 10)
#define MOST_OUTPUT ((size_t)32 << 20)
#define OLD SL_MINICLUSTER_GROUP "/v1alpha1"
#define NEW SL_MINICLUSTER_GROUP "/v1alpha2"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The API server decodes what it sends: none of its objects has a key twice. */
static bool repeats_a_key(yyjson_val *v) {
    size_t i, n;
    yyjson_val *key, *below;
    sl_obj_foreach (v, i, n, key, below)
        if (yyjson_obj_getn(v, sl_json_view(key).s, sl_json_view(key).n) != below ||
            repeats_a_key(below))
            return true;
    yyjson_arr_foreach (v, i, n, below) {
        if (repeats_a_key(below))
            return true;
    }
    return false;
}

static yyjson_doc *converted(yyjson_val *object, const char *to) {
    _cleanup_(sl_json_mut_docp) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct sl_err err = {0};
    struct sl_convert cv = {.doc = doc, .room_bytes = SL_CONVERT_MAX_BYTES, .err = &err};
    yyjson_mut_val *v = NULL;
    if (sl_convert_object(&cv, object, to, &v) < 0) {
        sl_assert(err.text[0] != '\0');
        return NULL;
    }
    yyjson_mut_doc_set_root(doc, v);
    return yyjson_mut_doc_imut_copy(doc, NULL);
}

static void check_conversion(yyjson_val *object, const char *to, const char *back) {
    _cleanup_(sl_json_docp) yyjson_doc *there = converted(object, to);
    if (!there || strcmp(sl_json_str(object, "apiVersion"), to) == 0)
        return;
    _cleanup_(sl_json_docp) yyjson_doc *here = converted(yyjson_doc_get_root(there), back);
    sl_assert(here);
    _cleanup_(sl_json_docp) yyjson_doc *again = converted(yyjson_doc_get_root(here), to);
    sl_assert(again && sl_json_equal(yyjson_doc_get_root(there), yyjson_doc_get_root(again), NULL));
}

static void check_rules(yyjson_val *made) {
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(MOST_OUTPUT);
    struct sl_field_errs errs = {.arena = &arena};
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(MOST_OUTPUT);
    sl_minicluster_check(&errs, "mc", made);
    sl_field_errs_print(&errs, &text);
    sl_assert((errs.n > 0) == (text.len > 0));
}

static void check_pods(const struct mc_view *v) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MOST_OUTPUT);
    struct sl_jw j = SL_JW(&b);
    sl_jw_object(&j, NULL);
    mc_volumes_put(&j, v);
    mc_containers_put(&j, v);
    sl_jw_object(&j, "services");
    mc_service_containers_put(&j, v);
    sl_jw_end_to(&j, 0);
    sl_assert(!sl_buf_full(&b));
    _cleanup_(sl_json_docp) yyjson_doc *d = sl_json_doc(sl_buf_str(&b), b.len);
    sl_assert(d);
}

static void check_scripts(const struct mc_view *v) {
    uint32_t n = (uint32_t)sl_json_size(sl_json_get(v->spec, "containers"));
    struct mc_child child;
    for (uint32_t i = 0; i < n && i < SL_MINICLUSTER_MAX_CONTAINERS; i++) {
        _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MOST_OUTPUT);
        mc_wait_script_put(&b, v, i);
        mc_start_script_put(&b, v, i);
        mc_init_script_put(&b, v);
        sl_assert(!sl_buf_full(&b) && strlen(sl_buf_str(&b)) == b.len);
    }
    for (uint32_t i = 0; i < MC_MAX_CHILDREN && mc_child_at(v, i, &child); i++)
        sl_assert(child.kind < MC_CLUSTER && strlen(child.name) <= SL_REC_MAX_NAME);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    _cleanup_(sl_json_docp) yyjson_doc *d = NULL;
    struct sl_err err;
    struct mc_view v;
    if (size > MOST_INPUT || sl_json_read((const char *)data, size, &d, &err) < 0)
        return 0;
    yyjson_val *object = yyjson_doc_get_root(d);
    if (repeats_a_key(object))
        return 0;
    check_conversion(object, OLD, NEW);
    check_conversion(object, NEW, OLD);
    _cleanup_(sl_json_docp) yyjson_doc *made = sl_minicluster_as_made(object);
    yyjson_val *root = yyjson_doc_get_root(made);
    if (!made)
        return 0;
    check_rules(root);
    mc_view_init(&v, "mc", "ns", sl_minicluster_is_v1alpha1(root), sl_json_get(root, "spec"));
    check_pods(&v);
    check_scripts(&v);
    return 0;
}

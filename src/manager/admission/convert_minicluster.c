/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MiniClusters between v1alpha1 and v1alpha2, without loss. What the target has no field for goes
 * into an annotation of the target, which is named after the version that the fields are of, and
 * comes back from there. The annotation also says in which version the object was made: the two
 * make different objects of a cluster (manager/minicluster).
 *
 * In an annotation is text of anybody: one that is no JSON object counts as none, and of another
 * only fields of the table are taken. Neither name means anything on an object of its own version,
 * and would in the other: there it is dropped.
 */
#include <string.h>

#include "lib/json/json.h"
#include "lib/json/mutable.h"
#include "manager/admission/convert.h"

#define MADE_AS "createdAs"
#define MAX_VALUES ((size_t)64 << 10) /* of an annotation */

enum version { V1ALPHA1, V1ALPHA2, VERSIONS };

static const struct {
    const char *name, *api_version;
    const char *annotation;  /* with its fields, on objects of the other version */
    const char *of_spec[10]; /* fields that only this version has */
    const char *of_container[8];
} versions[VERSIONS] = {
    [V1ALPHA1] = {.name = "v1alpha1",
                  .api_version = SL_MINICLUSTER_GROUP "/v1alpha1",
                  .annotation = SL_MINICLUSTER_GROUP "/v1alpha1",
                  .of_spec = {"users", "volumes", "fluxRestful", "flux.installRoot",
                              "flux.curveCertSecret"},
                  .of_container = {"cores", "diagnostics", "fluxUser", "preCommand", "volumes",
                                   "commands.runFluxAsRoot"}},
    [V1ALPHA2] = {.name = "v1alpha2",
                  .api_version = SL_MINICLUSTER_GROUP "/v1alpha2",
                  .annotation = SL_MINICLUSTER_GROUP "/v1alpha2",
                  .of_spec = {"minSize", "network.disableAffinity", "pod.schedulerName",
                              "flux.container", "flux.arch", "flux.submitCommand",
                              "flux.noWaitSocket", "flux.completeWorkers"},
                  .of_container = {"noWrapEntrypoint", "commands.script", "commands.servicePre"}},
};

/* Lists of containers of a spec. */
static const char *const lists[] = {"containers", "services"};

static enum version version_of(const char *api_version) {
    enum version v = V1ALPHA1;
    while (v < VERSIONS && strcmp(versions[v].api_version, api_version) != 0)
        v++;
    return v;
}

/* ---- moving the fields of a version ---- */

/* One field, from one object to the other; the objects on its way are made where it goes. */
static bool move(yyjson_mut_doc *doc, const char *path, yyjson_mut_val *from, yyjson_mut_val *to) {
    size_t n = strcspn(path, ".");
    yyjson_mut_val *v = yyjson_mut_obj_getn(from, path, n), *there;

    if (!v || !yyjson_mut_is_obj(to))
        return false;
    there = yyjson_mut_obj_getn(to, path, n);
    if (path[n] == '\0') {
        if (there) /* it is not the annotation's to say */
            return false;
        (void)yyjson_mut_obj_remove_keyn(from, path, n);
        return yyjson_mut_obj_put(to, yyjson_mut_strncpy(doc, path, n), v);
    }
    if (!there && !sl_json_mut_at(v, path + n + 1))
        return false;
    if (!there) {
        there = yyjson_mut_obj(doc);
        (void)yyjson_mut_obj_put(to, yyjson_mut_strncpy(doc, path, n), there);
    }
    return move(doc, path + n + 1, v, there);
}

static bool move_each(yyjson_mut_doc *doc, const char *const *paths, size_t n, yyjson_mut_val *from,
                      yyjson_mut_val *to) {
    bool moved = false;

    for (size_t i = 0; i < n && paths[i]; i++)
        moved |= move(doc, paths[i], from, to);
    return moved;
}

/* The fields of a version out of a spec: what is left over for the annotation; NULL: nothing. Items
 * of a list stand there in their places. */
static yyjson_mut_val *split(yyjson_mut_doc *doc, enum version v, yyjson_mut_val *spec) {
    yyjson_mut_val *rest = yyjson_mut_obj(doc), *c;
    bool any = move_each(doc, versions[v].of_spec, SL_LEN(versions[v].of_spec), spec, rest);

    for (size_t k = 0; k < SL_LEN(lists); k++) {
        yyjson_mut_val *items = yyjson_mut_arr(doc);
        bool moved = false;
        size_t i, n;
        yyjson_mut_arr_foreach (sl_json_mut_get(spec, lists[k]), i, n, c) {
            moved |= move_each(doc, versions[v].of_container, SL_LEN(versions[v].of_container), c,
                               yyjson_mut_arr_add_obj(doc, items));
        }
        if (moved)
            sl_json_mut_set(doc, rest, lists[k], items);
        any |= moved;
    }
    return any ? rest : NULL;
}

static void join(yyjson_mut_doc *doc, enum version v, yyjson_mut_val *rest, yyjson_mut_val *spec) {
    (void)move_each(doc, versions[v].of_spec, SL_LEN(versions[v].of_spec), rest, spec);
    for (size_t k = 0; k < SL_LEN(lists); k++) {
        yyjson_mut_val *from = sl_json_mut_get(rest, lists[k]);
        yyjson_mut_val *to = sl_json_mut_get(spec, lists[k]), *c;
        size_t i, n;
        if (!yyjson_mut_is_arr(from) || !yyjson_mut_is_arr(to))
            continue;
        yyjson_mut_arr_iter at = yyjson_mut_arr_iter_with(to);
        yyjson_mut_arr_foreach (from, i, n, c) {
            (void)move_each(doc, versions[v].of_container, SL_LEN(versions[v].of_container), c,
                            yyjson_mut_arr_iter_next(&at));
        }
    }
}

/* Volumes that exist already are 'volumes' in v1alpha2; in v1alpha1 those are others. */
static void rename_volumes(yyjson_mut_doc *doc, yyjson_mut_val *containers, bool up) {
    size_t i, n;
    yyjson_mut_val *c;

    yyjson_mut_arr_foreach (containers, i, n, c) {
        yyjson_mut_val *v = yyjson_mut_obj_remove_key(c, up ? "existingVolumes" : "volumes");
        if (v)
            (void)yyjson_mut_obj_put(c, yyjson_mut_str(doc, up ? "volumes" : "existingVolumes"), v);
    }
}

/* ---- annotations ---- */

static yyjson_mut_val *parsed_object(yyjson_mut_doc *doc, struct sl_text t) {
    _cleanup_(sl_json_docp) yyjson_doc *parsed = NULL;
    struct sl_err ignored;

    if (t.n == 0 || sl_json_read_within(t.s, t.n, MAX_VALUES, &parsed, &ignored) < 0 ||
        !yyjson_is_obj(yyjson_doc_get_root(parsed)))
        return NULL;
    yyjson_mut_val *copy = yyjson_val_mut_copy(doc, yyjson_doc_get_root(parsed));
    sl_assert(copy);
    return copy;
}

/* The annotation with fields of this version; NULL: there is none of use. Both are taken off. */
static yyjson_mut_val *take_annotation(yyjson_mut_doc *doc, yyjson_mut_val *object,
                                       enum version v) {
    yyjson_mut_val *meta = sl_json_mut_get(object, "metadata"), *taken;
    yyjson_mut_val *all = sl_json_mut_get(meta, "annotations");
    bool any = false;

    if (!yyjson_mut_is_obj(all))
        return NULL;
    taken = parsed_object(doc, sl_json_mut_view(sl_json_mut_get(all, versions[v].annotation)));
    for (enum version k = V1ALPHA1; k < VERSIONS; k++)
        any |= yyjson_mut_obj_remove_key(all, versions[k].annotation) != NULL;
    if (any && yyjson_mut_obj_size(all) == 0)
        (void)yyjson_mut_obj_remove_key(meta, "annotations");
    return taken;
}

static void put_annotation(struct sl_convert *cv, yyjson_mut_val *object, enum version v,
                           enum version made_as, yyjson_mut_val *rest) {
    yyjson_mut_doc *doc = cv->doc;
    yyjson_mut_val *all = sl_json_mut_obj(doc, object, "metadata.annotations");
    yyjson_mut_val *content = yyjson_mut_obj(doc);
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(SL_CONVERT_MAX_BYTES);

    sl_json_mut_set_str(doc, content, MADE_AS, versions[made_as].name);
    if (rest)
        sl_json_mut_set(doc, content, "spec", rest);
    sl_json_mut_put(&text, content);
    if (!sl_buf_full(&text))
        sl_json_mut_set(doc, all, versions[v].annotation,
                        yyjson_mut_strncpy(doc, sl_buf_str(&text), text.len));
}

/* ---- the object ---- */

/* In which version it was made: an object without an annotation in its own. */
static enum version made_as(yyjson_mut_val *taken, enum version own, enum version other) {
    const char *word = sl_json_mut_str(taken, MADE_AS);

    if (!taken)
        return own;
    return strcmp(word, versions[own].name) == 0 ? own : other;
}

int sl_convert_minicluster(struct sl_convert *cv, yyjson_mut_val *object, const char *api_version) {
    enum version from = version_of(sl_json_mut_str(object, "apiVersion"));
    enum version to = version_of(api_version);
    yyjson_mut_val *spec = sl_json_mut_get(object, "spec"), *taken, *rest;

    if (from == VERSIONS || to == VERSIONS)
        return sl_err_set(cv->err, SL_EINVAL, "no conversion of %s from %s to %s",
                          sl_json_mut_str(object, "kind"), sl_json_mut_str(object, "apiVersion"),
                          api_version);
    if (from == to)
        return 0;
    yyjson_mut_val *annotations = sl_json_mut_at(object, "metadata.annotations");
    if (!yyjson_mut_is_obj(sl_json_mut_get(object, "metadata")) ||
        (annotations && !yyjson_mut_is_obj(annotations)))
        return sl_err_set(cv->err, SL_EINVAL, "metadata and its annotations must be objects");
    taken = take_annotation(cv->doc, object, to);
    enum version made = made_as(taken, from, to);
    rest = split(cv->doc, from, spec);
    for (size_t k = 0; k < SL_LEN(lists); k++)
        rename_volumes(cv->doc, sl_json_mut_get(spec, lists[k]), to == V1ALPHA2);
    join(cv->doc, to, sl_json_mut_get(taken, "spec"), spec);
    if (made == from || rest)
        put_annotation(cv, object, from, made, rest);
    return 0;
}

bool sl_minicluster_made_as_v1alpha1(yyjson_val *object) {
    _cleanup_(sl_json_docp) yyjson_doc *parsed = NULL;
    const char *text = sl_json_annotation(object, versions[V1ALPHA1].annotation);
    struct sl_err ignored;

    if (sl_json_read_within(text, strlen(text), MAX_VALUES, &parsed, &ignored) < 0)
        return false;
    const char *word = sl_json_str(yyjson_doc_get_root(parsed), MADE_AS);
    return yyjson_is_obj(yyjson_doc_get_root(parsed)) && strcmp(word, versions[V1ALPHA2].name) != 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of containers: names, where values come from; and what of a pod and of its
 * amounts variables and files may show.
 */
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "lib/json/json.h"

/* ---- fields of the pod ---- */

const struct api_downward api_downward_in_env = {
    {"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
     "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"},
    9};
const struct api_downward api_downward_in_files = {{"metadata.annotations", "metadata.labels",
                                                    "metadata.name", "metadata.namespace",
                                                    "metadata.uid"},
                                                   5};

/* All that exist; which of them may be shown where is above. */
static const char *const known[] = {"metadata.annotations", "metadata.labels",
                                    "metadata.name",        "metadata.namespace",
                                    "metadata.uid",         "spec.nodeName",
                                    "spec.restartPolicy",   "spec.schedulerName",
                                    "status.phase",         "spec.serviceAccountName",
                                    "status.hostIP",        "status.hostIPs",
                                    "status.podIP",         "status.podIPs"};

static bool is_one_of(const char *const *words, size_t n, const char *word) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

/* "metadata.labels['x']": the part before the bracket, and x. NULL: it has no such form. */
static const char *subscript(struct sl_arena *a, const char *path, const char **ret_key) {
    const char *open = strstr(path, "['");
    size_t len = strlen(path);

    if (!open || open == path || len < 2 || strcmp(path + len - 2, "']") != 0 ||
        path + len - 2 < open + 2)
        return NULL;
    *ret_key = sl_arena_strndup(a, open + 2, (size_t)(path + len - 2 - (open + 2)));
    return sl_arena_strndup(a, path, (size_t)(open - path));
}

static const char *lowered(struct sl_arena *a, const char *s) {
    char *out = sl_arena_strdup(a, s);

    for (char *p = out; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
    return out;
}

void api_field_ref_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *ref,
                         const struct api_downward *shown) {
    const struct sl_path *path_at = SL_PATH(at, "fieldPath");
    const char *path = sl_json_str(ref, "fieldPath"), *version = sl_json_str(ref, "apiVersion");
    const char *key = "", *map = subscript(e->arena, path, &key);
    bool notes = map && strcmp(map, "metadata.annotations") == 0;

    if (*path == '\0') {
        sl_field_required(e, path_at, "");
    } else if (*version && strcmp(version, "v1") != 0) {
        sl_field_invalid(e, path_at, sl_field_value_str(path),
                         "error converting fieldPath: unsupported pod version: %s", version);
    } else if (map && !notes && strcmp(map, "metadata.labels") != 0) {
        sl_field_invalid(e, path_at, sl_field_value_str(path),
                         "error converting fieldPath: field label does not support subscript: %s",
                         path);
    } else if (map) {
        key = notes ? lowered(e->arena, key) : key;
        api_word_check(e, at, key, strlen(key), sl_syntax_label_key);
    } else {
        path = strcmp(path, "spec.host") == 0 ? "spec.nodeName" : path; /* its first name */
        if (!is_one_of(known, SL_LEN(known), path))
            sl_field_invalid(e, path_at, sl_field_value_str(path),
                             "error converting fieldPath: field label not supported: %s", path);
        else if (!is_one_of(shown->paths, shown->n, path))
            sl_field_unsupported(e, path_at, sl_field_value_str(path), shown->paths, shown->n);
    }
}

/* ---- amounts of a container ---- */

/* What an amount may be divided by. */
#define BYTES "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"
static const struct {
    const char *amount; /* after "limits." or "requests." */
    bool begins;        /* and more may follow */
    const char *divisors, *printed, *name;
} amounts[] = {
    {"cpu", false, "1m, 1", "1m and 1", "cpu"},
    {"memory", false, BYTES, BYTES, "memory"},
    {"ephemeral-storage", false, BYTES, BYTES, "local ephemeral storage"},
    {"hugepages-", true, BYTES, BYTES, "hugepages"},
};

static bool is_listed(const char *list, const char *word) {
    size_t len = strlen(word);

    for (const char *p = list; p; p = strstr(p, ", ") ? strstr(p, ", ") + 2 : NULL)
        if (strncmp(p, word, len) == 0 && (p[len] == ',' || p[len] == '\0'))
            return true;
    return false;
}

void api_amount_ref_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *ref,
                          bool in_file) {
    static const char *const words[] = {
        "limits.cpu",   "limits.ephemeral-storage",   "limits.memory",
        "requests.cpu", "requests.ephemeral-storage", "requests.memory"};
    const char *resource = sl_json_str(ref, "resource"), *of = strchr(resource, '.');
    yyjson_val *divisor = sl_json_get(ref, "divisor");
    size_t k = SL_LEN(amounts);
    sl_quantity q = 0;

    if (of && (strncmp(resource, "limits.", 7) == 0 || strncmp(resource, "requests.", 9) == 0))
        for (k = 0; k < SL_LEN(amounts); k++)
            if (amounts[k].begins
                    ? strncmp(of + 1, amounts[k].amount, strlen(amounts[k].amount)) == 0
                    : strcmp(of + 1, amounts[k].amount) == 0)
                break;
    if (in_file && !*sl_json_str(ref, "containerName"))
        sl_field_required(e, SL_PATH(at, "containerName"), "");
    else if (*resource == '\0')
        sl_field_required(e, SL_PATH(at, "resource"), "");
    else if (k == SL_LEN(amounts))
        sl_field_unsupported(e, SL_PATH(at, "resource"), sl_field_value_str(resource), words,
                             SL_LEN(words));
    if (k < SL_LEN(amounts) && sl_json_quantity(divisor, &q) && q != 0 &&
        !is_listed(amounts[k].divisors, sl_json_text(divisor)))
        sl_field_invalid(e, SL_PATH(at, "divisor"), sl_field_value_str(resource),
                         "only divisor's values %s are supported with the %s resource",
                         amounts[k].printed, amounts[k].name);
}

/* ---- variables ---- */

static void field_source(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *ref) {
    api_field_ref_check(e, at, ref, &api_downward_in_env);
}

static void amount_source(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *ref) {
    api_amount_ref_check(e, at, ref, false);
}

static void key_source(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *ref) {
    const char *name = sl_json_str(ref, "name");

    api_word_check(e, SL_PATH(at, "name"), name, strlen(name), sl_syntax_subdomain);
    api_word_check_at(e, at, ref, "key", api_word_data_key, true);
}

static void file_source(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *ref) {
    const char *path = sl_json_str(ref, "path");

    api_word_check_at(e, at, ref, "key", api_word_env, true);
    api_word_check_at(e, at, ref, "volumeName", sl_syntax_dns_label, true);
    if (*path)
        api_path_check_no_dotdot(e, SL_PATH(at, "path"), path);
    else
        sl_field_required(e, SL_PATH(at, "path"), "");
}

static const struct {
    const char *name;
    void (*check)(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *ref);
} sources[] = {
    {"fieldRef", field_source},      {"resourceFieldRef", amount_source},
    {"configMapKeyRef", key_source}, {"secretKeyRef", key_source},
    {"fileKeyRef", file_source},
};

static void value_from(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *var) {
    yyjson_val *from = sl_json_get(var, "valueFrom");
    size_t count = 0;

    if (!from)
        return;
    for (size_t i = 0; i < SL_LEN(sources); i++) {
        yyjson_val *ref = sl_json_get(from, sources[i].name);
        count += ref != NULL;
        if (ref)
            sources[i].check(e, SL_PATH(at, sources[i].name), ref);
    }
    if (count == 0)
        sl_field_invalid(e, at, sl_field_value_str(""),
                         "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
                         "`secretKeyRef` or `fileKeyRef`");
    else if (*sl_json_str(var, "value"))
        sl_field_invalid(e, at, sl_field_value_str(""),
                         "may not be specified when `value` is not empty");
    else if (count > 1)
        sl_field_invalid(e, at, sl_field_value_str(""),
                         "may not have more than one field specified at a time");
}

/* A name that ends in a dash is taken for one that something is to be put behind. */
static struct sl_syntax_errors name_or_beginning(const char *s, size_t len) {
    return sl_syntax_subdomain(s, len > 1 && s[len - 1] == '-' ? len - 1 : len);
}

static void all_of(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v, size_t i) {
    static const char *const refs[] = {"configMapRef", "secretRef"};
    const struct sl_path *v_at = SL_PATH_AT(at, i);
    size_t count = 0;

    api_word_check_at(e, v_at, v, "prefix", api_word_env, false);
    for (size_t k = 0; k < SL_LEN(refs); k++) {
        yyjson_val *ref = sl_json_get(v, refs[k]);
        count += ref != NULL;
        if (ref)
            api_word_check_at(e, SL_PATH(v_at, refs[k]), ref, "name", name_or_beginning, true);
    }
    if (count == 0)
        sl_field_invalid(e, at, sl_field_value_str(""),
                         "must specify one of: `configMapRef` or `secretRef`");
    else if (count > 1)
        sl_field_invalid(e, at, sl_field_value_str(""),
                         "may not have more than one field specified at a time");
}

void api_env_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *container) {
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (sl_json_get(container, "env"), i, n, v) {
        const struct sl_path *v_at = SL_PATH_AT(SL_PATH(at, "env"), i);
        api_word_check_at(e, v_at, v, "name", api_word_env, true);
        value_from(e, SL_PATH(v_at, "valueFrom"), v);
    }
    yyjson_arr_foreach (sl_json_get(container, "envFrom"), i, n, v) {
        all_of(e, SL_PATH(at, "envFrom"), v, i);
    }
}

/* ---- files that variables are read from ---- */

static void files_of(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *container,
                     yyjson_val *volumes) {
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (sl_json_get(container, "env"), i, n, v) {
        yyjson_val *ref = sl_json_at(v, "valueFrom.fileKeyRef");
        const char *name = sl_json_str(ref, "volumeName");
        const struct sl_path *ref_at =
            SL_PATH(SL_PATH(SL_PATH_AT(SL_PATH(at, "env"), i), "valueFrom"), "fileKeyRef");
        yyjson_val *volume = ref ? sl_json_find(volumes, "name", name) : NULL;
        if (ref && !volume)
            sl_field_not_found(e, SL_PATH(ref_at, "volumeName"), sl_field_value_str(name));
        else if (ref && !sl_json_get(volume, "emptyDir"))
            sl_field_invalid(e, SL_PATH(ref_at, "volumeName"), sl_field_value_str(name),
                             "referenced volume must be of type emptyDir");
    }
}

void api_env_files_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *spec) {
    static const char *const lists[] = {"initContainers", "containers", "ephemeralContainers"};
    size_t i, n;
    yyjson_val *c;

    for (size_t k = 0; k < SL_LEN(lists); k++)
        yyjson_arr_foreach (sl_json_get(spec, lists[k]), i, n, c) {
            files_of(e, SL_PATH_AT(SL_PATH(at, lists[k]), i), c, sl_json_get(spec, "volumes"));
        }
}

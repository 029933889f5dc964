/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Volumes of pods: each has one source, sources have rules of their own, and containers mount what
 * there is.
 */
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "lib/json/json.h"
#include "lib/pattern/pattern.h"

#define MODE_MAX 0777
#define PARTITION_MAX 255
#define LUN_MAX 255
#define TOKEN_MIN_S 600
#define TOKEN_MAX_S (INT64_C(1) << 32)
#define DRIVER_MAX 63

/* ---- paths and rights ---- */

static void mode_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *mode) {
    int64_t n = sl_json_int(mode, "", 0);

    if (n < 0 || n > MODE_MAX)
        sl_field_invalid(e, at, sl_field_value_int(n),
                         "must be a number between 0 and 0777 (octal), both inclusive");
}

static bool has_backsteps(const char *path) {
    for (const char *part = path; *part; part += *part == '/') {
        size_t len = strcspn(part, "/");
        if (len == 2 && strncmp(part, "..", 2) == 0)
            return true;
        part += len;
    }
    return false;
}

void api_path_check_no_dotdot(struct sl_field_errs *e, const struct sl_path *at, const char *path) {
    if (has_backsteps(path))
        sl_field_invalid(e, at, sl_field_value_str(path), "must not contain '..'");
}

static void check_relative_path(struct sl_field_errs *e, const struct sl_path *at,
                                const char *path) {
    if (*path == '/')
        sl_field_invalid(e, at, sl_field_value_str(path), "must be a relative path");
    api_path_check_no_dotdot(e, at, path);
}

/* Names that begin with ".." are reserved for the writer of the files. */
static void file_path(struct sl_field_errs *e, const struct sl_path *at, const char *path) {
    check_relative_path(e, at, path);
    if (strncmp(path, "..", 2) == 0 && path[2] != '/')
        sl_field_invalid(e, at, sl_field_value_str(path), "must not start with '..'");
}

/* ---- files ---- */

static void item_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v) {
    static const char *const needs[] = {"key", "path"};

    for (size_t i = 0; i < SL_LEN(needs); i++)
        if (!*sl_json_str(v, needs[i]))
            sl_field_required(e, SL_PATH(at, needs[i]), "");
    file_path(e, SL_PATH(at, "path"), sl_json_str(v, "path"));
    mode_check(e, SL_PATH(at, "mode"), sl_json_get(v, "mode"));
}

/* Keys that become files. */
static void items_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *source) {
    size_t i, n;
    yyjson_val *v;

    mode_check(e, SL_PATH(at, "defaultMode"), sl_json_get(source, "defaultMode"));
    yyjson_arr_foreach (sl_json_get(source, "items"), i, n, v) {
        item_check(e, SL_PATH_AT(SL_PATH(at, "items"), i), v);
    }
}

/* kube-apiserver's message has no index. */
static void shown_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v) {
    yyjson_val *field = sl_json_get(v, "fieldRef"), *amount = sl_json_get(v, "resourceFieldRef");

    if (!*sl_json_str(v, "path"))
        sl_field_required(e, SL_PATH(at, "path"), "");
    file_path(e, SL_PATH(at, "path"), sl_json_str(v, "path"));
    if (field)
        api_field_ref_check(e, SL_PATH(at, "fieldRef"), field, &api_downward_in_files);
    if (field && amount)
        sl_field_invalid(e, at, sl_field_value_str("resource"),
                         "fieldRef and resourceFieldRef can not be specified simultaneously");
    else if (amount)
        api_amount_ref_check(e, SL_PATH(at, "resourceFieldRef"), amount, true);
    else if (!field)
        sl_field_required(e, at, "one of fieldRef and resourceFieldRef is required");
    mode_check(e, SL_PATH(at, "mode"), sl_json_get(v, "mode"));
}

static void downward_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *source) {
    size_t i, n;
    yyjson_val *v;

    mode_check(e, SL_PATH(at, "defaultMode"), sl_json_get(source, "defaultMode"));
    yyjson_arr_foreach (sl_json_get(source, "items"), i, n, v) {
        shown_check(e, at, v);
    }
}

/* ---- several sources as one volume ---- */

struct projection {
    struct sl_field_errs *e;
    const struct sl_path *at; /* of the volume */
    struct sl_wordset paths;  /* until now */
};

static const char *const with_items[] = {"secret", "configMap", "downwardAPI"};

static void items_of(struct projection *p, const struct sl_path *at, yyjson_val *from,
                     size_t kind) {
    bool shown = kind == SL_LEN(with_items) - 1;
    size_t i, n;
    yyjson_val *v;

    if (!shown && !*sl_json_str(from, "name"))
        sl_field_required(p->e, SL_PATH(at, "name"), "");
    yyjson_arr_foreach (sl_json_get(from, "items"), i, n, v) {
        const char *path = sl_json_str(v, "path");
        if (shown)
            shown_check(p->e, at, v);
        else
            item_check(p->e, SL_PATH_AT(SL_PATH(at, "items"), i), v);
        if (*path && !sl_wordset_add(&p->paths, path))
            sl_field_invalid(p->e, p->at,
                             sl_field_value_str(shown ? path : sl_json_str(from, "name")),
                             "conflicting duplicate paths");
    }
}

static void token_of(struct projection *p, const struct sl_path *at, yyjson_val *token) {
    int64_t s = sl_json_int(token, "expirationSeconds", TOKEN_MIN_S);
    const char *path = sl_json_str(token, "path");

    if (s < TOKEN_MIN_S)
        sl_field_invalid(p->e, SL_PATH(at, "expirationSeconds"), sl_field_value_int(s),
                         "may not specify a duration less than 10 minutes");
    if (s > TOKEN_MAX_S)
        sl_field_invalid(p->e, SL_PATH(at, "expirationSeconds"), sl_field_value_int(s),
                         "may not specify a duration larger than 2^32 seconds");
    if (*path)
        file_path(p->e, SL_PATH(p->at, "path"), path);
    else
        sl_field_required(p->e, SL_PATH(p->at, "path"), "");
}

static void projected_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *source) {
    struct projection p = {.e = e, .at = at};
    yyjson_val *v;
    size_t i, n;

    mode_check(e, SL_PATH(at, "defaultMode"), sl_json_get(source, "defaultMode"));
    yyjson_arr_foreach (sl_json_get(source, "sources"), i, n, v) {
        const struct sl_path *v_at = SL_PATH_AT(SL_PATH(at, "sources"), i);
        yyjson_val *token = sl_json_get(v, "serviceAccountToken");
        size_t count = token != NULL;
        for (size_t k = 0; k < SL_LEN(with_items); k++) {
            yyjson_val *from = sl_json_get(v, with_items[k]);
            count += from != NULL;
            if (from)
                items_of(&p, SL_PATH(v_at, with_items[k]), from, k);
        }
        if (token)
            token_of(&p, SL_PATH(v_at, "serviceAccountToken"), token);
        if (count > 1)
            sl_field_forbidden(e, v_at, "may not specify more than 1 volume type per source");
    }
    sl_wordset_done(&p.paths);
}

/* ---- other sources ---- */

static void empty_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *source) {
    sl_quantity q;

    if (sl_json_quantity(sl_json_get(source, "sizeLimit"), &q) && q < 0)
        sl_field_forbidden(e, SL_PATH(at, "sizeLimit"),
                           "SizeLimit field must be a valid resource quantity");
}

static void host_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *source) {
    static const char *const types[] = {
        "",     "BlockDevice",  "CharDevice", "Directory", "DirectoryOrCreate",
        "File", "FileOrCreate", "Socket",     NULL};
    const char *path = sl_json_str(source, "path");

    if (!*path)
        return;
    api_path_check_no_dotdot(e, SL_PATH(at, "path"), path);
    api_check_one_of(e, at, source, "type", types, false);
}

static void git_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *source) {
    check_relative_path(e, SL_PATH(at, "directory"), sl_json_str(source, "directory"));
}

static void disk_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *source) {
    int64_t n = sl_json_int(source, "partition", 0);

    if (n < 0 || n > PARTITION_MAX)
        sl_field_invalid(e, SL_PATH(at, "partition"), sl_field_value_int(n),
                         "must be between 1 and %d, inclusive", PARTITION_MAX);
}

static void nfs_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *source) {
    const char *path = sl_json_str(source, "path");

    if (*path != '/')
        sl_field_invalid(e, SL_PATH(at, "path"), sl_field_value_str(path),
                         "must be an absolute path");
}

static void lun_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *source) {
    int64_t n = sl_json_int(source, "lun", 0);

    if (n < 0 || n > LUN_MAX)
        sl_field_invalid(e, SL_PATH(at, "lun"), sl_field_value_int(n),
                         "must be between 0 and %d, inclusive", LUN_MAX);
}

static bool matches(const char *pattern, const char *s) {
    struct sl_pattern *p = NULL;
    uint64_t budget = SL_PATTERN_BUDGET;
    bool yes =
        sl_pattern_new(pattern, &p, NULL) >= 0 && sl_pattern_matches(p, s, strlen(s), &budget);

    sl_pattern_free(p);
    return yes;
}

/* Names of targets and initiators, in one of three forms. */
static void iscsi_name(struct sl_field_errs *e, const struct sl_path *at, const char *name) {
    static const struct {
        const char *begins, *pattern;
    } forms[] = {
        {"iqn", "iqn\\.[0-9]{4}-[0-9]{2}\\.[-.0-9A-Za-z]+:[^,;*&$|\\s]+$"},
        {"eui", "^eui.[0-9A-Za-z]{16}$"},
        {"naa", "^naa.[0-9A-Za-z]{32}$"},
    };

    for (size_t i = 0; i < SL_LEN(forms); i++)
        if (strncmp(name, forms[i].begins, 3) == 0) {
            if (!matches(forms[i].pattern, name))
                sl_field_invalid(e, at, sl_field_value_str(name), "must be valid format");
            return;
        }
    sl_field_invalid(e, at, sl_field_value_str(name),
                     "must be valid format starting with iqn, eui, or naa");
}

static void iscsi_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *source) {
    const char *iqn = sl_json_str(source, "iqn"), *by = sl_json_str(source, "initiatorName");
    bool secret = sl_json_bool(source, "chapAuthDiscovery", false) ||
                  sl_json_bool(source, "chapAuthSession", false);

    if (*iqn)
        iscsi_name(e, SL_PATH(at, "iqn"), iqn);
    lun_check(e, at, source);
    if (secret && !sl_json_get(source, "secretRef"))
        sl_field_required(e, SL_PATH(at, "secretRef"), "");
    if (sl_json_get(source, "initiatorName"))
        iscsi_name(e, SL_PATH(at, "initiatorname"), by);
}

static void fc_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *source) {
    yyjson_val *names = sl_json_get(source, "targetWWNs"), *ids = sl_json_get(source, "wwids");

    if (sl_json_size(names) == 0 && sl_json_size(ids) == 0)
        sl_field_required(e, SL_PATH(at, "targetWWNs"),
                          "must specify either targetWWNs or wwids, but not both");
    if (sl_json_size(names) == 0)
        return;
    if (sl_json_size(ids) > 0)
        sl_field_invalid(e, SL_PATH(at, "targetWWNs"), sl_field_value_json(names),
                         "targetWWNs and wwids can not be specified simultaneously");
    if (sl_json_get(source, "lun"))
        lun_check(e, at, source);
    else
        sl_field_required(e, SL_PATH(at, "lun"), "lun is required if targetWWNs is specified");
}

static void flocker_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *source) {
    const char *name = sl_json_str(source, "datasetName"), *id = sl_json_str(source, "datasetUUID");

    if (!*name && !*id)
        sl_field_required(e, at, "one of datasetName and datasetUUID is required");
    if (*name && *id)
        sl_field_invalid(e, at, sl_field_value_str("resource"),
                         "datasetName and datasetUUID can not be specified simultaneously");
    if (strchr(name, '/'))
        sl_field_invalid(e, SL_PATH(at, "datasetName"), sl_field_value_str(name),
                         "must not contain '/'");
}

static void secret_ref_check(struct sl_field_errs *e, const struct sl_path *at,
                             yyjson_val *source) {
    yyjson_val *ref = sl_json_get(source, "secretRef");

    if (ref && !*sl_json_str(ref, "name"))
        sl_field_required(e, SL_PATH(SL_PATH(at, "secretRef"), "name"), "");
}

static void storageos_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *source) {
    api_word_check_at(e, at, source, "volumeName", sl_syntax_dns_label, false);
    api_word_check_at(e, at, source, "volumeNamespace", sl_syntax_dns_label, false);
    secret_ref_check(e, at, source);
}

static void azure_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *source) {
    static const char *const caching[] = {"None", "ReadOnly", "ReadWrite", NULL};
    static const char *const kinds[] = {"Dedicated", "Managed", "Shared", NULL};
    static const char *const managed = "/subscriptions/{sub-id}/resourcegroups/{group-name}/"
                                       "providers/microsoft.compute/disks/{disk-id}";
    static const char *const blob =
        "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";
    const char *uri = sl_json_str(source, "diskURI"), *kind = sl_json_str(source, "kind");
    bool is_managed = strcmp(kind, "Managed") == 0;

    api_check_one_of(e, at, source, "cachingMode", caching, false);
    api_check_one_of(e, at, source, "kind", kinds, false);
    if (is_managed && strncmp(uri, "/subscriptions/", 15) != 0)
        sl_field_unsupported(e, SL_PATH(at, "diskURI"), sl_field_value_str(uri), &managed, 1);
    if (sl_json_get(source, "kind") && !is_managed && strncmp(uri, "https://", 8) != 0)
        sl_field_unsupported(e, SL_PATH(at, "diskURI"), sl_field_value_str(uri), &blob, 1);
}

static void csi_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *source) {
    const char *driver = sl_json_str(source, "driver");
    yyjson_val *ref = sl_json_get(source, "nodePublishSecretRef");
    const char *name = sl_json_str(ref, "name");
    size_t len = strlen(driver);
    char *low = sl_arena_strdup(e->arena, driver);

    for (char *p = low; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
    if (len > DRIVER_MAX)
        sl_field_too_long(e, SL_PATH(at, "driver"), DRIVER_MAX);
    struct sl_syntax_errors f = sl_syntax_subdomain(low, len);
    for (uint32_t i = 0; len && i < f.n; i++)
        sl_field_invalid(e, SL_PATH(at, "driver"), sl_field_value_str(driver), "%s", f.v[i]);
    if (ref && !*name)
        sl_field_required(e, SL_PATH(SL_PATH(at, "nodePublishSecretRef"), "name"), "");
    else if (ref)
        api_word_check(e, SL_PATH(at, "name"), name, strlen(name), sl_syntax_subdomain);
}

/* Labels and annotations are all that a claim gets from here. */
static void ephemeral_check(struct sl_field_errs *e, const struct sl_path *up, yyjson_val *source) {
    yyjson_val *tmpl = sl_json_get(source, "volumeClaimTemplate"), *key, *v;
    yyjson_val *meta = sl_json_get(tmpl, "metadata");
    const struct sl_path *at = SL_PATH(up, "volumeClaimTemplate"),
                         *meta_at = SL_PATH(at, "metadata");
    size_t i, n;

    if (!tmpl)
        return;
    sl_syntax_check_annotations(e, SL_PATH(meta_at, "annotations"),
                                sl_json_get(meta, "annotations"));
    sl_syntax_check_labels(e, SL_PATH(meta_at, "labels"), sl_json_get(meta, "labels"));
    sl_obj_foreach (meta, i, n, key, v) {
        if (!yyjson_equals_str(key, "annotations") && !yyjson_equals_str(key, "labels"))
            sl_field_forbidden(e, SL_PATH(meta_at, sl_json_text(key)), "cannot be set");
    }
    api_claim_spec_check(e, SL_PATH(at, "spec"), sl_json_get(tmpl, "spec"));
}

static void image_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *source) {
    static const char *const policies[] = {"Always", "IfNotPresent", "Never", NULL};

    api_check_one_of(e, at, source, "pullPolicy", policies, true);
}

/* ---- sources ---- */

/* In the order of the checks: the second source that is present is one too many. What a source
 * requires, and further checks. Two have another name where they are one too many, and one where
 * its own errors are. */
static const struct {
    const char *source, *needs[3];
    void (*check)(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *source);
    const char *too_many, *faults;
    bool pod_only; /* needs are those of pods, not of templates */
} sources[] = {
    {"emptyDir", {NULL}, empty_check, NULL, NULL, false},
    {"hostPath", {"path"}, host_check, NULL, NULL, false},
    {"gitRepo", {"repository"}, git_check, NULL, NULL, false},
    {"gcePersistentDisk", {"pdName"}, disk_check, NULL, "persistentDisk", false},
    {"awsElasticBlockStore", {"volumeID"}, disk_check, NULL, NULL, false},
    {"secret", {"secretName"}, items_check, NULL, NULL, false},
    {"nfs", {"server", "path"}, nfs_check, NULL, NULL, false},
    {"iscsi", {"targetPortal", "iqn"}, iscsi_check, NULL, NULL, false},
    {"glusterfs", {"endpoints", "path"}, NULL, NULL, NULL, false},
    {"flocker", {NULL}, flocker_check, NULL, NULL, false},
    {"persistentVolumeClaim", {"claimName"}, NULL, NULL, NULL, false},
    {"rbd", {"monitors", "image"}, NULL, NULL, NULL, false},
    {"cinder", {"volumeID"}, secret_ref_check, NULL, NULL, false},
    {"cephfs", {"monitors"}, NULL, "cephFS", NULL, false},
    {"quobyte", {"registry", "volume"}, NULL, NULL, NULL, false},
    {"downwardAPI", {NULL}, downward_check, "downwarAPI", NULL, false},
    {"fc", {NULL}, fc_check, NULL, NULL, false},
    {"flexVolume", {"driver"}, NULL, NULL, NULL, false},
    {"configMap", {"name"}, items_check, NULL, NULL, false},
    {"azureFile", {"secretName", "shareName"}, NULL, NULL, NULL, false},
    {"vsphereVolume", {"volumePath"}, NULL, NULL, NULL, false},
    {"photonPersistentDisk", {"pdID"}, NULL, NULL, NULL, false},
    {"portworxVolume", {"volumeID"}, NULL, NULL, NULL, false},
    {"azureDisk", {"diskName", "diskURI"}, azure_check, NULL, NULL, false},
    {"storageos", {"volumeName"}, storageos_check, NULL, NULL, false},
    {"projected", {NULL}, projected_check, NULL, NULL, false},
    {"scaleIO", {"gateway", "system", "volumeName"}, NULL, NULL, NULL, false},
    {"csi", {"driver"}, csi_check, NULL, NULL, false},
    {"ephemeral", {"volumeClaimTemplate"}, ephemeral_check, NULL, NULL, false},
    {"image", {"reference"}, image_check, NULL, NULL, true},
};

static bool is_nothing(yyjson_val *v) {
    return !v || (yyjson_is_str(v) ? sl_json_view(v).n == 0
                                   : yyjson_is_arr(v) && yyjson_arr_size(v) == 0);
}

static const char *need_detail(const char *need) {
    return strcmp(need, "registry") == 0
               ? "must be a host:port pair or multiple pairs separated by commas"
               : "";
}

static void volume_source(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v,
                          bool in_pod) {
    size_t count = 0;

    for (size_t s = 0; s < SL_LEN(sources); s++) {
        const char *name = sources[s].source;
        yyjson_val *source = sl_json_get(v, name);
        if (!source)
            continue;
        if (count++ > 0) {
            sl_field_forbidden(e, SL_PATH(at, sources[s].too_many ? sources[s].too_many : name),
                               "may not specify more than 1 volume type");
            continue;
        }
        const struct sl_path *s_at = SL_PATH(at, sources[s].faults ? sources[s].faults : name);
        for (size_t k = 0; k < SL_LEN(sources[s].needs) && sources[s].needs[k]; k++)
            if ((in_pod || !sources[s].pod_only) &&
                is_nothing(sl_json_get(source, sources[s].needs[k])))
                sl_field_required(e, SL_PATH(s_at, sources[s].needs[k]),
                                  need_detail(sources[s].needs[k]));
        if (sources[s].check)
            sources[s].check(e, s_at, source);
    }
    if (count == 0)
        sl_field_required(e, at, "must specify a volume type");
}

/* ---- volumes ---- */

/* The good volume of that name. */
static yyjson_val *volume_of(const struct api_volumes *s, const char *name) {
    uint32_t i = sl_wordset_find(&s->names, name);

    return i == SL_MAP_NONE ? NULL : s->known.v[i];
}

/* Claims that the pod makes are called after it and the volume. */
static void will_claim(struct sl_arena *arena, yyjson_val *list, const char *pod,
                       struct sl_wordset *ret) {
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (list, i, n, v) {
        if (pod && *pod && sl_json_get(v, "ephemeral"))
            (void)sl_wordset_add(ret, sl_arena_printf(arena, "%s-%s", pod, sl_json_str(v, "name")));
    }
}

static void claim_name(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *v,
                       const char *pod) {
    const char *name = sl_json_str(v, "name");
    const char *claim = sl_arena_printf(e->arena, "%s-%s", pod, name);
    struct sl_syntax_errors f = sl_syntax_subdomain(claim, strlen(claim));

    for (uint32_t i = 0; i < f.n; i++)
        sl_field_invalid(e, SL_PATH(at, "name"), sl_field_value_str(name), "PVC name \"%s\": %s",
                         claim, f.v[i]);
}

/* A StatefulSet's claims come first, and take the place of volumes with their names. */
static size_t claims_first(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *claims,
                           struct sl_wordset *ret) {
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (claims, i, n, v) {
        const struct sl_path *v_at = SL_PATH_AT(at, ret->words.n);
        const char *name = sl_json_str(v, "metadata.name");
        if (!sl_wordset_add(ret, name))
            continue;
        if (!*name)
            sl_field_required(e, SL_PATH(SL_PATH(v_at, "persistentVolumeClaim"), "claimName"), "");
        if (*name)
            api_word_check(e, SL_PATH(v_at, "name"), name, strlen(name), sl_syntax_dns_label);
        else
            sl_field_required(e, SL_PATH(v_at, "name"), "");
    }
    return ret->words.n;
}

struct api_volumes api_volumes_check(struct sl_field_errs *e, const struct sl_path *at,
                                     yyjson_val *list, const char *pod, yyjson_val *claims) {
    struct api_volumes s = {0};
    struct sl_wordset made = {0};
    size_t i, n, number = claims_first(e, at, claims, &s.claims);
    yyjson_val *v;

    will_claim(e->arena, list, pod, &made);
    yyjson_arr_foreach (list, i, n, v) {
        const char *name = sl_json_str(v, "name");
        const char *claim = sl_json_str(v, "persistentVolumeClaim.claimName");
        if (sl_wordset_has(&s.claims, name))
            continue;
        const struct sl_path *v_at = SL_PATH_AT(at, number++);
        uint32_t before = e->n + e->dropped;
        volume_source(e, v_at, v, pod != NULL);
        if (pod && *pod && *name && sl_json_get(v, "ephemeral"))
            claim_name(e, v_at, v, pod);
        api_word_check_at(e, v_at, v, "name", sl_syntax_dns_label, true);
        if (volume_of(&s, name))
            sl_field_duplicate(e, SL_PATH(v_at, "name"), sl_field_value_str(name), "");
        if (e->n + e->dropped == before && sl_wordset_add(&s.names, name))
            *sl_vec_push(&s.known) = v;
        if (*claim && sl_wordset_has(&made, claim))
            sl_field_invalid(e, SL_PATH(SL_PATH(v_at, "persistentVolumeClaim"), "claimName"),
                             sl_field_value_str(claim),
                             "must not reference a PVC that gets created for an ephemeral volume");
    }
    sl_wordset_done(&made);
    return s;
}

void api_volumes_done(struct api_volumes *s) {
    sl_wordset_done(&s->claims);
    sl_wordset_done(&s->names);
    sl_vec_free(&s->known);
}

/* ---- mounts ---- */

/* Paths of a list of mounts or devices; of those with one name the last one counts. */
struct mounted {
    struct sl_wordset names, paths;
};

static struct mounted mounted(yyjson_val *list, const char *field) {
    struct mounted m = {0};
    SL_VEC(const char *) last = {0};
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (list, i, n, v) {
        const char *name = sl_json_str(v, "name");
        if (sl_wordset_add(&m.names, name))
            (void)sl_vec_push(&last);
        last.v[sl_wordset_find(&m.names, name)] = sl_json_str(v, field);
    }
    for (i = 0; i < last.n; i++)
        (void)sl_wordset_add(&m.paths, last.v[i]);
    sl_vec_free(&last);
    return m;
}

static void mounted_done(struct mounted *m) {
    sl_wordset_done(&m->names);
    sl_wordset_done(&m->paths);
}

static void propagation(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *mount,
                        yyjson_val *container) {
    static const char *const ways[] = {"Bidirectional", "HostToContainer", "None", NULL};
    static const char *const depths[] = {"Disabled", "Enabled", "IfPossible", NULL};
    const char *way = sl_json_str(mount, "mountPropagation"),
               *depth = sl_json_str(mount, "recursiveReadOnly");
    const struct sl_path *depth_at = SL_PATH(at, "recursiveReadOnly");

    api_check_one_of(e, at, mount, "mountPropagation", ways, false);
    if (strcmp(way, ways[0]) == 0 && !sl_json_bool(container, "securityContext.privileged", false))
        sl_field_forbidden(e, SL_PATH(at, "mountPropagation"),
                           "Bidirectional mount propagation is available only to privileged "
                           "containers");
    api_check_one_of(e, at, mount, "recursiveReadOnly", depths, false);
    if (strcmp(depth, depths[1]) != 0 && strcmp(depth, depths[2]) != 0)
        return;
    if (!sl_json_bool(mount, "readOnly", false))
        sl_field_forbidden(e, depth_at, "may only be specified when readOnly is true");
    if (*way && strcmp(way, "None") != 0)
        sl_field_forbidden(e, depth_at,
                           "may only be specified when mountPropagation is None or not specified");
}

static void sub_path(struct sl_field_errs *e, const struct sl_path *at, size_t i, yyjson_val *m) {
    const char *path = sl_json_str(m, "subPath"), *made = sl_json_str(m, "subPathExpr");

    check_relative_path(e, SL_PATH(at, "subPath"), path);
    if (*made && *path)
        sl_field_invalid(e, SL_PATH(SL_PATH_AT(at, i), "subPathExpr"), sl_field_value_str(made),
                         "subPathExpr and subPath are mutually exclusive");
    check_relative_path(e, SL_PATH(at, "subPathExpr"), made);
}

static void mounts(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *container,
                   const struct api_volumes *s) {
    yyjson_val *list = sl_json_get(container, "volumeMounts"), *m;
    struct mounted devices = mounted(sl_json_get(container, "volumeDevices"), "devicePath");
    struct sl_wordset paths = {0};
    size_t i, n;

    yyjson_arr_foreach (list, i, n, m) {
        const struct sl_path *name_at = SL_PATH(SL_PATH_AT(at, i), "name"),
                             *path_at = SL_PATH(SL_PATH_AT(at, i), "mountPath");
        const char *name = sl_json_str(m, "name"), *path = sl_json_str(m, "mountPath");

        if (*name == '\0')
            sl_field_required(e, name_at, "");
        if (!volume_of(s, name) && !sl_wordset_has(&s->claims, name))
            sl_field_not_found(e, name_at, sl_field_value_str(name));
        if (*path == '\0')
            sl_field_required(e, path_at, "");
        if (!sl_wordset_add(&paths, path))
            sl_field_invalid(e, path_at, sl_field_value_str(path), "must be unique");
        if (sl_wordset_has(&devices.names, name))
            sl_field_invalid(e, name_at, sl_field_value_str(name),
                             "must not already exist in "
                             "volumeDevices");
        if (sl_wordset_has(&devices.paths, path))
            sl_field_invalid(e, path_at, sl_field_value_str(path),
                             "must not already exist as a path in volumeDevices");
        sub_path(e, at, i, m);
        propagation(e, at, m, container);
    }
    sl_wordset_done(&paths);
    mounted_done(&devices);
}

static void devices(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *container,
                    const struct api_volumes *s) {
    yyjson_val *list = sl_json_get(container, "volumeDevices"), *d;
    struct mounted mounts = mounted(sl_json_get(container, "volumeMounts"), "mountPath");
    struct sl_wordset names = {0}, paths = {0};
    size_t i, n;

    yyjson_arr_foreach (list, i, n, d) {
        const struct sl_path *name_at = SL_PATH(SL_PATH_AT(at, i), "name"),
                             *path_at = SL_PATH(SL_PATH_AT(at, i), "devicePath");
        const char *name = sl_json_str(d, "name"), *path = sl_json_str(d, "devicePath");
        yyjson_val *volume = volume_of(s, name);
        bool claimed = sl_wordset_has(&s->claims, name) ||
                       sl_json_get(volume, "persistentVolumeClaim") ||
                       sl_json_get(volume, "ephemeral");

        if (*name == '\0')
            sl_field_required(e, name_at, "");
        else if (!sl_wordset_add(&names, name))
            sl_field_invalid(e, name_at, sl_field_value_str(name), "must be unique");
        if (volume && !claimed)
            sl_field_invalid(e, name_at, sl_field_value_str(name),
                             "can only use volume source type of PersistentVolumeClaim or "
                             "Ephemeral for block mode");
        if (!volume && !claimed)
            sl_field_not_found(e, name_at, sl_field_value_str(name));
        if (*path == '\0')
            sl_field_required(e, path_at, "");
        if (!sl_wordset_add(&paths, path) && !has_backsteps(path))
            sl_field_invalid(e, path_at, sl_field_value_str(path), "must be unique");
        if (has_backsteps(path))
            sl_field_invalid(e, path_at, sl_field_value_str(path),
                             "can not contain backsteps ('..')");
        if (sl_wordset_has(&mounts.names, name))
            sl_field_invalid(e, name_at, sl_field_value_str(name),
                             "must not already exist in volumeMounts");
        if (sl_wordset_has(&mounts.paths, path))
            sl_field_invalid(e, path_at, sl_field_value_str(path),
                             "must not already exist as a path in volumeMounts");
    }
    sl_wordset_done(&names);
    sl_wordset_done(&paths);
    mounted_done(&mounts);
}

void api_mounts_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *container,
                      const struct api_volumes *s) {
    mounts(e, SL_PATH(at, "volumeMounts"), container, s);
    devices(e, SL_PATH(at, "volumeDevices"), container, s);
}

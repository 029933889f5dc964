/* SPDX-License-Identifier: Apache-2.0 */
/* storage.k8s.io: stored and validated; no volume is attached or provisioned. */
#include <ctype.h>
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "core/base/collection/wordset.h"
#include "lib/json/json.h"

#define MAX_MAP ((size_t)256 << 10) /* bytes of parameters or metadata */
#define MAX_PARAMETERS 512u
#define MAX_ERROR 1024u
#define MAX_NODE_ID 256u
#define MIN_TOKEN_SECONDS 600
#define MAX_TOKEN_SECONDS (INT64_C(1) << 32)

/* The name in lower case; one that is longer than any name may be is cut. */
static struct sl_text lower(const char *s, size_t len, char *out, size_t size) {
    size_t n = len < size ? len : size;

    for (size_t i = 0; i < n; i++)
        out[i] = (char)tolower((unsigned char)s[i]);
    return (struct sl_text){out, n};
}

static struct sl_syntax_errors driver_syntax(const char *s, size_t len) {
    char plain[512];
    struct sl_text t = lower(s, len, plain, sizeof plain);

    return sl_syntax_subdomain(t.s, t.n);
}

static struct sl_syntax_errors provisioner_syntax(const char *s, size_t len) {
    char plain[512];
    struct sl_text t = lower(s, len, plain, sizeof plain);

    return sl_syntax_label_key(t.s, t.n);
}

void api_driver_name_check(struct sl_field_errs *e, const struct sl_path *up, yyjson_val *object,
                           const char *field) {
    if (sl_json_view(sl_json_get(object, field)).n > 63)
        sl_field_too_long(e, SL_PATH(up, field), 63);
    api_word_check_at(e, up, object, field, driver_syntax, true);
}

/* ---- drivers ---- */

#define TOKENS_IN_SECRETS "serviceAccountTokenInSecrets"

static void driver_prepare(struct api_change *c) {
    sl_json_mut_set(c->doc, sl_json_mut_get(c->object, "spec"), "preventPodSchedulingIfMissing",
                    NULL);
    if (api_change_is_create(c)) /* it is counted from the first change on */
        sl_json_mut_set(c->doc, sl_json_mut_get(c->object, "metadata"), "generation", NULL);
}

static void tokens_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *tokens) {
    _cleanup_(sl_wordset_done) struct sl_wordset seen = {0};
    size_t i, n;
    yyjson_val *t;

    yyjson_arr_foreach (tokens, i, n, t) {
        const struct sl_path *t_at = SL_PATH_AT(at, i);
        const char *audience = sl_json_str(t, "audience");
        int64_t seconds = sl_json_int(t, "expirationSeconds", MIN_TOKEN_SECONDS);
        if (!sl_wordset_add(&seen, audience))
            sl_field_duplicate(e, SL_PATH(t_at, "audience"), sl_field_value_str(audience), "");
        else if (seconds < MIN_TOKEN_SECONDS)
            sl_field_invalid(e, SL_PATH(t_at, "expirationSeconds"), sl_field_value_int(seconds),
                             "may not specify a duration less than 10 minutes");
        else if (seconds > MAX_TOKEN_SECONDS)
            sl_field_invalid(e, SL_PATH(t_at, "expirationSeconds"), sl_field_value_int(seconds),
                             "may not specify a duration larger than 2^32 seconds");
    }
}

static void driver_validate(struct api_change *c, yyjson_val *object) {
    static const char *const policies[] = {"File", "None", "ReadWriteOnceWithFSType", NULL},
                             *const modes[] = {"Persistent", "Ephemeral"};
    const struct sl_path *at = SL_PATH(NULL, "spec"),
                         *modes_at = SL_PATH(at, "volumeLifecycleModes");
    yyjson_val *spec = sl_json_get(object, "spec"), *was = sl_json_get(c->old, "spec"),
               *tokens = sl_json_get(spec, "tokenRequests"),
               *in_secrets = sl_json_get(spec, TOKENS_IN_SECRETS), *m;
    int64_t period = sl_json_int(spec, "nodeAllocatableUpdatePeriodSeconds", 10);
    size_t i, n;

    api_check_one_of(c->errs, at, spec, "fsGroupPolicy", policies, false);
    tokens_check(c->errs, SL_PATH(at, "tokenRequests"), tokens);
    yyjson_arr_foreach (sl_json_get(spec, "volumeLifecycleModes"), i, n, m) {
        const char *mode = sl_json_text(m);
        if (strcmp(mode, modes[0]) != 0 && strcmp(mode, modes[1]) != 0)
            sl_field_unsupported(c->errs, modes_at, sl_field_value_str(mode), modes, SL_LEN(modes));
    }
    if (period < 10)
        sl_field_invalid(c->errs, SL_PATH(at, "nodeAllocatableUpdatePeriodSeconds"),
                         sl_field_value_int(period), "must be greater than or equal to 10 seconds");
    if (in_secrets && sl_json_size(tokens) == 0)
        sl_field_invalid(c->errs, SL_PATH(at, TOKENS_IN_SECRETS), sl_field_value_json(in_secrets),
                         TOKENS_IN_SECRETS " is set but no tokenRequests are specified");
    if (c->old) {
        sl_field_immutable(c->errs, SL_PATH(at, "attachedRequired"),
                           sl_json_get(spec, "attachRequired"), sl_json_get(was, "attachRequired"));
        sl_field_immutable(c->errs, modes_at, sl_json_get(spec, "volumeLifecycleModes"),
                           sl_json_get(was, "volumeLifecycleModes"));
    }
    if (!c->errs->n && sl_json_size(tokens) && !in_secrets &&
        !sl_json_same(tokens, sl_json_get(was, "tokenRequests")))
        api_change_warn(c, "spec." TOKENS_IN_SECRETS
                           " is unset; if supported by this CSI driver, set to true to prevent "
                           "possible logging of tokens in volume attributes");
}
static const struct api_strategy driver_strategy = {.prepare = driver_prepare,
                                                    .validate = driver_validate,
                                                    .needs_version = true,
                                                    .returns_deleted = true};

/* ---- drivers on a node ---- */

static void topology_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *keys) {
    _cleanup_(sl_wordset_done) struct sl_wordset seen = {0};
    size_t i, n;
    yyjson_val *key;

    yyjson_arr_foreach (keys, i, n, key) {
        if (sl_json_view(key).n == 0)
            sl_field_required(e, at, "");
        if (!sl_wordset_add(&seen, sl_json_text(key)))
            sl_field_duplicate(e, at, sl_field_value_str(sl_json_text(key)), "");
        api_word_check_of(e, at, key, sl_syntax_label_key);
    }
}

static void node_validate(struct api_change *c, yyjson_val *object) {
    static const char *const may_change[] = {"allocatable", NULL};
    const struct sl_path *at = SL_PATH(SL_PATH(NULL, "spec"), "drivers");
    yyjson_val *drivers = sl_json_at(object, "spec.drivers"), *d;
    _cleanup_(sl_wordset_done) struct sl_wordset names = {0};
    size_t i, n;

    yyjson_arr_foreach (drivers, i, n, d) {
        const struct sl_path *d_at = SL_PATH_AT(at, i), *id_at = SL_PATH(d_at, "nodeID");
        struct sl_text id = sl_json_view(sl_json_get(d, "nodeID"));
        api_driver_name_check(c->errs, d_at, d, "name");
        if (id.n == 0)
            sl_field_required(c->errs, id_at, "");
        if (id.n > MAX_NODE_ID)
            sl_field_invalid(c->errs, id_at, sl_field_value_text(id),
                             "must be %u characters or less", MAX_NODE_ID);
        api_check_not_negative(c->errs, SL_PATH(d_at, "allocatable"), sl_json_get(d, "allocatable"),
                               "count");
        if (!sl_wordset_add(&names, sl_json_str(d, "name")))
            sl_field_duplicate(c->errs, SL_PATH(d_at, "name"),
                               sl_field_value_str(sl_json_str(d, "name")), "");
        topology_check(c->errs, d_at, sl_json_get(d, "topologyKeys"));
    }
    yyjson_arr_foreach (sl_json_at(c->old, "spec.drivers"), i, n, d) {
        yyjson_val *now = sl_json_find(drivers, "name", sl_json_str(d, "name"));
        if (now && !sl_json_same_but(now, d, may_change))
            sl_field_invalid(c->errs, at, sl_field_value_json(now), SL_FIELD_IMMUTABLE);
    }
}
static const struct api_strategy node_strategy = {.validate = node_validate,
                                                  .no_generation = true,
                                                  .meta = SL_META_PLAIN,
                                                  .needs_version = true,
                                                  .returns_deleted = true};

/* ---- attachments ---- */

static size_t map_bytes(yyjson_val *map) {
    size_t i, n, bytes = 0;
    yyjson_val *key, *v;

    sl_obj_foreach (map, i, n, key, v)
        bytes += sl_json_view(key).n + sl_json_view(v).n;
    return bytes;
}

static void error_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *error) {
    int64_t code = sl_json_int(error, "errorCode", 0);

    if (sl_json_view(sl_json_get(error, "message")).n > MAX_ERROR)
        sl_field_too_long(e, SL_PATH(at, "message"), MAX_MAP);
    if (code < 0)
        sl_field_invalid(e, SL_PATH(at, "errorCode"), sl_field_value_int(code),
                         "must be between 0 and 2147483647, inclusive");
}

static void source_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *source) {
    static const char one[] =
        "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    yyjson_val *name = sl_json_get(source, "persistentVolumeName"),
               *inlined = sl_json_get(source, "inlineVolumeSpec");

    if (!name && !inlined)
        sl_field_required(e, at, one);
    else if (name && inlined)
        sl_field_forbidden(e, at, "%s", one);
    else if (name && sl_json_view(name).n == 0)
        sl_field_required(e, SL_PATH(at, "persistentVolumeName"),
                          "must specify non empty persistentVolumeName");
}

static void attachment_validate(struct api_change *c, yyjson_val *object) {
    const struct sl_path *at = SL_PATH(NULL, "spec"), *status_at = SL_PATH(NULL, "status");
    yyjson_val *spec = sl_json_get(object, "spec"), *status = sl_json_get(object, "status"),
               *name = sl_json_at(spec, "source.persistentVolumeName");

    api_driver_name_check(c->errs, at, spec, "attacher");
    source_check(c->errs, SL_PATH(at, "source"), sl_json_get(spec, "source"));
    api_word_check_of(c->errs, SL_PATH(at, "nodeName"), sl_json_get(spec, "nodeName"),
                      sl_syntax_subdomain);
    if (map_bytes(sl_json_get(status, "attachmentMetadata")) > MAX_MAP)
        sl_field_too_long(c->errs, SL_PATH(status_at, "attachmentMetadata"), MAX_MAP);
    error_check(c->errs, SL_PATH(status_at, "attachError"), sl_json_get(status, "attachError"));
    error_check(c->errs, SL_PATH(status_at, "detachError"), sl_json_get(status, "detachError"));
    if (name)
        api_word_check_of(c->errs, SL_PATH(at, "source.persistentVolumeName"), name,
                          sl_syntax_subdomain);
    if (c->old)
        sl_field_immutable(c->errs, at, spec, sl_json_get(c->old, "spec"));
}
static void attachment_prepare(struct api_change *c) {
    api_status_keeps_meta(c);
    if (!api_change_is_create(c))
        return;
    sl_json_mut_set_bool(c->doc, sl_json_mut_obj(c->doc, c->object, "status"), "attached", false);
}
static const struct api_strategy attachment_strategy = {.prepare = attachment_prepare,
                                                        .validate = attachment_validate,
                                                        .no_generation = true,
                                                        .meta = SL_META_PLAIN,
                                                        .needs_version = true,
                                                        .returns_deleted = true};

/* ---- capacities and classes of attributes ---- */

static void capacity_validate(struct api_change *c, yyjson_val *object) {
    static const char *const fixed[] = {"nodeTopology", "storageClassName"};
    yyjson_val *capacity = sl_json_get(object, "capacity");
    sl_quantity q;

    sl_syntax_check_selector(c->errs, SL_PATH(NULL, "nodeTopology"),
                             sl_json_get(object, "nodeTopology"));
    api_word_check_of(c->errs, SL_PATH(NULL, "storageClassName"),
                      sl_json_get(object, "storageClassName"), sl_syntax_subdomain);
    if (capacity)
        (void)api_amount_check(c->errs, SL_PATH(NULL, "capacity"), capacity, &q);
    for (size_t i = 0; c->old && i < SL_LEN(fixed); i++)
        sl_field_immutable(c->errs, SL_PATH(NULL, fixed[i]), sl_json_get(object, fixed[i]),
                           sl_json_get(c->old, fixed[i]));
}
static const struct api_strategy capacity_strategy = {.validate = capacity_validate,
                                                      .no_generation = true,
                                                      .meta = SL_META_BOTH,
                                                      .needs_version = true};

static void attributes_validate(struct api_change *c, yyjson_val *object) {
    static const char *const fixed[] = {"driverName", "parameters"};
    const struct sl_path *at = SL_PATH(NULL, "parameters");
    yyjson_val *parameters = sl_json_get(object, "parameters"), *key, *v;
    size_t i, n;

    for (i = 0; c->old && i < SL_LEN(fixed); i++)
        if (!sl_json_same(sl_json_get(object, fixed[i]), sl_json_get(c->old, fixed[i])))
            sl_field_forbidden(c->errs, SL_PATH(NULL, fixed[i]), "updates to %s are forbidden.",
                               fixed[i]);
    api_word_check_at(c->errs, NULL, object, "driverName", provisioner_syntax, true);
    if (sl_json_size(parameters) > MAX_PARAMETERS) {
        sl_field_too_long(c->errs, at, MAX_PARAMETERS);
        return;
    }
    sl_obj_foreach (parameters, i, n, key, v)
        if (sl_json_view(key).n == 0)
            sl_field_invalid(c->errs, at, sl_field_value_str(""), "field can not be empty.");
    if (map_bytes(parameters) > MAX_MAP)
        sl_field_too_long(c->errs, at, MAX_MAP);
    if (sl_json_size(parameters) == 0)
        sl_field_required(c->errs, at, "must contain at least one key/value pair");
}
static const struct api_strategy attributes_strategy = {.validate = attributes_validate,
                                                        .no_generation = true,
                                                        .meta = SL_META_BOTH,
                                                        .returns_deleted = true};

#define STORAGE .group = "storage.k8s.io", .version = "v1"

const struct api_builtin api_builtin_storage[] = {
    {STORAGE, .kind = "CSIDriver", .plural = "csidrivers", .strategy = &driver_strategy},
    {STORAGE, .kind = "CSINode", .plural = "csinodes", .strategy = &node_strategy},
    {STORAGE, .kind = "VolumeAttachment", .plural = "volumeattachments", .status = true,
     .strategy = &attachment_strategy},
    {STORAGE, .kind = "CSIStorageCapacity", .plural = "csistoragecapacities", .namespaced = true,
     .strategy = &capacity_strategy},
    {STORAGE, .kind = "VolumeAttributesClass", .plural = "volumeattributesclasses", .shorts = "vac",
     .strategy = &attributes_strategy},
    {0},
};

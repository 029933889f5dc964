/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/admission/job_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kube/types/syntax.h"
#include "manager/admission/fluxqueue.h"
#include "manager/jobkinds/jobkinds.h"

#define LABELS SL_PATH(NULL, "metadata.labels")
#define ANNOTATIONS SL_PATH(NULL, "metadata.annotations")

static const char *or_empty(const char *s) {
    return s ? s : "";
}

/* ---- owners ---- */

bool adm_job_owner(yyjson_val *object, struct sl_review_owner_ref *ret) {
    size_t i, n;
    yyjson_val *refs = sl_json_at(object, "metadata.ownerReferences"), *ref;

    yyjson_arr_foreach (refs, i, n, ref) {
        if (!sl_json_bool(ref, "controller", false))
            continue;
        *ret =
            (struct sl_review_owner_ref){sl_json_str(ref, "apiVersion"), sl_json_str(ref, "kind"),
                                         sl_json_str(ref, "name"), sl_json_str(ref, "uid")};
        return true;
    }
    return false;
}

/* "Kind.version.group", as frameworks are named; the group may be empty. */
static bool is_named(const char *name, const struct sl_review_owner_ref *o) {
    const char *slash = strchr(o->api_version, '/'), *version = slash ? slash + 1 : o->api_version;
    size_t kind_len = strlen(o->kind), version_len = strlen(version);
    size_t group_len = slash ? (size_t)(slash - o->api_version) : 0;

    if (strncmp(name, o->kind, kind_len) != 0 || name[kind_len] != '.')
        return false;
    name += kind_len + 1;
    if (strncmp(name, version, version_len) != 0 || name[version_len] != '.')
        return false;
    name += version_len + 1;
    return strlen(name) == group_len && strncmp(name, o->api_version, group_len) == 0;
}

bool adm_job_owner_enabled(const struct sl_review_call *c) {
    const struct sl_settings *s = c->view->settings;
    struct sl_review_owner_ref o;

    if (!adm_job_owner(c->object, &o))
        return false;
    for (enum sl_framework f = 0; f < SL_FW_COUNT; f++)
        if (s->framework[f] && is_named(sl_framework_kind(f), &o))
            return true;
    for (uint32_t i = 0; i < s->external_frameworks.n; i++)
        if (is_named(s->external_frameworks.v[i], &o))
            return true;
    return c->view->kinds && sl_jobkind_by_gvk(c->view->kinds, o.api_version, o.kind);
}

bool adm_job_owner_managed(const struct sl_review_call *c) {
    struct sl_review_owner_ref o;
    return adm_job_owner(c->object, &o) && c->view->owner_managed(c->view->ctx, c->ns, &o);
}

/* ---- defaults ---- */

static bool lacks_label(const struct sl_review_call *c, const char *key) {
    return *sl_json_label(c->object, key) == '\0';
}

bool adm_job_default_queue(const struct sl_review_call *c) {
    return !sl_json_label_opt(c->object, SL_FLUX_SEEN) && /* queued elsewhere */
           c->view->queue_open(c->view->ctx, c->ns, SL_DEFAULT_NAME);
}

static bool takes_default_queue(const struct sl_review_call *c) {
    return lacks_label(c, SL_QUEUE_LABEL) && adm_job_default_queue(c) && !adm_job_owner_enabled(c);
}

void adm_job_default_class(struct sl_review_call *c) {
    if (adm_call_gate(c, SL_G_WORKLOAD_PRIORITY_CLASS_DEFAULTING) &&
        lacks_label(c, SL_PRIORITY_LABEL) && !adm_job_owner_enabled(c) &&
        c->view->priority_class_exists(c->view->ctx, SL_DEFAULT_NAME))
        adm_edit_label(c, SL_PRIORITY_LABEL, SL_DEFAULT_NAME);
}

void adm_job_default_labels(struct sl_review_call *c) {
    if (takes_default_queue(c))
        adm_edit_label(c, SL_QUEUE_LABEL, SL_DEFAULT_NAME);
    adm_job_default_class(c);
}

const char *adm_job_queue(const struct sl_review_call *c) {
    const char *queue = sl_json_label_opt(c->object, SL_QUEUE_LABEL);
    return takes_default_queue(c) ? SL_DEFAULT_NAME : queue;
}

bool adm_job_waits(const struct sl_review_call *c) {
    if (adm_job_owner_managed(c))
        return false;
    if (!lacks_label(c, SL_QUEUE_LABEL) || takes_default_queue(c))
        return true;
    return c->view->settings->manage_without_queue && c->view->ns_managed(c->view->ctx, c->ns);
}

/* ---- numbers ---- */

static const char *go_error(struct sl_review_call *c, const char *fn, const char *s,
                            const char *what) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF_SHORT(SL_FIELD_VALUE_MAX_BYTES);
    sl_buf_json(&b, s);
    return sl_arena_printf(c->arena, "strconv.%s: parsing %s: %s", fn, sl_buf_str(&b), what);
}

bool adm_go_int(struct sl_review_call *c, const char *s, int64_t *ret, const char **why) {
    const char *digits = s + (*s == '-' || *s == '+');
    if (!*digits || digits[strspn(digits, "0123456789")]) {
        *why = go_error(c, "Atoi", s, "invalid syntax");
        return false;
    }
    errno = 0;
    int64_t v = strtoll(s, NULL, 10);
    if (errno == ERANGE) {
        *why = go_error(c, "Atoi", s, "value out of range");
        return false;
    }
    *ret = v;
    return true;
}

bool adm_go_bool(struct sl_review_call *c, const char *s, bool *ret, const char **why) {
    static const char *const words[2][6] = {{"0", "f", "F", "false", "FALSE", "False"},
                                            {"1", "t", "T", "true", "TRUE", "True"}};
    for (int truth = 0; truth < 2; truth++)
        for (size_t i = 0; i < SL_LEN(words[truth]); i++)
            if (strcmp(s, words[truth][i]) == 0) {
                *ret = truth;
                return true;
            }
    *why = go_error(c, "ParseBool", s, "invalid syntax");
    return false;
}

/* ---- rules ---- */

bool adm_job_elastic(const struct sl_review_call *c, yyjson_val *object) {
    return adm_call_gate(c, SL_G_ELASTIC_JOBS_VIA_WORKLOAD_SLICES) &&
           strcmp(sl_json_annotation(object, SL_ELASTIC_KEY), "true") == 0;
}

void adm_rule_frozen(struct sl_review_call *c, const struct sl_path *at, const char *now,
                     const char *old) {
    if (strcmp(or_empty(now), or_empty(old)) != 0)
        sl_field_invalid(&c->errs, at, sl_field_value_str(or_empty(now)), "%s", SL_FIELD_IMMUTABLE);
}

/* The annotation counts if it is not empty, else the label. */
static bool by_annotation(const struct sl_review_call *c, yyjson_val *object, const char *key) {
    return adm_call_gate(c, SL_G_WORKLOAD_IDENTIFIER_ANNOTATIONS) &&
           *sl_json_annotation(object, key);
}

const char *adm_job_identifier(const struct sl_review_call *c, yyjson_val *object,
                               const char *key) {
    return by_annotation(c, object, key) ? sl_json_annotation_opt(object, key)
                                         : sl_json_label_opt(object, key);
}

const char *adm_job_identifier_map(const struct sl_review_call *c, yyjson_val *object,
                                   const char *key) {
    return by_annotation(c, object, key) ? "metadata.annotations" : "metadata.labels";
}

#define PREBUILT_PATH                                                                              \
    SL_PATH_KEY(SL_PATH(NULL, adm_job_identifier_map(c, c->object, SL_PREBUILT_KEY)),              \
                SL_PREBUILT_KEY)

static void check_prebuilt(struct sl_review_call *c, const struct adm_job_facts *f) {
    const char *name = adm_job_identifier(c, c->object, SL_PREBUILT_KEY);

    if (!name)
        return;
    sl_syntax_check_subdomain(&c->errs, PREBUILT_PATH, name, ",");
    if (*name && !f->prebuilt)
        sl_field_forbidden(&c->errs, PREBUILT_PATH, "Is not supported for \"%s\"", f->gvk);
}

static void check_max_exec(struct sl_review_call *c) {
    const struct sl_path *at = SL_PATH_KEY(LABELS, SL_MAX_EXEC_LABEL);
    const char *s = sl_json_label_opt(c->object, SL_MAX_EXEC_LABEL), *why;
    int64_t v;

    if (!s)
        return;
    if (!adm_go_int(c, s, &v, &why))
        sl_field_invalid(&c->errs, at, sl_field_value_str(s), "%s", why);
    else if (v <= 0)
        sl_field_invalid(&c->errs, at, sl_field_value_int(v), "should be greater than 0");
}

void adm_rule_queue_name(struct sl_review_call *c) {
    const char *queue = sl_json_label_opt(c->object, SL_QUEUE_LABEL);
    if (queue)
        sl_syntax_check_subdomain(&c->errs, SL_PATH_KEY(LABELS, SL_QUEUE_LABEL), queue, ",");
}

void adm_rule_not_elastic(struct sl_review_call *c, const char *gvk) {
    if (adm_job_elastic(c, c->object))
        sl_field_forbidden(&c->errs, SL_PATH_KEY(ANNOTATIONS, SL_ELASTIC_KEY),
                           "elastic job is not supported for \"%s\"", gvk);
}

void adm_rule_job_create(struct sl_review_call *c, const struct adm_job_facts *f) {
    adm_rule_queue_name(c);
    check_prebuilt(c, f);
    check_max_exec(c);
    if (!f->elastic)
        adm_rule_not_elastic(c, f->gvk);
    adm_rule_admission_gated_by(c);
}

static void update_queue(struct sl_review_call *c, const struct adm_job_facts *f) {
    const struct sl_path *at = SL_PATH_KEY(LABELS, SL_QUEUE_LABEL);
    const char *now = sl_json_label(c->object, SL_QUEUE_LABEL);
    const char *old = sl_json_label(c->old, SL_QUEUE_LABEL);

    if (!f->suspended)
        adm_rule_frozen(c, at, now, old);
    if (!*now && *old && adm_job_default_queue(c))
        sl_field_invalid(&c->errs, at, sl_field_value_str(""),
                         "queue-name must not be empty in namespace with default queue");
}

static void update_prebuilt(struct sl_review_call *c, const struct adm_job_facts *f) {
    if (f->suspended || adm_job_elastic(c, c->old))
        check_prebuilt(c, f);
    else
        adm_rule_frozen(c, PREBUILT_PATH, adm_job_identifier(c, c->object, SL_PREBUILT_KEY),
                        adm_job_identifier(c, c->old, SL_PREBUILT_KEY));
}

void adm_rule_priority_update(struct sl_review_call *c, bool suspended) {
    const struct sl_path *at = SL_PATH_KEY(LABELS, SL_PRIORITY_LABEL);
    const char *now = sl_json_label(c->object, SL_PRIORITY_LABEL);
    const char *old = sl_json_label(c->old, SL_PRIORITY_LABEL);

    if (!suspended && !*old && *now)
        sl_field_invalid(&c->errs, at, sl_field_value_str(now),
                         "WorkloadPriorityClass cannot be added to a non-suspended workload");
    if (!*now && *old)
        sl_field_invalid(&c->errs, at, sl_field_value_str(now),
                         "WorkloadPriorityClass cannot be removed from a workload");
}

static void update_elastic(struct sl_review_call *c) {
    bool now = adm_job_elastic(c, c->object);
    if (now != adm_job_elastic(c, c->old))
        sl_field_invalid(&c->errs, SL_PATH_KEY(ANNOTATIONS, SL_ELASTIC_KEY),
                         sl_field_value_bool(now), "%s", SL_FIELD_IMMUTABLE);
}

void adm_rule_job_update(struct sl_review_call *c, const struct adm_job_facts *f) {
    update_queue(c, f);
    update_prebuilt(c, f);
    if (!f->suspended || !f->was_suspended)
        adm_rule_frozen(c, SL_PATH_KEY(LABELS, SL_MAX_EXEC_LABEL),
                        sl_json_label(c->object, SL_MAX_EXEC_LABEL),
                        sl_json_label(c->old, SL_MAX_EXEC_LABEL));
    adm_rule_priority_update(c, f->suspended);
    update_elastic(c);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* ProvisioningRequests and their configurations: from the objects to records, and what is written
 * to a request. */
#include "manager/controllers/provisioning/provisioning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "core/base/collection/hash.h"
#include "manager/controllers/core/kinds.h"
#include "manager/controllers/core/templates.h"
#include "manager/controllers/provisioning/capacity.h"

#define CONTROLLER_NAME "kueue.x-k8s.io/provisioning-request"
#define CONFIG_KIND "ProvisioningRequestConfig"
#define CONFIG_GROUP "kueue.x-k8s.io"
#define MAX_PREFIX 247u   /* of 253, with room for "-" and five digits */
#define MAX_ATTEMPTS 1000 /* that are tried to find out which one a shortened name is of */

struct mgr_provs {
    struct sl_map by_owner; /* hash(uid of the workload) -> ProvisioningRequests */
};

const char *const mgr_prov_types[PROV_TYPES] = {
    [PROV_ACCEPTED] = "Accepted",
    [PROV_PROVISIONED] = "Provisioned",
    [PROV_FAILED] = "Failed",
    [PROV_BOOKING_EXPIRED] = "BookingExpired",
    [PROV_CAPACITY_REVOKED] = "CapacityRevoked",
};

/* ---- names ---- */

void mgr_prov_limit_name(struct sl_buf *b) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int len = 0;
    if (b->len <= MAX_PREFIX)
        return;
    sl_assert(EVP_Digest(b->s, b->len, digest, &len, EVP_sha1(), NULL) == 1);
    b->len = MAX_PREFIX;
    b->s[b->len] = '\0';
    sl_buf_printf(b, "-%02x%02x%x", digest[0], digest[1], digest[2] >> 4);
}

void mgr_prov_name(struct sl_buf *b, const char *workload, const char *check, int32_t attempt) {
    sl_buf_clear(b);
    sl_buf_printf(b, "%s-%s-%d", workload, check, attempt);
    mgr_prov_limit_name(b);
}

void mgr_prov_template_name(struct sl_buf *b, const char *request, const char *podset) {
    sl_buf_clear(b);
    sl_buf_printf(b, "ppt-%s-%s", request, podset);
    mgr_prov_limit_name(b);
}

static int32_t read_count(const char *s) {
    size_t n = strspn(s, "0123456789");
    return n && n < 10 && !s[n] ? (int32_t)strtol(s, NULL, 10) : 0;
}

int32_t mgr_prov_attempt(const char *name, const char *workload, const char *check) {
    int32_t found = 0;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(2048);
    sl_buf_printf(&b, "%s-%s-", workload, check);
    if (b.len < MAX_PREFIX && strncmp(name, sl_buf_str(&b), b.len) == 0)
        found = read_count(name + b.len);
    /* A shortened name does not show its number. */
    for (int32_t i = 1; !found && strlen(name) > MAX_PREFIX && i <= MAX_ATTEMPTS; i++) {
        mgr_prov_name(&b, workload, check, i);
        if (strcmp(sl_buf_str(&b), name) == 0)
            found = i;
    }
    return found;
}

/* ---- taking in ---- */

static void drop_podsets(struct mgr_rec_prov *p) {
    for (uint32_t i = 0; i < p->n_podsets; i++) {
        sl_freep(&p->podsets[i].name);
        sl_freep(&p->podsets[i].ports);
    }
    sl_freep(&p->podsets);
    p->n_podsets = 0;
}

static void drop_templates(struct sl_manager *m, struct mgr_rec_prov *p) {
    for (uint32_t i = 0; i < p->n_podsets; i++)
        mgr_template_unref(m, TAKE_PTR(p->podsets[i].template));
}

static char *text_of(yyjson_val *v) {
    if (!v || yyjson_is_null(v))
        return NULL;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(PROV_MAX_TEXT);
    sl_json_put(&b, v);
    char *s = sl_strdup(sl_buf_str(&b));
    return s;
}

static void take_spec(struct sl_manager *m, struct mgr_rec_prov *p, yyjson_val *spec) {
    yyjson_val *list = yyjson_obj_get(spec, "podSets"), *v;
    size_t i, n, total = yyjson_arr_size(list);
    p->class = sl_sym_put(m->syms, sl_json_str(spec, "provisioningClassName"));
    sl_freep(&p->parameters);
    p->parameters = text_of(yyjson_obj_get(spec, "parameters"));
    drop_templates(m, p);
    drop_podsets(p);
    p->over_limit = total > PROV_MAX_PODSETS;
    if (p->over_limit)
        total = 0;
    p->podsets = sl_alloc0(total + 1, sizeof *p->podsets);
    yyjson_arr_foreach (list, i, n, v) {
        if (i >= total)
            break;
        int64_t count = sl_json_int(v, "count", 1);
        p->podsets[p->n_podsets++] =
            (struct mgr_prov_podset){.name = sl_strdup(sl_json_str(v, "podTemplateRef.name")),
                                     .count = count < 0           ? 0
                                              : count > INT32_MAX ? INT32_MAX
                                                                  : (int32_t)count};
    }
}

static void take_conditions(struct sl_manager *m, struct mgr_rec_prov *p, yyjson_val *list) {
    size_t i, n;
    yyjson_val *v;
    for (size_t t = 0; t < PROV_TYPES; t++) {
        sl_freep(&p->conds[t].message);
        p->conds[t] = (struct mgr_prov_cond){0};
    }
    _cleanup_(sl_buf_done) struct sl_buf others = SL_BUF(PROV_MAX_TEXT);
    struct sl_jw j = SL_JW(&others);
    yyjson_arr_foreach (list, i, n, v) {
        size_t t = 0;
        while (t < PROV_TYPES && strcmp(mgr_prov_types[t], sl_json_str(v, "type")) != 0)
            t++;
        if (t < PROV_TYPES) {
            const char *status = sl_json_str(v, "status");
            p->conds[t] =
                (struct mgr_prov_cond){.status = strcmp(status, "True") == 0    ? COND_TRUE
                                                 : strcmp(status, "False") == 0 ? COND_FALSE
                                                                                : COND_UNKNOWN,
                                       .reason = sl_sym_put(m->syms, sl_json_str(v, "reason")),
                                       .at = sl_json_time(v, "lastTransitionTime"),
                                       .message = sl_strdup(sl_json_str(v, "message"))};
        } else {
            if (j.depth == 0)
                sl_jw_array(&j, NULL);
            sl_jw_val(&j, NULL, v);
        }
    }
    sl_jw_end_to(&j, 0);
    sl_freep(&p->others);
    p->others = others.len ? sl_strdup(sl_buf_str(&others)) : NULL;
}

static void untie(struct sl_manager *m, struct mgr_rec_prov *p) {
    if (p->owner_uid)
        (void)sl_map_del(&m->provs->by_owner, sl_hash_str(0, p->owner_uid), p->rec.id);
    sl_freep(&p->owner_uid);
    sl_freep(&p->owner_name);
}

static void take_owner(struct sl_manager *m, struct mgr_rec_prov *p, yyjson_val *list) {
    size_t i, n;
    yyjson_val *v, *owner = NULL;
    yyjson_arr_foreach (list, i, n, v)
        if (sl_json_bool(v, "controller", false) &&
            strcmp(sl_json_str(v, "kind"), "Workload") == 0 &&
            strncmp(sl_json_str(v, "apiVersion"), CONFIG_GROUP "/", sizeof CONFIG_GROUP) == 0)
            owner = v;
    untie(m, p);
    if (!*sl_json_str(owner, "uid"))
        return;
    p->owner_name = sl_strdup(sl_json_str(owner, "name"));
    p->owner_uid = sl_strdup(sl_json_str(owner, "uid"));
    sl_map_add(&m->provs->by_owner, sl_hash_str(0, p->owner_uid), p->rec.id);
}

bool mgr_prov_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct sl_manager *m = ctx;
    struct mgr_rec_prov *p = mgr_prov_of(r);
    bool first = !p->podsets;
    take_owner(m, p, sl_json_at(o, "metadata.ownerReferences"));
    if (first || p->spec_generation != r->generation)
        take_spec(m, p, yyjson_obj_get(o, "spec"));
    p->spec_generation = r->generation;
    take_conditions(m, p, sl_json_at(o, "status.conditions"));
    sl_freep(&p->details);
    p->details = text_of(sl_json_at(o, "status.provisioningClassDetails"));
    mgr_capacity_decode(m, p, sl_json_at(o, "status.provisioningClassDetails"));
    /* Templates are handed over at once: one that has an answer has had its templates long since.
     */
    bool answered = false;
    for (size_t t = 0; t < PROV_TYPES; t++)
        answered |= p->conds[t].status != COND_NONE;
    if (first && (answered || !p->owner_uid))
        p->handed = p->n_podsets;
    return true;
}

struct mgr_rec_prov *mgr_prov_owned(const struct sl_manager *m, const char *uid, uint32_t *cursor) {
    uint64_t h = sl_hash_str(0, uid);
    for (uint32_t i; (i = sl_map_each(&m->provs->by_owner, h, cursor)) != SL_MAP_NONE;) {
        struct mgr_rec_prov *p = mgr_prov_of(m->inf->recs.v[i]);
        if (!p->rec.gone && strcmp(p->owner_uid, uid) == 0)
            return p;
    }
    return NULL;
}

static void mark_owner(struct sl_manager *m, const struct mgr_rec_prov *p) {
    struct mgr_rec_wl *w =
        p->owner_name ? mgr_wl_find(m, mgr_str(m, p->rec.ns), p->owner_name) : NULL;
    if (w && strcmp(w->rec.uid, p->owner_uid) == 0)
        sl_rec_enqueue(&w->rec);
}

void mgr_prov_changed(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    struct mgr_rec_prov *p = mgr_prov_of(r);
    mark_owner(m, p);
    mgr_capacity_request(m, p);
    if (p->owner_uid && !mgr_prov_is(p, PROV_ACCEPTED) &&
        r->created + PROV_ANSWER_TIMEOUT > m->spec.client->wall && !r->reconcile_at)
        sl_rec_reconcile_at(r, r->created + PROV_ANSWER_TIMEOUT);
    sl_rec_write(r);
}

void mgr_prov_gone(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    struct mgr_rec_prov *p = mgr_prov_of(r);
    mark_owner(m, p);
    mgr_capacity_touch(m);
    untie(m, p);
    drop_templates(m, p);
}

void mgr_prov_done(struct sl_rec *r) {
    struct mgr_rec_prov *p = mgr_prov_of(r);
    char **texts[] = {&p->owner_name, &p->owner_uid, &p->parameters,
                      &p->details,    &p->others,    &p->answer.why};
    for (size_t i = 0; i < SL_LEN(texts); i++)
        sl_freep(texts[i]);
    for (size_t t = 0; t < PROV_TYPES; t++)
        sl_freep(&p->conds[t].message);
    drop_podsets(p); /* templates went with 'gone', or go with the manager */
}

void mgr_provs_new(struct sl_manager *m) {
    m->provs = sl_alloc0(1, sizeof *m->provs);
}

void mgr_provs_end(struct sl_manager *m) {
    sl_map_done(&m->provs->by_owner);
    sl_freep(&m->provs);
    mgr_capacity_end(m);
}

/* ---- checks and their configurations ---- */

static void mark_users(struct sl_manager *m) {
    uint32_t at = 0;
    for (struct sl_rec *r; m->inf->ready && (r = sl_inf_each(m->inf, REC_WORKLOAD, &at));)
        if (mgr_wl_of(r)->seen.checks.n)
            sl_rec_enqueue(r);
}

static void enqueue_checks(struct sl_manager *m) {
    uint32_t at = 0;
    for (struct sl_rec *r; (r = sl_inf_each(m->inf, REC_CHECK, &at));)
        if (mgr_conf_of(r)->chosen)
            sl_rec_write(r);
}

void mgr_prov_config_changed(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    struct mgr_rec_conf *c = mgr_conf_of(r);
    if (c->applied == c->hash)
        return;
    c->applied = c->hash;
    enqueue_checks(m);
    mark_users(m);
}

void mgr_prov_config_gone(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    (void)r;
    enqueue_checks(m);
    mark_users(m);
}

void mgr_prov_api_changed(void *ctx) {
    struct sl_manager *m = ctx;
    enqueue_checks(m);
    mark_users(m);
}

bool mgr_prov_api_exists(const struct sl_manager *m) {
    return m->inf->tables[REC_PROV_REQUEST].exists;
}

void mgr_prov_check_changed(struct sl_manager *m, struct sl_rec *r) {
    struct mgr_rec_conf *c = mgr_conf_of(r);
    if (!m->spec.parts.provisioning)
        return;
    yyjson_doc *d = yyjson_read(c->text, strlen(c->text), 0);
    yyjson_val *spec = yyjson_obj_get(yyjson_doc_get_root(d), "spec");
    bool ours = strcmp(sl_json_str(spec, "controllerName"), CONTROLLER_NAME) == 0,
         fits = strcmp(sl_json_str(spec, "parameters.kind"), CONFIG_KIND) == 0 &&
                strcmp(sl_json_str(spec, "parameters.apiGroup"), CONFIG_GROUP) == 0;
    sl_sym config = ours && fits ? sl_sym_put(m->syms, sl_json_str(spec, "parameters.name")) : 0;
    yyjson_doc_free(d);
    if (ours != c->chosen || config != c->refers)
        mark_users(m);
    c->chosen = ours;
    c->refers = config;
}

/* Why the reference to the parameters is wrong, with Kueue's message; nothing: it is right. */
static void judge_parameters(const struct sl_manager *m, yyjson_val *ref, struct sl_buf *b) {
    const char *name = sl_json_str(ref, "name"), *group = sl_json_str(ref, "apiGroup"),
               *kind = sl_json_str(ref, "kind");
    if (!ref)
        sl_buf_puts(b, "missing parameters reference");
    else if (!*name)
        sl_buf_puts(b, "empty name: bad parameters reference");
    else if (strcmp(group, CONFIG_GROUP) != 0)
        sl_buf_printf(
            b, "wrong group \"%s\", expecting \"" CONFIG_GROUP "\": bad parameters reference",
            group);
    else if (strcmp(kind, CONFIG_KIND) != 0)
        sl_buf_printf(
            b, "wrong kind \"%s\", expecting \"" CONFIG_KIND "\": bad parameters reference", kind);
    else if (!sl_inf_find(m->inf, REC_PROV_CONFIG, "", name))
        sl_buf_printf(b, CONFIG_KIND "." CONFIG_GROUP " \"%s\" not found", name);
}

bool mgr_prov_check_active(const struct sl_manager *m, const struct sl_rec *check, bool *ret_active,
                           const char **ret_reason, struct sl_buf *message) {
    const struct mgr_rec_conf *c = SL_CONTAINER_OF(check, const struct mgr_rec_conf, rec);
    if (!m->spec.parts.provisioning || !c->chosen)
        return false;
    yyjson_doc *d = yyjson_read(c->text, strlen(c->text), 0);
    judge_parameters(m, sl_json_at(yyjson_doc_get_root(d), "spec.parameters"), message);
    yyjson_doc_free(d);
    *ret_active = !message->len && mgr_prov_api_exists(m);
    *ret_reason = message->len ? "BadParametersRef" : *ret_active ? "Active" : "APINotInstalled";
    if (*ret_active)
        sl_buf_puts(message, "The admission check is active");
    else if (!message->len)
        sl_buf_puts(message, PROV_MISSING);
    return true;
}

bool mgr_prov_owns(const struct sl_manager *m, const char *check) {
    struct sl_rec *r = sl_inf_find(m->inf, REC_CHECK, "", check);
    return r && mgr_conf_of(r)->chosen;
}

yyjson_doc *mgr_prov_config(const struct sl_manager *m, sl_sym check, bool *ret_ours) {
    struct sl_rec *r = sl_inf_find(m->inf, REC_CHECK, "", mgr_str(m, check));
    *ret_ours = mgr_prov_owns(m, mgr_str(m, check));
    struct sl_rec *c =
        *ret_ours && mgr_conf_of(r)->refers
            ? sl_inf_find(m->inf, REC_PROV_CONFIG, "", mgr_str(m, mgr_conf_of(r)->refers))
            : NULL;
    return c ? yyjson_read(mgr_conf_of(c)->text, strlen(mgr_conf_of(c)->text), 0) : NULL;
}

/* ---- what is written to a request ---- */

/* The Workload owned its templates until there was a request: from now on they go with that. */
static bool build_hand_over(struct sl_manager *m, struct mgr_rec_prov *p, struct sl_write *w) {
    if (p->handed >= p->n_podsets)
        return false;
    p->at = p->handed;
    w->method = SL_PATCH;
    w->content_type = SL_MERGE_PATCH;
    sl_buf_printf(&w->path, "/api/v1/namespaces/%s/podtemplates/%s?fieldManager=kueue",
                  mgr_str(m, p->rec.ns), p->podsets[p->at].name);
    struct sl_jw *j = &w->json;
    sl_jw_object(j, NULL);
    sl_jw_object(j, "metadata");
    sl_jw_array(j, "ownerReferences");
    sl_jw_object(j, NULL);
    sl_jw_str(j, "apiVersion", PROV_API);
    sl_jw_str(j, "kind", "ProvisioningRequest");
    sl_jw_bool(j, "controller", true);
    sl_jw_str(j, "name", p->rec.name);
    sl_jw_str(j, "uid", p->rec.uid);
    sl_jw_end_to(j, 0);
    return true;
}

bool mgr_prov_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_manager *m = ctx;
    struct mgr_rec_prov *p = mgr_prov_of(r);
    if (!m->spec.parts.provisioning || r->deleting)
        return false;
    if (p->drop) {
        p->step = PROV_DELETE;
        sl_rec_build_delete(r, "Background", -1, w);
        return true;
    }
    if (mgr_capacity_build(m, p, w))
        return true;
    p->step = PROV_HAND_OVER;
    return build_hand_over(m, p, w);
}

void mgr_prov_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                      const struct sl_kube_reply *reply) {
    struct sl_manager *m = ctx;
    struct mgr_rec_prov *p = mgr_prov_of(r);
    enum mgr_prov_step step = (enum mgr_prov_step)p->step;
    (void)w;
    p->step = PROV_REST;
    if (step == PROV_HAND_OVER && how != SL_WRITE_FAILED && how != SL_WRITE_CONFLICT)
        p->handed = p->at + 1; /* or it cannot be: it goes with the Workload */
    else
        mgr_capacity_written(m, p, step, how, reply);
    sl_rec_write(r);
    sl_rec_enqueue(r);
}

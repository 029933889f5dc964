/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creating a request. The whole template of a podset is not cached, so the Workload is read again;
 * from its text come the PodTemplates, with what the assigned flavors add, and the request that
 * names them. They are written one after the other in the name of the Workload, templates first;
 * the texts are dropped with the last of them.
 *
 * Existing objects count: a template of the name is replaced (it is of an earlier attempt, or of a
 * deleted Workload of this name), a request of the name is cached and evaluated.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"
#include "manager/controllers/core/lookup.h"
#include "manager/controllers/job/unique.h"
#include "manager/controllers/provisioning/provisioning.h"

#define CONTROLLER "kueue-provisioning-request-controller"
#define PAUSE SL_SEC
#define MAX_NAME 1024u
#define MAX_MESSAGE 1024u

struct text {
    char *name, *body;
};

_Static_assert(PROV_MAX_PODSETS >= SL_MAX_PODSETS, "every podset has its template");

struct mgr_prov_draft {
    uint64_t key; /* of what it is made from */
    sl_sym check;
    int32_t attempt;
    sl_time pause; /* mono */
    bool replace;  /* the template that comes next is there already */
    uint32_t n, next;
    struct text v[PROV_MAX_PODSETS + 1]; /* templates, then the request; none: not read yet */
};

static void drop_texts(struct mgr_prov_draft *d) {
    for (uint32_t i = 0; i < d->n; i++) {
        sl_freep(&d->v[i].name);
        sl_freep(&d->v[i].body);
    }
    d->n = d->next = 0;
}

sl_sym mgr_prov_making(const struct mgr_rec_wl *w) {
    return w->draft ? w->draft->check : 0;
}

void mgr_prov_make_none(struct mgr_rec_wl *w) {
    if (!w->draft)
        return;
    drop_texts(w->draft);
    sl_freep(&w->draft);
}

void mgr_prov_make(struct mgr_rec_wl *w, sl_sym check, int32_t attempt, uint64_t key) {
    if (!w->draft || w->draft->key != key) {
        mgr_prov_make_none(w);
        w->draft = sl_alloc0(1, sizeof *w->draft);
        w->draft->key = key;
        w->draft->check = check;
        w->draft->attempt = attempt;
    }
    sl_rec_write_at(&w->rec, w->draft->pause);
}

/* ---- templates ---- */

static yyjson_mut_val *child(yyjson_mut_doc *d, yyjson_mut_val *o, const char *key, bool list) {
    yyjson_mut_val *v = yyjson_mut_obj_get(o, key);
    if (list ? yyjson_mut_is_arr(v) : yyjson_mut_is_obj(v))
        return v;
    v = list ? yyjson_mut_arr(d) : yyjson_mut_obj(d);
    (void)yyjson_mut_obj_put(o, yyjson_mut_strcpy(d, key), v);
    return v;
}

/* Limits are requests where there are none. */
static void fill_requests(yyjson_mut_doc *d, yyjson_mut_val *of) {
    yyjson_mut_val *r = yyjson_mut_obj_get(of, "resources"),
                   *limits = yyjson_mut_obj_get(r, "limits");
    if (yyjson_mut_obj_size(limits))
        sl_json_mut_fill(d, child(d, r, "requests", false), limits, false);
}

/* Equal ones have equal hashes, whatever the order of their fields. */
static uint64_t item_hash(yyjson_mut_val *item) {
    size_t i, n;
    yyjson_mut_val *key, *val;
    uint64_t h = 0;
    yyjson_mut_obj_foreach (item, i, n, key, val) {
        uint64_t x = sl_hash_str(1, sl_json_mut_text(key));
        x = sl_hash_str(x, sl_json_mut_text(val));
        h += sl_hash_u64(x, yyjson_mut_is_int(val) ? (uint64_t)yyjson_mut_get_sint(val) : 0);
    }
    return h;
}

static void add_tolerations(yyjson_mut_doc *d, yyjson_mut_val *spec, yyjson_val *tolerations) {
    struct mgr_unique_items in = {.hash = item_hash, .same = sl_json_mut_equal};
    yyjson_mut_val *list, *item;
    yyjson_val *val;
    size_t i, n;
    if (!yyjson_arr_size(tolerations))
        return;
    list = child(d, spec, "tolerations", true);
    yyjson_mut_arr_foreach (list, i, n, item)
        (void)mgr_unique_item(&in, item);
    yyjson_arr_foreach (tolerations, i, n, val)
        if (mgr_unique_item(&in, item = yyjson_val_mut_copy(d, val)))
            (void)yyjson_mut_arr_append(list, item);
    mgr_unique_items_done(&in);
}

/* What the flavor adds to pods. */
static void add_flavor(const struct sl_manager *m, yyjson_mut_doc *d, yyjson_mut_val *spec,
                       sl_sym flavor) {
    _cleanup_(sl_json_docp) yyjson_doc *f = mgr_flavor_doc(m, flavor);
    yyjson_val *is = sl_json_at(yyjson_doc_get_root(f), "spec");
    yyjson_mut_val *labels = yyjson_val_mut_copy(d, sl_json_at(is, "nodeLabels"));
    if (yyjson_mut_obj_size(labels))
        sl_json_mut_fill(d, child(d, spec, "nodeSelector", false), labels, true);
    add_tolerations(d, spec, sl_json_at(is, "tolerations"));
}

static void add_flavors(const struct sl_manager *m, yyjson_mut_doc *d, yyjson_mut_val *spec,
                        const struct mgr_wl_podset_admission *a) {
    struct mgr_unique_flavors f = {.of = a};
    for (sl_sym flavor; (flavor = mgr_unique_flavor(&f));)
        add_flavor(m, d, spec, flavor);
    mgr_unique_flavors_done(&f);
}

static void put_template(const struct sl_manager *m, const struct mgr_rec_wl *w, uint32_t podset,
                         yyjson_val *template, struct sl_jw *j) {
    static const char *const lists[] = {"initContainers", "containers"};
    const struct mgr_wl_admission *a = w->seen.admission;
    yyjson_mut_doc *d = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *t = yyjson_val_mut_copy(d, template), *c;
    yyjson_mut_val *spec = child(d, t, "spec", false);
    size_t i, n;
    for (uint32_t k = 0; k < a->n; k++)
        if (a->v[k].name == w->podsets[podset].name)
            add_flavors(m, d, spec, &a->v[k]);
    for (size_t k = 0; k < SL_LEN(lists); k++)
        yyjson_mut_arr_foreach (yyjson_mut_obj_get(spec, lists[k]), i, n, c)
            fill_requests(d, c);
    fill_requests(d, spec);
    sl_jw_mut_val(j, "template", t);
    yyjson_mut_doc_free(d);
}

/* ---- which podsets count as one ---- */

/* Of what such podsets have in common. */
static uint64_t kind_of(const char *policy, yyjson_val *template) {
    static const char *const lists[] = {"containers", "initContainers"};
    static const char *const members[] = {"resources", "nodeSelector", "tolerations", "affinity",
                                          "resourceClaims"};
    yyjson_val *spec = yyjson_obj_get(template, "spec"), *c;
    size_t i, n;
    uint64_t h = 1;
    if (strcmp(policy, "IdenticalPodTemplates") == 0)
        return sl_json_hash(1, template);
    for (size_t k = 0; k < SL_LEN(lists); k++) {
        h = sl_hash_u64(h, yyjson_arr_size(yyjson_obj_get(spec, lists[k])));
        yyjson_arr_foreach (yyjson_obj_get(spec, lists[k]), i, n, c)
            h = sl_hash_u64(h, sl_json_hash(2, sl_json_at(c, "resources.requests")));
    }
    for (size_t k = 0; k < SL_LEN(members); k++)
        h = sl_hash_u64(h, sl_json_hash(3, yyjson_obj_get(spec, members[k])));
    return h;
}

struct group {
    uint32_t podset; /* the first of them: its template and name are the group's */
    int64_t count;
    uint64_t kind;
};

static uint32_t group(const struct mgr_rec_wl *w, yyjson_val *config, yyjson_val *podsets,
                      struct group *ret) {
    const char *policy = sl_json_str(config, "spec.podSetMergePolicy");
    uint32_t sets[SL_MAX_PODSETS], made = 0;
    int32_t counts[SL_MAX_PODSETS];
    uint32_t n = mgr_prov_needed(w, config, sets, counts);
    for (uint32_t i = 0; i < n; i++) {
        yyjson_val *t = yyjson_obj_get(yyjson_arr_get(podsets, sets[i]), "template");
        uint64_t kind = *policy ? kind_of(policy, t) : 0;
        uint32_t k = 0;
        while (k < made && (!*policy || ret[k].kind != kind))
            k++;
        if (k == made)
            ret[made++] = (struct group){.podset = sets[i], .kind = kind};
        ret[k].count += counts[i];
    }
    return made;
}

/* ---- texts ---- */

static void put_meta(const struct sl_manager *m, const struct mgr_rec_wl *w, const char *name,
                     struct sl_jw *j) {
    sl_jw_object(j, "metadata");
    sl_jw_str(j, "name", name);
    sl_jw_str(j, "namespace", mgr_str(m, w->rec.ns));
    sl_jw_object(j, "labels");
    sl_jw_str(j, "kueue.x-k8s.io/managed", "true");
    sl_jw_end(j);
    sl_jw_array(j, "ownerReferences");
    sl_jw_object(j, NULL);
    sl_jw_str(j, "apiVersion", "kueue.x-k8s.io/v1beta2");
    sl_jw_str(j, "kind", "Workload");
    sl_jw_bool(j, "controller", true);
    sl_jw_str(j, "name", w->rec.name);
    sl_jw_str(j, "uid", w->rec.uid);
    sl_jw_end(j);
    sl_jw_end(j);
    sl_jw_end(j);
}

/* Those of the configuration; the Workload's annotations override them. */
static void put_parameters(const struct mgr_rec_wl *w, yyjson_val *config, struct sl_jw *j) {
    const char *own = w->parameters ? w->parameters : "{}";
    _cleanup_(sl_json_docp) yyjson_doc *o = yyjson_read(own, strlen(own), 0);
    yyjson_mut_doc *d = yyjson_mut_doc_new(NULL);
    yyjson_val *from[] = {sl_json_at(config, "spec.parameters"), yyjson_doc_get_root(o)};
    yyjson_mut_val *all = yyjson_mut_obj(d);
    for (size_t k = 0; k < SL_LEN(from); k++)
        sl_json_mut_fill(d, all, yyjson_val_mut_copy(d, from[k]), true);
    sl_jw_mut_val(j, "parameters", all);
    yyjson_mut_doc_free(d);
}

static void push(struct mgr_prov_draft *d, const char *name, struct sl_buf *body) {
    d->v[d->n++] = (struct text){sl_strdup(name), sl_strdup(sl_buf_str(body))};
    sl_buf_clear(body);
}

/* Returns whether everything that is needed was there. */
static bool make_texts(struct sl_manager *m, struct mgr_rec_wl *w, yyjson_val *workload,
                       yyjson_val *config) {
    struct mgr_prov_draft *d = w->draft;
    struct group groups[SL_MAX_PODSETS] = {0};
    yyjson_val *podsets = sl_json_at(workload, "spec.podSets");
    struct sl_buf name, part, b, list;
    if (yyjson_arr_size(podsets) != w->n_podsets || !w->seen.admission)
        return false;
    uint32_t n = group(w, config, podsets, groups);
    sl_buf_init(&name, MAX_NAME);
    sl_buf_init(&part, MAX_NAME);
    sl_buf_init(&list, PROV_MAX_TEXT);
    sl_buf_init(&b, PROV_MAX_TEXT);
    struct sl_jw j = SL_JW(&b), refs = SL_JW(&list);
    sl_jw_array(&refs, NULL);
    mgr_prov_name(&name, w->rec.name, mgr_str(m, d->check), d->attempt);
    for (uint32_t i = 0; i < n; i++) {
        const struct mgr_wl_podset *s = &w->podsets[groups[i].podset];
        mgr_prov_template_name(&part, sl_buf_str(&name), mgr_str(m, s->name));
        sl_jw_object(&j, NULL);
        sl_jw_str(&j, "apiVersion", "v1");
        sl_jw_str(&j, "kind", "PodTemplate");
        put_meta(m, w, sl_buf_str(&part), &j);
        put_template(m, w, groups[i].podset,
                     yyjson_obj_get(yyjson_arr_get(podsets, groups[i].podset), "template"), &j);
        sl_jw_end(&j);
        push(d, sl_buf_str(&part), &b);
        sl_jw_object(&refs, NULL);
        sl_jw_object(&refs, "podTemplateRef");
        sl_jw_str(&refs, "name", sl_buf_str(&part));
        sl_jw_end(&refs);
        sl_jw_int(&refs, "count", groups[i].count < INT32_MAX ? groups[i].count : INT32_MAX);
        sl_jw_end(&refs);
    }
    sl_jw_end(&refs);
    sl_jw_object(&j, NULL);
    sl_jw_str(&j, "apiVersion", PROV_API);
    sl_jw_str(&j, "kind", "ProvisioningRequest");
    put_meta(m, w, sl_buf_str(&name), &j);
    sl_jw_object(&j, "spec");
    sl_jw_str(&j, "provisioningClassName", sl_json_str(config, "spec.provisioningClassName"));
    put_parameters(w, config, &j);
    sl_jw_raw(&j, "podSets", sl_buf_str(&list));
    sl_jw_end_to(&j, 0);
    push(d, sl_buf_str(&name), &b);
    struct sl_buf *bufs[] = {&name, &part, &list, &b};
    for (size_t i = 0; i < SL_LEN(bufs); i++)
        sl_buf_done(bufs[i]);
    return true;
}

/* ---- writing ---- */

bool mgr_prov_make_build(struct sl_manager *m, struct mgr_rec_wl *w, struct sl_write *out) {
    struct mgr_prov_draft *d = w->draft;
    if (!d || !m->spec.parts.provisioning)
        return false;
    if (m->spec.client->mono < d->pause) {
        sl_rec_write_at(&w->rec, d->pause);
        return false;
    }
    out->tag = WRITE_PROV;
    if (!d->n) {
        sl_rec_build_read(&w->rec, out);
        return true;
    }
    const char *ns = mgr_str(m, w->rec.ns);
    const struct text *t = &d->v[d->next];
    if (d->next + 1 < d->n) {
        out->method = d->replace ? SL_PUT : SL_POST;
        out->content_type = SL_JSON;
        sl_buf_printf(&out->path, "/api/v1/namespaces/%s/podtemplates%s%s?fieldManager=kueue", ns,
                      d->replace ? "/" : "", d->replace ? t->name : "");
    } else {
        sl_inf_build_create(m->inf, REC_PROV_REQUEST, ns, out);
        sl_buf_printf(&out->read_path, "/apis/" PROV_API "/namespaces/%s/provisioningrequests/%s",
                      ns, t->name);
    }
    sl_buf_puts(&out->body, t->body);
    return true;
}

/* The API server will not have it: the message of its answer. */
static void report_refused(struct sl_manager *m, struct mgr_rec_wl *w,
                           const struct sl_kube_reply *reply) {
    const struct mgr_prov_draft *d = w->draft;
    bool template = d->next + 1 < d->n;
    _cleanup_(sl_json_docp) yyjson_doc *answer =
        reply->body ? yyjson_read(reply->body, reply->len, 0) : NULL;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF_SHORT(MAX_MESSAGE);
    sl_buf_printf(&b, "Error creating %s \"%s\": %s",
                  template ? "PodTemplate" : "ProvisioningRequest", d->v[d->next].name,
                  sl_json_str(yyjson_doc_get_root(answer), "message"));
    mgr_prov_set_failed(m, w, d->check, sl_buf_str(&b));
}

static void read_answered(struct sl_manager *m, struct mgr_rec_wl *w,
                          const struct sl_kube_reply *reply) {
    bool ours;
    yyjson_doc *c = mgr_prov_config(m, w->draft->check, &ours),
               *o = yyjson_read(reply->body, reply->len, 0);
    if (!c || !o || !make_texts(m, w, yyjson_doc_get_root(o), yyjson_doc_get_root(c)))
        mgr_prov_make_none(w); /* made anew if it is still needed */
    yyjson_doc_free(o);
    yyjson_doc_free(c);
}

static void template_answered(struct sl_manager *m, struct mgr_rec_wl *w, enum sl_written how) {
    struct mgr_prov_draft *d = w->draft;
    bool other = d->replace ? how == SL_WRITE_GONE : how == SL_WRITE_CONFLICT;
    if (how == SL_WRITTEN)
        d->next++;
    else if (!other)
        d->pause = sl_time_add(m->spec.client->mono, PAUSE);
    d->replace = other && !d->replace;
}

static void request_answered(struct sl_manager *m, struct mgr_rec_wl *w, enum sl_written how,
                             const struct sl_kube_reply *reply) {
    struct mgr_prov_draft *d = w->draft;
    const char *name = d->v[d->next].name;
    struct sl_rec *there = sl_inf_find(m->inf, REC_PROV_REQUEST, mgr_str(m, w->rec.ns), name);
    if (how == SL_WRITTEN) {
        sl_rec_event(&w->rec, CONTROLLER, false, "ProvisioningRequestCreated",
                     "Created ProvisioningRequest: \"%s\"", name);
        mgr_prov_make_none(w);
        return;
    }
    if (how == SL_WRITE_CONFLICT && there &&
        (!mgr_prov_of(there)->owner_uid || strcmp(mgr_prov_of(there)->owner_uid, w->rec.uid) != 0))
        report_refused(m, w, reply); /* it has another owner */
    if (how != SL_WRITE_FAILED)
        d->pause = sl_time_add(m->spec.client->mono, PAUSE);
}

void mgr_prov_make_written(struct sl_manager *m, struct mgr_rec_wl *w, const struct sl_write *out,
                           enum sl_written how, const struct sl_kube_reply *reply) {
    struct mgr_prov_draft *d = w->draft;
    sl_rec_enqueue(&w->rec);
    sl_rec_write(&w->rec);
    if (!d)
        return;
    if (out->method == SL_GET || !d->n) {
        if (how == SL_WRITTEN && !d->n)
            read_answered(m, w, reply);
        return;
    }
    if (how == SL_WRITE_REFUSED)
        report_refused(m, w, reply);
    if (d->next + 1 < d->n)
        template_answered(m, w, how);
    else
        request_answered(m, w, how, reply);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Pending changes of a Workload besides its status: spec, labels, owners, deletion. */
#include <string.h>

#include "manager/controllers/core/lookup.h"
#include "manager/controllers/pod/group.h"
#include "manager/controllers/workload/workload_int.h"

#define JOB_UID "kueue.x-k8s.io/job-uid"
#define GATED_BY "kueue.x-k8s.io/admission-gated-by"

void mgr_wl_set_pending(struct mgr_rec_wl *w, uint32_t pending) {
    w->pending |= pending;
    sl_rec_write(&w->rec);
}

void mgr_wl_set_pending_queue(struct sl_manager *m, struct mgr_rec_wl *w, const char *queue) {
    w->pending_queue = sl_sym_put(m->syms, queue);
    mgr_wl_set_pending(w, WL_QUEUE);
}

void mgr_wl_set_pending_gate(struct mgr_rec_wl *w, const char *gate) {
    sl_freep(&w->pending_gate);
    w->pending_gate = sl_strdup(gate);
    mgr_wl_set_pending(w, WL_GATE);
}

void mgr_wl_set_pending_priority(struct sl_manager *m, struct mgr_rec_wl *w,
                                 const struct mgr_priority *p) {
    w->pending_priority = p->value;
    w->pending_class_kind = sl_sym_put(m->syms, p->kind);
    w->pending_class_name = sl_sym_put(m->syms, p->name);
    mgr_wl_set_pending(w, WL_PRIORITY);
}

void mgr_wl_set_pending_owner(struct mgr_rec_wl *w, const char *owner_reference_json,
                              const char *job_uid) {
    struct sl_buf b;
    sl_buf_init(&b, 4096);
    struct sl_jw j = SL_JW(&b);
    sl_jw_object(&j, NULL);
    sl_jw_array(&j, "ownerReferences");
    sl_jw_raw(&j, NULL, owner_reference_json);
    sl_jw_end(&j);
    sl_jw_object(&j, "labels");
    sl_jw_str(&j, JOB_UID, job_uid);
    sl_jw_end_to(&j, 0);
    sl_freep(&w->pending_owner);
    w->pending_owner = sl_strdup(sl_buf_str(&b));
    w->pending_owners = 0;
    sl_buf_done(&b);
    mgr_wl_set_pending(w, WL_ADOPT);
}

void mgr_wl_set_pending_owners(struct mgr_rec_wl *w, const char *references_json, uint32_t added) {
    struct sl_buf b;
    sl_buf_init(&b, SL_WRITER_MAX_BODY);
    struct sl_jw j = SL_JW(&b);
    sl_jw_object(&j, NULL);
    sl_jw_raw(&j, "ownerReferences", references_json);
    sl_jw_end(&j);
    sl_freep(&w->pending_owner);
    w->pending_owner = sl_strdup(sl_buf_str(&b));
    w->pending_owners = added;
    sl_buf_done(&b);
    mgr_wl_set_pending(w, WL_ADOPT);
}

void mgr_wl_set_pending_succeeded(struct mgr_rec_wl *w, const char *text) {
    sl_freep(&w->pending_succeeded);
    w->pending_succeeded = sl_strdup(text);
    mgr_wl_set_pending(w, WL_SUCCEEDED);
}

void mgr_wl_set_pending_spec(struct mgr_rec_wl *w, const char *spec_json) {
    sl_freep(&w->pending_spec);
    w->pending_spec = sl_strdup(spec_json);
    mgr_wl_set_pending(w, WL_SPEC);
}

void mgr_wl_settle_pending(const struct sl_manager *m, struct mgr_rec_wl *w) {
    (void)m;
    if (!w->active)
        w->pending &= ~(uint32_t)WL_INACTIVE;
    if (w->pending_priority == w->priority && w->pending_class_name == w->class_name &&
        w->pending_class_kind == w->class_kind)
        w->pending &= ~(uint32_t)WL_PRIORITY;
    if (w->pending_queue == w->queue)
        w->pending &= ~(uint32_t)WL_QUEUE;
    if (strcmp(w->pending_gate ? w->pending_gate : "", w->gate ? w->gate : "") == 0)
        w->pending &= ~(uint32_t)WL_GATE;
    if (strcmp(w->pending_succeeded ? w->pending_succeeded : "",
               w->succeeded ? w->succeeded : "") == 0)
        w->pending &= ~(uint32_t)WL_SUCCEEDED;
    if (!w->rec.finalizer)
        w->pending &= ~(uint32_t)WL_UNFINALIZE;
}

static void put_spec(const struct sl_manager *m, const struct mgr_rec_wl *w, struct sl_jw *j) {
    if (w->pending & WL_SPEC) {
        sl_jw_raw(j, "spec", w->pending_spec);
        return;
    }
    if (!(w->pending & (WL_INACTIVE | WL_PRIORITY | WL_QUEUE)))
        return;
    sl_jw_object(j, "spec");
    if (w->pending & WL_INACTIVE)
        sl_jw_bool(j, "active", false);
    if (w->pending & WL_QUEUE)
        sl_jw_str(j, "queueName", mgr_str(m, w->pending_queue));
    if (w->pending & WL_PRIORITY) {
        sl_jw_int(j, "priority", w->pending_priority);
        const char *kind = mgr_str(m, w->pending_class_kind);
        if (!w->pending_class_name) {
            sl_jw_null(j, "priorityClassRef");
        } else if (w->pending_class_name != w->class_name ||
                   w->pending_class_kind != w->class_kind) {
            sl_jw_object(j, "priorityClassRef");
            sl_jw_str(j, "group",
                      strcmp(kind, "PriorityClass") == 0 ? "scheduling.k8s.io" : "kueue.x-k8s.io");
            sl_jw_str(j, "kind", kind);
            sl_jw_str(j, "name", mgr_str(m, w->pending_class_name));
            sl_jw_end(j);
        }
    }
    sl_jw_end(j);
}

static void put_annotations(const struct mgr_rec_wl *w, struct sl_jw *j) {
    const struct {
        uint32_t change;
        const char *key, *value;
    } v[] = {{WL_GATE, GATED_BY, w->pending_gate},
             {WL_SUCCEEDED, GROUP_SUCCEEDED, w->pending_succeeded}};
    if (!(w->pending & (WL_GATE | WL_SUCCEEDED)))
        return;
    sl_jw_object(j, "annotations");
    for (size_t i = 0; i < SL_LEN(v); i++) {
        if (!(w->pending & v[i].change))
            continue;
        if (v[i].value && *v[i].value)
            sl_jw_str(j, v[i].key, v[i].value);
        else
            sl_jw_null(j, v[i].key);
    }
    sl_jw_end(j);
}

bool mgr_wl_build_object(struct sl_manager *m, struct mgr_rec_wl *w, struct sl_write *out) {
    const struct sl_rec *r = &w->rec;
    if (!(w->pending & ~(uint32_t)(WL_DELETE | WL_READ_OWNER)))
        return false;
    sl_rec_build_guarded(r, NULL, out);
    if (w->pending & WL_UNFINALIZE)
        sl_rec_put_finalizers(&out->json, r, false);
    if (w->pending & WL_ADOPT)
        sl_jw_fields(&out->json, w->pending_owner);
    put_annotations(w, &out->json);
    sl_jw_end(&out->json);
    put_spec(m, w, &out->json);
    return true;
}

void mgr_wl_build_count(const struct mgr_rec_wl *w, int32_t count, struct sl_write *out) {
    struct sl_jw *j = &out->json;
    sl_rec_build_patch(&w->rec, NULL, out);
    out->content_type = "application/json-patch+json";
    sl_jw_array(j, NULL);
    sl_jw_object(j, NULL);
    sl_jw_str(j, "op", "replace");
    sl_jw_str(j, "path", "/metadata/resourceVersion");
    sl_jw_strf(j, "value", "%llu", (unsigned long long)w->rec.rv);
    sl_jw_end(j);
    sl_jw_object(j, NULL);
    sl_jw_str(j, "op", "replace");
    sl_jw_str(j, "path", "/spec/podSets/0/count");
    sl_jw_int(j, "value", count);
    sl_jw_end(j);
    sl_jw_end(j);
}

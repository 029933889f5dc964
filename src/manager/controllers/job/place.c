/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an admission adds to the podsets of a row's object, and its removal, as JSON patches: a
 * merge patch cannot address the items of a list, and the whole object is not kept. The patch
 * carries the version that it was made from, so what was observed of the object is so when it is
 * applied: a parent that is missing is made first, and what is not there is not removed.
 */
#include "manager/controllers/job/place.h"

#include <string.h>

#include "core/base/fmt.h"
#include "lib/json/json.h"
#include "manager/controllers/core/templates.h"

#define MAX_POINTER 2048u /* a podset's and a part's, with a key that is escaped */

/* ---- paths ---- */

const char *mgr_place_path(enum sl_jobkind_form form, enum mgr_job_part part) {
    static const char *const in_template[] = {[JOB_ANNOTATIONS] = "metadata.annotations",
                                              [JOB_LABELS] = "metadata.labels",
                                              [JOB_SELECTOR] = "spec.nodeSelector",
                                              [JOB_TOLERATIONS] = "spec.tolerations",
                                              [JOB_GATES] = "spec.schedulingGates"};
    static const char *const beside[] = {[JOB_ANNOTATIONS] = "annotations",
                                         [JOB_LABELS] = "labels",
                                         [JOB_SELECTOR] = "nodeSelector",
                                         [JOB_TOLERATIONS] = "tolerations",
                                         [JOB_GATES] = "schedulingGates"};
    if (form == SL_JOBKIND_TEMPLATE)
        return in_template[part];
    return form == SL_JOBKIND_POD && part == JOB_GATES ? "template.spec.schedulingGates"
                                                       : beside[part];
}

static uint8_t steps_of(const char *path) {
    uint32_t n = 1;
    for (; *path; path++)
        n += *path == '.';
    return (uint8_t)n;
}

uint8_t mgr_place_has(yyjson_val *v, const char *path) {
    uint8_t n = 0;
    for (;;) {
        size_t len = strcspn(path, ".");
        v = yyjson_obj_getn(v, path, len);
        if (!v || yyjson_is_null(v))
            return n;
        n++;
        if (!path[len])
            return n;
        if (!yyjson_is_obj(v)) /* the write replaces it */
            return (uint8_t)(n - 1);
        path += len + 1;
    }
}

/* ---- operations ---- */

static void put_pointer(const char *at, const char *path, size_t len, const char *key,
                        struct sl_jw *out) {
    struct sl_buf *b = sl_jw_begin_str(out, "path");
    sl_buf_puts(b, at);
    for (size_t i = 0; i < len; i++) {
        if (i == 0)
            sl_buf_putc(b, '/');
        sl_buf_putc(b, path[i] == '.' ? '/' : path[i]);
    }
    if (key)
        sl_buf_putc(b, '/');
    for (; key && *key; key++)
        if (*key == '~' || *key == '/')
            sl_buf_puts(b, *key == '~' ? "~0" : "~1");
        else
            sl_buf_putc(b, *key);
    sl_jw_end_str(out);
}

/* Left open for the value. */
static void begin_op(const char *op, const char *at, const char *path, size_t len, const char *key,
                     struct sl_jw *out) {
    sl_jw_object(out, NULL);
    sl_jw_str(out, "op", op);
    put_pointer(at, path, len, key, out);
}

/* The parents of a path of which 'has' steps exist. */
static void put_parents(const char *at, const char *path, uint8_t has, struct sl_jw *out) {
    const char *s = path;
    uint8_t n = 0;
    for (const char *dot; (dot = strchr(s, '.')); s = dot + 1) {
        if (n++ < has)
            continue;
        begin_op("add", at, path, (size_t)(dot - path), NULL, out);
        sl_jw_object(out, "value");
        sl_jw_end(out);
        sl_jw_end(out);
    }
}

static void put_keys(const char *at, const char *path, yyjson_mut_val *keys, struct sl_jw *out) {
    size_t i, n;
    yyjson_mut_val *k, *v;
    yyjson_mut_obj_foreach (keys, i, n, k, v) {
        bool gone = yyjson_mut_is_null(v);
        begin_op(gone ? "remove" : "add", at, path, strlen(path), sl_json_mut_text(k), out);
        if (!gone)
            sl_jw_mut_val(out, "value", v);
        sl_jw_end(out);
    }
}

/* The steps that two paths have in common exist once one of them was written. */
static void note_parents(struct mgr_job_podset *p, enum mgr_job_part written) {
    const char *path = mgr_place_path((enum sl_jobkind_form)p->form, written);
    for (enum mgr_job_part q = 0; q < JOB_PARTS; q++) {
        const char *other = mgr_place_path((enum sl_jobkind_form)p->form, q);
        uint32_t n = 0;
        for (const char *a = path, *b = other; *a && *a == *b; a++, b++)
            n += *a == '.';
        if (p->has[q] < n)
            p->has[q] = (uint8_t)n;
    }
}

static void put_part(const char *at, struct mgr_job_podset *p, enum mgr_job_part part,
                     const struct mgr_job_change *c, struct sl_jw *out) {
    const char *path = mgr_place_path((enum sl_jobkind_form)p->form, part);
    bool there = p->has[part] == steps_of(path), by_key = p->form == SL_JOBKIND_TEMPLATE;
    if (c->drop) {
        if (there) {
            begin_op("remove", at, path, strlen(path), NULL, out);
            sl_jw_end(out);
        }
    } else if (c->keys && by_key && there) {
        put_keys(at, path, c->keys, out);
    } else if (c->whole) {
        put_parents(at, path, p->has[part], out);
        begin_op("add", at, path, strlen(path), NULL, out);
        sl_jw_mut_val(out, "value", c->whole);
        sl_jw_end(out);
        note_parents(p, part);
    }
}

static void put_parts(const char *at, const struct mgr_job_podset *p,
                      const struct mgr_job_change c[JOB_PARTS], struct sl_jw *out) {
    struct mgr_job_podset now = *p; /* 'has' grows with what is written */
    for (enum mgr_job_part part = 0; part < JOB_PARTS; part++)
        put_part(at, &now, part, &c[part], out);
}

/* ---- AppWrapper: the list of a component, whose items are made anew ---- */

/* The pointer of the list that the item at 'at' is in; false if it is not its first item. */
static bool first_of(const char *at, char list[MAX_POINTER]) {
    const char *slash = strrchr(at, '/');
    sl_fmt(list, MAX_POINTER, "%.*s", (int)(slash - at), at);
    return strcmp(slash, "/0") == 0;
}

static void put_info_list(const struct sl_manager *m, const struct mgr_rec_job *j, uint32_t first,
                          bool make, struct sl_jw *out) {
    char list[MAX_POINTER], other[MAX_POINTER];
    if (!first_of(mgr_str(m, j->many->v[first].at), list) || (!make && !j->many->v[first].there))
        return;
    begin_op(make ? "add" : "remove", list, "", 0, NULL, out);
    if (make) {
        sl_jw_array(out, "value");
        for (uint32_t i = first; i < j->many->n; i++) {
            (void)first_of(mgr_str(m, j->many->v[i].at), other);
            if (strcmp(list, other) != 0)
                break;
            sl_jw_object(out, NULL);
            sl_jw_end(out);
        }
        sl_jw_end(out);
    }
    sl_jw_end(out);
}

/* ---- suspend ---- */

void mgr_job_put_suspend(const struct sl_manager *m, const struct mgr_rec_job *j,
                         struct sl_jw *out) {
    const char *path = mgr_job_row(m, j->rec.kind)->suspend;
    char step[SL_JOBKIND_MAX_PATH + 1];
    uint32_t depth = out->depth;
    for (const char *dot; (dot = strchr(path, '.')); path = dot + 1) {
        sl_fmt(step, sizeof step, "%.*s", (int)(dot - path), path);
        sl_jw_object(out, step);
    }
    sl_jw_bool(out, path, true);
    sl_jw_end_to(out, depth);
}

static void put_suspend(const struct sl_manager *m, const struct mgr_rec_job *j, bool on,
                        struct sl_jw *out) {
    const char *path = mgr_job_row(m, j->rec.kind)->suspend;
    put_parents("", path, j->many ? j->many->suspend_has : 0, out);
    begin_op("add", "", path, strlen(path), NULL, out);
    sl_jw_bool(out, "value", on);
    sl_jw_end(out);
}

/* ---- start ---- */

/* A template that stands nowhere yet is written whole. */
static void put_made(const char *at, const struct mgr_job_podset *p, struct sl_jw *out) {
    begin_op("add", at, "", 0, NULL, out);
    sl_jw_raw(out, "value", p->made);
    sl_jw_end(out);
}

static bool start_podset(const struct sl_manager *m, const struct mgr_rec_job *j,
                         const struct mgr_rec_wl *from, uint32_t i, struct sl_jw *out) {
    const struct mgr_job_podset *p = &j->many->v[i];
    const char *at = mgr_str(m, p->at);
    struct mgr_job_change c[JOB_PARTS];
    struct mgr_job_podset made = *p;
    struct mgr_job_extras *x = NULL;
    struct sl_err err;
    bool info = p->form == SL_JOBKIND_INFO, fits = mgr_job_extras_new(m, from, i, &x, &err) >= 0;
    fits = fits && (info || mgr_job_extras_fit(x, p->template, &p->marks, &err) >= 0);
    if (fits && info) {
        memset(made.has, 0, sizeof made.has);
        put_info_list(m, j, i, true, out);
        mgr_job_extras_alone(x, c);
    } else if (fits) {
        mgr_job_extras_changes(x, p->template, c);
        if (p->made) {
            yyjson_doc *d = sl_json_doc(p->made, strlen(p->made));
            put_made(at, p, out);
            for (enum mgr_job_part part = 0; part < JOB_PARTS; part++)
                made.has[part] = mgr_place_has(yyjson_doc_get_root(d),
                                               mgr_place_path(SL_JOBKIND_TEMPLATE, part));
            yyjson_doc_free(d);
        }
    }
    if (fits)
        put_parts(at, &made, c, out);
    mgr_job_extras_free(x);
    return fits;
}

bool mgr_job_build_row_start(struct sl_manager *m, struct mgr_rec_job *j,
                             const struct mgr_rec_wl *from, struct sl_write *w) {
    const struct sl_jobkind *row = mgr_job_row(m, j->rec.kind);
    sl_rec_build_ops(&j->rec, w);
    for (uint32_t i = 0; i < j->many->n && !mgr_job_is_train(j); i++)
        if (!start_podset(m, j, from, i, &w->json))
            return false;
    if (j->many->clears) {
        begin_op("remove", "", row->clears, strlen(row->clears), NULL, &w->json);
        sl_jw_end(&w->json);
    }
    put_suspend(m, j, false, &w->json);
    return true;
}

/* ---- stop ---- */

static void restore_podset(const struct sl_manager *m, const struct mgr_rec_job *j,
                           const struct mgr_rec_wl *from, uint32_t i, struct sl_jw *out) {
    const struct mgr_job_podset *p = &j->many->v[i];
    struct mgr_job_change c[JOB_PARTS];
    if (p->form == SL_JOBKIND_INFO) {
        put_info_list(m, j, i, false, out);
        return;
    }
    if (p->made || p->form == SL_JOBKIND_PATCH) /* it stands nowhere, so nothing was added */
        return;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    mgr_job_restore_changes(doc, p->template, from->slice_of ? NULL : &p->marks,
                            from->podsets[i].template, c);
    put_parts(mgr_str(m, p->at), p, c, out);
    yyjson_mut_doc_free(doc);
}

void mgr_job_build_row_stop(struct sl_manager *m, const struct mgr_rec_job *j,
                            const struct mgr_rec_wl *from, struct sl_write *w) {
    bool alike = from && j->many && from->n_podsets == j->many->n;
    sl_rec_build_ops(&j->rec, w);
    put_suspend(m, j, true, &w->json);
    for (uint32_t i = 0; alike && i < j->many->n; i++)
        restore_podset(m, j, from, i, &w->json);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the Job integration without an API server: a manager with nothing around it, objects
 * as JSON, and the body that is written next. Everything is inline, so that each test takes what it
 * wants.
 */
#ifndef SL_TESTS_MANAGER_CONTROLLERS_JOB_FIXTURE_H
#define SL_TESTS_MANAGER_CONTROLLERS_JOB_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "manager/controllers/job/job.h"

#define Q "kueue.x-k8s.io/"
#define NOW (INT64_C(1767225600) * SL_SEC) /* 2026-01-01T00:00:00Z */

/* ---- a manager with nothing around it ---- */

struct fixture {
    struct sl_manager m;
    struct sl_settings settings;
    struct sl_kube_client client;
    uint64_t rv;
};

static inline void begin(struct fixture *f) {
    *f = (struct fixture){.client = {.wall = NOW, .mono = SL_SEC}, .rv = 6};
    for (enum sl_feature_gate g = 0; g < SL_GATES; g++)
        f->settings.gates[g] = sl_feature_gate_default(g);
    f->settings.framework[SL_FW_JOB] = true;
    f->settings.keep_finished = f->settings.drop_deactivated = SL_TIME_NEVER;
    f->m.settings = &f->settings;
    f->m.spec.client = &f->client;
    f->m.spec.parts.framework[SL_FW_JOB] = true;
    mgr_features_new(&f->m);
    f->m.inf = sl_inf_new(&(struct sl_inf_spec){.client = &f->client,
                                                .kinds = mgr_kinds,
                                                .n_kinds = REC_KINDS,
                                                .ctx = &f->m,
                                                .field_manager = "kueue",
                                                .max_in_flight = 1});
    f->m.inf->writes = false;
    f->m.inf->tables[REC_WORKLOAD].synced = true;
    f->m.inf->tables[REC_JOB].synced = true;
    f->m.syms = &f->m.inf->syms;
}

static inline void end(struct fixture *f) {
    struct sl_manager *m = &f->m;
    sl_inf_free(m->inf);
    mgr_features_end(m);
    sl_map_done(&m->by_uid);
}

/* Quotes may be written as '. Every object gets a newer version. */
static inline struct sl_rec *take(struct fixture *f, enum mgr_rec_kind k, const char *text) {
    char *json = sl_strdup(text), *at;
    while ((at = strchr(json, '\'')))
        *at = '"';
    yyjson_doc *d = yyjson_read(json, strlen(json), 0);
    assert_non_null(d);
    yyjson_mut_doc *e = yyjson_doc_mut_copy(d, NULL);
    char rv[24];
    (void)snprintf(rv, sizeof rv, "%llu", (unsigned long long)++f->rv);
    yyjson_mut_val *meta = yyjson_mut_obj_get(yyjson_mut_doc_get_root(e), "metadata");
    (void)yyjson_mut_obj_put(meta, yyjson_mut_str(e, "resourceVersion"), yyjson_mut_str(e, rv));
    yyjson_doc *full = yyjson_mut_doc_imut_copy(e, NULL);
    struct sl_rec *r = sl_inf_take(f->m.inf, k, yyjson_doc_get_root(full));
    yyjson_doc_free(full);
    yyjson_mut_doc_free(e);
    yyjson_doc_free(d);
    sl_freep(&json);
    assert_non_null(r);
    return r;
}

/* ---- objects ---- */

#define CONTAINERS "'containers':[{'name':'c','image':'i','resources':{'requests':{'cpu':'1'}}}]"
#define LABELS                                                                                     \
    "'labels':{'app':'a','job-name':'j','controller-uid':'ju','batch.kubernetes.io/job-name':'j'," \
    "'batch.kubernetes.io/controller-uid':'ju'}"
#define JOB_META(more)                                                                             \
    "'metadata':{'name':'j','namespace':'ns','uid':'ju'," more "'labels':{'" Q "queue-name':'q'}"
#define TEMPLATE "'template':{'metadata':{" LABELS "},'spec':{" CONTAINERS "}}"
#define SUSPENDED "'suspend':true,'parallelism':3,'completions':3,"
#define RUNNING "'suspend':false,'parallelism':3,'completions':3,"
#define JOB(spec, status) "{" JOB_META("") "},'spec':{" spec TEMPLATE "},'status':{" status "}}"

#define OWNER                                                                                      \
    "'ownerReferences':[{'apiVersion':'batch/"                                                     \
    "v1','kind':'Job','name':'j','uid':'ju','controller':true}]"
#define PODSET(count)                                                                              \
    "'podSets':[{'name':'main','count':" count ",'template':{'metadata':{'labels':{'app':'a',"     \
    "'batch.kubernetes.io/job-name':'j'}},'spec':{" CONTAINERS "}}}]"
#define WORKLOAD(meta, spec, status)                                                               \
    "{'metadata':{'name':'w','namespace':'ns','uid':'wu','generation':1," meta OWNER               \
    "},'spec':{'queueName':'q'," spec "},'status':{" status "}}"
#define COND(type, status, more)                                                                   \
    "{'type':'" type "','status':'" status "','lastTransitionTime':'2025-12-31T23:00:00Z'" more "}"
#define ADMISSION(flavor, count)                                                                   \
    "'admission':{'clusterQueue':'cq','podSetAssignments':[{'name':'main','count':" count          \
    ",'flavors':{'cpu':'" flavor "'},'resourceUsage':{'cpu':'3'}}]}"
#define RESERVED COND("QuotaReserved", "True", "")
#define ADMITTED                                                                                   \
    ADMISSION("spot", "3") ",'conditions':[" RESERVED "," COND("Admitted", "True", "") "]"

static const char flavor_spot[] =
    "{'metadata':{'name':'spot','uid':'fu'},'spec':{'nodeLabels':{'type':'spot'},"
    "'tolerations':[{'key':'spot','operator':'Exists'}]}}";

/* ---- bodies ---- */

static inline char *body(struct fixture *f, struct sl_rec *r, enum sl_kube_method *method) {
    struct sl_write w = {0};
    sl_buf_init(&w.path, SL_WRITER_MAX_PATH);
    sl_buf_init(&w.read_path, SL_WRITER_MAX_PATH);
    sl_buf_init(&w.body, SL_WRITER_MAX_BODY);
    w.json = SL_JW(&w.body);
    assert_true(mgr_job_build(&f->m, r, &w));
    sl_jw_end_to(&w.json, 0);
    *method = w.method;
    char *s = sl_strdup(sl_buf_str(&w.body));
    yyjson_doc *d = yyjson_read(s, strlen(s), 0);
    assert_non_null(d); /* whatever it says, it is JSON */
    yyjson_doc_free(d);
    for (char *at; (at = strchr(s, '"'));)
        *at = '\'';
    sl_buf_done(&w.path);
    sl_buf_done(&w.read_path);
    sl_buf_done(&w.body);
    return s;
}

static inline void wants(struct fixture *f, struct sl_rec *r, enum sl_kube_method method,
                         const char *text) {
    enum sl_kube_method m;
    char *s = body(f, r, &m);
    assert_string_equal(s, text);
    assert_int_equal(m, method);
    sl_freep(&s);
}

#define GUARD(rv) "{'metadata':{'resourceVersion':'" rv "','uid':'ju'"

#endif

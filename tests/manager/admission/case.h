/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A review in a test, with JSON written in single quotes: {'spec': {'count': 1}}.
 */
#ifndef SL_TESTS_MANAGER_ADMISSION_CASE_H
#define SL_TESTS_MANAGER_ADMISSION_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yyjson.h>

#include "lib/json/json.h"
#include "manager/admission/review.h"
#include "manager/config/gates.h"
#include "manager/jobkinds/jobkinds.h"

#define CASE_MAX_BYTES ((size_t)64 << 20)

/* What a test sees of an answer. Texts live in 'doc', or in 'text' if it is no review. */
struct answer {
    int http;
    struct sl_buf text;
    yyjson_doc *doc;
    yyjson_val *response;
    bool allowed;
    const char *message; /* "" if there is none */
};

static inline void answer_done(struct answer *a) {
    sl_buf_done(&a->text);
    yyjson_doc_free(a->doc);
}

/* The text with double quotes for single ones. To be freed. */
static inline char *json_of(const char *s) {
    char *copy = strdup(s);

    assert_non_null(copy);
    for (char *p = copy; *p; p++)
        if (*p == '\'')
            *p = '"';
    return copy;
}

static inline bool no_queue(void *ctx, const char *ns, const char *name) {
    (void)ctx;
    return ns[0] == '\0' && name[0] == '\0';
}
static inline bool no_name(void *ctx, const char *name) {
    (void)ctx;
    return name[0] == '\0';
}
static inline bool no_owner(void *ctx, const char *ns, const struct sl_review_owner_ref *owner) {
    (void)ctx;
    return ns[0] == '\0' && owner->name[0] == '\0';
}

static inline yyjson_doc *no_runtime(void *ctx, const char *ns,
                                     const struct sl_jobkind_need *need) {
    (void)ctx, (void)ns, (void)need;
    return NULL;
}

/* A view of an empty cluster with the gates at their defaults, but for one (NULL for none). */
static inline struct sl_review_view empty_view(struct sl_settings *settings, const char *gate,
                                               bool on) {
    for (int i = 0; i < SL_GATES; i++)
        settings->gates[i] = sl_feature_gate_default((enum sl_feature_gate)i);
    if (gate) {
        assert_int_not_equal(sl_feature_gate_find(gate), SL_GATES);
        settings->gates[sl_feature_gate_find(gate)] = on;
    }
    return (struct sl_review_view){
        .settings = settings,
        .queue_open = no_queue,
        .queue_exists = no_queue,
        .queue_dispatches = no_queue,
        .ns_managed = no_name,
        .ns_flux = no_name,
        .owner_managed = no_owner,
        .priority_class_exists = no_name,
        .runtime = no_runtime,
    };
}

/* Posts a body that is copied to just its size, so that a read past its end is seen. */
static inline void post(const struct sl_review_view *view, const char *path, const char *body,
                        size_t len, struct answer *ret) {
    char *exact = malloc(len > 0 ? len : 1);

    assert_non_null(exact);
    memcpy(exact, body, len);
    *ret = (struct answer){.message = ""};
    sl_buf_init(&ret->text, CASE_MAX_BYTES);
    ret->http = sl_review(view, path, exact, len, &ret->text);
    free(exact);
    if (ret->http != 200)
        return;
    ret->doc = yyjson_read(sl_buf_str(&ret->text), ret->text.len, 0);
    assert_non_null(ret->doc);
    ret->response = sl_json_at(yyjson_doc_get_root(ret->doc), "response");
    assert_string_equal(sl_json_str(ret->response, "uid"), "u-1");
    ret->allowed = sl_json_bool(ret->response, "allowed", false);
    ret->message = sl_json_str(ret->response, "status.message");
}

/* An admission request. old NULL: a creation. gate NULL: all at their defaults. */
static inline void review_object(const char *path, const char *object, const char *old,
                                 const char *gate, bool on, struct answer *ret) {
    static struct sl_settings settings;
    struct sl_review_view view = empty_view(&settings, gate, on);
    char *now = json_of(object), *before = old ? json_of(old) : NULL, *body = NULL;
    int n = asprintf(&body,
                     "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\","
                     "\"request\":{\"uid\":\"u-1\",\"operation\":\"%s\",\"object\":%s,"
                     "\"oldObject\":%s}}",
                     old ? "UPDATE" : "CREATE", now, before ? before : "null");

    assert_true(n > 0);
    post(&view, path, body, (size_t)n, ret);
    free(now);
    free(before);
    free(body);
}

/* One line of a table: the request, and the whole message of the refusal; "" if it is allowed. */
struct review_case {
    const char *name, *object, *old, *message;
    const char *gate; /* one that is not at its default */
    bool on;
};

static inline void check_cases(const char *path, const struct review_case *cases, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct answer a;
        review_object(path, cases[i].object, cases[i].old, cases[i].gate, cases[i].on, &a);
        if (a.http != 200 || strcmp(a.message, cases[i].message) != 0 ||
            a.allowed != (*cases[i].message == '\0'))
            fail_msg("%s: %d %s\nexpected: %s", cases[i].name, a.http,
                     a.http == 200 ? a.message : sl_buf_str(&a.text), cases[i].message);
        if (!a.allowed) {
            assert_int_equal(sl_json_int(a.response, "status.code", 0), 403);
            assert_string_equal(sl_json_str(a.response, "status.reason"), "Forbidden");
        }
        answer_done(&a);
    }
}

#endif

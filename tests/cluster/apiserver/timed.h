/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One API server, and one request at a time, held to its time: 100 ms of processor time for each
 * MiB of what is sent and of what it is about. What is quadratic takes many times that.
 */
#ifndef SL_TESTS_CLUSTER_APISERVER_TIMED_H
#define SL_TESTS_CLUSTER_APISERVER_TIMED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../pace.h"
#include "cluster/apiserver/server.h"

#define BODY_BYTES ((size_t)8 << 20)

#define JSON "application/json"
#define YAML "application/yaml"
#define JSON_PATCH "application/json-patch+json"
#define MERGE "application/merge-patch+json"
#define STRATEGIC "application/strategic-merge-patch+json"
#define APPLY "application/apply-patch+yaml"
#define TABLE "application/json;as=Table;v=v1;g=meta.k8s.io"
#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

extern struct timed {
    struct sl_apiserver *server;
    struct {
        bool is;
        int status;
        struct sl_buf body;
    } answer; /* the last one */
    uint32_t asked, taken, too_slow;
    int64_t worst_permille;
    char worst[400];
} timed;

struct request {
    const char *method, *path, *query, *type, *accept;
    const char *body;
    size_t len;
};

int timed_set_up(void **state);
int timed_tear_down(void **state);
int64_t timed_cpu_us(void);
/* The time it took. */
int64_t timed_ask(const struct request *q);
/* The status. */
int timed_post(const char *path, const char *body);
/* Counts the request as too slow if it is. 'stored' is the size of what it is about. It must be one
 * that can be repeated. */
void timed_hold(const struct request *q, size_t stored, const char *what, const char *how);

#endif

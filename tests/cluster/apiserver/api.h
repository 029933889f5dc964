/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server in this process, on a loop of its own, in memory; and one request at a time.
 */
#ifndef SL_TESTS_CLUSTER_APISERVER_API_H
#define SL_TESTS_CLUSTER_APISERVER_API_H

#include <uv.h>
#include <yyjson.h>

#include "cluster/apiserver/apiserver.h"
#include "core/base/collection/vec.h"

struct api {
    uv_loop_t loop;
    struct sl_apiserver *server;
    /* the last answer */
    bool answered;
    int status;
    char *body;
    size_t len;
    char *type;
    yyjson_doc *doc; /* NULL: it is no JSON */
    SL_VEC(char *) warnings;
};

/* A stream that was begun. */
struct stream {
    struct api *api;
    sl_api_call call;
    bool begun, ended, slow;
    int status; /* of an answer instead */
    SL_VEC(char *) lines;
};

void api_init(struct api *a);
/* With a spec of the caller's; loop and version are set here. */
void api_init_spec(struct api *a, struct sl_apiserver_spec spec);
void api_done(struct api *a);
/* "GET /api/v1/pods?limit=5"; type NULL: JSON. Runs the loop until the answer is there, and returns
 * the status. */
int api_do(struct api *a, const char *line, const char *type, const char *accept, const char *body);
/* The same with a body that may hold zeros. */
int api_send(struct api *a, const char *line, const char *type, const char *accept,
             const char *body, size_t len);
int api_get(struct api *a, const char *path);
int api_post(struct api *a, const char *path, const char *body);
int api_put(struct api *a, const char *path, const char *body);
/* 'kind': json, merge, strategic, apply */
int api_patch(struct api *a, const char *path, const char *kind, const char *body);
int api_delete(struct api *a, const char *path, const char *body);
/* The text or number under a dotted path of the last answer ("items.0.metadata.name"); "" if there
 * is none. */
const char *api_at(struct api *a, const char *path);
/* The number of items of a list there; -1: it is none. */
int api_size(struct api *a, const char *path);
/* Turns of the loop, without waiting. */
void api_turn(struct api *a, int n);

struct stream *api_watch(struct api *a, const char *line);
struct stream *api_watch_as(struct api *a, const char *line, const char *accept);
void stream_free(struct stream *s);
/* "ADDED name" of line i; "" if it is not there. */
const char *stream_event(struct stream *s, uint32_t i);

#endif

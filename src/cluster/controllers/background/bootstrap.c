/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a cluster has from the beginning, made at every start: namespaces, and the priority classes
 * of the system. Whatever is there already stays as it is.
 */
#include <stdio.h>
#include <string.h>

#include "cluster/controllers/background/background.h"
#include "lib/json/writer.h"

#define NAMESPACE(name_)                                                                           \
    {                                                                                              \
        "/api/v1/namespaces", SL_JSON_CONST({                                                      \
            "apiVersion" : "v1",                                                                   \
            "kind" : "Namespace",                                                                  \
            "metadata" : {"name" : name_, "labels" : {"kubernetes.io/metadata.name" : name_}}      \
        })                                                                                         \
    }
#define CLASS(name_, value_, text_)                                                                \
    {                                                                                              \
        "/apis/scheduling.k8s.io/v1/priorityclasses", SL_JSON_CONST({                              \
            "apiVersion" : "scheduling.k8s.io/v1",                                                 \
            "kind" : "PriorityClass",                                                              \
            "metadata" : {"name" : name_},                                                         \
            "value" : value_,                                                                      \
            "description" : text_,                                                                 \
            "preemptionPolicy" : "PreemptLowerPriority"                                            \
        })                                                                                         \
    }

static const struct {
    const char *path, *body;
} first[] = {
    NAMESPACE("default"),
    NAMESPACE("kube-system"),
    NAMESPACE("kube-public"),
    NAMESPACE("kube-node-lease"),
    NAMESPACE("kueue-system"),
    CLASS("system-node-critical", 2000001000,
          "For pods that a node cannot do without; they must not be moved from it."),
    CLASS("system-cluster-critical", 2000000000,
          "For pods that the cluster cannot do without, on whichever node they run."),
};

#define PAUSE_MIN (100 * SL_MSEC)
#define PAUSE_MAX (10 * SL_SEC)

static void on_made(void *ctx, const struct sl_kube_reply *r) {
    struct sl_cluster *c = ctx;
    struct cl_bootstrap *b = &c->background->bootstrap;
    bool good = (r->status >= 200 && r->status < 300) || r->status == 409;
    /* A body that is refused will be refused again: the rest is made all the same. */
    bool refused = r->status >= 400 && r->status < 500 && r->status != 404 && r->status != 429;

    b->call = (sl_kube_call){0};
    if (good || refused) {
        b->at++;
        b->pause = 0;
        b->due = b->at < SL_LEN(first) ? c->client->mono : SL_TIME_NEVER;
        return;
    }
    b->pause = b->pause ? 2 * b->pause : PAUSE_MIN;
    b->pause = b->pause < PAUSE_MAX ? b->pause : PAUSE_MAX;
    b->due = c->client->mono + b->pause;
}

void cl_bootstrap_turn(struct sl_cluster *c) {
    struct cl_bootstrap *b = &c->background->bootstrap;

    if (b->call.v || b->at == SL_LEN(first) || b->due > c->client->mono)
        return;
    b->due = SL_TIME_NEVER;
    b->call = sl_kube_request(c->client,
                              &(struct sl_kube_request){.method = SL_POST,
                                                        .path = first[b->at].path,
                                                        .content_type = SL_JSON,
                                                        .body = first[b->at].body,
                                                        .len = strlen(first[b->at].body)},
                              on_made, c);
}

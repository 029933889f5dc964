/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods, ConfigMaps and Secrets of any shape, to the runtime of `sluice up` (stage_fz.h says how):
 * volumes and what fills them, variables, securityContext, commands, statuses. No process is
 * started: the machine refuses at the very last moment. No input speaks of a hostPath, which is a
 * path of this machine. What is written stays in the runtime's folder, and the runtime comes to
 * rest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "cluster/kubelet/kubelet.h"
#include "cluster/kubelet/kubelet_int.h"
#include "lib/json/json.h"
#include "stage_fz.h"

#define MAX_TURNS 2000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_klet_proc_start(struct klet_spawner *s, const struct klet_launch *l,
                           const struct klet_proc_io *io, struct klet_proc **ret,
                           struct sl_err *err);

static const char *const collections[] = {
    "/api/v1/namespaces/ns/pods",
    "/api/v1/namespaces/ns/configmaps",
    "/api/v1/namespaces/ns/secrets",
    "/api/v1/nodes",
};
static char dir[64];

struct world {
    struct stage stage; /* the first */
    uv_loop_t loop;
    struct sl_kubelet *rt;
};

/* What a command would be started with is whole. */
int __wrap_klet_proc_start(struct klet_spawner *s, const struct klet_launch *l,
                           const struct klet_proc_io *io, struct klet_proc **ret,
                           struct sl_err *err) {
    size_t bytes = 0;

    sl_assert(s && io && ret && l->argv && l->argv[0] && l->envp && l->tries);
    for (const char *const *v = (const char *const *)l->argv; *v; v++)
        bytes += strlen(*v);
    for (const char *const *v = (const char *const *)l->envp; *v; v++) {
        sl_assert(strchr(*v, '=') && **v != '=');
        bytes += strlen(*v);
    }
    for (uint32_t i = 0; i < l->mounts.n; i++)
        sl_assert(l->mounts.v[i].to[0] == '/' && *l->mounts.v[i].from);
    sl_assert(l->n_groups <= LAUNCH_GROUPS && bytes < SIZE_MAX);
    return sl_err_set(err, SL_EIO, "no process is started here");
}

static void run(struct stage *g, sl_span d) {
    struct world *w = SL_CONTAINER_OF(g, struct world, stage);
    sl_time until = fakeapi_now(g->a) + d;

    for (uint32_t i = 0; i < MAX_TURNS; i++) {
        (void)uv_run(&w->loop, UV_RUN_NOWAIT);
        sl_kubelet_tick(w->rt);
        sl_time wish = sl_kubelet_next(w->rt);
        if (!fakeapi_step(g->a, wish < until ? wish : until) && fakeapi_now(g->a) >= until)
            break;
    }
}

/* Lines with paths of this machine are left out, however they are spelled. */
static bool own(struct stage *g, const char *s, size_t len) {
    yyjson_doc *doc = yyjson_read(s + 2, len - 2, 0);
    yyjson_val *v = yyjson_doc_get_root(doc);
    bool speaks = false;

    (void)g;
    for (size_t n = yyjson_doc_get_val_count(doc); n > 0; n--, v++)
        speaks |= strcmp(sl_json_text(v), "hostPath") == 0;
    yyjson_doc_free(doc);
    return speaks;
}

static void forget(void) {
    klet_folder_remove(dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct world w = {.stage = {.collections = collections,
                                .n_collections = SL_LEN(collections),
                                .max_made = 64,
                                .run = run,
                                .own = own}};
    struct sl_err err;

    if (!*dir) {
        const char *at = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        (void)snprintf(dir, sizeof dir, "%s/sl-kubelet-XXXXXX", at);
        sl_assert(mkdtemp(dir));
        (void)atexit(forget);
    }
    sl_assert(uv_loop_init(&w.loop) == 0);
    stage_init(&w.stage, false);
    sl_assert(sl_kubelet_new(&(struct sl_kubelet_spec){.loop = &w.loop,
                                                       .client = fakeapi_port(w.stage.a, 0),
                                                       .dir = dir,
                                                       .node = "machine",
                                                       .sim = {.count = 1}},
                             &w.rt, &err) >= 0);
    run(&w.stage, SL_SEC);
    stage_play(&w.stage, data, size);
    sl_kubelet_stop(w.rt, 0);
    sl_kubelet_free(w.rt);
    while (uv_run(&w.loop, UV_RUN_NOWAIT))
        ;
    sl_assert(uv_loop_close(&w.loop) == 0);
    fakeapi_free(w.stage.a);
    return 0;
}

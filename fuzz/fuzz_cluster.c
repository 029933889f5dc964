/*
 * Objects of any shape, to the controllers of a cluster: an API server that checks next to nothing,
 * and people who create, change and delete. Each line of the input is one thing that they do: a
 * letter for the collection, one for what is done, and the body. a..h   deployments, replicasets,
 * statefulsets, pods, configmaps, jobs, namespaces, nodes c JSON create    p JSON merge into the
 * object "x"    s JSON into its status    d delete "x" Whatever they say, the controllers come to
 * rest and nothing is read past its end.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/cluster.h"
#include "fakeapi.h"
#include "log/log.h"

#define MAX_LINES 24u
#define MAX_PODS 64u

struct stage {
    struct fakeapi *a;
    struct sl_cluster *c;
    uint32_t made;
};

/* A set may want a million pods. */
static int on_write(void *ctx, const struct fakeapi_write *w, struct sl_buf *why) {
    struct stage *g = ctx;

    (void)why;
    return !w->old && ++g->made > MAX_PODS ? 403 : 0;
}

static void run(struct stage *g, sl_span d) {
    sl_time until = fakeapi_now(g->a) + d;

    for (;;) {
        sl_cluster_tick(g->c);
        sl_time wish = sl_cluster_next(g->c);
        if (!fakeapi_step(g->a, wish < until ? wish : until) && fakeapi_now(g->a) >= until)
            return;
    }
}

static void one(struct stage *g, const char *s, size_t len) {
    static const char *const collections[] = {"/apis/apps/v1/namespaces/ns/deployments",
                                              "/apis/apps/v1/namespaces/ns/replicasets",
                                              "/apis/apps/v1/namespaces/ns/statefulsets",
                                              "/api/v1/namespaces/ns/pods",
                                              "/api/v1/namespaces/ns/configmaps",
                                              "/apis/batch/v1/namespaces/ns/jobs",
                                              "/api/v1/namespaces",
                                              "/api/v1/nodes"};
    struct sl_buf path, body;

    if (len < 2)
        return;
    sl_buf_init(&path, 200);
    sl_buf_init(&body, 65536);
    sl_buf_puts(&path, collections[(unsigned char)(s[0] - 'a') % SL_LEN(collections)]);
    sl_buf_add(&body, s + 2, len - 2);
    if (memchr(s + 2, '\0', len - 2) || body.overflow)
        sl_buf_clear(&body);
    if (s[1] != 'c')
        sl_buf_puts(&path, s[1] == 's' ? "/x/status" : "/x");
    if (s[1] == 'c')
        (void)fakeapi_do(g->a, SL_POST, sl_buf_str(&path), SL_JSON, sl_buf_str(&body), NULL);
    else if (s[1] == 'd')
        (void)fakeapi_do(g->a, SL_DELETE, sl_buf_str(&path), SL_JSON, sl_buf_str(&body), NULL);
    else
        (void)fakeapi_do(g->a, SL_PATCH, sl_buf_str(&path), SL_MERGE_PATCH, sl_buf_str(&body),
                         NULL);
    sl_buf_done(&path);
    sl_buf_done(&body);
    run(g, SL_SEC);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *s = (const char *)data, *stop = s + size;
    struct stage g = {.a = fakeapi_new(1)};

    sl_log_set(SL_LOG_ERROR);
    fakeapi_bare(g.a);
    (void)fakeapi_do(g.a, SL_POST, "/api/v1/namespaces", SL_JSON,
                     "{\"metadata\":{\"name\":\"ns\"}}", NULL);
    g.c = sl_cluster_new(&(struct sl_cluster_spec){.port = fakeapi_port(g.a, 0), .seed = 1});
    run(&g, 2 * SL_SEC);
    fakeapi_on_write(g.a, on_write, &g);
    for (uint32_t i = 0; s < stop && i < MAX_LINES; i++) {
        const char *nl = memchr(s, '\n', (size_t)(stop - s));
        size_t len = (size_t)((nl ? nl : stop) - s);
        one(&g, s, len);
        s += len + 1;
    }
    run(&g, 5 * SL_SEC);
    sl_cluster_free(g.c);
    fakeapi_free(g.a);
    return 0;
}

/*
 * Any bytes as an object of some kind, posted to a server: whatever it is, there is an answer, and
 * the server goes on. The first byte chooses the kind; nothing is kept.
 */
#include <string.h>

#include <uv.h>

#include "apiserver/apiserver.h"
#include "base/macros.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const paths[] = {
    "/api/v1/namespaces/default/pods",
    "/api/v1/namespaces/default/services",
    "/api/v1/namespaces/default/configmaps",
    "/api/v1/namespaces/default/secrets",
    "/api/v1/namespaces/default/events",
    "/api/v1/namespaces/default/limitranges",
    "/api/v1/namespaces/default/persistentvolumeclaims",
    "/api/v1/nodes",
    "/apis/batch/v1/namespaces/default/jobs",
    "/apis/batch/v1/namespaces/default/cronjobs",
    "/apis/apps/v1/namespaces/default/deployments",
    "/apis/apps/v1/namespaces/default/statefulsets",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/kueue.x-k8s.io/v1beta2/clusterqueues",
    "/apis/kueue.x-k8s.io/v1beta1/namespaces/default/workloads",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
};

static bool answered;

static void on_answer(void *ctx, const struct sl_api_answer *a) {
    (void)ctx;
    sl_assert(a->status >= 200 && a->status < 600);
    answered = true;
}

static void ask(struct sl_apiserver *s, uv_loop_t *loop, const char *method, const char *path,
                const char *query, const char *body, size_t len) {
    struct sl_api_sink sink = {.answer = on_answer};
    static const char *const groups[] = {"system:masters", NULL};

    answered = false;
    (void)sl_apiserver_call(
        s,
        &(struct sl_api_request){.method = method,
                                 .path = path,
                                 .query = query,
                                 .accept = "application/json;as=Table;v=v1;g=meta.k8s.io",
                                 .content_type = "application/json",
                                 .user_agent = "fuzz",
                                 .user = "admin",
                                 .groups = groups,
                                 .body = body,
                                 .len = len},
        &sink);
    while (!answered)
        (void)uv_run(loop, UV_RUN_ONCE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct sl_apiserver *s; /* one for all inputs: bad ones must not harm later ones */
    static uv_loop_t loop;
    const char *path;

    if (!s) {
        struct sl_err err;
        sl_assert(uv_loop_init(&loop) == 0);
        sl_assert(sl_apiserver_new(&(struct sl_apiserver_spec){.loop = &loop,
                                                               .version = "v1.36.0",
                                                               .address = "127.0.0.1:6443"},
                                   &s, &err) == 0);
    }
    if (size == 0)
        return 0;
    path = paths[data[0] % SL_LEN(paths)];
    ask(s, &loop, "POST", path, "dryRun=All", (const char *)data + 1, size - 1);
    ask(s, &loop, "POST", path, "dryRun=All&fieldValidation=Strict", (const char *)data + 1,
        size - 1);
    return 0;
}

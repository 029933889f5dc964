/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an object of some kind, posted to a server: whatever it is, there is an answer, and
 * the server goes on. The first byte chooses the kind; nothing is kept.
 */
#include "api_fz.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct api_fz api; /* one for all inputs: bad ones must not harm later ones */
    static const char *const queries[] = {"dryRun=All", "dryRun=All&fieldValidation=Strict"};

    if (!api.s)
        api_fz_start(&api, (struct sl_apiserver_spec){0});
    for (size_t i = 0; size > 0 && i < SL_LEN(queries); i++) {
        struct sl_api_request rq =
            api_fz_request("POST", paths[data[0] % SL_LEN(paths)], queries[i], SL_JSON,
                           (const char *)data + 1, size - 1);
        rq.accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
        (void)api_fz_ask(&api, &rq);
    }
    return 0;
}

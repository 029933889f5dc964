/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The admission controller ServiceAccount: the volume with token, CA and namespace of a pod's
 * account, mounted where clients look for it, unless pod or account say that they want none.
 */
#include <string.h>

#include <openssl/rand.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "cluster/apiserver/server.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"
#include "lib/json/mutable.h"

#define PREFIX "kube-api-access-"
#define MOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

static const char sources[] = SL_JSON_CONST({
    "defaultMode" : 420,
    "sources" : [
        {"serviceAccountToken" : {"expirationSeconds" : 3607, "path" : "token"}}, {
            "configMap" :
                {"name" : "kube-root-ca.crt", "items" : [ {"key" : "ca.crt", "path" : "ca.crt"} ]}
        },
        {
            "downwardAPI" : {
                "items" : [ {
                    "path" : "namespace",
                    "fieldRef" : {"apiVersion" : "v1", "fieldPath" : "metadata.namespace"}
                } ]
            }
        }
    ]
});

static void ignore_answer(void *ctx, const struct sl_api_answer *a) {
    (void)ctx, (void)a;
}

/* A pod may come before the controller has made the account of a new namespace. */
static yyjson_doc *make_default(struct api_change *c, const struct api_kind *k) {
    static const char body[] = SL_JSON_CONST(
        {"apiVersion" : "v1", "kind" : "ServiceAccount", "metadata" : {"name" : "default"}});
    const char *path = sl_arena_printf(c->arena, "/api/v1/namespaces/%s/serviceaccounts", c->ns);

    (void)sl_apiserver_call(c->server,
                            &(struct sl_api_request){.method = "POST",
                                                     .path = path,
                                                     .query = "",
                                                     .accept = "",
                                                     .content_type = SL_JSON,
                                                     .user_agent = "kube-controller-manager",
                                                     .user = "system:apiserver",
                                                     .body = body,
                                                     .len = strlen(body)},
                            &(struct sl_api_sink){.answer = ignore_answer});
    return api_kind_read(c->server, k, c->ns, "default");
}

static bool wants_volume(yyjson_mut_val *spec, yyjson_val *account) {
    yyjson_mut_val *own = sl_json_mut_get(spec, "automountServiceAccountToken");

    return yyjson_mut_is_bool(own) ? yyjson_mut_is_true(own)
                                   : sl_json_bool(account, "automountServiceAccountToken", true);
}

static bool has_mount(yyjson_mut_val *container) {
    yyjson_mut_val *m;
    size_t i, n;

    yyjson_mut_arr_foreach (sl_json_mut_get(container, "volumeMounts"), i, n, m)
        if (strcmp(sl_json_mut_str(m, "mountPath"), MOUNT) == 0)
            return true;
    return false;
}

/* Returns whether any container got the mount. */
static bool add_mounts(yyjson_mut_doc *d, yyjson_mut_val *containers, const char *volume) {
    yyjson_mut_val *c;
    size_t i, n;
    bool any = false;

    yyjson_mut_arr_foreach (containers, i, n, c) {
        if (!yyjson_mut_is_obj(c) || has_mount(c))
            continue;
        yyjson_mut_val *list = sl_json_mut_get(c, "volumeMounts");
        if (!yyjson_mut_is_arr(list)) {
            list = yyjson_mut_arr(d);
            sl_json_mut_set(d, c, "volumeMounts", list);
        }
        yyjson_mut_val *m = yyjson_mut_arr_add_obj(d, list);
        yyjson_mut_obj_add_strcpy(d, m, "name", volume);
        yyjson_mut_obj_add_bool(d, m, "readOnly", true);
        yyjson_mut_obj_add_str(d, m, "mountPath", MOUNT);
        any = true;
    }
    return any;
}

static void volume_name(char out[32]) {
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    unsigned char random[5];

    sl_assert(RAND_bytes(random, sizeof random) == 1);
    sl_fmt(out, 32, "%s", PREFIX);
    for (size_t i = 0, at = strlen(out); i < sizeof random; i++, at++) {
        out[at] = letters[random[i] % (sizeof letters - 1)];
        out[at + 1] = '\0';
    }
}

static void add_volume(struct api_change *c, yyjson_mut_val *spec) {
    yyjson_mut_val *volumes = sl_json_mut_get(spec, "volumes"), *v;
    char name[32];
    size_t i, n;

    volume_name(name);
    const char *use = name;
    yyjson_mut_arr_foreach (volumes, i, n, v)
        if (strncmp(sl_json_mut_str(v, "name"), PREFIX, strlen(PREFIX)) == 0)
            use = sl_json_mut_str(v, "name");
    bool any = add_mounts(c->doc, sl_json_mut_get(spec, "initContainers"), use);
    any |= add_mounts(c->doc, sl_json_mut_get(spec, "containers"), use);
    if (!any || use != name)
        return;
    if (!yyjson_mut_is_arr(volumes)) {
        volumes = yyjson_mut_arr(c->doc);
        sl_json_mut_set(c->doc, spec, "volumes", volumes);
    }
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(sources, strlen(sources), 0);
    v = yyjson_mut_arr_add_obj(c->doc, volumes);
    yyjson_mut_obj_add_strcpy(c->doc, v, "name", name);
    yyjson_mut_obj_add_val(c->doc, v, "projected",
                           yyjson_val_mut_copy(c->doc, yyjson_doc_get_root(d)));
}

void api_admit_account(struct api_change *c, yyjson_mut_val *spec) {
    const struct api_kind *k = api_kind_find(c->server, "", "serviceaccounts");
    const char *name = sl_json_mut_str(spec, "serviceAccountName");

    if (!c->server->spec.service_accounts || !k)
        return;
    _cleanup_(sl_json_docp) yyjson_doc *d = api_kind_read(c->server, k, c->ns, name);
    if (!d && strcmp(name, "default") == 0)
        d = make_default(c, k);
    if (!d) {
        api_change_refuse(c, 403, "Forbidden",
                          "pods \"%s\" is forbidden: error looking up service account %s/%s: "
                          "serviceaccount \"%s\" not found",
                          sl_json_mut_str(c->object, "metadata.name"), c->ns, name, name);
        return;
    }
    yyjson_val *account = yyjson_doc_get_root(d), *pull = sl_json_get(account, "imagePullSecrets");
    if (sl_json_size(pull) && !yyjson_mut_arr_size(sl_json_mut_get(spec, "imagePullSecrets")))
        sl_json_mut_set(c->doc, spec, "imagePullSecrets", yyjson_val_mut_copy(c->doc, pull));
    if (wants_volume(spec, account))
        add_volume(c, spec);
}

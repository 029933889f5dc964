/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renewals of the Leases of simulated nodes: thousands of them stand still in one file and change a
 * time each. They have versions and reach watches as any change does, but are not written: after a
 * restart each is renewed at once anyway.
 */
#include <string.h>

#include "cluster/apiserver/server.h"
#include "core/base/fmt.h"
#include "core/base/stamp.h"
#include "lib/json/json.h"
#include "lib/json/mutable.h"
#include "lib/json/writer.h"

#define MAX_LEASE ((size_t)256 << 10)

int sl_apiserver_renew_lease(struct sl_apiserver *s, const char *node, struct sl_err *err) {
    const struct api_kind *k = api_kind_find(s, "coordination.k8s.io", "leases");
    struct sl_store_object *o =
        k ? sl_store_get(s->store, k->number, "kube-node-lease", node) : NULL;
    _cleanup_(sl_json_docp) yyjson_doc *d = o ? yyjson_read(o->text, o->len, 0) : NULL;
    _cleanup_(sl_json_mut_docp) yyjson_mut_doc *m = d ? yyjson_doc_mut_copy(d, NULL) : NULL;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_LEASE), stamp = SL_BUF(64);
    char version[32];

    if (!m)
        return sl_err_set(err, SL_ENOENT, "lease \"%.120s\" not found", node);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(m);
    struct sl_jw w = SL_JW(&stamp);
    sl_jw_array(&w, NULL); /* the only writer of such times writes JSON */
    sl_jw_micro_time(&w, NULL, s->wall);
    sl_jw_end(&w);
    _cleanup_(sl_json_docp) yyjson_doc *time = yyjson_read(stamp.s, stamp.len, 0);
    sl_json_mut_set_str(m, sl_json_mut_get(root, "spec"), "renewTime",
                        sl_json_text(yyjson_arr_get_first(yyjson_doc_get_root(time))));
    sl_fmt(version, sizeof version, "%llu", (unsigned long long)sl_store_next_version(s->store));
    sl_json_mut_set_str(m, sl_json_mut_get(root, "metadata"), "resourceVersion", version);
    sl_json_mut_put(&b, root);
    if (sl_buf_full(&b))
        return sl_err_set(err, SL_ELIMIT, "lease \"%.120s\" is too large", node);
    return sl_store_touch(s->store, o, b.s, b.len, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "manager/minicluster/mc_int.h"

#define SERVICE "flux-service"

const char *mc_text(const struct mc_view *v, const char *path, const char *fallback) {
    const char *text = sl_json_str(v->spec, path);
    return *text ? text : fallback;
}

void mc_view_init(struct mc_view *v, const char *name, const char *ns, bool old, yyjson_val *spec) {
    *v = (struct mc_view){.name = name, .ns = ns, .old = old, .spec = spec};
    v->size = sl_json_int32(spec, "size", 1);
    v->max_size = sl_json_int32(spec, "maxSize", 0);
    if (v->max_size < v->size)
        v->max_size = v->size;
    v->runner = sl_minicluster_runner(spec);
    v->service = mc_text(v, "network.headlessName", SERVICE);
    v->view_name = mc_text(v, "flux.container.name", "flux-view");
    v->view_path = mc_text(v, "flux.container.mountPath", "/mnt/flux");
    v->view_disabled = sl_json_bool(spec, "flux.container.disable", false);
}

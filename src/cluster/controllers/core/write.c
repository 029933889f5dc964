/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of bodies. */
#include "cluster/controllers/core/cluster_int.h"

void cl_write_condition(struct sl_jw *j, const char *type, bool status, const char *reason,
                        const char *message, sl_time probed, sl_time changed) {
    sl_jw_object(j, NULL);
    sl_jw_str(j, "type", type);
    sl_jw_str(j, "status", status ? "True" : "False");
    if (probed)
        sl_jw_time(j, "lastProbeTime", probed);
    if (changed)
        sl_jw_time(j, "lastTransitionTime", changed);
    if (*reason)
        sl_jw_str(j, "reason", reason);
    if (*message)
        sl_jw_str(j, "message", message);
    sl_jw_end(j);
}

char *cl_text_of(yyjson_val *v) {
    return v && !yyjson_is_null(v) ? yyjson_val_write(v, 0, NULL) : NULL;
}

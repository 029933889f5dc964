/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of bodies. */
#include "cluster/cluster_int.h"

void cl_write_condition(struct sl_buf *b, const char *type, bool status, const char *reason,
                        const char *message, sl_time probed, sl_time changed) {
    sl_buf_printf(b, "{\"type\":\"%s\",\"status\":\"%s\"", type, status ? "True" : "False");
    if (probed) {
        sl_buf_puts(b, ",\"lastProbeTime\":");
        jput_time(b, probed);
    }
    if (changed) {
        sl_buf_puts(b, ",\"lastTransitionTime\":");
        jput_time(b, changed);
    }
    if (*reason)
        jput_text(b, ",\"reason\":", reason);
    if (*message)
        jput_text(b, ",\"message\":", message);
    sl_buf_putc(b, '}');
}

char *cl_text_of(yyjson_val *v) {
    return v && !yyjson_is_null(v) ? yyjson_val_write(v, 0, NULL) : NULL;
}

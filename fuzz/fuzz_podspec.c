/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the runtime reads out of a pod without running it: how long it lasts on a simulated node,
 * and $(NAME) in its words. Nothing may crash, loop, or grow beyond its ceiling; a text without a
 * dollar stays as it is.
 */
#include <string.h>

#include "cluster/kubelet/kubelet_int.h"
#include "core/base/arena.h"
#include "lib/json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expand_all(struct klet_vars *v, struct sl_arena *a, yyjson_doc *d) {
    yyjson_val *val = yyjson_doc_get_root(d);

    for (size_t n = yyjson_doc_get_val_count(d); n > 0; n--, val++) {
        if (!yyjson_is_str(val) || a->used > (size_t)8 << 20)
            continue;
        const char *s = sl_json_text(val), *out = klet_vars_expand(v, a, s);
        sl_assert(!out || strlen(out) <= (size_t)128 << 10);
        if (out && !strchr(s, '$'))
            sl_assert(strcmp(out, s) == 0);
        if (out)
            klet_vars_set(v, a, n % 3 ? "A" : "B", out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    yyjson_doc *d = NULL;
    struct klet_vars v = {.v = {0}};
    struct sl_arena a;

    if (sl_json_read((const char *)data, size, &d, NULL) < 0)
        return 0;
    sl_assert(klet_sim_span(yyjson_doc_get_root(d)) >= 0);
    sl_arena_init(&a, (size_t)32 << 20);
    expand_all(&v, &a, d);
    klet_vars_done(&v);
    sl_arena_done(&a);
    yyjson_doc_free(d);
    return 0;
}

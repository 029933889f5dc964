/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration files: only what is no YAML map is refused, and then the message says where.
 * Whatever is taken leaves settings that the manager can start with, and gates can be changed at
 * any time.
 */
#include <string.h>

#include "manager/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_FLAGS 4096

static void check(const struct sl_settings *s) {
    const struct sl_config *c = &s->engine;
    struct sl_label own = {"kubernetes.io/metadata.name", s->ns};
    bool some = false;

    sl_assert(s->ns[0] && s->lease.ns[0] && s->lease.name[0] && s->multikueue.origin[0]);
    sl_assert(s->webhook.port > 0 && s->visibility_port > 0 && s->webhook.cert_dir[0]);
    sl_assert(s->ready_path[0] == '/' && s->live_path[0] == '/');
    sl_assert(s->lease.retry_period > 0 && s->lease.renew_deadline > s->lease.retry_period &&
              s->lease.duration > s->lease.renew_deadline);
    for (int f = 0; f < SL_FW_COUNT; f++)
        some = some || s->framework[f];
    sl_assert(some && !sl_selector_matches(&s->managed_namespaces, &(struct sl_labels){&own, 1}));
    sl_assert(s->keep_finished >= 0 && s->drop_deactivated >= 0 && s->multikueue.step > 0);

    sl_assert(c->n_fair >= 1 && c->n_fair <= 2 && c->gates < UINT32_C(1) << SL_GATE_COUNT);
    sl_assert(c->ready_timeout > 0 && c->recovery_timeout > 0 && c->afs_sampling > 0);
    sl_assert(c->afs_half_life >= 0 && c->backoff_base_s >= 0 && c->backoff_max_s >= 0 &&
              c->backoff_limit >= -1);
    for (uint32_t i = 0; i < c->n_afs_weights; i++)
        sl_assert(c->afs_weights[i].weight_nano >= 0);
    sl_assert(!(c->pods_ready && s->gates[SL_G_DISABLE_WAIT_FOR_PODS_READY]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sl_settings *s = NULL;
    struct sl_warnings w;
    struct sl_err err = {0};
    char flags[MAX_FLAGS];
    size_t n = size < sizeof flags ? size : sizeof flags - 1;

    sl_warnings_init(&w);
    int code =
        sl_settings_parse("in", (const char *)data, size, "own", "TLSOptions=false", &s, &w, &err);
    if (code < 0) {
        sl_assert(!s && err.code == code && strncmp(err.text, "in:", 3) == 0);
        sl_assert(sl_settings_parse("in", NULL, 0, NULL, NULL, &s, &w, &err) == 0);
    }
    check(s);
    memcpy(flags, data, n);
    flags[n] = '\0';
    sl_settings_gates(s, flags, &w);
    check(s);
    for (uint32_t i = 0; i < w.v.n; i++)
        sl_assert(w.v.v[i].text[0] && !strchr(w.v.v[i].text, '\n'));
    sl_settings_free(s);
    sl_warnings_done(&w);
    return 0;
}

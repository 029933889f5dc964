/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a connector: an error has a message, and what is taken is printed without
 * credentials and reads back as the same servers.
 */
#include <string.h>

#include "core/base/buf.h"
#include "lib/nats/connector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_print(const struct sl_nats_connector *c, struct sl_arena *a) {
    struct sl_buf first, second;
    struct sl_nats_connector again;

    sl_buf_init(&first, (size_t)64 << 10);
    sl_buf_init(&second, (size_t)64 << 10);
    sl_nats_connector_print(c, &first);
    sl_assert(!sl_buf_full(&first) && !strchr(sl_buf_str(&first), '@'));
    if (first.len <= SL_NATS_MAX_CONNECTOR) { /* ports that were left out may make it too long */
        sl_assert(sl_nats_connector_parse(first.s, first.len, a, &again, NULL) == 0);
        sl_assert(!again.user && !again.password && !again.token);
        sl_assert(again.n == c->n && again.tls == c->tls);
        sl_nats_connector_print(&again, &second);
        sl_assert(strcmp(sl_buf_str(&first), sl_buf_str(&second)) == 0);
    }
    sl_buf_done(&first);
    sl_buf_done(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sl_nats_connector c = {0};
    struct sl_err err = {0};
    struct sl_arena a;

    sl_arena_init(&a, (size_t)1 << 20);
    int r = sl_nats_connector_parse((const char *)data, size, &a, &c, &err);
    if (r < 0) {
        sl_assert(err.code == r && err.text[0] && c.n == 0);
    } else {
        sl_assert(c.n > 0 && c.n <= SL_NATS_MAX_SERVERS);
        sl_assert(!(c.token && c.user) && !c.user == !c.password);
        for (uint32_t i = 0; i < c.n; i++)
            sl_assert(c.servers[i].host[0] && c.servers[i].port);
        check_print(&c, &a);
        sl_nats_connector_wipe(&c);
    }
    sl_arena_done(&a);
    return 0;
}

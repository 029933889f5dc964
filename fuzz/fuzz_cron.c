/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a schedule (the first line), a list of indexes (the same line) and a time zone file
 * (the rest): nothing crashes or goes on for ever, the next time is later and in whole minutes,
 * indexes written back mean the same.
 */
#include <string.h>

#include "cluster/controllers/job/cron.h"
#include "cluster/controllers/job/indexes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_schedule(const char *text, const struct cl_cron_zone *z) {
    struct sl_cron c;
    struct sl_err err = {0};
    sl_time t = INT64_C(1767225600) * SL_SEC;
    if (sl_cron_read(text, &c, &err) < 0) {
        sl_assert(err.code == SL_EINVAL && err.text[0] != '\0');
        return;
    }
    for (int i = 0; i < 3; i++) {
        sl_time next = cl_cron_next(&c, z, t);
        if (!next)
            return;
        sl_assert(next > t && (c.every || next % SL_MINUTE == 0));
        t = next;
    }
}

static void check_indexes(const char *text) {
    struct cl_indexes a = {0}, b = {0};
    struct sl_buf out;
    sl_buf_init(&out, 1 << 20);
    cl_indexes_read(text, 100000, &a);
    cl_indexes_put(&a, &out);
    cl_indexes_read(sl_buf_str(&out), 100000, &b);
    sl_assert(cl_indexes_count(&a) == cl_indexes_count(&b));
    sl_assert(cl_indexes_common(&a, &b) == cl_indexes_count(&a));
    sl_buf_done(&out);
    cl_indexes_done(&a);
    cl_indexes_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    size_t n = end ? (size_t)(end - data) : size;
    char text[1024];
    if (n >= sizeof text || (n && memchr(data, '\0', n)))
        return 0;
    if (n)
        memcpy(text, data, n);
    text[n] = '\0';
    struct cl_cron_zone *z = end ? cl_zone_read(end + 1, size - n - 1) : NULL;
    check_schedule(text, z);
    check_indexes(text);
    cl_zone_free(z);
    return 0;
}

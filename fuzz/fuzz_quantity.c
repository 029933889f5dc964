/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a quantity: the parser must neither crash nor loop, the result must stay within the
 * cap, and what is written back must mean the same.
 */
#include <string.h>

#include "core/base/quantity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_amount(const char *resource, sl_amount a) {
    char text[SL_QUANTITY_TEXT];
    sl_quantity q;

    (void)sl_amount_format(resource, a, text);
    if (a == SL_AMOUNT_UNLIMITED)
        return;
    sl_assert(sl_quantity_parse(text, strlen(text), &q, NULL) == 0);
    sl_assert(sl_amount_of_request(resource, q) == a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const resources[] = {"cpu", "memory", "nvidia.com/gpu"};
    char text[SL_QUANTITY_TEXT];
    struct sl_err err = {0};
    sl_quantity q = 0, again;

    if (sl_quantity_parse((const char *)data, size, &q, &err) < 0) {
        sl_assert(err.code == SL_EINVAL && err.text[0] != '\0' && q == 0);
        return 0;
    }
    sl_assert(q <= SL_QUANTITY_MAX && q >= -SL_QUANTITY_MAX);
    (void)sl_quantity_format(q, text);
    sl_assert(sl_quantity_parse(text, strlen(text), &again, NULL) == 0);
    sl_assert(again == q);
    for (size_t i = 0; i < SL_LEN(resources); i++) {
        sl_amount request = sl_amount_of_request(resources[i], q);
        sl_amount quota = sl_amount_of_quota(resources[i], q);
        sl_assert(request < SL_AMOUNT_UNLIMITED && request >= SL_AMOUNT_MIN);
        sl_assert(quota == request || quota == SL_AMOUNT_UNLIMITED);
        check_amount(resources[i], request);
        check_amount(resources[i], quota);
    }
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* quantity() and what can be asked of it. */
#include <math.h>
#include <string.h>

#include "cluster/apiserver/cel/tree.h"

enum { MAKE, ASK };

static struct api_value made(struct api_run *x, sl_quantity q) {
    sl_quantity *copy = api_cel_make(x, sizeof(*copy));

    if (!copy)
        return api_cel_too_costly(x);
    *copy = q;
    return (struct api_value){.kind = V_QUANTITY, .quantity = copy};
}

static struct api_value make_quantity(struct api_cel_call *c) {
    const struct api_value *s = &c->args[0];
    sl_quantity q;

    if (!api_cel_charge(c->run, s->len / 8))
        return api_cel_too_costly(c->run);
    bool valid = sl_quantity_parse(s->s, s->len, &q, NULL) == 0;
    if (c->how == ASK)
        return api_cel_bool(valid);
    return valid ? made(c->run, q)
                 : api_cel_error(c->run, "quantities must match the regular expression "
                                         "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}

enum { SIGN, FLOAT, INTEGER, IS_INTEGER };

static struct api_value ask(struct api_cel_call *c) {
    const sl_quantity q = *c->args[0].quantity;
    const bool whole = q % SL_NANO == 0 && q / SL_NANO <= INT64_MAX && q / SL_NANO >= INT64_MIN;

    switch (c->how) {
    case SIGN:
        return api_cel_int((q > 0) - (q < 0));
    case FLOAT:
        return api_cel_real((double)q / 1e9);
    case IS_INTEGER:
        return api_cel_bool(whole);
    default:
        return whole ? api_cel_int((int64_t)(q / SL_NANO))
                     : api_cel_error(c->run, "cannot convert value to integer");
    }
}

enum { GREATER, LESS, ORDER };

static struct api_value compare(struct api_cel_call *c) {
    const sl_quantity a = *c->args[0].quantity, b = *c->args[1].quantity;
    const int order = (a > b) - (a < b);

    return c->how == ORDER ? api_cel_int(order)
                           : api_cel_bool(order == (c->how == GREATER ? 1 : -1));
}

enum { ADD, SUB };

static struct api_value combine(struct api_cel_call *c) {
    const sl_quantity a = *c->args[0].quantity;
    const sl_quantity b =
        c->args[1].kind == V_INT ? (sl_quantity)c->args[1].num * SL_NANO : *c->args[1].quantity;
    return made(c->run, c->how == ADD ? a + b : a - b);
}

const struct api_cel_function api_cel_functions_quantity[] = {
    {"quantity", false, "s", 'Q', make_quantity, MAKE},
    {"isQuantity", false, "s", 'b', make_quantity, ASK},
    {"sign", false, "Q", 'i', ask, SIGN},
    {"asApproximateFloat", true, "Q", 'd', ask, FLOAT},
    {"asInteger", true, "Q", 'i', ask, INTEGER},
    {"isInteger", true, "Q", 'b', ask, IS_INTEGER},
    {"isGreaterThan", true, "QQ", 'b', compare, GREATER},
    {"isLessThan", true, "QQ", 'b', compare, LESS},
    {"compareTo", true, "QQ", 'i', compare, ORDER},
    {"add", true, "QQ", 'Q', combine, ADD},
    {"add", true, "Qi", 'Q', combine, ADD},
    {"sub", true, "QQ", 'Q', combine, SUB},
    {"sub", true, "Qi", 'Q', combine, SUB},
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* quantity() and what can be asked of it. */
#include <math.h>
#include <string.h>

#include "cluster/apiserver/cel/tree.h"

enum { MAKE, ASK };

static struct value made(struct run *x, sl_quantity q) {
    sl_quantity *copy = cel_make(x, sizeof(*copy));

    if (!copy)
        return cel_too_costly(x);
    *copy = q;
    return (struct value){.kind = V_QUANTITY, .quantity = copy};
}

static struct value make_quantity(struct cel_call *c) {
    const struct value *s = &c->args[0];
    sl_quantity q;

    if (!cel_charge(c->run, s->len / 8))
        return cel_too_costly(c->run);
    bool valid = sl_quantity_parse(s->s, s->len, &q, NULL) == 0;
    if (c->how == ASK)
        return cel_bool(valid);
    return valid ? made(c->run, q)
                 : cel_error(c->run,
                             "quantities must match the regular expression "
                             "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}

enum { SIGN, FLOAT, INTEGER, IS_INTEGER };

static struct value ask(struct cel_call *c) {
    const sl_quantity q = *c->args[0].quantity;
    const bool whole = q % SL_NANO == 0 && q / SL_NANO <= INT64_MAX && q / SL_NANO >= INT64_MIN;

    switch (c->how) {
    case SIGN:
        return cel_int((q > 0) - (q < 0));
    case FLOAT:
        return cel_real((double)q / 1e9);
    case IS_INTEGER:
        return cel_bool(whole);
    default:
        return whole ? cel_int((int64_t)(q / SL_NANO))
                     : cel_error(c->run, "cannot convert value to integer");
    }
}

enum { GREATER, LESS, ORDER };

static struct value compare(struct cel_call *c) {
    const sl_quantity a = *c->args[0].quantity, b = *c->args[1].quantity;
    const int order = (a > b) - (a < b);

    return c->how == ORDER ? cel_int(order) : cel_bool(order == (c->how == GREATER ? 1 : -1));
}

enum { ADD, SUB };

static struct value combine(struct cel_call *c) {
    const sl_quantity a = *c->args[0].quantity;
    const sl_quantity b = c->args[1].kind == V_INT ? (sl_quantity)c->args[1].num * SL_NANO
                                                   : *c->args[1].quantity;
    return made(c->run, c->how == ADD ? a + b : a - b);
}

const struct cel_function cel_functions_quantity[] = {
    {"quantity", false, "s", 'Q', make_quantity, MAKE},
    {"isQuantity", false, "s", 'b', make_quantity, ASK},
    {"sign", true, "Q", 'i', ask, SIGN},
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

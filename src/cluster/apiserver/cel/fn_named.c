/* SPDX-License-Identifier: Apache-2.0 */
/* format.dns1123Label() and the other formats that have a name. */
#include <string.h>

#include "cluster/apiserver/cel/tree.h"
#include "cluster/apiserver/kinds/words.h"
#include "cluster/schema/value.h"
#include "kube/types/syntax.h"

static const struct named {
    const char *name;
    struct sl_syntax_errors (*check)(const char *s, size_t len); /* NULL: 'format' is of a schema */
    const char *format, *words;
    bool prefix; /* it may end in a hyphen */
} formats[] = {
    {"dns1123Label", sl_syntax_dns_label, NULL, NULL, false},
    {"dns1123Subdomain", sl_syntax_subdomain, NULL, NULL, false},
    {"dns1035Label", api_word_label_1035, NULL, NULL, false},
    {"qualifiedName", sl_syntax_label_key, NULL, NULL, false},
    {"dns1123LabelPrefix", sl_syntax_dns_label, NULL, NULL, true},
    {"dns1123SubdomainPrefix", sl_syntax_subdomain, NULL, NULL, true},
    {"dns1035LabelPrefix", api_word_label_1035, NULL, NULL, true},
    {"labelValue", sl_syntax_label_value, NULL, NULL, false},
    {"uri", NULL, "uri", "invalid URI for request", false},
    {"uuid", NULL, "uuid", "does not match the UUID format", false},
    {"byte", NULL, "byte", "invalid base64", false},
    {"date", NULL, "date", "invalid date", false},
    {"datetime", NULL, "date-time", "invalid datetime", false},
};

static struct api_value named(struct api_cel_call *c) {
    const struct api_value *name = &c->args[0];

    for (size_t i = 0; i < SL_LEN(formats); i++)
        if (strlen(formats[i].name) == name->len &&
            memcmp(formats[i].name, name->s, name->len) == 0)
            return api_cel_optional(c->run,
                                    &(struct api_value){.kind = V_FORMAT, .num = (int64_t)i});
    return api_cel_optional(c->run, NULL);
}

static struct api_value constant(struct api_cel_call *c) {
    return (struct api_value){.kind = V_FORMAT, .num = c->how};
}

static struct api_value validate(struct api_cel_call *c) {
    const struct named *f = &formats[c->args[0].num];
    struct api_value text = c->args[1];
    struct sl_syntax_errors errors = {.v = {f->words}, .n = 1};

    if (!api_cel_charge(c->run, text.len / 4 + 8))
        return api_cel_too_costly(c->run);
    if (f->prefix && text.len && text.s[text.len - 1] == '-') {
        text = api_cel_text_copy(c->run, text.s, text.len);
        if (text.kind == V_ERROR)
            return text;
        ((char *)text.s)[text.len - 1] = 'a';
    }
    if (f->check)
        errors = f->check(text.s, text.len);
    else if (schema_value_format(f->format, text.s, text.len))
        errors.n = 0;
    struct api_value *items = api_cel_make(c->run, errors.n * sizeof(*items));
    if (!items)
        return api_cel_too_costly(c->run);
    for (uint32_t i = 0; i < errors.n; i++)
        items[i] = api_cel_text(errors.v[i], strlen(errors.v[i]));
    const struct api_value list = api_cel_list(items, errors.n);
    return api_cel_optional(c->run, errors.n ? &list : NULL);
}

const struct api_cel_function api_cel_functions_named[] = {
    {"format.named", false, "s", 'f', named, 0},
    {"format.dns1123Label", false, "", 'F', constant, 0},
    {"format.dns1123Subdomain", false, "", 'F', constant, 1},
    {"format.dns1035Label", false, "", 'F', constant, 2},
    {"format.qualifiedName", false, "", 'F', constant, 3},
    {"format.dns1123LabelPrefix", false, "", 'F', constant, 4},
    {"format.dns1123SubdomainPrefix", false, "", 'F', constant, 5},
    {"format.dns1035LabelPrefix", false, "", 'F', constant, 6},
    {"format.labelValue", false, "", 'F', constant, 7},
    {"format.uri", false, "", 'F', constant, 8},
    {"format.uuid", false, "", 'F', constant, 9},
    {"format.byte", false, "", 'F', constant, 10},
    {"format.date", false, "", 'F', constant, 11},
    {"format.datetime", false, "", 'F', constant, 12},
    {"validate", true, "Fs", 'q', validate, 0},
    {0},
};

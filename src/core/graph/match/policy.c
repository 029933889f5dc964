/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Match policies by name, or spelled out.
 */
#include <string.h>

#include "core/graph/match/match.h"

static const struct {
    const char *name;
    struct sl_match_policy policy;
} named[] = {
    {"first", {.node_centric = true, .stop_early = true}},
    {"firstnodex", {.node_centric = true, .node_exclusive = true, .stop_early = true}},
    {"high", {0}},
    {"hinode", {.node_centric = true}},
    {"hinodex", {.node_centric = true, .node_exclusive = true}},
    {"low", {.low = true}},
    {"lonode", {.low = true, .node_centric = true}},
    {"lonodex", {.low = true, .node_centric = true, .node_exclusive = true}},
    {"locality", {.locality = true}},
    {"variation", {.variation = true}},
};

static bool text_equals(const char *s, size_t len, const char *word) {
    return strlen(word) == len && memcmp(s, word, len) == 0;
}

/* One "key=value". */
static int term(struct sl_match_policy *p, const char *s, size_t len, struct sl_err *err) {
    const char *eq = memchr(s, '=', len);
    if (!eq)
        return sl_err_set(err, SL_EINVAL, "expected key=value in a policy, got '%.*s'",
                          (int)(len < 60 ? len : 60), s);
    size_t n = (size_t)(eq - s), rest = len - n - 1;
    const char *value = eq + 1;
    if (text_equals(s, n, "policy") &&
        (text_equals(value, rest, "low") || text_equals(value, rest, "high"))) {
        p->low = text_equals(value, rest, "low");
        return 0;
    }
    bool *flag = text_equals(s, n, "node_centric")            ? &p->node_centric
                 : text_equals(s, n, "node_exclusive")        ? &p->node_exclusive
                 : text_equals(s, n, "stop_on_1_matches")     ? &p->stop_early
                 : text_equals(s, n, "set_stop_on_1_matches") ? &p->stop_early
                                                              : NULL;
    if (!flag || (!text_equals(value, rest, "true") && !text_equals(value, rest, "false")))
        return sl_err_set(err, SL_EINVAL,
                          "'%.*s': expected policy=low|high, or node_centric, node_exclusive or "
                          "stop_on_1_matches with true or false",
                          (int)(len < 60 ? len : 60), s);
    *flag = text_equals(value, rest, "true");
    return 0;
}

int sl_match_policy_parse(const char *text, struct sl_match_policy *ret, struct sl_err *err) {
    for (size_t i = 0; i < SL_LEN(named); i++)
        if (strcmp(named[i].name, text) == 0) {
            *ret = named[i].policy;
            return 0;
        }
    *ret = (struct sl_match_policy){0};
    if (!strchr(text, '='))
        return sl_err_set(err, SL_EINVAL,
                          "unknown policy '%.60s': expected first, firstnodex, high, hinode, "
                          "hinodex, low, lonode, lonodex, locality, variation or policy=…",
                          text);
    for (const char *s = text + strspn(text, " "); *s; s += strspn(s, " ")) {
        size_t len = strcspn(s, " ");
        int r = term(ret, s, len, err);
        if (r < 0)
            return r;
        s += len;
    }
    return 0;
}

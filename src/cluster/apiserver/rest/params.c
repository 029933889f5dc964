/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries and Accept headers.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cluster/apiserver/server.h"

/* ---- the query ---- */

static int hex(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *decode(struct sl_arena *arena, const char *s, size_t len) {
    char *out = sl_arena_alloc(arena, len + 1), *p = out;

    for (size_t i = 0; i < len; i++) {
        int hi = s[i] == '%' && i + 2 < len ? hex(s[i + 1]) : -1;
        int lo = hi >= 0 ? hex(s[i + 2]) : -1;
        if (lo >= 0 && (hi || lo)) {
            *p++ = (char)(hi << 4 | lo);
            i += 2;
        } else {
            *p++ = (char)(s[i] == '+' ? ' ' : s[i]);
        }
    }
    *p = '\0';
    return out;
}

bool api_query_next(const char **at, struct sl_arena *arena, const char **ret_key,
                    const char **ret_value) {
    while (**at == '&')
        (*at)++;
    if (!**at)
        return false;
    size_t len = strcspn(*at, "&");
    const char *eq = memchr(*at, '=', len);
    size_t key = eq ? (size_t)(eq - *at) : len;
    *ret_key = decode(arena, *at, key);
    *ret_value = eq ? decode(arena, eq + 1, len - key - 1) : "";
    *at += len;
    return true;
}

enum param_type { TEXT, NUMBER, BOOL, DRY };
static const struct param {
    const char *name;
    enum param_type type;
    size_t offset;
} params[] = {
    {"labelSelector", TEXT, offsetof(struct api_params, labels)},
    {"fieldSelector", TEXT, offsetof(struct api_params, fields)},
    {"resourceVersion", TEXT, offsetof(struct api_params, version)},
    {"resourceVersionMatch", TEXT, offsetof(struct api_params, version_match)},
    {"continue", TEXT, offsetof(struct api_params, continue_token)},
    {"fieldManager", TEXT, offsetof(struct api_params, manager)},
    {"fieldValidation", TEXT, offsetof(struct api_params, validation)},
    {"propagationPolicy", TEXT, offsetof(struct api_params, propagation)},
    {"includeObject", TEXT, offsetof(struct api_params, include)},
    {"limit", NUMBER, offsetof(struct api_params, limit)},
    {"timeoutSeconds", NUMBER, offsetof(struct api_params, timeout_s)},
    {"gracePeriodSeconds", NUMBER, offsetof(struct api_params, grace)},
    {"watch", BOOL, offsetof(struct api_params, watch)},
    {"allowWatchBookmarks", BOOL, offsetof(struct api_params, bookmarks)},
    {"sendInitialEvents", BOOL, offsetof(struct api_params, initial_events)},
    {"force", BOOL, offsetof(struct api_params, force)},
    {"orphanDependents", BOOL, offsetof(struct api_params, orphan)},
    {"dryRun", DRY, offsetof(struct api_params, dry_run)},
};

static void set_number(struct api_rq *rq, const char *value, int64_t *to) {
    char *end;

    long long v = strtoll(value, &end, 10);
    if (*end || !*value)
        rq->q.bad =
            sl_arena_printf(&rq->arena, "strconv.ParseInt: parsing \"%s\": invalid syntax", value);
    *to = v;
}

/* As Go's conversion of queries: every value but those for false is true. */
static void set_bool(const char *value, int8_t *to) {
    *to = (int8_t)(strcasecmp(value, "false") != 0 && strcmp(value, "0") != 0);
}

static void set(struct api_rq *rq, const struct param *p, const char *value) {
    void *to = (char *)&rq->q + p->offset;

    switch (p->type) {
    case TEXT:
        if (!**(const char **)to) /* the first one counts */
            *(const char **)to = value;
        break;
    case NUMBER:
        set_number(rq, value, to);
        break;
    case BOOL:
        set_bool(value, to);
        break;
    case DRY: /* all of them must be valid: an invalid one is kept for the error */
        if (!rq->q.dry_run || strcmp(rq->q.dry_run, "All") == 0)
            rq->q.dry_run = value;
        break;
    }
}

const char *api_utf8_text(struct sl_arena *a, const char *s) {
    const char *at = s;

    while (*at && (unsigned char)*at < 0x80)
        at++;
    if (!*at)
        return sl_arena_strdup(a, s);
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(3 * strlen(s));
    sl_buf_utf8(&b, s);
    return sl_arena_strdup(a, sl_buf_str(&b));
}

void api_params_read(struct api_rq *rq) {
    const char *at = rq->query, *key, *value;

    rq->q = (struct api_params){.labels = "",
                                .fields = "",
                                .version = "",
                                .version_match = "",
                                .continue_token = "",
                                .manager = "",
                                .validation = "",
                                .propagation = "",
                                .include = "",
                                .limit = -1,
                                .timeout_s = -1,
                                .grace = -1,
                                .watch = -1,
                                .bookmarks = -1,
                                .initial_events = -1,
                                .force = -1,
                                .orphan = -1};
    for (const char *from = at; api_query_next(&at, &rq->arena, &key, &value); from = at) {
        /* A NUL stays escaped in texts, but here it must not pass for three good characters. */
        if (strcmp(key, "fieldManager") == 0 && memmem(from, (size_t)(at - from), "%00", 3))
            value = "\x01";
        for (size_t i = 0; i < SL_LEN(params); i++)
            if (strcmp(params[i].name, key) == 0)
                set(rq, &params[i], value);
    }
    rq->q.manager = api_utf8_text(&rq->arena, rq->q.manager); /* it is written into objects */
}

/* ---- Accept ---- */

struct range {
    const char *type; /* lower case is not needed: Go compares them as they stand */
    size_t type_len;
    const char *as, *g, *v;
    size_t as_len, g_len, v_len;
    int q; /* thousandths */
};

static bool text_equals(const char *s, size_t len, const char *word) {
    return strlen(word) == len && memcmp(s, word, len) == 0;
}

static void read_range(const char *s, size_t len, struct range *r) {
    const char *end = s + len;

    *r = (struct range){.type = s, .q = 1000};
    const char *semi = memchr(s, ';', len);
    r->type_len = semi ? (size_t)(semi - s) : len;
    while (r->type_len && r->type[r->type_len - 1] == ' ')
        r->type_len--;
    while (semi && semi < end) {
        const char *p = semi + 1;
        while (p < end && *p == ' ')
            p++;
        const char *next = memchr(p, ';', (size_t)(end - p));
        const char *stop = next ? next : end;
        const char *eq = memchr(p, '=', (size_t)(stop - p));
        if (eq) {
            size_t n = (size_t)(stop - eq - 1);
            if (text_equals(p, (size_t)(eq - p), "as"))
                r->as = eq + 1, r->as_len = n;
            else if (text_equals(p, (size_t)(eq - p), "g"))
                r->g = eq + 1, r->g_len = n;
            else if (text_equals(p, (size_t)(eq - p), "v"))
                r->v = eq + 1, r->v_len = n;
            else if (text_equals(p, (size_t)(eq - p), "q"))
                r->q = (int)(strtod(eq + 1, NULL) * 1000);
        }
        semi = next;
    }
}

/* Can we answer like this? Sets the form of the answer if so. */
static bool accept_range(struct api_rq *rq, const struct range *r, bool list) {
    bool json = text_equals(r->type, r->type_len, "application/json") ||
                text_equals(r->type, r->type_len, "*/*") ||
                text_equals(r->type, r->type_len, "application/*");
    bool yaml = text_equals(r->type, r->type_len, "application/yaml");

    if (!json && !yaml)
        return false;
    if (r->as) {
        bool meta = r->g && text_equals(r->g, r->g_len, "meta.k8s.io") && r->v &&
                    (text_equals(r->v, r->v_len, "v1") || text_equals(r->v, r->v_len, "v1beta1"));
        if (!meta)
            return false;
        if (text_equals(r->as, r->as_len, "Table"))
            rq->form = SL_FORM_TABLE;
        else if (text_equals(r->as, r->as_len,
                             list ? "PartialObjectMetadataList" : "PartialObjectMetadata"))
            rq->form = SL_FORM_PARTIAL;
        else
            return false;
        rq->form_version = text_equals(r->v, r->v_len, "v1") ? "v1" : "v1beta1";
    }
    rq->yaml = yaml;
    return true;
}

bool api_negotiate_accept(struct api_rq *rq, const char *accept) {
    bool list = rq->verb == SL_V_LIST;
    int best = 0;

    if (!*accept || strcmp(accept, SL_JSON) == 0 || strcmp(accept, "*/*") == 0)
        return true;
    struct api_rq chosen = {0};
    while (*accept) {
        size_t len = strcspn(accept, ",");
        const char *s = accept;
        size_t n = len;
        while (n && *s == ' ')
            s++, n--;
        struct range r;
        read_range(s, n, &r);
        struct api_rq trial = {0};
        if (r.q > best && accept_range(&trial, &r, list)) {
            best = r.q;
            chosen.form = trial.form;
            chosen.form_version = trial.form_version;
            chosen.yaml = trial.yaml;
        }
        accept += len + (accept[len] == ',');
    }
    if (!best) {
        bool custom = rq->kind && rq->kind->crd; /* there the resource itself says it */
        api_rq_status(
            rq, &(struct api_status){
                    .code = 406,
                    .reason = "NotAcceptable",
                    .message =
                        custom ? "only the following media types are accepted: " SL_API_TYPES
                               : "406: Not Acceptable\n\nAvailable representations: " SL_API_TYPES
                                 ", application/json;stream=watch",
                    .no_details = !custom});
        return false;
    }
    rq->form = chosen.form;
    rq->form_version = chosen.form_version;
    rq->yaml = chosen.yaml;
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a request's path and query mean.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "fakeapi_int.h"
#include "lib/json/json.h"

static int hex(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* %XX in place; false if it is malformed or hides a NUL. */
static bool unescape(char *s) {
    char *to = s;

    for (; *s; s++, to++) {
        *to = *s;
        if (*s != '%')
            continue;
        int high = hex(s[1]), low = high < 0 ? -1 : hex(s[2]);
        if (low < 0 || high + low == 0)
            return false;
        *to = (char)(high * 16 + low);
        s += 2;
    }
    *to = '\0';
    return true;
}

/* The next part up to the separator, which it ends; NULL at the end. */
static char *cut(char **rest, char sep) {
    char *s = *rest, *end;

    if (!s || !*s)
        return NULL;
    end = strchr(s, sep);
    *rest = end ? end + 1 : NULL;
    if (end)
        *end = '\0';
    return s;
}

static int64_t parse_number(const char *s) {
    char *end;
    long long v = strtoll(s, &end, 10);

    return *s && !*end && v >= 0 ? v : -1;
}

static bool parse_bool(const char *s) {
    return strcmp(s, "1") == 0 || strcmp(s, "true") == 0;
}

static bool query(struct target *t, char *q) {
    for (char *pair; (pair = cut(&q, '&'));) {
        char *v = strchr(pair, '=');
        if (v)
            *v++ = '\0';
        else
            v = pair + strlen(pair);
        if (!unescape(v))
            return false;
        if (strcmp(pair, "labelSelector") == 0)
            t->label_selector = v;
        else if (strcmp(pair, "fieldSelector") == 0)
            t->field_selector = v;
        else if (strcmp(pair, "continue") == 0)
            t->cont = v;
        else if (strcmp(pair, "resourceVersion") == 0)
            t->version = v;
        else if (strcmp(pair, "propagationPolicy") == 0)
            t->policy = v;
        else if (strcmp(pair, "limit") == 0)
            t->limit = parse_number(v);
        else if (strcmp(pair, "timeoutSeconds") == 0)
            t->timeout = parse_number(v);
        else if (strcmp(pair, "gracePeriodSeconds") == 0)
            t->grace = parse_number(v);
        else if (strcmp(pair, "watch") == 0)
            t->watch = parse_bool(v);
        else if (strcmp(pair, "allowWatchBookmarks") == 0)
            t->bookmarks = parse_bool(v);
        else if (strcmp(pair, "dryRun") == 0)
            return false; /* better an error than an effect */
        /* fieldManager, force, fieldValidation, pretty ...: of no effect here */
    }
    return true;
}

int fa_target_parse(struct fakeapi *a, const char *path, struct target *t) {
    char *part[8], *rest = t->text, *q;
    uint32_t n = 0, at;

    t->res = NULL;
    t->ns = t->name = t->sub = "";
    t->label_selector = t->field_selector = t->cont = t->version = t->policy = t->node =
        t->scheduler = "";
    t->limit = t->timeout = t->grace = -1;
    t->watch = t->bookmarks = t->metadata = false;
    if (strlen(path) >= sizeof t->text)
        return 414;
    memcpy(t->text, path, strlen(path) + 1);
    q = strchr(t->text, '?');
    if (q)
        *q++ = '\0';
    if (q && !query(t, q))
        return 400;
    if (*rest == '/')
        rest++;
    for (char *s; (s = cut(&rest, '/'));) {
        if (n == SL_LEN(part) || !unescape(s))
            return 404;
        part[n++] = s;
    }
    bool core = n > 0 && strcmp(part[0], "api") == 0;
    if (n < (core ? 3u : 4u) || (!core && strcmp(part[0], "apis") != 0))
        return 404;
    const char *group = core ? "" : part[1], *version = part[core ? 1 : 2], *plural;
    at = core ? 2 : 3;
    bool scoped = n - at >= 3 && strcmp(part[at], "namespaces") == 0 &&
                  !(core && n - at == 3 &&
                    (strcmp(part[at + 2], "status") == 0 || strcmp(part[at + 2], "finalize") == 0));
    if (scoped) {
        t->ns = part[at + 1];
        at += 2;
    }
    plural = part[at++];
    for (uint32_t i = 0; i < a->n_res && !t->res; i++) {
        struct resource *r = &a->res[i];
        if (r->installed && strcmp(r->k.group, group) == 0 && strcmp(r->k.plural, plural) == 0 &&
            strcmp(r->k.version, version) == 0)
            t->res = r;
    }
    if (!t->res || (scoped && !(t->res->k.flags & FAKEAPI_NAMESPACED)))
        return 404;
    if (at < n)
        t->name = part[at++];
    if (at < n)
        t->sub = part[at++];
    if (at < n ||
        (t->sub[0] && !(strcmp(t->sub, "status") == 0 && t->res->k.flags & FAKEAPI_STATUS) &&
         !(strcmp(t->sub, "finalize") == 0 && strcmp(t->res->k.kind, "Namespace") == 0) &&
         !(strcmp(t->sub, "token") == 0 && strcmp(t->res->k.kind, "ServiceAccount") == 0) &&
         !(strcmp(t->sub, "binding") == 0 && strcmp(t->res->k.kind, "Pod") == 0)))
        return 404;
    if (t->name[0] && t->res->k.flags & FAKEAPI_NAMESPACED && !scoped)
        return 404;
    return 0;
}

bool fa_target_fields(struct target *t, const char **ret_name) {
    *ret_name = NULL;
    if (!t->field_selector[0])
        return true;
    if (strncmp(t->field_selector, "metadata.name=", 14) == 0)
        *ret_name = t->field_selector + 14;
    else if (strncmp(t->field_selector, "metadata.namespace=", 19) == 0 && !t->ns[0])
        t->ns = t->field_selector + 19;
    else if (strncmp(t->field_selector, "spec.nodeName=", 14) == 0 && !t->watch)
        t->node = t->field_selector + 14;
    else if (strncmp(t->field_selector, "spec.schedulerName=", 19) == 0)
        t->scheduler = t->field_selector + 19;
    else
        return false;
    return true;
}

void fa_target_key(const struct target *t, const char *name, char key[MAX_KEY_BYTES]) {
    (void)snprintf(key, MAX_KEY_BYTES, "%s%s%s", t->ns, t->ns[0] ? "/" : "", name);
}

bool fa_labels_match(const struct sl_selector *s, yyjson_val *o) {
    struct sl_label l[MAX_LABELS];
    struct sl_labels have = {l, 0};
    size_t i, n;
    yyjson_val *labels = yyjson_obj_get(fa_meta_of(o), "labels"), *k, *v;

    if (s->n == 0)
        return true;
    if (labels) {
        sl_obj_foreach (labels, i, n, k, v) {
            if (have.n < MAX_LABELS && yyjson_is_str(v))
                l[have.n++] = (struct sl_label){yyjson_get_str(k), yyjson_get_str(v)};
        }
    }
    return sl_selector_matches(s, &have);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of a container: a few variables of the machine, then those of the pod, in
 * Kubernetes' order and with its expansion of $(NAME).
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/kubelet/kubelet_int.h"
#include "core/base/arena.h"
#include "core/base/collection/hash.h"
#include "core/base/quantity.h"
#include "lib/json/json.h"

/* What programs of this machine need to be found and localised. */
static const char *const of_machine[] = {
    "PATH",   "HOME", "USER",   "LOGNAME",         "SHELL",      "LANG",
    "LC_ALL", "TZ",   "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV"};

static bool is_var(const char *pair, const char *name, size_t n) {
    return strncmp(pair, name, n) == 0 && pair[n] == '=';
}

void klet_vars_done(struct klet_vars *v) {
    sl_vec_free(&v->v);
    sl_map_done(&v->by_name);
}

static uint32_t place_of(const struct klet_vars *v, const char *name, size_t n) {
    const uint64_t key = sl_hash_bytes(0, name, n);
    uint32_t cursor, i;

    for (i = sl_map_first(&v->by_name, key, &cursor);
         i != SL_MAP_NONE && !is_var(v->v.v[i], name, n);
         i = sl_map_next(&v->by_name, key, &cursor))
        ;
    return i;
}

static void add_pair(struct klet_vars *v, const char *pair, size_t name_len) {
    sl_map_add(&v->by_name, sl_hash_bytes(0, pair, name_len), v->v.n);
    *sl_vec_push(&v->v) = pair;
}

const char *klet_vars_get(const struct klet_vars *v, const char *name) {
    const size_t n = strlen(name);
    const uint32_t at = place_of(v, name, n);

    return at == SL_MAP_NONE ? NULL : v->v.v[at] + n + 1;
}

/* A name that cannot be one is left out. */
void klet_vars_set(struct klet_vars *v, struct sl_arena *a, const char *name, const char *value) {
    const size_t n = strlen(name);
    const char *pair;

    if (n == 0 || strchr(name, '='))
        return;
    pair = sl_arena_printf(a, "%s=%s", name, value);
    const uint32_t at = place_of(v, name, n);
    if (at == SL_MAP_NONE)
        add_pair(v, pair, n);
    else
        v->v.v[at] = pair;
}

char *klet_vars_expand(const struct klet_vars *v, struct sl_arena *a, const char *text) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(RT_MAX_VALUE);

    const char *last = strrchr(text, ')'); /* behind it no name ends */
    for (const char *p = text; *p; p++) {
        if (*p != '$' || !p[1]) {
            sl_buf_putc(&b, *p);
            continue;
        }
        const char *end = p[1] == '(' && last && p < last ? strchr(p, ')') : NULL;
        if (p[1] == '$') {
            sl_buf_putc(&b, '$');
            p++;
        } else if (end) {
            char name[512];
            const size_t n = (size_t)(end - p - 2);
            const char *value = NULL;
            if (n < sizeof name) {
                memcpy(name, p + 2, n);
                name[n] = '\0';
                value = klet_vars_get(v, name);
            }
            if (value)
                sl_buf_puts(&b, value);
            else
                sl_buf_add(&b, p, (size_t)(end - p) + 1);
            p = end;
        } else {
            sl_buf_putc(&b, '$');
        }
    }
    return sl_buf_full(&b) ? NULL : sl_arena_strdup(a, sl_buf_str(&b));
}

/* ---- what refers to the pod itself ---- */

/* "metadata.labels['a/b']": the key, if the path is of this map. */
static bool map_value(struct klet_pod *p, struct sl_arena *a, const char *path, const char *map,
                      struct sl_text *ret) {
    const size_t n = strlen(map), len = strlen(path);

    if (strncmp(path, map, n) != 0 || len < n + 4 || strncmp(path + n, "['", 2) != 0 ||
        strcmp(path + len - 2, "']") != 0)
        return false;
    const char *key = sl_arena_strndup(a, path + n + 2, len - n - 4);
    *ret = sl_json_view(klet_lookup(p, sl_json_at(yyjson_doc_get_root(p->local->doc), map), key));
    return true;
}

/* The whole of labels or annotations, as the downward API writes it; NULL: it is too long. */
static const char *map_text(yyjson_val *map, struct sl_arena *a) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(RT_MAX_MAP);
    size_t i, n;
    yyjson_val *k, *v;

    sl_obj_foreach (map, i, n, k, v) {
        const struct sl_text value = sl_json_view(v);
        sl_buf_text(&b, sl_json_view(k));
        sl_buf_putc(&b, '=');
        sl_buf_json_n(&b, value.s, value.n);
        sl_buf_putc(&b, '\n');
    }
    return sl_buf_full(&b) ? NULL : sl_arena_strdup(a, sl_buf_str(&b));
}

bool klet_field_text(struct klet_pod *p, struct sl_arena *a, const char *path,
                     struct sl_text *ret) {
    yyjson_val *o = yyjson_doc_get_root(p->local->doc);
    static const char *const plain[] = {"metadata.name", "metadata.namespace", "metadata.uid",
                                        "spec.nodeName", "spec.serviceAccountName"};
    const char *s = NULL;

    for (size_t i = 0; i < SL_LEN(plain); i++)
        if (strcmp(path, plain[i]) == 0)
            s = sl_json_str(o, path);
    if (strncmp(path, "status.hostIP", 13) == 0 || strncmp(path, "status.podIP", 12) == 0)
        s = p->rt->address; /* its processes are on the machine's own network */
    if (strcmp(path, "metadata.labels") == 0 || strcmp(path, "metadata.annotations") == 0)
        s = map_text(sl_json_at(o, path), a);
    if (s)
        *ret = sl_text_of(s);
    return s || map_value(p, a, path, "metadata.labels", ret) ||
           map_value(p, a, path, "metadata.annotations", ret);
}

const char *klet_resource_text(struct klet_pod *p, struct sl_arena *a, yyjson_val *container,
                               const char *resource, const char *divisor) {
    const bool limit = strncmp(resource, "limits.", 7) == 0;
    const char *what = strchr(resource, '.');
    sl_quantity amount = 0, by = 0;

    if (!what)
        return NULL;
    what++;
    const char *value = sl_json_opt(klet_lookup(
        p, sl_json_at(container, limit ? "resources.limits" : "resources.requests"), what));
    if (value && sl_quantity_parse(value, strlen(value), &amount, NULL) < 0)
        return NULL;
    if (!value && limit) { /* all that the machine has */
        const int64_t all = klet_node_allocatable(p->rt, what);
        amount = (sl_quantity)all * (strcmp(what, "cpu") == 0 ? SL_NANO / 1000 : SL_NANO);
    }
    if (!*divisor || sl_quantity_parse(divisor, strlen(divisor), &by, NULL) < 0 || by <= 0)
        by = SL_NANO;
    return sl_arena_printf(a, "%lld", (long long)((amount + by - 1) / by));
}

/* ---- env and envFrom ---- */

static int too_long(const char *name, struct sl_err *err) {
    return sl_err_set(err, SL_ELIMIT, "the variable %.80s is longer than %zu bytes", name,
                      RT_MAX_VALUE);
}

/* Linux would refuse to start the command, or truncate the value, without naming the variable. */
static int check_value(const char *name, const char *value, size_t len, struct sl_err *err) {
    if (len >= RT_MAX_VALUE)
        return too_long(name, err);
    if (memchr(value, 0, len))
        return sl_err_set(err, SL_EINVAL, "the variable %.80s holds a zero byte", name);
    return 0;
}

static int too_many(struct sl_err *err) {
    return sl_err_set(err, SL_ELIMIT, "the environment is larger than %zu MiB", RT_MAX_ALL >> 20);
}

static int add_from(struct klet_container *c, struct klet_vars *v, struct sl_arena *a,
                    yyjson_val *from, struct sl_err *err) {
    const bool secret = sl_json_at(from, "secretRef") != NULL;
    const char *name = sl_json_str(from, secret ? "secretRef.name" : "configMapRef.name");
    yyjson_val *o = klet_refs_find(c->pod, secret, name), *data, *k, *val;
    size_t i, n;

    if (!o)
        return klet_refs_none(
            c->pod, secret, name,
            sl_json_bool(from, secret ? "secretRef.optional" : "configMapRef.optional", false),
            err);
    data = sl_json_at(o, "data");
    sl_obj_foreach (data, i, n, k, val) {
        size_t len;
        const char *s = klet_refs_bytes(val, secret, a, &len);
        const int r = s ? check_value(sl_json_text(k), s, len, err) : 0;
        if (r < 0)
            return r;
        if (sl_arena_full(a))
            return too_many(err);
        if (s)
            klet_vars_set(
                v, a, sl_arena_printf(a, "%s%s", sl_json_str(from, "prefix"), sl_json_text(k)), s);
    }
    return 0;
}

static int key_ref(struct klet_container *c, struct sl_arena *a, yyjson_val *ref, bool secret,
                   const char **ret, struct sl_err *err) {
    const char *name = sl_json_str(ref, "name"), *key = sl_json_str(ref, "key");
    yyjson_val *o = klet_refs_find(c->pod, secret, name);
    bool encoded;
    yyjson_val *v = o ? klet_refs_key(c->pod, o, secret, key, &encoded) : NULL;
    size_t len;

    *ret = v ? klet_refs_bytes(v, encoded, a, &len) : NULL;
    if (*ret)
        return check_value(key, *ret, len, err);
    const bool optional = sl_json_bool(ref, "optional", false);
    if (!o)
        return klet_refs_none(c->pod, secret, name, optional, err);
    return optional ? 0
                    : sl_err_set(err, SL_ENOENT, "couldn't find key %s in %s %s/%s", key,
                                 secret ? "Secret" : "ConfigMap", c->pod->ns, name);
}

static yyjson_val *named_container(struct klet_pod *p, const char *name, yyjson_val *fallback) {
    for (uint32_t i = 0; i < p->n_cs; i++)
        if (strcmp(p->cs[i].name, name) == 0)
            return p->cs[i].spec;
    return fallback;
}

static int value_from(struct klet_container *c, struct sl_arena *a, yyjson_val *from,
                      const char **ret, struct sl_err *err) {
    yyjson_val *ref;

    *ret = NULL;
    if ((ref = sl_json_at(from, "configMapKeyRef")))
        return key_ref(c, a, ref, false, ret, err);
    if ((ref = sl_json_at(from, "secretKeyRef")))
        return key_ref(c, a, ref, true, ret, err);
    if ((ref = sl_json_at(from, "fieldRef"))) {
        const char *path = sl_json_str(ref, "fieldPath");
        struct sl_text t;
        if (!klet_field_text(c->pod, a, path, &t))
            return sl_err_set(err, SL_EINVAL, "unsupported fieldPath: %s", path);
        *ret = t.s; /* which a zero ends */
        return check_value(path, t.s, t.n, err);
    }
    if ((ref = sl_json_at(from, "resourceFieldRef"))) {
        *ret = klet_resource_text(
            c->pod, a, named_container(c->pod, sl_json_str(ref, "containerName"), c->spec),
            sl_json_str(ref, "resource"), sl_json_str(ref, "divisor"));
        return *ret ? 0
                    : sl_err_set(err, SL_EINVAL, "unsupported resource: %s",
                                 sl_json_str(ref, "resource"));
    }
    return sl_err_set(err, SL_EINVAL, "a valueFrom of a kind that is not supported");
}

static int add_env(struct klet_container *c, struct klet_vars *v, struct sl_arena *a,
                   yyjson_val *env, struct sl_err *err) {
    yyjson_val *from = sl_json_at(env, "valueFrom");
    const char *value = NULL;

    if (from) {
        int r = value_from(c, a, from, &value, err);
        if (r < 0)
            return r;
        if (!value) /* optional, and not there */
            return 0;
    } else if (sl_text_has_nul(sl_json_view(sl_json_at(env, "value")))) {
        struct sl_text t = sl_json_view(sl_json_at(env, "value"));
        return check_value(sl_json_str(env, "name"), t.s, t.n, err);
    } else if (!(value = klet_vars_expand(v, a, sl_json_str(env, "value")))) {
        return too_long(sl_json_str(env, "name"), err);
    }
    klet_vars_set(v, a, sl_json_str(env, "name"), value);
    return 0;
}

/* SLUICE_VOLUME_NAME: where a volume is, also without mounts. */
static void add_volumes(struct klet_container *c, struct klet_vars *v, struct sl_arena *a) {
    yyjson_val *volumes = sl_json_at(yyjson_doc_get_root(c->pod->local->doc), "spec.volumes"), *vol;
    size_t i, n;

    yyjson_arr_foreach (volumes, i, n, vol) {
        const char *folder = klet_volume_folder(c->pod, vol, a);
        char *name = sl_arena_printf(a, "SLUICE_VOLUME_%s", sl_json_str(vol, "name"));
        for (char *p = name; *p; p++)
            *p = (char)(*p == '-' || *p == '.'   ? '_'
                        : *p >= 'a' && *p <= 'z' ? *p - 'a' + 'A'
                                                 : *p);
        if (folder)
            klet_vars_set(v, a, name, folder);
    }
}

int klet_vars_of(struct klet_container *c, struct klet_vars *v, struct sl_arena *a,
                 struct sl_err *err) {
    yyjson_val *spec = c->spec, *from = sl_json_at(spec, "envFrom"), *env = sl_json_at(spec, "env"),
               *one;
    const char *hostname = sl_json_str(yyjson_doc_get_root(c->pod->local->doc), "spec.hostname");
    size_t i, n;
    int r = 0;

    for (i = 0; i < SL_LEN(of_machine); i++) {
        const char *s = getenv(of_machine[i]);
        if (s && strlen(s) < RT_MAX_VALUE)
            klet_vars_set(v, a, of_machine[i], s);
    }
    if (!klet_vars_get(v, "PATH"))
        klet_vars_set(v, a, "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    klet_vars_set(v, a, "HOSTNAME", *hostname ? hostname : c->pod->name);
    add_volumes(c, v, a);
    klet_services_add(c->pod, v, a);
    klet_vars_set(v, a, "SLUICE_TERMINATION_LOG",
                  sl_arena_printf(a, "%s/term/%s", c->pod->local->folder, c->name));
    yyjson_arr_foreach (from, i, n, one) {
        r = r < 0 ? r : add_from(c, v, a, one, err);
        if (r == 0 && a->used > 8 * RT_MAX_ALL)
            r = too_many(err);
    }
    klet_lookups_begin(c->pod);
    yyjson_arr_foreach (env, i, n, one) {
        r = r < 0 ? r : add_env(c, v, a, one, err);
        if (r == 0 && a->used > 8 * RT_MAX_ALL)
            r = too_many(err);
    }
    klet_lookups_end(c->pod);
    for (size_t all = i = 0; r == 0 && i < v->v.n; i++)
        if ((all += strlen(v->v.v[i]) + 1 + sizeof(char *)) > RT_MAX_ALL)
            r = too_many(err);
    return r;
}

void klet_vars_save(struct klet_container *c, const struct klet_vars *v) {
    char *at;

    c->env_len = 0;
    for (uint32_t i = 0; i < v->v.n; i++)
        c->env_len += strlen(v->v.v[i]) + 1;
    sl_freep(&c->env);
    at = c->env = sl_alloc(c->env_len + 1);
    for (uint32_t i = 0; i < v->v.n; i++) {
        const size_t n = strlen(v->v.v[i]) + 1;
        memcpy(at, v->v.v[i], n);
        at += n;
    }
}

void klet_vars_saved(const struct klet_container *c, struct klet_vars *v, struct sl_arena *a) {
    for (size_t at = 0, n; at < c->env_len; at += n + 1) {
        n = strlen(c->env + at);
        add_pair(v, sl_arena_strndup(a, c->env + at, n), strcspn(c->env + at, "="));
    }
}

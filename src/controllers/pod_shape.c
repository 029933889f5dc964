/* What pods ask for, interned: a node's pods are made from few manifests. */
#include <string.h>

#include "base/hash.h"
#include "controllers/capacity_pack.h"
#include "controllers/pod.h"
#include "doc/objects.h"
#include "log/log.h"

#define MAX_TEXT ((size_t)2 << 20)

static void put(struct sl_buf *b, const char *key, yyjson_val *v) {
    if (!v || yyjson_is_null(v))
        return;
    sl_buf_printf(b, "%s\"%s\":", b->s[b->len - 1] == '{' ? "" : ",", key);
    jput(b, v);
}

static void put_resources(struct sl_buf *b, yyjson_val *of) {
    yyjson_val *r = yyjson_obj_get(of, "resources");
    if (!yyjson_is_obj(r))
        return;
    sl_buf_printf(b, "%s\"resources\":{", b->s[b->len - 1] == '{' ? "" : ",");
    put(b, "requests", yyjson_obj_get(r, "requests"));
    put(b, "limits", yyjson_obj_get(r, "limits"));
    sl_buf_putc(b, '}');
}

/* A podset of one such pod, with nothing else in it: equal pods give equal text, and there is one
 * reader of that. */
static void put_podset(struct sl_buf *b, yyjson_val *spec) {
    static const char *const lists[] = {"initContainers", "containers"};
    size_t i, n;
    yyjson_val *c;
    sl_buf_puts(b, "{\"template\":{\"spec\":{");
    for (size_t k = 0; k < SL_LEN(lists); k++) {
        sl_buf_printf(b, "%s\"%s\":[", k ? "," : "", lists[k]);
        yyjson_arr_foreach (yyjson_obj_get(spec, lists[k]), i, n, c) {
            sl_buf_puts(b, i ? ",{" : "{");
            put(b, "restartPolicy", yyjson_obj_get(c, "restartPolicy"));
            put_resources(b, c);
            sl_buf_putc(b, '}');
        }
        sl_buf_putc(b, ']');
    }
    put_resources(b, spec);
    put(b, "overhead", yyjson_obj_get(spec, "overhead"));
    sl_buf_puts(b, "}}}");
}

uint32_t pod_ports(yyjson_val *spec, uint32_t *ret, uint32_t max) {
    static const char *const lists[] = {"initContainers", "containers"};
    size_t i, n, j, k;
    yyjson_val *c, *p;
    uint32_t found = 0;
    for (size_t l = 0; l < SL_LEN(lists); l++)
        yyjson_arr_foreach (yyjson_obj_get(spec, lists[l]), i, n, c)
            yyjson_arr_foreach (yyjson_obj_get(c, "ports"), j, k, p)
                if (jint(p, "hostPort", 0) > 0 && found < max)
                    ret[found++] = pack_port(jstr(p, "protocol"), jint(p, "hostPort", 0));
    return found;
}

/* What cannot be read asks for nothing. */
static struct pod_shape *make(struct sl_manager *m, const struct sl_buf *text,
                              const uint32_t *ports, uint32_t n_ports) {
    struct sl_podset_spec spec = {0};
    struct sl_doc *d = NULL;
    struct sl_err err = {0};
    struct sl_arena arena;

    sl_arena_init(&arena, (size_t)64 << 20);
    struct sl_read rd = {.file = "pod", .arena = &arena, .err = &err};
    if (text->overflow || sl_doc_json("pod", 1, text->s, text->len, &d, &err) < 0)
        rd.code = SL_EINVAL;
    else
        sl_decode_podset(&rd, &d->roots[0], &spec);
    if (rd.code < 0) {
        sl_log(SL_LOG_DEBUG, "a pod whose requests cannot be read", SL_S("error", err.text));
        spec.n_requests = 0;
    }
    struct pod_shape *s =
        sl_alloc0(1, sizeof *s + spec.n_requests * sizeof s->v[0] + n_ports * sizeof *ports);
    s->n = spec.n_requests;
    s->n_ports = n_ports;
    s->ports = (uint32_t *)(void *)&s->v[s->n];
    for (uint32_t i = 0; i < n_ports; i++)
        s->ports[i] = ports[i];
    for (uint32_t i = 0; i < s->n; i++)
        s->v[i] = (struct sl_request){str(m, sl_sym_put(&m->syms, spec.requests[i].resource)),
                                      spec.requests[i].q};
    sl_doc_free(d);
    sl_arena_done(&arena);
    return s;
}

struct pod_shape *pod_shape_get(struct sl_manager *m, yyjson_val *spec) {
    struct sl_buf text;
    uint32_t ports[PACK_MAX_PORTS], n_ports = pod_ports(spec, ports, PACK_MAX_PORTS);
    sl_buf_init(&text, MAX_TEXT);
    put_podset(&text, spec);
    uint64_t h = sl_hash_bytes(1, sl_buf_str(&text), text.len);
    for (uint32_t i = 0; i < n_ports; i++)
        h = sl_hash_u64(h, ports[i]);
    uint32_t id = sl_map_get(&m->pod_shapes_by_hash, h);
    struct pod_shape *s = id == SL_MAP_NONE ? NULL : m->pod_shapes.v[id];
    if (!s) {
        s = make(m, &text, ports, n_ports);
        s->hash = h;
        s->id = m->free_pod_shapes.n ? sl_vec_pop(&m->free_pod_shapes) : m->pod_shapes.n;
        if (s->id == m->pod_shapes.n)
            (void)sl_vec_push(&m->pod_shapes);
        m->pod_shapes.v[s->id] = s;
        sl_map_add(&m->pod_shapes_by_hash, h, s->id);
    }
    s->refs++;
    sl_buf_done(&text);
    return s;
}

void pod_shape_unref(struct sl_manager *m, struct pod_shape *s) {
    if (!s || --s->refs)
        return;
    (void)sl_map_del(&m->pod_shapes_by_hash, s->hash, s->id);
    m->pod_shapes.v[s->id] = NULL;
    *sl_vec_push(&m->free_pod_shapes) = s->id;
    sl_freep(&s);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of pods, interned: the pods of a cluster are created from few manifests. */
#include <string.h>

#include "cluster/scheduler/ceilings.h"
#include "cluster/scheduler/scheduler_int.h"
#include "core/base/collection/hash.h"
#include "kube/types/kueue/objects.h"
#include "kube/types/podset.h"
#include "lib/json/json.h"
#include "lib/log/log.h"

/* What cannot be read must not be taken for nothing. */
static void read_podset(struct sched *s, struct sched_class *k, struct sl_buf *text) {
    struct sl_podset_spec spec = {0};
    struct sl_doc *d = NULL;
    struct sl_err err = {0};
    struct sl_read rd = {.file = "pod", .arena = &k->arena, .err = &err};
    if (sl_buf_full(text) || sl_doc_json("pod", 1, text->s, text->len, &d, &err) < 0)
        rd.code = SL_EINVAL;
    else
        sl_decode_podset(&rd, &d->roots[0], &spec);
    if (rd.code < 0) {
        sl_log(SL_LOG_WARN, "pod not scheduled: malformed resource requests",
               SL_S("error", sl_buf_full(text) ? "the pod is too large" : err.text));
        spec = (struct sl_podset_spec){0};
        k->unreadable = true;
    }
    k->needs = sl_arena_alloc(&k->arena, (spec.n_requests + 1) * sizeof *k->needs);
    for (uint32_t i = 0; i < spec.n_requests; i++) {
        const char *name = spec.requests[i].resource;
        uint32_t column = sched_column(s, name);
        if (strcmp(name, "pods") == 0)
            continue;
        k->unreadable |= column == UINT32_MAX;
        if (column != UINT32_MAX)
            k->needs[k->n_needs++] =
                (struct sched_need){column, sl_amount_of_request(name, spec.requests[i].q)};
    }
    k->selector = spec.node_selector;
    k->tolerations = spec.tolerations;
    k->n_tolerations = spec.n_tolerations;
    k->doc = d;
}

static bool line_less(const void *ctx, uint32_t a, uint32_t b) {
    const struct sl_cluster *c = ctx;
    const struct sched_pod *x = cl_pod_of(c->inf->recs.v[a])->sched,
                           *y = cl_pod_of(c->inf->recs.v[b])->sched;
    if (x->priority != y->priority)
        return x->priority > y->priority;
    return x->created != y->created ? x->created < y->created : a < b;
}

static uint32_t *line_place(void *ctx, uint32_t obj) {
    const struct sl_cluster *c = ctx;
    return &cl_pod_of(c->inf->recs.v[obj])->sched->in_line;
}

static struct sched_class *make_class(struct sched *s, uint64_t hash) {
    struct sched_class *k = sl_alloc0(1, sizeof *k);
    k->hash = hash;
    k->id = s->free_classes.n ? sl_vec_pop(&s->free_classes) : s->classes.n;
    if (k->id == s->classes.n)
        (void)sl_vec_push(&s->classes);
    s->classes.v[k->id] = k;
    sl_map_add(&s->class_by_hash, hash, k->id);
    sl_arena_init(&k->arena, SCHED_MAX_CLASS);
    sl_heap_init(&k->line, line_less, line_place, s->c);
    k->in_queue = SL_HEAP_OUT;
    k->epoch = s->epoch - 1;
    return k;
}

struct sched_class *sched_class(struct sched *s, yyjson_val *pod, sl_sym ns) {
    yyjson_val *spec = yyjson_obj_get(pod, "spec");
    uint32_t ports[SCHED_MAX_PORTS], n_ports = sl_podspec_host_ports(spec, ports, SCHED_MAX_PORTS);
    const bool crowded = n_ports > SCHED_MAX_PORTS;
    struct sl_buf text, wants;
    sl_buf_init(&text, SCHED_MAX_TEXT);
    sl_buf_init(&wants, SCHED_MAX_TEXT);
    sl_podspec_put(&text, spec, true);
    uint64_t h = sl_hash_bytes(1, sl_buf_str(&text), text.len);
    if (crowded)
        n_ports = 0;
    for (uint32_t i = 0; i < n_ports; i++)
        h = sl_hash_u64(h, ports[i]);
    h = crowded ? sl_hash_u64(h, UINT64_MAX) : h;
    bool others = sched_pod_terms_put(&wants, pod);
    if (wants.len)
        h = sl_hash_bytes(h, wants.s, wants.len);
    if (others)
        h = sl_hash_u64(sl_json_hash(h, sl_json_at(pod, "metadata.labels")), ns);
    uint32_t id = sl_map_get(&s->class_by_hash, h);
    struct sched_class *k = id == SL_MAP_NONE ? NULL : s->classes.v[id];
    if (!k) {
        k = make_class(s, h);
        read_podset(s, k, &text);
        bool few =
            sl_buf_full(&text) ||
            sched_required_read(&k->arena,
                                sl_json_at(spec, "affinity.nodeAffinity."
                                                 "requiredDuringSchedulingIgnoredDuringExecution."
                                                 "nodeSelectorTerms"),
                                &k->required);
        memcpy(k->ports, ports, n_ports * sizeof *ports);
        k->n_ports = n_ports;
        k->ns = ns;
        const bool read = !k->unreadable;
        if (wants.len && !sl_buf_full(&wants))
            sched_pod_terms_read(s, k, pod);
        k->unreadable |= !few || crowded || sl_buf_full(&wants) || sl_arena_full(&k->arena);
        if (read && k->unreadable)
            sl_log(SL_LOG_WARN, "pod not scheduled: too many affinity terms or host ports",
                   SL_S("namespace", cl_str(s->c, ns)),
                   SL_S("name", sl_json_str(pod, "metadata.name")));
    }
    k->refs++;
    sl_buf_done(&text);
    sl_buf_done(&wants);
    return k;
}

void sched_unref(struct sched *s, struct sched_class *k) {
    if (!k || --k->refs)
        return;
    sl_heap_remove(&s->awake, k->id);
    (void)sl_map_del(&s->class_by_hash, k->hash, k->id);
    s->classes.v[k->id] = NULL;
    *sl_vec_push(&s->free_classes) = k->id;
    sched_pod_terms_done(s, k);
    sl_vec_free(&k->bias);
    sl_vec_free(&k->counted);
    sl_doc_free(k->doc);
    sl_arena_done(&k->arena);
    sl_heap_done(&k->line);
    sl_vec_free(&k->nodes);
    sl_freep(&k->why);
    sl_freep(&k);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobspec of a group, from those of its members. Each was written as if all were like it, so
 * that a group of equal pods has that one; else the slots of the others are put beside the first,
 * each with its own label and task. All but the slot must be the same: constraints, tolerations,
 * the queue and the times are those of the whole job.
 */
#include <stdlib.h>

#include "core/base/fmt.h"
#include "manager/fluxqueue/jobspec/jobspec_int.h"

#define MAX_LABEL 300u /* the name of an object, and a number */

/* Members with equal slots. */
struct kind {
    const struct fq_jobspec_member *first;
    uint32_t n;
};

static struct sl_text slice(const struct fq_jobspec_member *m, uint32_t from, uint32_t to) {
    return (struct sl_text){m->text + from, to - from};
}

static bool same(struct sl_text a, struct sl_text b) {
    return a.n == b.n && memcmp(a.s, b.s, a.n) == 0;
}

static struct sl_text slot_of(const struct fq_jobspec_member *m) {
    return slice(m, m->parts->slot_type, m->parts->slot_end);
}

/* Are both the same but for their slots? */
static bool agree(const struct fq_jobspec_member *a, const struct fq_jobspec_member *b) {
    if (!a->parts->slot_end || !b->parts->slot_end)
        return strcmp(a->text, b->text) == 0;
    return same(slice(a, 0, a->parts->slot), slice(b, 0, b->parts->slot)) &&
           same(slice(a, a->parts->slot_end, a->parts->task),
                slice(b, b->parts->slot_end, b->parts->task));
}

/* "a-1": that of the second kind. */
static void put_label(struct sl_buf *out, const char *group, uint32_t kind) {
    char text[MAX_LABEL];
    sl_fmt_short(text, sizeof text, "%s-%u", group, kind);
    sl_buf_json(out, text);
    sl_buf_putc(out, '\n');
}

static void put_slot(struct sl_buf *out, const char *group, const struct kind *k, uint32_t number) {
    const struct fq_jobspec_parts *p = k->first->parts;
    struct sl_text head = slice(k->first, p->slot, p->slot_type);
    int indent = (int)strspn(head.s, " ");
    const char *label = memchr(head.s, '\n', head.n);
    sl_assert(label);
    sl_buf_printf(out, "%*s- count: %u\n", indent, "", k->n);
    if (number == 0) {
        sl_buf_add(out, label + 1, head.n - (size_t)(label + 1 - head.s));
    } else {
        sl_buf_printf(out, "%*s  label: ", indent, "");
        put_label(out, group, number);
    }
    sl_buf_text(out, slot_of(k->first));
}

static void put_task(struct sl_buf *out, const char *group, const struct fq_jobspec_member *first,
                     uint32_t number) {
    const struct fq_jobspec_parts *p = first->parts;
    sl_buf_text(out, slice(first, p->task, number ? p->task_slot : p->task_end));
    if (number) {
        sl_buf_puts(out, "  slot: ");
        put_label(out, group, number);
    }
}

static int find_kinds(const struct fq_jobspec_member *v, uint32_t n, struct kind *kinds,
                      uint32_t *ret_n, struct sl_err *err) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;
        if (!agree(&v[0], &v[i]))
            return sl_err_set(err, SL_EINVAL,
                              "expected pods that differ in nothing but their requests: %.80s and "
                              "%.80s have other constraints, tolerations, annotations or times",
                              v[0].name, v[i].name);
        if (!v[0].parts->slot_end)
            continue;
        while (k < found && !same(slot_of(kinds[k].first), slot_of(&v[i])))
            k++;
        if (k == FQ_MAX_KINDS)
            return sl_err_set(err, SL_ELIMIT, "expected at most %u kinds of requests in a group",
                              FQ_MAX_KINDS);
        if (k == found)
            kinds[found++] = (struct kind){.first = &v[i]};
        kinds[k].n++;
    }
    *ret_n = found;
    return 0;
}

int fq_jobspec_join(const char *group, const struct fq_jobspec_member *v, uint32_t n,
                    struct sl_buf *out, struct sl_err *err) {
    const struct fq_jobspec_parts *p = v[0].parts;
    struct kind kinds[FQ_MAX_KINDS];
    uint32_t n_kinds = 0;
    int r = find_kinds(v, n, kinds, &n_kinds, err);

    if (r < 0)
        return r;
    if (n_kinds <= 1) {
        sl_buf_puts(out, v[0].text);
        return 0;
    }
    if (p->slots != n || p->whole)
        return sl_err_set(err, SL_EINVAL,
                          "expected pods with equal requests, since a group of others cannot be "
                          "spread over nodes or levels, or have nodes of its own");
    sl_buf_text(out, slice(&v[0], 0, p->slot));
    for (uint32_t k = 0; k < n_kinds; k++)
        put_slot(out, group, &kinds[k], k);
    sl_buf_text(out, slice(&v[0], p->slot_end, p->task));
    for (uint32_t k = 0; k < n_kinds; k++)
        put_task(out, group, &v[0], k);
    sl_buf_puts(out, v[0].text + p->task_end);
    return out->len > FQ_MAX_JOBSPEC || sl_buf_full(out)
               ? sl_err_set(err, SL_ELIMIT, "expected a jobspec of at most %zu bytes",
                            FQ_MAX_JOBSPEC)
               : 0;
}

/* ---- one with the slot of another ---- */

/* As deep as the slot of the object, which may be within levels or nodes. */
static void put_indented(struct sl_buf *out, struct sl_text lines, int from, int to) {
    for (const char *at = lines.s, *end = lines.s + lines.n; at < end;) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        sl_assert(next);
        sl_buf_printf(out, "%*s", to, "");
        sl_buf_add(out, at + from, (size_t)(next + 1 - at - from));
        at = next + 1;
    }
}

static int indent_of(const struct fq_jobspec_member *m) {
    return (int)strspn(m->text + m->parts->slot, " ");
}

bool fq_jobspec_replace_slot(const struct fq_jobspec_member *object,
                             const struct fq_jobspec_member *pod, struct sl_buf *out,
                             struct fq_jobspec_parts *ret) {
    if (!object->parts->slot_end || !pod->parts->slot_end)
        return false;
    *ret = *object->parts;
    sl_buf_text(out, slice(object, 0, ret->slot_type));
    put_indented(out, slot_of(pod), indent_of(pod), indent_of(object));
    uint32_t end = (uint32_t)out->len, task = end - ret->slot_end; /* modulo 2^32 */
    sl_buf_puts(out, object->text + ret->slot_end);
    ret->slot_end = end;
    ret->task += task;
    ret->task_slot += task;
    ret->task_end += task;
    return out->len <= FQ_MAX_JOBSPEC && !sl_buf_full(out);
}

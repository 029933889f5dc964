/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a journal. Lines are buffered and written to the file when the buffer is full; the first
 * write error ends the run, with the system's message and the name of what is left.
 */
#include "cmd/sim/journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/sim/facts/facts.h"
#include "core/base/fmt.h"
#include "lib/json/writer.h"

#define FLUSH_BYTES ((size_t)1 << 18)

struct sl_journal {
    int fd;
    char *path;    /* as requested */
    char *partial; /* what is written to; NULL: path itself, which is no regular file */
    struct sl_buf b;
    struct sl_sim_fact_writer facts;
};

static int io_error(const struct sl_journal *j, int why, struct sl_err *err) {
    if (j->partial)
        return sl_err_set(err, SL_EIO, "%s: %s; what was written is in %s", j->path, strerror(why),
                          j->partial);
    return sl_err_set(err, SL_EIO, "%s: %s", j->path, strerror(why));
}

static int flush(struct sl_journal *j, struct sl_err *err) {
    size_t done = 0;
    if (sl_buf_full(&j->b))
        return sl_err_set(err, SL_ELIMIT, "%s: a line is longer than %zu bytes", j->path,
                          SL_JOURNAL_MAX_LINE);
    while (done < j->b.len) {
        ssize_t n = write(j->fd, j->b.s + done, j->b.len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return io_error(j, errno, err);
        done += (size_t)n;
    }
    sl_buf_clear(&j->b);
    return 0;
}

/* Ends a line that began at 'from'. */
static int end_line(struct sl_journal *j, size_t from, struct sl_err *err) {
    if (j->b.len - from >= SL_JOURNAL_MAX_LINE)
        return sl_err_set(err, SL_ELIMIT, "%s: a line is longer than %zu bytes", j->path,
                          SL_JOURNAL_MAX_LINE);
    sl_buf_putc(&j->b, '\n');
    return j->b.len >= FLUSH_BYTES ? flush(j, err) : 0;
}

int sl_journal_create(const char *path, const struct sl_journal_head *h, struct sl_journal **ret,
                      struct sl_err *err) {
    _cleanup_(sl_journal_freep) struct sl_journal *j = sl_alloc0(1, sizeof(*j));
    j->fd = -1;
    j->path = sl_strdup(path);
    sl_buf_init(&j->b, FLUSH_BYTES + 2 * SL_JOURNAL_MAX_LINE);
    sl_sim_fact_writer_init(&j->facts);
    struct stat st;
    if (stat(path, &st) < 0 || S_ISREG(st.st_mode)) {
        size_t n = strlen(path) + sizeof(".partial");
        j->partial = sl_alloc(n);
        sl_fmt(j->partial, n, "%s.partial", path);
    }
    const char *to = j->partial ? j->partial : path;
    j->fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (j->fd < 0)
        return sl_err_set(err, SL_EIO, "%s: %s", to, strerror(errno));
    char delay[SL_SPAN_TEXT];
    struct sl_jw w = SL_JW(&j->b);
    sl_jw_object(&w, NULL);
    sl_jw_int(&w, "sluice_journal", SL_JOURNAL_VERSION);
    sl_jw_str(&w, "program", "sluice " SL_VERSION);
    sl_jw_str(&w, "source", h->source);
    sl_jw_str(&w, "eviction_delay", sl_span_format(h->eviction_delay, delay));
    sl_jw_bool(&w, "pods_ready", h->pods_ready);
    sl_jw_array(&w, "classes");
    for (uint32_t i = 0; i < h->n_classes; i++)
        sl_jw_str(&w, NULL, h->classes[i]);
    sl_jw_end(&w);
    sl_jw_end(&w);
    int r = end_line(j, 0, err);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(j);
    return 0;
}

void sl_journal_free(struct sl_journal *j) {
    if (!j)
        return;
    if (j->fd >= 0)
        (void)close(j->fd); /* given up: the run has failed for another reason */
    sl_buf_done(&j->b);
    sl_sim_fact_writer_done(&j->facts);
    sl_freep(&j->path);
    sl_freep(&j->partial);
    sl_freep(&j);
}

void sl_journal_freep(struct sl_journal **j) {
    sl_journal_free(*j);
    *j = NULL;
}

/* ---- facts ---- */

int sl_journal_fact_about(struct sl_journal *j, const struct sl_fact *f, const char *ns,
                          const char *name, const char *tag, const struct sl_podset_spec *podsets,
                          uint32_t n_podsets, struct sl_err *err) {
    struct sl_sim_fact_note n = {
        .ns = ns, .name = name, .tag = tag, .podsets = podsets, .n_podsets = n_podsets};
    sl_sim_fact_encode(&j->facts, f, name ? &n : NULL, &j->b);
    return j->b.len >= FLUSH_BYTES ? flush(j, err) : 0;
}

int sl_journal_fact(struct sl_journal *j, const struct sl_engine *e, const struct sl_fact *f,
                    const struct sl_sim_wl_note *note, struct sl_err *err) {
    struct sl_engine_wl_view v;
    if (f->kind == SL_FACT_WORKLOAD)
        return sl_journal_fact_about(j, f, f->workload.ns, f->workload.name, note->class_name,
                                     note->podsets, note->n_podsets, err);
    if (f->wl.v != 0 && sl_engine_workload(e, f->wl, &v))
        return sl_journal_fact_about(j, f, v.ns, v.name, NULL, NULL, 0, err);
    return sl_journal_fact_about(j, f, NULL, NULL, NULL, NULL, 0, err);
}

/* ---- effects ---- */

static void put_name(struct sl_jw *w, const char *key, const char *ns, const char *name) {
    char text[2 * SL_MAX_NAME + 4];
    sl_fmt(text, sizeof(text), "%s/%s", ns ? ns : "", name ? name : "");
    sl_jw_str(w, key, text);
}

static const char *const pending_words[SL_PENDING_COUNT] = {
    [SL_PENDING_NO_FIT] = "no fit",
    [SL_PENDING_NO_CANDIDATES] = "no candidates",
    [SL_PENDING_PREEMPTION] = "preemption",
    [SL_PENDING_OVERLAP] = "overlap",
    [SL_PENDING_LOST_RACE] = "lost race",
    [SL_PENDING_FAILED_CHECKS] = "failed checks",
    [SL_PENDING_CQ_INACTIVE] = "queue inactive",
    [SL_PENDING_CQ_MISSING] = "queue missing",
    [SL_PENDING_NS_MISSING] = "namespace missing",
    [SL_PENDING_NS_MISMATCH] = "namespace mismatch",
    [SL_PENDING_INVALID] = "invalid",
    [SL_PENDING_PODS_READY] = "pods not ready",
    [SL_PENDING_GATED] = "preemption gated",
};

static const char *const blocked_words[SL_BLOCKED_COUNT] = {
    [SL_BLOCKED_LQ_MISSING] = "local queue missing",
    [SL_BLOCKED_LQ_STOPPED] = "local queue stopped",
    [SL_BLOCKED_CQ_MISSING] = "queue missing",
    [SL_BLOCKED_CQ_INACTIVE] = "queue inactive",
    [SL_BLOCKED_GATED] = "gated",
    [SL_BLOCKED_GATE_CLEARED] = "gate cleared",
};

static void put_podsets(struct sl_jw *w, const struct sl_effect *x) {
    sl_jw_array(w, "podsets");
    for (uint32_t i = 0; i < x->reserve.n; i++) {
        const struct sl_podset_assignment *p = &x->reserve.podsets[i];
        sl_jw_object(w, NULL);
        sl_jw_str(w, "name", p->name);
        sl_jw_int(w, "count", p->count);
        sl_jw_object(w, "flavors");
        for (uint32_t k = 0; k < p->n; k++) {
            sl_jw_array(w, p->v[k].resource);
            sl_jw_str(w, NULL, p->v[k].flavor);
            sl_jw_int(w, NULL, p->v[k].usage);
            sl_jw_end(w);
        }
        sl_jw_end(w);
        sl_jw_end(w);
    }
    sl_jw_end(w);
}

void sl_journal_effect(struct sl_buf *b, const struct sl_effect *x) {
    struct sl_jw w = SL_JW(b);
    sl_jw_object(&w, NULL);
    sl_jw_str(&w, "effect", sl_effect_name(x->kind));
    if (x->kind == SL_EFFECT_CQ_STATUS)
        sl_jw_str(&w, "cq", x->name ? x->name : "");
    else
        put_name(&w, "wl", x->ns, x->name);
    switch (x->kind) {
    case SL_EFFECT_RESERVE:
        sl_jw_str(&w, "cq", x->cq ? x->cq : "");
        sl_jw_bool(&w, "admitted", x->reserve.admitted);
        if (x->reserve.borrow > 0)
            sl_jw_uint(&w, "borrow", x->reserve.borrow);
        put_podsets(&w, x);
        break;
    case SL_EFFECT_PENDING:
        sl_jw_str(&w, "why", pending_words[x->pending.kind]);
        if (x->pending.victims > 0)
            sl_jw_uint(&w, "victims", x->pending.victims);
        sl_jw_bool(&w, "asleep", x->pending.asleep);
        break;
    case SL_EFFECT_EVICT:
        sl_jw_str(&w, "reason", sl_word(SL_VOCAB_EVICT, (int)x->evict.reason));
        sl_jw_str(&w, "cause", sl_word(SL_VOCAB_CAUSE, (int)x->evict.cause));
        if (x->evict.by_uid)
            sl_jw_str(&w, "by_uid", x->evict.by_uid);
        break;
    case SL_EFFECT_RELEASE:
        sl_jw_str(&w, "reason", sl_word(SL_VOCAB_EVICT, (int)x->release.reason));
        sl_jw_bool(&w, "requeued", x->release.requeued);
        break;
    case SL_EFFECT_REQUEUED:
        sl_jw_str(&w, "reason", sl_word(SL_VOCAB_REQUEUED, (int)x->requeued.reason));
        break;
    case SL_EFFECT_BACKOFF:
        sl_jw_int(&w, "count", x->backoff.count);
        sl_jw_int(&w, "at", x->backoff.at);
        break;
    case SL_EFFECT_DEACTIVATE:
        sl_jw_str(&w, "cause", sl_word(SL_VOCAB_CAUSE, (int)x->deactivate.cause));
        break;
    case SL_EFFECT_BLOCKED:
        sl_jw_str(&w, "why", blocked_words[x->blocked.kind]);
        break;
    case SL_EFFECT_CQ_STATUS:
        sl_jw_bool(&w, "active", x->cq_status.active);
        break;
    default:
        break;
    }
    sl_jw_end(&w);
}

int sl_journal_cycle(struct sl_journal *j, sl_time now, uint64_t digest, const struct sl_effects *x,
                     struct sl_err *err) {
    size_t from = j->b.len;
    struct sl_jw w = SL_JW(&j->b);
    sl_jw_object(&w, NULL);
    sl_jw_int(&w, "cycle", now);
    sl_jw_uint(&w, "effects", x->v.n);
    sl_jw_hex(&w, "digest", digest);
    sl_jw_end(&w);
    int r = end_line(j, from, err);
    for (uint32_t i = 0; i < x->v.n && r >= 0; i++) {
        from = j->b.len;
        sl_journal_effect(&j->b, &x->v.v[i]);
        r = end_line(j, from, err);
    }
    return r;
}

int sl_journal_close(struct sl_journal *j, uint64_t facts, uint64_t cycles, uint64_t digest,
                     struct sl_err *err) {
    size_t from = j->b.len;
    struct sl_jw w = SL_JW(&j->b);
    sl_jw_object(&w, NULL);
    sl_jw_object(&w, "end");
    sl_jw_uint(&w, "facts", facts);
    sl_jw_uint(&w, "cycles", cycles);
    sl_jw_hex(&w, "digest", digest);
    sl_jw_end_to(&w, 0);
    int r = end_line(j, from, err);
    if (r >= 0)
        r = flush(j, err);
    if (r < 0)
        return r;
    int closed = close(j->fd);
    j->fd = -1;
    if (closed < 0)
        return io_error(j, errno, err);
    if (j->partial && rename(j->partial, j->path) < 0)
        return io_error(j, errno, err);
    return 0;
}

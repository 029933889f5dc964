/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a journal, one line at a time. Whatever the bytes are, the result is a record or an error
 * with the file and the line.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/sim/facts/facts.h"
#include "cmd/sim/journal/journal.h"

#define CHUNK ((size_t)1 << 16)
#define RECORD_BYTES ((size_t)256 << 20) /* for what one line decodes to */

struct sl_journal_reader {
    int fd;
    char *path;
    struct sl_buf b; /* bytes read; the line in hand begins at 'from' */
    size_t from;
    bool at_end; /* of the file */
    uint32_t line;
    bool ended;            /* the END record was read */
    uint64_t done, total;  /* bytes */
    struct sl_arena arena; /* of the record in hand */
    struct sl_arena head;
    struct sl_sim_fact_reader facts;
};

static int bad_line(struct sl_err *err, const struct sl_journal_reader *r, int code,
                    const char *message) {
    return sl_err_set(err, code, "%s:%u: %s", r->path, r->line, message);
}

/* ---- lines ---- */

static int fill_buffer(struct sl_journal_reader *r, struct sl_err *err) {
    char chunk[CHUNK];
    ssize_t n;
    do {
        n = read(r->fd, chunk, sizeof(chunk));
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return sl_err_set(err, SL_EIO, "%s: %s", r->path, strerror(errno));
    if (n == 0)
        r->at_end = true;
    if (r->from > 0 && r->b.s) { /* what was handed out may go */
        memmove(r->b.s, r->b.s + r->from, r->b.len - r->from);
        r->b.len -= r->from;
        r->b.s[r->b.len] = '\0';
        r->from = 0;
    }
    sl_buf_add(&r->b, chunk, (size_t)n);
    r->done += (uint64_t)n;
    return 0;
}

/* The next line without its end, valid until the next call. 0: there is none. */
static int next_line(struct sl_journal_reader *r, char **ret, size_t *ret_len, struct sl_err *err) {
    size_t seen = 0;
    r->line++;
    for (;;) {
        char *start = r->b.len > r->from ? r->b.s + r->from : NULL;
        size_t have = r->b.len - r->from;
        char *end = start ? memchr(start + seen, '\n', have - seen) : NULL;
        if (end) {
            *end = '\0';
            *ret = start;
            *ret_len = (size_t)(end - start);
            r->from += *ret_len + 1;
            return 1;
        }
        if (r->at_end && have == 0)
            return 0;
        if (r->at_end)
            return bad_line(err, r, SL_EINVAL, "the journal is cut off in the middle of this line");
        if (have > SL_JOURNAL_MAX_LINE)
            return bad_line(err, r, SL_ELIMIT, "this line is too long for a journal");
        seen = have;
        int e = fill_buffer(r, err);
        if (e < 0)
            return e;
    }
}

/* ---- records ---- */

static uint64_t read_digest(struct sl_read *rd, struct sl_doc_fields *f) {
    const char *s = sl_doc_field_str(f, "digest", NULL);
    uint64_t v = 0;
    size_t i = 0;
    for (; s[i] && i < 16; i++) {
        const char *hex = "0123456789abcdef", *at = strchr(hex, s[i]);
        if (!at)
            break;
        v = v << 4 | (uint64_t)(at - hex);
    }
    if (i != 16 || s[i])
        sl_read_fail(rd, f->line, "digest: expected 16 hexadecimal digits, got \"%.40s\"", s);
    return v;
}

static void read_cycle(struct sl_read *rd, const struct sl_doc_node *n,
                       struct sl_journal_record *ret) {
    struct sl_doc_fields f;
    ret->kind = SL_JOURNAL_RECORD_CYCLE;
    sl_doc_fields_open(&f, rd, n, "a cycle");
    ret->at = sl_doc_field_int(&f, "cycle", 0, INT64_MIN, INT64_MAX);
    ret->n = (uint64_t)sl_doc_field_int(&f, "effects", 0, 0, UINT32_MAX);
    ret->digest = read_digest(rd, &f);
    sl_doc_fields_close(&f);
}

static void read_end(struct sl_read *rd, const struct sl_doc_node *n,
                     struct sl_journal_record *ret) {
    struct sl_doc_fields f;
    ret->kind = SL_JOURNAL_RECORD_END;
    sl_doc_fields_open(&f, rd, sl_doc_node_get(n, "end"), "the end");
    ret->n = (uint64_t)sl_doc_field_int(&f, "facts", 0, 0, INT64_MAX);
    ret->cycles = (uint64_t)sl_doc_field_int(&f, "cycles", 0, 0, INT64_MAX);
    ret->digest = read_digest(rd, &f);
    sl_doc_fields_close(&f);
}

static void read_fact(struct sl_journal_reader *r, struct sl_read *rd, const struct sl_doc_node *n,
                      struct sl_journal_record *ret, bool *ret_skip) {
    struct sl_sim_fact_line line = {0};
    ret->kind = SL_JOURNAL_RECORD_FACT;
    sl_sim_fact_decode(&r->facts, rd, n, &line);
    if (rd->code < 0)
        return;
    *ret_skip = line.kind == SL_LINE_SHAPE;
    if (line.kind == SL_LINE_OTHER)
        sl_read_fail(rd, n->line, "expected a fact, a cycle, an effect or the end");
    ret->fact = line.fact;
    ret->ns = line.note.ns;
    ret->name = line.fact.kind >= SL_FACT_WORKLOAD ? line.note.name : NULL;
    ret->class_name = line.note.tag && *line.note.tag ? line.note.tag : NULL;
    ret->podsets = line.note.podsets;
    ret->n_podsets = line.note.n_podsets;
    ret->shape = line.shape;
    if (ret->fact.kind >= SL_FACT_WORKLOAD && !ret->name)
        sl_read_fail(rd, n->line, "expected the name of a workload");
    if (ret->fact.kind == SL_FACT_WORKLOAD && (line.shape == 0 || line.note.n_podsets == 0))
        sl_read_fail(rd, n->line, "expected the number of a shape told before");
}

static int read_line(struct sl_journal_reader *r, char *text, size_t len,
                     struct sl_journal_record *ret, bool *ret_skip, struct sl_err *err) {
    static const char effect[] = "{\"effect\":";
    *ret = (struct sl_journal_record){.line = r->line};
    if (strncmp(text, effect, sizeof(effect) - 1) == 0) { /* compared as it stands */
        ret->kind = SL_JOURNAL_RECORD_EFFECT;
        ret->text = text;
        return 0;
    }
    _cleanup_(sl_doc_freep) struct sl_doc *d = NULL;
    int e = sl_doc_json(r->path, r->line, text, len, &d, err);
    if (e < 0)
        return e;
    sl_arena_clear(&r->arena);
    struct sl_read rd = {.file = r->path, .arena = &r->arena, .err = err};
    const struct sl_doc_node *n = d->n == 1 ? &d->roots[0] : NULL;
    if (!n || n->kind != SL_DOC_NODE_MAP)
        return bad_line(err, r, SL_EINVAL, "expected a JSON object");
    if (sl_doc_node_get(n, "cycle"))
        read_cycle(&rd, n, ret);
    else if (sl_doc_node_get(n, "end"))
        read_end(&rd, n, ret);
    else
        read_fact(r, &rd, n, ret, ret_skip);
    return rd.code;
}

int sl_journal_next(struct sl_journal_reader *r, struct sl_journal_record *ret,
                    struct sl_err *err) {
    for (;;) {
        char *text;
        size_t len;
        bool skip = false;
        int e = next_line(r, &text, &len, err);
        if (e < 0)
            return e;
        if (e == 0)
            return r->ended
                       ? 0
                       : bad_line(err, r, SL_EINVAL, "the journal is cut off: there is no end");
        if (r->ended)
            return bad_line(err, r, SL_EINVAL, "expected nothing after the end of the journal");
        e = read_line(r, text, len, ret, &skip, err);
        if (e < 0)
            return e;
        if (skip)
            continue;
        r->ended = ret->kind == SL_JOURNAL_RECORD_END;
        return 1;
    }
}

/* ---- opening ---- */

static int read_head(struct sl_journal_reader *r, struct sl_journal_head *head,
                     struct sl_err *err) {
    char *text = NULL;
    size_t len;
    int e = next_line(r, &text, &len, err);
    if (e < 0)
        return e;
    if (e == 0 || !text)
        return sl_err_set(err, SL_EINVAL, "%s: expected a journal, found an empty file", r->path);
    _cleanup_(sl_doc_freep) struct sl_doc *d = NULL;
    if (text[0] != '{' || sl_doc_json(r->path, 1, text, len, &d, err) < 0 || d->n != 1 ||
        !sl_doc_node_get(&d->roots[0], "sluice_journal"))
        return bad_line(err, r, SL_EINVAL,
                        "expected a journal that begins with {\"sluice_journal\":1,...}");
    struct sl_read rd = {.file = r->path, .arena = &r->head, .err = err};
    struct sl_doc_fields f;
    sl_doc_fields_open(&f, &rd, &d->roots[0], "the header");
    int64_t version = sl_doc_field_int(&f, "sluice_journal", 0, INT64_MIN, INT64_MAX);
    if (rd.code >= 0 && version != SL_JOURNAL_VERSION)
        sl_read_fail(&rd, 1, "expected a journal of version %d, found version %" PRId64,
                     SL_JOURNAL_VERSION, version);
    sl_doc_field_skip(&f, "program");
    head->source = sl_arena_strdup(&r->head, sl_doc_field_str(&f, "source", ""));
    head->eviction_delay = sl_doc_field_span(&f, "eviction_delay", 0);
    head->pods_ready = sl_doc_field_bool(&f, "pods_ready", false);
    const char *const *names =
        sl_doc_field_strs(&f, "classes", SL_JOURNAL_MAX_CLASSES, &head->n_classes);
    const char **copy = sl_arena_alloc0(&r->head, head->n_classes + 1, sizeof(*copy));
    for (uint32_t i = 0; i < head->n_classes; i++)
        copy[i] = sl_arena_strdup(&r->head, names[i]);
    head->classes = copy;
    sl_doc_fields_close(&f);
    return rd.code;
}

int sl_journal_open(const char *path, struct sl_journal_reader **ret, struct sl_journal_head *head,
                    struct sl_err *err) {
    _cleanup_(sl_journal_reader_freep) struct sl_journal_reader *r = sl_alloc0(1, sizeof(*r));
    r->fd = -1;
    r->path = sl_strdup(path);
    sl_buf_init(&r->b, SL_JOURNAL_MAX_LINE + 4 * CHUNK);
    sl_arena_init(&r->arena, RECORD_BYTES);
    sl_arena_init(&r->head, RECORD_BYTES);
    sl_sim_fact_reader_init(&r->facts);
    r->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0)
        return sl_err_set(err, errno == ENOENT ? SL_ENOENT : SL_EIO, "%s: %s", path,
                          strerror(errno));
    struct stat st;
    if (fstat(r->fd, &st) == 0 && st.st_size > 0)
        r->total = (uint64_t)st.st_size;
    int e = read_head(r, head, err);
    if (e < 0)
        return e;
    *ret = TAKE_PTR(r);
    return 0;
}

void sl_journal_position(const struct sl_journal_reader *r, uint64_t *ret_done,
                         uint64_t *ret_total) {
    *ret_done = r->done - (r->b.len - r->from);
    *ret_total = r->total;
}

void sl_journal_reader_free(struct sl_journal_reader *r) {
    if (!r)
        return;
    if (r->fd >= 0)
        (void)close(r->fd);
    sl_buf_done(&r->b);
    sl_arena_done(&r->arena);
    sl_arena_done(&r->head);
    sl_sim_fact_reader_done(&r->facts);
    sl_freep(&r->path);
    sl_freep(&r);
}

void sl_journal_reader_freep(struct sl_journal_reader **r) {
    sl_journal_reader_free(*r);
    *r = NULL;
}

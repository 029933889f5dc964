/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pods/log: what the runtime keeps in the form of the container runtime interface,
 *
 *     2026-01-31T12:00:00.123456789Z stdout F what was written
 *
 * becomes what was written. 'P' instead of 'F': the line goes on in the next record.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/rest/subresource.h"
#include "core/base/mem.h"
#include "core/base/stamp.h"
#include "lib/json/json.h"

struct api_log {
    const struct sl_api_kubelet *rt;
    void *source; /* NULL: there is nothing, and never will be */
    bool follow, timestamps;
    uint64_t offset;
    struct sl_buf part;  /* a record that has not wholly come yet */
    uint64_t skip;       /* lines at the beginning */
    sl_time since;       /* INT64_MIN: all */
    uint64_t bytes_left; /* bytes that may still be given out */
    bool within;         /* the last record, of either stream, had no end: as a kubelet has it, what
                            follows continues that line and gets no time of its own */
};

/* ---- the query ---- */

void api_log_query_init(struct api_log_query *q) {
    *q = (struct api_log_query){.container = "",
                                .since_time = "",
                                .tail_lines = -1,
                                .since_seconds = -1,
                                .limit_bytes = -1};
}

static bool refuse_options(struct api_refusal *no, int status, const char *reason,
                           const char *text) {
    *no = (struct api_refusal){.status = status, .reason = reason, .text = text};
    return false;
}

static bool read_number(const char *key, const char *value, int64_t low, int64_t *ret,
                        struct sl_arena *arena, struct api_refusal *no) {
    char *end;

    errno = 0;
    *ret = strtoll(value, &end, 10);
    if (end == value || *end || errno)
        return refuse_options(
            no, 400, "BadRequest",
            sl_arena_printf(arena, "strconv.ParseInt: parsing \"%s\": invalid syntax", value));
    if (*ret < low)
        return refuse_options(
            no, 422, "Invalid",
            sl_arena_printf(
                arena,
                "PodLogOptions \"\" is invalid: %s: Invalid value: %lld: must be greater than %s0",
                key, (long long)*ret, low ? "" : "or equal to "));
    return true;
}

bool api_log_param(struct api_log_query *q, const char *key, const char *value,
                   struct sl_arena *arena, struct api_refusal *no) {
    const struct {
        const char *key;
        bool *to;
    } flags[] = {
        {"follow", &q->follow}, {"previous", &q->previous}, {"timestamps", &q->timestamps}};
    const struct {
        const char *key;
        int64_t low, *to;
    } numbers[] = {{"tailLines", 0, &q->tail_lines},
                   {"sinceSeconds", 1, &q->since_seconds},
                   {"limitBytes", 1, &q->limit_bytes}};
    sl_time t;

    for (size_t i = 0; i < SL_LEN(flags); i++)
        if (strcmp(key, flags[i].key) == 0)
            *flags[i].to = strcmp(value, "false") != 0 && strcmp(value, "0") != 0;
    for (size_t i = 0; i < SL_LEN(numbers); i++)
        if (strcmp(key, numbers[i].key) == 0 &&
            !read_number(key, value, numbers[i].low, numbers[i].to, arena, no))
            return false;
    if (strcmp(key, "container") == 0)
        q->container = value;
    if (strcmp(key, "sinceTime") == 0) {
        q->since_time = value;
        if (!sl_stamp_parse(value, &t))
            return refuse_options(
                no, 400, "BadRequest",
                sl_arena_printf(arena, "parsing time \"%s\": it is no RFC 3339 time", value));
    }
    if (*q->since_time && q->since_seconds >= 0)
        return refuse_options(
            no, 422, "Invalid",
            "PodLogOptions \"\" is invalid: : Forbidden: at most one of `sinceTime` or "
            "`sinceSeconds` may be "
            "specified");
    return true;
}

/* ---- which container ---- */

static const char *names_of(yyjson_val *list, struct sl_arena *arena) {
    const char *text = "";
    size_t i, n;
    yyjson_val *c;

    yyjson_arr_foreach (list, i, n, c) {
        text = sl_arena_printf(arena, "%s%s%s", text, i ? " " : "", sl_json_str(c, "name"));
    }
    return text;
}

const char *api_pod_container(yyjson_val *pod, const char *requested, struct sl_arena *arena,
                              struct api_refusal *no) {
    static const char *const lists[] = {"spec.containers", "spec.initContainers",
                                        "spec.ephemeralContainers"};
    yyjson_val *main = sl_json_at(pod, lists[0]), *inits = sl_json_at(pod, lists[1]);
    const char *name = sl_json_str(pod, "metadata.name"), *text;

    for (size_t i = 0; i < SL_LEN(lists) && *requested; i++)
        if (sl_json_find(sl_json_at(pod, lists[i]), "name", requested))
            return requested;
    if (*requested) {
        text = sl_arena_printf(arena, "container %s is not valid for pod %s", requested, name);
    } else if (sl_json_size(main) == 1) {
        return sl_json_str(yyjson_arr_get_first(main), "name");
    } else {
        text = sl_arena_printf(arena,
                               "a container name must be specified for pod %s, choose one of: [%s]",
                               name, names_of(main, arena));
        if (sl_json_size(inits) > 0)
            text = sl_arena_printf(arena, "%s or one of the init containers: [%s]", text,
                                   names_of(inits, arena));
    }
    (void)refuse_options(no, 400, "BadRequest", text);
    return NULL;
}

/* ---- reading ---- */

struct record {
    sl_time at;
    size_t stamp; /* length of the text */
    const char *s;
    size_t len;
    bool ends; /* the line does */
};

/* One record without its newline; false: it is none. */
static bool read_record(const char *s, size_t len, struct record *r) {
    const char *blank = memchr(s, ' ', len), *second, *third;
    char stamp[40];

    if (!blank || (size_t)(blank - s) >= sizeof(stamp))
        return false;
    r->stamp = (size_t)(blank - s);
    memcpy(stamp, s, r->stamp);
    stamp[r->stamp] = '\0';
    second = memchr(blank + 1, ' ', len - r->stamp - 1);
    if (!second || !sl_stamp_parse(stamp, &r->at))
        return false;
    third = memchr(second + 1, ' ', len - (size_t)(second + 1 - s));
    if (!third)
        return false;
    r->ends = second[1] != 'P';
    r->s = third + 1;
    r->len = len - (size_t)(third + 1 - s);
    return true;
}

static void put_limited(struct api_log *l, struct sl_buf *out, const char *s, size_t len) {
    if (len > l->bytes_left)
        len = (size_t)l->bytes_left;
    l->bytes_left -= len;
    sl_buf_add(out, s, len);
}

static void take_record(struct api_log *l, const char *s, size_t len, struct sl_buf *out) {
    struct record r;
    bool begins = !l->within;

    if (!read_record(s, len, &r))
        return;
    l->within = !r.ends;
    if (l->skip > 0) {
        l->skip -= r.ends;
        return;
    }
    if (r.at < l->since)
        return;
    if (l->timestamps && begins) {
        put_limited(l, out, s, r.stamp);
        put_limited(l, out, " ", 1);
    }
    put_limited(l, out, r.s, r.len);
    if (r.ends)
        put_limited(l, out, "\n", 1);
}

/* A chunk of the log: into 'out', or its lines are only counted (NULL). False: there was nothing
 * new. */
static bool read_chunk(struct api_log *l, struct sl_buf *out, uint64_t *ret_lines, bool *ret_end) {
    _cleanup_(sl_buf_done) struct sl_buf chunk = SL_BUF(API_LOG_CHUNK);
    const char *p, *end, *newline;

    size_t n = l->rt->log_read(l->rt->ctx, l->source, l->offset, &chunk, ret_end);
    l->offset += n;
    p = sl_buf_str(&chunk);
    end = p + chunk.len;
    while (p < end && (newline = memchr(p, '\n', (size_t)(end - p)))) {
        struct record r;
        sl_buf_add(&l->part, p, (size_t)(newline - p));
        if (out)
            take_record(l, sl_buf_str(&l->part), l->part.len, out);
        else if (read_record(sl_buf_str(&l->part), l->part.len, &r))
            *ret_lines += r.ends;
        sl_buf_clear(&l->part);
        p = newline + 1;
    }
    sl_buf_add(&l->part, p, (size_t)(end - p));
    return n > 0;
}

bool api_log_step(struct api_log *l, struct sl_buf *out) {
    bool end = true, more;

    if (!l->source || l->bytes_left == 0)
        return false;
    more = read_chunk(l, out, NULL, &end);
    if (l->bytes_left == 0)
        return false;
    return more || (l->follow && !end);
}

/* Where the last lines begin: the log is read twice. */
static void skip_to_tail(struct api_log *l, uint64_t tail) {
    uint64_t lines = 0;
    bool end = false;

    while (read_chunk(l, NULL, &lines, &end))
        ;
    l->skip = lines > tail ? lines - tail : 0;
    l->offset = 0;
    sl_buf_clear(&l->part);
}

const char *api_foreign_node_text(struct sl_arena *a, yyjson_val *pod, const char *what) {
    return sl_arena_printf(a,
                           "pod %s runs on node %s, which has a kubelet of its own: sluice up does "
                           "not pass on %s to other kubelets",
                           sl_json_str(pod, "metadata.name"), sl_json_str(pod, "spec.nodeName"),
                           what);
}

struct api_log *api_log_open(const struct sl_api_kubelet *rt, yyjson_val *pod,
                             const struct api_log_query *q, sl_time now, struct sl_arena *arena,
                             struct api_refusal *no) {
    const char *container = api_pod_container(pod, q->container, arena, no),
               *name = sl_json_str(pod, "metadata.name");
    struct sl_err err = {0};
    struct api_log *l;

    if (!container)
        return NULL;
    l = sl_alloc0(1, sizeof(*l));
    *l = (struct api_log){
        .rt = rt, .follow = q->follow, .timestamps = q->timestamps, .since = INT64_MIN};
    l->bytes_left = q->limit_bytes >= 0 ? (uint64_t)q->limit_bytes : UINT64_MAX;
    sl_buf_init(&l->part, API_LOG_RECORD);
    if (*q->since_time)
        (void)sl_stamp_parse(q->since_time, &l->since);
    else if (q->since_seconds >= 0)
        l->since = sl_time_add(
            now, -(q->since_seconds < 1000000000 ? q->since_seconds : 1000000000) * SL_SEC);
    if (!rt || *sl_json_str(pod, "spec.nodeName") == '\0')
        return l; /* it stands nowhere yet: nothing was written */
    if (rt->has_node && !rt->has_node(rt->ctx, sl_json_str(pod, "spec.nodeName"))) {
        *no = (struct api_refusal){.status = 501,
                                   .reason = "NotImplemented",
                                   .text = api_foreign_node_text(arena, pod, "logs")};
        api_log_free(l);
        return NULL;
    }
    if (rt->log_open(rt->ctx, sl_json_str(pod, "metadata.namespace"), name,
                     sl_json_str(pod, "metadata.uid"), container, q->previous, &l->source,
                     &err) < 0) {
        (void)refuse_options(
            no, 400, "BadRequest",
            q->previous ? sl_arena_printf(
                              arena, "previous terminated container \"%s\" in pod \"%s\" not found",
                              container, name)
                        : sl_arena_strdup(arena, err.text));
        l->source = NULL;
        api_log_free(l);
        return NULL;
    }
    if (q->tail_lines >= 0)
        skip_to_tail(l, (uint64_t)q->tail_lines);
    return l;
}

void api_log_free(struct api_log *l) {
    if (!l)
        return;
    if (l->source)
        l->rt->log_close(l->rt->ctx, l->source);
    sl_buf_done(&l->part);
    sl_freep(&l);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the runtime: the in-memory API, its clock driven by the real one (and pushed on by
 * hand where a test would have to wait), a loop, real processes, a folder of its own. At the end no
 * process may be left.
 */
#ifndef SL_TESTS_CLUSTER_KUBELET_KUBELET_FIXTURE_H
#define SL_TESTS_CLUSTER_KUBELET_KUBELET_FIXTURE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <uv.h>

#include "cluster/kubelet/kubelet.h"
#include "cluster/kubelet/kubelet_int.h"
#include "fakeapi.h"
#include "lib/json/json.h"
#include "lib/log/log.h"

#define PODS "/api/v1/namespaces/default/pods"
#define FILES 321               /* that a container may open */
#define PATIENCE (120 * SL_SEC) /* with what takes a fraction of one */

struct world {
    uv_loop_t loop;
    uv_timer_t timer;
    struct fakeapi *api;
    struct sl_kubelet *rt;
    char dir[64], marker[32]; /* the marker stands in the command line of what may outlive a test */
    sl_time began, skipped;
    uint32_t writes; /* of pods, since it was last set */
    int (*renew)(void *ctx, const char *node, struct sl_err *err); /* Leases; NULL: none */
};

static inline sl_time real_now(void) {
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (sl_time)t.tv_sec * SL_SEC + t.tv_nsec;
}

static inline void nothing(uv_timer_t *t) {
    (void)t;
}

static inline void count_write(void *ctx, const struct fakeapi_change *c) {
    struct world *w = ctx;

    w->writes += c->client == 0 && strcmp(c->kind->plural, "pods") == 0;
}

static inline void start_kubelet(struct world *w, uint32_t sims) {
    const struct sl_kubelet_spec spec = {.loop = &w->loop,
                                         .client = fakeapi_port(w->api, 0),
                                         .dir = w->dir,
                                         .node = "machine",
                                         .files = FILES,
                                         .renew_lease = w->renew,
                                         .ctx = w,
                                         .sim = {.count = sims}};

    assert_int_equal(sl_kubelet_new(&spec, &w->rt, NULL), 0);
}

static inline void begin(struct world *w, uint32_t sims) {
    *w = (struct world){.dir = "/tmp/sluice-test-XXXXXX"};
    assert_non_null(mkdtemp(w->dir));
    assert_int_equal(chmod(w->dir, 0755), 0);
    (void)snprintf(w->marker, sizeof w->marker, "77%d", (int)getpid());
    sl_log_set(SL_LOG_WARN);
    assert_int_equal(uv_loop_init(&w->loop), 0);
    assert_int_equal(uv_timer_init(&w->loop, &w->timer), 0);
    assert_int_equal(uv_timer_start(&w->timer, nothing, 1, 1), 0); /* no turn is longer */
    w->api = fakeapi_new(1);
    fakeapi_on_change(w->api, count_write, w);
    w->began = real_now();
    start_kubelet(w, sims);
}

static inline void turn(struct world *w) {
    (void)uv_run(&w->loop, UV_RUN_ONCE);
    fakeapi_advance(w->api, real_now() - w->began + w->skipped);
    sl_kubelet_tick(w->rt);
}

static inline void stop(struct world *w, uint32_t grace_ms) {
    sl_kubelet_stop(w->rt, grace_ms);
    sl_kubelet_free(w->rt);
    w->rt = NULL;
    for (int i = 0; i < 10; i++)
        (void)uv_run(&w->loop, UV_RUN_NOWAIT);
}

/* Processes with the marker in their command lines. */
static inline uint32_t left(const struct world *w) {
    DIR *d = opendir("/proc");
    uint32_t n = 0;

    for (const struct dirent *e; d && (e = readdir(d));) {
        char path[300], line[512] = "";
        (void)snprintf(path, sizeof path, "/proc/%.20s/cmdline", e->d_name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t got = fd < 0 ? 0 : read(fd, line, sizeof line - 1);
        if (fd >= 0)
            (void)close(fd);
        n += got > 0 && memmem(line, (size_t)got, w->marker, strlen(w->marker));
    }
    if (d)
        (void)closedir(d);
    return n;
}

static inline void end(struct world *w) {
    if (w->rt)
        stop(w, 0);
    uv_close((uv_handle_t *)&w->timer, NULL);
    (void)uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    fakeapi_free(w->api);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(left(w), 0);
    klet_folder_remove(w->dir);
    assert_int_equal(access(w->dir, F_OK), -1);
}

/* ---- pods ---- */

/* 'spec' without braces; the node is this machine unless it has another. */
static inline void make_pod(struct world *w, const char *name, const char *meta, const char *spec) {
    struct sl_buf b, out;

    sl_buf_init(&b, (size_t)4 << 20);
    sl_buf_init(&out, (size_t)8 << 20);
    sl_buf_printf(&b,
                  "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\"%s%s},"
                  "\"spec\":{%s%s}}",
                  name, *meta ? "," : "", meta,
                  strstr(spec, "\"nodeName\"") ? "" : "\"nodeName\":\"machine\",", spec);
    const int status = fakeapi_do(w->api, SL_POST, PODS, SL_JSON, b.s, &out);
    if (status != 201)
        fail_msg("%d %s", status, sl_buf_str(&out));
    sl_buf_done(&b);
    sl_buf_done(&out);
}

/* One container that runs a shell script. */
static inline void make_sh(struct world *w, const char *name, const char *policy,
                           const char *script) {
    struct sl_buf b;

    sl_buf_init(&b, 65536);
    sl_buf_printf(&b,
                  "\"restartPolicy\":\"%s\",\"containers\":[{\"name\":\"main\",\"image\":\"x\","
                  "\"command\":[\"sh\",\"-c\",",
                  policy);
    sl_buf_json(&b, script);
    sl_buf_puts(&b, "]}]");
    make_pod(w, name, "", sl_buf_str(&b));
    sl_buf_done(&b);
}

static inline void make_object(struct world *w, const char *path, const char *body) {
    assert_int_equal(fakeapi_do(w->api, SL_POST, path, SL_JSON, body, NULL), 201);
}

static inline yyjson_val *pod_now(struct world *w, const char *name) {
    char path[200];

    (void)snprintf(path, sizeof path, PODS "/%s", name);
    return fakeapi_get(w->api, path);
}

static inline void delete_pod(struct world *w, const char *name, int grace) {
    char path[200];

    (void)snprintf(path, sizeof path, PODS "/%s?gracePeriodSeconds=%d", name, grace);
    assert_in_range(fakeapi_do(w->api, SL_DELETE, path, NULL, NULL, NULL), 200, 202);
}

static inline const char *phase_of(struct world *w, const char *name) {
    yyjson_val *o = pod_now(w, name);

    return o ? sl_json_str(o, "status.phase") : "gone";
}

/* The status of a container; its state is read with "state.terminated.exitCode" and the like. */
static inline yyjson_val *status_of(struct world *w, const char *pod, const char *container) {
    static const char *const lists[] = {"status.containerStatuses", "status.initContainerStatuses"};
    yyjson_val *o = pod_now(w, pod), *s;
    size_t i, n;

    for (int k = 0; k < 2; k++) {
        yyjson_val *list = sl_json_at(o, lists[k]);
        yyjson_arr_foreach (list, i, n, s) {
            if (strcmp(sl_json_str(s, "name"), container) == 0)
                return s;
        }
    }
    return NULL;
}

static inline const char *condition_of(struct world *w, const char *pod, const char *type,
                                       const char *what) {
    yyjson_val *list = sl_json_at(pod_now(w, pod), "status.conditions"), *c;
    size_t i, n;

    yyjson_arr_foreach (list, i, n, c) {
        if (strcmp(sl_json_str(c, "type"), type) == 0)
            return sl_json_str(c, what);
    }
    return "";
}

/* Turns until something is so. */
#define WAIT(w, question)                                                                          \
    do {                                                                                           \
        for (const sl_time until_ = real_now() + PATIENCE; !(question); turn(w)) {                 \
            if (real_now() > until_)                                                               \
                fail_msg("it never came to this: %s", #question);                                  \
        }                                                                                          \
    } while (0)

/* Turns until the pod has this phase ("gone": until it is no more). */
static inline void wait_phase(struct world *w, const char *pod, const char *phase) {
    const sl_time until = real_now() + PATIENCE;

    while (strcmp(phase_of(w, pod), phase) != 0) {
        if (real_now() > until)
            fail_msg("%s is %s, not %s (%s)", pod, phase_of(w, pod), phase,
                     sl_json_str(status_of(w, pod, "main"), "state.waiting.message"));
        turn(w);
    }
}

/* Turns until a field of a container's status is this. */
static inline void wait_reason(struct world *w, const char *pod, const char *container,
                               const char *path, const char *word) {
    const sl_time until = real_now() + PATIENCE;

    while (strcmp(sl_json_str(status_of(w, pod, container), path), word) != 0) {
        if (real_now() > until)
            fail_msg("%s of %s is \"%s\", not \"%s\"", path, pod,
                     sl_json_str(status_of(w, pod, container), path), word);
        turn(w);
    }
}

/* For so long, and not less than a turn each millisecond: others may have the processor. */
static inline void turns(struct world *w, uint32_t ms) {
    const sl_time until = real_now() + ms * SL_MSEC;

    for (uint32_t n = 0; n < ms || real_now() < until; n++)
        turn(w);
}

/* Lets the clock of the API jump. */
static inline void leap(struct world *w, sl_span by) {
    w->skipped += by;
    turn(w);
}

/* ---- a server to probe ---- */

static inline int listen_somewhere(int *ret_port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    *ret_port = ntohs(a.sin_port);
    return fd;
}

/* Answers one request that begins like this, if there is one. */
static inline bool answer_one(struct world *w, int fd, const char *begins, const char *with) {
    int c = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    char text[1000];
    ssize_t n = -1;

    if (c < 0)
        return false;
    for (int i = 0; i < 100 && (n = read(c, text, sizeof text - 1)) < 0; i++)
        turn(w);
    text[n > 0 ? n : 0] = '\0';
    if (n > 0)
        assert_int_equal(strncmp(text, begins, strlen(begins)), 0);
    (void)!write(c, with, strlen(with));
    (void)close(c);
    return true;
}

/* ---- logs ---- */

/* All there is; 'plain': without the heads of lines. Returns false if there is no log; *ret_end as
 * it was told. */
static inline bool read_log(struct world *w, const char *pod, const char *container, bool previous,
                            bool plain, struct sl_buf *out, bool *ret_end) {
    yyjson_val *o = pod_now(w, pod);
    struct sl_err err;
    struct sl_buf raw;
    void *log;
    uint64_t at = 0;

    *ret_end = false;
    if (sl_kubelet_log_open(w->rt, "default", pod, sl_json_str(o, "metadata.uid"), container,
                            previous, &log, &err) < 0) {
        sl_buf_puts(out, err.text);
        return false;
    }
    sl_buf_init(&raw, (size_t)64 << 20);
    for (size_t n; (n = sl_kubelet_log_read(w->rt, log, at, &raw, ret_end)) > 0; at += n)
        assert_int_equal(raw.len, at + n);
    sl_kubelet_log_close(w->rt, log);
    for (char *p = raw.s; plain && p && p < raw.s + raw.len;) {
        char *nl = memchr(p, '\n', (size_t)(raw.s + raw.len - p));
        assert_non_null(nl);
        assert_true(nl - p >= 40 && p[29] == 'Z' && p[30] == ' ' && p[37] == ' ' &&
                    (p[38] == 'F' || p[38] == 'P'));
        sl_buf_add(out, p + 40, (size_t)(nl - p - 40) + (p[38] == 'F'));
        p = nl + 1;
    }
    if (!plain)
        sl_buf_add(out, raw.s, raw.len);
    sl_buf_done(&raw);
    return true;
}

static inline void expect_log(struct world *w, const char *pod, const char *container,
                              bool previous, const char *text) {
    struct sl_buf b;
    bool over;

    sl_buf_init(&b, (size_t)64 << 20);
    (void)read_log(w, pod, container, previous, true, &b, &over);
    assert_string_equal(sl_buf_str(&b), text);
    sl_buf_done(&b);
}

/* Turns until its log is not empty: what it does before its first output is done. */
static inline void wait_reported(struct world *w, const char *pod) {
    struct sl_buf b;
    bool over;

    sl_buf_init(&b, (size_t)64 << 20);
    WAIT(w, (sl_buf_clear(&b), read_log(w, pod, "main", false, true, &b, &over)) && b.len > 0);
    sl_buf_done(&b);
}

#endif

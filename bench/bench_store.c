/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the store costs, one JSON line per case: changes per second with so many in flight, each
 * waited for until it is kept on the disk under the current folder (or TMPDIR), and the time to
 * open a file with as many objects.
 *
 *     {"bench":"store/puts-8","value":12345.6,"unit":"puts/s"}
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "cluster/store/store.h"
#include "core/base/mem.h"

#define TEXT 2000
#define SECONDS 2.0

struct run {
    struct sl_store *st;
    char text[TEXT];
    uint64_t done, made;
    bool ending;
    uint32_t flying;
};

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void line(const char *name, uint32_t n, double value, const char *unit) {
    printf("{\"bench\":\"store/%s-%u\",\"value\":%.1f,\"unit\":\"%s\"}\n", name, n, value, unit);
}

static void put(struct run *r);

static void on_kept(void *ctx, int result) {
    struct run *r = ctx;

    sl_assert(result == 0);
    r->done++;
    r->flying--;
    if (!r->ending)
        put(r);
}

/* A third are new objects, the others change one of the last ten thousand. */
static void put(struct run *r) {
    uint64_t i = r->made % 3 == 0 ? r->made / 3 : r->made * 7919 % (r->made / 3 % 10000 + 1);
    char name[32];

    r->made++;
    (void)snprintf(name, sizeof name, "object-%08llu", (unsigned long long)i);
    sl_assert(sl_store_put(r->st, 0, "default", name, "d290f1ee-6c54-4b01-90e6-d701748f0851",
                           r->text, TEXT, NULL, NULL) == 0);
    r->flying++;
    sl_store_on_commit(r->st, sl_store_version(r->st), on_kept, r);
}

static struct sl_store *open_store(uv_loop_t *loop, const char *file) {
    struct sl_store_spec spec = {.loop = loop, .path = file};
    struct sl_store *st = NULL;
    struct sl_err err;

    if (sl_store_open(&spec, &st, &err) < 0 || sl_store_resource(st, 0, "pods", &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return st;
}

static void measure(const char *dir, uint32_t flight) {
    struct run r = {0};
    uv_loop_t loop;
    char file[300];

    memset(r.text, 'x', TEXT);
    (void)snprintf(file, sizeof file, "%s/%u.db", dir, flight);
    sl_assert(uv_loop_init(&loop) == 0);
    r.st = open_store(&loop, file);
    double t0 = seconds(), t;
    for (uint32_t i = 0; i < flight; i++)
        put(&r);
    while ((t = seconds()) - t0 < SECONDS)
        (void)uv_run(&loop, UV_RUN_ONCE);
    line("puts", flight, (double)r.done / (t - t0), "puts/s");
    r.ending = true;
    while (r.flying)
        (void)uv_run(&loop, UV_RUN_ONCE);
    sl_store_close(r.st);
    (void)uv_run(&loop, UV_RUN_NOWAIT);
    t0 = seconds();
    r.st = open_store(&loop, file);
    t = seconds();
    line("open", sl_store_count(r.st, 0), (t - t0) * 1e3, "ms");
    sl_store_close(r.st);
    (void)uv_run(&loop, UV_RUN_NOWAIT);
    (void)uv_loop_close(&loop);
    (void)unlink(file);
    (void)snprintf(file, sizeof file, "%s/%u.db-lock", dir, flight);
    (void)unlink(file);
}

int main(void) {
    static const uint32_t flights[] = {1, 8, 64, 512};
    const char *tmp = getenv("TMPDIR");
    char dir[200];

    (void)snprintf(dir, sizeof dir, "%s/sl-bench-XXXXXX", tmp && *tmp ? tmp : ".");
    if (!mkdtemp(dir)) {
        perror(dir);
        return 1;
    }
    for (size_t i = 0; i < SL_LEN(flights); i++)
        measure(dir, flights[i]);
    return rmdir(dir) < 0;
}

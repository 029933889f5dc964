/* SPDX-License-Identifier: Apache-2.0 */
/* A store in a folder of its own, on a loop of its own. */
#ifndef SL_TESTS_CLUSTER_STORE_STORE_FIXTURE_H
#define SL_TESTS_CLUSTER_STORE_STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* and only then */
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "cluster/store/store.h"
#include "core/base/mem.h"
#include "core/base/prng.h"

#define FX_RESOURCES 3u

struct fx {
    uv_loop_t loop;
    struct sl_store *st;
    char dir[64], file[80];
    bool memory; /* no file */
    uint32_t past;
};

static const char *const fx_names[FX_RESOURCES] = {"pods", "batch/jobs", "events"};

static inline int fx_open(struct fx *f, struct sl_err *err) {
    struct sl_store_spec spec = {
        .loop = &f->loop, .path = f->memory ? NULL : f->file, .past = f->past};
    int r = sl_store_open(&spec, &f->st, err);

    for (uint32_t i = 0; r >= 0 && i < FX_RESOURCES; i++) {
        r = sl_store_resource(f->st, i, fx_names[i], err);
        if (r < 0)
            sl_store_close(f->st);
    }
    if (r < 0)
        f->st = NULL;
    return r;
}

static inline void fx_opened(struct fx *f) {
    struct sl_err err = {0};

    if (fx_open(f, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void fx_close(struct fx *f) {
    sl_store_close(f->st);
    f->st = NULL;
    (void)uv_run(&f->loop, UV_RUN_NOWAIT);
}

static inline void fx_init(struct fx *f) {
    *f = (struct fx){0};
    (void)snprintf(f->dir, sizeof f->dir, "%s", "/tmp/sl-store-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    (void)snprintf(f->file, sizeof f->file, "%s/objects.db", f->dir);
    assert_int_equal(uv_loop_init(&f->loop), 0);
}

static inline void fx_done(struct fx *f) {
    struct dirent *e;

    fx_close(f);
    (void)uv_run(&f->loop, UV_RUN_NOWAIT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    DIR *d = opendir(f->dir);
    while (d && (e = readdir(d))) {
        char path[400];
        (void)snprintf(path, sizeof path, "%s/%s", f->dir, e->d_name);
        (void)unlink(path);
    }
    if (d)
        (void)closedir(d);
    (void)rmdir(f->dir);
}

static inline void fx_flag(void *ctx, int r) {
    *(int *)ctx = r;
}

/* Until everything is committed or rolled back, and delivered. The result is that of the last
 * change. */
static inline int fx_settle(struct fx *f) {
    uint64_t last = sl_store_version(f->st);
    int r = 1;

    sl_store_on_commit(f->st, last, fx_flag, &r);
    while (r == 1 || sl_store_delivered(f->st) < last)
        (void)uv_run(&f->loop, UV_RUN_ONCE);
    (void)uv_run(&f->loop, UV_RUN_NOWAIT); /* watches that began behind */
    return r;
}

static inline uint64_t fx_seeds(uint64_t usual) {
    const char *s = getenv("SL_SEEDS");

    return s ? strtoull(s, NULL, 10) / 100 + 1 : usual;
}

/* The content under a key at a version: some bytes that name both. */
static inline size_t fx_text(char *out, size_t size, const char *name, uint64_t version) {
    struct sl_prng p;
    size_t len;

    sl_prng_init(&p, version);
    len = (size_t)snprintf(out, size, "%s@%llu ", name, (unsigned long long)version);
    for (size_t pad = sl_prng_below(&p, size - len); pad > 0; pad--)
        out[len++] = (char)('a' + version % 26);
    return len;
}

#endif

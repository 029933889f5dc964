/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whoever watches objects is held to its time: every list and every map of the kinds that it
 * watches is grown, with names that differ, with one name again and again and in each item of the
 * list around it; the object comes, changes and goes, and each of these must be done within 100 ms
 * of processor time for each MiB that is exchanged. What is quadratic takes many times that. The
 * slowest ones are tried again at the size of the largest object that the API takes.
 *
 *     test_NAME [all [BYTES]]
 *
 * Without "all" each field is grown in one of the ways. SL_TEST_KIND and SL_TEST_FIELD choose some,
 * SL_TEST_TIMES shows all.
 */
#ifndef SL_TESTS_DECODE_GROWN_H
#define SL_TESTS_DECODE_GROWN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "fakeapi.h"
#include "meter.h"

struct grown_kind {
    const char *group, *version, *plural;
    const char *base; /* a small object without name; quotes may be written as ' */
    /* The one that everything else uses: it is changed and put back. NULL: there is none. */
    const char *used;
};

struct grown_world {
    struct fakeapi *api;
    struct meter meter;
    const char *ns;
    int64_t most;   /* items of a list of objects that its API takes; 0: any number */
    int64_t any_us; /* besides, however short: folders and processes of so many items */
    /* Until it has come to rest. */
    void (*run)(struct grown_world *w);
    /* Something small is made that uses all there is, and goes again; may be NULL. */
    void (*probe)(struct grown_world *w, bool make);
    void *ctx;
};

/* The kinds are those of the embedded API server. */
int grown_set_up(void **state);
int grown_tear_down(void **state);
/* One more, from its definition; quotes may be written as '. */
void grown_define(const char *definition);
void grown_args(int argc, char **argv);
void grown_all(struct grown_world *w, const struct grown_kind *kinds, size_t n);
/* What was metered must have been done in its time. */
void grown_hold(struct grown_world *w, const char *what);
/* Quotes may be written as '. Returns the status. */
int grown_do(struct grown_world *w, enum sl_kube_method method, const char *path, const char *text);

#endif

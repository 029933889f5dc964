/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers beside a low limit of descriptors: what cannot start waits, holds nothing meanwhile,
 * and starts when there is space. A program of its own, because the limit cannot be raised again.
 */
#include "kubelet_fixture.h"

#include <sys/resource.h>

#define LIMIT 256
#define RESERVE (LIMIT / 4)
#define NEEDED 4 /* by a container that runs: state, output, errors, log */

struct filler {
    int fds[LIMIT];
    uint32_t n;
};

static bool is_open(int fd) {
    return fcntl(fd, F_GETFD) >= 0;
}

static uint32_t count_open(void) {
    uint32_t n = 0;

    for (int fd = 0; fd < LIMIT; fd++)
        n += is_open(fd);
    return n;
}

/* Leaves so many of the numbers that containers may have. */
static void fill(struct filler *f, uint32_t space) {
    uint32_t unused = 0;

    f->n = 0;
    for (int fd = 0; fd <= LIMIT - RESERVE; fd++)
        unused += !is_open(fd);
    for (; unused > space; unused--) {
        const int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
        assert_in_range(fd, 0, LIMIT - RESERVE);
        f->fds[f->n++] = fd;
    }
}

static void empty(struct filler *f) {
    for (; f->n > 0; f->n--)
        assert_int_equal(close(f->fds[f->n - 1]), 0);
}

static bool waits(struct world *w, const char *pod) {
    return strstr(sl_json_str(status_of(w, pod, "main"), "state.waiting.message"),
                  strerror(EMFILE));
}

static bool runs(struct world *w, const char *pod) {
    return sl_json_at(status_of(w, pod, "main"), "state.running");
}

static uint32_t n_events(struct world *w, const char *pod) {
    yyjson_val *list = sl_json_at(fakeapi_get(w->api, "/api/v1/events"), "items"), *e;
    uint32_t found = 0;
    size_t i, n;

    yyjson_arr_foreach (list, i, n, e) {
        found += strcmp(sl_json_str(e, "involvedObject.name"), pod) == 0 &&
                 strstr(sl_json_str(e, "message"), strerror(EMFILE));
    }
    return found;
}

/* Deletes it and waits until its descriptors are closed: so many remain. */
static void remove_pod(struct world *w, const char *pod, uint32_t remain) {
    delete_pod(w, pod, 0);
    wait_phase(w, pod, "gone");
    WAIT(w, count_open() <= remain);
}

/* How many are open while nothing runs; the loop opens one of them with its first stream. */
static uint32_t count_idle(struct world *w) {
    const uint32_t before = count_open();

    make_sh(w, "first", "Never", "sleep 1000");
    WAIT(w, runs(w, "first"));
    assert_in_range(count_open(), before + NEEDED, before + NEEDED + 1);
    const uint32_t idle = count_open() - NEEDED;
    remove_pod(w, "first", idle);
    return idle;
}

/* However many are left: a container runs with all that it needs, or waits and holds none. */
static void waiting_holds_none(void **state) {
    struct world w;
    struct filler f;
    uint32_t waited = 0, ran = 0;
    (void)state;

    begin(&w, 0);
    const uint32_t idle = count_idle(&w);
    for (uint32_t space = 0; space <= 2 * NEEDED; space++) {
        char name[16];
        (void)snprintf(name, sizeof name, "p-%u", space);
        fill(&f, space);
        const uint32_t before = count_open();
        make_sh(&w, name, "Never", "sleep 1000");
        WAIT(&w, runs(&w, name) || waits(&w, name));
        for (int i = 0; i < 3; i++) /* tried again */
            leap(&w, 6 * SL_SEC);
        print_message("%u left: it %s\n", space, runs(&w, name) ? "runs" : "waits");
        waited += waits(&w, name);
        ran += runs(&w, name);
        assert_int_equal(count_open(), before + (runs(&w, name) ? NEEDED : 0));
        assert_true(n_events(&w, name) <= 1);
        empty(&f);
        leap(&w, 6 * SL_SEC);
        WAIT(&w, runs(&w, name));
        remove_pod(&w, name, idle);
    }
    assert_true(waited > 0 && ran > 0);
    end(&w);
}

#define MANY 20
static void name_pod(char out[16], int i) {
    (void)snprintf(out, 16, "p-%d", i);
}

static int count_running(struct world *w) {
    char name[16];
    int n = 0;

    for (int i = 0; i < MANY; i++) {
        name_pod(name, i);
        n += runs(w, name);
    }
    return n;
}

/* As many run together as there are descriptors for, and when they have ended, as many of those
 * that waited. Some have one above those that they share, so it may be more than that. */
static void others_take_the_place(void **state) {
    const int fit = 5;
    struct world w;
    struct filler f;
    char name[16];
    bool first[MANY];
    (void)state;

    begin(&w, 0);
    (void)count_idle(&w);
    fill(&f, (uint32_t)fit * NEEDED);
    for (int i = 0; i < MANY; i++) {
        name_pod(name, i);
        make_sh(&w, name, "Never", "sleep 1000");
        WAIT(&w, runs(&w, name) || waits(&w, name));
    }
    assert_in_range(count_running(&w), fit, MANY / 2);
    for (int i = 0; i < MANY; i++) {
        name_pod(name, i);
        first[i] = runs(&w, name);
    }
    for (int i = 0; i < MANY; i++) {
        name_pod(name, i);
        if (first[i])
            delete_pod(&w, name, 0);
    }
    for (int i = 0; i < MANY; i++) {
        name_pod(name, i);
        if (first[i])
            wait_phase(&w, name, "gone");
    }
    WAIT(&w, (leap(&w, SL_SEC), count_running(&w) >= fit));
    empty(&f);
    end(&w);
}

/* A restart that waits for descriptors leaves the logs of the last runs as they are. */
static void logs_stay(void **state) {
    struct world w;
    struct filler f;
    (void)state;

    begin(&w, 0);
    const uint32_t idle = count_idle(&w);
    for (uint32_t space = 0; space <= NEEDED; space++) {
        char name[16];
        (void)snprintf(name, sizeof name, "p-%u", space);
        make_sh(&w, name, "Always", "echo ran; exit 1");
        wait_reason(&w, name, "main", "state.waiting.reason", "CrashLoopBackOff");
        fill(&f, space);
        leap(&w, 11 * SL_SEC);
        WAIT(&w,
             waits(&w, name) || sl_json_int(status_of(&w, name, "main"), "restartCount", 0) > 1);
        if (waits(&w, name)) {
            assert_int_equal(sl_json_int(status_of(&w, name, "main"), "restartCount", 0), 1);
            expect_log(&w, name, "main", false, "ran\n");
            expect_log(&w, name, "main", true, "ran\n");
        }
        empty(&f);
        remove_pod(&w, name, idle);
    }
    end(&w);
}

int main(void) {
    const struct rlimit files = {LIMIT, LIMIT};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_holds_none),
        cmocka_unit_test(others_take_the_place),
        cmocka_unit_test(logs_stay),
    };

    if (setrlimit(RLIMIT_NOFILE, &files) < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

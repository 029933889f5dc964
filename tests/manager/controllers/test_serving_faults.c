/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of any size, made larger and smaller in any order, while requests are lost and late and we
 * are killed. */
#include "core/base/prng.h"
#include "serving_fixture.h"

/* Any sizes in any order, with faults and restarts: what must hold is asked all the time
 * (on_change), and in the end everything that is wanted runs. */
static void history(uint64_t seed, bool groups) {
    enum { QUOTA = 6, SIZE = 2 };
    int each = groups ? SIZE : 1, most = QUOTA / each;
    struct stage s;
    struct sl_prng p;
    struct fakeapi_faults faults;
    uint32_t client = 0;

    sl_prng_init(&p, seed);
    open_stage(&s, seed, groups ? "none" : "web", QUOTA);
    s.ordered = sl_prng_below(&p, 2);
    s.strict = false; /* a late shrink of a dead leader may send one too many away */
    fakeapi_some_faults(&p, 20, &faults);
    faults.clock_step = 0; /* or everybody has waited too long for his pods */
    fakeapi_set_faults(s.w.api, &faults);
    int first = (int)sl_prng_below(&p, (uint32_t)most + 2);
    if (groups) {
        make_lws(&s, first, SIZE, sl_prng_below(&p, 2));
        fakeapi_at(s.w.api, fakeapi_now(s.w.api) + TICK, tick_lws, &s, 0);
    } else {
        make_set(&s, first, "");
    }
    for (int i = 0; i < 12; i++) {
        run(&s.w, (sl_span)(1 + sl_prng_below(&p, 4000)) * SL_MSEC);
        (groups ? scale_lws : scale)(&s, (int)sl_prng_below(&p, (uint32_t)most + 3));
        s.deaf = sl_prng_below(&p, 8) == 0;
        if (client + 1 < FAKEAPI_CLIENTS && sl_prng_below(&p, 8) == 0)
            restart(&s.w, ++client);
    }
    s.deaf = false;
    fakeapi_set_faults(s.w.api, NULL);
    fakeapi_cut(s.w.api, client); /* a stream that hangs is noticed late */
    run(&s.w, 120 * SL_SEC);
    int last = (int)sl_prng_below(&p, (uint32_t)most + 1);
    (groups ? scale_lws : scale)(&s, last);
    run(&s.w, 120 * SL_SEC);
    last *= each;
    if (running(&s) != last || pods(&s) != last || used(&s) != last)
        fail_msg("seed %d: %d of %d wanted run, of %d; %d used", (int)seed, running(&s), last,
                 pods(&s), used(&s));
    end(&s.w);
}

static void histories(bool groups) {
    const char *from = getenv("SEED"), *seeds = getenv("SL_SEEDS");
    uint64_t last = seeds ? strtoull(seeds, NULL, 10) / 200 : 30;
    for (uint64_t seed = from ? strtoull(from, NULL, 10) : 1; seed <= last; seed++)
        history(seed, groups);
}

static void test_histories(void **state) {
    (void)state;
    histories(false);
}

static void test_lws_histories(void **state) {
    (void)state;
    histories(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_histories),
        cmocka_unit_test(test_lws_histories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

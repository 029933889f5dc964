/* SPDX-License-Identifier: Apache-2.0 */
/* Ledgers in a real PostgreSQL server. */
#ifndef SL_TESTS_LIB_LEDGER_POSTGRES_FIXTURE_H
#define SL_TESTS_LIB_LEDGER_POSTGRES_FIXTURE_H

#include "ledger_fixture.h"
#include "postgres.h"

static inline void open_url(struct fx *f, const char *url, sl_span retention) {
    struct sl_err err = {0};
    struct sl_ledger_spec spec = {.url = url, .spool = f->spool, .retention = retention};

    if (sl_ledger_open(&spec, &f->l, &err) < 0)
        fail_msg("%s", err.text);
}

static inline bool patient(sl_time *end) {
    if (*end == 0)
        *end = fx_now() + FX_PATIENCE;
    fx_nap(2);
    return fx_now() < *end;
}

/* All is copied. */
static inline void drain(struct fx *f) {
    fx_flush(f);
    for (sl_time end = 0; fx_stats(f).spooled > 0 && patient(&end);) {
    }
    assert_int_equal(fx_stats(f).spooled, 0);
}

static inline void await_error(struct fx *f, const char *part) {
    for (sl_time end = 0; !strstr(fx_stats(f).error, part) && patient(&end);) {
    }
    if (!strstr(fx_stats(f).error, part))
        fail_msg("%s instead of %s", fx_stats(f).error, part);
    assert_false(fx_stats(f).connected);
    assert_null(strstr(fx_stats(f).error, PG_PASSWORD));
    assert_null(strstr(fx_stats(f).error, PG_PASSWORD_URL));
}

static inline void check_jobs(const char *database, int64_t jobs) {
    assert_int_equal(pg_number(database, "SELECT count(*) FROM events"), jobs * FX_LIFE);
    assert_int_equal(pg_number(database, "SELECT count(*) FROM job_state"), jobs);
    assert_int_equal(pg_number(database, FX_TWICE), 0);
    assert_int_equal(pg_number(database, FX_WRONG), 0);
    assert_int_equal(pg_number(database, "SELECT count(*) FROM jobs WHERE wait_seconds <> 30 OR "
                                         "run_seconds <> 10 OR reason <> 'Complete'"),
                     0);
}

#endif

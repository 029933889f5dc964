/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics: the exposition against golden text, numbers in Go's form, drop, change of role, the
 * ceiling; the table against Kueue's bucket rules; docs/metrics.md against the table:
 *
 *     SL_UPDATE=1 build/tests/lib/metrics/test_metrics  writes docs/metrics.md again
 */
#include "lib/metrics/metrics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/base/mem.h"

static struct sl_buf out;

static int setup(void **state) {
    *state = sl_metrics_new();
    sl_buf_init(&out, (size_t)64 << 20);
    return 0;
}

static int teardown(void **state) {
    sl_metrics_free(*state);
    sl_buf_done(&out);
    return 0;
}

static const char *print(const struct sl_metrics *m) {
    sl_buf_clear(&out);
    sl_metrics_print(m, &out);
    assert_false(sl_buf_full(&out));
    return sl_buf_str(&out);
}

/* How many lines of the exposition begin with this text. */
static uint32_t lines(const struct sl_metrics *m, const char *start) {
    uint32_t n = 0;

    for (const char *p = print(m); *p; p = strchr(p, '\n') + 1)
        n += strncmp(p, start, strlen(start)) == 0;
    return n;
}

#define WAIT "kueue_admission_checks_wait_time_seconds"
#define OF "{cluster_queue=\"team-a\",priority_class=\"\",replica_role=\"standalone\""
#define BUCKET(le, n) WAIT "_bucket" OF ",le=\"" le "\"} " n "\n"

static const char golden[] =
    "# HELP kueue_build_info Always 1; the labels tell the version that runs.\n"
    "# TYPE kueue_build_info gauge\n"
    "kueue_build_info{git_version=\"v0.1.0\",git_commit=\"c0ffee\",build_date=\"\","
    "go_version=\"\",compiler=\"gcc\",platform=\"linux/amd64\"} 1\n"
    "# HELP kueue_admitted_workloads_total Workloads that were admitted.\n"
    "# TYPE kueue_admitted_workloads_total counter\n"
    "kueue_admitted_workloads_total{cluster_queue=\"team-a\",priority_class=\"high\","
    "replica_role=\"standalone\"} 3\n"
    "kueue_admitted_workloads_total{cluster_queue=\"team-a\",priority_class=\"\","
    "replica_role=\"standalone\"} 1\n"
    "# HELP kueue_admission_checks_wait_time_seconds Time from quota reservation until "
    "admission: the wait for admission checks.\n"
    "# TYPE kueue_admission_checks_wait_time_seconds histogram\n"
    /* clang-format off */
    BUCKET("1", "1") BUCKET("2.5", "2") BUCKET("5", "2") BUCKET("10", "2") BUCKET("20", "2")
    BUCKET("40", "2") BUCKET("80", "2") BUCKET("160", "2") BUCKET("320", "2") BUCKET("640", "2")
    BUCKET("1280", "2") BUCKET("2560", "2") BUCKET("5120", "2") BUCKET("10240", "2")
    BUCKET("+Inf", "3")
    WAIT "_sum" OF "} 20002.75\n" WAIT "_count" OF "} 3\n"
    /* clang-format on */
    "# HELP kueue_cluster_queue_borrowing_limit Borrowing limit; +Inf without one.\n"
    "# TYPE kueue_cluster_queue_borrowing_limit gauge\n"
    "kueue_cluster_queue_borrowing_limit{cohort=\"\",cluster_queue=\"team-a\",flavor=\"spot\","
    "resource=\"cpu\",replica_role=\"standalone\"} +Inf\n"
    "# HELP kueue_cluster_queue_weighted_share The share that fair sharing compares: borrowed "
    "over lendable, divided by the weight; 0 without borrowing, NaN with weight 0 and "
    "borrowing.\n"
    "# TYPE kueue_cluster_queue_weighted_share gauge\n"
    "kueue_cluster_queue_weighted_share{cluster_queue=\"team-a\",cohort=\"all\","
    "replica_role=\"standalone\"} NaN\n"
    "# HELP sluice_api_writes_total Writes to the API server by kind of object and outcome.\n"
    "# TYPE sluice_api_writes_total counter\n"
    "sluice_api_writes_total{kind=\"a\\\\b\\\"c\\nd\",outcome=\"written\"} 1\n"
    "# HELP sluice_api_writes_in_flight Writes that the API server has not answered yet.\n"
    "# TYPE sluice_api_writes_in_flight gauge\n"
    "sluice_api_writes_in_flight 1\n"
    "# HELP sluice_config_warnings Things in the configuration that have no effect here; the "
    "log names them.\n"
    "# TYPE sluice_config_warnings gauge\n"
    "sluice_config_warnings 3\n";

static void test_golden(void **state) {
    struct sl_metrics *m = *state;

    assert_string_equal(print(m), "");
    sl_metric_observe(m, SL_M_ADMISSION_CHECKS_WAIT_TIME_SECONDS, 0, "team-a", "");
    sl_metric_observe(m, SL_M_ADMISSION_CHECKS_WAIT_TIME_SECONDS, 2.5, "team-a", "");
    sl_metric_observe(m, SL_M_ADMISSION_CHECKS_WAIT_TIME_SECONDS, 20000.25, "team-a", "");
    sl_metric_add(m, SL_M_ADMITTED_WORKLOADS_TOTAL, 1, "team-a", "high");
    sl_metric_add(m, SL_M_ADMITTED_WORKLOADS_TOTAL, 2, "team-a", "high");
    sl_metric_add(m, SL_M_ADMITTED_WORKLOADS_TOTAL, 1, "team-a", NULL);
    sl_metric_set(m, SL_M_CLUSTER_QUEUE_BORROWING_LIMIT, INFINITY, "", "team-a", "spot", "cpu");
    sl_metric_set(m, SL_M_CLUSTER_QUEUE_WEIGHTED_SHARE, NAN, "team-a", "all");
    sl_metric_set(m, SL_M_BUILD_INFO, 1, "v0.1.0", "c0ffee", "", "", "gcc", "linux/amd64");
    sl_metric_set(m, SL_M_CONFIG_WARNINGS, 3);
    sl_metric_add(m, SL_M_API_WRITES_IN_FLIGHT, 2);
    sl_metric_add(m, SL_M_API_WRITES_IN_FLIGHT, -1);
    sl_metric_add(m, SL_M_API_WRITES_TOTAL, 1, "a\\b\"c\nd", "written");
    assert_string_equal(print(m), golden);

    sl_metric_observe(m, SL_M_CYCLE_DURATION_SECONDS, NAN);
    assert_non_null(strstr(print(m), "sluice_cycle_duration_seconds_bucket{le=\"0.00025\"} 0\n"));
    assert_non_null(strstr(print(m), "sluice_cycle_duration_seconds_bucket{le=\"+Inf\"} 1\n"));
    assert_non_null(strstr(print(m), "sluice_cycle_duration_seconds_sum NaN\n"));
}

static void test_build_info(void **state) {
    struct sl_metrics *m = *state;

    sl_metrics_build_info(m);
    assert_int_equal(lines(m, "kueue_build_info{git_version=\"v" SL_VERSION "\",git_commit=\"\""),
                     1);
    sl_metrics_role(m, "leader"); /* it is about the process */
    assert_int_equal(lines(m, "kueue_build_info{"), 1);
}

/* What Go's strconv.FormatFloat(v, 'g', -1, 64) gives. */
static void test_numbers(void **state) {
    static const struct {
        double v;
        const char *want;
    } t[] = {
        {0, "0"},
        {-0.0, "0"},
        {-1, "-1"},
        {100000, "100000"},
        {999999, "999999"},
        {1000000, "1e+06"},
        {1234567, "1.234567e+06"},
        {-1234567.5, "-1.2345675e+06"},
        {123456.789, "123456.789"},
        {999999.5, "999999.5"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {0.0001, "0.0001"},
        {0.00012345, "0.00012345"},
        {0.00001, "1e-05"},
        {-2.5e-7, "-2.5e-07"},
        {1e100, "1e+100"},
        {9223372036854775807.0, "9.223372036854776e+18"},
        {9223372036854775.807, "9.223372036854776e+15"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {-INFINITY, "-Inf"},
    };
    struct sl_metrics *m = *state;

    for (size_t i = 0; i < SL_LEN(t); i++) {
        char want[64];
        sl_metric_set(m, SL_M_CONFIG_WARNINGS, t[i].v);
        (void)snprintf(want, sizeof want, "\nsluice_config_warnings %s\n", t[i].want);
        if (!strstr(print(m), want))
            fail_msg("want %s, got %s", want, sl_buf_str(&out));
    }
}

static void test_drop(void **state) {
    struct sl_metrics *m = *state;
    static const char *const queues[] = {"a", "b", "c"}, *const classes[] = {"", "low", "high"};

    for (size_t i = 0; i < 9; i++) {
        sl_metric_add(m, SL_M_ADMITTED_WORKLOADS_TOTAL, 1, queues[i / 3], classes[i % 3]);
        sl_metric_set(m, SL_M_CLUSTER_QUEUE_RESOURCE_USAGE, 1, "co", queues[i / 3], "f",
                      classes[i % 3]);
    }
    /* As the counters of a former role: a drop takes them too. */
    sl_metrics_role(m, "leader");
    sl_metric_add(m, SL_M_ADMITTED_WORKLOADS_TOTAL, 1, "b", "low");
    assert_int_equal(lines(m, "kueue_admitted_workloads_total{"), 10);
    sl_metric_drop(m, SL_M_ADMITTED_WORKLOADS_TOTAL, "b", "low");
    assert_int_equal(lines(m, "kueue_admitted_workloads_total{"), 8);
    sl_metric_drop(m, SL_M_ADMITTED_WORKLOADS_TOTAL, "b", "none such");
    sl_metric_drop(m, SL_M_ADMITTED_WORKLOADS_TOTAL, "none such", NULL);
    assert_int_equal(lines(m, "kueue_admitted_workloads_total{"), 8);
    sl_metric_drop(m, SL_M_ADMITTED_WORKLOADS_TOTAL, "a", NULL);
    assert_int_equal(lines(m, "kueue_admitted_workloads_total{"), 5);
    sl_metric_drop(m, SL_M_ADMITTED_WORKLOADS_TOTAL, NULL, "high"); /* past the index */
    assert_int_equal(lines(m, "kueue_admitted_workloads_total{"), 3);
    assert_int_equal(lines(m, "kueue_admitted_workloads_total{cluster_queue=\"b\""), 1);
    assert_int_equal(lines(m, "kueue_admitted_workloads_total{cluster_queue=\"c\""), 2);

    /* What comes back starts at nothing, and in a slot of the past. */
    sl_metric_add(m, SL_M_ADMITTED_WORKLOADS_TOTAL, 1, "a", "low");
    assert_non_null(strstr(print(m), "{cluster_queue=\"a\",priority_class=\"low\","
                                     "replica_role=\"leader\"} 1\n"));

    for (size_t i = 0; i < 9; i++)
        sl_metric_set(m, SL_M_CLUSTER_QUEUE_RESOURCE_USAGE, 1, "co", queues[i / 3], "f",
                      classes[i % 3]);
    sl_metric_drop(m, SL_M_CLUSTER_QUEUE_RESOURCE_USAGE, NULL, "b", NULL, NULL);
    assert_int_equal(lines(m, "kueue_cluster_queue_resource_usage{"), 6);
    sl_metric_drop(m, SL_M_CLUSTER_QUEUE_RESOURCE_USAGE, "other", "c", NULL, NULL);
    assert_int_equal(lines(m, "kueue_cluster_queue_resource_usage{"), 6);
    sl_metric_drop(m, SL_M_CLUSTER_QUEUE_RESOURCE_USAGE, NULL, NULL, NULL, NULL);
    assert_int_equal(lines(m, "kueue_cluster_queue_resource_usage"), 0);
    sl_metric_set(m, SL_M_CONFIG_WARNINGS, 1);
    sl_metric_drop(m, SL_M_CONFIG_WARNINGS);
    assert_int_equal(lines(m, "sluice_config_warnings"), 0);
}

static void test_role(void **state) {
    struct sl_metrics *m = *state;

    sl_metrics_role(m, "follower");
    sl_metric_set(m, SL_M_PENDING_WORKLOADS, 5, "a", "active");
    sl_metric_add(m, SL_M_ADMITTED_WORKLOADS_TOTAL, 1, "a", "");
    sl_metric_set(m, SL_M_CONFIG_WARNINGS, 2);
    sl_metrics_role(m, "follower"); /* no change */
    assert_int_equal(lines(m, "kueue_pending_workloads{"), 1);
    sl_metrics_role(m, "leader");
    assert_int_equal(lines(m, "kueue_pending_workloads{"), 0);
    assert_int_equal(lines(m, "sluice_config_warnings 2\n"), 1);
    sl_metric_set(m, SL_M_PENDING_WORKLOADS, 6, "a", "active");
    sl_metric_add(m, SL_M_ADMITTED_WORKLOADS_TOTAL, 1, "a", "");
    assert_non_null(strstr(print(m), "kueue_pending_workloads{cluster_queue=\"a\","
                                     "status=\"active\",replica_role=\"leader\"} 6\n"));
    assert_non_null(strstr(sl_buf_str(&out), "kueue_admitted_workloads_total{cluster_queue=\"a\","
                                             "priority_class=\"\",replica_role=\"follower\"} 1\n"
                                             "kueue_admitted_workloads_total{cluster_queue=\"a\","
                                             "priority_class=\"\",replica_role=\"leader\"} 1\n"));
}

static void test_ceilings(void **state) {
    struct sl_metrics *m = *state;
    char name[32], longer[SL_METRIC_VALUE + 20];

    for (uint32_t i = 0; i < SL_METRIC_SERIES + 7; i++) {
        (void)snprintf(name, sizeof name, "q%u", i);
        sl_metric_set(m, SL_M_RESERVING_ACTIVE_WORKLOADS, i, name);
    }
    assert_int_equal(lines(m, "kueue_reserving_active_workloads{"), SL_METRIC_SERIES);
    assert_non_null(strstr(print(m), "sluice_metrics_dropped_total{metric="
                                     "\"kueue_reserving_active_workloads\"} 7\n"));
    /* Those that are there still take values, and one that leaves makes room. */
    sl_metric_set(m, SL_M_RESERVING_ACTIVE_WORKLOADS, 12, "q0");
    sl_metric_drop(m, SL_M_RESERVING_ACTIVE_WORKLOADS, "q1");
    sl_metric_set(m, SL_M_RESERVING_ACTIVE_WORKLOADS, 13, "new");
    assert_int_equal(lines(m, "kueue_reserving_active_workloads{cluster_queue=\"q0\","
                              "replica_role=\"standalone\"} 12\n"),
                     1);
    assert_int_equal(lines(m, "kueue_reserving_active_workloads{cluster_queue=\"new\""), 1);
    assert_int_equal(lines(m, "kueue_reserving_active_workloads{cluster_queue=\"q1\""), 0);

    /* A long value is cut between two characters, and dropped by its full text. */
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    longer[SL_METRIC_VALUE - 1] = '\xc3';
    longer[SL_METRIC_VALUE] = '\xa9';
    static const char cut[] = "outcome=\"xxx";
    sl_metric_add(m, SL_M_API_WRITES_TOTAL, 1, "Pod", longer);
    const char *p = strstr(print(m), cut);
    assert_non_null(p);
    assert_int_equal(strcspn(strchr(p, '"') + 1, "\""), SL_METRIC_VALUE - 1);
    sl_metric_drop(m, SL_M_API_WRITES_TOTAL, NULL, longer);
    assert_int_equal(lines(m, "sluice_api_writes_total"), 0);
}

/* Ends of objects must not cost a walk over everything: 4,000 LocalQueues with five series each
 * are gone in a blink, one by one. */
static void test_many_drops(void **state) {
    struct sl_metrics *m = *state;
    char ns[32];

    for (uint32_t i = 0; i < 4000; i++) {
        (void)snprintf(ns, sizeof ns, "ns-%u", i);
        for (uint32_t c = 0; c < 5; c++) {
            const char class[] = {(char)('a' + c), '\0'};
            sl_metric_observe(m, SL_M_LOCAL_QUEUE_ADMISSION_WAIT_TIME_SECONDS, 1.5 * c, "default",
                              ns, class);
        }
    }
    clock_t start = clock();
    assert_true(strlen(print(m)) > 1000000);
    double printed = (double)(clock() - start) / CLOCKS_PER_SEC;
    start = clock();
    for (uint32_t i = 0; i < 4000; i++) {
        (void)snprintf(ns, sizeof ns, "ns-%u", i);
        sl_metric_drop(m, SL_M_LOCAL_QUEUE_ADMISSION_WAIT_TIME_SECONDS, "default", ns, NULL);
    }
    double dropped = (double)(clock() - start) / CLOCKS_PER_SEC;
    print_message("# 20,000 histograms: %.0f ms to print %.0f MB, %.0f ms to drop\n", printed * 1e3,
                  (double)out.len / 1e6, dropped * 1e3);
    assert_string_equal(print(m), "");
    assert_true(dropped < 5);
}

static void test_null(void **state) {
    (void)state;
    sl_metric_set(NULL, SL_M_CONFIG_WARNINGS, 1);
    sl_metric_add(NULL, SL_M_EVENT_QUEUE_DROPS_TOTAL, 1);
    sl_metric_observe(NULL, SL_M_CYCLE_DECISIONS, 1);
    sl_metric_drop(NULL, SL_M_CONFIG_WARNINGS);
    sl_metrics_role(NULL, "leader");
    sl_metrics_print(NULL, &out);
    assert_string_equal(sl_buf_str(&out), "");
}

/* What each label means, for the documentation. */
static const struct {
    const char *label, *meaning;
} glossary[] = {
    {"active", "`True`, `False` or `Unknown`"},
    {"build_date", "empty here: builds are reproducible"},
    {"cluster", "the worker cluster"},
    {"cluster_queue", "the ClusterQueue"},
    {"cohort", "the cohort; empty without one"},
    {"compiler", "the compiler"},
    {"flavor", "the ResourceFlavor"},
    {"git_commit", "empty here"},
    {"git_version", "the version"},
    {"go_version", "empty here"},
    {"is_group", "`true` for a pod of a group"},
    {"job_kind", "the kind of the job"},
    {"kind", "the kind of the object"},
    {"metric", "the metric"},
    {"name", "the LocalQueue; of `kueue_pod_scheduling_gate_removal_seconds` the scheduling gate"},
    {"namespace", "the namespace of the LocalQueue"},
    {"outcome", "how the API server answered; of events of the ledger, what became of them"},
    {"parent_cohort", "the cohort above; empty without one"},
    {"place", "where events of the ledger wait: `memory` or `spool`"},
    {"platform", "operating system and architecture"},
    {"preempting_cluster_queue", "the ClusterQueue that gained"},
    {"priority_class", "the WorkloadPriorityClass or PriorityClass; empty without one"},
    {"reason", "the reason of the condition"},
    {"resource", "the resource; cpu counts cores, all else units"},
    {"result", "`success` or `inadmissible`"},
    {"root_cohort", "the top of the cohort tree; empty without one"},
    {"status", "of pending workloads `active` or `inadmissible`; of a ClusterQueue `pending`, "
               "`active` or `terminating`"},
    {"underlying_cause", "what is behind the reason; empty if nothing is"},
};

/* One sentence per line, below a list item. */
static void write_help(struct sl_buf *b, const char *help) {
    sl_buf_puts(b, "  ");
    for (const char *p = help; *p; p++) {
        sl_buf_putc(b, *p);
        if (p[0] == '.' && p[1] == ' ') {
            sl_buf_puts(b, "\n  ");
            p++;
        }
    }
    sl_buf_putc(b, '\n');
}

static void write_items(struct sl_buf *b, bool own) {
    sl_buf_putc(b, '\n');
    for (uint32_t i = 0; i < SL_M_COUNT; i++) {
        const struct sl_metric_def *d = sl_metric_def((enum sl_metric)i);
        if ((strncmp(d->name, "sluice_", 7) == 0) != own)
            continue;
        sl_buf_printf(b, "- `%s`, %s", d->name, sl_metric_type_name(d->type));
        for (uint32_t l = 0; l < d->n_labels; l++)
            sl_buf_printf(b, "%s%s", l > 0 ? ", " : " by ", d->labels[l]);
        sl_buf_printf(b, "%s:\n", d->role || own ? "" : " (no replica_role)");
        write_help(b, d->help);
    }
}

static void write_bounds(struct sl_buf *b) {
    const double *done[8];
    size_t n_done = 0;

    sl_buf_puts(b, "\nUpper bounds, besides +Inf, and the histograms that have them:\n\n");
    for (uint32_t i = 0; i < SL_M_COUNT; i++) {
        const double *bounds = sl_metric_def((enum sl_metric)i)->bounds;
        size_t k = 0;
        while (k < n_done && done[k] != bounds)
            k++;
        if (!bounds || k < n_done)
            continue;
        assert_true(n_done < SL_LEN(done));
        done[n_done++] = bounds;
        sl_buf_putc(b, '-');
        for (k = 0; k < sl_metric_def((enum sl_metric)i)->n_bounds; k++)
            sl_buf_printf(b, " %g", bounds[k]);
        sl_buf_puts(b, ":\n");
        for (uint32_t j = i; j < SL_M_COUNT; j++) {
            const struct sl_metric_def *d = sl_metric_def((enum sl_metric)j);
            if (d->bounds == bounds)
                sl_buf_printf(b, "  - `%s`\n", d->name);
        }
    }
}

static void write_docs(struct sl_buf *b) {
    sl_buf_printf(
        b,
        "# Metrics\n\n"
        "<!-- Written from src/lib/metrics/table.h by `SL_UPDATE=1 "
        "build/tests/lib/metrics/test_metrics`. "
        "-->\n\n"
        "`GET /metrics` returns all of them in Prometheus' text form.\n"
        "A series appears with its first value and is removed with the queue or cohort it belongs "
        "to.\n"
        "One metric holds at most %u series (%u if it is a histogram); further ones are dropped, "
        "and `sluice_metrics_dropped_total` counts them.\n\n"
        "## Kueue's\n\n"
        "Names, types, labels and buckets are those of Kueue v0.19, so that its dashboards and "
        "alerts go on working.\n"
        "Every series also has `replica_role`: `standalone` without leader election, else "
        "`leader` or `follower`.\n"
        "When the role changes, the gauges of the old one are removed.\n",
        SL_METRIC_SERIES, SL_METRIC_HISTOGRAMS);
    write_items(b, false);
    sl_buf_puts(b,
                "\n## Sluice's own\n\nThey are about this process and have no `replica_role`.\n");
    write_items(b, true);
    sl_buf_puts(b, "\n## Labels\n\n| label | what it holds |\n|---|---|\n");
    for (size_t i = 0; i < SL_LEN(glossary); i++)
        sl_buf_printf(b, "| %s | %s |\n", glossary[i].label, glossary[i].meaning);
    sl_buf_puts(b, "\n## Buckets\n");
    write_bounds(b);
}

static void test_docs(void **state) {
    const char *root = getenv("SL_SOURCE_ROOT");
    char path[4096];
    struct sl_buf want, have;

    (void)state;
    (void)snprintf(path, sizeof path, "%s/docs/metrics.md", root ? root : ".");
    sl_buf_init(&want, 1 << 20);
    write_docs(&want);
    if (getenv("SL_UPDATE")) {
        FILE *f = fopen(path, "we");
        assert_non_null(f);
        assert_int_equal(fwrite(want.s, 1, want.len, f), want.len);
        assert_int_equal(fclose(f), 0);
    }
    FILE *f = fopen(path, "re");
    if (!f)
        fail_msg("cannot read %s; SL_UPDATE=1 test_metrics writes it", path);
    sl_buf_init(&have, 1 << 20);
    char part[4096];
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
        sl_buf_add(&have, part, n);
    (void)fclose(f);
    if (strcmp(sl_buf_str(&have), sl_buf_str(&want)) != 0)
        fail_msg("docs/metrics.md is not what the table says. From the root of the repository:\n"
                 "    SL_UPDATE=1 build/tests/lib/metrics/test_metrics");
    sl_buf_done(&want);
    sl_buf_done(&have);
}

/* The table itself: every row whole, names unique, every label explained, Kueue's bucket rules. */
static void test_table(void **state) {
    uint32_t kueue = 0;

    (void)state;
    for (uint32_t i = 0; i < SL_M_COUNT; i++) {
        const struct sl_metric_def *d = sl_metric_def((enum sl_metric)i);
        assert_true(strlen(d->help) > 0 && !strpbrk(d->help, "\\\n|"));
        assert_int_equal(d->type == SL_METRIC_HISTOGRAM, d->n_bounds > 0);
        assert_true(d->n_labels <= SL_METRIC_LABELS && d->index < 1u << d->n_labels);
        if (strncmp(d->name, "sluice_", 7) != 0)
            kueue++;
        size_t len = strlen(d->name);
        bool total = len > 6 && strcmp(d->name + len - 6, "_total") == 0;
        assert_int_equal(d->type == SL_METRIC_COUNTER, total);
        for (uint32_t j = 0; j < i; j++)
            assert_string_not_equal(d->name, sl_metric_def((enum sl_metric)j)->name);
        for (uint32_t l = 0; l < d->n_labels; l++) {
            size_t g = 0;
            while (g < SL_LEN(glossary) && strcmp(glossary[g].label, d->labels[l]) != 0)
                g++;
            if (g == SL_LEN(glossary))
                fail_msg("the label %s is not in the glossary", d->labels[l]);
        }
        for (uint32_t b = 1; b < d->n_bounds; b++)
            assert_true(d->bounds[b - 1] < d->bounds[b]);
    }
    assert_int_equal(kueue, 60); /* as Kueue v0.19 has */

    const struct sl_metric_def *w = sl_metric_def(SL_M_ADMISSION_WAIT_TIME_SECONDS);
    assert_int_equal(w->n_bounds, 16);
    assert_true(w->bounds[0] == 1);
    for (uint32_t b = 1; b < w->n_bounds; b++)
        assert_true(w->bounds[b] == ldexp(2.5, (int)b - 1));
    w = sl_metric_def(SL_M_LOCAL_QUEUE_ADMISSION_WAIT_TIME_SECONDS);
    assert_int_equal(w->n_bounds, 14);
    for (uint32_t b = 1; b < w->n_bounds; b++)
        assert_true(w->bounds[b] == ldexp(2.5, (int)b - 1));
    w = sl_metric_def(SL_M_WORKLOAD_CREATION_LATENCY_SECONDS);
    assert_int_equal(w->n_bounds, 11);
    for (uint32_t b = 0; b < w->n_bounds; b++)
        assert_true(w->bounds[b] == ldexp(.01, (int)b));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_golden, setup, teardown),
        cmocka_unit_test_setup_teardown(test_build_info, setup, teardown),
        cmocka_unit_test_setup_teardown(test_numbers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_drop, setup, teardown),
        cmocka_unit_test_setup_teardown(test_role, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ceilings, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_drops, setup, teardown),
        cmocka_unit_test_setup_teardown(test_null, setup, teardown),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_docs),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}

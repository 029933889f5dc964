/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptions of all metrics, from the table.
 */
#include "lib/metrics/names.h"

/* Kueue's waits: 1, then 2.5 doubled. */
#define WAIT14 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240
static const double wait14[] = {WAIT14};
static const double wait16[] = {WAIT14, 20480, 40960};
/* The defaults of Prometheus' own library. */
static const double usual[] = {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};
static const double creation[] = {.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24};
/* A cycle is microseconds when nothing moves and must not be seconds when everything does. */
static const double cycle[] = {.0001, .00025, .0005, .001, .0025, .005, .01, .025,
                               .05,   .1,     .25,   .5,   1,     2.5,  5,   10};
static const double decisions[] = {0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000};

#define COUNTER .type = SL_METRIC_COUNTER
#define GAUGE .type = SL_METRIC_GAUGE
#define HISTOGRAM(b) .type = SL_METRIC_HISTOGRAM, .bounds = (b), .n_bounds = SL_LEN(b)

/* The first element allows for an empty list. */
#define N_LABELS(...) (SL_LEN(((const char *const[]){"", ##__VA_ARGS__})) - 1)
#define PROCESS(...) .labels = {__VA_ARGS__}, .n_labels = N_LABELS(__VA_ARGS__)
#define LABELS(...) PROCESS(__VA_ARGS__), .role = true

#define BY_NONE 0
#define BY_FIRST 1
#define BY_SECOND 2
#define BY_TWO 3

static const struct sl_metric_def defs[] = {
#define METRIC(id, n, type_and_bounds, by, labels_and_role, h)                                     \
    [SL_M_##id] = {.name = (n), .help = (h), .index = (by), type_and_bounds, labels_and_role},
#include "lib/metrics/table.h"
};

const struct sl_metric_def *sl_metric_def(enum sl_metric id) {
    sl_assert(id < SL_M_COUNT);
    return &defs[id];
}

const char *sl_metric_type_name(enum sl_metric_type type) {
    static const char *const names[] = {"counter", "gauge", "histogram"};

    return names[type];
}

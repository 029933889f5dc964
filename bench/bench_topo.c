/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places in a topology of three levels: racks of 16 hosts in blocks of 16 racks. Each case places
 * 64 pods and gives the place back; "full" first fills three quarters of the hosts, so that many
 * leaves have no room; "refused" asks for more than there is.
 *
 * {"bench":"topo","case":"required-rack","n":5000,"ns_per_op":...}
 */
#include <stdio.h>
#include <time.h>

#include "core/topo/topo.h"

#define UNITS(n) ((sl_quantity)(n)*SL_NANO)
#define BLOCK "cloud/block"
#define RACK "cloud/rack"

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * SL_NANO + t.tv_nsec;
}

static void tell_node(struct sl_topo *t, uint32_t i) {
    char block[16], rack[16], host[16];
    (void)snprintf(block, sizeof block, "block-%u", i / 256);
    (void)snprintf(rack, sizeof rack, "rack-%u", i / 16);
    (void)snprintf(host, sizeof host, "host-%u", i);
    struct sl_label labels[] = {{"pool", "gpu"},
                                {"kubernetes.io/arch", "amd64"},
                                {"kubernetes.io/os", "linux"},
                                {BLOCK, block},
                                {RACK, rack},
                                {SL_TOPO_HOSTNAME, host}};
    struct sl_request has[] = {
        {"cpu", UNITS(96)}, {"memory", UNITS(384)}, {"pods", UNITS(110)}, {"gpu", UNITS(8)}};
    struct sl_topo_node n = {.name = host,
                             .labels = {labels, SL_LEN(labels)},
                             .allocatable = has,
                             .n_allocatable = SL_LEN(has),
                             .usable = true};
    (void)sl_topo_node(t, &n);
}

static void report(const char *name, uint32_t n, int64_t ns) {
    printf("{\"bench\":\"topo\",\"case\":\"%s\",\"n\":%u,\"ns_per_op\":%lld}\n", name, n,
           (long long)ns);
}

static const struct {
    const char *name;
    enum sl_topo_mode mode;
    const char *level;
    int32_t count;
} cases[] = {
    {"required-rack", SL_TOPO_REQUIRED, RACK, 64},
    {"preferred-host", SL_TOPO_PREFERRED, SL_TOPO_HOSTNAME, 64},
    {"unconstrained", SL_TOPO_UNCONSTRAINED, NULL, 64},
    {"refused", SL_TOPO_REQUIRED, RACK, 1000},
};

static void measure(struct sl_topo *t, const char *load, uint32_t n) {
    static const struct sl_request each[] = {
        {"cpu", UNITS(8)}, {"memory", UNITS(32)}, {"gpu", UNITS(1)}};
    char why[300], name[40];
    for (size_t c = 0; c < SL_LEN(cases); c++) {
        struct sl_topo_podset p = {.name = "main",
                                   .flavor = "f",
                                   .group = "",
                                   .count = cases[c].count,
                                   .requests = each,
                                   .n_requests = SL_LEN(each),
                                   .request = {.mode = cases[c].mode, .level = cases[c].level}};
        int64_t best = INT64_MAX;
        (void)snprintf(name, sizeof name, "%s%s", cases[c].name, load);
        for (int i = 0; i < 50; i++) {
            int64_t t0 = now_ns();
            bool ok = sl_topo_place(t, 1, 0, &p, 1, why, sizeof why);
            sl_topo_release(t, 1);
            int64_t t1 = now_ns();
            sl_assert(ok == (cases[c].count == 64));
            best = t1 - t0 < best ? t1 - t0 : best;
        }
        report(name, n, best);
    }
}

int main(void) {
    static const uint32_t n = 5000;
    static const char *const levels[] = {BLOCK, RACK, SL_TOPO_HOSTNAME};
    static const struct sl_label pool = {"pool", "gpu"};
    static const struct sl_request all = {"gpu", UNITS(8)};
    struct sl_flavor_spec f = {.name = "f", .labels = {&pool, 1}};
    struct sl_topo_podset fill = {.name = "main",
                                  .flavor = "f",
                                  .group = "",
                                  .count = (int32_t)n * 3 / 4,
                                  .requests = &all,
                                  .n_requests = 1,
                                  .request = {.mode = SL_TOPO_UNCONSTRAINED}};
    struct sl_topo *t = sl_topo_new();
    char why[300];
    (void)sl_topo_flavor(t, &f, "default");
    (void)sl_topo_levels(t, "default", levels, SL_LEN(levels));
    int64_t t0 = now_ns();
    for (uint32_t i = 0; i < n; i++)
        tell_node(t, i);
    report("node", n, (now_ns() - t0) / n);
    t0 = now_ns();
    sl_assert(sl_topo_place(t, 2, 0, &fill, 1, why, sizeof why));
    report("first", n, now_ns() - t0); /* builds the tree */
    measure(t, "-full", n);
    sl_topo_release(t, 2);
    measure(t, "", n);
    sl_topo_free(t);
    return 0;
}

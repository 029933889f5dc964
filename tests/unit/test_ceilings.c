/*
 * Objects as large as the API allows, and larger: each is counted whole or refused in a way that
 * somebody sees, and the manager goes on with all others.
 */
#include "group_fx.h"

/* ---- the usage of an admission with many podsets and resources ---- */

#define PODSETS 18
#define RESOURCES 12

static void put_large_queue(struct world *w) {
    struct sl_buf b = SL_BUF(65536);
    sl_buf_puts(&b, "{'metadata':{'name':'large'},'spec':{'namespaceSelector':{},"
                    "'resourceGroups':[{'coveredResources':[");
    for (int i = 0; i < RESOURCES; i++)
        sl_buf_printf(&b, "%s'example.com/r%d'", i ? "," : "", i);
    sl_buf_puts(&b, "],'flavors':[{'name':'f','resources':[");
    for (int i = 0; i < RESOURCES; i++)
        sl_buf_printf(&b, "%s{'name':'example.com/r%d','nominalQuota':'100'}", i ? "," : "", i);
    sl_buf_puts(&b, "]}]}]}}");
    create(w, KUEUE "/clusterqueues", sl_buf_str(&b));
    sl_buf_done(&b);
    create(w, KUEUE "/namespaces/ns/localqueues",
           "{'metadata':{'name':'large'},'spec':{'clusterQueue':'large'}}");
}

static void put_large_workload(struct world *w) {
    struct sl_buf b = SL_BUF(262144);
    sl_buf_puts(&b, "{'metadata':{'name':'wl'},'spec':{'active':true,'queueName':'large',"
                    "'podSets':[");
    for (int p = 0; p < PODSETS; p++) {
        sl_buf_printf(&b,
                      "%s{'name':'p%d','count':1,'template':{'spec':{'containers':[{'name':'c',"
                      "'resources':{'requests':{",
                      p ? "," : "", p);
        for (int i = 0; i < RESOURCES; i++)
            sl_buf_printf(&b, "%s'example.com/r%d':'1'", i ? "," : "", i);
        sl_buf_puts(&b, "}}}]}}}");
    }
    sl_buf_puts(&b, "]}}");
    create(w, WORKLOADS, sl_buf_str(&b));
    sl_buf_done(&b);
}

/* What the status of the queue says is reserved, of each resource. */
static void check_reserved(struct world *w) {
    yyjson_val *flavor =
        yyjson_arr_get(at(w, KUEUE "/clusterqueues/large", "status.flavorsReservation"), 0);
    yyjson_val *list = yyjson_obj_get(flavor, "resources"), *r;
    size_t i, n, seen = 0;
    yyjson_arr_foreach (list, i, n, r) {
        assert_string_equal(jstr(r, "total"), "18");
        seen++;
    }
    assert_int_equal(seen, RESOURCES);
}

static void test_usage_after_restart(void **state) {
    struct world w;
    (void)state;
    begin(&w);
    put_large_queue(&w);
    put_large_workload(&w);
    run(&w, SETTLE);
    assert_true(is(&w, "wl", "Admitted"));
    check_reserved(&w);
    restart(&w, 1);
    run(&w, SETTLE);
    assert_true(is(&w, "wl", "Admitted"));
    check_reserved(&w);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usage_after_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

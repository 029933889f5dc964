/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints and EndpointSlices of Services over an API server without controllers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "apps_world.h"

#define SERVICES NS "/services"
#define EP NS "/endpoints/web"
#define SLICES "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices"

#define SERVICE(spec) "{'metadata':{'name':'web','labels':{'team':'a'}},'spec':{" spec "}}"
#define SELECTOR "'clusterIP':'10.96.0.9','selector':{'app':'web'}"
#define PORTS "'ports':[{'name':'http','protocol':'TCP','port':80,'targetPort':'main'}]"

static void pod(struct apps_world *w, int i, const char *labels, const char *more) {
    char body[900];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'p%d','labels':{%s}},'spec':{%s'containers':[{'name':'c',"
                   "'image':'i','ports':[{'name':'main','containerPort':%d,'protocol':'TCP'}]}]}}",
                   i, labels, more, i < 500 ? 8080 : 9090);
    world_create(w, PODS, body);
}

static void address(struct apps_world *w, int i, const char *more) {
    char path[100], body[300];

    (void)snprintf(path, sizeof path, PODS "/p%d/status", i);
    (void)snprintf(body, sizeof body, "{'status':{'podIP':'10.0.%d.%d'%s}}", i / 256, i % 256,
                   more);
    world_patch(w, path, body);
}

/* ---- what there is ---- */

struct slices {
    struct apps_world *w;
    const char *manager;
    int n, endpoints, ready;
    int ports; /* sum of the numbers of ports */
    int largest, smallest;
    char text[4000]; /* of the last one: its endpoints */
    char name[100];
    uint64_t version; /* the highest */
    int newer;        /* than 'since' */
    uint64_t since;
};

static void see(void *ctx, yyjson_val *o) {
    struct slices *s = ctx;
    yyjson_val *list = yyjson_obj_get(o, "endpoints"), *e, *p;
    size_t i, n;
    uint64_t version = strtoull(sl_json_str(o, "metadata.resourceVersion"), NULL, 10);

    if (sl_json_at(o, "metadata.deletionTimestamp") ||
        strcmp(sl_json_label(o, "kubernetes.io/service-name"), "web") != 0 ||
        strcmp(sl_json_label(o, "endpointslice.kubernetes.io/managed-by"), s->manager) != 0)
        return;
    int size = (int)sl_json_size(list);
    s->n++;
    s->endpoints += size;
    s->largest = size > s->largest ? size : s->largest;
    s->smallest = s->n == 1 || size < s->smallest ? size : s->smallest;
    s->newer += version > s->since;
    s->version = version > s->version ? version : s->version;
    yyjson_arr_foreach (list, i, n, e)
        s->ready += sl_json_bool(e, "conditions.ready", false);
    yyjson_arr_foreach (yyjson_obj_get(o, "ports"), i, n, p)
        s->ports += (int)sl_json_int(p, "port", 0);
    char *text = yyjson_val_write(list, 0, NULL);
    (void)snprintf(s->text, sizeof s->text, "%.3900s", text);
    free(text);
    (void)snprintf(s->name, sizeof s->name, "%s", sl_json_str(o, "metadata.name"));
}

static struct slices *slices_of(struct apps_world *w, const char *manager, uint64_t since) {
    static struct slices s;

    s = (struct slices){.w = w, .manager = manager, .since = since};
    (void)fakeapi_each(w->api, SLICES, see, &s);
    return &s;
}

static struct slices *slices(struct apps_world *w) {
    return slices_of(w, "endpointslice-controller.k8s.io", 0);
}

static struct slices *mirrors(struct apps_world *w) {
    return slices_of(w, "endpointslicemirroring-controller.k8s.io", 0);
}

static void begin(struct apps_world *w, uint64_t seed) {
    w->start_min = w->start_max = 3600 * SL_SEC; /* readiness comes by hand */
    w->end_min = w->end_max = 20 * SL_SEC;
    world_start(w, seed);
}

#define READY ",'conditions':[{'type':'Ready','status':'True'}]"
#define APP "'app':'web'"

static void nothing_is_written(struct apps_world *w) {
    uint64_t version = fakeapi_version(w->api);

    world_run(w, 100 * SL_SEC);
    assert_int_equal(fakeapi_version(w->api), version);
}

/* ---- tests ---- */

static void pods_become_endpoints(void **state) {
    struct apps_world w = {0};

    (void)state;
    begin(&w, 1);
    world_create(&w, SERVICES, SERVICE(SELECTOR "," PORTS));
    world_run(&w, 2 * SL_SEC);
    assert_int_equal(slices(&w)->n, 1); /* an empty one */
    assert_int_equal(slices(&w)->endpoints, 0);
    assert_string_equal(world_show(&w, EP, "subsets"), "[]");
    pod(&w, 1, APP ",'x':'y'", "");
    pod(&w, 2, APP, "");
    pod(&w, 3, "'app':'other'", "");
    pod(&w, 501, APP, ""); /* another port */
    world_run(&w, 2 * SL_SEC);
    assert_int_equal(slices(&w)->endpoints, 0); /* no addresses yet */
    address(&w, 1, READY);
    address(&w, 2, "");
    address(&w, 3, READY);
    world_run(&w, 2 * SL_SEC);
    struct slices *s = slices(&w);
    assert_int_equal(s->n, 1);
    assert_int_equal(s->endpoints, 2);
    assert_int_equal(s->ready, 1);
    assert_int_equal(s->ports, 8080);
    assert_non_null(strstr(s->text, "\"conditions\":{\"ready\":false,\"serving\":false,"
                                    "\"terminating\":false}"));
    assert_non_null(strstr(s->text, "\"nodeName\":\"n1\",\"targetRef\":{\"kind\":\"Pod\","
                                    "\"namespace\":\"ns\",\"name\":\"p1\",\"uid\":"));
    assert_string_equal(world_show(&w, EP, "metadata.labels"),
                        "{\"team\":\"a\",\"endpoints.kubernetes.io/managed-by\":"
                        "\"endpoint-controller\"}");
    yyjson_val *set = yyjson_arr_get_first(sl_json_at(fakeapi_get(w.api, EP), "subsets"));
    assert_string_equal(sl_json_str(yyjson_arr_get_first(sl_json_at(set, "addresses")), "ip"),
                        "10.0.0.1");
    assert_string_equal(
        sl_json_str(yyjson_arr_get_first(sl_json_at(set, "notReadyAddresses")), "ip"), "10.0.0.2");
    assert_int_equal(sl_json_int(yyjson_arr_get_first(sl_json_at(set, "ports")), "port", 0), 8080);
    /* Pods whose port of that name has another number are in a slice of their own. */
    address(&w, 501, READY);
    world_run(&w, 2 * SL_SEC);
    assert_int_equal(slices(&w)->n, 2);
    assert_int_equal(slices(&w)->ports, 8080 + 9090);
    assert_int_equal(sl_json_size(sl_json_at(fakeapi_get(w.api, EP), "subsets")), 2);
    nothing_is_written(&w);
    /* Without pods one empty slice stays. */
    for (int i = 1; i < 3; i++) {
        char path[100];
        (void)snprintf(path, sizeof path, PODS "/p%d?gracePeriodSeconds=0", i);
        (void)world_do(&w, SL_DELETE, path, NULL, NULL);
    }
    (void)world_do(&w, SL_DELETE, PODS "/p501?gracePeriodSeconds=0", NULL, NULL);
    world_run(&w, 5 * SL_SEC);
    assert_int_equal(slices(&w)->n, 1);
    assert_int_equal(slices(&w)->endpoints, 0);
    assert_string_equal(world_show(&w, EP, "subsets"), "[]");
    world_delete(&w, SERVICES "/web", NULL);
    world_run(&w, 10 * SL_SEC);
    assert_int_equal(slices(&w)->n, 0);
    world_stop(&w);
}

static void pods_that_end(void **state) {
    struct apps_world w = {0};

    (void)state;
    begin(&w, 2);
    world_create(&w, SERVICES, SERVICE(SELECTOR "," PORTS));
    for (int i = 1; i <= 3; i++) {
        pod(&w, i, APP, "");
        address(&w, i, READY);
    }
    world_run(&w, 2 * SL_SEC);
    world_delete(&w, PODS "/p1", NULL); /* it takes 20 s */
    world_patch(&w, PODS "/p2/status", "{'status':{'phase':'Succeeded'}}");
    world_run(&w, 2 * SL_SEC);
    struct slices *s = slices(&w);
    assert_int_equal(s->endpoints, 2);
    assert_int_equal(s->ready, 1);
    assert_non_null(strstr(s->text, "{\"ready\":false,\"serving\":true,\"terminating\":true}"));
    yyjson_val *set = yyjson_arr_get_first(sl_json_at(fakeapi_get(w.api, EP), "subsets"));
    assert_int_equal(sl_json_size(sl_json_at(set, "addresses")), 1);
    assert_null(sl_json_at(set, "notReadyAddresses"));
    world_run(&w, 30 * SL_SEC);
    assert_int_equal(slices(&w)->endpoints, 1);
    nothing_is_written(&w);
    world_stop(&w);
}

static void headless_and_unready(void **state) {
    struct apps_world w = {0};

    (void)state;
    begin(&w, 3);
    world_create(&w, SERVICES,
                 SERVICE("'clusterIP':'None','publishNotReadyAddresses':true,"
                         "'selector':{'app':'web'}"));
    pod(&w, 1, APP, "'hostname':'first','subdomain':'web',");
    pod(&w, 2, APP, "'hostname':'second','subdomain':'other',");
    address(&w, 1, "");
    address(&w, 2, "");
    world_run(&w, 2 * SL_SEC);
    struct slices *s = slices(&w);
    assert_int_equal(s->n, 1);
    assert_int_equal(s->ready, 2);
    assert_int_equal(s->ports, 0);
    assert_non_null(strstr(s->text, "\"hostname\":\"first\""));
    assert_null(strstr(s->text, "\"hostname\":\"second\""));
    yyjson_val *set = yyjson_arr_get_first(sl_json_at(fakeapi_get(w.api, EP), "subsets"));
    assert_int_equal(sl_json_size(sl_json_at(set, "addresses")), 2);
    assert_null(sl_json_at(set, "ports"));
    assert_string_equal(sl_json_label(fakeapi_get(w.api, EP), "service.kubernetes.io/headless"),
                        "");
    assert_non_null(sl_json_label_opt(fakeapi_get(w.api, EP), "service.kubernetes.io/headless"));
    /* It is no longer so. */
    world_patch(&w, SERVICES "/web",
                "{'metadata':{'labels':{'team':null,'b':'c'}},'spec':{'clusterIP':'10.96.0.9',"
                "'publishNotReadyAddresses':false}}");
    world_run(&w, 2 * SL_SEC);
    assert_int_equal(slices(&w)->ready, 0);
    assert_null(sl_json_label_opt(fakeapi_get(w.api, EP), "service.kubernetes.io/headless"));
    assert_null(sl_json_label_opt(fakeapi_get(w.api, EP), "team"));
    assert_string_equal(sl_json_label(fakeapi_get(w.api, EP), "b"), "c");
    char path[200];
    (void)snprintf(path, sizeof path, SLICES "/%s", slices(&w)->name);
    assert_null(sl_json_label_opt(fakeapi_get(w.api, path), "team"));
    assert_string_equal(sl_json_label(fakeapi_get(w.api, path), "b"), "c");
    assert_string_equal(world_show(&w, path, "metadata.generateName"), "web-");
    nothing_is_written(&w);
    world_stop(&w);
}

static void labels_and_selectors_change(void **state) {
    struct apps_world w = {0};

    (void)state;
    begin(&w, 4);
    for (int i = 1; i <= 4; i++) {
        pod(&w, i, i < 4 ? APP : "'app':'late'", "");
        address(&w, i, READY);
    }
    world_create(&w, SERVICES, SERVICE(SELECTOR "," PORTS)); /* the pods were there before */
    world_run(&w, 2 * SL_SEC);
    assert_int_equal(slices(&w)->endpoints, 3);
    world_patch(&w, PODS "/p1", "{'metadata':{'labels':{'app':'gone'}}}");
    world_patch(&w, PODS "/p4", "{'metadata':{'labels':{'app':'web','more':'1'}}}");
    world_patch(&w, PODS "/p2", "{'metadata':{'labels':{'more':'1'}}}");
    world_run(&w, 2 * SL_SEC);
    assert_int_equal(slices(&w)->endpoints, 3);
    world_patch(&w, SERVICES "/web", "{'spec':{'selector':{'more':'1'}}}");
    world_run(&w, 2 * SL_SEC);
    assert_int_equal(slices(&w)->endpoints, 2);
    world_kill(&w);
    world_patch(&w, SERVICES "/web", "{'spec':{'selector':{'more':null}}}");
    world_revive(&w);
    world_run(&w, 5 * SL_SEC);
    assert_int_equal(slices(&w)->endpoints, 3);
    /* Without a selector they are left as they are. */
    world_patch(&w, SERVICES "/web", "{'spec':{'selector':null}}");
    world_run(&w, 2 * SL_SEC);
    world_patch(&w, PODS "/p3", "{'metadata':{'labels':{'app':'gone'}}}");
    world_run(&w, 5 * SL_SEC);
    assert_int_equal(slices(&w)->endpoints, 3);
    assert_int_equal(mirrors(&w)->n, 0); /* what the controller wrote is not mirrored */
    world_stop(&w);
}

static void many(void **state) {
    struct apps_world w = {0};

    (void)state;
    begin(&w, 5);
    world_create(&w, SERVICES, SERVICE(SELECTOR "," PORTS));
    for (int i = 0; i < 250; i++) {
        pod(&w, i, APP, "");
        address(&w, i, READY);
    }
    world_run(&w, 5 * SL_SEC);
    struct slices *s = slices(&w);
    assert_int_equal(s->n, 3);
    assert_int_equal(s->endpoints, 250);
    assert_int_equal(s->largest, 100);
    /* One that comes or goes changes one slice. */
    uint64_t since = fakeapi_version(w.api);
    (void)world_do(&w, SL_DELETE, PODS "/p7?gracePeriodSeconds=0", NULL, NULL);
    world_run(&w, 5 * SL_SEC);
    assert_int_equal(slices(&w)->endpoints, 249);
    assert_int_equal(slices_of(&w, "endpointslice-controller.k8s.io", since)->newer, 1);
    world_kill(&w);
    world_revive(&w);
    world_run(&w, 5 * SL_SEC);
    assert_int_equal(slices(&w)->n, 3);
    nothing_is_written(&w);
    for (int i = 1000; i < 2100; i++) {
        pod(&w, i, APP, "");
        address(&w, i, i % 2 ? READY : "");
    }
    world_run(&w, 20 * SL_SEC);
    assert_int_equal(slices(&w)->endpoints, 249 + 1100);
    yyjson_val *o = fakeapi_get(w.api, EP), *set;
    size_t i, n, ready = 0, rest = 0;
    yyjson_arr_foreach (sl_json_at(o, "subsets"), i, n, set) {
        ready += sl_json_size(sl_json_at(set, "addresses"));
        rest += sl_json_size(sl_json_at(set, "notReadyAddresses"));
    }
    assert_int_equal(ready, 249 + 550);
    assert_int_equal(ready + rest, 1000);
    assert_string_equal(sl_json_annotation(o, "endpoints.kubernetes.io/over-capacity"),
                        "truncated");
    world_stop(&w);
}

static void endpoints_by_hand_are_mirrored(void **state) {
    struct apps_world w = {0};
#define SUBSETS                                                                                    \
    "'subsets':[{'addresses':[{'ip':'10.9.0.1','hostname':'h'},{'ip':'10.9.0.2'}],"                \
    "'notReadyAddresses':[{'ip':'fd00::1'}],'ports':[{'port':443,'protocol':'TCP'}]}]"

    (void)state;
    begin(&w, 6);
    world_create(&w, NS "/endpoints", "{'metadata':{'name':'web','labels':{'k':'v'}}," SUBSETS "}");
    world_run(&w, 2 * SL_SEC);
    assert_int_equal(mirrors(&w)->n, 0); /* there is no Service */
    world_create(&w, SERVICES,
                 SERVICE("'clusterIP':'10.96.0.9','ports':[{'port':443,'protocol':'TCP'}]"));
    world_run(&w, 2 * SL_SEC);
    struct slices *s = mirrors(&w);
    assert_int_equal(s->n, 2); /* one of each family */
    assert_int_equal(s->endpoints, 3);
    assert_int_equal(s->ready, 2);
    char path[200];
    (void)snprintf(path, sizeof path, SLICES "/%s", s->name);
    assert_string_equal(sl_json_label(fakeapi_get(w.api, path), "k"), "v");
    assert_string_equal(sl_json_str(yyjson_arr_get_first(sl_json_at(fakeapi_get(w.api, path),
                                                                    "metadata.ownerReferences")),
                                    "kind"),
                        "Endpoints");
    assert_int_equal(slices(&w)->n, 0);
    nothing_is_written(&w);
    world_patch(&w, EP,
                "{'metadata':{'labels':{'endpointslice.kubernetes.io/skip-mirror':'true'}}}");
    world_run(&w, 2 * SL_SEC);
    assert_int_equal(mirrors(&w)->n, 0);
    world_patch(&w, EP, "{'metadata':{'labels':null}}");
    world_run(&w, 2 * SL_SEC);
    assert_int_equal(mirrors(&w)->endpoints, 3);
    world_delete(&w, EP, NULL);
    world_run(&w, 5 * SL_SEC);
    assert_int_equal(mirrors(&w)->n, 0);
    world_stop(&w);
}

const struct CMUnitTest tests[] = {
    cmocka_unit_test(pods_become_endpoints),
    cmocka_unit_test(pods_that_end),
    cmocka_unit_test(headless_and_unready),
    cmocka_unit_test(labels_and_selectors_change),
    cmocka_unit_test(many),
    cmocka_unit_test(endpoints_by_hand_are_mirrored),
};

int main(void) {
    return cmocka_run_group_tests(tests, NULL, NULL);
}

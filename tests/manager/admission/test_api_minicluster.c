/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MiniClusters: what is refused, with path and reason, what is filled in, and conversion between
 * the two versions, which loses nothing.
 */
#include "case.h"
#include "core/base/prng.h"
#include "lib/json/seek.h"
#include "lib/json/writer.h"
#include "manager/admission/convert.h"
#include "manager/admission/minicluster.h"

#define MUTATE "/mutate-flux-framework-org-v1alpha2-minicluster"
#define VALIDATE "/validate-flux-framework-org-v1alpha2-minicluster"
#define OLD SL_MINICLUSTER_GROUP "/v1alpha1"
#define NEW SL_MINICLUSTER_GROUP "/v1alpha2"
#define DNS_LABEL                                                                                  \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "   \
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "     \
    "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"

#define NAMED(name, spec)                                                                          \
    "{'apiVersion':'" NEW "','kind':'MiniCluster','metadata':{'name':'" name "'},'spec':{" spec "}}"
#define MC(spec) NAMED("mc", spec)
#define RUNNER "{'command':'sleep 10'}"
#define WITH(spec) MC("'containers':[" RUNNER "]," spec)
#define CONTAINER(fields) MC("'size':1,'containers':[{" fields "}]")
/* Made in v1alpha1, as the API server shows it in the version that is reviewed. */
#define MADE_OLD(rest, spec)                                                                       \
    "{'apiVersion':'" NEW "','kind':'MiniCluster','metadata':{'name':'mc','annotations':{'" OLD    \
    "':'{\\'createdAs\\':\\'v1alpha1\\',\\'spec\\':{" rest "}}'}},'spec':{'size':1,"               \
    "'containers':[" RUNNER "]" spec "}}"
#define TEN "aaaaaaaaaa"
#define FIFTY TEN TEN TEN TEN TEN

static void what_is_right(void **state) {
    static const struct review_case cases[] = {
        {.name = "the seed's",
         .object = CONTAINER("'image':'i','command':'sleep 10','resources':{"
                             "'requests':{'cpu':4,'memory':'200Mi'}}")},
        {.name = "no command", .object = CONTAINER("")},
        {.name = "sizes", .object = WITH("'size':3,'minSize':2,'maxSize':8")},
        {.name = "two containers",
         .object = MC("'containers':[{'runFlux':true},{'name':'side','ports':[80,443]}]")},
        {.name = "a service", .object = WITH("'services':[{'name':'db','image':'i'}]")},
        {.name = "volumes",
         .object = CONTAINER("'volumes':{'a':{'path':'/a','claimName':'c'},"
                             "'b':{'path':'/b','hostPath':'/h'}}")},
        {.name = "52 characters", .object = NAMED(FIFTY "aa", "'containers':[" RUNNER "]")},
        {.name = "generateName",
         .object = "{'apiVersion':'" NEW "','kind':'MiniCluster','metadata':{'generateName':"
                   "'flux-sample-kueue-'},'spec':{'containers':[" RUNNER "]}}"},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct review_case c = cases[i];
        c.message = "";
        check_cases(VALIDATE, &c, 1);
    }
}

static void sizes(void **state) {
    static const struct review_case cases[] = {
        {.object = WITH("'size':0"),
         .message = "spec.size: Invalid value: 0: must be greater than or equal to 1"},
        {.object = WITH("'size':-3"),
         .message = "spec.size: Invalid value: -3: must be greater than or equal to 1"},
        {.object = WITH("'size':100001"),
         .message = "spec.size: Invalid value: 100001: must be at most 100000"},
        {.object = WITH("'size':4,'maxSize':3"),
         .message = "spec.maxSize: Invalid value: 3: must not be less than size (4)"},
        {.object = WITH("'maxSize':-1"),
         .message = "spec.maxSize: Invalid value: -1: must be greater than or equal to 0"},
        {.object = WITH("'size':4,'minSize':5"),
         .message = "spec.minSize: Invalid value: 5: must not be greater than size (4)"},
        {.object = WITH("'tasks':-1"),
         .message = "spec.tasks: Invalid value: -1: must be greater than or equal to 0"},
        {.object = WITH("'deadlineSeconds':0"),
         .message = "spec.deadlineSeconds: Invalid value: 0: must be greater than or equal to 1"},
        {.name = "grown",
         .object = WITH("'size':9"),
         .old = "{'spec':{'size':4},'status':{'maximumSize':4}}",
         .message = "spec.size: Invalid value: 9: must not be greater than status.maximumSize (4), "
                    "which the cluster was made with"},
        {.name = "grown by scale",
         .object = WITH("'size':9"),
         .old = "{'spec':{'size':9},'status':{'maximumSize':4}}",
         .message = ""},
    };
    (void)state;
    check_cases(VALIDATE, cases, SL_LEN(cases));
}

static void containers(void **state) {
    static const struct review_case cases[] = {
        {.object = MC("'size':1"),
         .message = "spec.containers: Required value: one that runs Flux"},
        {.object = MC("'containers':[{'name':'a'},{'name':'b'}]"),
         .message = "spec.containers: Invalid value: 0: exactly one container must have runFlux"},
        {.object = MC("'containers':[{'runFlux':true},{'runFlux':true}]"),
         .message = "spec.containers: Invalid value: 2: exactly one container must have runFlux"},
        {.object = MC("'containers':[{'runFlux':true},{}]"),
         .message = "spec.containers[1].name: Required value: unless runFlux is set"},
        {.object = MC("'containers':[{'runFlux':true},{'name':'a_b'}]"),
         .message = "spec.containers[1].name: Invalid value: \"a_b\": " DNS_LABEL},
        {.name = "the runner's name",
         .object = MC("'containers':[{'runFlux':true},{'name':'mc'}]"),
         .message = "spec.containers[1].name: Duplicate value: \"mc\""},
        {.name = "the view's name",
         .object = MC("'containers':[{'runFlux':true},{'name':'x'}],'flux':{'container':{'name':"
                      "'x'}}"),
         .message = "spec.flux.container.name: Duplicate value: \"x\": another container has it"},
        {.object = CONTAINER("'command':'a','batch':true,'launcher':true"),
         .message = "spec.containers[0].batch: Forbidden: may not be set together with launcher: "
                    "choose one"},
        {.object = CONTAINER("'batch':true"),
         .message = "spec.containers[0].command: Required value: batch is set: one job for each "
                    "line"},
        {.object = CONTAINER("'command':'a','commands':{'script':'b'}"),
         .message = "spec.containers[0].commands.script: Forbidden: may not be set together with "
                    "command: choose one"},
        {.object = CONTAINER("'ports':[0]"),
         .message = "spec.containers[0].ports[0]: Invalid value: 0: must be between 1 and 65535, "
                    "inclusive"},
        {.object = CONTAINER("'ports':[80,80]"),
         .message = "spec.containers[0].ports[1]: Duplicate value: 80"},
        {.object = CONTAINER("'resources':{'requests':{'cpu':'many'}}"),
         .message = "spec.containers[0].resources.requests[cpu]: Invalid value: \"many\": must be "
                    "a quantity, such as 4, 500m or 1Gi"},
        {.object = CONTAINER("'resources':{'limits':{'cpu':-1}}"),
         .message = "spec.containers[0].resources.limits[cpu]: Invalid value: -1: must be greater "
                    "than or equal to 0"},
        {.object = CONTAINER("'volumes':{'a':{'path':'/a'}}"),
         .message = "spec.containers[0].volumes[a]: Invalid value: {\"path\":\"/a\"}: exactly one "
                    "of claimName, configMapName, hostPath and secretName must be set"},
        {.object = CONTAINER("'volumes':{'a':{'claimName':'c'}}"),
         .message = "spec.containers[0].volumes[a].path: Required value"},
        {.object = CONTAINER("'volumes':{'a':{'claimName':'c','path':'b'}}"),
         .message = "spec.containers[0].volumes[a].path: Invalid value: \"b\": must be an absolute "
                    "path"},
        {.object = CONTAINER("'environment':{'A=B':'c'}"),
         .message = "spec.containers[0].environment: Invalid value: \"A=B\": a variable has a name "
                    "without '='"},
        {.object = CONTAINER("'environment':{'A':'c'},'secrets':{'A':{'name':'n','key':'k'}}"),
         .message = "spec.containers[0].secrets[A]: Duplicate value: \"A\": environment has it, "
                    "too"},
        {.object = CONTAINER("'secrets':{'A':{'name':'n'}}"),
         .message = "spec.containers[0].secrets[A].key: Required value"},
        {.object = WITH("'services':[{'image':'i'}]"),
         .message = "spec.services[0].name: Required value: of each service"},
        {.object = WITH("'services':[{'name':'s','commands':{'pre':'x'}}]"),
         .message = "spec.services[0].commands.pre: Forbidden: services have no such commands"},
        {.object = WITH("'services':[{'name':'s','runFlux':true}]"),
         .message = "spec.services[0].runFlux: Forbidden: a service does not run Flux"},
        {.object = CONTAINER("'command':'a\\u0000b'"),
         .message = "spec: Forbidden: a text has a NUL character (\\u0000) in it"},
    };
    (void)state;
    check_cases(VALIDATE, cases, SL_LEN(cases));
}

static void the_rest(void **state) {
    static const struct review_case cases[] = {
        {.object = NAMED("a.b", "'containers':[" RUNNER "]"),
         .message = "metadata.name: Invalid value: \"a.b\": must not contain dots"},
        {.object = NAMED(FIFTY "aaa", "'containers':[" RUNNER "]"),
         .message = "metadata.name: Invalid value: \"" FIFTY
                    "aaa\": must be at most 52 characters long, since names are made of it"},
        {.object = WITH("'network':{'headlessName':'a.b'}"),
         .message = "spec.network.headlessName: Invalid value: \"a.b\": must not contain dots"},
        {.object = WITH("'jobLabels':{'a':'-'}"),
         .message =
             "spec.jobLabels: Invalid value: \"-\": a valid label must be an empty string or "
             "consist of alphanumeric characters, '-', '_' or '.', and must start and end "
             "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
             "regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
        {.object = WITH("'flux':{'bursting':{'hostlist':'a','clusters':[{'name':'b'}]}}"),
         .message = "spec.flux.bursting.hostlist: Forbidden: may not be set together with "
                    "clusters: choose one"},
        {.object = WITH("'pod':{'resources':{'cpu':'x'}}"),
         .message = "spec.pod.resources[cpu]: Invalid value: \"x\": must be a quantity, such as 4, "
                    "500m or 1Gi"},
        {.name = "wrong types",
         .object = MC("'size':'many','containers':'all','services':7,'flux':[],'pod':'x'"),
         .message = "spec.containers: Required value: one that runs Flux"},
    };
    (void)state;
    check_cases(VALIDATE, cases, SL_LEN(cases));
}

/* A list or map of so many: "V#" is numbered. */
static void check_count(const char *begin, const char *item, const char *end, uint32_t n,
                        const char *message) {
    struct sl_buf b = SL_BUF(1 << 20);
    struct answer a;
    sl_buf_puts(&b, begin);
    for (uint32_t i = 0; i < n; i++) {
        sl_buf_puts(&b, i ? "," : "");
        for (const char *p = item; *p; p++)
            if (*p == '#')
                sl_buf_printf(&b, "%u", i);
            else
                sl_buf_putc(&b, *p);
    }
    sl_buf_puts(&b, end);
    review_object(VALIDATE, sl_buf_str(&b), NULL, NULL, false, &a);
    if (strcmp(a.message, message) != 0)
        fail_msg("%u of %s: %s\nexpected %s", n, item, a.message, message);
    answer_done(&a);
    sl_buf_done(&b);
}

static void ceilings(void **state) {
#define BEGIN "{'apiVersion':'" NEW "','kind':'MiniCluster','metadata':{'name':'mc'},'spec':{"
#define VOLUMES(p)                                                                                 \
    "'" p "0':{'path':'/" p "0','claimName':'c'},'" p "1':{'path':'/" p "1','claimName':'c'},'" p  \
    "2':{'path':'/" p "2','claimName':'c'},'" p "3':{'path':'/" p "3','claimName':'c'},'" p        \
    "4':{'path':'/" p "4','claimName':'c'},'" p "5':{'path':'/" p "5','claimName':'c'},'" p        \
    "6':{'path':'/" p "6','claimName':'c'},'" p "7':{'path':'/" p "7','claimName':'c'},'" p        \
    "8':{'path':'/" p "8','claimName':'c'}"
    (void)state;
    check_count(BEGIN "'containers':[{'runFlux':true},", "{'name':'c#'}", "]}}", 31, "");
    check_count(BEGIN "'containers':[{'runFlux':true},", "{'name':'c#'}", "]}}", 32,
                "spec.containers: Too many: 33: must have at most 32 items");
    check_count(BEGIN "'containers':[{'ports':[", "1#", "]}]}}", 257,
                "spec.containers[0].ports: Too many: 257: must have at most 256 items");
    check_count(BEGIN "'containers':[{'volumes':{", "'v#':{'path':'/v#','claimName':'c'}", "}}]}}",
                65, "spec.containers[0].volumes: Too many: 65: must have at most 64 items");
    check_count(BEGIN "'containers':[{'runFlux':true},",
                "{'name':'c#','volumes':{" VOLUMES("v") "}}", "]}}", 28, "");
    check_count(BEGIN "'containers':[{'runFlux':true},",
                "{'name':'c#','volumes':{" VOLUMES("v") "}}", "]}}", 29,
                "spec.containers.volumes: Too many: 261: must have at most 256 items");
    check_count(BEGIN "'containers':[{'command':'", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
                "'}]}}", 6000, "spec: Too long: may not be more than 262144 bytes");
}

static void v1alpha1(void **state) {
    static const struct review_case cases[] = {
        {.name = "right",
         .object = MADE_OLD("\\'users\\':[{\\'name\\':\\'ana\\'}]", ""),
         .message = ""},
        {.object = MADE_OLD("\\'users\\':[{\\'name\\':\\'Ana\\'}]", ""),
         .message = "spec.users[0].name: Invalid value: \"Ana\": " DNS_LABEL},
        {.object =
             MADE_OLD("\\'users\\':[{\\'name\\':\\'a\\',\\'password\\':\\'123456789\\'}]", ""),
         .message = "spec.users[0].password: Too long: may not be more than 8 bytes"},
        {.object =
             MADE_OLD("\\'containers\\':[{\\'volumes\\':{\\'v\\':{\\'path\\':\\'/v\\'}}}]", ""),
         .message = "spec.containers[0].volumes[v]: Not found: \"v\": must be one of spec.volumes"},
        {.object = MADE_OLD(
             "\\'volumes\\':{\\'v\\':{\\'path\\':\\'/v\\',\\'storageClass\\':\\'x\\'}}", ""),
         .message = "spec.volumes[v].secret: Required value: unless storageClass is hostpath"},
        {.object =
             MADE_OLD("\\'volumes\\':{\\'v\\':{\\'path\\':\\'/v\\',\\'capacity\\':\\'x\\'}}", ""),
         .message = "spec.volumes[v].capacity: Invalid value: \"x\": must be a quantity, such as "
                    "5Gi"},
        {.name = "the path is that of the version",
         .object = "{'apiVersion':'" NEW "','kind':'MiniCluster','metadata':{'name':'mc',"
                   "'annotations':{'" OLD "':'{}'}},'spec':{'size':1,'containers':[{'volumes':{"
                   "'a':{'path':'/a'}}}]}}",
         .message = "spec.containers[0].existingVolumes[a]: Invalid value: {\"path\":\"/a\"}: "
                    "exactly one of claimName, configMapName, hostPath and secretName must be set"},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct answer a;
        char *object = json_of(cases[i].object); /* \' became \" */
        review_object(VALIDATE, object, NULL, NULL, false, &a);
        if (a.http != 200 || strcmp(a.message, cases[i].message) != 0)
            fail_msg("%zu: %d %s\nexpected: %s", i, a.http, a.message, cases[i].message);
        answer_done(&a);
        free(object);
    }
}

static void no_minicluster(void **state) {
    static const char *const objects[] = {
        "{'apiVersion':'flux-framework.org/v1','kind':'MiniCluster','metadata':{'name':'a'}}",
        "{'apiVersion':'" NEW "','kind':'FluxCluster','metadata':{'name':'a'}}",
        "{'spec':{}}",
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(objects); i++) {
        struct answer a;
        review_object(VALIDATE, objects[i], NULL, NULL, false, &a);
        assert_int_equal(a.http, 200);
        assert_false(a.allowed);
        assert_int_equal(sl_json_int(a.response, "status.code", 0), 400);
        answer_done(&a);
    }
}

static bool has_patch(const char *object, bool yields) {
    static struct sl_settings settings;
    struct sl_review_view view = empty_view(&settings, NULL, false);
    char *now = json_of(object), *body = NULL;
    struct answer a;
    settings.flux_operator = yields;
    int n = asprintf(&body,
                     "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\","
                     "\"request\":{\"uid\":\"u-1\",\"operation\":\"CREATE\",\"object\":%s}}",
                     now);
    assert_true(n > 0);
    post(&view, MUTATE, body, (size_t)n, &a);
    assert_int_equal(a.http, 200);
    assert_true(a.allowed);
    bool has = sl_json_get(a.response, "patch");
    answer_done(&a);
    free(now);
    free(body);
    return has;
}

static void a_single_container_runs_flux(void **state) {
    (void)state;
    assert_true(has_patch(CONTAINER("'command':'a'"), false));
    assert_true(has_patch(CONTAINER("'command':'a','runFlux':false"), false));
    assert_false(has_patch(CONTAINER("'command':'a','runFlux':true"), false));
    assert_false(has_patch(MC("'containers':[{'name':'a'},{'name':'b'}]"), false));
    assert_false(has_patch(MC("'containers':[7]"), false));
    assert_false(has_patch(MC("'containers':{}"), false));
    assert_false(has_patch(CONTAINER("'command':'a'"), true)); /* the Flux Operator does */
}

static void updates(void **state) {
    static const struct review_case cases[] = {
        {.name = "what is wrong already may be labelled",
         .object = WITH("'size':0"),
         .old = WITH("'size':0"),
         .message = ""},
        {.name = "but not changed",
         .object = WITH("'size':0"),
         .old = WITH("'size':1"),
         .message = "spec.size: Invalid value: 0: must be greater than or equal to 1"},
    };
    struct answer a;
    (void)state;
    check_cases(VALIDATE, cases, SL_LEN(cases));
    review_object(VALIDATE, WITH("'size':2"), WITH("'size':1"), NULL, false, &a);
    assert_null(sl_json_get(a.response, "warnings"));
    answer_done(&a);
    review_object(VALIDATE, CONTAINER("'command':'b'"), CONTAINER("'command':'a'"), NULL, false,
                  &a);
    assert_non_null(sl_json_get(a.response, "warnings"));
    answer_done(&a);
}

/* ---- conversion ---- */

/* The object in another version; NULL: it has none. */
static yyjson_doc *converted(yyjson_val *object, const char *to) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct sl_err err;
    struct sl_convert cv = {.doc = doc, .room_bytes = SL_CONVERT_MAX_BYTES, .err = &err};
    yyjson_mut_val *v = NULL;
    yyjson_doc *out = NULL;
    if (sl_convert_object(&cv, object, to, &v) >= 0) {
        yyjson_mut_doc_set_root(doc, v);
        out = yyjson_mut_doc_imut_copy(doc, NULL);
    }
    yyjson_mut_doc_free(doc);
    return out;
}

static yyjson_doc *parse(const char *quoted) {
    char *text = json_of(quoted);
    yyjson_doc *d = sl_json_doc(text, strlen(text));
    assert_non_null(d);
    free(text);
    return d;
}

static void shows(const char *object, const char *to, const char *path, const char *json) {
    yyjson_doc *in = parse(object), *out = converted(yyjson_doc_get_root(in), to);
    yyjson_doc *expected = parse(json);
    assert_non_null(out);
    yyjson_val *got = sl_json_at(yyjson_doc_get_root(out), path);
    if (!got || !sl_json_equal(got, yyjson_doc_get_root(expected), NULL))
        fail_msg("%s of %s: %s", path, object, got ? yyjson_val_write(got, 0, NULL) : "nothing");
    yyjson_doc_free(in);
    yyjson_doc_free(out);
    yyjson_doc_free(expected);
}

static void fields_find_their_places(void **state) {
#define V1(spec)                                                                                   \
    "{'apiVersion':'" OLD "','kind':'MiniCluster','metadata':{'name':'a'},'spec':{" spec "}}"
    (void)state;
    shows(V1("'size':3,'containers':[{'existingVolumes':{'a':{'path':'/a'}},'volumes':{'b':{'path'"
             ":'/b'}}}]"),
          NEW, "spec", "{'size':3,'containers':[{'volumes':{'a':{'path':'/a'}}}]}");
    shows(V1("'size':1,'users':[{'name':'a'}],'flux':{'installRoot':'/x','wrap':'w'}"), NEW, "spec",
          "{'size':1,'flux':{'wrap':'w'}}");
    shows(WITH("'minSize':2,'flux':{'container':{'disable':true},'logLevel':7}"), OLD, "spec",
          "{'containers':[" RUNNER "],'flux':{'logLevel':7}}");
    shows(CONTAINER("'volumes':{'a':{'path':'/a','hostPath':'/h'}}"), OLD, "spec.containers",
          "[{'existingVolumes':{'a':{'path':'/a','hostPath':'/h'}}}]");
#undef V1
}

static void there_and_back(yyjson_val *object, const char *by) {
    yyjson_doc *there = converted(object, by);
    assert_non_null(there);
    yyjson_doc *back = converted(yyjson_doc_get_root(there), sl_json_str(object, "apiVersion"));
    assert_non_null(back);
    if (!sl_json_equal(object, yyjson_doc_get_root(back), NULL))
        fail_msg("%s\nby %s\nis %s", yyjson_val_write(object, 0, NULL),
                 yyjson_val_write(yyjson_doc_get_root(there), 0, NULL),
                 yyjson_val_write(yyjson_doc_get_root(back), 0, NULL));
    yyjson_doc_free(there);
    yyjson_doc_free(back);
}

static void annotations_of_anybody(void **state) {
    static const char *const texts[] = {
        "", "x", "[]", "7", "{}", "null", "{'a':1}", "{'spec':7}", "{'spec':{'size':9}}"};
    char *object = NULL;
    (void)state;
    for (size_t i = 0; i < SL_LEN(texts); i++) {
        char *text = json_of(texts[i]);
        yyjson_mut_doc *m = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *quoted = yyjson_mut_str(m, text);
        char *literal = yyjson_mut_val_write(quoted, 0, NULL);
        assert_true(asprintf(&object,
                             "{\"apiVersion\":\"" NEW "\",\"kind\":\"MiniCluster\",\"metadata\":{"
                             "\"annotations\":{\"" OLD "\":%s}},\"spec\":{\"size\":1}}",
                             literal) > 0);
        yyjson_doc *in = sl_json_doc(object, strlen(object));
        yyjson_doc *out = converted(yyjson_doc_get_root(in), OLD);
        assert_non_null(out);
        assert_int_equal(sl_json_int(yyjson_doc_get_root(out), "spec.size", 0), 1);
        yyjson_doc_free(in);
        yyjson_doc_free(out);
        yyjson_mut_doc_free(m);
        free(literal);
        free(text);
        free(object);
    }
}

/* Any fields of a version, with any values. */
static void put_random(struct sl_prng *p, struct sl_jw *j, const char *key) {
    switch (sl_prng_below(p, 6)) {
    case 0:
        sl_jw_null(j, key);
        return;
    case 1:
        sl_jw_object(j, key);
        sl_jw_int(j, "a", 1);
        sl_jw_end(j);
        return;
    case 2:
        sl_jw_array(j, key);
        sl_jw_str(j, NULL, "x");
        sl_jw_end(j);
        return;
    default:
        sl_jw_strf(j, key, "%llu", (unsigned long long)sl_prng_below(p, 9));
    }
}

static void put_some(struct sl_prng *p, struct sl_jw *j, const char *const *keys) {
    for (; *keys; keys++)
        if (sl_prng_below(p, 2))
            put_random(p, j, *keys);
}

static void put_containers(struct sl_prng *p, struct sl_jw *j, const char *key, bool old) {
    static const char *const of[2][12] = {
        {"name", "volumes", "noWrapEntrypoint", "resources", NULL},
        {"name", "volumes", "existingVolumes", "cores", "diagnostics", "fluxUser", "preCommand",
         NULL},
    };
    static const char *const commands[2][6] = {{"pre", "script", "servicePre", NULL},
                                               {"pre", "runFluxAsRoot", NULL}};
    sl_jw_array(j, key);
    for (uint64_t n = sl_prng_below(p, 4); n > 0; n--) {
        if (sl_prng_below(p, 9) == 0) {
            put_random(p, j, NULL);
            continue;
        }
        sl_jw_object(j, NULL);
        put_some(p, j, of[old]);
        if (sl_prng_below(p, 2)) {
            sl_jw_object(j, "commands");
            put_some(p, j, commands[old]);
            sl_jw_end(j);
        }
        sl_jw_end(j);
    }
    sl_jw_end(j);
}

static void random_objects_come_back(void **state) {
    static const char *const spec[2][12] = {
        {"size", "maxSize", "minSize", "jobLabels", NULL},
        {"size", "maxSize", "users", "volumes", "fluxRestful", "jobLabels", NULL}};
    static const char *const flux[2][10] = {
        {"wrap", "container", "arch", "submitCommand", "noWaitSocket", "completeWorkers", NULL},
        {"wrap", "installRoot", "curveCertSecret", NULL}};
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct sl_prng p;
        _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(1 << 16);
        struct sl_jw j = SL_JW(&b);
        sl_prng_init(&p, seed);
        bool old = sl_prng_below(&p, 2);
        sl_jw_object(&j, NULL);
        sl_jw_str(&j, "apiVersion", old ? OLD : NEW);
        sl_jw_str(&j, "kind", "MiniCluster");
        sl_jw_object(&j, "metadata");
        sl_jw_str(&j, "name", "a");
        if (sl_prng_below(&p, 2)) {
            sl_jw_object(&j, "annotations");
            sl_jw_str(&j, "other", "x");
            sl_jw_end(&j);
        }
        sl_jw_end(&j);
        sl_jw_object(&j, "spec");
        put_some(&p, &j, spec[old]);
        if (sl_prng_below(&p, 2)) {
            sl_jw_object(&j, "flux");
            put_some(&p, &j, flux[old]);
            sl_jw_end(&j);
        }
        put_containers(&p, &j, "containers", old);
        put_containers(&p, &j, "services", old);
        sl_jw_end_to(&j, 0);
        yyjson_doc *d = sl_json_doc(sl_buf_str(&b), b.len);
        assert_non_null(d);
        there_and_back(yyjson_doc_get_root(d), old ? NEW : OLD);
        yyjson_doc_free(d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_right),
        cmocka_unit_test(sizes),
        cmocka_unit_test(containers),
        cmocka_unit_test(the_rest),
        cmocka_unit_test(ceilings),
        cmocka_unit_test(v1alpha1),
        cmocka_unit_test(no_minicluster),
        cmocka_unit_test(a_single_container_runs_flux),
        cmocka_unit_test(updates),
        cmocka_unit_test(fields_find_their_places),
        cmocka_unit_test(annotations_of_anybody),
        cmocka_unit_test(random_objects_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

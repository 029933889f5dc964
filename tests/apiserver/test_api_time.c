/*
 * The time of a request is bounded by its length and that of the object it is about, whoever wrote
 * them: every list and every map of every kind that is served is blown up and created, updated,
 * patched in each way, applied, shown and deleted, with old and new in reverse order of each
 * other. Each request must be done within 100 ms of processor time for each MiB; what is quadratic
 * takes many times that.
 *
 *     test_api_time [all [BYTES]]
 *
 * Without "all" each field of each type is blown up once, not once for each kind that has it, and
 * in some of the ways.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#include "apiserver/server.h"
#include "base/mem.h"
#include "base/wordset.h"
#include "blow.h"
#include "json/json.h"

#if SL_SANITISED
#define SLOWER 20
#elif defined(__OPTIMIZE__)
#define SLOWER 1
#else
#define SLOWER 5
#endif

#define SOME (SLOWER > 1 ? 4 : 1) /* slow builds look at every fourth of the largest bodies */
#define MS_PER_MIB 100
#define ANY_US 20000 /* for any request, however short: caches are cold, others use the machine */
#define SCAN_BYTES ((size_t)96 << 10)
#define AGAIN 5
#define LISTED 1000 /* objects in a list of Kubernetes' own kinds, just below what is refused */
#define BODY_BYTES ((size_t)8 << 20)

static bool all;
static size_t scan_bytes = SCAN_BYTES;

/* ---- a server, and one request at a time ---- */

static uv_loop_t loop;
static struct sl_apiserver *server;
static struct {
    bool is;
    int status;
    struct sl_buf body;
} answer;

static void on_answer(void *ctx, const struct sl_api_answer *a) {
    (void)ctx;
    answer.is = true;
    answer.status = a->status;
    sl_buf_clear(&answer.body);
    sl_buf_add(&answer.body, a->body, a->len);
}

static void start(void) {
    struct sl_err err;

    answer.body = SL_BUF((size_t)64 << 20);
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_true(sl_apiserver_new(&(struct sl_apiserver_spec){.loop = &loop,
                                                             .version = "v1.36.0",
                                                             .address = "127.0.0.1:6443"},
                                 &server, &err) >= 0);
}

static void stop(void) {
    sl_apiserver_free(server);
    server = NULL;
    while (uv_run(&loop, UV_RUN_NOWAIT))
        ;
    assert_int_equal(uv_loop_close(&loop), 0);
    sl_buf_done(&answer.body);
}

static int64_t cpu_us(void) {
    struct timespec t;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), 0);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

#define JSON "application/json"
#define YAML "application/yaml"
#define JSON_PATCH "application/json-patch+json"
#define MERGE "application/merge-patch+json"
#define STRATEGIC "application/strategic-merge-patch+json"
#define APPLY "application/apply-patch+yaml"
#define TABLE "application/json;as=Table;v=v1;g=meta.k8s.io"

struct request {
    const char *method, *path, *query, *type, *accept;
    const char *body;
    size_t len;
};

/* The time it took. */
static int64_t ask(const struct request *q) {
    static const char *const groups[] = {"system:masters", "system:authenticated", NULL};
    struct sl_api_sink sink = {.answer = on_answer};

    answer.is = false;
    int64_t begun = cpu_us();
    (void)sl_apiserver_call(server,
                            &(struct sl_api_request){.method = q->method,
                                                     .path = q->path,
                                                     .query = q->query ? q->query : "",
                                                     .accept = q->accept ? q->accept : "",
                                                     .content_type = q->type ? q->type : "",
                                                     .user_agent = "test/1",
                                                     .user = "admin",
                                                     .groups = groups,
                                                     .body = q->body,
                                                     .len = q->len},
                            &sink);
    while (!answer.is)
        (void)uv_run(&loop, UV_RUN_ONCE);
    return cpu_us() - begun;
}

static int64_t worst_permille;
static uint32_t asked, taken, too_slow;
static char worst[400];

/* What may be used for the object that was there and the one that is sent, or is made of what is
 * sent, whichever of these is longer. A value of YAML takes libyaml a third of a microsecond,
 * however short it is: the number of values has a ceiling of its own. */
static int64_t allowed(const struct request *q, size_t stored) {
    size_t made = answer.status < 300 && answer.body.len > q->len ? answer.body.len : q->len;
    int64_t limit = MS_PER_MIB * 1000 * (int64_t)((made + stored) >> 10) / 1024 + ANY_US;

    if (q->type && strcmp(q->type, YAML) == 0 && *q->body != '{')
        limit *= 4;
    return limit * SLOWER;
}

/* The least of some tries, as a busy machine counts misses of its caches as ours. 'stored' is the
 * size of what the request is about. The request must be one that can be repeated. */
static void hold(const struct request *q, size_t stored, const char *what, const char *how) {
    int64_t took = ask(q), limit = allowed(q, stored);

    for (int again = 1; again < AGAIN && took > limit; again++) {
        int64_t t = ask(q);
        took = t < took ? t : took;
    }
    asked++;
    taken += answer.status < 300;
    if (getenv("SL_TEST_TIMES"))
        print_message("%lld permille, %lld us %d %zu+%zu %s %s %s (%s): %.200s\n",
                      (long long)(took * 1000 / limit), (long long)took, answer.status, q->len,
                      stored, q->method, q->path, what, how,
                      answer.status < 300 ? "" : sl_buf_str(&answer.body));
    if (took * 1000 / limit > worst_permille) {
        worst_permille = took * 1000 / limit;
        (void)snprintf(worst, sizeof worst, "%s %s: %s (%s), %zu bytes to %zu: %lld us, %d",
                       q->method, q->path, what, how, q->len, stored, (long long)took,
                       answer.status);
    }
    if (took > limit) {
        print_error("%s %s: %s (%s), %zu bytes to %zu: %lld us, allowed are %lld; %d %.120s\n",
                    q->method, q->path, what, how, q->len, stored, (long long)took,
                    (long long)limit, answer.status,
                    answer.status < 300 ? "" : sl_buf_str(&answer.body));
        too_slow++;
    }
}

static int post(const char *path, const char *body) {
    (void)ask(&(struct request){
        .method = "POST", .path = path, .type = JSON, .body = body, .len = strlen(body)});
    return answer.status;
}

/* ---- small objects of every kind ---- */

#define POD_SPEC "{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}"
#define POD_TEMPLATE                                                                               \
    "{\"metadata\":{\"labels\":{\"app\":\"a\"}},\"spec\":{\"containers\":[{\"name\":\"c\","        \
    "\"image\":\"i\"}]}}"
#define SELECTOR "\"selector\":{\"matchLabels\":{\"app\":\"a\"}}"
#define ROLE_REF                                                                                   \
    "{\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\","           \
    "\"name\":\"r\"},\"subjects\":[{\"kind\":\"User\",\"name\":\"u\","                             \
    "\"apiGroup\":\"rbac.authorization.k8s.io\"}]}"
#define WEBHOOKS                                                                                   \
    "{\"webhooks\":[{\"name\":\"a.b.c\",\"clientConfig\":{\"url\":\"https://127.0.0.1:1/x\"},"     \
    "\"sideEffects\":\"None\",\"admissionReviewVersions\":[\"v1\"],"                               \
    "\"rules\":[{\"apiGroups\":[\"g\"],\"apiVersions\":[\"v\"],\"resources\":[\"r\"],"             \
    "\"operations\":[\"CREATE\"]}]}]}"

static const struct {
    const char *plural, *body;
} bases[] = {
    {"pods", "{\"spec\":" POD_SPEC "}"},
    {"podtemplates", "{\"template\":" POD_TEMPLATE "}"},
    {"services", "{\"spec\":{\"ports\":[{\"name\":\"p\",\"port\":80}]}}"},
    {"endpoints", "{\"subsets\":[{\"addresses\":[{\"ip\":\"10.1.1.1\"}],\"ports\":[{\"name\":"
                  "\"p\",\"port\":80}]}]}"},
    {"events", "{\"involvedObject\":{\"namespace\":\"default\"},\"reason\":\"r\",\"type\":"
               "\"Normal\"}"},
    {"events/events.k8s.io",
     "{\"regarding\":{\"namespace\":\"default\"},\"reason\":\"r\",\"type\":\"Normal\","
     "\"eventTime\":\"2024-01-01T00:00:00.000000Z\",\"reportingController\":\"a.b/c\","
     "\"reportingInstance\":\"i\",\"action\":\"a\"}"},
    {"limitranges", "{\"spec\":{\"limits\":[{\"type\":\"Container\"}]}}"},
    {"persistentvolumeclaims", "{\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{"
                               "\"requests\":{\"storage\":\"1Gi\"}}}}"},
    {"persistentvolumes", "{\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"capacity\":{"
                          "\"storage\":\"1Gi\"},\"hostPath\":{\"path\":\"/x\"}}}"},
    {"jobs", "{\"spec\":{\"template\":{\"spec\":" POD_SPEC "}}}"},
    {"cronjobs", "{\"spec\":{\"schedule\":\"* * * * *\",\"jobTemplate\":{\"spec\":{\"template\":{"
                 "\"spec\":" POD_SPEC "}}}}}"},
    {"deployments", "{\"spec\":{" SELECTOR ",\"template\":" POD_TEMPLATE "}}"},
    {"replicasets", "{\"spec\":{" SELECTOR ",\"template\":" POD_TEMPLATE "}}"},
    {"statefulsets",
     "{\"spec\":{\"serviceName\":\"s\"," SELECTOR ",\"template\":" POD_TEMPLATE "}}"},
    {"controllerrevisions", "{\"revision\":1,\"data\":{\"a\":1}}"},
    {"leases", "{\"spec\":{}}"},
    {"priorityclasses", "{\"value\":1}"},
    {"runtimeclasses", "{\"handler\":\"h\"}"},
    {"storageclasses", "{\"provisioner\":\"a.b/c\"}"},
    {"endpointslices", "{\"addressType\":\"IPv4\",\"endpoints\":[{\"addresses\":[\"10.1.1.1\"]}]}"},
    {"poddisruptionbudgets", "{\"spec\":{\"minAvailable\":1," SELECTOR "}}"},
    {"roles", "{\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"get\"]}]}"},
    {"clusterroles",
     "{\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"get\"]}]}"},
    {"rolebindings", ROLE_REF},
    {"clusterrolebindings", ROLE_REF},
    {"mutatingwebhookconfigurations", WEBHOOKS},
    {"validatingwebhookconfigurations", WEBHOOKS},
    {"customresourcedefinitions",
     "{\"spec\":{\"group\":\"time.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"NAME\","
     "\"kind\":\"Time\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
     "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":"
     "\"object\"}}}}}]}}"},
    {"selfsubjectaccessreviews",
     "{\"spec\":{\"resourceAttributes\":{\"verb\":\"get\",\"resource\":\"pods\"}}}"},
    {"subjectaccessreviews", "{\"spec\":{\"user\":\"u\",\"resourceAttributes\":{\"verb\":\"get\","
                             "\"resource\":\"pods\"}}}"},
    {"localsubjectaccessreviews",
     "{\"metadata\":{\"namespace\":\"default\"},\"spec\":{\"user\":\"u\",\"resourceAttributes\":{"
     "\"namespace\":\"default\",\"verb\":\"get\",\"resource\":\"pods\"}}}"},
    {"selfsubjectrulesreviews", "{\"spec\":{\"namespace\":\"default\"}}"},
    {"tokenreviews", "{\"spec\":{\"token\":\"t\"}}"},
    {"admissionchecks", "{\"spec\":{\"controllerName\":\"c\"}}"},
    {"localqueues", "{\"spec\":{\"clusterQueue\":\"q\"}}"},
    {"clusterqueues",
     "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"f\","
     "\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":1}]}]}]}}"},
    {"cohorts", "{\"spec\":{}}"},
    {"multikueueclusters",
     "{\"spec\":{\"clusterSource\":{\"kubeConfig\":{\"location\":\"l\",\"locationType\":"
     "\"Secret\"}}}}"},
    {"multikueueclusters/v1beta1",
     "{\"spec\":{\"kubeConfig\":{\"location\":\"l\",\"locationType\":\"Secret\"}}}"},
    {"multikueueconfigs", "{\"spec\":{\"clusters\":[\"c\"]}}"},
    {"provisioningrequestconfigs", "{\"spec\":{\"provisioningClassName\":\"p\"}}"},
    {"topologies", "{\"spec\":{\"levels\":[{\"nodeLabel\":\"a\"}]}}"},
    {"workloadpriorityclasses", "{\"value\":1}"},
    {"workloads", "{\"spec\":{\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":"
                  "" POD_SPEC "}}]}}"},
};

static const char *base_of(const struct sl_kind *k, const struct sl_kind_version *v) {
    char exact[200], group[200];

    (void)snprintf(exact, sizeof exact, "%s/%s", k->plural, v->name);
    (void)snprintf(group, sizeof group, "%s/%s", k->plural, k->group);
    for (size_t i = 0; i < SL_LEN(bases); i++)
        if (strcmp(bases[i].plural, exact) == 0 || strcmp(bases[i].plural, group) == 0)
            return bases[i].body;
    for (size_t i = 0; i < SL_LEN(bases); i++)
        if (strcmp(bases[i].plural, k->plural) == 0)
            return bases[i].body;
    return "{}";
}

/* A kind with everything that a definition may say. */
static const char definition[] =
    "{\"metadata\":{\"name\":\"things.example.com\"},\"spec\":{\"group\":\"example.com\","
    "\"scope\":\"Namespaced\",\"names\":{\"plural\":\"things\",\"kind\":\"Thing\"},\"versions\":[{"
    "\"name\":\"v1\",\"served\":true,\"storage\":true,\"subresources\":{\"status\":{},\"scale\":{"
    "\"specReplicasPath\":\".spec.replicas\",\"statusReplicasPath\":\".status.replicas\","
    "\"labelSelectorPath\":\".status.selector\"}},\"selectableFields\":[{\"jsonPath\":"
    "\".spec.word\"}],\"additionalPrinterColumns\":[{\"name\":\"N\",\"type\":\"string\","
    "\"jsonPath\":\".spec.keyed[*].v\"}],"
    "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":"
    "\"object\",\"properties\":{"
    "\"word\":{\"type\":\"string\"},\"replicas\":{\"type\":\"integer\",\"default\":1},"
    "\"keyed\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\","
    "\"x-kubernetes-list-map-keys\":[\"k\",\"port\"],\"items\":{\"type\":\"object\",\"required\":["
    "\"k\"],\"properties\":{\"k\":{\"type\":\"string\",\"maxLength\":16},\"port\":{\"type\":"
    "\"integer\",\"default\":1},\"v\":{\"type\":\"string\",\"default\":\"w\"},\"in\":{\"type\":"
    "\"object\",\"default\":{},\"properties\":{\"a\":{\"type\":\"string\",\"default\":\"b\"}}},"
    "\"more\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":"
    "\"string\"}}},\"x-kubernetes-validations\":[{\"rule\":\"self.k != oldSelf.v\"}]}},"
    "\"set\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":"
    "\"string\"}},"
    "\"numbers\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":"
    "\"integer\"}},"
    "\"atomic\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"atomic\",\"items\":{\"type\":"
    "\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"pattern\":\"^[a-z0-9-]*$\"}}}},"
    "\"plain\":{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":{\"type\":\"string\","
    "\"enum\":[\"a\",\"b\"]}}},"
    "\"unique\":{\"type\":\"array\",\"items\":{\"x-kubernetes-int-or-string\":true}},"
    "\"map\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\","
    "\"x-kubernetes-validations\":[{\"rule\":\"self == oldSelf || self != 'q'\"}]}},"
    "\"maps\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"object\","
    "\"additionalProperties\":{\"type\":\"integer\"}}},"
    "\"granular\":{\"type\":\"object\",\"x-kubernetes-map-type\":\"atomic\","
    "\"additionalProperties\":{\"type\":\"string\"}},"
    "\"some\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-"
    "fields\":true,\"anyOf\":[{\"required\":[\"a\"]},{\"properties\":{\"a\":{\"not\":{\"enum\":["
    "1,2]}}}}]}},"
    "\"any\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true},"
    "\"pod\":{\"type\":\"object\",\"x-kubernetes-embedded-resource\":true,"
    "\"x-kubernetes-preserve-unknown-fields\":true}},"
    "\"x-kubernetes-validations\":[{\"rule\":\"!has(self.set) || self.set.all(x, size(x) < 99)\"},"
    "{\"rule\":\"!has(self.keyed) || self.keyed.all(x, x.k != 'q')\"},"
    "{\"rule\":\"!has(self.map) || !has(oldSelf.map) || self.map != oldSelf.map || true\"}]},"
    "\"status\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}}}]}}";

/* ---- every list and map, in every way ---- */

struct subject {
    struct sl_kind *kind;
    const struct sl_kind_version *version;
    char root[300]; /* "/apis/batch/v1/namespaces/default/jobs" */
    char head[300]; /* "apiVersion":..., */
    const char *base_text;
    struct sl_wordset *seen;
    struct sl_arena *arena;
    uint32_t n; /* targets so far */
};

static void root_of(const struct sl_kind *k, const struct sl_kind_version *v, char out[300]) {
    (void)snprintf(out, 300, "%s%s/%s%s/%s", *k->group ? "/apis/" : "/api", k->group, v->name,
                   k->namespaced ? "/namespaces/default" : "", k->plural);
}

/* Names are new each time: what is deleted may stay for its finalizers. */
static uint32_t names;

struct work {
    const struct subject *s;
    const struct blow_target *t;
    const char *what;
    char name[80], path[400], meta[300], version[40];
    size_t stored; /* bytes of the object at 'path' */
    uint32_t turn; /* which of the ways are taken */
};

static bool turn(struct work *w) {
    return all || w->turn++ % (SLOWER > 1 ? 64 : 8) == 0;
}

static void rename_work(struct work *w, bool again) {
    bool crd = strcmp(w->s->kind->plural, "customresourcedefinitions") == 0;

    if (!again)
        names++;
    (void)snprintf(w->name, sizeof w->name, "t%u%s", names, crd ? ".time.io" : "");
    (void)snprintf(w->path, sizeof w->path, "%s/%s", w->s->root, w->name);
    (void)snprintf(w->meta, sizeof w->meta, "\"name\":\"%s\",%s%s%s", w->name,
                   *w->version ? "\"resourceVersion\":\"" : "", w->version,
                   *w->version ? "\"," : "");
}

/* A definition's name is that of its plural. */
static void name_plural(struct sl_buf *body) {
    const char *at = strstr(sl_buf_str(body), "NAME");
    struct sl_buf copy = SL_BUF(BODY_BYTES);

    if (!at)
        return;
    sl_buf_add(&copy, body->s, (size_t)(at - body->s));
    sl_buf_printf(&copy, "t%u", names);
    sl_buf_puts(&copy, at + strlen("NAME"));
    sl_buf_done(body);
    *body = copy;
}

static void print(struct sl_buf *out, struct work *w, struct blow_how how, bool whole) {
    how.head = w->s->head;
    how.meta = w->meta;
    if (!how.bytes)
        how.bytes = scan_bytes;
    sl_buf_clear(out);
    blow_print(out, w->t, &how, whole);
    name_plural(out);
}

static void note_version(struct work *w) {
    yyjson_doc *doc = yyjson_read(sl_buf_str(&answer.body), answer.body.len, 0);

    (void)snprintf(w->version, sizeof w->version, "%s",
                   sl_json_str(yyjson_doc_get_root(doc), "metadata.resourceVersion"));
    w->stored = answer.body.len;
    yyjson_doc_free(doc);
    rename_work(w, true);
}

/* Stores it: as blown up as it may be, else the small one. */
static void store(struct work *w, struct sl_buf *body, bool status) {
    w->version[0] = '\0';
    rename_work(w, false);
    struct request q = {.method = "POST", .path = w->s->root, .type = JSON};
    bool can = !status && !(all ? false : w->s->kind->review);

    if (can) {
        print(body, w, (struct blow_how){.most = LISTED}, true);
        q.body = sl_buf_str(body);
        q.len = body->len;
        (void)ask(&q);
    }
    if (!can || answer.status != 201) {
        sl_buf_clear(body);
        sl_buf_printf(body, "{%s\"metadata\":{%s\"labels\":{}}%s%s", w->s->head, w->meta,
                      strlen(w->s->base_text) > 2 ? "," : "", w->s->base_text + 1);
        name_plural(body);
        q.body = sl_buf_str(body);
        q.len = body->len;
        (void)ask(&q);
        if (answer.status != 201)
            print_error("%s: %s\n", w->s->root, sl_buf_str(&answer.body));
        assert_int_equal(answer.status, 201);
    }
    note_version(w);
}

/* "/spec/template/spec/containers/0/env" */
static void put_pointer(struct sl_buf *out, const struct blow_target *t) {
    for (uint32_t i = 0; i < t->n; i++)
        sl_buf_printf(out, "/%s",
                      t->steps[i].kind == BLOW_FIELD  ? t->steps[i].name
                      : t->steps[i].kind == BLOW_ITEM ? "0"
                                                      : "k-0");
}

static void json_patch(struct sl_buf *body, const struct work *w, const char *op) {
    struct blow_how how = {.bytes = scan_bytes, .most = LISTED, .reversed = true};

    sl_buf_clear(body);
    sl_buf_printf(body, "[{\"op\":\"%s\",\"path\":\"", op);
    put_pointer(body, w->t);
    sl_buf_puts(body, "\",\"value\":");
    blow_value(body, w->t, &how);
    sl_buf_puts(body, "}]");
}

#define DRY "dryRun=All&fieldManager=m"

static void change(struct work *w, struct sl_buf *body, const char *path) {
    static const struct {
        const char *how, *method, *type, *query;
        struct blow_how blow;
        bool whole;
    } ways[] = {
        {"update, reversed", "PUT", JSON, DRY, {.most = LISTED, .reversed = true}, true},
        {"merge, reversed", "PATCH", MERGE, DRY, {.most = LISTED, .reversed = true}, false},
        {"strategic, reversed", "PATCH", STRATEGIC, DRY, {.most = LISTED, .reversed = true}, false},
        {"strategic, others", "PATCH", STRATEGIC, DRY, {.most = LISTED, .from = 3000000}, false},
        {"apply, reversed",
         "PATCH",
         APPLY,
         DRY "2&force=true",
         {.most = LISTED, .reversed = true},
         false},
        {"apply, others",
         "PATCH",
         APPLY,
         DRY "2&force=true",
         {.most = LISTED, .from = 3000000},
         false},
        {"apply, in each item",
         "PATCH",
         APPLY,
         DRY "2&force=true",
         {.most = LISTED, .nested = true, .reversed = true},
         false},
        {"update, more", "PUT", JSON, DRY, {.reversed = true}, true},
        {"update, in each item",
         "PUT",
         JSON,
         DRY,
         {.most = LISTED, .nested = true, .reversed = true},
         true},
        {"update, all alike", "PUT", JSON, DRY, {.most = LISTED, .same = true}, true},
        {"strategic, all alike", "PATCH", STRATEGIC, DRY, {.most = LISTED, .same = true}, false},
        {"apply, all alike",
         "PATCH",
         APPLY,
         DRY "&force=true",
         {.most = LISTED, .same = true},
         false},
    };
    static const char *const ops[] = {"test", "replace", "add"};
    bool strategic = !w->s->kind->crd;

    for (size_t i = 0; i < SL_LEN(ways); i++) {
        if (!turn(w))
            continue;
        if ((strcmp(ways[i].type, STRATEGIC) == 0 && !strategic) ||
            (ways[i].blow.nested && !blow_nests(w->t)))
            continue;
        char version[sizeof w->version];
        memcpy(version, w->version, sizeof version);
        if (strcmp(ways[i].type, APPLY) == 0)
            w->version[0] = '\0';
        rename_work(w, true);
        print(body, w, ways[i].blow, ways[i].whole);
        memcpy(w->version, version, sizeof version);
        hold(&(struct request){.method = ways[i].method,
                               .path = path,
                               .query = ways[i].query,
                               .type = ways[i].type,
                               .body = sl_buf_str(body),
                               .len = body->len},
             w->stored, w->what, ways[i].how);
    }
    for (size_t i = 0; i < SL_LEN(ops); i++) {
        if (!turn(w))
            continue;
        json_patch(body, w, ops[i]);
        hold(&(struct request){.method = "PATCH",
                               .path = path,
                               .query = DRY,
                               .type = JSON_PATCH,
                               .body = sl_buf_str(body),
                               .len = body->len},
             w->stored, w->what, ops[i]);
    }
}

static void create(struct work *w, struct sl_buf *body) {
    static const struct {
        const char *how, *type, *query;
        struct blow_how blow;
    } ways[] = {
        {"create", JSON, DRY, {.most = LISTED}},
        {"create, more", JSON, DRY, {.most = 0}},
        {"create, in each item", JSON, DRY, {.most = LISTED, .nested = true}},
        {"create, all alike", JSON, DRY "&fieldValidation=Strict", {.most = LISTED, .same = true}},
        {"create, YAML", YAML, DRY "&fieldValidation=Strict", {.most = LISTED}},
    };

    w->version[0] = '\0';
    rename_work(w, false);
    for (size_t i = 0; i < SL_LEN(ways); i++) {
        if ((ways[i].blow.nested && !blow_nests(w->t)) || !turn(w))
            continue;
        print(body, w, ways[i].blow, true);
        hold(&(struct request){.method = "POST",
                               .path = w->s->root,
                               .query = ways[i].query,
                               .type = ways[i].type,
                               .body = sl_buf_str(body),
                               .len = body->len},
             0, w->what, ways[i].how);
    }
}

/* Applied by two, for good: both have all fields then. */
static void manage(struct work *w, struct sl_buf *body, const char *path) {
    char version[sizeof w->version];

    memcpy(version, w->version, sizeof version);
    w->version[0] = '\0';
    rename_work(w, true);
    for (int i = 0; i < 2; i++) {
        print(body, w, (struct blow_how){.most = LISTED, .reversed = i == 1}, false);
        (void)ask(&(struct request){.method = "PATCH",
                                    .path = path,
                                    .query = i ? "fieldManager=b&force=true"
                                               : "fieldManager=a&force=true",
                                    .type = APPLY,
                                    .body = sl_buf_str(body),
                                    .len = body->len});
        if (answer.status == 200)
            note_version(w);
        else
            memcpy(w->version, version, sizeof version);
    }
}

static void show(struct work *w) {
    char query[120];

    (void)snprintf(query, sizeof query, "fieldSelector=metadata.name%%3D%s", w->name);
    struct request ways[] = {
        {.method = "GET", .path = w->path},
        {.method = "GET", .path = w->path, .accept = TABLE},
        {.method = "GET", .path = w->path, .accept = YAML},
        {.method = "GET", .path = w->s->root, .query = query, .accept = TABLE},
        {.method = "DELETE", .path = w->path, .query = "dryRun=All"},
    };
    for (size_t i = 0; i < SL_LEN(ways); i++)
        if (turn(w))
            hold(&ways[i], w->stored, w->what, ways[i].accept ? ways[i].accept : "");
}

static void remove_it(struct work *w) {
    (void)ask(&(struct request){.method = "DELETE",
                                .path = w->path,
                                .query = "gracePeriodSeconds=0&propagationPolicy=Background"});
}

static void work(struct subject *s, const struct blow_target *t, const char *what) {
    struct sl_buf body = SL_BUF(BODY_BYTES);
    struct work w = {.s = s, .t = t, .what = what, .turn = s->n};
    bool status = blow_under(t, "status");
    char path[420];

    create(&w, &body);
    if (s->kind->verbs & SL_V_UPDATE) {
        store(&w, &body, status);
        (void)snprintf(path, sizeof path, "%s%s", w.path,
                       status && s->version->has_status ? "/status" : "");
        if (status && s->version->has_status) {
            print(&body, &w, (struct blow_how){.most = LISTED}, true);
            (void)ask(&(struct request){.method = "PUT",
                                        .path = path,
                                        .type = JSON,
                                        .body = sl_buf_str(&body),
                                        .len = body.len});
            if (answer.status == 200)
                note_version(&w);
        }
        change(&w, &body, path);
        show(&w);
        manage(&w, &body, path);
        change(&w, &body, path);
        remove_it(&w);
    }
    sl_buf_done(&body);
}

static void on_target(void *ctx, const struct blow_target *t) {
    struct subject *s = ctx;
    struct sl_buf name = SL_BUF(4096);
    const char *what = sl_arena_strdup(s->arena, blow_name(t, &name));
    const char *last = strrchr(what, '.');
    const char *owner = t->owner->name ? t->owner->name : s->kind->kind;

    sl_buf_done(&name);
    /* A field of a type that other kinds have, too, was looked at. */
    bool fresh =
        sl_wordset_add(s->seen, sl_arena_printf(s->arena, "%s %s", owner,
                                                t->owner == t->root || !t->owner->name ? what
                                                : last                                 ? last
                                                                                       : what));
    if (fresh || all) {
        s->n++;
        work(s, t, what);
    }
}

static void every_list_and_map_of_every_kind(void **state) {
    struct sl_wordset seen = {0};
    struct sl_arena arena = SL_ARENA((size_t)64 << 20);
    struct sl_kind *k;
    const char *only = getenv("SL_TEST_KIND");

    (void)state;
    if (post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition) != 201)
        print_error("%s\n", sl_buf_str(&answer.body));
    assert_int_equal(answer.status, 201);
    struct sl_kind *kinds[SL_API_KINDS];
    uint32_t n_kinds = 0, targets = 0;
    for (uint32_t i = 0; (k = sl_kind_each(server, &i));)
        kinds[n_kinds++] = k;
    for (uint32_t i = 0; i < n_kinds; i++) {
        k = kinds[i];
        if (only && strcmp(k->plural, only) != 0)
            continue;
        for (uint32_t v = 0; v < k->n_versions; v++) {
            struct subject s = {.kind = k,
                                .version = &k->versions[v],
                                .base_text = base_of(k, &k->versions[v]),
                                .seen = &seen,
                                .arena = &arena,
                                .n = targets};
            if (!k->versions[v].served)
                continue;
            yyjson_doc *base = yyjson_read(s.base_text, strlen(s.base_text), 0);
            root_of(k, s.version, s.root);
            (void)snprintf(s.head, sizeof s.head, "\"apiVersion\":\"%s%s%s\",\"kind\":\"%s\",",
                           k->group, *k->group ? "/" : "", s.version->name, k->kind);
            int64_t begun = cpu_us();
            blow_each(s.version->schema, yyjson_doc_get_root(base), on_target, &s);
            if (all)
                print_message("%s: %u, %lld ms\n", s.root, s.n - targets,
                              (long long)(cpu_us() - begun) / 1000);
            targets = s.n;
            yyjson_doc_free(base);
        }
    }
    print_message("%u lists and maps, %u requests, %u with success; the slowest took %lld permille "
                  "of its time: %s\n",
                  targets, asked, taken, (long long)worst_permille, worst);
    assert_int_equal(too_slow, 0);
    sl_wordset_done(&seen);
    sl_arena_done(&arena);
}

/* ---- the largest bodies ---- */

#define THINGS "/apis/example.com/v1/namespaces/default/things"
#define CONFIGS "/api/v1/namespaces/default/configmaps"
#define THING(name)                                                                                \
    "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"" name "\"},"
#define STORED_BYTES ((size_t)1400 << 10)
#define DENSE_BYTES ((size_t)400 << 10) /* with as many values as larger ones may have */

/* 'before', items until there are so many bytes, 'after'. In an item "@" is its number, and "~" the
 * number from the other end. */
static void fill(struct sl_buf *b, const char *before, const char *item, const char *after,
                 size_t bytes, int64_t most) {
    int64_t n = (int64_t)(bytes / (strlen(item) + 5)) + 1;

    if (most && n > most)
        n = most;
    sl_buf_clear(b);
    sl_buf_puts(b, before);
    for (int64_t i = 0; i < n && b->len + strlen(after) + 64 < bytes; i++) {
        sl_buf_puts(b, i ? "," : "");
        for (const char *p = item; *p;) {
            size_t len = strcspn(p, "@~");
            sl_buf_add(b, p, len);
            p += len;
            if (*p)
                sl_buf_printf(b, "%lld", (long long)(*p++ == '@' ? i : n - 1 - i));
        }
    }
    sl_buf_puts(b, after);
    assert_false(sl_buf_full(b));
}

/* Values of which most fit into a body, and what has to be said of each. */
static const struct dense {
    const char *field, *item;
    char open, close;
    int64_t most; /* 0: any number; where each has defaults, there may be so many */
} densest[] = {
    {"any\":{\"a", "0", '[', ']', 0},
    {"any\":{\"a", "[]", '[', ']', 0},
    {"any\":{\"a", "{}", '[', ']', 0},
    {"any\":{\"a", "{\"a\":0}", '[', ']', 0},
    {"any", "\"@\":0", '{', '}', 0},
    {"any", "\"a\":0", '{', '}', 0},
    {"numbers", "@", '[', ']', 0},
    {"numbers", "1", '[', ']', 0},
    {"set", "\"@\"", '[', ']', 0},
    {"set", "\"\"", '[', ']', 0},
    {"atomic", "{}", '[', ']', 0},
    {"plain", "[\"a\",\"b\"]", '[', ']', 0},
    {"plain", "[]", '[', ']', 0},
    {"unique", "1", '[', ']', 0},
    {"some", "{\"a\":@}", '[', ']', 0},
    {"map", "\"@\":\"\"", '{', '}', 0},
    {"map", "\"~\":\"\"", '{', '}', 0},
    {"maps", "\"@\":{\"a\":1}", '{', '}', 0},
    {"keyed", "{\"k\":\"@\"}", '[', ']', 20000},
    {"keyed", "{\"k\":\"~\",\"port\":2,\"v\":\"\",\"in\":{}}", '[', ']', 0},
    {"keyed", "{\"k\":\"\"}", '[', ']', 20000},
    {"pod", "\"a@\":0", '{', '}', 0},
    {"nobody", "0", '[', ']', 0}, /* is not in the schema */
};

static void put_dense(struct sl_buf *b, const struct dense *d, const char *head, size_t bytes) {
    char before[300], after[8];

    (void)snprintf(before, sizeof before, "%s\"spec\":{\"%s\":%c", head, d->field, d->open);
    (void)snprintf(after, sizeof after, "%c%s}}", d->close, strchr(d->field, ':') ? "}" : "");
    fill(b, before, d->item, after, bytes, d->most);
}

static void the_densest_bodies(void **state) {
    struct sl_buf b = SL_BUF(BODY_BYTES);
    uint32_t slow = too_slow;

    (void)state;
    (void)post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
    (void)post(THINGS, THING("dense") "\"spec\":{}}");
    for (size_t i = 0; i < SL_LEN(densest); i++) {
        const struct dense *d = &densest[i];
        if (i % SOME)
            continue;
        char what[60];
        (void)snprintf(what, sizeof what, "%s of %s", d->field, d->item);
        static const struct {
            const char *method, *path, *type, *query;
        } ways[] = {
            {"POST", THINGS, JSON, "dryRun=All"},
            {"PATCH", THINGS "/dense", MERGE, "dryRun=All"},
            {"PATCH", THINGS "/dense", APPLY, "dryRun=All&fieldManager=m"},
        };
        for (size_t k = 0; k < SL_LEN(ways); k++) {
            put_dense(&b, d, k ? THING("dense") : THING("denser"), DENSE_BYTES);
            hold(&(struct request){.method = ways[k].method,
                                   .path = ways[k].path,
                                   .query = ways[k].query,
                                   .type = ways[k].type,
                                   .body = sl_buf_str(&b),
                                   .len = b.len},
                 0, what, "largest");
        }
    }
    sl_buf_done(&b);
    assert_int_equal(too_slow, slow);
}

/* ---- definitions that cost ---- */

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

/* Held too: "@" is the name of the kind. Its schema is that of spec. */
static void define(const char *plural, const char *version, const struct sl_buf *schema) {
    struct sl_buf b = SL_BUF(BODY_BYTES);

    sl_buf_printf(&b,
                  "{\"metadata\":{\"name\":\"%s.time.io\"},\"spec\":{\"group\":\"time.io\","
                  "\"scope\":\"Namespaced\",\"names\":{\"plural\":\"%s\",\"kind\":\"%s\"},"
                  "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true%s,\"schema\":{"
                  "\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":",
                  plural, plural, plural, version);
    sl_buf_puts(&b, sl_buf_str(schema));
    sl_buf_puts(&b, "}}}}]}}");
    assert_false(sl_buf_full(&b));
    hold(&(struct request){.method = "POST",
                           .path = CRDS,
                           .query = "dryRun=All",
                           .type = JSON,
                           .body = sl_buf_str(&b),
                           .len = b.len},
         0, plural, "its definition");
    (void)post(CRDS, sl_buf_str(&b));
    sl_buf_done(&b);
}

struct costly {
    const char *name;
    /* The schema of spec, filled with as many items as there may be. */
    const char *before, *item, *after;
    int64_t many;
    /* What spec is then, likewise. */
    const char *spec_before, *spec_item, *spec_after;
    bool update; /* it is stored, and comes again with the last item changed */
};

#define FAR "{\"minimum\":1000000000},"
#define FAR4 FAR FAR FAR FAR
#define OBJECTS "{\"type\":\"object\",\"properties\":{\"l\":{\"type\":\"array\",\"items\":{"
static const struct costly costly[] = {
    {"wides", OBJECTS "\"type\":\"object\",\"properties\":{", "\"property@\":{\"type\":\"string\"}",
     "}}}}}", 5000, "{\"l\":[", "{}", "]}", false},
    {"defaulted", OBJECTS "\"type\":\"object\",\"properties\":{",
     "\"property@\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"default\":"
     "\"b\"}}}",
     "}}}}}", 3000, "{\"l\":[", "{}", "]}", false},
    {"needed", OBJECTS "\"type\":\"object\",\"required\":[", "\"property@\"",
     "],\"properties\":{\"a\":{\"type\":\"string\"}}}}}}", 5000, "{\"l\":[", "{}", "]}", false},
    {"words", OBJECTS "\"type\":\"string\",\"enum\":[", "\"word-@\"", "]}}}}", 20000, "{\"l\":[",
     "\"word-1999\"", "]}", false},
    {"longwords", OBJECTS "\"type\":\"string\",\"enum\":[", "\"e@\"", "]}}}}", 60000, "{\"l\":[",
     "\"e59999\"", "]}", false},
    {"nested", OBJECTS "\"type\":\"integer\",\"anyOf\":[",
     "{\"anyOf\":[" FAR4 FAR4 FAR4 FAR4 FAR4 FAR4 FAR4 FAR4 "{\"minimum\":1000000000}]}",
     ",{\"maximum\":5}]}}}}", 1000, "{\"l\":[", "0", "]}", false},
    {"choices",
     OBJECTS "\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true,"
             "\"anyOf\":[",
     "{\"required\":[\"a@\"]}", "]}}}}", 1000, "{\"l\":[", "{\"a999\":1}", "]}", false},
    {"ones", OBJECTS "\"type\":\"string\",\"oneOf\":[", "{\"enum\":[\"a@\"]}", "]}}}}", 1000,
     "{\"l\":[", "\"a77\"", "]}", false},
    {"alls", OBJECTS "\"type\":\"string\",\"allOf\":[", "{\"maxLength\":1@}", "]}}}}", 1000,
     "{\"l\":[", "\"a77\"", "]}", false},
    {"patterns", OBJECTS "\"type\":\"string\",\"allOf\":[", "{\"pattern\":\"a*b?@?\"}", "]}}}}",
     1000, "{\"l\":[", "\"a77\"", "]}", false},
    {"keys",
     OBJECTS
     "\"type\":\"string\"}},\"w\":{\"type\":\"array\",\"x-kubernetes-list-type\":"
     "\"map\",\"items\":{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":"
     "\"string\"}}},\"x-kubernetes-list-map-keys\":[",
     "\"a@\"", "]}}}", 50000, "{\"l\":[", "\"a77\"", "]}", false},
    {"ruled",
     OBJECTS "\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true,"
             "\"properties\":{",
     "\"p@\":{\"type\":\"string\",\"x-kubernetes-validations\":[{\"rule\":\"self != 'q'\"}]}",
     "}}}}}", 3000, "{\"l\":[{", "\"u@\":1", "}]}", false},
};

static void definitions_that_cost(void **state) {
    struct sl_buf b = SL_BUF(BODY_BYTES), schema = SL_BUF(BODY_BYTES);
    uint32_t slow = too_slow;

    (void)state;
    for (size_t i = 0; i < SL_LEN(costly); i++) {
        const struct costly *c = &costly[i];
        if (i % SOME)
            continue;
        char path[200], before[400];
        fill(&schema, c->before, c->item, c->after, STORED_BYTES, c->many);
        define(c->name, "", &schema);
        (void)snprintf(path, sizeof path, "/apis/time.io/v1/namespaces/default/%s", c->name);
        (void)snprintf(before, sizeof before,
                       "{\"apiVersion\":\"time.io/v1\",\"kind\":\"%s\",\"metadata\":{\"name\":"
                       "\"t\"},\"spec\":%s",
                       c->name, c->spec_before);
        char after[60];
        (void)snprintf(after, sizeof after, "%s}", c->spec_after);
        fill(&b, before, c->spec_item, after, STORED_BYTES, 0);
        hold(&(struct request){.method = "POST",
                               .path = path,
                               .query = "dryRun=All",
                               .type = JSON,
                               .body = sl_buf_str(&b),
                               .len = b.len},
             schema.len, c->name, "an object");
    }
    sl_buf_done(&b);
    sl_buf_done(&schema);
    assert_int_equal(too_slow, slow);
}

/* ---- patches and YAML that cost ---- */

static void patches_that_cost(void **state) {
    static const char *const ops[] = {
        "{\"op\":\"add\",\"path\":\"/spec/any/a/0\",\"value\":1}",
        "{\"op\":\"add\",\"path\":\"/spec/map/k@\",\"value\":\"\"}",
        "{\"op\":\"remove\",\"path\":\"/spec/any/a/-1\"}",
        "{\"op\":\"test\",\"path\":\"/spec/any/a/99999\",\"value\":0}",
        "{\"op\":\"replace\",\"path\":\"/spec/map/2@\",\"value\":\"\"}",
        "{\"op\":\"move\",\"from\":\"/spec/any/a/0\",\"path\":\"/spec/any/a/-\"}",
        "{\"op\":\"copy\",\"from\":\"/spec/any\",\"path\":\"/spec/any/b@\"}",
    };
    struct sl_buf b = SL_BUF(BODY_BYTES);
    uint32_t slow = too_slow;

    (void)state;
    (void)post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
    sl_buf_puts(&b, THING("patched") "\"spec\":{\"map\":{");
    for (int i = 0; i < 20000; i++)
        sl_buf_printf(&b, "%s\"%d\":\"\"", i ? "," : "", i);
    sl_buf_puts(&b, "},\"any\":{\"a\":[0");
    for (int i = 0; i < 250000; i++)
        sl_buf_puts(&b, ",0");
    sl_buf_puts(&b, "]}}}");
    assert_int_equal(post(THINGS, sl_buf_str(&b)), 201);
    size_t stored = answer.body.len;
    for (size_t i = 0; i < SL_LEN(ops); i++) {
        fill(&b, "[", ops[i], "]", BODY_BYTES / 4, 10000);
        hold(&(struct request){.method = "PATCH",
                               .path = THINGS "/patched",
                               .query = "dryRun=All",
                               .type = JSON_PATCH,
                               .body = sl_buf_str(&b),
                               .len = b.len},
             stored, ops[i], "10,000 operations");
    }
    sl_buf_done(&b);
    assert_int_equal(too_slow, slow);
}

static void yaml_that_costs(void **state) {
    static const struct {
        const char *before, *item, *after;
        int64_t most;
    } texts[] = {
        {"# no JSON\n[", "0", "]", 0},
        {"a: [", "&a@ 0", "]", 4000},
        {"a: [", "{<<: *m}", "]\n", 30},
        {"", "\n%TAG !a@! a", "\n--- {}\n", 0},
    };
    struct sl_buf b = SL_BUF(BODY_BYTES), anchors = SL_BUF(BODY_BYTES);
    uint32_t slow = too_slow;

    (void)state;
    for (size_t i = 0; i < SL_LEN(texts); i++) {
        const char *before = texts[i].before;
        if (i == 2) { /* a map of 4,000 keys, merged into others */
            fill(&anchors, "m: &m {", "k@: 0", "}\n", STORED_BYTES, 4000);
            sl_buf_puts(&anchors, texts[i].before);
            before = sl_buf_str(&anchors);
        }
        fill(&b, before, texts[i].item, texts[i].after, STORED_BYTES, texts[i].most);
        if (i == 1) { /* and aliases of the last */
            b.len--;
            for (int k = 0; k < 100000; k++)
                sl_buf_puts(&b, ",*a0");
            sl_buf_puts(&b, "]\n");
        }
        hold(&(struct request){.method = "POST",
                               .path = CONFIGS,
                               .query = "dryRun=All",
                               .type = YAML,
                               .body = sl_buf_str(&b),
                               .len = b.len},
             0, texts[i].item, "YAML");
    }
    sl_buf_done(&b);
    sl_buf_done(&anchors);
    assert_int_equal(too_slow, slow);
}

static int set_up(void **state) {
    (void)state;
    start();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    stop();
    return 0;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_list_and_map_of_every_kind),
        cmocka_unit_test(the_densest_bodies),
        cmocka_unit_test(definitions_that_cost),
        cmocka_unit_test(patches_that_cost),
        cmocka_unit_test(yaml_that_costs),
    };
    if (getenv("SL_TEST_ONLY"))
        cmocka_set_test_filter(getenv("SL_TEST_ONLY"));
    all = argc > 1 && strcmp(argv[1], "all") == 0;
    if (argc > 2)
        scan_bytes = strtoul(argv[2], NULL, 10);
    return cmocka_run_group_tests_name("api_time", tests, set_up, tear_down);
}

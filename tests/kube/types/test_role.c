/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash of a pod's role. The pods below were read by Kueue v0.19.0's own code, and these are the
 * hashes that it gave them: quantities that are not in their shortest form, lists and maps that are
 * there but empty, fields that Go leaves out and others that it does not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "kube/types/role.h"

static const struct {
    const char *pod, *hash;
} vectors[] = {
    {"{\"spec\":{}}", "b18935ae"},
    {"{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"x\"}]}}", "7aa6c7b8"},
    {"{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"x\",\"resources\":{\"requests\":{"
     "\"cpu\":\"1\",\"memory\":\"200Mi\"}}}]}}",
     "e7f6e8e6"},
    {"{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"x\",\"resources\":{\"requests\":{"
     "\"memory\":\"1024Mi\",\"cpu\":\"1000m\",\"nvidia.com/gpu\":\"2\",\"ephemeral-storage\":"
     "\"0.5Gi\"},\"limits\":{\"cpu\":\"4\"}},\"ports\":[{\"containerPort\":80,\"protocol\":\"T"
     "CP\",\"name\":\"http\"},{\"containerPort\":81,\"hostPort\":0,\"hostIP\":\"\"},{\"hostPor"
     "t\":8080,\"containerPort\":0,\"hostIP\":\"10.0.0.1\"}]}],\"initContainers\":[{\"name\":"
     "\"c\",\"image\":\"x\",\"resources\":{\"requests\":{\"cpu\":\"2500u\"}}},{\"name\":\"c\","
     "\"image\":\"x\",\"resources\":{}}]}}",
     "4ab3987c"},
    {"{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"x\",\"resources\":{\"requests\":{"
     "\"cpu\":2,\"memory\":\"2G\",\"x.io/a\":\"1e3\",\"x.io/b\":\"12E\",\"x.io/c\":\"0.9765625"
     "Ki\",\"x.io/d\":\"-2Ki\",\"x.io/e\":\"0\",\"x.io/f\":\"1536Ki\"}}}],\"nodeSelector\":{\""
     "zone\":\"b\",\"arch\":\"x\",\"a<b>&c\":\"\\u2028\"},\"tolerations\":[{\"key\":\"k\",\"op"
     "erator\":\"Exists\"},{\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSecon"
     "ds\":0,\"value\":\"\"},{\"key\":\"k\",\"operator\":\"Equal\",\"value\":\"v\",\"effect\":"
     "\"NoSchedule\",\"tolerationSeconds\":300}],\"runtimeClassName\":\"gvisor\",\"priority\":"
     "0,\"overhead\":{\"cpu\":\"250m\",\"memory\":\"64Mi\"},\"priorityClassName\":\"x\",\"sche"
     "dulerName\":\"y\"}}",
     "0d16e183"},
    {"{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"x\"}],\"nodeSelector\":{},\"toler"
     "ations\":[],\"priority\":-7,\"resources\":{\"requests\":{\"cpu\":\"3\"},\"limits\":{\"cp"
     "u\":\"3\"}},\"topologySpreadConstraints\":[],\"initContainers\":[],\"overhead\":{},\"res"
     "ourceClaims\":[],\"affinity\":{},\"runtimeClassName\":\"\"}}",
     "3c6d22ce"},
    {"{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"x\"}],\"resources\":{},\"resource"
     "Claims\":[{\"name\":\"g\",\"resourceClaimName\":\"r\"},{\"name\":\"h\",\"resourceClaimTe"
     "mplateName\":\"\"}],\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"zone"
     "\",\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{\"matchLabels\":{\"b\":\"2"
     "\",\"a\":\"1\"},\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"In\",\"values\":[\"v"
     "\",\"u\"]},{\"key\":\"k\",\"operator\":\"Exists\",\"values\":[]}]},\"minDomains\":0,\"no"
     "deAffinityPolicy\":\"Honor\",\"nodeTaintsPolicy\":\"Ignore\",\"matchLabelKeys\":[\"x\"]}"
     ",{\"maxSkew\":0,\"topologyKey\":\"\",\"whenUnsatisfiable\":\"\",\"labelSelector\":{}}]}}",
     "a6b8c824"},
    {"{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"x\"}],\"affinity\":{\"nodeAffinit"
     "y\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[{\"match"
     "Expressions\":[{\"key\":\"a\",\"operator\":\"Gt\",\"values\":[\"5\"]}],\"matchFields\":["
     "{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"n1\"]}]},{}]},\"preferredDu"
     "ringSchedulingIgnoredDuringExecution\":[{\"weight\":10,\"preference\":{\"matchExpression"
     "s\":[{\"key\":\"a\",\"operator\":\"DoesNotExist\"}]}},{\"weight\":0,\"preference\":{}}]}"
     ",\"podAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"labelSelector\""
     ":{\"matchLabels\":{\"app\":\"x\"}},\"namespaces\":[\"n\"],\"topologyKey\":\"zone\",\"nam"
     "espaceSelector\":{},\"matchLabelKeys\":[\"p\"],\"mismatchLabelKeys\":[\"q\"]}]},\"podAnt"
     "iAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":100,\"podA"
     "ffinityTerm\":{\"labelSelector\":{\"matchExpressions\":[{\"key\":\"skypilot-cluster\",\""
     "operator\":\"In\",\"values\":[\"c\"]}]},\"topologyKey\":\"kubernetes.io/hostname\"}},{\""
     "weight\":1,\"podAffinityTerm\":{\"topologyKey\":\"z\"}}]}}}}",
     "82d41e67"},
    {"{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"x\"}],\"affinity\":{\"nodeAffinit"
     "y\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":null}},\""
     "podAffinity\":{}},\"nodeSelector\":null,\"resources\":null}}",
     "520cf923"},
};

static void check(const char *pod, const char *hash) {
    yyjson_doc *d = yyjson_read(pod, strlen(pod), 0);
    struct sl_buf text;
    char ret[SL_ROLE_HASH_SIZE];

    assert_non_null(d);
    sl_role_hash(yyjson_doc_get_root(d), ret);
    if (strcmp(ret, hash) != 0) {
        sl_buf_init(&text, 1 << 16);
        sl_role_shape(yyjson_obj_get(yyjson_doc_get_root(d), "spec"), &text);
        print_error("%s\n%s\n", pod, sl_buf_str(&text));
        sl_buf_done(&text);
    }
    assert_string_equal(ret, hash);
    yyjson_doc_free(d);
}

static void test_vectors(void **state) {
    (void)state;
    for (size_t i = 0; i < SL_LEN(vectors); i++)
        check(vectors[i].pod, vectors[i].hash);
}

/* Whatever a type does not fit counts as absent. */
static void test_odd(void **state) {
    (void)state;
    static const char *const pods[] = {
        "null",
        "[]",
        "{}",
        "{\"spec\":7}",
        "{\"spec\":{\"containers\":{},\"nodeSelector\":[],\"priority\":\"1\",\"affinity\":[]}}",
        "{\"spec\":{\"runtimeClassName\":1,\"overhead\":\"\",\"tolerations\":{},\"resources\":[]}}",
    };
    for (size_t i = 0; i < SL_LEN(pods); i++)
        check(pods[i], vectors[0].hash);
}

/* The order of fields and what does not matter for the place of a pod make no difference. */
static void test_same(void **state) {
    (void)state;
    check("{\"metadata\":{\"name\":\"other\"},\"spec\":{\"hostname\":\"h\",\"containers\":[{"
          "\"resources\":{\"limits\":{\"cpu\":\"9\"},\"requests\":{\"memory\":\"204800Ki\","
          "\"cpu\":\"1\"}},\"env\":[]}],\"nodeName\":\"n\"}}",
          vectors[2].hash);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_odd),
        cmocka_unit_test(test_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

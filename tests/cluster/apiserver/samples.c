/* SPDX-License-Identifier: Apache-2.0 */
#include "samples.h"

#include <stdio.h>
#include <string.h>

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
    {"daemonsets", "{\"spec\":{" SELECTOR ",\"template\":" POD_TEMPLATE "}}"},
    {"replicationcontrollers", "{\"spec\":{\"template\":" POD_TEMPLATE "}}"},
    {"controllerrevisions", "{\"revision\":1,\"data\":{\"a\":1}}"},
    {"leases", "{\"spec\":{}}"},
    {"priorityclasses", "{\"value\":1}"},
    {"runtimeclasses", "{\"handler\":\"h\"}"},
    {"ingresses", "{\"spec\":{\"rules\":[{\"host\":\"a.b\",\"http\":{\"paths\":[{\"path\":\"/x\","
                  "\"pathType\":\"Prefix\",\"backend\":{\"service\":{\"name\":\"s\",\"port\":{"
                  "\"number\":80}}}}]}}],\"tls\":[{\"hosts\":[\"a.b\"]}]}}"},
    {"ingressclasses", "{\"spec\":{\"controller\":\"a.b/c\"}}"},
    {"networkpolicies",
     "{\"spec\":{\"podSelector\":{},\"ingress\":[{\"from\":[{\"ipBlock\":{\"cidr\":"
     "\"10.0.0.0/8\",\"except\":[\"10.1.0.0/16\"]}}],\"ports\":[{\"port\":80}]}]}}"},
    {"ipaddresses",
     "{\"spec\":{\"parentRef\":{\"resource\":\"services\",\"name\":\"s\",\"namespace\":\"n\"}}}"},
    {"servicecidrs", "{\"spec\":{\"cidrs\":[\"10.2.0.0/16\"]}}"},
    {"csidrivers", "{\"spec\":{\"tokenRequests\":[{\"audience\":\"a\"}]}}"},
    {"csinodes", "{\"spec\":{\"drivers\":[{\"name\":\"d.io\",\"nodeID\":\"n\",\"topologyKeys\":["
                 "\"a/b\"]}]}}"},
    {"volumeattachments", "{\"spec\":{\"attacher\":\"d.io\",\"nodeName\":\"n\",\"source\":{"
                          "\"persistentVolumeName\":\"p\"}}}"},
    {"csistoragecapacities", "{\"storageClassName\":\"s\",\"capacity\":\"1Gi\"}"},
    {"volumeattributesclasses", "{\"driverName\":\"d.io\",\"parameters\":{\"a\":\"b\"}}"},
    {"horizontalpodautoscalers/v2",
     "{\"spec\":{\"maxReplicas\":5,\"scaleTargetRef\":{\"apiVersion\":\"apps/v"
     "1\",\"kind\":\"Deployment\",\"name\":\"d\"},\"metrics\":[{\"type\":\"Pod"
     "s\",\"pods\":{\"metric\":{\"name\":\"m\"},\"target\":{\"type\":\"Average"
     "Value\",\"averageValue\":\"1\"}}}],\"behavior\":{\"scaleUp\":{\"policies"
     "\":[{\"type\":\"Pods\",\"value\":1,\"periodSeconds\":5}]}}}}"},
    {"horizontalpodautoscalers/v1",
     "{\"spec\":{\"maxReplicas\":5,\"scaleTargetRef\":{\"apiVersion\":\"apps/v"
     "1\",\"kind\":\"Deployment\",\"name\":\"d\"}}}"},
    {"certificatesigningrequests",
     "{\"spec\":{\"request\":\"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0"
     "KTUlIRk1HNENBUUF3RERFS01BZ0dBMVVFQXd3QmREQlpNQk1HQnlxR1NNNDlBZ0VHQ0NxR1N"
     "NNDlBd0VIQTBJQQpCTEltaFlDUHo1cUJKb21yY2xCVkdRTFJVUy9RK3JiaEcwbG1wbDAzUHF"
     "XYmJxS3lqRGxmMVQ4cFVEaXpwS0dRClVFN3RNaVJqdGJ2NStuSDdyeENIaHgyZ0FEQUtCZ2d"
     "xaGtqT1BRUURBZ05IQURCRUFpQjNUUkFtcytCMXhRVW4KZDN4eEo1ZlhHMnBjamxQRTNzTXB"
     "XbS9mSFZ3bmtBSWdKWnZUS0JNOXVJdTBYblU4bTJHSkI4UVlHdjh0THF6TQp4S1ZXUzIzVnV"
     "5MD0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==\",\"signerName\":\""
     "a.b/c\",\"usages\":[\"any\"]}}"},
    {"flowschemas", "{\"spec\":{\"priorityLevelConfiguration\":{\"name\":\"p\"},\"rules\":[{\""
                    "subjects\":[{\"kind\":\"User\",\"user\":{\"name\":\"u\"}}],\"resourceRul"
                    "es\":[{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[\"pods\"]"
                    ",\"namespaces\":[\"n\"]}],\"nonResourceRules\":[{\"verbs\":[\"get\"],\"n"
                    "onResourceURLs\":[\"/x\"]}]}]}}"},
    {"prioritylevelconfigurations",
     "{\"spec\":{\"type\":\"Limited\",\"limited\":{\"limitResponse\":{\"type\""
     ":\"Reject\"}}}}"},
    {"validatingadmissionpolicies",
     "{\"spec\":{\"matchConstraints\":{\"resourceRules\":[{\"apiGroups\":[\"\""
     "],\"apiVersions\":[\"v1\"],\"operations\":[\"CREATE\"],\"resources\":[\""
     "pods\"]}]},\"validations\":[{\"expression\":\"true\"}],\"variables\":[{\""
     "name\":\"v\",\"expression\":\"1\"}],\"matchConditions\":[{\"name\":\"c\""
     ",\"expression\":\"true\"}],\"auditAnnotations\":[{\"key\":\"k\",\"valueE"
     "xpression\":\"'v'\"}]}}"},
    {"validatingadmissionpolicybindings",
     "{\"spec\":{\"policyName\":\"p\",\"validationActions\":[\"Deny\"],\"param"
     "Ref\":{\"name\":\"n\",\"parameterNotFoundAction\":\"Deny\"}}}"},
    {"deviceclasses", "{\"spec\":{\"selectors\":[{\"cel\":{\"expression\":\"true\"}}],\"config\""
                      ":[{\"opaque\":{\"driver\":\"d.io\",\"parameters\":{\"a\":1}}}]}}"},
    {"resourceclaims", "{\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\",\"exactly\":{\"dev"
                       "iceClassName\":\"c\",\"selectors\":[{\"cel\":{\"expression\":\"true\"}}]"
                       ",\"tolerations\":[{\"operator\":\"Exists\"}]}}],\"constraints\":[{\"requ"
                       "ests\":[\"r\"],\"matchAttribute\":\"d.io/a\"}],\"config\":[{\"requests\""
                       ":[\"r\"],\"opaque\":{\"driver\":\"d.io\",\"parameters\":{\"a\":1}}}]}}}"},
    {"resourceclaimtemplates",
     "{\"spec\":{\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\",\"exactl"
     "y\":{\"deviceClassName\":\"c\"}}]}}}}"},
    {"resourceslices", "{\"spec\":{\"driver\":\"d.io\",\"nodeName\":\"n\",\"pool\":{\"name\":\"p"
                       "\",\"resourceSliceCount\":1},\"devices\":[{\"name\":\"a\",\"attributes\""
                       ":{\"x\":{\"string\":\"s\"}},\"capacity\":{\"m\":{\"value\":\"1\"}},\"tai"
                       "nts\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"}],\"consumesCounters\":["
                       "{\"counterSet\":\"s\",\"counters\":{\"c\":{\"value\":\"1\"}}}]}]}}"},
    {"apiservices", "{\"spec\":{\"version\":\"NAME\",\"group\":\"time.io\",\"groupPriorityMinimum\""
                    ":1,\"versionPriority\":1}}"},
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
    {"fluxjobs",
     "{\"spec\":{\"type\":1,\"name\":\"job\",\"nodes\":2,\"queue\":\"q\",\"priority\":1,"
     "\"beginTime\":\"2026-01-01T00:00:00Z\",\"resources\":{\"nodes\":[\"n\"]}}}"},
    {"masterqueues",
     "{\"spec\":{\"flavors\":[{\"name\":\"g\",\"natsFlavor\":{\"natsConnector\":\"h\","
     "\"natsSubject\":\"s\",\"pools\":[\"p\"]},\"canLendTo\":[{\"queue\":\"q\"}]}]}}"},
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

const char *sample_of(const struct api_kind *k, const struct api_kind_version *v) {
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

const char sample_definition[] =
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of networking, storage, devices, scaling, certificates, flow control and policies. */
#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/table/cells.h"
#include "core/base/stamp.h"
#include "lib/json/json.h"

/* The texts of a list, or of a field of its items, with commas between. */
static void put_words(yyjson_val *list, const char *field, struct sl_buf *out) {
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (list, i, n, v) {
        sl_buf_printf(out, "%s%s", i ? "," : "", sl_json_text(field ? sl_json_get(v, field) : v));
    }
}

/* ---- networking ---- */

SL_TEXT_CELL(ingress_class, "spec.ingressClassName", "<none>")

#define HOSTS 3u
static void ingress_hosts(yyjson_val *o, sl_time now, struct sl_jw *out) {
    yyjson_val *rules = sl_json_at(o, "spec.rules"), *r;
    size_t i, n, shown = 0;
    bool more = false;
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);

    (void)now;
    yyjson_arr_foreach (rules, i, n, r) {
        const char *host = sl_json_str(r, "host");
        more = more || shown == HOSTS;
        if (!more && *host)
            sl_buf_printf(&text, "%s%s", shown++ ? "," : "", host);
    }
    if (more)
        sl_buf_printf(&text, " + %zu more...", yyjson_arr_size(rules) - HOSTS);
    sl_jw_str(out, NULL, shown ? sl_buf_str(&text) : "*");
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

#define ADDRESSES 64u /* more than a cell shows */
#define ADDRESS_WIDTH 16u
static void ingress_address(yyjson_val *o, sl_time now, struct sl_jw *out) {
    yyjson_val *list = sl_json_at(o, "status.loadBalancer.ingress"), *in;
    const char *words[ADDRESSES];
    size_t i, n, count = 0;
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);

    (void)now;
    yyjson_arr_foreach (list, i, n, in) {
        const char *ip = sl_json_str(in, "ip"), *word = *ip ? ip : sl_json_str(in, "hostname");
        if (*word && count < ADDRESSES)
            words[count++] = word;
    }
    if (count)
        qsort(words, count, sizeof(*words), by_text);
    for (i = 0; i < count; i++)
        if (i == 0 || strcmp(words[i], words[i - 1]) != 0)
            sl_buf_printf(&text, "%s%s", i ? "," : "", words[i]);
    if (text.len > ADDRESS_WIDTH)
        sl_jw_strf(out, NULL, "%.*s...", (int)ADDRESS_WIDTH - 3, sl_buf_str(&text));
    else
        sl_jw_str(out, NULL, sl_buf_str(&text));
}
static void ingress_ports(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    sl_jw_str(out, NULL, sl_json_size(sl_json_at(o, "spec.tls")) ? "80, 443" : "80");
}
static const struct api_column ingresses[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Class", "string", "The IngressClass.", ingress_class),
    SL_COLUMN("Hosts", "string", "Hosts that it routes requests to.", ingress_hosts),
    SL_COLUMN("Address", "string", "Addresses of the load balancer.", ingress_address),
    SL_COLUMN("Ports", "string", "Ports of the load balancer.", ingress_ports),
    SL_COLUMN_AGE,
};

static void class_name(yyjson_val *o, sl_time now, struct sl_jw *out) {
    bool first =
        strcmp(sl_json_annotation(o, "ingressclass.kubernetes.io/is-default-class"), "true") == 0;

    (void)now;
    sl_jw_strf(out, NULL, "%s%s", sl_json_str(o, "metadata.name"), first ? " (default)" : "");
}
SL_STR_CELL(class_controller, "spec.controller", "")
static void class_parameters(yyjson_val *o, sl_time now, struct sl_jw *out) {
    yyjson_val *to = sl_json_at(o, "spec.parameters"), *group = sl_json_get(to, "apiGroup");

    (void)now;
    if (to)
        sl_jw_strf(out, NULL, "%s%s%s/%s", sl_json_str(to, "kind"), group ? "." : "",
                   sl_json_text(group), sl_json_str(to, "name"));
    else
        sl_jw_str(out, NULL, "<none>");
}
static const struct api_column ingress_classes[] = {
    {"Name", "string", "name", "The name.", 0, NULL, class_name},
    SL_COLUMN("Controller", "string", "Controller of the class.", class_controller),
    SL_COLUMN("Parameters", "string", "Object with parameters of the class.", class_parameters),
    SL_COLUMN_AGE,
};

static void policy_pods(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    api_cell_selector(sl_json_at(o, "spec.podSelector"), "<none>", out);
}
static const struct api_column network_policies[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Pod-Selector", "string", "Selector of the pods.", policy_pods),
    SL_COLUMN_AGE,
};

static void address_parent(yyjson_val *o, sl_time now, struct sl_jw *out) {
    yyjson_val *ref = sl_json_at(o, "spec.parentRef");
    const char *group = sl_json_str(ref, "group"), *ns = sl_json_str(ref, "namespace");
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);

    (void)now;
    sl_buf_printf(&text, "%s%s%s", sl_json_str(ref, "resource"), *group ? "." : "", group);
    for (size_t i = 0; i < text.len; i++)
        if (text.s[i] >= 'A' && text.s[i] <= 'Z')
            text.s[i] = (char)(text.s[i] - 'A' + 'a');
    if (ref)
        sl_jw_strf(out, NULL, "%s%s%s/%s", sl_buf_str(&text), *ns ? "/" : "", ns,
                   sl_json_str(ref, "name"));
    else
        sl_jw_str(out, NULL, "<none>");
}
static const struct api_column addresses[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("ParentRef", "string", "The object that uses the address.", address_parent),
};

static void range_cidrs(yyjson_val *o, sl_time now, struct sl_jw *out) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);

    (void)now;
    put_words(sl_json_at(o, "spec.cidrs"), NULL, &text);
    sl_jw_str(out, NULL, sl_buf_str(&text));
}
static const struct api_column ranges[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("CIDRs", "string", "The address ranges.", range_cidrs),
    SL_COLUMN_AGE,
};

/* ---- storage ---- */

#define BOOL_CELL(fn_, path_, fallback_)                                                           \
    static void fn_(yyjson_val *o, sl_time now, struct sl_jw *out) {                               \
        (void)now;                                                                                 \
        sl_jw_bool(out, NULL, sl_json_bool(o, path_, fallback_));                                  \
    }
BOOL_CELL(driver_attach, "spec.attachRequired", true)
BOOL_CELL(driver_info, "spec.podInfoOnMount", false)
BOOL_CELL(driver_capacity, "spec.storageCapacity", false)
BOOL_CELL(driver_republish, "spec.requiresRepublish", false)
static void driver_tokens(yyjson_val *o, sl_time now, struct sl_jw *out) {
    yyjson_val *list = sl_json_at(o, "spec.tokenRequests");
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);

    (void)now;
    put_words(list, "audience", &text);
    sl_jw_str(out, NULL, list ? sl_buf_str(&text) : "<unset>");
}
static void driver_modes(yyjson_val *o, sl_time now, struct sl_jw *out) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);

    (void)now;
    put_words(sl_json_at(o, "spec.volumeLifecycleModes"), NULL, &text);
    sl_jw_str(out, NULL, text.len ? sl_buf_str(&text) : "<none>");
}
static const struct api_column drivers[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("AttachRequired", "boolean", "Whether volumes are attached.", driver_attach),
    SL_COLUMN("PodInfoOnMount", "boolean", "Whether the driver gets facts about the pod.",
              driver_info),
    SL_COLUMN("StorageCapacity", "boolean", "Whether the driver publishes its capacity.",
              driver_capacity),
    SL_COLUMN("TokenRequests", "string", "Audiences of the tokens.", driver_tokens),
    SL_COLUMN("RequiresRepublish", "boolean", "Whether volumes are published repeatedly.",
              driver_republish),
    SL_COLUMN("Modes", "string", "Supported kinds of volumes.", driver_modes),
    SL_COLUMN_AGE,
};

static void node_drivers(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    sl_jw_uint(out, NULL, sl_json_size(sl_json_at(o, "spec.drivers")));
}
static const struct api_column storage_nodes[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Drivers", "integer", "Number of drivers.", node_drivers),
    SL_COLUMN_AGE,
};

SL_STR_CELL(attachment_attacher, "spec.attacher", "")
SL_STR_CELL(attachment_volume, "spec.source.persistentVolumeName", "")
SL_STR_CELL(attachment_node, "spec.nodeName", "")
BOOL_CELL(attachment_done, "status.attached", false)
static const struct api_column attachments[] = {
    SL_COLUMN_NAME,
    {"Attacher", "string", "name", "The driver.", 0, NULL, attachment_attacher},
    SL_COLUMN("PV", "string", "The volume.", attachment_volume),
    SL_COLUMN("Node", "string", "The node.", attachment_node),
    SL_COLUMN("Attached", "boolean", "Whether the volume is attached.", attachment_done),
    SL_COLUMN_AGE,
};

SL_STR_CELL(attributes_driver, "driverName", "")
static const struct api_column attributes[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("DriverName", "string", "The driver.", attributes_driver),
    SL_COLUMN_AGE,
};

/* ---- devices ---- */

static const struct api_column aged[] = {SL_COLUMN_NAME, SL_COLUMN_AGE};

static void claim_state(yyjson_val *o, sl_time now, struct sl_jw *out) {
    bool going = sl_json_at(o, "metadata.deletionTimestamp"),
         allocated = sl_json_at(o, "status.allocation"),
         reserved = sl_json_size(sl_json_at(o, "status.reservedFor")) > 0;

    (void)now;
    sl_jw_strf(out, NULL, "%s%s", going ? "deleted" : "",
               allocated && reserved ? going ? ",allocated,reserved" : "allocated,reserved"
               : allocated           ? going ? ",allocated" : "allocated"
               : going               ? ""
                                     : "pending");
}
static const struct api_column device_claims[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("State", "string", "Whether devices are allocated and reserved.", claim_state),
    SL_COLUMN_AGE,
};

SL_STR_CELL(slice_node, "spec.nodeName", "")
SL_STR_CELL(slice_driver, "spec.driver", "")
SL_STR_CELL(slice_pool, "spec.pool.name", "")
static const struct api_column device_slices[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Node", "string", "The node of the devices.", slice_node),
    SL_COLUMN("Driver", "string", "The driver.", slice_driver),
    SL_COLUMN("Pool", "string", "The pool of the devices.", slice_pool),
    SL_COLUMN_AGE,
};

/* ---- certificates ---- */

SL_STR_CELL(request_signer, "spec.signerName", "<none>")
SL_STR_CELL(request_user, "spec.username", "")
static void request_duration(yyjson_val *o, sl_time now, struct sl_jw *out) {
    char text[SL_AGE_TEXT];

    (void)now;
    sl_jw_str(out, NULL,
              sl_json_at(o, "spec.expirationSeconds")
                  ? api_age(sl_json_int(o, "spec.expirationSeconds", 0) * SL_SEC, text)
                  : "<none>");
}
static void request_condition(yyjson_val *o, sl_time now, struct sl_jw *out) {
    yyjson_val *list = sl_json_at(o, "status.conditions");

    (void)now;
    sl_jw_strf(out, NULL, "%s%s%s",
               sl_json_find(list, "type", "Denied")     ? "Denied"
               : sl_json_find(list, "type", "Approved") ? "Approved"
                                                        : "Pending",
               sl_json_find(list, "type", "Failed") ? ",Failed" : "",
               *sl_json_str(o, "status.certificate") ? ",Issued" : "");
}
static const struct api_column requests[] = {
    SL_COLUMN_NAME,
    SL_COLUMN_AGE,
    SL_COLUMN("SignerName", "string", "The signer.", request_signer),
    SL_COLUMN("Requestor", "string", "The user that asks for the certificate.", request_user),
    SL_COLUMN("RequestedDuration", "string", "Requested validity.", request_duration),
    SL_COLUMN("Condition", "string", "Whether it is approved and issued.", request_condition),
};

/* ---- flow control ---- */

SL_STR_CELL(flow_level, "spec.priorityLevelConfiguration.name", "")
SL_INT_CELL(flow_precedence, "spec.matchingPrecedence")
SL_STR_CELL(flow_method, "spec.distinguisherMethod.type", "<none>")
static void flow_missing(yyjson_val *o, sl_time now, struct sl_jw *out) {
    yyjson_val *c = sl_json_find(sl_json_at(o, "status.conditions"), "type", "Dangling");

    (void)now;
    sl_jw_str(out, NULL, c ? sl_json_str(c, "status") : "?");
}
static const struct api_column flows[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("PriorityLevel", "string", "Priority level of the requests.", flow_level),
    SL_COLUMN("MatchingPrecedence", "string", "Order in which schemas are compared.",
              flow_precedence),
    SL_COLUMN("DistinguisherMethod", "string", "What makes requests one flow.", flow_method),
    SL_COLUMN_AGE,
    SL_COLUMN("MissingPL", "string", "Whether there is no such priority level.", flow_missing),
};

static void number_or_none(yyjson_val *v, struct sl_jw *out) {
    if (v)
        sl_jw_int(out, NULL, sl_json_int(v, "", 0));
    else
        sl_jw_str(out, NULL, "<none>");
}
#define NUMBER_CELL(fn_, path_)                                                                    \
    static void fn_(yyjson_val *o, sl_time now, struct sl_jw *out) {                               \
        (void)now;                                                                                 \
        number_or_none(sl_json_at(o, path_), out);                                                 \
    }
SL_STR_CELL(level_type, "spec.type", "")
NUMBER_CELL(level_shares, "spec.limited.nominalConcurrencyShares")
NUMBER_CELL(level_queues, "spec.limited.limitResponse.queuing.queues")
NUMBER_CELL(level_hand, "spec.limited.limitResponse.queuing.handSize")
NUMBER_CELL(level_length, "spec.limited.limitResponse.queuing.queueLengthLimit")
static const struct api_column levels[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Type", "string", "Limited or Exempt.", level_type),
    SL_COLUMN("NominalConcurrencyShares", "string", "Share of the concurrency.", level_shares),
    SL_COLUMN("Queues", "string", "Number of queues.", level_queues),
    SL_COLUMN("HandSize", "string", "Queues that a flow may use.", level_hand),
    SL_COLUMN("QueueLengthLimit", "string", "Length of a queue.", level_length),
    SL_COLUMN_AGE,
};

/* ---- policies and API services ---- */

static void policy_rules(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    sl_jw_uint(out, NULL, sl_json_size(sl_json_at(o, "spec.validations")));
}
static void policy_param(yyjson_val *o, sl_time now, struct sl_jw *out) {
    yyjson_val *kind = sl_json_at(o, "spec.paramKind");

    (void)now;
    if (kind)
        sl_jw_strf(out, NULL, "%s/%s", sl_json_str(kind, "apiVersion"), sl_json_str(kind, "kind"));
    else
        sl_jw_str(out, NULL, "<unset>");
}
static const struct api_column policies[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Validations", "integer", "Number of rules.", policy_rules),
    SL_COLUMN("ParamKind", "string", "Kind of the parameters.", policy_param),
    SL_COLUMN_AGE,
};

SL_STR_CELL(bound_policy, "spec.policyName", "")
static void bound_param(yyjson_val *o, sl_time now, struct sl_jw *out) {
    const char *name = sl_json_str(o, "spec.paramRef.name"),
               *ns = sl_json_str(o, "spec.paramRef.namespace");

    (void)now;
    if (*name)
        sl_jw_strf(out, NULL, "%s/%s", *ns ? ns : "*", name);
    else
        sl_jw_str(out, NULL, "<unset>");
}
static const struct api_column policy_bindings[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("PolicyName", "string", "The policy.", bound_policy),
    SL_COLUMN("ParamRef", "string", "The parameters.", bound_param),
    SL_COLUMN_AGE,
};

static void service_name(yyjson_val *o, sl_time now, struct sl_jw *out) {
    yyjson_val *to = sl_json_at(o, "spec.service");

    (void)now;
    if (to)
        sl_jw_strf(out, NULL, "%s/%s", sl_json_str(to, "namespace"), sl_json_str(to, "name"));
    else
        sl_jw_str(out, NULL, "Local");
}
static void service_available(yyjson_val *o, sl_time now, struct sl_jw *out) {
    yyjson_val *c = sl_json_find(sl_json_at(o, "status.conditions"), "type", "Available");
    const char *status = sl_json_str(c, "status"), *reason = sl_json_str(c, "reason");

    (void)now;
    if (c && strcmp(status, "True") != 0)
        sl_jw_strf(out, NULL, "%s (%s)", status, reason);
    else
        sl_jw_str(out, NULL, c ? status : "Unknown");
}
static const struct api_column services[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Service", "string", "The service that serves it; Local: this server.", service_name),
    SL_COLUMN("Available", "string", "Whether its server answers.", service_available),
    SL_COLUMN_AGE,
};

const struct api_kind_columns api_columns_groups[] = {
    SL_COLUMNS("Ingress", ingresses),
    SL_COLUMNS("IngressClass", ingress_classes),
    SL_COLUMNS("NetworkPolicy", network_policies),
    SL_COLUMNS("IPAddress", addresses),
    SL_COLUMNS("ServiceCIDR", ranges),
    SL_COLUMNS("CSIDriver", drivers),
    SL_COLUMNS("CSINode", storage_nodes),
    SL_COLUMNS("VolumeAttachment", attachments),
    SL_COLUMNS("VolumeAttributesClass", attributes),
    SL_COLUMNS("DeviceClass", aged),
    SL_COLUMNS("ResourceClaim", device_claims),
    SL_COLUMNS("ResourceClaimTemplate", aged),
    SL_COLUMNS("ResourceSlice", device_slices),
    SL_COLUMNS("CertificateSigningRequest", requests),
    SL_COLUMNS("FlowSchema", flows),
    SL_COLUMNS("PriorityLevelConfiguration", levels),
    SL_COLUMNS("ValidatingAdmissionPolicy", policies),
    SL_COLUMNS("ValidatingAdmissionPolicyBinding", policy_bindings),
    SL_COLUMNS("APIService", services),
    {NULL, {NULL, 0}},
};

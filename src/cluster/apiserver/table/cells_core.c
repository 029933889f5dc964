/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of the kinds of core/v1. */
#include <string.h>

#include "cluster/apiserver/table/cells.h"
#include "lib/json/json.h"

#define COUNT_CELL(fn_, path_)                                                                     \
    static void fn_(yyjson_val *o, sl_time now, struct sl_jw *out) {                               \
        (void)now;                                                                                 \
        sl_jw_uint(out, NULL, sl_json_size(sl_json_at(o, path_)));                                 \
    }

/* ---- pod templates ---- */

static void template_names(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    api_cell_containers(sl_json_at(o, "template.spec"), "name", out);
}
static void template_images(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    api_cell_containers(sl_json_at(o, "template.spec"), "image", out);
}
static void template_labels(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    api_cell_labels(sl_json_at(o, "template.metadata.labels"), out);
}
static const struct api_column templates[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Containers", "string", "Names of its containers.", template_names),
    SL_COLUMN("Images", "string", "Images of its containers.", template_images),
    SL_COLUMN("Pod Labels", "string", "Labels of the pods.", template_labels),
};

/* ---- nodes ---- */

static void node_status(yyjson_val *o, sl_time now, struct sl_jw *out) {
    yyjson_val *ready = sl_json_find(sl_json_at(o, "status.conditions"), "type", "Ready");
    const char *word = !ready ? "Unknown" : sl_json_condition(o, "Ready") ? "Ready" : "NotReady";

    (void)now;
    sl_jw_strf(out, NULL, "%s%s", word,
               sl_json_bool(o, "spec.unschedulable", false) ? ",SchedulingDisabled" : "");
}

#define ROLES_MAX 32u
#define ROLE_PREFIX "node-role.kubernetes.io/"

static void add_role(const char *roles[ROLES_MAX], size_t *n, const char *role) {
    size_t at = 0;

    while (at < *n && strcmp(roles[at], role) < 0)
        at++;
    if (*role == '\0' || *n == ROLES_MAX || (at < *n && strcmp(roles[at], role) == 0))
        return;
    memmove(&roles[at + 1], &roles[at], (*n - at) * sizeof(*roles));
    roles[at] = role;
    (*n)++;
}

static void node_roles(yyjson_val *o, sl_time now, struct sl_jw *out) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);
    yyjson_val *labels = sl_json_at(o, "metadata.labels"), *key, *v;
    const char *roles[ROLES_MAX + 1];
    size_t i, n, count = 0;

    (void)now;
    if (labels) {
        sl_obj_foreach (labels, i, n, key, v) {
            const char *k = sl_json_text(key);
            if (strncmp(k, ROLE_PREFIX, strlen(ROLE_PREFIX)) == 0)
                add_role(roles, &count, k + strlen(ROLE_PREFIX));
            else if (strcmp(k, "kubernetes.io/role") == 0)
                add_role(roles, &count, sl_json_text(v));
        }
    }
    for (i = 0; i < count; i++)
        sl_buf_printf(&text, "%s%s", i ? "," : "", roles[i]);
    sl_jw_str(out, NULL, count ? sl_buf_str(&text) : "<none>");
}

static void node_address(yyjson_val *o, const char *type, struct sl_jw *out) {
    api_cell_str(sl_json_find(sl_json_at(o, "status.addresses"), "type", type), "address", "<none>",
                 out);
}
static void node_internal(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    node_address(o, "InternalIP", out);
}
static void node_external(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    node_address(o, "ExternalIP", out);
}
static void node_kernel(yyjson_val *o, sl_time now, struct sl_jw *out) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);
    const char *kernel = sl_json_str(o, "status.nodeInfo.kernelVersion");
    const char *arch = sl_json_str(o, "status.nodeInfo.architecture");

    (void)now;
    sl_buf_puts(&text, *kernel ? kernel : "<unknown>");
    if (*arch)
        sl_buf_printf(&text, " (%s)", arch);
    sl_jw_str(out, NULL, sl_buf_str(&text));
}
SL_STR_CELL(node_version, "status.nodeInfo.kubeletVersion", "")
SL_STR_CELL(node_os, "status.nodeInfo.osImage", "<unknown>")
SL_STR_CELL(node_runtime, "status.nodeInfo.containerRuntimeVersion", "<unknown>")

static const struct api_column nodes[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Status", "string", "Readiness and schedulability of the node.", node_status),
    SL_COLUMN("Roles", "string", "Roles of the node, from labels.", node_roles),
    SL_COLUMN_AGE,
    SL_COLUMN("Version", "string", "Version of the kubelet.", node_version),
    SL_COLUMN_WIDE("Internal-IP", "string", "IP address within the cluster.", node_internal),
    SL_COLUMN_WIDE("External-IP", "string", "External IP address.", node_external),
    SL_COLUMN_WIDE("OS-Image", "string", "Operating system.", node_os),
    SL_COLUMN_WIDE("Kernel-Version", "string", "Kernel version.", node_kernel),
    SL_COLUMN_WIDE("Container-Runtime", "string", "Container runtime.", node_runtime),
};

/* ---- services ---- */

static void join_texts(yyjson_val *list, struct sl_buf *out) {
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (list, i, n, v) {
        sl_buf_printf(out, "%s%s", out->len ? "," : "", sl_json_text(v));
    }
}

static void service_ip(yyjson_val *o, sl_time now, struct sl_jw *out) {
    const char *ip = sl_json_text(yyjson_arr_get_first(sl_json_at(o, "spec.clusterIPs")));

    (void)now;
    sl_jw_str(out, NULL, *ip ? ip : "<none>");
}

static void service_external(yyjson_val *o, sl_time now, struct sl_jw *out) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);
    const char *type = sl_json_str(o, "spec.type"), *empty = "<none>";
    size_t i, n;
    yyjson_val *v;

    (void)now;
    if (strcmp(type, "ExternalName") == 0) {
        api_cell_str(o, "spec.externalName", "", out);
        return;
    }
    if (strcmp(type, "LoadBalancer") == 0) {
        empty = "<pending>";
        yyjson_arr_foreach (sl_json_at(o, "status.loadBalancer.ingress"), i, n, v) {
            const char *ip = sl_json_str(v, "ip");
            sl_buf_printf(&text, "%s%s", text.len ? "," : "",
                          *ip ? ip : sl_json_str(v, "hostname"));
        }
    }
    join_texts(sl_json_at(o, "spec.externalIPs"), &text);
    sl_jw_str(out, NULL, text.len ? sl_buf_str(&text) : empty);
}

static void service_ports(yyjson_val *o, sl_time now, struct sl_jw *out) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);
    size_t i, n;
    yyjson_val *p;

    (void)now;
    yyjson_arr_foreach (sl_json_at(o, "spec.ports"), i, n, p) {
        int64_t node_port = sl_json_int(p, "nodePort", 0);
        sl_buf_printf(&text, "%s%lld", i ? "," : "", (long long)sl_json_int(p, "port", 0));
        if (node_port > 0)
            sl_buf_printf(&text, ":%lld", (long long)node_port);
        sl_buf_printf(&text, "/%s", sl_json_str(p, "protocol"));
    }
    sl_jw_str(out, NULL, text.len ? sl_buf_str(&text) : "<none>");
}
static void service_selector(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    api_cell_labels(sl_json_at(o, "spec.selector"), out);
}
SL_STR_CELL(service_type, "spec.type", "")

static const struct api_column services[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Type", "string", "Type of the service.", service_type),
    SL_COLUMN("Cluster-IP", "string", "IP address within the cluster.", service_ip),
    SL_COLUMN("External-IP", "string", "External addresses.", service_external),
    SL_COLUMN("Port(s)", "string", "Ports of the service.", service_ports),
    SL_COLUMN_AGE,
    SL_COLUMN_WIDE("Selector", "string", "Selector of the pods.", service_selector),
};

/* ---- events ---- */

/* When it was first seen: firstTimestamp, or the newer eventTime. */
static yyjson_val *event_began(yyjson_val *o) {
    yyjson_val *first = sl_json_get(o, "firstTimestamp");
    return sl_json_view(first).n ? first : sl_json_get(o, "eventTime");
}
static void event_first(yyjson_val *o, sl_time now, struct sl_jw *out) {
    api_cell_age(event_began(o), now, out);
}
static void event_last(yyjson_val *o, sl_time now, struct sl_jw *out) {
    yyjson_val *series = sl_json_get(o, "series"), *last = sl_json_get(o, "lastTimestamp");

    if (series)
        last = sl_json_get(series, "lastObservedTime");
    else if (sl_json_view(last).n == 0)
        last = event_began(o);
    api_cell_age(last, now, out);
}
static void event_count(yyjson_val *o, sl_time now, struct sl_jw *out) {
    yyjson_val *series = sl_json_get(o, "series");
    int64_t n = sl_json_int(series ? series : o, "count", 0);

    (void)now;
    sl_jw_int(out, NULL, (n == 0 && !series ? 1 : n));
}
static void event_object(yyjson_val *o, sl_time now, struct sl_jw *out) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);
    const char *name = sl_json_str(o, "involvedObject.name");

    (void)now;
    for (const char *p = sl_json_str(o, "involvedObject.kind"); *p; p++)
        sl_buf_putc(&text, (char)(*p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p));
    if (*name)
        sl_buf_printf(&text, "/%s", name);
    sl_jw_str(out, NULL, sl_buf_str(&text));
}
static void event_source(yyjson_val *o, sl_time now, struct sl_jw *out) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);
    const char *component = sl_json_str(o, "source.component"),
               *where = sl_json_str(o, "source.host");

    (void)now;
    component = *component ? component : sl_json_str(o, "reportingComponent");
    where = *where ? where : sl_json_str(o, "reportingInstance");
    sl_buf_printf(&text, "%s%s%s", component, *where ? ", " : "", where);
    sl_jw_str(out, NULL, sl_buf_str(&text));
}
static void event_message(yyjson_val *o, sl_time now, struct sl_jw *out) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);
    const char *s = sl_json_str(o, "message");
    size_t len;

    (void)now;
    s += strspn(s, " \t\r\n\v\f");
    len = strlen(s);
    while (len > 0 && strchr(" \t\r\n\v\f", s[len - 1]))
        len--;
    sl_buf_add(&text, s, len);
    sl_jw_str(out, NULL, sl_buf_str(&text));
}
SL_STR_CELL(event_type, "type", "")
SL_STR_CELL(event_reason, "reason", "")
SL_STR_CELL(event_part, "involvedObject.fieldPath", "")

static const struct api_column events[] = {
    SL_COLUMN("Last Seen", "string", "Time of the last occurrence.", event_last),
    SL_COLUMN("Type", "string", "Normal, or Warning.", event_type),
    SL_COLUMN("Reason", "string", "Machine-readable reason.", event_reason),
    SL_COLUMN("Object", "string", "The object that the event is about.", event_object),
    SL_COLUMN_WIDE("Subobject", "string", "Part of the object.", event_part),
    SL_COLUMN_WIDE("Source", "string", "Reporting component.", event_source),
    SL_COLUMN("Message", "string", "Human-readable description.", event_message),
    SL_COLUMN_WIDE("First Seen", "string", "Time of the first occurrence.", event_first),
    SL_COLUMN_WIDE("Count", "string", "Number of occurrences.", event_count),
    {"Name", "string", "name", "The name of the event.", 1, NULL, api_cell_name},
};

/* ---- the small ones ---- */

SL_STR_CELL(namespace_phase, "status.phase", "")
static const struct api_column namespaces[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Status", "string", "Active, or Terminating.", namespace_phase),
    SL_COLUMN_AGE,
};

SL_STR_CELL(secret_type, "type", "")
COUNT_CELL(secret_data, "data")
static const struct api_column secrets[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Type", "string", "Type of the Secret.", secret_type),
    SL_COLUMN("Data", "string", "Number of entries.", secret_data),
    SL_COLUMN_AGE,
};

static void config_data(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    sl_jw_uint(out, NULL,
               sl_json_size(sl_json_get(o, "data")) + sl_json_size(sl_json_get(o, "binaryData")));
}
static const struct api_column configs[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Data", "string", "Number of entries.", config_data),
    SL_COLUMN_AGE,
};

static const struct api_column accounts[] = {SL_COLUMN_NAME, SL_COLUMN_AGE};

static void claim_status(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    if (sl_json_at(o, "metadata.deletionTimestamp"))
        sl_jw_str(out, NULL, "Terminating");
    else
        api_cell_str(o, "status.phase", "", out);
}
static void claim_capacity(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    if (*sl_json_str(o, "spec.volumeName"))
        api_cell_str(o, "status.capacity.storage", "0", out);
    else
        api_cell_str(o, "no", "", out);
}
static void claim_modes(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    api_cell_access_modes(
        *sl_json_str(o, "spec.volumeName") ? sl_json_at(o, "status.accessModes") : NULL, out);
}
SL_STR_CELL(claim_volume, "spec.volumeName", "")
SL_STR_CELL(claim_class, "spec.storageClassName", "")
SL_TEXT_CELL(claim_attributes, "spec.volumeAttributesClassName", "<unset>")
SL_STR_CELL(claim_mode, "spec.volumeMode", "<unset>")
static const struct api_column claims[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Status", "string", "Pending, Bound or Lost.", claim_status),
    SL_COLUMN("Volume", "string", "Name of the bound volume.", claim_volume),
    SL_COLUMN("Capacity", "string", "Size of the volume.", claim_capacity),
    SL_COLUMN("Access Modes", "string", "Access modes of the volume.", claim_modes),
    SL_COLUMN("StorageClass", "string", "Requested StorageClass.", claim_class),
    SL_COLUMN("VolumeAttributesClass", "string", "Requested VolumeAttributesClass.",
              claim_attributes),
    SL_COLUMN_AGE,
    SL_COLUMN_WIDE("VolumeMode", "string", "Filesystem, or Block.", claim_mode),
};

/* "cpu: 1/2, memory: 1Gi/4Gi" of those whose name begins with "limits.", or of the others. */
static void quota_text(yyjson_val *o, bool limits, struct sl_jw *out) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SL_CELL_TEXT_MAX);
    yyjson_val *hard = sl_json_at(o, "status.hard"), *key, *v;
    const char *names[128];
    size_t i, n, count = 0;

    if (hard) {
        sl_obj_foreach (hard, i, n, key, v) {
            const char *name = sl_json_text(key);
            size_t at = count;
            if ((strncmp(name, "limits.", 7) == 0) != limits || count == SL_LEN(names))
                continue;
            for (; at > 0 && strcmp(names[at - 1], name) > 0; at--)
                names[at] = names[at - 1];
            names[at] = name;
            count++;
        }
    }
    for (i = 0; i < count; i++) {
        const char *used = sl_json_text(sl_json_get(sl_json_at(o, "status.used"), names[i]));
        sl_buf_printf(&text, "%s%s: %s/%s", i ? ", " : "", names[i], *used ? used : "0",
                      sl_json_text(sl_json_get(hard, names[i])));
    }
    sl_jw_str(out, NULL, sl_buf_str(&text));
}
static void quota_requests(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    quota_text(o, false, out);
}
static void quota_limits(yyjson_val *o, sl_time now, struct sl_jw *out) {
    (void)now;
    quota_text(o, true, out);
}
static const struct api_column quotas[] = {
    SL_COLUMN_NAME,
    SL_COLUMN("Request", "string", "Used and hard limits of requests and counts.", quota_requests),
    SL_COLUMN("Limit", "string", "Used and hard limits of limits.", quota_limits),
    SL_COLUMN_AGE,
};

const struct api_kind_columns api_columns_core[] = {
    SL_COLUMNS("Pod", api_columns_pod),
    SL_COLUMNS("PodTemplate", templates),
    SL_COLUMNS("Node", nodes),
    SL_COLUMNS("Service", services),
    SL_COLUMNS("Event", events),
    SL_COLUMNS("Namespace", namespaces),
    SL_COLUMNS("Secret", secrets),
    SL_COLUMNS("ConfigMap", configs),
    SL_COLUMNS("ServiceAccount", accounts),
    SL_COLUMNS("PersistentVolumeClaim", claims),
    SL_COLUMNS("ResourceQuota", quotas),
    {NULL, {NULL, 0}},
};

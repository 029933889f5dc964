/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manager itself: its namespace, what it listens on, how it is elected, certificates, metrics.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "core/base/fmt.h"
#include "kube/types/kueue/decode.h"
#include "manager/config/load.h"

/* Our defaults, and Kueue's where the file sets any of the three. */
static const sl_span ours[] = {4 * SL_SEC, 3 * SL_SEC, 500 * SL_MSEC};
static const sl_span kueues[] = {15 * SL_SEC, 10 * SL_SEC, 2 * SL_SEC};

/* ---- addresses ---- */

static bool parse_port(const char *s, uint16_t *ret) {
    uint32_t port = 0;
    size_t n = strspn(s, "0123456789");

    if (n == 0 || n > 5 || s[n])
        return false;
    for (size_t i = 0; i < n; i++)
        port = port * 10 + (uint32_t)(s[i] - '0');
    *ret = (uint16_t)port;
    return port <= UINT16_MAX;
}

int sl_address_parse(const char *text, struct sl_address *ret, struct sl_err *err) {
    struct sl_address a = {.off = !*text || strcmp(text, "0") == 0};
    const char *host = text, *colon = strrchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;

    if (a.off) {
        *ret = a;
        return 0;
    }
    bool good = colon && parse_port(colon + 1, &a.port);
    if (good && *host == '[') { /* IPv6 */
        good = n >= 2 && host[n - 1] == ']';
        host++;
        n -= good ? 2 : 0;
    } else if (good) {
        good = !memchr(host, ':', n);
    }
    if (!good || n >= sizeof a.host || memchr(host, '[', n) || memchr(host, ']', n))
        return sl_err_set(err, SL_EINVAL,
                          "expected an address such as :8443, 127.0.0.1:8443, [::1]:8443 or 0, got "
                          "\"%.60s\"",
                          text);
    memcpy(a.host, host, n);
    *ret = a;
    return 0;
}

/* An empty text is as good as none, as in Kueue. */
static struct sl_address address(struct sl_doc_fields *f, const char *key, const char *fallback) {
    const char *text = sl_doc_field_str(f, key, fallback);
    struct sl_address a;
    struct sl_err why;
    char instead[40];

    if (!*text)
        text = fallback;
    if (sl_address_parse(text, &a, &why) == 0)
        return a;
    sl_fmt_short(instead, sizeof instead, "using %s", *fallback ? fallback : "none");
    config_warn_default(f, sl_doc_field(f, key)->line, key, instead, "%s", why.text);
    (void)!sl_address_parse(fallback, &a, NULL);
    return a;
}

static bool is_ip(const char *s) {
    unsigned char bytes[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, s, bytes) == 1 || inet_pton(AF_INET6, s, bytes) == 1;
}

/* A number of 1 to 65535. */
static uint16_t port(struct sl_doc_fields *f, const char *key, uint16_t fallback) {
    const struct sl_doc_node *n = sl_doc_field(f, key);
    char instead[24];

    if (!n)
        return fallback;
    if (n->kind == SL_DOC_NODE_INT && n->num >= 1 && n->num <= UINT16_MAX)
        return (uint16_t)n->num;
    sl_fmt_short(instead, sizeof instead, "using %u", fallback);
    config_warn_default(f, n->line, key, instead, "must be a valid port number (1-65535)");
    return fallback;
}

/* "readyz" and "/readyz" both mean the latter. */
static const char *path(struct sl_doc_fields *f, const char *key, const char *fallback) {
    const char *s = sl_doc_field_str(f, key, "");

    if (!*s)
        return fallback;
    return *s == '/' ? s : sl_arena_printf(f->rd->arena, "/%s", s);
}

/* An empty text is as good as none. */
static const char *text(struct sl_doc_fields *f, const char *key, const char *fallback) {
    const char *s = sl_doc_field_str(f, key, fallback);
    return *s ? s : fallback;
}

/* The name of an object; an empty one is as good as none. */
static const char *name(struct sl_doc_fields *f, const char *key, const char *fallback) {
    const struct sl_doc_node *n = sl_doc_field(f, key);

    if (n && n->kind == SL_DOC_NODE_STR && !*n->text)
        return fallback;
    return config_checked_str(f, key, fallback, sl_decode_is_subdomain,
                              "expected a DNS subdomain (RFC 1123)");
}

static void listening(struct sl_doc_fields *top, struct sl_settings *s) {
    struct sl_doc_fields f;

    config_section(&f, top, "webhook");
    s->webhook.host = sl_doc_field_str(&f, "host", "");
    s->webhook.port = port(&f, "port", 9443);
    s->webhook.cert_dir = text(&f, "certDir", "/tmp/k8s-webhook-server/serving-certs");
    s->webhook.client_ca = sl_doc_field_str(&f, "clientCAFile", "");
    sl_doc_fields_close(&f);

    config_section(&f, top, "health");
    s->health = address(&f, "healthProbeBindAddress", ":8081");
    s->ready_path = path(&f, "readinessEndpointName", "/readyz");
    s->live_path = path(&f, "livenessEndpointName", "/healthz");
    sl_doc_fields_close(&f);

    config_section(&f, top, "visibilityServer");
    s->visibility_host =
        config_checked_str(&f, "bindAddress", "", is_ip, "must be a valid IP address");
    s->visibility_port = port(&f, "bindPort", 8082);
    sl_doc_fields_close(&f);

    s->pprof = address(top, "pprofBindAddress", "");
}

/* ---- election ---- */

/* The relations that client-go requires: a leader that cannot renew has stopped before another may
 * start. */
static bool in_order(const sl_span v[3]) {
    return v[0] > v[1] && v[1] > v[2] + v[2] / 5 && v[2] > 0;
}

static void election(struct sl_doc_fields *top, struct sl_settings *s) {
    static const char *const keys[] = {"leaseDuration", "renewDeadline", "retryPeriod"};
    static const char *const locks[] = {"leases", NULL};
    const sl_span *fallback = ours;
    sl_span v[SL_LEN(keys)];
    struct sl_doc_fields f;

    config_section(&f, top, "leaderElection");
    s->lease.enable = sl_doc_field_bool(&f, "leaderElect", true);
    s->lease.name = name(&f, "resourceName", "c1f6bfd2.kueue.x-k8s.io");
    s->lease.ns = name(&f, "resourceNamespace", s->ns);
    (void)sl_doc_field_choice(&f, "resourceLock", locks, 0);
    for (size_t i = 0; i < SL_LEN(keys); i++)
        if (sl_doc_field(&f, keys[i]))
            fallback = kueues;
    for (size_t i = 0; i < SL_LEN(keys); i++) {
        v[i] = config_span_or(&f, keys[i], fallback[i]);
        if (v[i] == 0)
            v[i] = fallback[i];
    }
    if (!in_order(v)) {
        config_warn_default(&f, f.line, "leaseDuration", "using 4s, 3s and 500ms",
                            "must be greater than renewDeadline, and that than retryPeriod*1.2");
        memcpy(v, ours, sizeof v);
    }
    s->lease.duration = v[0];
    s->lease.renew_deadline = v[1];
    s->lease.retry_period = v[2];
    sl_doc_fields_close(&f);
}

/* ---- certificates ---- */

/* RFC 1035: a lower-case letter first, at most 63 bytes. */
static bool is_service_name(const char *s) {
    return *s >= 'a' && *s <= 'z' && strlen(s) <= 63 && !strchr(s, '.') &&
           sl_decode_is_subdomain(s);
}

static void certificates(struct sl_doc_fields *top, struct sl_settings *s) {
    static const char *const versions[] = {"VersionTLS12", "VersionTLS13", NULL};
    const struct sl_doc_node *ciphers, *curves;
    struct sl_doc_fields f;
    uint32_t n;

    config_section(&f, top, "internalCertManagement");
    s->certs.enable = sl_doc_field_bool(&f, "enable", true);
    s->certs.service = "kueue-webhook-service";
    s->certs.secret = "kueue-webhook-server-cert";
    if (s->certs.enable) {
        s->certs.service =
            config_checked_str(&f, "webhookServiceName", s->certs.service, is_service_name,
                               "expected a DNS label that begins with a letter (RFC 1035)");
        s->certs.secret =
            config_checked_str(&f, "webhookSecretName", s->certs.secret, sl_decode_is_subdomain,
                               "expected a DNS subdomain (RFC 1123)");
    } else {
        sl_doc_field_skip(&f, "webhookServiceName");
        sl_doc_field_skip(&f, "webhookSecretName");
    }
    sl_doc_fields_close(&f);

    config_section(&f, top, "tls");
    const struct sl_doc_node *min = sl_doc_field(&f, "minVersion");
    if (min && !(min->kind == SL_DOC_NODE_STR && !*min->text))
        s->tls13 = sl_doc_field_choice(&f, "minVersion", versions, 0) == 1;
    ciphers = sl_doc_field(&f, "cipherSuites");
    (void)sl_doc_field_strs(&f, "cipherSuites", SL_CONFIG_MAX_ITEMS, &n);
    if (s->tls13 && n > 0)
        sl_read_wrong(f.rd, ciphers->line, "cipherSuites",
                      "may not be specified when `minVersion` is 'VersionTLS13'");
    curves = sl_doc_field_list(&f, "curvePreferences", SL_CONFIG_MAX_ITEMS, &n);
    for (uint32_t i = 0; i < n; i++)
        (void)sl_read_int(f.rd, &curves[i], "curvePreferences", 1, UINT16_MAX);
    sl_doc_fields_close(&f);
}

/* ---- metrics ---- */

static void metrics(struct sl_doc_fields *top, struct sl_settings *s) {
    struct sl_doc_fields f, q;

    config_section(&f, top, "metrics");
    s->metrics = address(&f, "bindAddress", ":8443");
    s->queue_resources = sl_doc_field_bool(&f, "enableClusterQueueResources", false);
    sl_doc_field_skip(&f, "customLabels");
    config_section(&q, &f, "localQueueMetrics");
    /* Kueue's default is for the absent section; one that is present and empty means false. */
    s->asked.local_queue_metrics = sl_doc_field_bool(&q, "enable", !q.map);
    s->local_queue_selector = config_selector_or(&q, "localQueueSelector", (struct sl_selector){0});
    sl_doc_fields_close(&q);
    sl_doc_fields_close(&f);
}

/* Concurrency here follows the load and is not configured; the values are only validated. */
static void speeds(struct sl_doc_fields *top) {
    const struct sl_doc_node *n;
    struct sl_doc_fields f, map;

    config_section(&f, top, "controller");
    config_section(&map, &f, "groupKindConcurrency");
    for (uint32_t i = 0; map.map && i < map.map->n && i < SL_CONFIG_MAX_ITEMS; i++)
        (void)sl_read_int(f.rd, &map.map->pairs[i].value, map.map->pairs[i].key, INT32_MIN,
                          INT32_MAX);
    map.map = NULL; /* all keys have been read */
    sl_doc_fields_close(&map);
    n = sl_doc_field(&f, "cacheSyncTimeout"); /* a plain number of nanoseconds in Kueue */
    if (n && n->kind != SL_DOC_NODE_INT)
        (void)sl_read_span(f.rd, n, "cacheSyncTimeout");
    sl_doc_fields_close(&f);

    config_section(&f, top, "clientConnection");
    n = sl_doc_field(&f, "qps");
    if (n && n->kind != SL_DOC_NODE_INT && n->kind != SL_DOC_NODE_FLOAT)
        sl_read_wrong(f.rd, n->line, "qps", "expected a number, got %s",
                      sl_doc_node_kind_name(n->kind));
    (void)sl_doc_field_int(&f, "burst", 500, INT32_MIN, INT32_MAX);
    sl_doc_fields_close(&f);
}

void config_manager(struct sl_doc_fields *top, struct sl_settings *s) {
    s->ns = config_checked_str(top, "namespace", s->ns, sl_decode_is_subdomain,
                               "expected the name of a namespace");
    listening(top, s);
    election(top, s);
    certificates(top, s);
    metrics(top, s);
    speeds(top);
}

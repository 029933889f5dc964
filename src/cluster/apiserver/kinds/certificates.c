/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for certificates: nothing here approves or signs them. */
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>

#include "cluster/apiserver/kinds/kinds.h"
#include "core/base/collection/wordset.h"
#include "core/base/stamp.h"
#include "lib/json/json.h"

#define MIN_SECONDS 600
#define MAX_DOMAIN 253u
#define MAX_SIGNER 571u

/* ---- PEM in base64 ---- */

/* The bytes of a field in base64, in the arena. */
static struct sl_text decode(struct sl_arena *a, yyjson_val *v) {
    struct sl_text t = sl_json_view(v);
    unsigned char *out = sl_arena_alloc0(a, t.n + 4, 1);
    int n = t.n % 4 == 0 && t.n > 0 && t.n < INT32_MAX
                ? EVP_DecodeBlock(out, (const unsigned char *)t.s, (int)t.n)
                : -1;

    if (n < 0)
        return SL_TEXT("");
    n -= (t.s[t.n - 1] == '=') + (t.s[t.n - 2] == '=');
    return (struct sl_text){(char *)out, (size_t)n};
}

static void free_bio(BIO **b) {
    BIO_free(*b);
}
static void free_request(X509_REQ **r) {
    X509_REQ_free(*r);
}

/* Why this is no request that its own key signed; NULL: it is one. */
static const char *request_fault(struct sl_text pem) {
    static const char type[] = "PEM block type must be CERTIFICATE REQUEST";
    _cleanup_(free_bio) BIO *in = BIO_new_mem_buf(pem.s, (int)pem.n);
    _cleanup_(free_request) X509_REQ *req = NULL;
    const char *fault = NULL;
    EVP_PKEY *key;

    if (!strstr(pem.n ? pem.s : "", "-----BEGIN CERTIFICATE REQUEST-----"))
        fault = type;
    else if (!(req = PEM_read_bio_X509_REQ(in, NULL, NULL, NULL)))
        fault = "asn1: structure error";
    else if (!(key = X509_REQ_get0_pubkey(req)) || X509_REQ_verify(req, key) != 1)
        fault = "x509: signature verification failed";
    ERR_clear_error();
    return fault;
}

/* The same of certificates, one or more. */
static const char *certificate_fault(struct sl_text pem) {
    _cleanup_(free_bio) BIO *in = BIO_new_mem_buf(pem.s, (int)pem.n);
    const char *fault = NULL;
    unsigned n = 0;
    X509 *cert;

    for (; (cert = PEM_read_bio_X509(in, NULL, NULL, NULL)); n++)
        X509_free(cert);
    if (n == 0)
        fault = "must contain at least one CERTIFICATE PEM block";
    ERR_clear_error();
    return fault;
}

/* ---- the server's part ---- */

/* Who asks is what the server knows; nobody creates a request that is approved. */
static void fill_user(struct api_change *c) {
    yyjson_mut_val *spec = sl_json_mut_obj(c->doc, c->object, "spec"), *groups;

    if (!spec)
        return;
    sl_json_mut_set(c->doc, spec, "uid", NULL);
    sl_json_mut_set(c->doc, spec, "extra", NULL);
    sl_json_mut_set(c->doc, spec, "groups", NULL);
    sl_json_mut_set_str(c->doc, spec, "username", c->user);
    if (!c->groups || !c->groups[0])
        return;
    groups = yyjson_mut_arr(c->doc);
    for (size_t i = 0; c->groups[i]; i++)
        yyjson_mut_arr_add_strcpy(c->doc, groups, c->groups[i]);
    sl_json_mut_set(c->doc, spec, "groups", groups);
}

static bool is_decision(const char *type) {
    return strcmp(type, "Approved") == 0 || strcmp(type, "Denied") == 0;
}

/* Through "status", decisions stay what they are; 'old' conditions have at most one of a type. */
static void keep_decisions(struct api_change *c, yyjson_mut_val *list, yyjson_val *old) {
    size_t i, n;
    yyjson_mut_val *v;

    yyjson_mut_arr_foreach (list, i, n, v) {
        const char *type = sl_json_mut_str(v, "type");
        yyjson_val *was = is_decision(type) ? sl_json_find(old, "type", type) : NULL;
        if (was)
            (void)yyjson_mut_arr_replace(list, i, yyjson_val_mut_copy(c->doc, was));
    }
}

static bool no_time(yyjson_mut_val *condition, const char *field) {
    return *sl_json_mut_str(condition, field) == '\0';
}

static void fill_times(struct api_change *c, yyjson_mut_val *list, yyjson_val *old) {
    char now[SL_STAMP_TEXT];
    size_t i, n;
    yyjson_mut_val *v;

    (void)sl_stamp(c->now, now);
    yyjson_mut_arr_foreach (list, i, n, v) {
        yyjson_val *was = sl_json_find(old, "type", sl_json_mut_str(v, "type"));
        const char *since = sl_json_str(was, "lastTransitionTime");
        bool same = *since && strcmp(sl_json_str(was, "status"), sl_json_mut_str(v, "status")) == 0;
        if (no_time(v, "lastUpdateTime"))
            sl_json_mut_set_str(c->doc, v, "lastUpdateTime", now);
        if (no_time(v, "lastTransitionTime"))
            sl_json_mut_set_str(c->doc, v, "lastTransitionTime", same ? since : now);
    }
}

static void request_prepare(struct api_change *c) {
    yyjson_val *old = sl_json_at(c->old, "status.conditions");
    yyjson_mut_val *list = sl_json_mut_at(c->object, "status.conditions");

    if (api_change_is_create(c)) {
        fill_user(c);
        return;
    }
    sl_json_mut_keep(c->doc, c->object, "spec", c->old);
    if (api_change_is_object(c))
        return;
    if (strcmp(c->subresource, "approval") == 0)
        sl_json_mut_keep(c->doc, sl_json_mut_obj(c->doc, c->object, "status"), "certificate",
                         sl_json_get(c->old, "status"));
    else
        keep_decisions(c, list, old);
    fill_times(c, list, old);
}

/* ---- validation ---- */

static const char *const usages[] = {"any",
                                     "cert sign",
                                     "client auth",
                                     "code signing",
                                     "content commitment",
                                     "crl sign",
                                     "data encipherment",
                                     "decipher only",
                                     "digital signature",
                                     "email protection",
                                     "encipher only",
                                     "ipsec end system",
                                     "ipsec tunnel",
                                     "ipsec user",
                                     "key agreement",
                                     "key encipherment",
                                     "microsoft sgc",
                                     "netscape sgc",
                                     "ocsp signing",
                                     "s/mime",
                                     "server auth",
                                     "signing",
                                     "timestamping"};

static void usages_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list) {
    _cleanup_(sl_wordset_done) struct sl_wordset seen = {0};
    size_t i, n;
    yyjson_val *v;

    if (sl_json_size(list) == 0)
        sl_field_required(e, at, "");
    yyjson_arr_foreach (list, i, n, v) {
        bool known = false;
        for (size_t u = 0; u < SL_LEN(usages); u++)
            known = known || strcmp(sl_json_text(v), usages[u]) == 0;
        if (!known)
            sl_field_unsupported(e, SL_PATH_AT(at, i), sl_field_value_str(sl_json_text(v)), usages,
                                 SL_LEN(usages));
    }
    yyjson_arr_foreach (list, i, n, v) {
        if (!sl_wordset_add(&seen, sl_json_text(v)))
            sl_field_duplicate(e, SL_PATH_AT(at, i), sl_field_value_str(sl_json_text(v)), "");
    }
}

/* The first part between dots that is wrong. */
static void labels_check(struct sl_field_errs *e, const struct sl_path *at, const char *s,
                         size_t len, struct sl_syntax_errors (*rule)(const char *s, size_t len)) {
    for (const char *p = s, *end = s + len; p <= end;) {
        const char *dot = memchr(p, '.', (size_t)(end - p));
        size_t n = (size_t)((dot ? dot : end) - p);
        struct sl_syntax_errors f = rule(p, n);
        for (uint32_t i = 0; i < f.n; i++)
            sl_field_invalid(e, at, sl_field_value_strn(s, len), "validating label \"%.*s\": %s",
                             (int)n, p, f.v[i]);
        if (f.n || !dot)
            return;
        p = dot + 1;
    }
}

/* "example.com/name" */
static void signer_check(struct sl_field_errs *e, const struct sl_path *at, const char *name) {
    const char *slash = strchr(name, '/');
    size_t domain = slash ? (size_t)(slash - name) : 0;

    if (!*name) {
        sl_field_required(e, at, "");
        return;
    }
    if (!slash || strchr(slash + 1, '/')) {
        sl_field_invalid(e, at, sl_field_value_str(name),
                         "must be a fully qualified domain and path of the form "
                         "'example.com/signer-name'");
        return;
    }
    if (domain > MAX_DOMAIN)
        sl_field_too_long(e, at, MAX_DOMAIN);
    labels_check(e, at, name, domain, sl_syntax_dns_label);
    if (!memchr(name, '.', domain))
        sl_field_invalid(e, at, sl_field_value_strn(name, domain),
                         "should be a domain with at least two segments separated by dots");
    labels_check(e, at, slash + 1, strlen(slash + 1), sl_syntax_subdomain);
    if (strlen(name) > MAX_SIGNER)
        sl_field_too_long(e, at, MAX_SIGNER);
}

static void conditions_check(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list) {
    static const char *const states[] = {"False", "True", "Unknown", NULL}, *const is[] = {"True",
                                                                                           NULL};
    const char *first = NULL;
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach (list, i, n, v) {
        const char *type = sl_json_str(v, "type");
        bool decided = is_decision(type);
        if (!*type)
            sl_field_required(e, SL_PATH(SL_PATH_AT(at, i), "type"), "");
        api_check_one_of(e, SL_PATH_AT(at, i), v, "status",
                         decided || strcmp(type, "Failed") == 0 ? is : states, true);
        if (decided && first && strcmp(first, type) != 0)
            sl_field_invalid(e, at, sl_field_value_str(type),
                             "Approved and Denied conditions are mutually exclusive");
        if (decided)
            first = type;
        if (sl_json_find(list, "type", type) != v)
            sl_field_duplicate(e, SL_PATH(SL_PATH_AT(at, i), "type"), sl_field_value_str(type), "");
    }
}

/* What may change depends on the subresource. */
static void changes_check(struct api_change *c, yyjson_val *object) {
    static const char *const types[] = {"Approved", "Denied", "Failed"};
    const struct sl_path *at = SL_PATH(NULL, "status"), *list_at = SL_PATH(at, "conditions");
    yyjson_val *list = sl_json_at(object, "status.conditions"),
               *old = sl_json_at(c->old, "status.conditions");
    const char *is = sl_json_str(object, "status.certificate"),
               *was = sl_json_str(c->old, "status.certificate");
    bool may_decide = strcmp(c->subresource, "approval") == 0,
         may_issue = strcmp(c->subresource, "status") == 0;

    for (size_t i = 0; i < SL_LEN(types); i++)
        if (sl_json_find(old, "type", types[i]) && !sl_json_find(list, "type", types[i]))
            sl_field_forbidden(c->errs, list_at,
                               "updates may not remove a condition of type \"%s\"", types[i]);
    for (size_t i = 0; i < 2 && !may_decide; i++)
        if (!sl_json_find(old, "type", types[i]) && sl_json_find(list, "type", types[i]))
            sl_field_forbidden(c->errs, list_at, "updates may not add a condition of type \"%s\"",
                               types[i]);
    if (strcmp(is, was) != 0 && !may_issue)
        sl_field_forbidden(c->errs, SL_PATH(at, "certificate"),
                           "updates may not set certificate content");
    else if (strcmp(is, was) != 0 && *was)
        sl_field_forbidden(c->errs, SL_PATH(at, "certificate"),
                           "updates may not modify existing certificate content");
}

static void request_validate(struct api_change *c, yyjson_val *object) {
    const struct sl_path *at = SL_PATH(NULL, "spec"), *status_at = SL_PATH(NULL, "status");
    yyjson_val *spec = sl_json_get(object, "spec"), *request = sl_json_get(spec, "request"),
               *issued = sl_json_at(object, "status.certificate");
    const char *signer = sl_json_str(spec, "signerName"),
               *fault = c->old ? NULL : request_fault(decode(c->arena, request));
    int64_t seconds = sl_json_int(spec, "expirationSeconds", MIN_SECONDS);
    struct sl_field_errs *e = c->errs;

    if (fault)
        sl_field_invalid(e, SL_PATH(at, "request"), sl_field_value_json(request), "%s", fault);
    usages_check(e, SL_PATH(at, "usages"), sl_json_get(spec, "usages"));
    if (strcmp(signer, "kubernetes.io/legacy-unknown") == 0)
        sl_field_invalid(e, SL_PATH(at, "signerName"), sl_field_value_str(signer),
                         "the legacy signerName is not allowed via this API version");
    else
        signer_check(e, SL_PATH(at, "signerName"), signer);
    if (seconds < MIN_SECONDS)
        sl_field_invalid(e, SL_PATH(at, "expirationSeconds"), sl_field_value_int(seconds),
                         "may not specify a duration less than 600 seconds (10 minutes)");
    conditions_check(e, SL_PATH(status_at, "conditions"), sl_json_at(object, "status.conditions"));
    fault = *sl_json_text(issued) ? certificate_fault(decode(c->arena, issued)) : NULL;
    if (fault)
        sl_field_invalid(e, SL_PATH(status_at, "certificate"),
                         sl_field_value_str("<certificate data>"), "%s", fault);
    if (c->old)
        changes_check(c, object);
}

/* Any name is right. */
static struct sl_syntax_errors any_name(const char *s, size_t len) {
    (void)s, (void)len;
    return (struct sl_syntax_errors){0};
}
static const struct api_strategy request_strategy = {.prepare = request_prepare,
                                                     .validate = request_validate,
                                                     .no_generation = true,
                                                     .meta = SL_META_BOTH,
                                                     .name = any_name};

static const char *const request_fields[] = {"spec.signerName", NULL};

const struct api_builtin api_builtin_certificates[] = {
    {.group = "certificates.k8s.io",
     .version = "v1",
     .kind = "CertificateSigningRequest",
     .plural = "certificatesigningrequests",
     .shorts = "csr",
     .status = true,
     .strategy = &request_strategy,
     .selectable = request_fields},
    {0},
};

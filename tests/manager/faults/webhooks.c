/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission as the API server does it: a review goes to one of the replicas that are ready, its
 * patch is applied, and what comes out is validated. Without such a replica nothing is written
 * (failurePolicy: Fail).
 */
#include "manager/admission/review.h"
#include "world.h"

#define MAX_REVIEW ((size_t)8 << 20)

static const struct hook {
    const char *plural, *object; /* the path is "/mutate-" or "/validate-" and this */
    bool status;                 /* the status subresource, too */
    bool mutates;
} hooks[] = {
    {"pods", "-v1-pod", false, true},
    {"workloads", "kueue-x-k8s-io-v1beta2-workload", true, true},
};

static const struct sl_review_view *some_view(struct world *w) {
    uint32_t first = world_below(w, SL_LEN(w->replicas));
    for (uint32_t i = 0; i < SL_LEN(w->replicas); i++) {
        struct replica *r = &w->replicas[(first + i) % SL_LEN(w->replicas)];
        if (r->manager && sl_manager_ready(r->manager))
            return sl_manager_view(r->manager);
    }
    return NULL;
}

static void put_value(struct sl_buf *b, const char *key, yyjson_mut_val *v, yyjson_val *iv) {
    char *text = v ? yyjson_mut_val_write(v, 0, NULL) : iv ? yyjson_val_write(iv, 0, NULL) : NULL;
    sl_buf_printf(b, ",\"%s\":%s", key, text ? text : "null");
    free(text); /* yyjson's */
}

static void put_review(const struct fakeapi_write *fw, struct sl_buf *b) {
    yyjson_mut_val *now = yyjson_mut_doc_get_root(fw->now),
                   *meta = yyjson_mut_obj_get(now, "metadata");
    const char *ns = yyjson_mut_get_str(yyjson_mut_obj_get(meta, "namespace"));
    sl_buf_printf(
        b,
        "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{"
        "\"uid\":\"1\",\"operation\":\"%s\",\"namespace\":\"%s\",\"name\":\"%s\","
        "\"subResource\":\"%s\"",
        fw->old ? "UPDATE" : "CREATE", ns ? ns : "",
        yyjson_mut_get_str(yyjson_mut_obj_get(meta, "name")), fw->status ? "status" : "");
    put_value(b, "object", now, NULL);
    put_value(b, "oldObject", NULL, fw->old);
    sl_buf_puts(b, "}}");
}

static void from_base64(const char *s, struct sl_buf *out) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned bits = 0, n = 0;
    for (const char *at; *s && (at = strchr(digits, *s)); s++) {
        bits = bits << 6 | (unsigned)(at - digits);
        n += 6;
        if (n >= 8) {
            n -= 8;
            sl_buf_putc(out, (char)(bits >> n & 0xff));
        }
    }
}

static void apply(struct world *w, yyjson_mut_doc *m, const char *base64) {
    struct sl_buf text;
    yyjson_patch_err err;
    sl_buf_init(&text, MAX_REVIEW);
    from_base64(base64, &text);
    yyjson_doc *old = yyjson_mut_doc_imut_copy(m, NULL),
               *patch = yyjson_read(sl_buf_str(&text), text.len, 0);
    yyjson_mut_val *now =
        yyjson_patch(m, yyjson_doc_get_root(old), yyjson_doc_get_root(patch), &err);
    if (now)
        yyjson_mut_doc_set_root(m, now);
    else
        world_fail(w, "a webhook's patch cannot be applied: %s: %s", err.msg, sl_buf_str(&text));
    yyjson_doc_free(old);
    yyjson_doc_free(patch);
    sl_buf_done(&text);
}

/* 0, or the code with which it is refused. */
static int call_webhook(struct world *w, const struct sl_review_view *view, const char *verb,
                        const struct hook *h, const struct fakeapi_write *fw, struct sl_buf *why) {
    struct sl_buf body, out;
    char path[96];
    int code = 0;
    (void)snprintf(path, sizeof path, "/%s-%s", verb, h->object);
    sl_buf_init(&body, MAX_REVIEW);
    sl_buf_init(&out, 4 * MAX_REVIEW);
    put_review(fw, &body);
    if (w->verbose)
        world_tell(w, "%s %s", path, sl_buf_str(&body));
    int http = sl_review(view, path, sl_buf_str(&body), body.len, &out);
    yyjson_doc *d = http == 200 ? yyjson_read(sl_buf_str(&out), out.len, 0) : NULL;
    yyjson_val *answer = sl_json_at(yyjson_doc_get_root(d), "response");
    if (!sl_json_bool(answer, "allowed", false)) {
        code = (int)sl_json_int(answer, "status.code", 500);
        sl_buf_puts(why, d ? sl_json_str(answer, "status.message") : sl_buf_str(&out));
    } else if (*sl_json_str(answer, "patch")) {
        apply(w, fw->now, sl_json_str(answer, "patch"));
    }
    yyjson_doc_free(d);
    sl_buf_done(&body);
    sl_buf_done(&out);
    return code;
}

int world_review(void *ctx, const struct fakeapi_write *fw, struct sl_buf *why) {
    struct world *w = ctx;
    const struct hook *h = NULL;
    bool asked = w->test->refuses && fw->client != FAKEAPI_NOBODY;
    int refused = asked ? w->test->refuses(w, fw, why) : 0;
    if (refused)
        return refused;
    for (size_t i = 0; i < SL_LEN(hooks); i++)
        if (strcmp(hooks[i].plural, fw->kind->plural) == 0 && (!fw->status || hooks[i].status))
            h = &hooks[i];
    if (!h || (fw->client == FAKEAPI_NOBODY && !w->reviewed))
        return 0;
    const struct sl_review_view *view = some_view(w);
    if (!view) {
        sl_buf_puts(why, "no endpoints available");
        return 500;
    }
    int code = h->mutates && !fw->old ? call_webhook(w, view, "mutate", h, fw, why) : 0;
    if (!code)
        code = call_webhook(w, view, "validate", h, fw, why);
    if (code && fw->client != FAKEAPI_NOBODY && code != 500)
        world_fail(w, "a webhook refuses what the manager writes to %s: %s", h->plural,
                   sl_buf_str(why));
    return code;
}

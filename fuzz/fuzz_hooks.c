/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What webhooks answer, and what is made of it. The first line of an input is a collection, the
 * second an object that is created there; each line after it is what the next webhook says:
 *
 *     j JSON        its answer; $UID stands for the uid of the question
 *     p JSON        it allows, with this patch
 *     e STATUS ...  an HTTP status other than 200, with a body
 *
 * After the last line they begin anew. The object is created, changed and deleted under these
 * answers, which may be those of a stranger: the server goes on, each request is answered once, and
 * what is stored is an object that can be read again: under its own name, in its namespace, and
 * with the uid that it has had since it was created.
 */
#include <stdint.h>
#include <stdlib.h>

#include "api_fz.h"
#include "core/base/base64.h"
#include "lib/json/json.h"

#define INPUTS_PER_SERVER 500u
#define MAX_ANSWERS 32u
#define MAX_BODY ((size_t)32 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct api_fz api;
static struct {
    const char *v[MAX_ANSWERS];
    uint32_t n, at;
} answers;

/* ---- the webhooks ---- */

static void put_answer(struct sl_buf *out, const char *json, const char *uid) {
    for (const char *at; (at = strstr(json, "$UID")); json = at + 4) {
        sl_buf_add(out, json, (size_t)(at - json));
        sl_buf_puts(out, uid);
    }
    sl_buf_puts(out, json);
}

static void put_patch(struct sl_buf *out, const char *json, const char *uid) {
    sl_buf_printf(out,
                  "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\","
                  "\"response\":{\"uid\":\"%s\",\"allowed\":true,\"patchType\":\"JSONPatch\","
                  "\"patch\":\"",
                  uid);
    sl_base64_encode(out, json, strlen(json));
    sl_buf_puts(out, "\"}}");
}

static int review(void *ctx, const char *path, const char *body, size_t len, struct sl_buf *out) {
    yyjson_doc *doc = yyjson_read(body, len, 0);
    const char *uid = sl_json_str(yyjson_doc_get_root(doc), "request.uid");
    const char *say = answers.n ? answers.v[answers.at++ % answers.n] : "";
    int status = 200;

    (void)ctx;
    sl_assert(*path == '/' && doc && *uid); /* whatever was answered before: a review can be read */
    if (*say == 'j')
        put_answer(out, say + 1, uid);
    else if (*say == 'p')
        put_patch(out, say + 1, uid);
    else if (*say == 'e')
        status = (int)strtol(say + 1, NULL, 10);
    else
        put_answer(out, "{\"response\":{\"uid\":\"$UID\",\"allowed\":true}}", uid);
    if (*say == 'e')
        sl_buf_puts(out, say + 1);
    yyjson_doc_free(doc);
    return status;
}

/* ---- the client ---- */

static int ask(const char *method, const char *path, const char *query, const char *type,
               const char *body, struct sl_buf *out) {
    struct sl_api_request rq = api_fz_request(method, path, query, type, body, strlen(body));

    sl_buf_clear(out);
    api.to = out;
    int status = api_fz_ask(&api, &rq);
    api.to = NULL;
    return status;
}

/* What is stored now; its uid is the first one's. */
static bool look(const char *path, const char *name, char uid[64], struct sl_buf *out) {
    int status = ask("GET", path, "", "", "", out);

    if (status == 404)
        return false;
    yyjson_doc *doc = yyjson_read(out->s, out->len, 0);
    yyjson_val *o = yyjson_doc_get_root(doc);
    sl_assert(status == 200 && doc);
    sl_assert(strcmp(sl_json_str(o, "metadata.name"), name) == 0);
    sl_assert(sl_json_view(sl_json_at(o, "metadata.name")).n == strlen(name));
    sl_assert(!strstr(path, "/namespaces/") ||
              strcmp(sl_json_str(o, "metadata.namespace"), "default") == 0);
    const char *now = sl_json_str(o, "metadata.uid");
    sl_assert(*now && strlen(now) < 64);
    sl_assert(!*uid || strcmp(now, uid) == 0);
    memcpy(uid, now, strlen(now) + 1);
    yyjson_doc_free(doc);
    return true;
}

static void live(const char *collection, const char *body, struct sl_buf *out) {
    static const char change[] = "{\"metadata\":{\"annotations\":{\"changed\":\"yes\"}}}";
    char uid[64] = "";
    struct sl_buf path = SL_BUF(4096), name = SL_BUF(1024);

    if (ask("POST", collection, "", SL_JSON, body, out) == 201) {
        yyjson_doc *doc = yyjson_read(out->s, out->len, 0);
        sl_buf_puts(&name, sl_json_str(yyjson_doc_get_root(doc), "metadata.name"));
        sl_assert(doc && name.len > 0 && !sl_buf_full(&name));
        sl_buf_printf(&path, "%s/%s", collection, sl_buf_str(&name));
        yyjson_doc_free(doc);
        sl_assert(look(sl_buf_str(&path), sl_buf_str(&name), uid, out));
        (void)ask("PATCH", sl_buf_str(&path), "", SL_MERGE_PATCH, change, out);
        if (look(sl_buf_str(&path), sl_buf_str(&name), uid, out)) {
            char *text = sl_strdup(sl_buf_str(out));
            (void)ask("PUT", sl_buf_str(&path), "", SL_JSON, text, out);
            sl_freep(&text);
        }
        (void)look(sl_buf_str(&path), sl_buf_str(&name), uid, out);
        answers.n = 0;
        (void)ask("DELETE", sl_buf_str(&path), "gracePeriodSeconds=0", "", "", out);
    }
    sl_buf_done(&path);
    sl_buf_done(&name);
}

static void stop(void) {
    api_fz_stop(&api);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const struct sl_apiserver_spec spec = {.review = review, .review_unlabelled = true};
    struct sl_buf out = SL_BUF(MAX_BODY);

    api_fz_input(&api, spec, INPUTS_PER_SERVER, stop);
    char *text = sl_alloc(size + 1), *at = text;
    memcpy(text, data, size);
    text[size] = '\0';
    const char *collection = api_fz_line(&at), *body = api_fz_line(&at), *one;
    answers.n = answers.at = 0;
    while (answers.n < MAX_ANSWERS && (one = api_fz_line(&at)))
        answers.v[answers.n++] = one;
    if (body && *collection == '/' && !strchr(collection, '?'))
        live(collection, body, &out);
    answers.n = 0;
    sl_freep(&text);
    sl_buf_done(&out);
    return 0;
}

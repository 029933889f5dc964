/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and what a real kube-apiserver answered to them (answers.jsonl, written by the program
 * 'record'): ours says the same. All lines go to one server, in order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "core/base/base64.h"
#include "lib/json/json.h"

#define FILE_MAX_BYTES ((size_t)4 << 20)

/* What is another each time; 'record' has the same list. */
static const char *const apart[] = {"uid",
                                    "resourceVersion",
                                    "creationTimestamp",
                                    "lastTransitionTime",
                                    "deletionTimestamp",
                                    "managedFields",
                                    "clusterIP",
                                    "clusterIPs",
                                    "nodePort",
                                    "token",
                                    "expirationTimestamp",
                                    "description"};

static bool is_apart(const char *key) {
    for (size_t i = 0; i < SL_LEN(apart); i++)
        if (strcmp(apart[i], key) == 0)
            return true;
    return false;
}

/* The real one runs without the plugin that names a service account. */
static bool is_default_account(const char *key, yyjson_val *v) {
    return strncmp(key, "serviceAccount", 14) == 0 && yyjson_equals_str(v, "default");
}

static size_t uid_at(const char *s) {
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    for (size_t i = 0; i < sizeof(form) - 1; i++)
        if (form[i] == '-' ? s[i] != '-' : !strchr("0123456789abcdef", s[i]) || !s[i])
            return 0;
    return sizeof(form) - 1;
}

static yyjson_mut_val *plain_text(yyjson_mut_doc *doc, const char *s) {
    struct sl_buf out;
    yyjson_mut_val *v;

    sl_buf_init(&out, FILE_MAX_BYTES);
    while (*s) {
        size_t n = uid_at(s);
        if (n)
            sl_buf_puts(&out, "UID");
        else
            sl_buf_putc(&out, *s);
        s += n ? n : 1;
    }
    v = yyjson_mut_strcpy(doc, sl_buf_str(&out));
    sl_buf_done(&out);
    return v;
}

static yyjson_mut_val *plain(yyjson_mut_doc *doc, yyjson_val *v) {
    yyjson_mut_val *out;
    yyjson_val *key, *item;
    size_t i, n;

    if (yyjson_is_str(v))
        return plain_text(doc, yyjson_get_str(v));
    if (yyjson_is_arr(v)) {
        out = yyjson_mut_arr(doc);
        yyjson_arr_foreach (v, i, n, item) {
            yyjson_mut_arr_append(out, plain(doc, item));
        }
        return out;
    }
    if (!yyjson_is_obj(v))
        return yyjson_val_mut_copy(doc, v);
    out = yyjson_mut_obj(doc);
    sl_obj_foreach (v, i, n, key, item) {
        const char *name = yyjson_get_str(key);
        if (!is_apart(name) && !is_default_account(name, item))
            yyjson_mut_obj_add(out, yyjson_mut_strcpy(doc, name), plain(doc, item));
    }
    return out;
}

/* What is sent: JSON, or bytes in base64; NULL: nothing. To be freed. */
static char *bytes_of(yyjson_val *row, size_t *len) {
    yyjson_val *body = yyjson_obj_get(row, "body"), *bytes = yyjson_obj_get(row, "bytes");

    if (!bytes)
        return body ? yyjson_val_write(body, 0, len) : NULL;
    char *text = malloc(yyjson_get_len(bytes) + 1);
    assert_non_null(text);
    int64_t n = sl_base64_decode(yyjson_get_str(bytes), yyjson_get_len(bytes), text);
    assert_true(n >= 0);
    *len = (size_t)n;
    return text;
}

/* One line; false: the responses differ, and the difference was printed. */
static bool replay_line(struct api *a, yyjson_val *row, unsigned line) {
    yyjson_val *gives = yyjson_obj_get(row, "gives");
    const char *says = sl_json_str(row, "says"),
               *type = yyjson_get_str(yyjson_obj_get(row, "type"));
    const char *accept = yyjson_get_str(yyjson_obj_get(row, "accept"));
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    size_t len = 0;
    char *text = bytes_of(row, &len);
    int want = (int)sl_json_int(row, "code", 0),
        is = api_send(a, sl_json_str(row, "ask"), type, accept, text, len);
    yyjson_mut_val *mine = plain(doc, yyjson_doc_get_root(a->doc));
    bool same = is == want;

    if (same && gives) {
        yyjson_mut_val *theirs = plain(doc, gives);
        same = yyjson_mut_equals(mine, theirs);
    } else if (same) {
        same = strcmp(yyjson_mut_get_str(yyjson_mut_obj_get(mine, "message")), says) == 0;
    }
    if (!same) {
        char *ours = yyjson_mut_val_write(mine, 0, NULL),
             *theirs = gives ? yyjson_val_write(gives, 0, NULL) : NULL;
        print_error("line %u, %s %s\n  wanted %d %s\n  got    %d %s\n", line,
                    sl_json_str(row, "ask"), text ? text : "", want, theirs ? theirs : says, is,
                    ours);
        free(ours);
        free(theirs);
    }
    free(text);
    yyjson_mut_doc_free(doc);
    return same;
}

static void answers_are_the_same(void **state) {
    char path[4096], *text = malloc(FILE_MAX_BYTES);
    const char *root = getenv("SL_SOURCE_ROOT");
    unsigned line = 0, wrong = 0;
    struct api a;
    FILE *f;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/tests/cluster/apiserver/answers.jsonl",
                   root ? root : ".");
    f = fopen(path, "r");
    assert_non_null(f);
    api_init(&a);
    while (fgets(text, (int)FILE_MAX_BYTES, f)) {
        yyjson_doc *row = yyjson_read(text, strlen(text), 0);
        assert_non_null(row);
        wrong += !replay_line(&a, yyjson_doc_get_root(row), ++line);
        yyjson_doc_free(row);
    }
    api_done(&a);
    fclose(f);
    free(text);
    assert_true(line > 100);
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_are_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histories that a real API server lived through (tests/cluster/merge/generate), once more with our
 * code: each request on the object that the server had then, and what comes out is held against
 * what it answered. The whole object is compared, after pruning and defaults, and managedFields to
 * the letter; only what the server adds itself is left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <dirent.h>

#include "cluster/merge/merge.h"
#include "cluster/schema/check.h"
#include "cluster/schema/crd/crd.h"
#include "cluster/schema/types.h"
#include "lib/json/json.h"

static struct sl_schemas *types;
static struct sl_crd_schema *widget;

/* SL_CASES names another folder, for histories that were just made. */
static const char *folder(void) {
    static char path[2048];
    const char *root = getenv("SL_SOURCE_ROOT"), *other = getenv("SL_CASES");
    (void)snprintf(path, sizeof path, "%s%s",
                   other  ? other
                   : root ? root
                          : ".",
                   other ? "" : "/tests/cluster/merge/cases");
    return path;
}

static yyjson_doc *load(const char *name) {
    char path[4096];
    yyjson_read_err err;
    (void)snprintf(path, sizeof path, "%s/%s", folder(), name);
    yyjson_doc *doc = yyjson_read_file(path, 0, NULL, &err);
    if (!doc)
        fail_msg("%s: %s", path, err.msg);
    return doc;
}

static int setup(void **state) {
    struct sl_err err = {0};
    struct sl_arena arena;
    (void)state;
    assert_int_equal(sl_schemas_builtin(&types, &err), 0);
    yyjson_doc *doc = load("widget.schema.json");
    sl_arena_init(&arena, (size_t)1 << 20);
    struct sl_field_errs errs = {.arena = &arena};
    sl_crd_schema_new(yyjson_doc_get_root(doc), NULL,
                      sl_schemas_find(types, "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"),
                      &errs, &widget);
    for (uint32_t i = 0; i < errs.n; i++)
        print_error("%s\n", errs.text[i]);
    assert_int_equal(errs.n, 0);
    sl_arena_done(&arena);
    yyjson_doc_free(doc);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    sl_crd_schema_free(widget);
    sl_schemas_free(types);
    return 0;
}

static const char *text_of(yyjson_val *v, const char *key) {
    const char *s = yyjson_get_str(yyjson_obj_get(v, key));
    return s ? s : "";
}

/* ---- objects as the files tell them ---- */

/* Texts "<null>" are null. */
static void with_nulls(yyjson_mut_val *v) {
    yyjson_mut_val *key, *item;
    size_t i, max;
    if (yyjson_mut_equals_str(v, "<null>"))
        (void)yyjson_mut_set_null(v);
    yyjson_mut_arr_foreach (v, i, max, item)
        with_nulls(item);
    yyjson_mut_obj_foreach (v, i, max, key, item)
        with_nulls(item);
}

static yyjson_doc *patched(yyjson_doc *before, yyjson_val *diff) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_doc *empty = yyjson_read("{}", 2, 0);
    yyjson_mut_val *v = yyjson_merge_patch(doc, yyjson_doc_get_root(before ? before : empty), diff);
    yyjson_doc *out = yyjson_mut_val_imut_copy(v, NULL);
    yyjson_doc_free(empty);
    yyjson_mut_doc_free(doc);
    return out;
}

/* Managers are an object by index there, and a list here. */
static yyjson_doc *with_list(yyjson_doc *shaped) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *v = yyjson_val_mut_copy(doc, yyjson_doc_get_root(shaped));
    yyjson_mut_val *meta = yyjson_mut_obj_get(v, "metadata");
    yyjson_mut_val *by_index = yyjson_mut_obj_get(meta, "managedFields");
    if (yyjson_mut_is_obj(by_index)) {
        yyjson_mut_val *list = yyjson_mut_arr(doc);
        for (size_t i = 0; i < yyjson_mut_obj_size(by_index); i++) {
            char key[24];
            (void)snprintf(key, sizeof key, "%zu", i);
            yyjson_mut_val *entry = yyjson_mut_obj_get(by_index, key);
            assert_non_null(entry);
            (void)yyjson_mut_arr_append(list, yyjson_mut_val_mut_copy(doc, entry));
        }
        (void)yyjson_mut_obj_remove_key(meta, "managedFields");
        (void)yyjson_mut_obj_add_val(doc, meta, "managedFields", list);
    }
    with_nulls(v);
    yyjson_doc *out = yyjson_mut_val_imut_copy(v, NULL);
    yyjson_mut_doc_free(doc);
    return out;
}

/* ---- comparison ---- */

static int by_key(const void *x, const void *y) {
    yyjson_val *const *p = x, *const *q = y;
    return strcmp(yyjson_get_str(*p), yyjson_get_str(*q));
}

static void print_sorted(yyjson_val *v, struct sl_buf *out) {
    yyjson_val *key, *item;
    size_t i, max;
    if (yyjson_is_arr(v)) {
        sl_buf_putc(out, '[');
        yyjson_arr_foreach (v, i, max, item) {
            sl_buf_puts(out, i ? "," : "");
            print_sorted(item, out);
        }
        sl_buf_putc(out, ']');
    } else if (yyjson_is_obj(v)) {
        size_t n = yyjson_obj_size(v);
        yyjson_val **keys = malloc((n + 1) * sizeof(yyjson_val *));
        sl_obj_foreach (v, i, max, key, item)
            keys[i] = key;
        qsort(keys, n, sizeof(yyjson_val *), by_key);
        sl_buf_putc(out, '{');
        for (i = 0; i < n; i++) {
            sl_buf_puts(out, i ? "," : "");
            sl_buf_json(out, yyjson_get_str(keys[i]));
            sl_buf_putc(out, ':');
            print_sorted(keys[i] + 1, out);
        }
        sl_buf_putc(out, '}');
        free(keys);
    } else {
        char *s = yyjson_val_write(v, 0, NULL);
        sl_buf_puts(out, s);
        free(s);
    }
}

static char *sorted(yyjson_val *v) {
    struct sl_buf b;
    sl_buf_init(&b, (size_t)16 << 20);
    print_sorted(v, &b);
    return b.s;
}

/* What the server adds, and what a subresource does not write, is not compared. */
static char *comparable(yyjson_val *object, const char *sub) {
    static const char *const aside[] = {"resourceVersion", "generation", "uid", "creationTimestamp",
                                        "managedFields",   "namespace",  "name"};
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *v = yyjson_val_mut_copy(doc, object);
    yyjson_mut_val *meta = yyjson_mut_obj_get(v, "metadata");
    for (size_t i = 0; i < SL_LEN(aside); i++)
        (void)yyjson_mut_obj_remove_key(meta, aside[i]);
    if (*sub) {
        v = yyjson_mut_obj_get(v, "status");
        v = v ? v : yyjson_mut_obj(doc);
    } else {
        (void)yyjson_mut_obj_remove_key(v, "status");
    }
    yyjson_doc *im = yyjson_mut_val_imut_copy(v, NULL);
    char *s = sorted(yyjson_doc_get_root(im));
    yyjson_doc_free(im);
    yyjson_mut_doc_free(doc);
    return s;
}

static unsigned n_steps, n_wrong;

/* Where the two part, and some of what stands around it. */
static void differ(const char *at, const char *what, const char *want, const char *got) {
    size_t n = 0;
    while (want[n] && want[n] == got[n])
        n++;
    size_t from = n > 150 ? n - 150 : 0;
    n_wrong++;
    (void)fprintf(stderr, "%s: %s\n  want ...%.400s\n  got  ...%.400s\n", at, what, want + from,
                  got + from);
}

static void compare_text(const char *at, const char *what, const char *want, const char *got) {
    if (strcmp(want, got) != 0)
        differ(at, what, want, got);
}

static void compare_json(const char *at, const char *what, yyjson_val *want, yyjson_val *got) {
    char *x = want ? sorted(want) : strdup("nothing"), *y = got ? sorted(got) : strdup("nothing");
    compare_text(at, what, x, y);
    free(x);
    free(y);
}

static yyjson_val *managers(yyjson_val *object) {
    return yyjson_obj_get(yyjson_obj_get(object, "metadata"), "managedFields");
}

/* ---- one request ---- */

struct step {
    const char *at, *verb, *sub;
    yyjson_val *said; /* what the file says of it */
    const struct sl_schema *schema;
    struct sl_manage_id by;
    yyjson_val *before, *after, *body; /* after: NULL: it was refused */
};

/* When the server did it: its manager says so, or one that it made on the way. */
static sl_time moment_of(const struct step *st, const char *name, bool apply) {
    yyjson_val *entry;
    size_t i, max;
    struct tm tm = {0};
    yyjson_arr_foreach (managers(st->after), i, max, entry) {
        if (strcmp(text_of(entry, "manager"), name) == 0 &&
            apply == (strcmp(text_of(entry, "operation"), "Apply") == 0) &&
            strcmp(text_of(entry, "subresource"), st->sub) == 0 &&
            strptime(text_of(entry, "time"), "%Y-%m-%dT%H:%M:%SZ", &tm))
            return (sl_time)timegm(&tm) * SL_SEC;
    }
    return 0;
}

static sl_time moment(const struct step *st) {
    bool apply = strcmp(st->verb, "apply") == 0;
    sl_time t = moment_of(st, st->by.name, apply);
    return t ? t : moment_of(st, "before-first-apply", false);
}

static int by_text(const void *x, const void *y) {
    return strcmp(*(char *const *)x, *(char *const *)y);
}

/* Causes come in any order from the server. */
static char *causes_text(yyjson_val *causes) {
    struct sl_buf b;
    char *texts[64];
    size_t i, max, n = 0;
    yyjson_val *cause;
    sl_buf_init(&b, (size_t)1 << 20);
    sl_buf_puts(&b, "");
    yyjson_arr_foreach (causes, i, max, cause) {
        if (n < SL_LEN(texts))
            texts[n++] = sorted(cause);
    }
    qsort(texts, n, sizeof *texts, by_text);
    for (i = 0; i < n; i++) {
        sl_buf_puts(&b, texts[i]);
        free(texts[i]);
    }
    return b.s;
}

static void compare_refusal(const struct step *st, int r, struct sl_patch_err *err) {
    char code[16], *want, *got;
    (void)snprintf(code, sizeof code, "%d", r < 0 ? err->status : 200);
    if (r == 0) {
        differ(st->at, "code", text_of(st->said, "message"), "it went well");
        return;
    }
    char said[16];
    (void)snprintf(said, sizeof said, "%d", (int)yyjson_get_int(yyjson_obj_get(st->said, "code")));
    compare_text(st->at, "code", said, code);
    compare_text(st->at, "message", text_of(st->said, "message"), sl_buf_str(&err->text));
    compare_text(st->at, "reason", text_of(st->said, "reason"), err->reason);
    yyjson_doc *causes = err->causes ? yyjson_mut_val_imut_copy(err->causes, NULL) : NULL;
    want = causes_text(yyjson_obj_get(st->said, "causes"));
    got = causes_text(yyjson_doc_get_root(causes));
    compare_text(st->at, "causes", want, got);
    free(want);
    free(got);
    yyjson_doc_free(causes);
}

/* What kinds set by rules of their own, which are not ours: where we have none, none is expected.
 */
static void forget_rules(yyjson_mut_val *want, yyjson_mut_val *got, bool job) {
    static const char *const rules[] = {
        "imagePullPolicy", "rollingUpdate",        "maxSurge",       "maxUnavailable",
        "completions",     "backoffLimit",         "completionMode", "manualSelector",
        "parallelism",     "podReplacementPolicy", "suspend",        "emptyDir",
        "podIPs",          "enableServiceLinks",   "labels"};
    size_t n = SL_LEN(rules) - !job; /* jobs get the labels of their pods */
    yyjson_mut_val *key, *item, *other;
    size_t i, max;
    for (size_t k = 0; k < n; k++) {
        if (yyjson_mut_is_obj(got) && !yyjson_mut_obj_get(got, rules[k]))
            (void)yyjson_mut_obj_remove_key(want, rules[k]);
    }
    yyjson_mut_obj_foreach (want, i, max, key, item) {
        if ((other = yyjson_mut_obj_get(got, yyjson_mut_get_str(key))))
            forget_rules(item, other, job);
    }
    yyjson_mut_arr_foreach (want, i, max, item) {
        if ((other = yyjson_mut_arr_get(got, i)))
            forget_rules(item, other, job);
    }
}

static void compare_object(const struct step *st, yyjson_mut_doc *doc, yyjson_mut_val *object) {
    sl_schema_prune(st->schema, doc, object, NULL);
    sl_schema_default(st->schema, doc, object);
    yyjson_mut_val *expected = yyjson_val_mut_copy(doc, st->after);
    forget_rules(expected, object, strcmp(st->by.kind, "Job") == 0);
    yyjson_doc *after = yyjson_mut_val_imut_copy(expected, NULL);
    yyjson_doc *im = yyjson_mut_val_imut_copy(object, NULL);
    char *want = comparable(yyjson_doc_get_root(after), st->sub),
         *got = comparable(yyjson_doc_get_root(im), st->sub);
    yyjson_doc_free(after);
    compare_text(st->at, "object", want, got);
    free(want);
    free(got);
    yyjson_doc_free(im);
}

static void compare_managers(const struct step *st, yyjson_mut_val *object) {
    yyjson_doc *im = yyjson_mut_val_imut_copy(object, NULL);
    compare_json(st->at, "managers", managers(st->after), managers(yyjson_doc_get_root(im)));
    yyjson_doc_free(im);
}

static int patch(const struct step *st, yyjson_mut_doc *doc, yyjson_mut_val **ret,
                 struct sl_patch_err *err) {
    if (strcmp(st->verb, "json") == 0)
        return sl_patch_json(doc, st->before, st->body, ret, err);
    if (strcmp(st->verb, "merge") == 0)
        return sl_patch_merge(doc, st->before, st->body, ret, err);
    return sl_patch_strategic(st->schema, doc, st->before, st->body, ret, err);
}

static void run_step(const struct step *st) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct sl_patch_err err = {0};
    yyjson_mut_val *object = NULL;
    bool apply = strcmp(st->verb, "apply") == 0;
    int r = 0;

    sl_buf_init(&err.text, (size_t)1 << 20);
    n_steps++;
    if (apply)
        r = sl_manage_apply(st->schema, &st->by, yyjson_get_bool(yyjson_obj_get(st->said, "force")),
                            doc, st->before, st->body, &object, &err);
    else if (strcmp(st->verb, "create") == 0 || strcmp(st->verb, "update") == 0)
        object = yyjson_val_mut_copy(doc, st->body);
    else if (strcmp(st->verb, "scale") == 0)
        object = st->after ? yyjson_val_mut_copy(doc, st->after) : NULL;
    else
        r = patch(st, doc, &object, &err);
    if (!st->after) {
        compare_refusal(st, r, &err);
    } else if (r < 0) {
        differ(st->at, "code", "it goes well", sl_buf_str(&err.text));
    } else if (apply) {
        compare_managers(st, object);
        compare_object(st, doc, object);
    } else {
        compare_object(st, doc, object);
        /* The account is made of what the server had, so that it does not depend on defaults. */
        yyjson_mut_val *said =
            yyjson_mut_obj_get(yyjson_mut_obj_get(object, "metadata"), "managedFields");
        yyjson_mut_val *after = yyjson_val_mut_copy(doc, st->after);
        yyjson_mut_val *meta = yyjson_mut_obj_get(after, "metadata");
        (void)yyjson_mut_obj_remove_key(meta, "managedFields");
        if (said)
            (void)yyjson_mut_obj_add_val(doc, meta, "managedFields",
                                         yyjson_mut_val_mut_copy(doc, said));
        sl_manage_update(st->schema, &st->by, doc, st->before, after);
        compare_managers(st, after);
    }
    sl_buf_done(&err.text);
    yyjson_mut_doc_free(doc);
}

/* ---- a history ---- */

static void run_file(const char *name) {
    yyjson_doc *file = load(name), *shaped = NULL, *before = NULL;
    yyjson_val *root = yyjson_doc_get_root(file), *said;
    const char *schema = text_of(root, "schema"), *version = text_of(root, "apiVersion");
    bool custom = strcmp(schema, "widget") == 0;
    char group[64] = "";
    size_t i, max;

    if (strchr(version, '/'))
        (void)snprintf(group, sizeof group, "%.*s", (int)strcspn(version, "/"), version);
    yyjson_arr_foreach (yyjson_obj_get(root, "steps"), i, max, said) {
        char at[512];
        yyjson_val *diff = yyjson_obj_get(said, "object");
        struct step st = {.at = at, .verb = text_of(said, "verb"), .sub = text_of(said, "sub")};
        (void)snprintf(at, sizeof at, "%s:%zu %s %s", name, i + 2, st.verb, text_of(said, "by"));
        yyjson_doc *next = diff ? patched(shaped, diff) : NULL;
        yyjson_doc *after = next ? with_list(next) : NULL, *body = NULL;
        if (strcmp(st.verb, "update") == 0) {
            yyjson_doc *full = patched(shaped, yyjson_obj_get(said, "body"));
            body = with_list(full);
            yyjson_doc_free(full);
        }
        st.said = said;
        st.schema = custom ? sl_crd_schema_root(widget) : sl_schemas_find(types, schema);
        assert_non_null(st.schema);
        st.before = yyjson_doc_get_root(before);
        st.after = yyjson_doc_get_root(after);
        st.body = body ? yyjson_doc_get_root(body) : yyjson_obj_get(said, "body");
        st.by = (struct sl_manage_id){
            .name = text_of(said, "by"),
            .api_version = version,
            .kind = text_of(root, "kind"),
            .subresource = st.sub,
            .mask = sl_manage_mask(group, text_of(root, "kind"), st.sub, custom, true),
        };
        st.by.now = moment(&st);
        run_step(&st);
        yyjson_doc_free(body);
        if (next) {
            yyjson_doc_free(shaped);
            yyjson_doc_free(before);
            shaped = next;
            before = after;
        }
    }
    yyjson_doc_free(shaped);
    yyjson_doc_free(before);
    yyjson_doc_free(file);
}

static void test_histories(void **state) {
    struct dirent **names;
    (void)state;
    int n = scandir(folder(), &names, NULL, alphasort);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        const char *name = names[i]->d_name;
        if (strstr(name, ".json") && !strstr(name, ".schema."))
            run_file(name);
        free(names[i]);
    }
    free(names);
    print_message("%u requests, %u differences\n", n_steps, n_wrong);
    assert_true(n_steps > 0);
    assert_int_equal(n_wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_histories),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of protobuf, of which there is one: a Binding. Strict: what is not in its place, or comes
 * twice, makes it malformed.
 */
#include <string.h>

#include "fakeapi_int.h"

#define MAX_FIELDS 8u

struct bytes {
    const unsigned char *p;
    size_t n;
};

/* The fields of a message by their numbers, all of them bytes. */
static bool read_message(struct bytes in, struct bytes ret[MAX_FIELDS]) {
    memset(ret, 0, MAX_FIELDS * sizeof *ret);
    while (in.n > 0) {
        unsigned field = *in.p >> 3, type = *in.p & 7, shift = 0;
        size_t n = 0;
        in.p++, in.n--;
        if (type != 2 || field == 0 || field >= MAX_FIELDS || ret[field].p)
            return false;
        for (bool more = true; more; shift += 7) {
            if (in.n == 0 || shift > 21)
                return false;
            more = *in.p & 0x80;
            n |= (size_t)(*in.p & 0x7f) << shift;
            in.p++, in.n--;
        }
        if (n > in.n)
            return false;
        ret[field] = (struct bytes){in.p, n};
        in.p += n, in.n -= n;
    }
    return true;
}

static bool is_text(struct bytes b, const char *s) {
    return b.p && b.n == strlen(s) && memcmp(b.p, s, b.n) == 0;
}

static void put(yyjson_mut_doc *d, yyjson_mut_val *to, const char *key, struct bytes b) {
    bool ok = !b.p || yyjson_mut_obj_add(to, yyjson_mut_str(d, key),
                                         yyjson_mut_strncpy(d, (const char *)b.p, b.n));
    sl_assert(ok);
}

yyjson_doc *fa_protobuf_binding(const char *body, size_t len) {
    struct bytes all[MAX_FIELDS], type[MAX_FIELDS], raw[MAX_FIELDS], meta[MAX_FIELDS],
        target[MAX_FIELDS];

    if (len < 4 || memcmp(body, "k8s", 4) != 0 ||
        !read_message((struct bytes){(const unsigned char *)body + 4, len - 4}, all) ||
        !read_message(all[1], type) || !is_text(type[1], "v1") || !is_text(type[2], "Binding") ||
        !read_message(all[2], raw) || !read_message(raw[1], meta) || !read_message(raw[2], target))
        return NULL;
    yyjson_mut_doc *d = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(d);
    yyjson_mut_doc_set_root(d, root);
    yyjson_mut_val *m = yyjson_mut_obj_add_obj(d, root, "metadata");
    put(d, m, "name", meta[1]);
    put(d, m, "namespace", meta[3]);
    put(d, m, "uid", meta[5]);
    m = yyjson_mut_obj_add_obj(d, root, "target");
    put(d, m, "kind", target[1]);
    put(d, m, "name", target[3]);
    put(d, m, "apiVersion", target[5]);
    yyjson_doc *ret = yyjson_mut_doc_imut_copy(d, NULL);
    yyjson_mut_doc_free(d);
    return ret;
}

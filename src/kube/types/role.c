/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape is the output of Go's encoding/json for Kubernetes' types: fields in the order of the
 * types, keys of maps sorted, and for each field a rule on when it is omitted. So the types are
 * here as tables.
 */
#include "kube/types/role.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "lib/json/json.h"

#define SHAPE_MAX_BYTES ((size_t)16 << 20)

enum type {
    TEXT,
    INT,
    TEXTS,    /* a list of texts */
    WORDS,    /* a map of texts */
    AMOUNTS,  /* a map of quantities */
    REQUESTS, /* an object of which only the requests count, without their name */
    RECORD,
    RECORDS, /* a list of them */
};

/* What is written of a field that is not there. */
enum missing {
    ZERO,    /* "", 0, {} */
    NIL,     /* null */
    NOTHING, /* the field is left out */
    EMPTY,   /* left out, as is one that is "", 0 or empty */
    NO_ITEM, /* null, as is an empty list */
};

struct field {
    const char *key;
    enum type type;
    enum missing missing;
    const struct field *of; /* of a record; ends with a key of NULL */
};

/* ---- the types ---- */

static const struct field label_requirement[] = {
    {"key", TEXT, ZERO, NULL}, {"operator", TEXT, ZERO, NULL}, {"values", TEXTS, EMPTY, NULL}, {0}};
static const struct field label_selector[] = {
    {"matchLabels", WORDS, EMPTY, NULL},
    {"matchExpressions", RECORDS, EMPTY, label_requirement},
    {0}};
static const struct field node_term[] = {
    {"matchExpressions", RECORDS, EMPTY, label_requirement}, /* of the same fields */
    {"matchFields", RECORDS, EMPTY, label_requirement},
    {0}};
static const struct field node_selector[] = {{"nodeSelectorTerms", RECORDS, NIL, node_term}, {0}};
static const struct field preferred_node[] = {
    {"weight", INT, ZERO, NULL}, {"preference", RECORD, ZERO, node_term}, {0}};
static const struct field node_affinity[] = {
    {"requiredDuringSchedulingIgnoredDuringExecution", RECORD, NOTHING, node_selector},
    {"preferredDuringSchedulingIgnoredDuringExecution", RECORDS, EMPTY, preferred_node},
    {0}};
static const struct field pod_term[] = {{"labelSelector", RECORD, NOTHING, label_selector},
                                        {"namespaces", TEXTS, EMPTY, NULL},
                                        {"topologyKey", TEXT, ZERO, NULL},
                                        {"namespaceSelector", RECORD, NOTHING, label_selector},
                                        {"matchLabelKeys", TEXTS, EMPTY, NULL},
                                        {"mismatchLabelKeys", TEXTS, EMPTY, NULL},
                                        {0}};
static const struct field preferred_pod[] = {
    {"weight", INT, ZERO, NULL}, {"podAffinityTerm", RECORD, ZERO, pod_term}, {0}};
static const struct field pod_affinity[] = {
    {"requiredDuringSchedulingIgnoredDuringExecution", RECORDS, EMPTY, pod_term},
    {"preferredDuringSchedulingIgnoredDuringExecution", RECORDS, EMPTY, preferred_pod},
    {0}};
static const struct field affinity[] = {{"nodeAffinity", RECORD, NOTHING, node_affinity},
                                        {"podAffinity", RECORD, NOTHING, pod_affinity},
                                        {"podAntiAffinity", RECORD, NOTHING, pod_affinity},
                                        {0}};
static const struct field port[] = {
    {"name", TEXT, EMPTY, NULL},        {"hostPort", INT, EMPTY, NULL},
    {"containerPort", INT, ZERO, NULL}, {"protocol", TEXT, EMPTY, NULL},
    {"hostIP", TEXT, EMPTY, NULL},      {0}};
static const struct field resources[] = {{"requests", AMOUNTS, NIL, NULL}, {0}};
static const struct field container[] = {
    {"ports", RECORDS, NIL, port}, {"resources", RECORD, ZERO, resources}, {0}};
static const struct field claim[] = {{"name", TEXT, ZERO, NULL},
                                     {"resourceClaimName", TEXT, NOTHING, NULL},
                                     {"resourceClaimTemplateName", TEXT, NOTHING, NULL},
                                     {0}};
static const struct field toleration[] = {{"key", TEXT, EMPTY, NULL},
                                          {"operator", TEXT, EMPTY, NULL},
                                          {"value", TEXT, EMPTY, NULL},
                                          {"effect", TEXT, EMPTY, NULL},
                                          {"tolerationSeconds", INT, NOTHING, NULL},
                                          {0}};
static const struct field spread[] = {{"maxSkew", INT, ZERO, NULL},
                                      {"topologyKey", TEXT, ZERO, NULL},
                                      {"whenUnsatisfiable", TEXT, ZERO, NULL},
                                      {"labelSelector", RECORD, NOTHING, label_selector},
                                      {"minDomains", INT, NOTHING, NULL},
                                      {"nodeAffinityPolicy", TEXT, NOTHING, NULL},
                                      {"nodeTaintsPolicy", TEXT, NOTHING, NULL},
                                      {"matchLabelKeys", TEXTS, EMPTY, NULL},
                                      {0}};
/* The shape itself is a map: sorted. */
static const struct field shape[] = {{"affinity", RECORD, NIL, affinity},
                                     {"containers", RECORDS, NO_ITEM, container},
                                     {"initContainers", RECORDS, NO_ITEM, container},
                                     {"nodeSelector", WORDS, NIL, NULL},
                                     {"overhead", AMOUNTS, NIL, NULL},
                                     {"priority", INT, NIL, NULL},
                                     {"resourceClaims", RECORDS, NIL, claim},
                                     {"resources", REQUESTS, NOTHING, NULL},
                                     {"runtimeClassName", TEXT, NIL, NULL},
                                     {"tolerations", RECORDS, NIL, toleration},
                                     {"topologySpreadConstraints", RECORDS, NIL, spread},
                                     {0}};

static const struct field pod_shape[] = {{"spec", RECORD, ZERO, shape}, {0}};

/* ---- values ---- */

static void put_text(struct sl_buf *out, struct sl_text t) {
    static const char special[] = "\"\\\n\r\t\b\f", letter[] = "\"\\nrtbf";
    const char *s = t.s;

    sl_buf_putc(out, '"');
    for (size_t i = 0; i < t.n; i++) {
        const char *at = s[i] ? strchr(special, s[i]) : NULL;
        if (at) {
            sl_buf_putc(out, '\\');
            sl_buf_putc(out, letter[at - special]);
        } else if ((unsigned char)s[i] < 0x20 || (s[i] && strchr("<>&", s[i]))) {
            sl_buf_printf(out, "\\u%04x", (unsigned)s[i]);
        } else if (t.n - i > 2 && (memcmp(s + i, "\xe2\x80\xa8", 3) == 0 ||
                                   memcmp(s + i, "\xe2\x80\xa9", 3) == 0)) {
            sl_buf_puts(out, s[i + 2] == '\xa8' ? "\\u2028" : "\\u2029");
            i += 2;
        } else {
            sl_buf_putc(out, s[i]);
        }
    }
    sl_buf_putc(out, '"');
}

static void put_string(struct sl_buf *out, yyjson_val *v) {
    put_text(out, sl_json_view(v));
}

/* In its shortest form, as the API server writes it. One with an exponent, or beyond what we count,
 * stays as it is: the API server has seen to it. */
static void put_quantity(struct sl_buf *out, yyjson_val *v) {
    const char *s = sl_json_text(v);
    size_t len = strlen(s), mantissa = strspn(s, "+-.0123456789");
    bool binary = len > 0 && s[len - 1] == 'i';
    bool power = mantissa + 1 < len && !binary && (s[mantissa] == 'e' || s[mantissa] == 'E');
    char text[SL_QUANTITY_TEXT];
    sl_quantity q;

    if (!sl_json_quantity(v, &q) || power || q >= SL_QUANTITY_MAX || q <= -SL_QUANTITY_MAX)
        put_string(out, v);
    else if (binary && q % SL_NANO == 0 &&
             (q >= (sl_quantity)1024 * SL_NANO || q <= (sl_quantity)-1024 * SL_NANO))
        sl_buf_printf(out, "\"%s\"", sl_amount_format("memory", (sl_amount)(q / SL_NANO), text));
    else
        sl_buf_printf(out, "\"%s\"", sl_quantity_format(q, text));
}

static int by_key(const void *a, const void *b) {
    yyjson_val *const *x = a, *const *y = b;
    return sl_text_cmp(sl_json_view(*x), sl_json_view(*y));
}

static void put_map(struct sl_buf *out, yyjson_val *map,
                    void (*put)(struct sl_buf *, yyjson_val *)) {
    size_t i, n = yyjson_obj_size(map), most;
    yyjson_val **keys = sl_alloc0(n + 1, sizeof(yyjson_val *)), *key, *val;

    sl_obj_foreach (map, i, most, key, val)
        keys[i] = key;
    qsort(keys, n, sizeof(yyjson_val *), by_key);
    sl_buf_putc(out, '{');
    for (i = 0; i < n; i++) {
        if (i > 0)
            sl_buf_putc(out, ',');
        put_string(out, keys[i]);
        sl_buf_putc(out, ':');
        put(out, unsafe_yyjson_get_next(keys[i])); /* a value follows its key */
    }
    sl_buf_putc(out, '}');
    free(keys);
}

/* ---- records ---- */

static void put_record(struct sl_buf *out, yyjson_val *record, const struct field *of);

static bool fits(yyjson_val *v, enum type type) {
    switch (type) {
    case TEXT:
        return yyjson_is_str(v);
    case INT:
        return yyjson_is_int(v);
    case TEXTS:
    case RECORDS:
        return yyjson_is_arr(v);
    default:
        return yyjson_is_obj(v);
    }
}

static bool is_zero(yyjson_val *v) {
    return yyjson_is_int(v) ? yyjson_get_uint(v) == 0
                            : sl_json_view(v).n == 0 && sl_json_size(v) == 0;
}

static void put_items(struct sl_buf *out, yyjson_val *list, const struct field *f) {
    size_t i, n;
    yyjson_val *item;

    sl_buf_putc(out, '[');
    yyjson_arr_foreach (list, i, n, item) {
        if (i > 0)
            sl_buf_putc(out, ',');
        if (sl_buf_full(out))
            return;
        if (f->type == RECORDS)
            put_record(out, item, f->of);
        else
            put_string(out, item);
    }
    sl_buf_putc(out, ']');
}

static void put_value(struct sl_buf *out, yyjson_val *v, const struct field *f) {
    switch (f->type) {
    case TEXT:
        put_string(out, v);
        break;
    case INT:
        sl_buf_printf(out, "%lld", (long long)sl_json_int(v, "", 0));
        break;
    case TEXTS:
    case RECORDS:
        put_items(out, v, f);
        break;
    case WORDS:
        put_map(out, v, put_string);
        break;
    case AMOUNTS:
        put_map(out, v, put_quantity);
        break;
    case REQUESTS:
        v = sl_json_get(v, "requests");
        if (yyjson_is_obj(v))
            put_map(out, v, put_quantity);
        else
            sl_buf_puts(out, "null");
        break;
    case RECORD:
        put_record(out, v, f->of);
        break;
    }
}

enum manner { LEFT_OUT, AS_NULL, AS_VALUE };

static enum manner manner_of(yyjson_val *v, const struct field *f) {
    if (v && (f->missing == EMPTY || f->missing == NO_ITEM) && is_zero(v))
        v = NULL;
    if (v || f->missing == ZERO)
        return AS_VALUE;
    return f->missing == NIL || f->missing == NO_ITEM ? AS_NULL : LEFT_OUT;
}

static void put_record(struct sl_buf *out, yyjson_val *record, const struct field *of) {
    const char *comma = "\"";

    sl_buf_putc(out, '{');
    for (const struct field *f = of; f->key; f++) {
        yyjson_val *v = sl_json_get(record, f->key);
        if (!fits(v, f->type))
            v = NULL;
        enum manner how = manner_of(v, f);
        if (how == LEFT_OUT)
            continue;
        sl_buf_puts(out, comma);
        sl_buf_puts(out, f->key);
        sl_buf_puts(out, "\":");
        if (how == AS_NULL)
            sl_buf_puts(out, "null");
        else
            put_value(out, v, f);
        comma = ",\"";
    }
    sl_buf_putc(out, '}');
}

/* ---- the whole ---- */

void sl_role_shape(yyjson_val *spec, struct sl_buf *out) {
    put_record(out, spec, shape);
}

void sl_role_hash(yyjson_val *pod, char ret[SL_ROLE_HASH_SIZE]) {
    static const char hex[] = "0123456789abcdef";
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int len = 0;
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(SHAPE_MAX_BYTES);

    put_record(&text, pod, pod_shape);
    if (sl_buf_full(
            &text)) { /* no pod of the API; and yet two that differ must not become one role */
        size_t n = 0;
        char *whole = yyjson_val_write(pod, 0, &n);
        sl_buf_done(&text);
        text = SL_BUF(n + 1);
        sl_buf_add(&text, whole ? whole : "", n);
        free(whole); /* yyjson's */
    }
    int ok = EVP_Digest(sl_buf_str(&text), text.len, digest, &len, EVP_sha256(), NULL);
    sl_assert(ok == 1 && len > SL_ROLE_HASH_SIZE / 2);
    for (unsigned i = 0; i < SL_ROLE_HASH_SIZE - 1; i++)
        ret[i] = hex[i % 2 ? digest[i / 2] & 15 : digest[i / 2] >> 4];
    ret[SL_ROLE_HASH_SIZE - 1] = '\0';
}

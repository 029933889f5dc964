/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading: the document, its version, the parts in turn, the gates last, because they disable what
 * the parts enable. The engine's part is read by the decoder that simulations use too, here in its
 * lenient mode, so that a field has one meaning.
 */
#include "manager/config/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/fmt.h"
#include "kube/types/kueue/decode.h"
#include "manager/config/load.h"

#define MAX_FILE_BYTES ((size_t)1 << 20) /* as much as a ConfigMap holds */
#define MAX_GATES 256
#define OWN_NAMESPACE "kueue-system"
#define GROUP "config.kueue.x-k8s.io/"
/* Room for all that MAX_ENTRIES and SL_CONFIG_MAX_ITEMS let in, aliases of YAML included. */
#define MAX_ARENA_BYTES ((size_t)64 << 20)

/* ---- warnings ---- */

void sl_warnings_init(struct sl_warnings *w) {
    *w = (struct sl_warnings){0};
    sl_arena_init(&w->arena, (size_t)SL_WARNINGS_MAX * 2048);
}

void sl_warnings_done(struct sl_warnings *w) {
    sl_vec_free(&w->v);
    sl_arena_done(&w->arena);
}

void sl_warnings_add(struct sl_warnings *w, const char *source, uint32_t line, const char *text) {
    char *t;

    if (!w)
        return;
    if (w->v.n == SL_WARNINGS_MAX) {
        w->more++;
        return;
    }
    if (line > 0)
        t = sl_arena_printf(&w->arena, "%.255s:%u: %.*s", source, line, SL_WARNING_TEXT, text);
    else
        t = sl_arena_printf(&w->arena, "%.255s: %.*s", source, SL_WARNING_TEXT, text);
    for (char *p = t; *p; p++) /* the text quotes input: one line, no control characters */
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';
    *sl_vec_push(&w->v) = (struct sl_warning){line, t};
}

struct listener {
    const char *file;
    struct sl_warnings *warnings;
    uint32_t n_warnings;
};

static void receive(void *ctx, uint32_t line, const char *text) {
    struct listener *l = ctx;

    l->n_warnings++;
    sl_warnings_add(l->warnings, l->file, line, text);
}

/* ---- for the readers of the parts ---- */

struct config_item_name config_item_name(const char *list, uint32_t i, const char *field) {
    struct config_item_name name;

    sl_fmt_short(name.s, sizeof name.s, "%.30s[%u]%s%.20s", list, i, *field ? "." : "", field);
    return name;
}

void config_warn_default(struct sl_doc_fields *f, uint32_t line, const char *key,
                         const char *instead, const char *fmt, ...) {
    char words[200];
    va_list ap;

    va_start(ap, fmt);
    sl_vfmt_short(words, sizeof words, fmt, ap);
    va_end(ap);
    f->rd->instead = instead;
    sl_read_wrong(f->rd, line, key, "%s", words);
    f->rd->instead = NULL;
}

const char *config_checked_str(struct sl_doc_fields *f, const char *key, const char *fallback,
                               bool (*good)(const char *), const char *words) {
    const char *s = sl_doc_field_str(f, key, fallback);
    char instead[80];

    if (s == fallback || good(s))
        return s;
    sl_fmt_short(instead, sizeof instead, "using %.70s", *fallback ? fallback : "none");
    config_warn_default(f, sl_doc_field(f, key)->line, key, instead, "%s, got \"%.60s\"", words, s);
    return fallback;
}

sl_span config_span_or(struct sl_doc_fields *f, const char *key, sl_span fallback) {
    sl_span d = sl_doc_field_span(f, key, fallback);
    char instead[SL_SPAN_TEXT + 8] = "using no limit", text[SL_SPAN_TEXT];

    if (d >= 0)
        return d;
    if (fallback != SL_TIME_NEVER)
        sl_fmt_short(instead, sizeof instead, "using %s", sl_span_format(fallback, text));
    config_warn_default(f, sl_doc_field(f, key)->line, key, instead,
                        "must be greater than or equal to 0");
    return fallback;
}

struct sl_selector config_selector_or(struct sl_doc_fields *f, const char *key,
                                      struct sl_selector fallback) {
    const struct sl_doc_node *n = sl_doc_field(f, key);
    const struct listener *l = f->rd->warn_ctx;
    uint32_t before = l->n_warnings;
    struct sl_selector sel;
    struct sl_doc_fields here;

    if (!n)
        return fallback;
    sl_doc_fields_enter(&here, f->rd, NULL, key, key); /* only for the path */
    f->rd->instead = "the selector is not used";
    sel = sl_decode_selector(f->rd, n, key);
    f->rd->instead = NULL;
    sl_doc_fields_close(&here);
    return l->n_warnings == before ? sel : fallback;
}

bool config_is_kind_arg(const char *s) {
    const char *dot = strchr(s, '.');
    return dot && strchr(dot + 1, '.');
}

/* ---- gates ---- */

/* What hangs on gates. */
static void follow_gates(struct sl_settings *s) {
    const bool *g = s->gates;

    s->engine.gates = 0;
    for (enum sl_feature_gate i = 0; i < SL_GATES; i++) {
        enum sl_gate e = sl_feature_gate_engine(i);
        if (e < SL_GATE_COUNT && g[i])
            s->engine.gates |= UINT32_C(1) << e;
    }
    s->engine.pods_ready = s->asked.pods_ready && !g[SL_G_DISABLE_WAIT_FOR_PODS_READY];
    s->engine.afs = s->asked.afs && g[SL_G_ADMISSION_FAIR_SHARING];
    s->engine.ignore_undeclared = s->asked.ignore_undeclared && g[SL_G_QUOTA_CHECK_STRATEGY];
    s->local_queue_metrics = s->asked.local_queue_metrics && g[SL_G_LOCAL_QUEUE_METRICS];
}

/* Where a gate was named, for warnings. */
struct place {
    struct sl_warnings *warnings;
    const char *source, *path;
    uint32_t line;
};

/* The stage that AllAlpha and AllBeta stand for. */
static bool whole_stage(const char *name, const char **ret_stage) {
    bool alpha = strcmp(name, "AllAlpha") == 0, beta = strcmp(name, "AllBeta") == 0;

    *ret_stage = alpha ? "Alpha" : "Beta";
    return alpha || beta;
}

static void set_stage(struct sl_settings *s, const char *stage, bool on) {
    for (enum sl_feature_gate g = 0; g < SL_GATES; g++)
        if (strcmp(sl_feature_gate_stage_name(g), stage) == 0)
            s->gates[g] = on;
}

static void set_gate(struct sl_settings *s, const char *name, bool on, const struct place *at) {
    enum sl_feature_gate g = sl_feature_gate_find(name);
    char text[SL_WARNING_TEXT];

    if (g == SL_GATES) {
        const char *near = sl_feature_gate_nearest(name);
        sl_fmt_short(text, sizeof text, "%sunknown gate \"%.60s\"%s%s%s (ignored)", at->path, name,
                     near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
        sl_warnings_add(at->warnings, at->source, at->line, text);
    } else if (sl_feature_gate_locked(g) && on != sl_feature_gate_default(g)) {
        sl_fmt(text, sizeof text,
               "%scannot set feature gate %s to %s, feature is locked to %s "
               "(ignored)",
               at->path, name, on ? "true" : "false", on ? "false" : "true");
        sl_warnings_add(at->warnings, at->source, at->line, text);
    } else {
        s->gates[g] = on;
    }
}

/* Go's ParseBool. */
static bool parse_bool(const char *s, bool *ret) {
    static const char *const words[] = {"0", "f", "F", "false", "False", "FALSE",
                                        "1", "t", "T", "true",  "True",  "TRUE"};

    for (size_t i = 0; i < SL_LEN(words); i++)
        if (strcmp(s, words[i]) == 0) {
            *ret = i >= SL_LEN(words) / 2;
            return true;
        }
    return false;
}

/* Without the blanks around it, cut to the size of a name. */
static void trimmed(char *to, size_t size, const char *s, size_t n) {
    while (n > 0 && strchr(" \t\r\n", *s)) {
        s++;
        n--;
    }
    while (n > 0 && strchr(" \t\r\n", s[n - 1]))
        n--;
    sl_fmt(to, size, "%.*s", (int)(n < size ? n : size - 1), s);
}

/* One "A=true". Whole stages are set in a first round, so that a name always wins over them. */
static void set_flag(struct sl_settings *s, const char *word, size_t n, bool first_round,
                     const struct place *at) {
    const char *equal = memchr(word, '=', n), *stage;
    char name[80], value[16], text[SL_WARNING_TEXT];
    size_t n_name = equal ? (size_t)(equal - word) : n;
    bool on = false;

    trimmed(name, sizeof name, word, n_name);
    trimmed(value, sizeof value, equal ? equal + 1 : "", equal ? n - n_name - 1 : 0);
    if (!*name && !equal)
        return;
    if (whole_stage(name, &stage) != first_round)
        return;
    if (!parse_bool(value, &on)) {
        sl_fmt(text, sizeof text,
               "%.60s: expected %.60s=true or =false, got \"%.16s\" "
               "(ignored)",
               name, name, value);
        sl_warnings_add(at->warnings, at->source, 0, text);
    } else if (first_round) {
        set_stage(s, stage, on);
    } else {
        set_gate(s, name, on, at);
    }
}

static void set_flags(struct sl_settings *s, const char *flags, const struct place *at) {
    for (int round = 0; round < 2; round++)
        for (const char *p = flags;;) {
            size_t n = strcspn(p, ",");
            set_flag(s, p, n, round == 0, at);
            if (!p[n])
                break;
            p += n + 1;
        }
}

void sl_settings_gates(struct sl_settings *s, const char *flags, struct sl_warnings *warnings) {
    set_flags(s, flags, &(struct place){warnings, "feature gates", "", 0});
    follow_gates(s);
}

static void file_gates(struct sl_doc_fields *top, struct sl_settings *s, const struct listener *l) {
    struct sl_doc_fields f;
    const char *stage;

    config_section(&f, top, "featureGates");
    if (f.map && f.map->n > MAX_GATES) {
        sl_read_fail(f.rd, f.line, "expected at most %d gates, got %u", MAX_GATES, f.map->n);
        f.map = NULL;
    }
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; f.map && i < f.map->n; i++) {
            const struct sl_doc_pair *p = &f.map->pairs[i];
            bool whole = whole_stage(p->key, &stage);
            if (whole != (round == 0))
                continue;
            if (p->value.kind != SL_DOC_NODE_BOOL)
                (void)sl_read_bool(f.rd, &p->value, p->key);
            else if (whole)
                set_stage(s, stage, p->value.truth);
            else
                set_gate(s, p->key, p->value.truth,
                         &(struct place){l->warnings, l->file, "featureGates: ", p->line});
        }
    f.map = NULL; /* all keys have been read */
    sl_doc_fields_close(&f);
}

/* ---- the whole ---- */

static uint32_t line_of(struct sl_doc_fields *top, const char *key) {
    const struct sl_doc_node *n = sl_doc_field(top, key);
    return n ? n->line : top->line;
}

/* Whether the file is v1beta1. A missing or wrong apiVersion or kind is no reason to refuse the
 * file: the fields are unambiguous. */
static bool version(struct sl_doc_fields *top) {
    const char *api = sl_doc_field_str(top, "apiVersion", ""),
               *kind = sl_doc_field_str(top, "kind", "");
    bool v1beta1 = strcmp(api, GROUP "v1beta1") == 0;

    if (!top->map)
        return false;
    if (!v1beta1 && strcmp(api, GROUP "v1beta2") != 0)
        config_warn_default(top, line_of(top, "apiVersion"), "apiVersion", "read as v1beta2",
                            "expected " GROUP "v1beta1 or v1beta2, got \"%.60s\"", api);
    if (strcmp(kind, "Configuration") != 0)
        config_warn_default(top, line_of(top, "kind"), "kind", "read as one",
                            "expected Configuration, got \"%.60s\"", kind);
    return v1beta1;
}

/* The engine's decoder gets the parts that are its own, and none that are read here. */
static void engine_part(struct sl_doc_fields *top, bool v1beta1, struct sl_settings *s) {
    static const char *const keys[] = {"fairSharing", "admissionFairSharing", "waitForPodsReady",
                                       "resources"};
    struct sl_doc_pair pairs[SL_LEN(keys)];
    struct sl_doc_node part = {.kind = SL_DOC_NODE_MAP, .line = 1, .pairs = pairs};
    const struct sl_doc_node *waiting = NULL;

    for (size_t i = 0; i < SL_LEN(keys); i++) {
        const struct sl_doc_node *n = sl_doc_field(top, keys[i]);
        if (n)
            pairs[part.n++] = (struct sl_doc_pair){keys[i], n->line, *n};
        if (n && n->kind == SL_DOC_NODE_MAP && i == 2)
            waiting = n;
    }
    sl_decode_config(top->rd, &part, v1beta1, &s->engine);
    s->asked.pods_ready = waiting ? s->engine.pods_ready : !v1beta1;
    s->asked.afs = s->engine.afs;
    s->asked.ignore_undeclared = s->engine.ignore_undeclared;
}

static void fill(struct sl_settings *s, const struct sl_doc_node *root, const char *gate_flags,
                 struct listener *l) {
    struct sl_read rd = {.file = l->file, .arena = &s->arena, .warn = receive, .warn_ctx = l};
    struct sl_doc_fields top;

    sl_doc_fields_open(&top, &rd, root, "the Configuration");
    bool v1beta1 = version(&top);
    config_manager(&top, s); /* first: the namespace is part of other defaults */
    config_jobs(&top, s);
    config_fluxqueue(&top, s);
    config_extras(&top, s);
    engine_part(&top, v1beta1, s);
    const struct sl_doc_node *queues = sl_doc_field(&top, "queueVisibility");
    if (queues && !v1beta1)
        sl_read_note(&rd, queues->line, "queueVisibility", "is a field of v1beta1, not of v1beta2");

    for (enum sl_feature_gate g = 0; g < SL_GATES; g++)
        s->gates[g] = sl_feature_gate_default(g);
    const struct sl_doc_node *map = sl_doc_field(&top, "featureGates");
    file_gates(&top, s, l);
    if (gate_flags && *gate_flags) {
        if (map)
            config_warn_default(&top, map->line, "featureGates", "the command line wins",
                                "feature gates for CLI and configuration cannot both specified");
        set_flags(s, gate_flags, &(struct place){l->warnings, "--feature-gates", "", 0});
    }
    follow_gates(s);
    sl_doc_fields_close(&top);
    sl_assert(rd.code == 0);
}

int sl_settings_parse(const char *file, const char *text, size_t len, const char *own_ns,
                      const char *gate_flags, struct sl_settings **ret,
                      struct sl_warnings *warnings, struct sl_err *err) {
    _cleanup_(sl_settings_freep) struct sl_settings *s = sl_alloc0(1, sizeof *s);
    struct listener l = {.file = file, .warnings = warnings};
    const struct sl_doc_node *root = NULL;
    int r;

    sl_arena_init(&s->arena, MAX_ARENA_BYTES);
    s->ns = sl_arena_strdup(&s->arena, own_ns && *own_ns ? own_ns : OWN_NAMESPACE);
    if (len > MAX_FILE_BYTES)
        return sl_err_set(err, SL_ELIMIT, "%s: more than %zu bytes", file, MAX_FILE_BYTES);
    if (text) {
        r = sl_doc_yaml(file, text, len, &s->doc, err);
        if (r < 0)
            return r;
        root =
            s->doc->n > 0 && s->doc->roots[0].kind != SL_DOC_NODE_NULL ? &s->doc->roots[0] : NULL;
        if (root && root->kind != SL_DOC_NODE_MAP)
            return sl_err_set(err, SL_EINVAL, "%s:%u: expected a Configuration (a map), got %s",
                              file, root->line, sl_doc_node_kind_name(root->kind));
        if (!root)
            receive(&l, 1, "expected a Configuration, got nothing (using defaults)");
        if (s->doc->n > 1)
            receive(&l, s->doc->roots[1].line, "expected one document (the first is used)");
    }
    fill(s, root, gate_flags, &l);
    *ret = TAKE_PTR(s);
    return 0;
}

int sl_settings_load(const char *path, const char *own_ns, const char *gate_flags,
                     struct sl_settings **ret, struct sl_warnings *warnings, struct sl_err *err) {
    _cleanup_(sl_freep) char *text = NULL;
    size_t len = 0;
    int r;

    if (path) {
        r = sl_file_read(path, MAX_FILE_BYTES, &text, &len, err);
        if (r < 0)
            return r;
    }
    return sl_settings_parse(path ? path : "", text, len, own_ns, gate_flags, ret, warnings, err);
}

void sl_settings_free(struct sl_settings *s) {
    if (!s)
        return;
    sl_doc_freep(&s->doc);
    sl_arena_done(&s->arena);
    sl_freep(&s);
}

void sl_settings_freep(struct sl_settings **s) {
    sl_settings_free(*s);
    *s = NULL;
}

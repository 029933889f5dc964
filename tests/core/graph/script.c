/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts: see script.h. */
#include "script.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct script {
    bool fast, ready;
    struct draft d;
    struct sl_match_options o;
    struct sl_match_policy also;
    bool has_also;
    const char *subsystems[8];
    struct side side;
    struct sl_arena mem;
    struct answer answer;
    int64_t now;
};

static const struct {
    const char *word;
    enum act_kind kind;
    enum sl_match_op op;
    const char
        *arguments; /* j: a job, t: from+duration, v: a path, l: paths, r: a request, k: key */
} words[] = {
    {"alloc", ACT_RUN, SL_MATCH_ALLOCATE, "jr"},
    {"alloc-sat", ACT_RUN, SL_MATCH_ALLOCATE_SATISFIABLE, "jr"},
    {"reserve", ACT_RUN, SL_MATCH_ALLOCATE_OR_RESERVE, "jr"},
    {"sat", ACT_RUN, SL_MATCH_SATISFIABILITY, "r"},
    {"try", ACT_RUN, SL_MATCH_WITHOUT, "r"},
    {"try-later", ACT_RUN, SL_MATCH_WITHOUT_FUTURE, "r"},
    {"check", ACT_CHECK, 0, "r"},
    {"cancel", ACT_CANCEL, 0, "j"},
    {"begin", ACT_BEGIN, 0, "j"},
    {"again", ACT_AGAIN, 0, "jr"},
    {"part", ACT_PART, 0, "jl"},
    {"update", ACT_UPDATE, 0, "jtl"},
    {"update-later", ACT_UPDATE_LATER, 0, "jtl"},
    {"more", ACT_GROW_JOB, 0, "jr"},
    {"down", ACT_DOWN, 0, "v"},
    {"up", ACT_UP, 0, "v"},
    {"resize", ACT_RESIZE, 0, "vz"},
    {"prop", ACT_PROP, 0, "vk"},
    {"noprop", ACT_NOPROP, 0, "vk"},
    {"shrink", ACT_SHRINK, 0, "l"},
    {"add", ACT_ADD, 0, "va"},
    {"clone", ACT_CLONE, 0, ""},
    {"job", ACT_JOB, 0, "j"},
    {"jobs", ACT_JOBS, 0, ""},
    {"sums", ACT_SUMS, 0, "vs"},
};

static void make_ready(struct script *s) {
    if (s->ready)
        return;
    struct sl_graph *g = draft_build(&s->d);
    side_init(&s->side, s->fast, g, &s->o, s->has_also ? &s->also : NULL);
    sl_graph_free(g);
    s->ready = true;
}

static void read_argument(struct script *s, char what, const char **line, struct act *a,
                          struct sl_jobspec **spec) {
    switch (what) {
    case 'j':
        a->job = read_number(line);
        break;
    case 'z':
        a->at = read_number(line);
        break;
    case 't':
        a->at = read_number(line);
        skip_char(line, '+');
        a->duration = read_number(line);
        break;
    case 'v':
        a->v = draft_find(&s->d, read_word(&s->mem, line));
        break;
    case 'l':
        while (**line) {
            struct sl_pick p = {.v = draft_find(&s->d, read_word(&s->mem, line))};
            p.needs = skip_char(line, '*') ? read_number(line) : s->d.v.v[p.v].size;
            p.exclusive = skip_char(line, ':') && skip_char(line, 'x');
            *sl_vec_push(&a->picks) = p;
            skip_blanks(line);
        }
        break;
    case 'r':
        a->spec = *spec = request_read(*line);
        *line += strlen(*line);
        break;
    case 'k':
        a->key = read_word(&s->mem, line);
        a->value = skip_char(line, '=') ? read_word(&s->mem, line) : "";
        break;
    case 'a':
        a->first = s->d.v.n;
        a->draft = &s->d;
        draft_read(&s->d, a->v, line);
        break;
    case 's':
        a->at = **line ? read_number(line) : s->now;
        skip_blanks(line);
        a->job = **line ? read_number(line) : -1;
        break;
    default:
        cannot_read("a known argument", *line);
    }
    skip_blanks(line);
}

static void do_act(struct script *s, const char *word, const char *line) {
    struct act a = {.now = s->now};
    struct sl_jobspec *spec = NULL;
    size_t w = 0;
    if (strcmp(word, "by") == 0) { /* the other policy, then the act */
        if (strcmp(read_word(&s->mem, &line), "also") != 0 || !s->has_also)
            cannot_read("by also", line);
        a.by = 1;
        skip_blanks(&line);
        word = read_word(&s->mem, &line);
        skip_blanks(&line);
    }
    while (w < SL_LEN(words) && strcmp(words[w].word, word) != 0)
        w++;
    if (w == SL_LEN(words))
        cannot_read("an act", word);
    make_ready(s);
    a.kind = words[w].kind;
    a.op = words[w].op;
    for (const char *what = words[w].arguments; *what; what++)
        read_argument(s, *what, &line, &a, &spec);
    if (*line)
        cannot_read("the end of the line", line);
    side_do(&s->side, &a, &s->answer);
    if (a.kind == ACT_ADD && s->answer.r < 0)
        s->d.v.n = a.first;
    sl_jobspec_free(spec);
    sl_vec_free(&a.picks);
}

/* What stands before the first act; false if it is one. */
static bool read_setting(struct script *s, const char *word, const char *line) {
    struct sl_err err;
    if (strcmp(word, "graph") == 0) {
        draft_read(&s->d, SL_VTX_NONE, &line);
    } else if (strcmp(word, "policy") == 0) {
        if (sl_match_policy_parse(line, &s->o.policy, &err) < 0)
            cannot_read("a policy", line);
    } else if (strcmp(word, "also") == 0) {
        if (sl_match_policy_parse(line, &s->also, &err) < 0)
            cannot_read("a policy", line);
        s->has_also = true;
    } else if (strcmp(word, "verdicts") == 0) {
        s->o.fluxion = strcmp(line, "fluxion") == 0;
    } else if (strcmp(word, "filters") == 0) {
        s->o.filters = sl_arena_strdup(&s->mem, line);
    } else if (strcmp(word, "subsystems") == 0) {
        while (*line) {
            sl_assert(s->o.n_subsystems < SL_LEN(s->subsystems));
            s->subsystems[s->o.n_subsystems++] = read_word(&s->mem, &line);
            skip_blanks(&line);
        }
        s->o.subsystems = s->subsystems;
    } else if (strcmp(word, "time") == 0) {
        s->o.start = read_number(&line);
        s->o.end = read_number(&line);
    } else if (strcmp(word, "edge") == 0) {
        struct draft_edge e = {.subsystem = read_word(&s->d.mem, &line)};
        skip_blanks(&line);
        e.from = draft_find(&s->d, read_word(&s->mem, &line));
        skip_blanks(&line);
        e.to = draft_find(&s->d, read_word(&s->mem, &line));
        *sl_vec_push(&s->d.edges) = e;
    } else if (strcmp(word, "now") == 0) {
        s->now = read_number(&line);
    } else {
        return false;
    }
    return true;
}

static bool as_expected(struct script *s, const char *expected, struct sl_buf *why) {
    struct sl_buf got;
    bool good;
    sl_buf_init(&got, 1 << 16);
    answer_print(&s->side, &s->answer, &got);
    if (expected)
        good = strcmp(expected, sl_buf_str(&got)) == 0;
    else
        good = s->answer.r >= 0 && (!s->answer.has_verdict || s->answer.verdict == SL_MATCHED ||
                                    s->answer.verdict == SL_SATISFIABLE);
    if (!good)
        sl_buf_printf(why, "got      %s\nexpected %s\n", sl_buf_str(&got),
                      expected ? expected : "success");
    sl_buf_done(&got);
    return good;
}

bool script_run(const char *text, bool fast, struct sl_buf *why) {
    struct script s = {.fast = fast};
    bool good = true;
    const char *doing = NULL;
    draft_init(&s.d);
    sl_arena_init(&s.mem, 1 << 22);
    while (good) {
        skip_blanks(&text);
        size_t len = strcspn(text, "\n");
        char *line = sl_arena_strndup(&s.mem, text, len);
        bool expects = line[0] == '=';
        while (len > 0 && isspace((unsigned char)line[len - 1]))
            line[--len] = '\0';
        if (doing) { /* the act before is judged when it is known what is expected */
            good = as_expected(&s, expects ? line + 1 + strspn(line + 1, " ") : NULL, why);
            if (!good)
                sl_buf_printf(why, "after    %s\n", doing);
            doing = NULL;
        }
        if (len == 0)
            break;
        text += strcspn(text, "\n");
        if (expects || !good)
            continue;
        const char *rest = line;
        char *word = read_word(&s.mem, &rest);
        skip_blanks(&rest);
        if (read_setting(&s, word, rest))
            continue;
        do_act(&s, word, rest);
        doing = line;
    }
    answer_done(&s.answer);
    if (s.ready)
        side_done(&s.side);
    draft_done(&s.d);
    sl_arena_done(&s.mem);
    return good;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Events: copied, with clean texts within their ceilings; and as the values of columns. */
#include "lib/ledger/ledger_int.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/mem.h"
#include "lib/json/writer.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define ELLIPSIS "\xe2\x80\xa6"
#define MARK 3u /* bytes of either */

static const char cut_json[] = SL_JSON_CONST({"cut" : true});

static const struct {
    const char *name, *state; /* NULL: the job stays in its state */
} kinds[SL_LEDGER_KINDS] = {
    [SL_LEDGER_SUBMIT] = {"submit", "pending"},   [SL_LEDGER_QUEUE] = {"queue", "pending"},
    [SL_LEDGER_RESERVE] = {"reserve", "pending"}, [SL_LEDGER_UNRESERVE] = {"unreserve", "pending"},
    [SL_LEDGER_START] = {"start", "running"},     [SL_LEDGER_POD_BIND] = {"pod_bind", NULL},
    [SL_LEDGER_RESIZE] = {"resize", NULL},        [SL_LEDGER_END] = {"end", "ended"},
    [SL_LEDGER_CANCEL] = {"cancel", "cancelled"}, [SL_LEDGER_REJECT] = {"reject", "rejected"},
    [SL_LEDGER_GATHER] = {"gather", "gathering"},
};

const char *sl_ledger_kind_name(enum sl_ledger_kind kind) {
    return (unsigned)kind < SL_LEDGER_KINDS ? kinds[kind].name : NULL;
}

bool ledger_kind_parse(struct sl_text name, enum sl_ledger_kind *ret) {
    for (unsigned i = 0; i < SL_LEDGER_KINDS; i++)
        if (sl_text_is(name, kinds[i].name)) {
            *ret = (enum sl_ledger_kind)i;
            return true;
        }
    return false;
}

sl_time ledger_monotonic(void) {
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (sl_time)t.tv_sec * SL_SEC + t.tv_nsec;
}

sl_time ledger_wall(void) {
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (sl_time)t.tv_sec * SL_SEC + t.tv_nsec;
}

/* ---- texts ---- */

/* The texts of an event, with their ceilings. The first is the uid. */
static const struct {
    size_t offset, ceiling;
} texts[] = {
    {offsetof(struct sl_ledger_event, uid), SL_LEDGER_MAX_UID},
    {offsetof(struct sl_ledger_event, ns), SL_LEDGER_MAX_NAME},
    {offsetof(struct sl_ledger_event, name), SL_LEDGER_MAX_NAME},
    {offsetof(struct sl_ledger_event, type), SL_LEDGER_MAX_NAME},
    {offsetof(struct sl_ledger_event, flux_job), SL_LEDGER_MAX_NAME},
    {offsetof(struct sl_ledger_event, queue), SL_LEDGER_MAX_NAME},
    {offsetof(struct sl_ledger_event, user), SL_LEDGER_MAX_NAME},
    {offsetof(struct sl_ledger_event, group), SL_LEDGER_MAX_NAME},
    {offsetof(struct sl_ledger_event, nodes), SL_LEDGER_MAX_LIST},
    {offsetof(struct sl_ledger_event, resources), SL_LEDGER_MAX_LIST},
    {offsetof(struct sl_ledger_event, reason), SL_LEDGER_MAX_NAME},
    {offsetof(struct sl_ledger_event, message), SL_LEDGER_MAX_MESSAGE},
};

static const struct sl_text *text_of(const struct sl_ledger_event *e, size_t i) {
    return (const struct sl_text *)(const void *)((const char *)e + texts[i].offset);
}

/* Bytes of the character that begins here; 0: it is none. NUL is none, PostgreSQL has no texts with
 * it; nor are surrogates, overlong forms and what is beyond Unicode. */
static size_t character(const unsigned char *s, size_t n) {
    if (s[0] < 0x80)
        return s[0] != 0;
    size_t len = s[0] >= 0xc2 && s[0] <= 0xdf   ? 2
                 : (s[0] & 0xf0) == 0xe0        ? 3
                 : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4
                                                : 0;
    if (len == 0 || len > n)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return len;
}

/* So many bytes from here are ASCII other than NUL: most texts as a whole, so eight at a time. */
static size_t plain_run(const char *s, size_t n) {
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = UINT64_C(0x8080808080808080);
    size_t i = 0;

    for (uint64_t word; i + sizeof word <= n; i += sizeof word) {
        memcpy(&word, s + i, sizeof word);
        if ((word | (word - ones)) & highs) /* a high bit, or a zero */
            break;
    }
    while (i < n && s[i] > 0)
        i++;
    return i;
}

enum { AS_IT_WAS, MENDED, CUT };

/* Without out: gives the length of the clean text, at most 'ceiling'. With it: writes that text, of
 * the length that was given; whether it will be cut shows only at the end. */
static int clean(struct sl_text t, size_t ceiling, char *out, size_t *len_of) {
    const size_t room = ceiling - MARK; /* if an ellipsis must follow */
    size_t len = 0, fits = 0;           /* fits: the end of the last character within room */
    int how = AS_IT_WAS;

    for (size_t i = 0; i < t.n;) {
        size_t plain = plain_run(t.s + i, t.n - i);
        size_t n = plain ? plain : character((const unsigned char *)t.s + i, t.n - i);
        const char *from = n ? t.s + i : REPLACEMENT;
        size_t wide = n ? n : MARK;
        if (len + wide <= room)
            fits = len + wide;
        else if (plain && len < room)
            fits = room;
        if (len + wide > ceiling) {
            if (out && fits > len)
                memcpy(out + len, from, fits - len);
            if (out)
                memcpy(out + fits, ELLIPSIS, MARK);
            *len_of = fits + MARK;
            return CUT;
        }
        if (out && len + wide <= *len_of)
            memcpy(out + len, from, wide);
        if (!n)
            how = MENDED;
        len += wide;
        i += n ? n : 1;
    }
    *len_of = len;
    return how;
}

struct ledger_entry *ledger_entry_new(const struct sl_ledger_event *e) {
    size_t len[SL_LEN(texts)], sum = 0;
    bool replaced = false;

    for (size_t i = 0; i < SL_LEN(texts); i++) {
        int how = clean(*text_of(e, i), texts[i].ceiling, NULL, &len[i]);
        if (i == 0 && (how != AS_IT_WAS || len[i] == 0))
            return NULL;
        if (how == CUT && text_of(e, i) == &e->resources) {
            replaced = true;
            len[i] = sizeof cut_json - 1;
        }
        sum += len[i];
    }
    if ((unsigned)e->kind >= SL_LEDGER_KINDS)
        return NULL;
    struct ledger_entry *copy = sl_alloc(sizeof *copy + sum);
    *copy = (struct ledger_entry){.bytes = sizeof *copy + sum, .e = *e};
    char *at = copy->texts;
    for (size_t i = 0; i < SL_LEN(texts); i++) {
        struct sl_text *t = (struct sl_text *)(void *)((char *)&copy->e + texts[i].offset);
        if (replaced && t == &copy->e.resources)
            memcpy(at, cut_json, sizeof cut_json - 1);
        else
            (void)clean(*text_of(e, i), texts[i].ceiling, at, &len[i]);
        *t = (struct sl_text){at, len[i]};
        at += len[i];
    }
    return copy;
}

void ledger_batch_free(struct ledger_batch *b) {
    while (!STAILQ_EMPTY(b)) {
        struct ledger_entry *e = STAILQ_FIRST(b);
        STAILQ_REMOVE_HEAD(b, link);
        sl_freep(&e);
    }
}

/* ---- columns ---- */

static struct ledger_value number_if(bool given, int64_t n) {
    return (struct ledger_value){.is = given ? LEDGER_NUMBER : LEDGER_NULL, .number = n};
}

static struct ledger_value text_if(struct sl_text t) {
    return (struct ledger_value){.is = t.n ? LEDGER_TEXT : LEDGER_NULL, .text = t};
}

void ledger_values(const struct sl_ledger_event *e, struct ledger_value ret[LEDGER_VALUES]) {
    const struct ledger_value none = {.is = LEDGER_NULL};
    const enum sl_ledger_kind k = e->kind;
    const bool bind = k == SL_LEDGER_POD_BIND;
    const bool over = k == SL_LEDGER_END || k == SL_LEDGER_CANCEL || k == SL_LEDGER_REJECT;
    const struct ledger_value values[] = {
        number_if(true, e->at),
        text_if(e->uid),
        text_if(sl_text_of(kinds[k].name)),
        number_if(true, e->number),
        text_if(e->ns),
        text_if(e->name),
        text_if(e->type),
        text_if(e->flux_job),
        number_if(e->given & SL_LEDGER_JOBID, e->jobid),
        text_if(e->queue),
        text_if(e->user),
        number_if(e->given & SL_LEDGER_PRIORITY, e->priority),
        number_if(e->given & SL_LEDGER_SIZE, e->size),
        text_if(e->group),
        number_if(e->given & SL_LEDGER_DURATION, e->duration),
        number_if(e->given & SL_LEDGER_ESTIMATE, e->estimate),
        text_if(e->nodes),
        text_if(e->resources),
        text_if(e->reason),
        text_if(e->message),
        /* what it says about the job */
        text_if(sl_text_of(kinds[k].state)),
        number_if(k == SL_LEDGER_SUBMIT, e->at),
        number_if(k == SL_LEDGER_START, e->at),
        number_if(over, e->at),
        k == SL_LEDGER_QUEUE ? none : number_if(kinds[k].state, k == SL_LEDGER_RESERVE),
        bind ? none : text_if(e->nodes),
        bind ? none : text_if(e->reason),
        bind ? none : text_if(e->message),
    };

    _Static_assert(SL_LEN(values) == LEDGER_VALUES, "one for each column");
    memcpy(ret, values, sizeof values);
}

struct ledger_entry *ledger_entry_of(const struct ledger_value v[LEDGER_COLUMNS]) {
    struct sl_ledger_event e = {
        .at = v[0].number,
        .uid = v[1].text,
        .number = v[3].number,
        .ns = v[4].text,
        .name = v[5].text,
        .type = v[6].text,
        .flux_job = v[7].text,
        .jobid = v[8].number,
        .queue = v[9].text,
        .user = v[10].text,
        .priority = v[11].number,
        .size = v[12].number,
        .group = v[13].text,
        .duration = v[14].number,
        .estimate = v[15].number,
        .nodes = v[16].text,
        .resources = v[17].text,
        .reason = v[18].text,
        .message = v[19].text,
    };
    static const struct {
        uint32_t bit, column;
    } given[] = {
        {SL_LEDGER_JOBID, 8},     {SL_LEDGER_PRIORITY, 11}, {SL_LEDGER_SIZE, 12},
        {SL_LEDGER_DURATION, 14}, {SL_LEDGER_ESTIMATE, 15},
    };

    for (size_t i = 0; i < SL_LEN(given); i++)
        if (v[given[i].column].is != LEDGER_NULL)
            e.given |= given[i].bit;
    return ledger_kind_parse(v[2].text, &e.kind) ? ledger_entry_new(&e) : NULL;
}

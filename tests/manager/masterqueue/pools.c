/* SPDX-License-Identifier: Apache-2.0 */
#include "mqworld.h"

const char *const mq_resources[RESOURCES] = {"cpu", "memory", "pods", "nvidia.com/gpu",
                                             "example.com/fpga"};

/* ---- patterns, as Python's re.search takes them ---- */

static bool all(const char *name) {
    (void)name;
    return true;
}
static bool begins_a(const char *name) {
    return name[0] == 'a';
}
static bool begins_b(const char *name) {
    return name[0] == 'b';
}
static bool begins_c(const char *name) {
    return name[0] == 'c';
}
static bool a_or_c(const char *name) {
    return name[0] == 'a' || name[0] == 'c';
}
static bool not_b(const char *name) {
    return name[0] != 'b';
}
static bool ends_in_even(const char *name) {
    return (name[strlen(name) - 1] - '0') % 2 == 0;
}

/* The first LETTERS are those of shared pairs. */
const struct mq_pattern mq_patterns[] = {
    {"^a-", begins_a},
    {"^b-.*", begins_b},
    {"\\\\Ac\\\\b", begins_c},
    {".*", all},
    {"", all},
    {"pool", all},
    {"^(?:a|c)-", a_or_c},
    {"^(?!b)", not_b},
    {"[02468]$", ends_in_even},
    {"(?i)^A-POOL", begins_a},
    {"^\\\\w+?-pool-\\\\d*", all},
};
const uint32_t mq_n_patterns = SL_LEN(mq_patterns);

bool group_reads(const struct world *w, const struct group *g, const struct pool *p) {
    if (g->local || g->pair != p->pair || (g->letter < LETTERS && g->letter != p->letter))
        return false;
    if (g->pattern != MQ_LISTED)
        return mq_patterns[g->pattern].matches(p->name);
    for (uint32_t i = 0; i < g->n_listed; i++)
        if (&w->pools[g->listed[i]] == p)
            return true;
    return false;
}

void borrower_name(uint32_t m, uint32_t b, char out[32]) {
    (void)snprintf(out, 32, "borrower-%u-%u", m, b);
}

void flavor_name(const struct world *w, uint32_t m, const struct group *g, const struct pool *p,
                 char out[96]) {
    (void)w;
    if (g->local)
        (void)snprintf(out, 96, "local-%u", g->number);
    else
        (void)snprintf(out, 96, "mq-%u-group-%u-%s", m, g->number, p->name);
}

/* ---- pools ---- */

static void put_payload(const struct pool *p, struct sl_buf *b) {
    sl_buf_puts(b, p->flat ? "{" : "{\"quotas\":{");
    sl_buf_printf(b,
                  "\"cpu\":\"%lldm\",\"memory\":\"%lldMi\",\"pods\":%lld,\"nvidia.com/gpu\":%lld",
                  (long long)p->has[CPU] * 1000, (long long)p->has[MEMORY] * 1024,
                  (long long)p->has[PODS], (long long)p->has[GPU]);
    if (!p->flat && p->has[FPGA] >= 0)
        sl_buf_printf(b, ",\"example.com/fpga\":\"%lld\"", (long long)p->has[FPGA]);
    if (!p->flat)
        sl_buf_puts(b, "}");
    /* Every third has labels that are none, and taints. */
    if (p->version % 3 == 1)
        sl_buf_printf(b, ",\"labels\":[\"site=%s\",\"no label\"],\"taints\":null", p->name);
    if (p->version % 3 == 2)
        sl_buf_puts(b, ",\"taints\":[\"slurm=true:NoSchedule\",\"odd\"],\"labels\":[]");
    sl_buf_puts(b, "}");
}

void pool_publish(struct world *w, struct pool *p) {
    char subject[96];
    struct sl_buf b;
    size_t len;

    (void)snprintf(subject, sizeof subject, "site.%u.%s", p->pair, p->name);
    sl_buf_init(&b, 4096);
    put_payload(p, &b);
    if (p->poison) {
        const char *poison = fakenats_poison(w->nats, p->poison - 1, &len);
        fakenats_publish(w->nats, w->servers[p->pair % CLUSTERS], subject, poison, len);
    } else {
        fakenats_publish(w->nats, w->servers[p->pair % CLUSTERS], subject, sl_buf_str(&b), b.len);
    }
    sl_buf_done(&b);
}

static void pool_turn(void *ctx, uint64_t arg) {
    struct world *w = ctx;
    struct pool *p = &w->pools[arg & 0xffff];

    if (!p->publishes || p->loop != arg >> 16)
        return;
    pool_publish(w, p);
    fakeapi_at(w->api, fakeapi_now(w->api) + p->period, pool_turn, w, arg);
}

void pool_start(struct world *w, struct pool *p) {
    uint64_t i = (uint64_t)(p - w->pools);

    p->publishes = true;
    p->loop++;
    fakeapi_at(w->api, fakeapi_now(w->api) + sl_prng_range(&w->prng, 0, p->period), pool_turn, w,
               (uint64_t)p->loop << 16 | i);
}

static void new_pool(struct world *w, uint32_t i) {
    struct pool *p = &w->pools[i];
    uint32_t m = world_below(w, w->n_mqs), g = world_below(w, MAX_GROUPS);
    uint32_t slot = w->mqs[m].slots[g];

    *p = (struct pool){.letter = world_below(w, LETTERS),
                       .pair = slot < EXCLUSIVE ? slot : EXCLUSIVE + slot % LETTERS,
                       .period = sl_prng_range(&w->prng, 3 * SL_SEC, 9 * SL_SEC),
                       .flat = world_odds(w, 8)};
    (void)snprintf(p->name, sizeof p->name, "%c-pool-%u", 'a' + (int)p->letter, i);
    for (uint32_t r = 0; r < COMMON; r++)
        p->has[r] = (int64_t)world_below(w, 12);
    p->has[FPGA] = !p->flat && world_odds(w, 10) ? (int64_t)world_below(w, 12) : -1;
    if (!world_odds(w, 6))
        pool_start(w, p);
}

/* ---- MasterQueues ---- */

static void put_amount(struct sl_buf *b, uint32_t r, int64_t n) {
    static const char *const forms[COMMON] = {"\"%lld\"", "\"%lldGi\"", "%lld", "%lld"};
    static const char *const defaults[COMMON] = {"\"1M\"", "\"1Ei\"", "100000", "10000"};

    sl_buf_printf(b, "\"%s\":", mq_resources[r]);
    if (n < 0) {
        sl_buf_puts(b, defaults[r]);
        return;
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    sl_buf_printf(b, forms[r], (long long)n);
#pragma GCC diagnostic pop
}

static void put_lends(uint32_t m, const struct group *g, struct sl_buf *b) {
    char name[32];

    sl_buf_puts(b, ",\"canLendTo\":[");
    for (uint32_t i = 0; i < g->n_lends; i++) {
        const char *comma = "";
        borrower_name(m, g->lends[i].borrower, name);
        sl_buf_printf(b, "%s{\"queue\":\"%s\",\"lendingLimit\":{", i ? "," : "", name);
        for (uint32_t r = 0; r < COMMON; r++) {
            if (g->lends[i].limit[r] < 0)
                continue;
            sl_buf_puts(b, comma);
            put_amount(b, r, g->lends[i].limit[r]);
            comma = ",";
        }
        sl_buf_puts(b, "}}");
    }
    sl_buf_puts(b, "]");
}

static void put_nats(const struct world *w, const struct group *g, struct sl_buf *b) {
    uint32_t c = g->pair % CLUSTERS;

    sl_buf_printf(b,
                  ",\"natsFlavor\":{\"natsConnector\":\"nats://user:secret-%u@nats-%u:4222\","
                  "\"natsSubject\":\"site.%u\",\"virtualNode\":\"interlink\",\"poolTimeout\":%lld",
                  c, c, g->pair, (long long)(g->timeout / SL_SEC));
    if (g->pattern != MQ_LISTED) {
        sl_buf_printf(b, ",\"poolRegExp\":\"%s\"}", mq_patterns[g->pattern].text);
        return;
    }
    sl_buf_puts(b, ",\"pools\":[\"nobody\"");
    for (uint32_t i = 0; i < g->n_listed; i++)
        sl_buf_printf(b, ",\"%s\"", w->pools[g->listed[i]].name);
    sl_buf_puts(b, "]}");
}

static void put_group(const struct world *w, uint32_t m, const struct group *g, struct sl_buf *b) {
    sl_buf_printf(b, "{\"name\":\"%s-%u\"", g->local ? "local" : "group", g->number);
    if (g->local)
        sl_buf_puts(b, ",\"localFlavor\":{}");
    else
        put_nats(w, g, b);
    if (g->has_nominal) {
        sl_buf_puts(b, ",\"nominalQuota\":{");
        for (uint32_t r = 0; r < COMMON; r++) {
            sl_buf_puts(b, r ? "," : "");
            put_amount(b, r, g->nominal[r]);
        }
        sl_buf_puts(b, "}");
    }
    put_lends(m, g, b);
    sl_buf_puts(b, "}");
}

/* As the API server would have it: with the schema's defaults. */
void mq_write(struct world *w, uint32_t m, bool create) {
    const struct mq_spec *s = mq_now(&w->mqs[m]);
    char path[96] = VK "/masterqueues";
    struct sl_buf b;

    sl_buf_init(&b, (size_t)1 << 20);
    sl_buf_printf(&b,
                  "{\"apiVersion\":\"vk.io/v1\",\"kind\":\"MasterQueue\",\"metadata\":{\"name\":"
                  "\"mq-%u\"},\"spec\":{\"template\":{\"cohort\":\"cohort-%u\",\"stopPolicy\":"
                  "\"%s\",\"queueingStrategy\":\"BestEffortFIFO\",\"namespaceSelector\":{}},"
                  "\"flavors\":[",
                  m, m, s->stop);
    for (uint32_t i = 0; i < s->n_groups; i++) {
        sl_buf_puts(&b, i ? "," : "");
        put_group(w, m, &s->groups[i], &b);
    }
    sl_buf_puts(&b, "]}}");
    if (!create)
        (void)snprintf(path, sizeof path, VK "/masterqueues/mq-%u", m);
    world_tell(w, "%s %s", create ? "create" : "edit", sl_buf_str(&b));
    int status = fakeapi_do(w->api, create ? SL_POST : SL_PATCH, path,
                            create ? SL_JSON : SL_MERGE_PATCH, sl_buf_str(&b), NULL);
    if (status / 100 != 2)
        world_fail(w, "MasterQueue mq-%u: %d", m, status);
    sl_buf_done(&b);
}

struct mq_spec *mq_edit(struct world *w, uint32_t m) {
    struct mq *q = &w->mqs[m];
    struct mq_spec *s = &q->specs[q->n_specs % SPECS];

    if (q->n_specs)
        *s = *mq_now(q);
    q->n_specs++;
    s->at = fakeapi_now(w->api);
    return s;
}

void mq_delete(struct world *w, uint32_t m) {
    struct mq_spec *s = mq_edit(w, m);
    char path[96];

    s->gone = true;
    s->n_groups = 0;
    (void)snprintf(path, sizeof path, VK "/masterqueues/mq-%u", m);
    world_tell(w, "delete mq-%u", m);
    (void)world_send(w, SL_DELETE, path, "{\"propagationPolicy\":\"Background\"}");
}

static void random_lends(struct world *w, struct group *g) {
    uint32_t first = world_below(w, BORROWERS);

    g->n_lends = world_below(w, MAX_LENDS + 1);
    for (uint32_t i = 0; i < g->n_lends; i++) {
        g->lends[i].borrower = (first + i) % BORROWERS;
        for (uint32_t r = 0; r < COMMON; r++)
            g->lends[i].limit[r] = world_odds(w, 2) ? (int64_t)world_below(w, 20) : -1;
    }
}

static void random_list(struct world *w, struct group *g) {
    g->pattern = MQ_LISTED;
    g->n_listed = 0;
    for (uint32_t i = 0, at = world_below(w, w->n_pools); i < w->n_pools; i++) {
        uint32_t p = (at + i) % w->n_pools;
        if (w->pools[p].pair == g->pair && !world_odds(w, 4) &&
            (g->letter == LETTERS || g->letter == w->pools[p].letter))
            g->listed[g->n_listed++] = p;
    }
}

/* The i-th group of a MasterQueue, anew. */
void mq_random_group(struct world *w, uint32_t m, uint32_t i, struct group *g) {
    uint32_t slot = w->mqs[m].slots[i];

    *g = (struct group){.number = slot, .has_nominal = world_odds(w, 2)};
    for (uint32_t r = 0; r < COMMON; r++)
        g->nominal[r] = world_odds(w, 2) ? (int64_t)world_below(w, 10) : -1;
    random_lends(w, g);
    if (m < LOCALS && world_odds(w, 5)) { /* each local flavor is one MasterQueue's */
        g->local = true;
        g->number = m;
        return;
    }
    g->pair = slot < EXCLUSIVE ? slot : EXCLUSIVE + slot % LETTERS;
    g->letter = slot < EXCLUSIVE ? LETTERS : slot / LETTERS % LETTERS;
    g->timeout = sl_prng_range(&w->prng, 30, 60) * SL_SEC;
    g->pattern = g->letter < LETTERS ? g->letter : world_below(w, mq_n_patterns);
    if (world_odds(w, 3))
        random_list(w, g);
}

void local_create(struct world *w, uint32_t i) {
    (void)world_send(w, SL_POST, KUEUE "/resourceflavors",
                     "{\"metadata\":{\"name\":\"local-%u\"},\"spec\":{}}", i);
    w->locals[i] = true;
    w->local_gone[i] = fakeapi_now(w->api);
}

static void random_groups(struct world *w, uint32_t m, struct mq_spec *s) {
    bool has_local = false;

    s->n_groups = 0;
    for (uint32_t i = 0, n = 1 + world_below(w, MAX_GROUPS); i < n; i++) {
        struct group *g = &s->groups[s->n_groups];
        mq_random_group(w, m, i, g);
        if (g->local && has_local)
            continue;
        has_local |= g->local;
        s->n_groups++;
    }
}

void pools_begin(struct world *w) {
    uint32_t slots[MAX_MQS * MAX_GROUPS];

    /* Half of the groups have a pair alone, the others share. */
    for (uint32_t i = 0; i < SL_LEN(slots); i++)
        slots[i] = world_odds(w, 2) ? i : EXCLUSIVE + i;
    w->n_mqs = 1 + world_below(w, MAX_MQS);
    w->n_pools = 5 + world_below(w, MAX_POOLS - 5);
    if (world_odds(w, 2)) /* most are small */
        w->n_pools = 5 + w->n_pools / 5;
    for (uint32_t m = 0; m < w->n_mqs; m++)
        memcpy(w->mqs[m].slots, slots + m * MAX_GROUPS, sizeof w->mqs[m].slots);
    for (uint32_t i = 0; i < w->n_pools; i++)
        new_pool(w, i);
    for (uint32_t i = 0; i < LOCALS; i++)
        local_create(w, i);
    for (uint32_t m = 0; m < w->n_mqs; m++) {
        struct mq_spec *s = mq_edit(w, m);
        s->stop = "None";
        random_groups(w, m, s);
        mq_write(w, m, true);
    }
}

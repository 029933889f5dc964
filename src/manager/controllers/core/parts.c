/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/controllers/core/parts.h"

#include <string.h>

#include "core/base/mem.h"
#include "lib/log/log.h"

#define MAX_WORDS 256u

struct sl_strs sl_manager_words_parse(const char *list, struct sl_arena *a) {
    const char **v = sl_arena_alloc0(a, MAX_WORDS, sizeof *v);
    uint32_t n = 0;
    while (list && *list && n < MAX_WORDS) {
        size_t len = strcspn(list, ",");
        if (len)
            v[n++] = sl_arena_strndup(a, list, len);
        list += len + (list[len] == ',');
    }
    if (list && *list)
        sl_log(SL_LOG_WARN, "list on the command line too long, remainder ignored",
               SL_I("limit", MAX_WORDS), SL_S("ignored", list));
    return (struct sl_strs){v, n};
}

/* Parts that are known by name and not built into this version. */
static bool is_later(const char *word) {
    static const char *const words[] = {"multikueue", "multikueue-dispatcher",
                                        "concurrentadmission", "failurerecovery"};
    for (size_t i = 0; i < SL_LEN(words); i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

struct sl_manager_parts sl_manager_parts_parse(const char *list, const struct sl_settings *s) {
    struct sl_manager_parts p = {0};
    if (!list) {
        p = (struct sl_manager_parts){.core = true,
                                      .scheduler = true,
                                      .tas = true,
                                      .provisioning = true,
                                      .elasticjobs = true,
                                      .jobkinds = true,
                                      .masterqueue = true,
                                      .minicluster = true,
                                      .fluxqueue = true};
        memcpy(p.framework, s->framework, sizeof p.framework);
        return p;
    }
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA((size_t)1 << 20);
    struct sl_strs w = sl_manager_words_parse(list, &a);
    const struct {
        const char *word;
        bool *part;
    } table[] = {{"core", &p.core},
                 {"scheduler", &p.scheduler},
                 {"tas", &p.tas},
                 {"provisioning", &p.provisioning},
                 {"elasticjobs", &p.elasticjobs},
                 {"jobkinds", &p.jobkinds},
                 {"masterqueue", &p.masterqueue},
                 {"minicluster", &p.minicluster},
                 {"fluxqueue", &p.fluxqueue}};
    for (uint32_t i = 0; i < w.n; i++) {
        size_t k = 0;
        while (k < SL_LEN(table) && strcmp(table[k].word, w.v[i]) != 0)
            k++;
        enum sl_framework f = sl_framework_find(w.v[i]);
        if (k < SL_LEN(table))
            *table[k].part = true;
        else if (f != SL_FW_COUNT)
            p.framework[f] = true;
        else if (!is_later(w.v[i]))
            sl_log(SL_LOG_WARN, "unknown controller in --controllers", SL_S("controller", w.v[i]));
    }
    return p;
}

void sl_manager_webhooks_parse(const char *list, const struct sl_settings *s,
                               bool ret[SL_FW_COUNT]) {
    memcpy(ret, s->framework, SL_FW_COUNT * sizeof *ret);
    if (!list)
        return;
    memset(ret, 0, SL_FW_COUNT * sizeof *ret);
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA((size_t)1 << 20);
    struct sl_strs w = sl_manager_words_parse(list, &a);
    for (uint32_t i = 0; i < w.n; i++) {
        enum sl_framework f = sl_framework_find(w.v[i]);
        if (f != SL_FW_COUNT)
            ret[f] = true;
        else
            sl_log(SL_LOG_WARN, "unknown integration in --webhooks", SL_S("integration", w.v[i]));
    }
}

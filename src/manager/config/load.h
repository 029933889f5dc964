/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the readers of the Configuration's parts. Private to src/manager/config.
 *
 * Each takes the fields of the whole file ('top') and fills its part of the settings. Nothing here
 * fails: a value that is wrong becomes a warning, and the field has its default.
 */
#ifndef SL_MANAGER_CONFIG_LOAD_H
#define SL_MANAGER_CONFIG_LOAD_H

#include "lib/doc/read.h"
#include "manager/config/config.h"

#define SL_CONFIG_MAX_ITEMS 1024 /* of any list or map */

/* The fields of the map under key. */
static inline void sl_section(struct sl_fields *f, struct sl_fields *in, const char *key) {
    sl_fields_enter(f, in->rd, sl_field(in, key), key, key);
}

/* "list[3]" or "list[3].name", for messages. */
struct sl_item_name {
    char s[64];
};
struct sl_item_name sl_item(const char *list, uint32_t i, const char *field);

/* A value that is wrong, and what happens instead. */
void sl_instead(struct sl_fields *f, uint32_t line, const char *key, const char *instead,
                const char *fmt, ...) _printf_(5, 6);
/* A string that must satisfy 'good', or the default with Kueue's message. */
const char *sl_checked(struct sl_fields *f, const char *key, const char *otherwise,
                       bool (*good)(const char *), const char *words);
/* A duration that is not negative. */
sl_span sl_span_from_0(struct sl_fields *f, const char *key, sl_span otherwise);
/* A selector, or the default if anything in it is wrong: half a selector chooses too much. */
struct sl_selector sl_selector_or(struct sl_fields *f, const char *key,
                                  struct sl_selector otherwise);
/* "Kind.version.group". */
bool sl_is_kind_arg(const char *s);

/* ---- manager.c: where it listens, and how it is elected ---- */
void sl_config_manager(struct sl_fields *top, struct sl_settings *s);
/* ---- jobs.c: what it manages ---- */
void sl_config_jobs(struct sl_fields *top, struct sl_settings *s);
/* ---- extras.c: what is checked and hardly used yet ---- */
void sl_config_extras(struct sl_fields *top, struct sl_settings *s);

#endif

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
static inline void config_section(struct sl_doc_fields *f, struct sl_doc_fields *in,
                                  const char *key) {
    sl_doc_fields_enter(f, in->rd, sl_doc_field(in, key), key, key);
}

/* "list[3]" or "list[3].name", for messages. */
struct config_item_name {
    char s[64];
};
struct config_item_name config_item_name(const char *list, uint32_t i, const char *field);

/* A value that is wrong, and what happens instead. */
void config_warn_default(struct sl_doc_fields *f, uint32_t line, const char *key,
                         const char *instead, const char *fmt, ...) _printf_(5, 6);
/* A string that must satisfy 'good', or the default with Kueue's message. */
const char *config_checked_str(struct sl_doc_fields *f, const char *key, const char *fallback,
                               bool (*good)(const char *), const char *words);
/* A duration that is not negative. */
sl_span config_span_or(struct sl_doc_fields *f, const char *key, sl_span fallback);
/* A selector, or the default if anything in it is wrong: half a selector chooses too much. */
struct sl_selector config_selector_or(struct sl_doc_fields *f, const char *key,
                                      struct sl_selector fallback);
/* "Kind.version.group". */
bool config_is_kind_arg(const char *s);

/* ---- manager.c: where it listens, and how it is elected ---- */
void config_manager(struct sl_doc_fields *top, struct sl_settings *s);
/* ---- jobs.c: what it manages ---- */
void config_jobs(struct sl_doc_fields *top, struct sl_settings *s);
/* ---- fluxqueue.c: the queue on the resource graph ---- */
void config_fluxqueue(struct sl_doc_fields *top, struct sl_settings *s);
/* ---- extras.c: what is checked and hardly used yet ---- */
void config_extras(struct sl_doc_fields *top, struct sl_settings *s);

#endif

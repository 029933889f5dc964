/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short names of src/json's accessors, for the folders that are not converted yet.
 */
#ifndef SL_KUBE_JSON_H
#define SL_KUBE_JSON_H

#include "base/stamp.h"
#include "json/json.h"

#define jat sl_json_at
#define jstr sl_json_str
#define jint sl_json_int
#define jbool sl_json_bool
#define jtime sl_json_time
#define jlabel sl_json_label
#define jannotation sl_json_annotation
#define jhash sl_json_hash
#define jdigest sl_json_digest
#define jput sl_json_put

/* What leads to it, then the text as a JSON string. */
static inline void jput_text(struct sl_buf *b, const char *lead, const char *text) {
    sl_buf_puts(b, lead);
    sl_buf_json(b, text);
}
static inline void jput_time(struct sl_buf *b, sl_time t) {
    char text[SL_STAMP_TEXT];
    sl_buf_json(b, sl_stamp(t, text));
}
static inline void jput_micro_time(struct sl_buf *b, sl_time t) {
    char text[SL_STAMP_TEXT];
    sl_buf_json(b, sl_stamp_micro(t, text));
}

#endif

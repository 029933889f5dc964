/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines on standard error: a constant message and typed fields; text on a terminal, JSON lines
 * elsewhere. An error is logged once, where it is handled. No secret, token or object body is ever
 * logged. docs/logs.md lists the messages that are worth an alert.
 *
 *     sl_log(SL_LOG_WARN, "patch conflict", SL_S("workload", name), SL_I("attempt", n));
 *
 * The threshold is the only global state. Any thread may log; a line is one write(2), so lines do
 * not mix. A value longer than SL_LOG_VALUE bytes is truncated and ends in "...", fields that would
 * make the line longer than SL_LOG_LINE bytes are omitted and the line has the field "cut".
 */
#ifndef SL_LIB_LOG_LOG_H
#define SL_LIB_LOG_LOG_H

#include "core/base/macros.h"

#define SL_LOG_VALUE ((size_t)2048)
#define SL_LOG_LINE ((size_t)16384)

enum sl_log_level { SL_LOG_ERROR, SL_LOG_WARN, SL_LOG_INFO, SL_LOG_DEBUG };

struct sl_log_field {
    const char *key;
    const char *text; /* NULL: the number counts */
    int64_t number;
};

/* NULL is logged as "". */
static inline struct sl_log_field sl_log_text(const char *key, const char *text) {
    return (struct sl_log_field){.key = key, .text = text ? text : ""};
}
static inline struct sl_log_field sl_log_number(const char *key, int64_t number) {
    return (struct sl_log_field){.key = key, .number = number};
}
#define SL_S(k, v) sl_log_text((k), (v))
#define SL_I(k, v) sl_log_number((k), (int64_t)(v))

/* The fields are evaluated only if the line is written. */
#define sl_log(level, message, ...)                                                                \
    do {                                                                                           \
        if ((level) <= sl_log_threshold())                                                         \
            sl_log_line((level), (message),                                                        \
                        (const struct sl_log_field[]){{0}, ##__VA_ARGS__, {0}} + 1);               \
    } while (0)

enum sl_log_level sl_log_threshold(void);
void sl_log_set(enum sl_log_level threshold); /* SL_LOG_INFO at first */
/* Whatever the threshold. Fields end with a key of NULL. */
void sl_log_line(enum sl_log_level level, const char *message, const struct sl_log_field *fields);
/* From now on the unexpected truncation of a buffer is logged (core/base/buf.h). */
void sl_log_cuts(void);

#endif

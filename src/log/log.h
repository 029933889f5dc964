/*
 * Log lines on standard error: a constant message and typed fields; text on a terminal, JSON lines elsewhere. An
 * error is logged once, where it stops travelling. No secret, token or object body is ever logged.
 *
 *     sl_log(SL_LOG_WARN, "patch conflict", SL_S("workload", name), SL_I("attempt", n));
 */
#ifndef SL_LOG_LOG_H
#define SL_LOG_LOG_H

#include "base/macros.h"

enum sl_log_level { SL_LOG_ERROR, SL_LOG_WARN, SL_LOG_INFO, SL_LOG_DEBUG };

struct sl_log_field {
    const char *key;
    const char *text; /* NULL: the number counts */
    int64_t number;
};
#define SL_S(k, v) ((struct sl_log_field){(k), (v) ? (v) : "", 0})
#define SL_I(k, v) ((struct sl_log_field){(k), NULL, (int64_t)(v)})

#define sl_log(level, message, ...)                                                                \
    do {                                                                                           \
        if ((level) <= sl_log_threshold())                                                         \
            sl_log_line((level), (message),                                                        \
                        (const struct sl_log_field[]){{0}, ##__VA_ARGS__, {0}} + 1);               \
    } while (0)

enum sl_log_level sl_log_threshold(void);
void sl_log_set(enum sl_log_level threshold); /* SL_LOG_INFO at first */
/* Fields end with a key of NULL. */
void sl_log_line(enum sl_log_level level, const char *message, const struct sl_log_field *fields);

#endif

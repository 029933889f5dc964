/* SPDX-License-Identifier: Apache-2.0 */
/* What servers say of errors, in the words of operators. */
#include <strings.h>

#include "core/base/fmt.h"
#include "lib/nats/client_int.h"

static const struct {
    const char *error; /* how it begins */
    const char *reason;
} reasons[] = {
    {"Authorization Violation", "authorization failed: the server refuses these credentials"},
    {"Authentication Timeout", "authorization failed: it took the server too long"},
    {"User Authentication Expired", "authorization failed: the credentials have expired"},
    {"User Authentication Revoked", "authorization failed: the credentials were revoked"},
    {"Account Authentication Expired", "authorization failed: the account has expired"},
    {"Secure Connection - TLS Required", "the server demands TLS"},
    {"Stale Connection", "the server missed answers to its pings"},
    {"Slow Consumer", "the server dropped the connection: messages come faster than they are read"},
};

static bool begins(struct sl_text t, const char *with) {
    size_t n = strlen(with);

    return t.n >= n && strncasecmp(t.s, with, n) == 0;
}

bool natsc_is_refusal(struct sl_text text) {
    return begins(text, "Permissions Violation") || begins(text, "Invalid Subject") ||
           begins(text, "Maximum Subscriptions Exceeded");
}

void natsc_reason(struct sl_text text, char out[NATSC_TEXT]) {
    size_t n = 0;

    if (text.n == 0)
        text = SL_TEXT("the server reports an error and does not say which");
    for (size_t i = 0; i < SL_LEN(reasons); i++) {
        if (!begins(text, reasons[i].error))
            continue;
        sl_fmt(out, NATSC_TEXT, "%s", reasons[i].reason);
        return;
    }
    for (; n < text.n && n < NATSC_TEXT - 1; n++) {
        unsigned char c = (unsigned char)text.s[n];
        out[n] = c < ' ' || c >= 0x7f ? '?' : text.s[n];
    }
    out[n] = '\0';
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ledger/schema.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "lib/ledger/ceilings.h"

#define MAX_SQL 65536u /* bytes of a file, expanded: texts of the program */

/* {name} or {name argument}; @ is the argument. The order of columns is that of ledger_values(). */
static const struct {
    const char *name, *sqlite, *postgres; /* postgres NULL: the same */
} macros[] = {
    {"id", "INTEGER PRIMARY KEY", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"},
    {"n", "?@", "$@::bigint"},
    {"t", "?@", "$@::text"},
    {"stamp", "strftime('%Y-%m-%dT%H:%M:%fZ', @ / 1000000000.0, 'unixepoch')",
     "to_timestamp(@ / 1000000000.0)"},
    {"now", "CAST((julianday('now') - 2440587.5) * 86400000000000.0 AS BIGINT)",
     "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000000 AS BIGINT)"},
    {"view", "DROP VIEW IF EXISTS @; CREATE VIEW @ AS", "CREATE OR REPLACE VIEW @ AS"},
    {"most", "max(@)", "greatest(@)"},
    {"list", "group_concat(DISTINCT @)", "string_agg(DISTINCT @, ',')"},
    {"from", "WHERE true", "FROM e"},
    {"columns",
     "time_ns, uid, kind, number, namespace, name, type, flux_job_name, jobid, queue, username, "
     "priority, size, group_name, duration_ns, estimated_start_ns, nodes, resources, reason, "
     "message",
     NULL},
    {"types",
     "time_ns BIGINT NOT NULL, uid TEXT NOT NULL, kind TEXT NOT NULL, number BIGINT NOT NULL, "
     "namespace TEXT, name TEXT, type TEXT, flux_job_name TEXT, jobid BIGINT, queue TEXT, "
     "username TEXT, priority BIGINT, size BIGINT, group_name TEXT, duration_ns BIGINT, "
     "estimated_start_ns BIGINT, nodes TEXT, resources TEXT, reason TEXT, message TEXT",
     NULL},
    {"values",
     "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20",
     "$1::bigint, $2::text, $3::text, $4::bigint, $5::text, $6::text, $7::text, $8::text, "
     "$9::bigint, $10::text, $11::text, $12::bigint, $13::bigint, $14::text, $15::bigint, "
     "$16::bigint, $17::text, $18::text, $19::text, $20::text"},
    /* Objects show whole seconds: what is reported from them again may have a time before that of
     * an event of the same second. Of these the one that came last is the newer one. */
    /* The newer one counts, if it says anything. */
    {"keep",
     "@ = CASE WHEN excluded.last_ns / 1000000000 >= j.last_ns / 1000000000 "
     "THEN coalesce(excluded.@, j.@) ELSE coalesce(j.@, excluded.@) END",
     NULL},
    {"newer",
     "excluded.state IS NOT NULL AND excluded.state_ns / 1000000000 >= "
     "coalesce(j.state_ns, excluded.state_ns) / 1000000000",
     NULL},
    {"old",
     "SELECT uid FROM job_state WHERE ended_ns < ?1 ORDER BY ended_ns, uid "
     "LIMIT " SL_STRING(SL_LEDGER_MAX_EXPIRED),
     "SELECT uid FROM job_state WHERE ended_ns < $1::bigint ORDER BY ended_ns, uid "
     "LIMIT " SL_STRING(SL_LEDGER_MAX_EXPIRED)},
};

static const char *meaning(enum ledger_dialect d, struct sl_text name) {
    for (size_t i = 0; i < SL_LEN(macros); i++)
        if (sl_text_is(name, macros[i].name))
            return d == LEDGER_POSTGRES && macros[i].postgres ? macros[i].postgres
                                                              : macros[i].sqlite;
    sl_assert_failed("a name in braces is in the table", __FILE__, __LINE__);
}

static void expand(struct sl_buf *out, enum ledger_dialect d, struct sl_text inside) {
    const char *space = memchr(inside.s, ' ', inside.n);
    size_t n = space ? (size_t)(space - inside.s) : inside.n;
    struct sl_text argument = space ? (struct sl_text){space + 1, inside.n - n - 1} : SL_TEXT("");

    for (const char *p = meaning(d, (struct sl_text){inside.s, n}); *p; p++) {
        if (*p == '@')
            sl_buf_text(out, argument);
        else
            sl_buf_putc(out, *p);
    }
}

char *ledger_sql(enum ledger_dialect d, const char *template) {
    struct sl_buf out = SL_BUF(MAX_SQL);

    for (const char *p = template; *p;) {
        size_t plain = strcspn(p, "{");
        sl_buf_add(&out, p, plain);
        p += plain;
        if (!*p)
            break;
        size_t inside = strcspn(p + 1, "}");
        expand(&out, d, (struct sl_text){p + 1, inside});
        p += inside + 2;
    }
    sl_assert(!sl_buf_full(&out));
    return out.s;
}

const char *ledger_sql_file(const char *name) {
    for (size_t i = 0; i < ledger_sql_files_n; i++)
        if (strcmp(ledger_sql_files[i].name, name) == 0)
            return ledger_sql_files[i].text;
    sl_assert_failed("a file of sql/", __FILE__, __LINE__);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entrypoints. What a spec says stands before a script as assignments, quoted, and its pieces of
 * script as functions; what follows is the same for all clusters (scripts/). So no text of a spec
 * is part of a line of ours.
 */
#include <string.h>

#include "manager/minicluster/mc_int.h"
#include "manager/minicluster/scripts.h"

static void put_file(struct sl_buf *b, const char *name) {
    for (size_t i = 0; i < mc_scripts_n; i++)
        if (strcmp(mc_scripts[i].name, name) == 0)
            sl_buf_add(b, mc_scripts[i].text, mc_scripts[i].len);
}

static void put_quoted(struct sl_buf *b, const char *s) {
    sl_buf_putc(b, '\'');
    for (; *s; s++)
        if (*s == '\'')
            sl_buf_puts(b, "'\\''");
        else
            sl_buf_putc(b, *s);
    sl_buf_putc(b, '\'');
}

static void put_text(struct sl_buf *b, const char *name, const char *value) {
    sl_buf_printf(b, "%s=", name);
    put_quoted(b, value);
    sl_buf_putc(b, '\n');
}

static void put_number(struct sl_buf *b, const char *name, int64_t value) {
    sl_buf_printf(b, "%s=%lld\n", name, (long long)value);
}

/* "yes", or "": scripts ask whether there is anything. */
static void put_flag(struct sl_buf *b, const char *name, bool on) {
    put_text(b, name, on ? "yes" : "");
}

static void put_piece(struct sl_buf *b, const char *name, const char *script) {
    sl_buf_printf(b, "%s() {\n%s\n:\n}\n", name, script);
}

/* ---- assignments ---- */

struct assignment {
    const char *name, *path, *fallback;
};

static void put_texts(struct sl_buf *b, yyjson_val *of, const struct assignment *v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const char *text = sl_json_str(of, v[i].path);
        put_text(b, v[i].name, *text ? text : v[i].fallback);
    }
}

static void put_flags(struct sl_buf *b, yyjson_val *of, const struct assignment *v, size_t n) {
    for (size_t i = 0; i < n; i++)
        put_flag(b, v[i].name, sl_json_bool(of, v[i].path, false));
}

static void put_pieces(struct sl_buf *b, yyjson_val *of, const struct assignment *v, size_t n) {
    for (size_t i = 0; i < n; i++)
        put_piece(b, v[i].name, sl_json_str(of, v[i].path));
}

#define PUT(how, of, table) put_##how(b, of, table, SL_LEN(table))

static void put_buffer(struct sl_buf *b, const char *name, const struct mc_view *v,
                       void (*put)(struct sl_buf *b, const struct mc_view *v)) {
    struct sl_buf text = SL_BUF(MC_MAX_SCRIPT);
    put(&text, v);
    put_text(b, name, sl_buf_str(&text));
    if (sl_buf_full(&text))
        sl_buf_fail(b);
    sl_buf_done(&text);
}

/* What all scripts of a cluster begin with. */
static void put_cluster(struct sl_buf *b, const struct mc_view *v) {
    static const struct assignment flags[] = {
        {"mc_quiet", "logging.quiet", NULL},
        {"mc_strict", "logging.strict", NULL},
        {"mc_debug", "logging.debug", NULL},
        {"mc_timed", "logging.timed", NULL},
        {"mc_zeromq", "logging.zeromq", NULL},
        {"mc_interactive", "interactive", NULL},
        {"mc_complete_workers", "flux.completeWorkers", NULL},
        {"mc_no_wait_socket", "flux.noWaitSocket", NULL},
    };
    static const struct assignment texts[] = {
        {"mc_connect_timeout", "flux.connectTimeout", ""},
        {"mc_option_flags", "flux.optionFlags", ""},
        {"mc_submit_command", "flux.submitCommand", ""},
        {"mc_wrap", "flux.wrap", ""},
        {"mc_archive", "archive.path", ""},
    };
    int32_t quorum = mc_quorum(v);
    sl_buf_puts(b, "#!/bin/bash\n");
    sl_buf_printf(b, "mc_main_host=%s-0\n", v->name);
    put_number(b, "mc_size", v->size);
    put_number(b, "mc_tasks", sl_json_int32(v->spec, "tasks", 1));
    put_number(b, "mc_log_level",
               sl_json_bool(v->spec, "logging.quiet", false)
                   ? 0
                   : sl_json_int32(v->spec, "flux.logLevel", 6));
    PUT(flags, v->spec, flags);
    PUT(texts, v->spec, texts);
    sl_buf_printf(b, quorum ? "mc_quorum=%d\n" : "mc_quorum=''\n", quorum);
    put_buffer(b, "mc_hosts", v, mc_hosts_put);
}

static void put_view(struct sl_buf *b, const struct mc_view *v) {
    put_text(b, "mc_view", v->view_path);
    put_flag(b, "mc_view_disabled", v->view_disabled);
    put_text(b, "mc_python_path", mc_text(v, "flux.container.pythonPath", ""));
}

static void put_container(struct sl_buf *b, yyjson_val *container) {
    static const struct assignment flags[] = {
        {"mc_launcher", "launcher", NULL},
        {"mc_batch", "batch", NULL},
        {"mc_batch_raw", "batchRaw", NULL},
    };
    static const struct assignment texts[] = {
        {"mc_command", "command", ""},
        {"mc_logs", "logs", ""},
        {"mc_prefix", "commands.prefix", ""},
        {"mc_script", "commands.script", ""},
    };
    static const struct assignment pieces[] = {
        {"mc_init", "commands.init", NULL},
        {"mc_pre", "commands.pre", NULL},
        {"mc_broker_pre", "commands.brokerPre", NULL},
        {"mc_worker_pre", "commands.workerPre", NULL},
        {"mc_service_pre", "commands.servicePre", NULL},
        {"mc_post", "commands.post", NULL},
    };
    PUT(flags, container, flags);
    PUT(texts, container, texts);
    PUT(pieces, container, pieces);
}

/* ---- v1alpha1 ---- */

static void put_random(struct sl_buf *b, const char *name, const char *given) {
    char text[33];
    if (*given) {
        put_text(b, name, given);
        return;
    }
    mc_random_text(text, sizeof text);
    put_text(b, name, text);
}

/* "name:password" */
static void put_users(struct sl_buf *b, const struct mc_view *v) {
    size_t i, n;
    yyjson_val *user;
    sl_buf_puts(b, "mc_users=(");
    yyjson_arr_foreach (sl_json_get(v->spec, "users"), i, n, user) {
        char made[9];
        struct sl_buf entry = SL_BUF(MC_MAX_SPEC);
        const char *password = sl_json_str(user, "password");
        mc_random_text(made, sizeof made);
        sl_buf_printf(&entry, "%s:%s", sl_json_str(user, "name"), *password ? password : made);
        put_quoted(b, sl_buf_str(&entry));
        sl_buf_putc(b, ' ');
        sl_buf_done(&entry);
    }
    sl_buf_puts(b, ")\n");
}

static void put_v1alpha1(struct sl_buf *b, const struct mc_view *v, yyjson_val *container) {
    static const struct assignment texts[] = {
        {"mc_flux_user", "fluxUser.name", "flux"},
    };
    static const struct assignment flags[] = {
        {"mc_diagnostics", "diagnostics", NULL},
        {"mc_as_root", "commands.runFluxAsRoot", NULL},
    };
    static const struct assignment pieces[] = {{"mc_pre_command", "preCommand", NULL}};
    yyjson_val *restful = sl_json_get(v->spec, "fluxRestful");
    PUT(texts, container, texts);
    PUT(flags, container, flags);
    PUT(pieces, container, pieces);
    put_number(b, "mc_flux_uid", sl_json_int32(container, "fluxUser.uid", 1000));
    put_number(b, "mc_cores", sl_json_int32(container, "cores", 0));
    put_text(b, "mc_install_root", mc_text(v, "flux.installRoot", "/usr"));
    put_users(b, v);
    put_text(b, "mc_restful_branch", mc_text(v, "fluxRestful.branch", "main"));
    put_text(b, "mc_restful_user", mc_text(v, "fluxRestful.username", "flux"));
    put_number(b, "mc_restful_port", sl_json_int32(restful, "port", 5000));
    put_random(b, "mc_restful_token", sl_json_str(restful, "token"));
    put_random(b, "mc_restful_key", sl_json_str(restful, "secretKey"));
}

/* ---- the scripts ---- */

static yyjson_val *container_at(const struct mc_view *v, uint32_t i) {
    return yyjson_arr_get(sl_json_get(v->spec, "containers"), i);
}

bool mc_is_wrapped(const struct mc_view *v, uint32_t container) {
    return !v->old && (int)container != v->runner &&
           !sl_json_bool(container_at(v, container), "noWrapEntrypoint", false);
}

void mc_wait_script_put(struct sl_buf *b, const struct mc_view *v, uint32_t container) {
    put_cluster(b, v);
    put_container(b, container_at(v, container));
    if (v->old)
        put_v1alpha1(b, v, container_at(v, container));
    else
        put_view(b, v);
    put_file(b, "common.sh");
    if (!v->old)
        put_file(b, "view.sh");
    put_file(b, v->old ? "wait-v1alpha1.sh" : "wait.sh");
}

void mc_start_script_put(struct sl_buf *b, const struct mc_view *v, uint32_t container) {
    put_cluster(b, v);
    put_container(b, container_at(v, container));
    put_view(b, v);
    put_file(b, "common.sh");
    put_file(b, "view.sh");
    put_file(b, "start.sh");
}

void mc_init_script_put(struct sl_buf *b, const struct mc_view *v) {
    put_cluster(b, v);
    put_view(b, v);
    put_buffer(b, "mc_broker_config", v, mc_broker_put);
    put_file(b, "init.sh");
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/config/settings_file.h"

#include <sys/stat.h>

#include "lib/log/log.h"

bool sl_settings_file_changed(const char *path, struct timespec *last) {
    struct stat st;
    if (stat(path, &st) < 0)
        return false;
    bool changed = st.st_mtim.tv_sec != last->tv_sec || st.st_mtim.tv_nsec != last->tv_nsec;
    *last = st.st_mtim;
    return changed;
}

static int load(struct sl_settings_file *f, struct sl_settings **ret, struct sl_err *err) {
    struct sl_warnings w;
    sl_warnings_init(&w);
    int r = sl_settings_load(f->path, f->own_ns, f->gates, ret, &w, err);
    for (uint32_t i = 0; i < w.v.n; i++)
        sl_log(SL_LOG_WARN, "configuration warning", SL_S("file", f->path),
               SL_I("line", w.v.v[i].line), SL_S("error", w.v.v[i].text));
    sl_metric_set(f->metrics, SL_M_CONFIG_WARNINGS, w.v.n);
    sl_warnings_done(&w);
    return r;
}

int sl_settings_file_load(struct sl_settings_file *f, struct sl_settings **ret,
                          struct sl_err *err) {
    if (f->path)
        (void)sl_settings_file_changed(f->path, &f->seen);
    return load(f, ret, err);
}

struct sl_settings *sl_settings_file_reload(struct sl_settings_file *f) {
    struct sl_settings *fresh = NULL;
    struct sl_err err;
    if (!f->path || !sl_settings_file_changed(f->path, &f->seen))
        return NULL;
    if (load(f, &fresh, &err) < 0) {
        sl_log(SL_LOG_ERROR, "configuration reload failed, previous one in use",
               SL_S("error", err.text));
        return NULL;
    }
    sl_log(SL_LOG_INFO, "configuration reloaded", SL_S("file", f->path));
    return fresh;
}

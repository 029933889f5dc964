/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration file as a process follows it: what is wrong with it is logged and counted, and
 * it is read again when it has changed.
 */
#ifndef SL_MANAGER_CONFIG_SETTINGS_FILE_H
#define SL_MANAGER_CONFIG_SETTINGS_FILE_H

#include <time.h>

#include "lib/metrics/metrics.h"
#include "manager/config/config.h"

#define SL_FILES_EVERY (2 * SL_SEC) /* how often files that may change are checked */

struct sl_settings_file {
    const char *path; /* NULL: only defaults */
    const char *own_ns, *gates;
    struct sl_metrics *metrics;
    struct timespec seen; /* of the file that was read last */
};

int sl_settings_file_load(struct sl_settings_file *f, struct sl_settings **ret,
                          struct sl_err *err) _must_check_;
/* NULL if the file is as it was, or cannot be used: then it is logged why. */
struct sl_settings *sl_settings_file_reload(struct sl_settings_file *f);

/* Has the file changed since the last call? */
bool sl_settings_file_changed(const char *path, struct timespec *last);

#endif

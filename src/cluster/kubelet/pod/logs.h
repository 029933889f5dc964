/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs of containers, in the form of the container runtime interface: one line of output is
 *
 *     2026-01-31T12:00:00.123456789Z stdout F text
 *
 * P instead of F: the line goes on in the next record (it was longer than LOG_LINE, or the
 * container ended without a newline). One file per run of a container and one with what went
 * before, LOG_FILE bytes each: of more, the oldest is cut.
 */
#ifndef SL_CLUSTER_KUBELET_POD_LOGS_H
#define SL_CLUSTER_KUBELET_POD_LOGS_H

#include "cluster/kubelet/limits.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/time.h"

struct logfile;

/* The directory is created if it does not exist. Never NULL: what cannot be written is dropped, and
 * logged once. */
struct logfile *log_begin(const char *folder, const char *container, uint32_t run);
void log_output(struct logfile *l, bool is_err, const char *bytes, size_t len, sl_time wall);
/* Nothing more comes. Its last bytes, for a termination message: at most 'max', text only. */
void log_end(struct logfile *l, sl_time wall);
void log_tail(struct logfile *l, size_t max, struct sl_buf *out);
void log_unref(struct logfile *l);
struct logfile *log_ref(struct logfile *l);
/* One that is not being written: the newest of this container, or the one before it; NULL: none. */
struct logfile *log_find(const char *folder, const char *container, uint32_t back);

#endif

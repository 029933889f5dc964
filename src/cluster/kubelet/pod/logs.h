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

struct klet_logfile;

/* The directory is created if it does not exist. Never NULL: what cannot be written is dropped, and
 * logged once. */
struct klet_logfile *klet_log_begin(const char *folder, const char *container, uint32_t run);
void klet_log_output(struct klet_logfile *l, bool is_err, const char *bytes, size_t len,
                     sl_time wall);
/* Nothing more comes. Its last bytes, for a termination message: at most 'max', text only. */
void klet_log_end(struct klet_logfile *l, sl_time wall);
void klet_log_tail(struct klet_logfile *l, size_t max, struct sl_buf *out);
void klet_log_unref(struct klet_logfile *l);
struct klet_logfile *klet_log_ref(struct klet_logfile *l);
/* One that is not being written: the newest of this container, or the one before it; NULL: none. */
struct klet_logfile *klet_log_find(const char *folder, const char *container, uint32_t back);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by buf.c and fmt.c. */
#ifndef SL_CORE_BASE_BUF_INT_H
#define SL_CORE_BASE_BUF_INT_H

#include <stddef.h>

/* A text was truncated and its writer did not check. */
void sl_buf_unseen(const char *where, size_t ceiling_bytes);

#endif

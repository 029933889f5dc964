/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON Patch (RFC 6902) from the difference of two documents.
 */
#ifndef SL_MANAGER_ADMISSION_PATCH_H
#define SL_MANAGER_ADMISSION_PATCH_H

#include <yyjson.h>

#include "core/base/buf.h"

/* Appends the operations that turn 'from' into 'to', as a JSON array; "[]" if they are equal. Items
 * of lists are compared by index. */
void adm_patch_diff(yyjson_val *from, yyjson_val *to, struct sl_buf *out);

#endif

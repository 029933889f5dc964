/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program src/runtime/supervisor_main.c as it was linked, one file.
 */
#ifndef SL_RUNTIME_SUPERVISOR_IMAGE_H
#define SL_RUNTIME_SUPERVISOR_IMAGE_H

#include "base/embedded.h"

extern const struct sl_embedded supervisor_image[];
extern const size_t supervisor_image_n;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ordset.c over a set whose chunks and pages hold 8 elements: trees of full depth from few
 * keys. The set is compiled into this program, so the library's is not linked.
 */
#define SL_ORDSET_CHUNK 8u
#define SL_ORDSET_PAGE 8u
#include "core/base/collection/ordset.c" // NOLINT(bugprone-suspicious-include)

#include "test_ordset.c" // NOLINT(bugprone-suspicious-include)

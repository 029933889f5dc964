/* SPDX-License-Identifier: Apache-2.0 */
/* From Python's syntax of regular expressions to that of PCRE2. */
#ifndef SL_LIB_PATTERN_PYTHON_H
#define SL_LIB_PATTERN_PYTHON_H

#include "core/base/buf.h"
#include "core/base/err.h"

/* The flags of a whole pattern, "(?im)" at its beginning. */
enum pattern_flag {
    PATTERN_ASCII = 1,
    PATTERN_CASELESS = 2,
    PATTERN_MULTILINE = 4,
    PATTERN_DOTALL = 8,
    PATTERN_VERBOSE = 16,
};

/* What is no pattern in Python is an error with the byte where it is. What PCRE2 has beyond Python
 * never gets there: everything is written anew, not copied. */
int pattern_from_python(struct sl_text python, struct sl_buf *out, unsigned *ret_flags,
                        struct sl_err *err) _must_check_;

#endif

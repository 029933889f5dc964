/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common macros: scope cleanup, ownership transfer, assertions that also hold in release builds,
 * and attributes. No state, no threads.
 */
#ifndef SL_CORE_BASE_MACROS_H
#define SL_CORE_BASE_MACROS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _must_check_ __attribute__((warn_unused_result))
#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))

/* The element count of a true array. */
#define SL_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* The record of which *p is a member; a pointer to anything but that member does not compile. */
#define SL_CONTAINER_OF(p, type, member)                                                           \
    ({                                                                                             \
        __typeof__(((type *)0)->member) *member_of_ = (p);                                         \
        (type *)(void *)((char *)member_of_ - offsetof(type, member));                             \
    })

/* Hands a pointer over: yields it and leaves NULL behind, so that scope cleanup does nothing. */
#define TAKE_PTR(p)                                                                                \
    ({                                                                                             \
        __typeof__(p) taken_ = (p);                                                                \
        (p) = NULL;                                                                                \
        taken_;                                                                                    \
    })

#define SL_STRING_(x) #x
#define SL_STRING(x) SL_STRING_(x)
/* The current line of code. */
#define SL_HERE (__FILE__ ":" SL_STRING(__LINE__))

/* Ends the process on a programming error. State is rebuilt from the API server, so stopping is
 * safer than deciding on a broken state. */
_Noreturn void sl_assert_failed(const char *what, const char *file, int line);
#define sl_assert(x) ((x) ? (void)0 : sl_assert_failed(#x, __FILE__, __LINE__))

/* Whether this build is sanitised; its memory and time are not those of a release. SL_ASAN: by
 * AddressSanitizer, which supports poisoning. */
#ifdef __has_feature
#define SL_FEATURE_(x) __has_feature(x)
#else
#define SL_FEATURE_(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || SL_FEATURE_(address_sanitizer)
#define SL_ASAN 1
#else
#define SL_ASAN 0
#endif
#if SL_ASAN || defined(__SANITIZE_THREAD__) || SL_FEATURE_(memory_sanitizer) ||                    \
    SL_FEATURE_(thread_sanitizer)
#define SL_SANITISED 1
#else
#define SL_SANITISED 0
#endif

/* Hardening zeroes automatic variables; this exempts a large one on a hot path that is written
 * before it is read. Sanitised builds fill it with their pattern all the same. */
#if SL_SANITISED
#define _unset_
#else
#define _unset_ __attribute__((uninitialized))
#endif

#endif

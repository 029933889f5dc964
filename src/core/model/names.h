/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes' syntax of names and labels. Texts need not end in a NUL. What to say about one that
 * is wrong is the caller's business: kube/types/syntax.h has Kubernetes' words.
 */
#ifndef SL_CORE_MODEL_NAMES_H
#define SL_CORE_MODEL_NAMES_H

#include "core/base/macros.h"

#define SL_SUBDOMAIN_MAX 253u
#define SL_LABEL_MAX 63u

/* Labels of lower-case letters, digits and '-' between dots ("a-b.c"), however long. */
bool model_name_is_domain(const char *s, size_t n);
/* The same, of at most SL_SUBDOMAIN_MAX bytes (RFC 1123). */
bool model_name_is_subdomain(const char *s, size_t n);
/* [A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?, however long. */
bool model_name_is_qualified(const char *s, size_t n);
/* "name" or "example.com/name", each part of the length it may have. */
bool model_name_is_label_key(const char *s, size_t n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of a response as the library takes it: whole, or in pieces. Private to src/lib/http.
 */
#ifndef SL_LIB_HTTP_ANSWER_H
#define SL_LIB_HTTP_ANSWER_H

#include "lib/http/server.h"

struct MHD_Response;

/* Takes over the buffer's memory, and the pieces ('more' is NULL then). NULL: no memory. */
struct MHD_Response *http_answer_response(struct sl_http_answer *a);

/* False: no memory, or no headers. */
bool http_answer_headers(struct MHD_Response *r, const char *content_type,
                         const char *const *headers);

#endif

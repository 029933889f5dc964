/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the embedded API server. An input is "METHOD PATH?QUERY", a line
 * "CONTENT-TYPE|ACCEPT", and the body; more of them may follow after a line
 * "----". They go to one server, as they would from a client, and whatever they are: each is
 * answered once.
 */
#include <stdint.h>
#include <stdlib.h>

#include "api_fz.h"

#define INPUTS_PER_SERVER 2000u /* then a new one, lest it fills up */
#define REQUESTS 8u             /* of an input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct api_fz api;

static void stop(void) {
    api_fz_stop(&api);
}

static void one(char *text) {
    char *at = text, *first = api_fz_line(&at), *types = api_fz_line(&at);
    char *path = strchr(first, ' '), *query = NULL, *accept = types ? strchr(types, '|') : NULL;
    uint32_t before = api.answers + api.begun;

    if (!path)
        return;
    *path++ = '\0';
    query = strchr(path, '?');
    if (query)
        *query++ = '\0';
    if (accept)
        *accept++ = '\0';
    struct sl_api_request rq = api_fz_request(first, path, query ? query : "", types ? types : "",
                                              at, at ? strlen(at) : 0);
    rq.accept = accept ? accept : "";
    sl_api_call call = api_fz_call(&api, &rq);
    api_fz_turn(&api, 3);
    sl_assert(api.answers + api.begun <= before + 1);
    sl_apiserver_cancel(api.s, call); /* a watch; or a webhook that is being called */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {

    api_fz_input(&api, (struct sl_apiserver_spec){0}, INPUTS_PER_SERVER, stop);
    char *text = sl_alloc(size + 1), *at = text;
    memcpy(text, data, size);
    text[size] = '\0';
    for (uint32_t i = 0; at && i < REQUESTS; i++) {
        char *next = strstr(at, "\n----\n");
        if (next) {
            *next = '\0';
            next += strlen("\n----\n");
        }
        one(at);
        at = next;
    }
    sl_freep(&text);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Journals: a damaged one is refused with its line, or replayed up to where it differs; nothing in
 * it may break the engine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmd/sim/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int fd = memfd_create("journal", MFD_CLOEXEC);
    sl_assert(fd >= 0);
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, data + done, size - done);
        sl_assert(n > 0);
        done += (size_t)n;
    }
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    struct sl_sim_request q = {.file = path, .check = true};
    struct sl_report r;
    struct sl_err err = {0};
    int code = sl_sim_run_replay(&q, &r, &err);
    sl_assert(code >= 0 || (err.code == code && err.text[0]));
    if (code == SL_EINVAL || code == SL_ELIMIT)
        sl_assert(strncmp(err.text, path, strlen(path)) == 0);
    sl_report_done(&r);
    (void)close(fd);
    return 0;
}

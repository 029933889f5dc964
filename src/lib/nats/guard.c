/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A time limit for calls of the library that have none. It makes the socket blocking for the TLS
 * handshake, so a server that stops answering there would hold the thread for ever. A signal to the
 * thread interrupts the read, and the library takes that for a failed handshake.
 *
 * The signal is a real-time one that nobody else has a handler for, is sent to single threads only,
 * and does nothing but interrupt.
 */
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "lib/nats/client_int.h"

#define AGAIN_MS 200 /* a call may begin just after a signal */

static int signal_number; /* written once, before there are threads */

static void on_signal(int number) {
    (void)number;
}

bool natsc_guard_setup(void) {
    struct sigaction own = {.sa_handler = on_signal}, before;

    if (signal_number)
        return true;
    (void)sigemptyset(&own.sa_mask);
    for (int n = SIGRTMIN + 1; n <= SIGRTMAX; n++) {
        if (sigaction(n, NULL, &before) < 0 || before.sa_handler != SIG_DFL)
            continue;
        if (sigaction(n, &own, NULL) < 0)
            return false;
        signal_number = n;
        return true;
    }
    return false;
}

void natsc_guard_mask(sigset_t *ret_before) {
    sigset_t all;

    (void)sigfillset(&all);
    (void)sigdelset(&all, signal_number);
    (void)pthread_sigmask(SIG_SETMASK, &all, ret_before);
}

bool natsc_guard_begin(uint32_t ms, timer_t *ret) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signal_number};
    struct itimerspec when = {
        .it_value = {ms / 1000, ms % 1000 * 1000000L},
        .it_interval = {AGAIN_MS / 1000, AGAIN_MS % 1000 * 1000000L},
    };

    event._sigev_un._tid = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, ret) < 0)
        return false;
    if (timer_settime(*ret, 0, &when, NULL) == 0)
        return true;
    (void)timer_delete(*ret);
    return false;
}

void natsc_guard_end(timer_t t) {
    (void)timer_delete(t);
}

void natsc_guard_interrupt(pthread_t thread) {
    (void)pthread_kill(thread, signal_number);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API server of `sluice up` behind its door, and nothing else: no controllers that would change
 * what a test has just written.
 *
 *     apionly --dir=FOLDER --port=N
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "cluster/up/data_dir.h"
#include "cluster/up/frontend.h"

static const char *well(void *ctx) {
    (void)ctx;
    return NULL;
}

static bool nothing_else(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a) {
    (void)ctx, (void)rq, (void)a;
    return false;
}

static void on_signal(uv_signal_t *h, int number) {
    (void)number;
    uv_stop(h->loop);
}

static void close_handle(uv_handle_t *h, void *arg) {
    (void)arg;
    if (!uv_is_closing(h))
        uv_close(h, NULL);
}

static const char *option(int argc, char **argv, const char *name) {
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], name, strlen(name)) == 0)
            return argv[i] + strlen(name);
    return NULL;
}

static int serve(uv_loop_t *loop, const char *dir, uint16_t port, struct sl_err *err) {
    uv_timeval64_t t;
    struct up_data_dir home;
    struct sl_cert cert = {0};
    struct up_frontend *door = NULL;
    struct sl_apiserver *api = NULL;
    uv_signal_t term;
    char address[40], server[50];

    (void)uv_gettimeofday(&t);
    sl_time now = t.tv_sec * SL_SEC;
    int r = up_data_dir_open(dir, now, &home, err);
    if (r < 0)
        return r;
    r = up_data_dir_certificate(&home, "127.0.0.1", now, &cert, err);
    if (r >= 0)
        r = up_frontend_open(&(struct up_frontend_spec){.loop = loop,
                                                        .host = "127.0.0.1",
                                                        .port = port,
                                                        .cert = &cert,
                                                        .token = home.token,
                                                        .unready = well,
                                                        .other = nothing_else},
                             &door, err);
    if (r >= 0) {
        (void)snprintf(address, sizeof address, "127.0.0.1:%u", up_frontend_port(door));
        (void)snprintf(server, sizeof server, "https://%s", address);
        r = sl_apiserver_new(
            &(struct sl_apiserver_spec){
                .loop = loop, .file = home.objects, .version = "v1.36.0", .address = address},
            &api, err);
    }
    if (r >= 0)
        r = up_data_dir_write_kubeconfig(&home, server, err);
    if (r >= 0) {
        up_frontend_serve(door, api);
        (void)uv_signal_init(loop, &term);
        (void)uv_signal_start(&term, on_signal, SIGTERM);
        (void)uv_run(loop, UV_RUN_DEFAULT);
    }
    up_frontend_close(door);
    if (api)
        sl_apiserver_free(api);
    (void)uv_run(loop, UV_RUN_NOWAIT);
    uv_walk(loop, close_handle, NULL);
    (void)uv_run(loop, UV_RUN_DEFAULT);
    sl_cert_done(&cert);
    up_data_dir_done(&home);
    return r;
}

int main(int argc, char **argv) {
    const char *dir = option(argc, argv, "--dir="), *port = option(argc, argv, "--port=");
    uv_loop_t loop;
    struct sl_err err = {0};

    if (!dir || !port) {
        (void)fputs("usage: apionly --dir=FOLDER --port=N\n", stderr);
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    if (uv_loop_init(&loop) < 0)
        return 1;
    int r = serve(&loop, dir, (uint16_t)strtoul(port, NULL, 10), &err);
    (void)uv_loop_close(&loop);
    if (r < 0)
        (void)fprintf(stderr, "apionly: %s\n", err.text);
    return r < 0;
}

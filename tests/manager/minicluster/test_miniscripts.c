/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the scripts of a MiniCluster do, run by a shell with a program in Flux's place that notes
 * how it is called; and what they do where there is none. The certificate, hosts and quorum.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <openssl/evp.h>

#include "core/base/mem.h"
#include "manager/minicluster/mc_int.h"

#define TEXT ((size_t)1 << 20)
#define OPTIONS                                                                                    \
    "-o|--config|VIEW/view/etc/flux/config|-Scron.directory=/etc/flux/system/cron.d|"              \
    "-Stbon.fanout=256|-Srundir=VIEW/view/run/flux|-Sstatedir=VIEW/view/var/lib/flux|"             \
    "-Slocal-uri=local://VIEW/view/run/flux/local|-Slog-stderr-level=6|-Slog-stderr-mode=local|"

static char dir[] = "/tmp/miniscripts-XXXXXX";

static char *in_dir(const char *name) {
    char *path = NULL;
    assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
    return path;
}

static void write_file(const char *name, const char *text, mode_t mode) {
    char *path = in_dir(name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, mode), 0);
    free(path);
}

/* The exit status of a command of ours. */
static int shell(const char *command) {
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* "" if there is none. */
static void read_file(const char *name, struct sl_buf *b) {
    char chunk[4096], *path = in_dir(name);
    FILE *f = fopen(path, "r");
    sl_buf_clear(b);
    for (size_t n; f && (n = fread(chunk, 1, sizeof chunk, f)) > 0;)
        sl_buf_add(b, chunk, n);
    if (f)
        (void)fclose(f);
    free(path);
}

static int setup(void **state) {
    (void)state;
    assert_non_null(mkdtemp(dir));
    char *bin = in_dir("bin");
    assert_int_equal(mkdir(bin, 0700), 0);
    free(bin);
    write_file("bin/flux",
               "#!/bin/sh\nfor word; do printf '%s|' \"$word\"; done >>\"$CALLS\"\n"
               "echo >>\"$CALLS\"\nexit \"${FLUX_STATUS:-0}\"\n",
               0700);
    return 0;
}

static int teardown(void **state) {
    char *command = NULL;
    (void)state;
    assert_true(asprintf(&command, "rm -rf '%s'", dir) > 0);
    assert_int_equal(shell(command), 0);
    free(command);
    return 0;
}

/* JSON in single quotes, with VIEW for the folder of this test. To be freed. */
static char *json_of(const char *s) {
    struct sl_buf b = SL_BUF(TEXT);
    for (; *s; s++) {
        if (strncmp(s, "VIEW", 4) == 0) {
            sl_buf_puts(&b, dir);
            s += 3;
        } else {
            sl_buf_putc(&b, *s == '\'' ? '"' : *s == '`' ? '\'' : *s);
        }
    }
    char *out = sl_strdup(sl_buf_str(&b));
    sl_buf_done(&b);
    return out;
}

struct spec {
    yyjson_doc *doc;
    struct mc_view v;
};

static void open_spec(struct spec *s, bool old, const char *text) {
    _cleanup_(sl_freep) char *json = json_of(text);
    s->doc = sl_json_doc(json, strlen(json));
    if (!s->doc)
        fail_msg("%s", json);
    mc_view_init(&s->v, "mc", "ns", old, yyjson_doc_get_root(s->doc));
}

/* The exit status of a script; what it prints is in "out", how Flux was called in "calls". */
static int run(const struct sl_buf *script, const char *index, bool flux, const char *argument) {
    char *command = NULL;
    write_file("script.sh", sl_buf_str(script), 0700);
    assert_true(asprintf(&command,
                         "cd '%s' && rm -f calls out && HOME=/ CALLS='%s/calls' "
                         "JOB_COMPLETION_INDEX=%s PATH='%s%s/usr/bin:/bin' timeout 20 /bin/bash "
                         "script.sh %s >out 2>&1",
                         dir, dir, index, flux ? dir : "", flux ? "/bin:" : "", argument) > 0);
    int status = shell(command);
    free(command);
    return status;
}

static void has_line(const char *file, const char *expected) {
    struct sl_buf b = SL_BUF(TEXT);
    _cleanup_(sl_freep) char *line = json_of(expected);
    read_file(file, &b);
    if (!strstr(sl_buf_str(&b), line)) {
        struct sl_buf out = SL_BUF(TEXT);
        read_file("out", &out);
        fail_msg("no line\n%s\nin %s:\n%s\noutput:\n%s", line, file, sl_buf_str(&b),
                 sl_buf_str(&out));
    }
    sl_buf_done(&b);
}

/* The init container, and then the one that runs Flux. */
static int run_cluster(const char *text, const char *index, bool flux) {
    struct spec s;
    struct sl_buf b = SL_BUF(TEXT);
    open_spec(&s, false, text);
    mc_init_script_put(&b, &s.v);
    assert_int_equal(run(&b, index, false, ""), 0);
    sl_buf_clear(&b);
    mc_wait_script_put(&b, &s.v, (uint32_t)s.v.runner);
    int status = run(&b, index, flux, "");
    sl_buf_done(&b);
    yyjson_doc_free(s.doc);
    return status;
}

#define SPEC(more, container)                                                                      \
    "{'flux':{'container':{'mountPath':'VIEW'}},'size':2," more "'containers':[{" container "}]}"

static void commands(void **state) {
    static const struct {
        const char *spec, *index, *call;
    } cases[] = {
        {SPEC("", "'command':'sleep 10'"), "0",
         "start|" OPTIONS "flux|submit|-n|1|--quiet|--watch|sleep|10|\n"},
        {SPEC("'tasks':4,", "'command':'a'"), "0",
         "start|" OPTIONS "flux|submit|-N|2|-n|4|--quiet|--watch|a|\n"},
        {SPEC("'tasks':0,", "'command':'a'"), "0",
         "start|" OPTIONS "flux|submit|-N|2|--quiet|--watch|a|\n"},
        {SPEC("", "'command':'echo `two words` $HOME'"), "0",
         "start|" OPTIONS "flux|submit|-n|1|--quiet|--watch|echo|two words|/|\n"},
        {SPEC("", "'command':'a && b | c'"), "0",
         "start|" OPTIONS "flux|submit|-n|1|--quiet|--watch|bash|-c|a && b | c|\n"},
        {SPEC("", "'command':'a\\nb'"), "0",
         "start|" OPTIONS "flux|submit|-n|1|--quiet|--watch|bash|-c|a\nb|\n"},
        {SPEC("", "'command':'snakemake -j 1','launcher':true"), "0",
         "start|" OPTIONS "snakemake|-j|1|\n"},
        {SPEC("", "'command':'a\\nb','batch':true"), "0",
         "start|" OPTIONS
         "sh|-c|flux batch -n 1 --flags waitable ./flux-job.batch && flux job wait "
         "--all|\n"},
        {SPEC("", "'command':'a','commands':{'prefix':'strace -f'}"), "0",
         "start|" OPTIONS "strace|-f|flux|submit|-n|1|--quiet|--watch|a|\n"},
        {SPEC("", ""), "0", "broker|--config-path|VIEW/view/etc/flux/config|-Scron"},
        {SPEC("", "'command':'','commands':{'script':'echo it`s'}"), "0",
         "flux|submit|-n|1|--quiet|--watch|/bin/bash|./custom-entrypoint.sh|\n"},
        {SPEC("", "'command':'a'"), "1", "start|" OPTIONS "\n"},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        assert_int_equal(run_cluster(cases[i].spec, cases[i].index, true), 0);
        has_line("calls", cases[i].call);
    }
}

static void options(void **state) {
    (void)state;
    assert_int_equal(
        run_cluster("{'size':2,'maxSize':4,'interactive':true,'archive':{'path':'VIEW'},'logging':{"
                    "'quiet':true,'zeromq':true,'debug':true},'flux':{'container':{'mountPath':"
                    "'VIEW'},'connectTimeout':'9s','wrap':'w','optionFlags':'-opmi=x',"
                    "'submitCommand':'flux run'},'containers':[{'command':'a'}]}",
                    "0", true),
        0);
    has_line("calls", "start|--wrap=w|-o|--config|VIEW/view/etc/flux/config|");
    has_line("calls", "-Slog-stderr-level=0|-Slog-stderr-mode=local|-Sbroker.rc2_none|"
                      "-Stbon.connect_timeout=9s|-Sbroker.quorum=2|-Stbon.zmqdebug=1|"
                      "-Scontent.restore=VIEW|");
    has_line("calls", "|flux|run|-n|1|-opmi=x|-vvv|--quiet|--watch|a|\n");
}

static void pieces_in_their_order(void **state) {
    (void)state;
    assert_int_equal(
        run_cluster(SPEC("", "'command':'a','commands':{'init':'echo 1','pre':'echo 2; export "
                             "X=`a b`','brokerPre':'echo 3 $X','workerPre':'echo never','post':"
                             "'echo 4'}"),
                    "0", true),
        0);
    has_line("out", "1\n");
    has_line("out", "3 a b\n");
    has_line("out", "4\n");
}

static void without_flux(void **state) {
    (void)state;
    assert_int_equal(run_cluster(SPEC("", "'command':'echo `it runs` | cat'"), "0", false), 0);
    has_line("out", "Flux is not installed here: the command runs alone, without a Flux instance.");
    has_line("out", "it runs\n");
    assert_int_equal(run_cluster(SPEC("", "'command':'echo never'"), "1", false), 0);
    has_line("out", "the command runs in the pod of index 0 alone, and this one ends.");
    /* As with Flux a failure counts if the scripts are strict. */
    assert_int_equal(run_cluster(SPEC("", "'command':'exit 7'"), "0", false), 0);
    assert_int_equal(
        run_cluster(SPEC("'logging':{'strict':true},", "'command':'exit 7'"), "0", false),
        1); /* the certificate is not mounted here */
}

static void v1alpha1_without_flux(void **state) {
    struct spec s;
    struct sl_buf b = SL_BUF(TEXT);
    (void)state;
    open_spec(&s, true, "{'size':1,'users':[{'name':'ana'}],'containers':[{'command':'x'}]}");
    mc_wait_script_put(&b, &s.v, 0);
    assert_int_equal(run(&b, "0", false, "'echo it runs'"), 0);
    has_line("out", "the command runs alone, without a Flux instance.\nit runs\n");
    sl_buf_done(&b);
    yyjson_doc_free(s.doc);
}

static void texts_stay_texts(void **state) {
    (void)state;
    assert_int_equal(
        run_cluster("{'flux':{'container':{'mountPath':'VIEW'},'wrap':'`; touch VIEW/harm; `',"
                    "'optionFlags':'-x'},'size':1,'containers':[{'command':'a','logs':"
                    "'VIEW/`$(touch VIEW/harm)`'}]}",
                    "0", true),
        0);
    char *harm = in_dir("harm");
    assert_int_not_equal(access(harm, F_OK), 0);
    free(harm);
    has_line("calls", "--wrap=`; touch VIEW/harm; `|");
}

static void side_container(void **state) {
    struct spec s;
    struct sl_buf b = SL_BUF(TEXT);
    (void)state;
    open_spec(&s, false,
              "{'flux':{'noWaitSocket':true,'container':{'mountPath':'VIEW'}},'containers':[{"
              "'runFlux':true},{'name':'s','command':'echo at $fluxsocket','commands':{"
              "'servicePre':'echo before','post':'echo after'}}]}");
    mc_start_script_put(&b, &s.v, 1);
    write_file("flux-operator-done.txt", "", 0600);
    assert_int_equal(run(&b, "0", false, ""), 0);
    has_line("out", "before\nat local://VIEW/view/run/flux/local\nafter\n");
    sl_buf_done(&b);
    yyjson_doc_free(s.doc);
}

/* ---- hosts and certificates ---- */

static void hosts(void **state) {
    static const struct {
        const char *spec, *hosts;
        int quorum;
    } cases[] = {
        {"{'size':1}", "mc-[0]", 0},
        {"{'size':4}", "mc-[0-3]", 0},
        {"{'size':2,'maxSize':8}", "mc-[0-7]", 2},
        {"{'size':2,'minSize':1}", "mc-[0-1]", 1},
        {"{'size':2,'flux':{'bursting':{'hostlist':'a,b'}}}", "a,b", 0},
        {"{'size':2,'flux':{'bursting':{'clusters':[{'size':3},{'name':'x'}]}}}",
         "mc-[0-1],burst-0-[0-2],x-[0-1]", 0},
        {"{'size':2,'flux':{'bursting':{'leadBroker':{'address':'h','name':'n','size':3}}}}",
         "h,n-[1-2]", 0},
        {"{'size':2,'flux':{'bursting':{'leadBroker':{'address':'h','name':'n','size':1}}}}", "h",
         0},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct spec s;
        struct sl_buf b = SL_BUF(TEXT);
        open_spec(&s, false, cases[i].spec);
        mc_hosts_put(&b, &s.v);
        assert_string_equal(sl_buf_str(&b), cases[i].hosts);
        assert_int_equal(mc_quorum(&s.v), cases[i].quorum);
        sl_buf_done(&b);
        yyjson_doc_free(s.doc);
    }
}

/* RFC 32 of ZeroMQ has these eight bytes. */
static void z85(void **state) {
    static const unsigned char word[8] = {0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b};
    unsigned char key[32] = {0};
    char text[MC_KEY_TEXT];
    (void)state;
    memcpy(key + 8, word, sizeof word);
    mc_z85(key, text);
    assert_string_equal(text, "0000000000HelloWorld00000000000000000000");
}

static void from_z85(const char *text, unsigned char key[32]) {
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 ".-:+=^!/*?&<>()[]{}@%$#";
    for (int i = 0; i < 8; i++) {
        uint64_t v = 0;
        for (int k = 0; k < 5; k++)
            v = v * 85 + (uint64_t)(strchr(digits, text[5 * i + k]) - digits);
        for (int k = 0; k < 4; k++)
            key[4 * i + k] = (unsigned char)(v >> (24 - 8 * k));
    }
}

/* The public key belongs to the secret one, and no two certificates are the same. */
static void certificates(void **state) {
    char first[MC_KEY_TEXT] = "";
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct sl_buf b = SL_BUF(TEXT);
        char public_text[64], secret_text[64];
        unsigned char public_key[32], secret_key[32], derived[32];
        size_t n = sizeof derived;
        mc_curve_put(&b, "mc-0", SL_SEC);
        const char *keys = strstr(sl_buf_str(&b), "\ncurve\n");
        assert_non_null(keys);
        assert_non_null(strstr(sl_buf_str(&b), "keygen.hostname = \"mc-0\"\n"));
        assert_int_equal(sscanf(keys, "\ncurve\n public-key = \"%40s\"\n secret-key = \"%40s\"\n",
                                public_text, secret_text),
                         2);
        from_z85(public_text, public_key);
        from_z85(secret_text, secret_key);
        EVP_PKEY *pair = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, secret_key, 32);
        assert_non_null(pair);
        assert_int_equal(EVP_PKEY_get_raw_public_key(pair, derived, &n), 1);
        assert_memory_equal(derived, public_key, 32);
        EVP_PKEY_free(pair);
        assert_string_not_equal(first, public_text);
        memcpy(first, public_text, MC_KEY_TEXT);
        sl_buf_done(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands),
        cmocka_unit_test(options),
        cmocka_unit_test(pieces_in_their_order),
        cmocka_unit_test(without_flux),
        cmocka_unit_test(v1alpha1_without_flux),
        cmocka_unit_test(texts_stay_texts),
        cmocka_unit_test(side_container),
        cmocka_unit_test(hosts),
        cmocka_unit_test(z85),
        cmocka_unit_test(certificates),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

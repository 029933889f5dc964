/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods that are made to end `sluice up`, to fill it, or to leave their folder. All are within the
 * limits of the API; none of them may disturb another pod.
 */
#include "kubelet_fixture.h"

#include <grp.h>

#define SECRETS "/api/v1/namespaces/default/secrets"
#define MAPS "/api/v1/namespaces/default/configmaps"
#define MEGABYTE 1000000

static const char TRUE_POD[] = "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\","
                               "\"image\":\"x\",\"command\":[\"true\"]}]";

/* "lead", n times the letter (a valid piece of base64), "tail". */
static void put_run(struct sl_buf *b, const char *lead, int n, const char *tail) {
    sl_buf_puts(b, lead);
    for (int i = 0; i < n; i++)
        sl_buf_putc(b, 'A');
    sl_buf_puts(b, tail);
}

static void make_big(struct world *w, const char *path, const char *name) {
    struct sl_buf b = SL_BUF((size_t)4 << 20);

    sl_buf_printf(&b, "{\"metadata\":{\"name\":\"%s\"},\"data\":{", name);
    put_run(&b, "\"k\":\"", MEGABYTE, "\"}}");
    make_object(w, path, sl_buf_str(&b));
    sl_buf_done(&b);
}

/* It waits with this message, and another runs. */
static void refused(struct world *w, const char *name, const char *words) {
    char other[100];

    for (const sl_time until = real_now() + PATIENCE;
         !strstr(sl_json_str(status_of(w, name, "main"), "state.waiting.message"), words); turn(w))
        if (real_now() > until)
            fail_msg("%s waits with \"%s\", not \"%s\"", name,
                     sl_json_str(status_of(w, name, "main"), "state.waiting.message"), words);
    (void)snprintf(other, sizeof other, "beside-%s", name);
    make_pod(w, other, "", TRUE_POD);
    wait_phase(w, other, "Succeeded");
}

/* A pod with one volume: 'n' times 'item' between 'lead' and 'tail'. */
static void make_volume_pod(struct world *w, const char *name, const char *meta, const char *lead,
                            int n, const char *item, const char *tail) {
    struct sl_buf b = SL_BUF((size_t)2 << 20);

    sl_buf_printf(&b, "\"volumes\":[{\"name\":\"v\",%s", lead);
    for (int i = 0; i < n; i++) {
        sl_buf_puts(&b, i ? "," : "");
        sl_buf_printf(&b, item, i);
    }
    sl_buf_printf(&b, "%s}],%s", tail, TRUE_POD);
    make_pod(w, name, meta, sl_buf_str(&b));
    sl_buf_done(&b);
}

/* Small objects that request a hundred times what they refer to. */
static void volumes_that_multiply(void **state) {
    struct world w;
    struct sl_buf b = SL_BUF((size_t)4 << 20);
    (void)state;

    begin(&w, 0);
    make_big(&w, SECRETS, "s");
    make_big(&w, MAPS, "c");
    make_volume_pod(&w, "sources", "", "\"projected\":{\"sources\":[", 90,
                    "{\"secret\":{\"name\":\"s\",\"items\":[{\"key\":\"k\",\"path\":\"p%d\"}]}}",
                    "]}");
    refused(&w, "sources", "more than 64 MiB");
    make_volume_pod(&w, "items", "", "\"secret\":{\"secretName\":\"s\",\"items\":[", 120,
                    "{\"key\":\"k\",\"path\":\"p%d\"}", "]}");
    refused(&w, "items", "more than 64 MiB");
    make_volume_pod(&w, "maps", "", "\"configMap\":{\"name\":\"c\",\"items\":[", 120,
                    "{\"key\":\"k\",\"path\":\"p%d\"}", "]}");
    refused(&w, "maps", "more than 64 MiB");
    put_run(&b, "\"annotations\":{\"a\":\"", 250000, "\"}");
    make_volume_pod(&w, "downward", sl_buf_str(&b), "\"downwardAPI\":{\"items\":[", 400,
                    "{\"path\":\"p%d\",\"fieldRef\":{\"fieldPath\":\"metadata.annotations\"}}",
                    "]}");
    refused(&w, "downward", "more than 64 MiB");
    /* What a volume may well hold. */
    make_volume_pod(&w, "fine", "", "\"secret\":{\"secretName\":\"s\",\"items\":[", 40,
                    "{\"key\":\"k\",\"path\":\"p%d\"}", "]}");
    wait_phase(&w, "fine", "Succeeded");
    sl_buf_done(&b);
    end(&w);
}

static void make_env_pod(struct world *w, const char *name, const char *what, int n,
                         const char *item) {
    struct sl_buf b = SL_BUF((size_t)2 << 20);

    sl_buf_printf(&b,
                  "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"x\","
                  "\"command\":[\"true\"],\"%s\":[",
                  what);
    for (int i = 0; i < n; i++) {
        sl_buf_puts(&b, i ? "," : "");
        sl_buf_printf(&b, item, i);
    }
    sl_buf_puts(&b, "]}]");
    make_pod(w, name, "", sl_buf_str(&b));
    sl_buf_done(&b);
}

/* Variables from objects of a megabyte, many times, and very many in one object. */
static void environments_that_multiply(void **state) {
    struct world w;
    struct sl_buf b = SL_BUF((size_t)4 << 20);
    (void)state;

    begin(&w, 0);
    make_big(&w, MAPS, "one");
    sl_buf_puts(&b, "{\"metadata\":{\"name\":\"parts\"},\"data\":{");
    for (int i = 0; i < 10; i++) {
        sl_buf_printf(&b, "%s\"k%d\":\"", i ? "," : "", i);
        put_run(&b, "", MEGABYTE / 10, "\"");
    }
    sl_buf_puts(&b, "}}");
    make_object(&w, MAPS, sl_buf_str(&b));
    sl_buf_clear(&b);
    sl_buf_puts(&b, "{\"metadata\":{\"name\":\"many\"},\"data\":{");
    for (int i = 0; i < 4000; i++)
        sl_buf_printf(&b, "%s\"a-rather-long-name-%d\":\"\"", i ? "," : "", i);
    sl_buf_puts(&b, "}}");
    make_object(&w, MAPS, sl_buf_str(&b));
    sl_buf_clear(&b);
    sl_buf_puts(&b, "{\"metadata\":{\"name\":\"wide\"},\"data\":{");
    for (int i = 0; i < 140000; i++)
        sl_buf_printf(&b, "%s\"k%d\":\"\"", i ? "," : "", i);
    sl_buf_puts(&b, "}}");
    make_object(&w, MAPS, sl_buf_str(&b));
    make_object(&w, SECRETS, "{\"metadata\":{\"name\":\"zero\"},\"data\":{\"k\":\"AAEC\"}}");

    make_env_pod(&w, "long", "envFrom", 1,
                 "{\"configMapRef\":{\"name\":\"one\"},\"prefix\":\"P%d\"}");
    refused(&w, "long", "longer than");
    make_env_pod(&w, "key", "env", 500,
                 "{\"name\":\"V%d\",\"valueFrom\":{\"configMapKeyRef\":{\"name\":\"one\",\"key\":"
                 "\"k\"}}}");
    refused(&w, "key", "longer than");
    make_env_pod(&w, "often", "envFrom", 900,
                 "{\"prefix\":\"P%d_\",\"configMapRef\":{\"name\":\"parts\"}}");
    refused(&w, "often", "larger than 2 MiB");
    const sl_time from = real_now();
    make_env_pod(&w, "many", "envFrom", 30,
                 "{\"prefix\":\"P%d_\",\"configMapRef\":{\"name\":\"many\"}}");
    refused(&w, "many", "larger than 2 MiB");
    assert_true(real_now() - from < 10 * SL_SEC); /* it grows with their number, not its square */
    make_env_pod(&w, "wide", "envFrom", 1,
                 "{\"prefix\":\"P%d_\",\"configMapRef\":{\"name\":\"wide\"}}");
    refused(&w, "wide", "cannot be read");
    make_env_pod(&w, "zero", "envFrom", 1,
                 "{\"prefix\":\"P%d\",\"secretRef\":{\"name\":\"zero\"}}");
    refused(&w, "zero", "zero byte");
    sl_buf_done(&b);
    end(&w);
}

/* Linux would read all of these as if they ended at the zero byte. */
static void zero_bytes(void **state) {
#define MAIN "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"x\","
    static const struct {
        const char *name, *words, *spec;
    } cases[] = {
        {"command", "the command holds a zero byte", MAIN "\"command\":[\"true\\u0000x\"]}]"},
        {"word", "the command holds a zero byte",
         MAIN "\"command\":[\"sh\",\"-c\",\"exit 0\\u0000; exit 1\"]}]"},
        {"args", "the command holds a zero byte",
         MAIN "\"command\":[\"echo\"],\"args\":[\"\\u0000\"]}]"},
        {"value", "the variable V holds a zero byte",
         MAIN "\"command\":[\"true\"],\"env\":[{\"name\":\"V\",\"value\":\"a\\u0000b\"}]}]"},
        {"field", "the variable metadata.annotations['k'] holds a zero byte",
         MAIN "\"command\":[\"true\"],\"env\":[{\"name\":\"V\",\"valueFrom\":{\"fieldRef\":{"
              "\"fieldPath\":\"metadata.annotations['k']\"}}}]}]"},
    };
#undef MAIN
    struct world w;
    (void)state;

    begin(&w, 0);
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        make_pod(&w, cases[i].name, "\"annotations\":{\"k\":\"a\\u0000b\"}", cases[i].spec);
        refused(&w, cases[i].name, cases[i].words);
    }
    /* A probe or a hook with one fails, and its container goes on. */
    make_pod(&w, "probe", "",
             "\"containers\":[{\"name\":\"main\",\"image\":\"x\",\"command\":[\"sleep\","
             "\"1000\"],\"readinessProbe\":{\"exec\":{\"command\":[\"true\\u0000\"]}}}]");
    wait_phase(&w, "probe", "Running");
    turns(&w, 20);
    assert_false(sl_json_bool(status_of(&w, "probe", "main"), "ready", true));
    end(&w);
}

/* What goes beyond a ceiling is reported, not left out. */
static void beyond_ceilings(void **state) {
    static const char user[] =
        "\"restartPolicy\":\"Never\",\"securityContext\":{\"runAsNonRoot\":true,%s},"
        "\"containers\":[{\"name\":\"main\",\"image\":\"x\",\"command\":[\"true\"]}]";
    struct world w;
    struct sl_buf b = SL_BUF((size_t)1 << 20);
    char spec[400];
    (void)state;

    begin(&w, 0);
    make_env_pod(&w, "refs", "envFrom", 257,
                 "{\"configMapRef\":{\"name\":\"m%d\",\"optional\":true}}");
    refused(&w, "refs", "a pod may name 256 ConfigMaps and Secrets");
    make_env_pod(&w, "fewer", "envFrom", 256,
                 "{\"configMapRef\":{\"name\":\"m%d\",\"optional\":true}}");
    wait_phase(&w, "fewer", "Succeeded");
    sl_buf_puts(&b, "{\"name\":\"PATH\",\"value\":\"");
    for (int i = 0; i < 256; i++)
        sl_buf_puts(&b, "/a:");
    sl_buf_puts(&b, "/bin\"}");
    make_env_pod(&w, "path", "env", 1, sl_buf_str(&b));
    refused(&w, "path", "PATH has more than 256 directories");
    if (geteuid() == 0) { /* to Linux this is 0 */
        (void)snprintf(spec, sizeof spec, user, "\"runAsUser\":4294967296");
        make_pod(&w, "user", "", spec);
        refused(&w, "user", "a user or group is between 0 and 2147483647");
        (void)snprintf(spec, sizeof spec, user,
                       "\"runAsUser\":1,\"supplementalGroups\":[4294967296]");
        make_pod(&w, "group", "", spec);
        refused(&w, "group", "a user or group is between 0 and 2147483647");
    }
    sl_buf_done(&b);
    end(&w);
}

/* Mount points whose paths are variables, each expanded anew. */
static void paths_that_multiply(void **state) {
    struct world w;
    struct sl_buf b = SL_BUF((size_t)2 << 20);
    (void)state;

    begin(&w, 0);
    if (!klet_spawner_mounts(w.rt->spawner)) {
        end(&w);
        sl_buf_done(&b);
        skip();
    }
    put_run(&b,
            "\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}],\"restartPolicy\":\"Never\","
            "\"containers\":[{\"name\":\"main\",\"image\":\"x\",\"command\":[\"true\"],"
            "\"env\":[{\"name\":\"V\",\"value\":\"",
            120000, "\"}],\"volumeMounts\":[");
    for (int i = 0; i < 1000; i++)
        sl_buf_printf(&b,
                      "%s{\"name\":\"v\",\"mountPath\":\"/m%d\",\"subPathExpr\":\"a/$(V)$(V)\"}",
                      i ? "," : "", i);
    sl_buf_puts(&b, "]}]");
    make_pod(&w, "a", "", sl_buf_str(&b));
    refused(&w, "a", "too long");
    sl_buf_done(&b);
    end(&w);
}

/* The last output of a thousand containers: the status stays small enough to be written. */
static void last_output(void **state) {
    struct world w;
    struct sl_buf b = SL_BUF((size_t)2 << 20);
    (void)state;

    begin(&w, 0);
    sl_buf_puts(&b, "\"restartPolicy\":\"Never\",\"containers\":[");
    for (int i = 0; i < 300; i++)
        sl_buf_printf(&b,
                      "%s{\"name\":\"c%d\",\"image\":\"x\",\"command\":[\"sh\",\"-c\",\"head -c "
                      "4096 /dev/zero | tr '\\\\0' '\\\\1' >$SLUICE_TERMINATION_LOG\"]}",
                      i ? "," : "", i);
    sl_buf_puts(&b, "]");
    make_pod(&w, "a", "", sl_buf_str(&b));
    wait_phase(&w, "a", "Succeeded");
    assert_int_equal(strlen(sl_json_str(status_of(&w, "a", "c7"), "state.terminated.message")),
                     12 * 1024 / 300);
    sl_buf_done(&b);
    end(&w);
}

/* Can a user of this machine, who knows the uid of a pod, read what its volume holds? */
static bool can_read(const struct world *w, const char *uid, uid_t user, gid_t group) {
    char path[300];
    int status;

    (void)snprintf(path, sizeof path, "%s/pods/%s/volumes/v/k", w->dir, uid);
    pid_t pid = fork();
    if (pid == 0) {
        if (setgroups(0, NULL) < 0 || setgid(group) < 0 || setuid(user) < 0)
            _exit(2);
        _exit(open(path, O_RDONLY | O_CLOEXEC) >= 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_in_range(WEXITSTATUS(status), 0, 1);
    return WEXITSTATUS(status) == 0;
}

static void secrets_of_others(void **state) {
    static const char pod[] =
        "\"restartPolicy\":\"Never\",%s\"volumes\":[{\"name\":\"v\",\"secret\":{\"secretName\":"
        "\"s\"}}],\"containers\":[{\"name\":\"main\",\"image\":\"x\",\"volumeMounts\":[{\"name\":"
        "\"v\",\"mountPath\":\"/mnt\"}],\"command\":[\"sh\",\"-c\",\"cat $SLUICE_VOLUME_V/k "
        "/mnt/k && echo && sleep 60\"]}]";
    struct world w;
    char spec[800];
    (void)state;

    begin(&w, 0);
    if (geteuid() != 0 || !klet_spawner_mounts(w.rt->spawner)) {
        end(&w);
        skip();
    }
    make_object(&w, SECRETS, "{\"metadata\":{\"name\":\"s\"},\"data\":{\"k\":\"aHVzaA==\"}}");
    (void)snprintf(spec, sizeof spec, pod, "");
    make_pod(&w, "ours", "", spec);
    (void)snprintf(spec, sizeof spec, pod,
                   "\"securityContext\":{\"runAsUser\":12345,\"runAsGroup\":54321},");
    make_pod(&w, "other", "", spec);
    wait_reported(&w, "ours");
    wait_reported(&w, "other");
    const char *ours = sl_json_str(pod_now(&w, "ours"), "metadata.uid"),
               *other = sl_json_str(pod_now(&w, "other"), "metadata.uid");
    assert_true(can_read(&w, ours, 0, 0));
    assert_false(can_read(&w, ours, 65534, 65534));
    assert_false(can_read(&w, ours, 12345, 54321));
    assert_true(can_read(&w, other, 12345, 54321));
    assert_false(can_read(&w, other, 65534, 65534));
    end(&w);
}

static void make_secure(struct world *w, const char *name, const char *of_pod, const char *own,
                        const char *script) {
    struct sl_buf b = SL_BUF(65536);

    sl_buf_printf(&b,
                  "\"restartPolicy\":\"Never\",\"securityContext\":{%s},\"containers\":[{\"name\":"
                  "\"main\",\"image\":\"x\",\"securityContext\":{%s},\"command\":[\"sh\",\"-c\",",
                  of_pod, own);
    sl_buf_json(&b, script);
    sl_buf_puts(&b, "]}]");
    make_pod(w, name, "", sl_buf_str(&b));
    sl_buf_done(&b);
}

/* What a securityContext requires is done, or the container does not start. */
static void security_contexts(void **state) {
    struct world w;
    (void)state;

    begin(&w, 0);
    if (geteuid() != 0 || !klet_spawner_mounts(w.rt->spawner)) {
        end(&w);
        skip();
    }
    make_secure(&w, "root", "\"runAsNonRoot\":true", "", "id -u");
    refused(&w, "root", "container has runAsNonRoot and image will run as root (pod: \"root\"");
    wait_reason(&w, "root", "main", "state.waiting.reason", "CreateContainerConfigError");
    make_secure(&w, "zero", "", "\"runAsNonRoot\":true,\"runAsUser\":0", "id -u");
    refused(&w, "zero", "container's runAsUser breaks non-root policy (pod: \"zero\"");
    make_secure(&w, "odd", "", "\"capabilities\":{\"drop\":[\"FLY\"]}", "id -u");
    refused(&w, "odd", "unknown capability \"FLY\"");
    make_secure(&w, "fine", "\"runAsNonRoot\":true,\"runAsUser\":12345", "", "id -u");
    wait_phase(&w, "fine", "Succeeded");
    expect_log(&w, "fine", "main", false, "12345\n");
    make_secure(&w, "groups",
                "\"runAsUser\":12345,\"runAsGroup\":7,\"supplementalGroups\":[8,9],\"fsGroup\":10",
                "", "id -G");
    wait_phase(&w, "groups", "Succeeded");
    expect_log(&w, "groups", "main", false, "7 8 9 10\n");
    make_secure(
        &w, "bare", "",
        "\"allowPrivilegeEscalation\":false,\"capabilities\":{\"drop\":[\"ALL\"],\"add\":["
        "\"NET_BIND_SERVICE\"]}",
        "grep -E 'NoNewPrivs|Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | tr -s '\\t' ' '");
    wait_phase(&w, "bare", "Succeeded");
    expect_log(&w, "bare", "main", false,
               "CapInh: 0000000000000000\nCapPrm: 0000000000000400\nCapEff: 0000000000000400\n"
               "CapBnd: 0000000000000400\nCapAmb: 0000000000000000\nNoNewPrivs: 1\n");
    make_secure(&w, "read", "", "\"readOnlyRootFilesystem\":true",
                "(echo x >/etc/sluice-test-written) 2>/dev/null || echo no; (echo x "
                ">/tmp/sluice-test-written) 2>/dev/null || echo no; echo y >/dev/null && echo dev; "
                "echo words >$SLUICE_TERMINATION_LOG && echo yes");
    wait_phase(&w, "read", "Succeeded");
    expect_log(&w, "read", "main", false, "no\nno\ndev\nyes\n");
    assert_int_equal(access("/etc/sluice-test-written", F_OK), -1);
    end(&w);
}

/* A subPath that an earlier container has made a link out of the volume. */
static void links_in_volumes(void **state) {
    static const char pod[] =
        "\"restartPolicy\":\"Never\",\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}],"
        "\"initContainers\":[{\"name\":\"first\",\"image\":\"x\",\"command\":[\"sh\",\"-c\",\"ln "
        "-s %s $SLUICE_VOLUME_V/out; mkdir $SLUICE_VOLUME_V/real; echo hello "
        ">$SLUICE_VOLUME_V/real/f; ln -s real $SLUICE_VOLUME_V/in\"]}],\"containers\":[{\"name\":"
        "\"main\",\"image\":\"x\",\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/mnt\","
        "\"subPath\":\"%s\"}],\"command\":[\"sh\",\"-c\",\"ls /mnt\"]}]";
    static const char *const ways[] = {"out", "out/made", "out/etc"};
    struct world w;
    char spec[1200], name[20], made[120];
    (void)state;

    begin(&w, 0);
    if (!klet_spawner_mounts(w.rt->spawner)) {
        end(&w);
        skip();
    }
    char outside[] = "/tmp/sluice-outside-XXXXXX";
    assert_non_null(mkdtemp(outside));
    for (size_t i = 0; i < SL_LEN(ways); i++) {
        (void)snprintf(spec, sizeof spec, pod, i == 2 ? "/" : outside, ways[i]);
        (void)snprintf(name, sizeof name, "p%zu", i);
        make_pod(&w, name, "", spec);
        refused(&w, name, "it leads out of the volume");
    }
    (void)snprintf(made, sizeof made, "%s/made", outside);
    assert_int_equal(access(made, F_OK), -1);
    assert_int_equal(rmdir(outside), 0);
    (void)snprintf(spec, sizeof spec, pod, "/", "in");
    make_pod(&w, "inside", "", spec);
    wait_phase(&w, "inside", "Succeeded");
    expect_log(&w, "inside", "main", false, "f\n");
    (void)snprintf(spec, sizeof spec, pod, "/", "new/deep");
    make_pod(&w, "new", "", spec);
    wait_phase(&w, "new", "Succeeded");
    end(&w);
}

/* It has ended with this message before its command ran. */
static void not_started(struct world *w, const char *name, const char *words) {
    wait_phase(w, name, "Failed");
    const char *said = sl_json_str(status_of(w, name, "main"), "state.terminated.message");
    if (!strstr(said, words))
        fail_msg("%s ended with \"%s\", not \"%s\"", name, said, words);
}

/* A pod of a user of its own with two volumes; the first container has the first at /zdata. */
static void make_linked(struct world *w, const char *name, const char *first, const char *mounts,
                        const char *script) {
    struct sl_buf b = SL_BUF(65536);

    sl_buf_printf(
        &b,
        "\"restartPolicy\":\"Never\",\"securityContext\":{\"runAsUser\":12345,\"runAsGroup\":54321}"
        ","
        "\"volumes\":[{\"name\":\"a\",\"emptyDir\":{}},{\"name\":\"b\",\"emptyDir\":{}}],"
        "\"initContainers\":[{\"name\":\"first\",\"image\":\"x\",\"volumeMounts\":[{\"name\":\"a\","
        "\"mountPath\":\"/zdata\"}],\"command\":[\"sh\",\"-c\",\"%s\"]}],\"containers\":[{\"name\":"
        "\"main\",\"image\":\"x\",\"volumeMounts\":[%s],\"command\":[\"sh\",\"-c\",\"%s\"]}]",
        first, mounts, script);
    make_pod(w, name, "", sl_buf_str(&b));
    sl_buf_done(&b);
}

/* Mount points on links that a container has put into a volume, or into a folder of the machine
 * that is open to it. What they lead to is neither covered nor written in. */
static void links_to_mount_points(void **state) {
#define AT(volume, path) "{\"name\":\"" volume "\",\"mountPath\":\"" path "\"}"
    static const char words[] = "a symbolic link on its way was not made by root alone";
    char outside[] = "/tmp/sluice-outside-XXXXXX", path[100], first[200], mounts[400], script[100];
    struct world w;
    (void)state;

    begin(&w, 0);
    if (geteuid() != 0 || !klet_spawner_mounts(w.rt->spawner)) {
        end(&w);
        skip();
    }
    assert_non_null(mkdtemp(outside));
    assert_int_equal(chmod(outside, 0755), 0);
    (void)snprintf(first, sizeof first, "ln -s %s /zdata/x; touch /zdata/real", outside);
    make_linked(&w, "onto", first, AT("a", "/zdata") "," AT("b", "/zdata/x"), "true");
    not_started(&w, "onto", words);
    make_linked(&w, "into", first, AT("a", "/zdata") "," AT("b", "/zdata/x/made"), "true");
    not_started(&w, "into", words);
    make_linked(&w, "deep", first, AT("a", "/zdata/in") "," AT("b", "/zdata/in/x/made/deep"),
                "true");
    not_started(&w, "deep", words);
    (void)snprintf(path, sizeof path, "%s/made", outside);
    assert_int_equal(access(path, F_OK), -1);
    /* In a world-writable folder of the machine. */
    (void)snprintf(first, sizeof first, "ln -s %s %s-link", outside, outside);
    (void)snprintf(mounts, sizeof mounts, AT("b", "%s-link"), outside);
    make_linked(&w, "open", first, mounts, "true");
    not_started(&w, "open", words);
    /* In a folder of its own, which is covered to make another mount point in it. */
    (void)snprintf(first, sizeof first, "mkdir %s-own; ln -s %s %s-own/x", outside, outside,
                   outside);
    (void)snprintf(mounts, sizeof mounts, AT("a", "%s-own/a") "," AT("b", "%s-own/x"), outside,
                   outside);
    make_linked(&w, "own", first, mounts, "true");
    not_started(&w, "own", words);
    assert_int_equal(rmdir(outside), 0); /* nothing was made in it */
    (void)snprintf(path, sizeof path, "%s-own/a", outside);
    assert_int_equal(access(path, F_OK), -1);
    (void)snprintf(path, sizeof path, "%s-link", outside);
    assert_int_equal(unlink(path), 0);
    (void)snprintf(path, sizeof path, "%s-own", outside);
    klet_folder_remove(path);
    /* The machine's links are its own, and a folder of a volume is one. */
    assert_int_equal(mkdir(outside, 0755), 0);
    (void)snprintf(path, sizeof path, "%s/link", outside);
    assert_int_equal(symlink("real/folder", path), 0);
    make_linked(&w, "fine", "mkdir /zdata/x", AT("a", "/zdata") "," AT("b", "/zdata/x"),
                "touch /zdata/x/f; ls /zdata; ls /zdata/x");
    wait_phase(&w, "fine", "Succeeded");
    expect_log(&w, "fine", "main", false, "x\nf\n");
    /* Over a folder of the machine that programs with set-user-ID trust. */
    make_linked(&w, "trusted", "true", AT("b", "/etc"),
                "grep NoNewPrivs /proc/self/status | tr -s '\\t' ' '");
    wait_phase(&w, "trusted", "Succeeded");
    expect_log(&w, "trusted", "main", false, "NoNewPrivs: 1\n");
    (void)snprintf(script, sizeof script, "ls %s/real/folder; ls %s/link", outside, outside);
    (void)snprintf(mounts, sizeof mounts, AT("a", "%s"), path);
    make_linked(&w, "link", "touch /zdata/f", mounts, script);
    wait_phase(&w, "link", "Succeeded");
    expect_log(&w, "link", "main", false, "f\nf\n");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(outside), 0);
    end(&w);
#undef AT
}

/* A volume that hides the folder of all volumes decides nothing about the next one. */
static void volumes_that_hide(void **state) {
    struct world w;
    (void)state;

    begin(&w, 0);
    if (!klet_spawner_mounts(w.rt->spawner)) {
        end(&w);
        skip();
    }
    make_pod(
        &w, "a", "",
        "\"restartPolicy\":\"Never\",\"volumes\":[{\"name\":\"a\",\"emptyDir\":{}},{\"name\":"
        "\"b\",\"emptyDir\":{}}],\"containers\":[{\"name\":\"main\",\"image\":\"x\","
        "\"workingDir\":\"/\",\"volumeMounts\":[{\"name\":\"a\",\"mountPath\":\"/tmp\"},{\"name\":"
        "\"b\",\"mountPath\":\"/zdata\"},{\"name\":\"a\",\"mountPath\":\"/zdata/a\"}],"
        "\"command\":[\"sh\",\"-c\",\"touch /tmp/f /zdata/g; ls /zdata/a /zdata\"]}]");
    wait_phase(&w, "a", "Succeeded");
    expect_log(&w, "a", "main", false, "/zdata:\na\ng\n\n/zdata/a:\nf\n");
    end(&w);
}

/* A container that stops its supervisor can be deleted like any other. */
static void stopped_supervisor(void **state) {
    struct world w;
    (void)state;

    begin(&w, 0);
    make_sh(&w, "a", "Never", "kill -STOP $PPID; sleep 0.1; exit 3");
    turns(&w, 300); /* it may never be seen running */
    delete_pod(&w, "a", 1);
    leap(&w, 3 * SL_SEC);
    wait_phase(&w, "a", "gone");
    end(&w);
}

/* One that does it again and again, and what it leaves when its supervisor is killed. */
static void killed_supervisor(void **state) {
    struct world w;
    char script[300];
    (void)state;

    begin(&w, 0);
    (void)snprintf(script, sizeof script,
                   "(setsid sh -c 'sleep %s & sleep %s' &); sleep 0.2; kill -9 $PPID; sleep 1000",
                   w.marker, w.marker);
    make_sh(&w, "a", "Never", script);
    wait_phase(&w, "a", "Failed");
    assert_int_equal(sl_json_int(status_of(&w, "a", "main"), "state.terminated.exitCode", 0), 137);
    for (const sl_time until = real_now() + PATIENCE; left(&w) > 0; turn(&w))
        assert_true(real_now() < until);
    (void)snprintf(script, sizeof script,
                   "p=$PPID; trap '' TERM; (setsid sh -c \"while kill -STOP $p; do :; done; sleep "
                   "%s\" &); sleep 1000",
                   w.marker);
    make_sh(&w, "b", "Never", script);
    turns(&w, 300);
    delete_pod(&w, "b", 0);
    wait_phase(&w, "b", "gone");
    for (const sl_time until = real_now() + PATIENCE; left(&w) > 0; turn(&w))
        assert_true(real_now() < until);
    end(&w);
}

/* Folders within folders are removed with their pod, however deep. */
static void deep_folders(void **state) {
    struct world w;
    char path[200];
    (void)state;

    begin(&w, 0);
    make_sh(
        &w, "a", "Never",
        "d=x; for i in 1 2 3 4 5 6; do d=$d/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x; "
        "mkdir -p $d/y/z; mkdir -p $d/.deep-0; echo 1 >$d/f; done; mkdir -p .deep-0/x; touch "
        ".deep-1; pwd; sleep 100");
    wait_reported(&w, "a");
    (void)snprintf(path, sizeof path, "%s/pods/%s", w.dir,
                   sl_json_str(pod_now(&w, "a"), "metadata.uid"));
    assert_int_equal(access(path, F_OK), 0);
    delete_pod(&w, "a", 0);
    wait_phase(&w, "a", "gone");
    turns(&w, 20);
    assert_int_equal(access(path, F_OK), -1);
    end(&w);
}

/* Output without end takes its share of a turn, and no more. */
static void endless_output(void **state) {
    struct world w;
    struct stat st;
    char path[200];
    off_t before = 0, most = 0;
    (void)state;

    begin(&w, 0);
    make_sh(&w, "a", "Never", "yes ''");
    wait_phase(&w, "a", "Running");
    (void)snprintf(path, sizeof path, "%s/logs/%s/main.0.log", w.dir,
                   sl_json_str(pod_now(&w, "a"), "metadata.uid"));
    for (int i = 0; i < 100; i++) {
        (void)usleep(2000); /* in which the pipe is filled */
        turn(&w);
        assert_int_equal(stat(path, &st), 0);
        most = st.st_size - before > most && i > 0 ? st.st_size - before : most;
        before = st.st_size;
    }
    assert_in_range(most, 1, OUTPUT_SHARE * 64); /* an empty line has a header */
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(volumes_that_multiply),
        cmocka_unit_test(environments_that_multiply),
        cmocka_unit_test(zero_bytes),
        cmocka_unit_test(beyond_ceilings),
        cmocka_unit_test(paths_that_multiply),
        cmocka_unit_test(last_output),
        cmocka_unit_test(secrets_of_others),
        cmocka_unit_test(security_contexts),
        cmocka_unit_test(links_in_volumes),
        cmocka_unit_test(links_to_mount_points),
        cmocka_unit_test(volumes_that_hide),
        cmocka_unit_test(stopped_supervisor),
        cmocka_unit_test(killed_supervisor),
        cmocka_unit_test(deep_folders),
        cmocka_unit_test(endless_output),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Volumes, with mounts of their own where the machine allows, and without. What the machine has is
 * not touched.
 */
#include "kubelet_fixture.h"

#define CM "/api/v1/namespaces/default/configmaps"
#define ABSENT "/sluice-test-no-such-folder"

static void make_things(struct world *w) {
    make_object(w, CM,
                "{\"metadata\":{\"name\":\"cm\"},\"data\":{\"a.txt\":\"alpha\",\"b.txt\":\"beta\"},"
                "\"binaryData\":{\"bin\":\"AAEC/w==\"}}");
    make_object(w, CM,
                "{\"metadata\":{\"name\":\"kube-root-ca.crt\"},\"data\":{\"ca.crt\":\"c\"}}");
    make_object(w, "/api/v1/namespaces/default/secrets",
                "{\"metadata\":{\"name\":\"se\"},\"data\":{\"key\":\"aHVzaA==\"}}");
}

#define VOLUMES                                                                                    \
    "\"restartPolicy\":\"Never\",\"volumes\":[{\"name\":\"e\",\"emptyDir\":{}},{\"name\":\"c-m\"," \
    "\"configMap\":{\"name\":\"cm\"}},"                                                            \
    "{\"name\":\"s\",\"secret\":{\"secretName\":\"se\",\"defaultMode\":256}},"                     \
    "{\"name\":\"items\",\"configMap\":{\"name\":\"cm\",\"items\":[{\"key\":\"a.txt\",\"path\":"   \
    "\"x/y/z\",\"mode\":384}]}},"                                                                  \
    "{\"name\":\"down\",\"downwardAPI\":{\"items\":[{\"path\":\"labels\",\"fieldRef\":{"           \
    "\"fieldPath\":\"metadata.labels\"}},"                                                         \
    "{\"path\":\"cpu\",\"resourceFieldRef\":{\"containerName\":\"main\",\"resource\":\"requests."  \
    "cpu\",\"divisor\":\"1m\"}}]}},"                                                               \
    "{\"name\":\"all\",\"projected\":{\"sources\":[{\"configMap\":{\"name\":\"cm\",\"items\":[{"   \
    "\"key\":\"b.txt\",\"path\":\"b\"}]}},"                                                        \
    "{\"secret\":{\"name\":\"se\"}},{\"serviceAccountToken\":{\"path\":\"token\"}}]}},"            \
    "{\"name\":\"kube-api-access-x\",\"projected\":{\"sources\":[{\"configMap\":{\"name\":\"kube-" \
    "root-ca.crt\"}}]}}],"

static void with_script(struct world *w, const char *name, const char *mounts, const char *script) {
    struct sl_buf b;

    sl_buf_init(&b, 65536);
    sl_buf_printf(&b,
                  VOLUMES "\"containers\":[{\"name\":\"main\",\"image\":\"x\",\"resources\":{"
                          "\"requests\":{\"cpu\":\"250m\"}},"
                          "\"volumeMounts\":[%s],\"command\":[\"sh\",\"-c\",",
                  mounts);
    sl_buf_json(&b, script);
    sl_buf_puts(&b, "]}]");
    make_pod(w, name, "\"labels\":{\"app\":\"we\\\"b\"}", sl_buf_str(&b));
    sl_buf_done(&b);
}

/* By environment: everywhere, with mounts or without. */
static void by_environment(struct world *w, const char *name) {
    with_script(w, name, "",
                "cat $SLUICE_VOLUME_C_M/a.txt $SLUICE_VOLUME_C_M/b.txt $SLUICE_VOLUME_S/key "
                "$SLUICE_VOLUME_ITEMS/x/y/z; echo;"
                "od -An -tx1 $SLUICE_VOLUME_C_M/bin; cat $SLUICE_VOLUME_DOWN/labels "
                "$SLUICE_VOLUME_DOWN/cpu; echo;"
                "cat $SLUICE_VOLUME_ALL/b $SLUICE_VOLUME_ALL/key; echo; stat -c %a "
                "$SLUICE_VOLUME_S/key $SLUICE_VOLUME_ITEMS/x/y/z"
                " $SLUICE_VOLUME_E; echo hi > $SLUICE_VOLUME_E/f && ls $SLUICE_VOLUME_E; ls "
                "$SLUICE_VOLUME_ITEMS");
    wait_phase(w, name, "Succeeded");
    expect_log(
        w, name, "main", false,
        "alphabetahushalpha\n 00 01 02 ff\napp=\"we\\\"b\"\n250\nbetahush\n400\n600\n777\nf\nx\n");
}

static void without_mounts(void **state) {
    struct world w;
    (void)state;

    begin(&w, 0);
    assert_true(klet_spawner_mounts_by(w.rt->spawner, MOUNTS_NO));
    make_things(&w);
    by_environment(&w, "a");
    end(&w);
}

static void need_mounts(struct world *w) {
    if (!klet_spawner_mounts(w->rt->spawner)) {
        end(w);
        skip();
    }
}

static void mounted_by(enum klet_own_mounts how) {
    struct world w;

    begin(&w, 0);
    (void)klet_spawner_mounts_by(w.rt->spawner, how);
    need_mounts(&w);
    make_things(&w);
    by_environment(&w, "env");
    /* Places that are there, that are not there at all, below one that is, inside another volume,
     * one file only. */
    with_script(
        &w, "a",
        "{\"name\":\"e\",\"mountPath\":\"" ABSENT
        "/deep/er\"},{\"name\":\"c-m\",\"mountPath\":\"/mnt\",\"readOnly\":true},"
        "{\"name\":\"s\",\"mountPath\":\"" ABSENT
        "/deep/er/inside\"},{\"name\":\"down\",\"mountPath\":\"/etc/sluice-test/down\"},"
        "{\"name\":\"c-m\",\"mountPath\":\"/etc/sluice-test-file\",\"subPath\":\"a.txt\"},"
        "{\"name\":\"e\",\"mountPath\":\"/opt\",\"subPathExpr\":\"sub/$(HOSTNAME)\"},"
        "{\"name\":\"kube-api-access-x\",\"mountPath\":\"/var/run/secrets/kubernetes.io/"
        "serviceaccount\"}",
        "cat /mnt/a.txt " ABSENT
        "/deep/er/inside/key /etc/sluice-test-file; echo; cat /etc/sluice-test/down/cpu; echo;"
        "(echo x > /mnt/new) 2>/dev/null || echo read-only; echo y > " ABSENT
        "/deep/er/y && cat $SLUICE_VOLUME_E/y;"
        "touch /opt/t; ls $SLUICE_VOLUME_E/sub/a; head -c 4 /etc/passwd; echo; test -e "
        "/proc/self/stat && echo proc;"
        "test -c /dev/null && echo dev; ls /usr/bin/env");
    wait_phase(&w, "a", "Succeeded");
    expect_log(&w, "a", "main", false,
               "alphahushalpha\n250\nread-only\ny\nt\nroot\nproc\ndev\n/usr/bin/env\n");
    assert_int_equal(access(ABSENT, F_OK), -1);
    assert_int_equal(access("/etc/sluice-test", F_OK), -1);
    assert_int_equal(access("/etc/sluice-test-file", F_OK), -1);
    assert_int_equal(access("/opt/t", F_OK), -1);
    end(&w);
}

static void mounted_as_root(void **state) {
    (void)state;
    mounted_by(MOUNTS_ROOT);
}

static void mounted_as_user(void **state) {
    (void)state;
    mounted_by(MOUNTS_USER);
}

static void working_dir(void **state) {
    struct world w;
    (void)state;

    begin(&w, 0);
    need_mounts(&w);
    make_pod(&w, "a", "",
             "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"x\","
             "\"workingDir\":\"" ABSENT
             "/w\",\"command\":[\"sh\",\"-c\",\"pwd; touch f && ls\"]}]");
    make_pod(&w, "b", "",
             "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"x\","
             "\"workingDir\":\"/usr\",\"command\":[\"pwd\"]}]");
    wait_phase(&w, "a", "Succeeded");
    wait_phase(&w, "b", "Succeeded");
    expect_log(&w, "a", "main", false, ABSENT "/w\nf\n");
    expect_log(&w, "b", "main", false, "/usr\n");
    assert_int_equal(access(ABSENT, F_OK), -1);
    end(&w);
}

/* Two containers of a pod share its volumes; they go with the pod. */
static void shared(void **state) {
    struct world w;
    char path[200];
    (void)state;

    begin(&w, 0);
    need_mounts(&w);
    make_pod(
        &w, "a", "",
        "\"restartPolicy\":\"Never\",\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}],\"containers\":"
        "["
        "{\"name\":\"m1\",\"image\":\"x\",\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"" ABSENT
        "\"}],\"command\":[\"sh\",\"-c\",\"echo hello > " ABSENT "/f\"]},"
        "{\"name\":\"main\",\"image\":\"x\",\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/"
        "mnt\"}],\"command\":[\"sh\",\"-c\","
        "\"until test -s /mnt/f; do sleep 0.02; done; cat /mnt/f\"]}]");
    wait_phase(&w, "a", "Succeeded");
    expect_log(&w, "a", "main", false, "hello\n");
    (void)snprintf(path, sizeof path, "%s/pods/%s", w.dir,
                   sl_json_str(pod_now(&w, "a"), "metadata.uid"));
    assert_int_equal(access(path, F_OK), -1);
    end(&w);
}

static void what_is_missing(void **state) {
    struct world w;
    (void)state;

    begin(&w, 0);
    make_pod(&w, "pvc", "",
             "\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"x\"}}],"
             "\"containers\":[{\"name\":\"main\","
             "\"image\":\"x\",\"command\":[\"true\"]}]");
    make_pod(&w, "late", "",
             "\"restartPolicy\":\"Never\",\"volumes\":[{\"name\":\"v\",\"configMap\":{\"name\":"
             "\"cm\"}}],\"containers\":[{\"name\":\"main\","
             "\"image\":\"x\",\"command\":[\"sh\",\"-c\",\"cat $SLUICE_VOLUME_V/a.txt\"]}]");
    make_pod(&w, "up", "",
             "\"restartPolicy\":\"Never\",\"volumes\":[{\"name\":\"v\",\"downwardAPI\":{\"items\":["
             "{\"path\":\"../../../x\",\"fieldRef\":"
             "{\"fieldPath\":\"metadata.name\"}}]}}],\"containers\":[{\"name\":\"main\",\"image\":"
             "\"x\",\"command\":[\"true\"]}]");
    wait_reason(&w, "pvc", "main", "state.waiting.reason", "ContainerCreating");
    assert_true(strstr(sl_json_str(status_of(&w, "pvc", "main"), "state.waiting.message"),
                       "no persistentVolumeClaim volumes"));
    wait_reason(&w, "late", "main", "state.waiting.message",
                "volume \"v\": configmap \"cm\" not found");
    wait_reason(&w, "up", "main", "state.waiting.message",
                "volume \"v\": \"../../../x\" is no path inside it");
    make_things(&w);
    leap(&w, 3 * SL_SEC);
    wait_phase(&w, "late", "Succeeded");
    expect_log(&w, "late", "main", false, "alpha");
    end(&w);
}

/* As the user of the securityContext, if we may change at all. */
static void other_user(void **state) {
    struct world w;
    (void)state;

    begin(&w, 0);
    if (geteuid() != 0) {
        end(&w);
        skip();
    }
    make_pod(&w, "a", "",
             "\"restartPolicy\":\"Never\",\"securityContext\":{\"runAsUser\":12345,\"runAsGroup\":"
             "54321},\"volumes\":[{\"name\":\"v\","
             "\"emptyDir\":{}}],\"containers\":[{\"name\":\"main\",\"image\":\"x\",\"command\":["
             "\"sh\",\"-c\",\"id -u; id -g; touch f "
             "$SLUICE_VOLUME_V/g && echo ok\"]}]");
    wait_phase(&w, "a", "Succeeded");
    expect_log(&w, "a", "main", false, "12345\n54321\nok\n");
    end(&w);
}

/* A pod with a hostPath of this type below a folder, which tells whether it is there. */
static void make_host(struct world *w, const char *name, const char *type, const char *base,
                      const char *path) {
    struct sl_buf b = SL_BUF(65536);

    sl_buf_printf(&b,
                  "\"restartPolicy\":\"Never\",\"volumes\":[{\"name\":\"h\",\"hostPath\":{"
                  "\"type\":\"%s\",\"path\":\"%s%s\"}}],\"containers\":[{\"name\":\"main\","
                  "\"image\":\"x\",\"command\":[\"true\"]}]",
                  type, base, path);
    make_pod(w, name, "", sl_buf_str(&b));
    sl_buf_done(&b);
}

static bool is_there(const char *base, const char *path) {
    char whole[200];
    (void)snprintf(whole, sizeof whole, "%s%s", base, path);
    return access(whole, F_OK) == 0;
}

/* What a hostPath lacks is made, but not where a link of another user leads. */
static void host_paths_are_made(void **state) {
    char base[] = "/tmp/sluice-host-XXXXXX", path[100], to[100];
    struct world w;
    (void)state;

    if (geteuid() != 0)
        skip();
    begin(&w, 0);
    assert_non_null(mkdtemp(base));
    assert_int_equal(chmod(base, 0755), 0);
    (void)snprintf(to, sizeof to, "%s/out", base);
    assert_int_equal(mkdir(to, 0755), 0);
    (void)snprintf(path, sizeof path, "%s/link", base);
    assert_int_equal(symlink("out", path), 0);
    (void)snprintf(path, sizeof path, "%s/whole", base);
    assert_int_equal(symlink(to, path), 0);
    (void)snprintf(path, sizeof path, "%s/own", base);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(chown(path, 12345, 54321), 0);
    (void)snprintf(path, sizeof path, "%s/own/to", base);
    assert_int_equal(symlink(to, path), 0);
    assert_int_equal(lchown(path, 12345, 54321), 0);
    (void)snprintf(path, sizeof path, "%s/own/roots", base); /* root's, but not root's folder */
    assert_int_equal(symlink(to, path), 0);

    make_host(&w, "led", "DirectoryOrCreate", base, "/own/to/led/deep");
    make_host(&w, "led-file", "FileOrCreate", base, "/own/to/led-file");
    make_host(&w, "led-too", "DirectoryOrCreate", base, "/own/roots/led");
    make_host(&w, "fine", "DirectoryOrCreate", base, "/link/a/b");
    make_host(&w, "fine-too", "DirectoryOrCreate", base, "/whole/c");
    make_host(&w, "fine-own", "DirectoryOrCreate", base, "/own/d");
    make_host(&w, "fine-file", "FileOrCreate", base, "/link/f");
    make_host(&w, "there", "DirectoryOrCreate", base, "/own/to");
    wait_phase(&w, "fine", "Succeeded");
    wait_phase(&w, "fine-too", "Succeeded");
    wait_phase(&w, "fine-own", "Succeeded");
    wait_phase(&w, "fine-file", "Succeeded");
    wait_phase(&w, "there", "Succeeded");
    assert_true(is_there(base, "/out/a/b") && is_there(base, "/out/c"));
    assert_true(is_there(base, "/own/d") && is_there(base, "/out/f"));
    assert_false(is_there(base, "/out/led"));
    assert_false(is_there(base, "/out/led-file"));
    assert_int_equal(klet_host_path_make("/proc/self/no/such", false) < 0, true);
    end(&w);
    klet_folder_remove(base);
}

/* A path that does not begin at the root is refused, and nothing is made of it. */
static void relative_host_path(void **state) {
    struct world w;
    (void)state;

    (void)rmdir("/sluice-relative");
    begin(&w, 0);
    make_host(&w, "relative", "DirectoryOrCreate", "sluice-relative", "");
    wait_reason(&w, "relative", "main", "state.waiting.message",
                "volume \"h\": hostPath sluice-relative: expected an absolute path");
    assert_false(is_there("/", "sluice-relative"));
    end(&w);
}

/* In a folder of one's own: whatever I make there stays as I made it. The first fault ends it. */
static void make_my_own(const char *path) {
    struct stat st;

    if (setgid(54321) < 0 || setuid(12345) < 0)
        _exit(2);
    for (;;) {
        if (mkdir(path, 0700) == 0)
            for (int i = 0; i < 4; i++)
                if (stat(path, &st) == 0 && st.st_uid == 12345 && (st.st_mode & 0777) != 0700)
                    _exit(1);
        (void)rmdir(path);
    }
}

/* A folder that somebody else made in the meantime keeps its mode. */
static void host_path_quicker(void **state) {
    char base[] = "/tmp/sluice-host-XXXXXX", path[100];
    int status = 0;
    (void)state;

    if (geteuid() != 0)
        skip();
    assert_non_null(mkdtemp(base));
    assert_int_equal(chown(base, 12345, 54321), 0);
    (void)snprintf(path, sizeof path, "%s/x", base);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        make_my_own(path);
    for (int i = 0; i < 100000 && waitpid(pid, &status, WNOHANG) == 0; i++)
        (void)klet_host_path_make(path, false);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status));
    klet_folder_remove(base);
}

#define TOKEN(audience, account)                                                                   \
    "\"restartPolicy\":\"Never\"," account                                                         \
    "\"volumes\":[{\"name\":\"t\",\"projected\":{\"defaultMode\":288,\"sources\":[{"               \
    "\"serviceAccountToken\":{\"audience\":\"" audience                                            \
    "\",\"expirationSeconds\":1000,\"path\":\"sub/"                                                \
    "token\"}}]}}],\"containers\":[{\"name\":\"main\","                                            \
    "\"image\":\"x\",\"command\":[\"sh\",\"-c\",\"f=$SLUICE_VOLUME_T/sub/token; stat -c %a $f; "   \
    "a=$(cat $f); echo $a; while [ $a = $(cat $f) ]; do sleep 0.05; done; cat $f\"]}]"

/* It is there when the container starts, and replaced before its time is over. */
static void token_is_renewed(void **state) {
    struct world w;
    (void)state;

    begin(&w, 0);
    make_pod(&w, "a", "", TOKEN("vault", ""));
    wait_phase(&w, "a", "Running");
    turns(&w, 200);
    leap(&w, 790 * SL_SEC); /* four fifths of its time are not over yet */
    turns(&w, 300);
    assert_string_equal(phase_of(&w, "a"), "Running");
    leap(&w, 15 * SL_SEC);
    wait_phase(&w, "a", "Succeeded");
    expect_log(&w, "a", "main", false, "440\nvault:token-1\nvault:token-2");
    end(&w);
}

struct note {
    const char *text;
    int n;
};

static void count_note(void *ctx, yyjson_val *o) {
    struct note *n = ctx;

    n->n += strstr(sl_json_str(o, "note"), n->text) != NULL;
}

static int notes(struct world *w, const char *text) {
    struct note n = {.text = text};

    (void)fakeapi_each(w->api, "/apis/events.k8s.io/v1/events", count_note, &n);
    return n.n;
}

/* Its user is told where the token is. */
static void token_without_mounts(void **state) {
    struct world w;
    (void)state;

    begin(&w, 0);
    assert_true(klet_spawner_mounts_by(w.rt->spawner, MOUNTS_NO));
    make_pod(
        &w, "a", "",
        "\"restartPolicy\":\"Never\",\"volumes\":[{\"name\":\"t\",\"projected\":{\"sources\":[{"
        "\"serviceAccountToken\":{\"path\":\"token\"}}]}}],\"containers\":[{\"name\":\"main\","
        "\"image\":\"x\",\"volumeMounts\":[{\"name\":\"t\",\"mountPath\":\"/var/run/secrets/"
        "kubernetes.io/serviceaccount\"}],\"command\":[\"sh\",\"-c\",\"cat "
        "$SLUICE_VOLUME_T/token\"]}]");
    wait_phase(&w, "a", "Succeeded");
    turns(&w, 50);
    expect_log(&w, "a", "main", false, ":token-1");
    assert_int_equal(notes(&w, "no private mounts"), 1);
    end(&w);
}

/* The pod waits, with the reason in an event. */
static void token_is_refused(void **state) {
    struct world w;
    (void)state;

    begin(&w, 0);
    make_pod(&w, "a", "", TOKEN("x", "\"serviceAccountName\":\"none\","));
    turns(&w, 300);
    assert_string_equal(phase_of(&w, "a"), "Pending");
    assert_int_equal(notes(&w, "service account token"), 1);
    delete_pod(&w, "a", 0);
    turns(&w, 50);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_mounts),
        cmocka_unit_test(mounted_as_root),
        cmocka_unit_test(mounted_as_user),
        cmocka_unit_test(working_dir),
        cmocka_unit_test(shared),
        cmocka_unit_test(what_is_missing),
        cmocka_unit_test(other_user),
        cmocka_unit_test(host_paths_are_made),
        cmocka_unit_test(relative_host_path),
        cmocka_unit_test(host_path_quicker),
        cmocka_unit_test(token_is_renewed),
        cmocka_unit_test(token_is_refused),
        cmocka_unit_test(token_without_mounts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

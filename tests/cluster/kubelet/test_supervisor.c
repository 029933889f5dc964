/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program over each container: what it knows of the server that started it, and what it does
 * with a spec that is none.
 */
#include "exec_session_fixture.h"

#include <sys/mman.h>

#include "cluster/kubelet/process/supervisor.h"
#include "cluster/kubelet/process/supervisor_image.h"
#include "core/base/prng.h"

#define HEAP ((size_t)200 << 20)
#define SECRET_PARTS "planted", "-in-the-", "server-only"
#if SL_SANITISED
#define RSS_MOST_KB 65536 /* a sanitiser's own; the server has more than three times of it */
#else
#define RSS_MOST_KB 4096
#endif

/* ---- the spec as bytes ---- */

static const char *const words[] = {"sh", "-c", "echo \"$A\"", NULL};
static const char *const vars[] = {"A=b", "EMPTY=", NULL};
static const char *const tries[] = {"/bin/sh", "/usr/bin/sh", NULL};
static const struct klet_supervisor_spec a_spec = {.run = true,
                                                   .tty = true,
                                                   .mounts = MOUNTS_USER,
                                                   .uid = 1000,
                                                   .gid = 100,
                                                   .parent = 4711,
                                                   .files = {1024, 65536}};

static struct klet_launch a_launch(void) {
    struct klet_launch l = {.argv = (const char **)words,
                            .envp = (const char **)vars,
                            .tries = (const char **)tries,
                            .cwd = "/work",
                            .root = "/root-of-it",
                            .uid = 12,
                            .gid = -1,
                            .groups = {7, 8},
                            .n_groups = 2,
                            .drop = UINT64_C(1) << 40,
                            .no_new_privs = true,
                            .cgroup_fd = -1};

    *sl_vec_push(&l.mounts) =
        (struct klet_mount_point){.from = "/a", .to = "/b", .read_only = true};
    *sl_vec_push(&l.mounts) =
        (struct klet_mount_point){.from = "/c", .to = "/d/e", .sub = "x/y", .file = true};
    return l;
}

static void encoded(struct sl_buf *out) {
    struct klet_launch l = a_launch();

    assert_int_equal(klet_spec_encode(&a_spec, &l, out, NULL), 0);
    klet_launch_done(&l);
}

/* Of a copy that ends where it ends, for those who watch over what is read. */
static int decode(const char *bytes, size_t len, struct sl_err *err) {
    char *copy = sl_alloc(len ? len : 1);
    struct klet_supervisor_spec s;
    struct klet_launch l;

    memcpy(copy, bytes, len);
    const int r = klet_spec_decode(copy, len, &s, &l, err);
    for (const char **v = r == 0 && s.run ? l.argv : NULL; v && *v; v++)
        assert_true(strlen(*v) < len);
    klet_launch_done(&l);
    sl_freep(&copy);
    return r;
}

static void same_list(const char *const *a, const char *const *b) {
    for (; *a && *b; a++, b++)
        assert_string_equal(*a, *b);
    assert_true(!*a && !*b);
}

static void there_and_back(void **state) {
    struct sl_buf b = SL_BUF(SPEC_MAX_BYTES);
    const struct klet_launch from = a_launch();
    struct klet_supervisor_spec s;
    struct klet_launch l;
    (void)state;

    encoded(&b);
    assert_int_equal(klet_spec_decode(b.s, b.len, &s, &l, NULL), 0);
    assert_true(s.run && s.tty && s.mounts == MOUNTS_USER && s.uid == 1000 && s.gid == 100);
    assert_true(s.parent == 4711 && s.files.rlim_cur == 1024 && s.files.rlim_max == 65536);
    same_list(l.argv, words);
    same_list(l.envp, vars);
    same_list(l.tries, tries);
    assert_string_equal(l.cwd, "/work");
    assert_string_equal(l.root, "/root-of-it");
    assert_null(l.writable);
    assert_true(l.uid == 12 && l.gid == -1 && l.n_groups == 2 && l.groups[0] == 7 &&
                l.groups[1] == 8 && l.drop == UINT64_C(1) << 40 && l.no_new_privs);
    assert_int_equal(l.mounts.n, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const struct klet_mount_point *m = &l.mounts.v[i], *n = &from.mounts.v[i];
        assert_string_equal(m->from, n->from);
        assert_string_equal(m->to, n->to);
        assert_true(m->read_only == n->read_only && m->file == n->file && !m->sub == !n->sub);
    }
    klet_launch_done(&l);
    klet_launch_done((struct klet_launch *)&from);
    sl_buf_done(&b);
}

static void no_specs(void **state) {
    struct sl_buf b = SL_BUF(SPEC_MAX_BYTES);
    struct sl_err err = {0};
    struct sl_prng prng;
    (void)state;

    encoded(&b);
    for (size_t n = 0; n < b.len; n++)
        assert_int_equal(decode(b.s, n, NULL), SL_EINVAL); /* cut anywhere */
    for (size_t at = 0; at < b.len; at++) { /* whatever stands in a byte, it is read or refused */
        const char was = b.s[at];
        for (int v = 0; v < 256; v += at < 64 ? 1 : 51) {
            b.s[at] = (char)v;
            (void)decode(b.s, b.len, NULL);
        }
        b.s[at] = was;
    }
    /* A zero in the place of a letter, and of the 'o' of "echo". */
    char *echo = memmem(b.s, b.len, "echo", 4);
    echo[3] = '\0';
    assert_int_equal(decode(b.s, b.len, &err), SL_EINVAL);
    assert_non_null(strstr(err.text, "zero byte"));
    echo[3] = 'o';
    b.s[4] = 9;
    assert_int_equal(decode(b.s, b.len, &err), SL_EINVAL);
    assert_non_null(strstr(err.text, "another version"));
    b.s[4] = SPEC_VERSION;
    assert_int_equal(decode(b.s, b.len, NULL), 0);
    sl_buf_putc(&b, 'x');
    assert_int_equal(decode(b.s, b.len, &err), SL_EINVAL);
    assert_non_null(strstr(err.text, "length"));
    b.len--;
    sl_prng_init(&prng, 15);
    for (int i = 0; i < 20000; i++) { /* several bytes at once, behind a head that is right */
        struct sl_buf c = SL_BUF(SPEC_MAX_BYTES);
        sl_buf_add(&c, b.s, b.len);
        for (uint32_t n = 1 + (uint32_t)sl_prng_below(&prng, 8); n > 0; n--)
            c.s[16 + sl_prng_below(&prng, b.len - 16)] = (char)sl_prng_below(&prng, 256);
        (void)decode(c.s, c.len, NULL);
        sl_buf_done(&c);
    }
    sl_buf_done(&b);
}

/* More than a supervisor takes is refused before it is started. */
static void too_large(void **state) {
    char *word = sl_alloc(SPEC_MAX_BYTES + 1);
    const char *argv[] = {"true", word, NULL};
    struct klet_launch l = a_launch();
    struct sl_buf b = SL_BUF(SPEC_MAX_BYTES);
    struct sl_err err = {0};
    (void)state;

    memset(word, 'x', SPEC_MAX_BYTES);
    word[SPEC_MAX_BYTES] = '\0';
    l.argv = argv;
    assert_int_equal(klet_spec_encode(&a_spec, &l, &b, &err), SL_ELIMIT);
    assert_non_null(strstr(err.text, "more than 16 MiB"));
    word[SPEC_MAX_BYTES - 1] = '\0';
    sl_buf_clear(&b);
    assert_int_equal(klet_spec_encode(&a_spec, &l, &b, &err), SL_ELIMIT);
    klet_launch_done(&l);
    sl_buf_done(&b);
    sl_freep(&word);
}

/* ---- the program with nonsense ---- */

/* Its exit code with these bytes as its spec, NULL: without one; what it says goes to 'said'. */
static int run_with(const char *bytes, size_t len, char *said, size_t room) {
    char path[32];
    int out[2], status;
    const int image = memfd_create("image", MFD_CLOEXEC), spec = memfd_create("spec", MFD_CLOEXEC);

    assert_int_equal(write(image, klet_supervisor_image[0].text, klet_supervisor_image[0].len),
                     klet_supervisor_image[0].len);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", image);
    const int program = open(path, O_RDONLY | O_CLOEXEC);
    (void)close(image);
    for (size_t at = 0; at < len;) {
        const ssize_t n = write(spec, bytes + at, len - at);
        assert_true(n > 0);
        at += (size_t)n;
    }
    assert_int_equal(lseek(spec, 0, SEEK_SET), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        char *const argv[] = {(char *)"supervisor", NULL};
        const int high = fcntl(spec, F_DUPFD, 100), words_fd = fcntl(out[1], F_DUPFD, 100);
        const int exe = fcntl(program, F_DUPFD_CLOEXEC, 100);
        for (int fd = 3; fd < 20; fd++)
            (void)close(fd);
        (void)dup2(words_fd, 2);
        if (bytes)
            (void)dup2(high, FD_SPEC);
        (void)close(high);
        (void)close(words_fd);
        (void)fexecve(exe, argv, environ);
        _exit(99);
    }
    (void)close(out[1]);
    (void)close(program);
    (void)close(spec);
    size_t all = 0;
    for (ssize_t n; (n = read(out[0], said + all, room - 1 - all)) > 0;)
        all += (size_t)n;
    said[all] = '\0';
    (void)close(out[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void malformed_specs(void **state) {
    struct sl_buf b = SL_BUF(SPEC_MAX_BYTES);
    char *big = sl_alloc0(1, SPEC_MAX_BYTES + 2), said[4096];
    (void)state;

    assert_int_equal(run_with(NULL, 0, said, sizeof said), SUPERVISOR_BY_HAND);
    assert_non_null(strstr(said, "started by `sluice up`"));
    assert_int_equal(run_with("", 0, said, sizeof said), SUPERVISOR_BAD_SPEC);
    assert_non_null(strstr(said, "no spec of a supervisor: it is cut"));
    encoded(&b);
    assert_int_equal(run_with(b.s, b.len / 2, said, sizeof said), SUPERVISOR_BAD_SPEC);
    assert_int_equal(run_with(big, 4096, said, sizeof said), SUPERVISOR_BAD_SPEC);
    assert_non_null(strstr(said, "does not begin like one"));
    memcpy(big, b.s, b.len);
    assert_int_equal(run_with(big, SPEC_MAX_BYTES + 2, said, sizeof said), SUPERVISOR_BAD_SPEC);
    assert_non_null(strstr(said, "too long"));
    b.s[4]++;
    assert_int_equal(run_with(b.s, b.len, said, sizeof said), SUPERVISOR_BAD_SPEC);
    assert_non_null(strstr(said, "another version"));
    b.s[4]--;
    /* A whole one of somebody else: there is nothing to do. */
    assert_int_equal(run_with(b.s, b.len, said, sizeof said), SUPERVISOR_OK);
    assert_string_equal(said, "");
    sl_buf_done(&b);
    sl_freep(&big);
}

struct notes {
    uint32_t started, not, ended;
    int code;
    char text[200];
};

static void take_note(void *ctx, const struct klet_proc_note *n) {
    struct notes *to = ctx;

    to->started += n->event == PROC_STARTED;
    to->not += n->event == PROC_FAILED;
    to->ended += n->event == PROC_ENDED;
    to->code = n->code;
    if (n->text)
        (void)snprintf(to->text, sizeof to->text, "%s", n->text);
}

/* One that refuses its spec is not a container that was killed. */
static void refuses_its_spec(void **state) {
    uv_loop_t loop;
    struct klet_spawner *s = NULL;
    struct klet_launch l = a_launch();
    struct notes notes = {0};
    struct klet_proc *p;
    struct sl_err err = {0};
    (void)state;

    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(klet_spawner_new(&loop, 0, "/tmp", &s, &err), 0);
    l.mounts.v[0].to = "nowhere";
    assert_int_equal(
        klet_proc_start(s, &l, &(struct klet_proc_io){.fn = take_note, .ctx = &notes}, &p, &err),
        0);
    while (notes.ended == 0)
        (void)uv_run(&loop, UV_RUN_ONCE);
    assert_true(notes.started == 0 && notes.not == 1 && notes.code == 128);
    assert_string_equal(notes.text, "the supervisor of the container ended with exit code 3");
    klet_spawner_free(s);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    klet_launch_done(&l);
}

/* ---- what a supervisor has of the server ---- */

static void read_proc(pid_t pid, const char *what, char *out, size_t room) {
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t all = 0;
    for (ssize_t n; fd >= 0 && all < room - 1 && (n = read(fd, out + all, room - 1 - all)) > 0;)
        all += (size_t)n;
    out[all] = '\0';
    if (fd >= 0)
        (void)close(fd);
}

/* Those whose parent we are. */
static uint32_t supervisors(pid_t out[], uint32_t room) {
    DIR *d = opendir("/proc");
    uint32_t n = 0;

    for (const struct dirent *e; d && (e = readdir(d));) {
        const pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        char text[512];
        read_proc(pid, "stat", text, sizeof text);
        const char *at = pid > 0 ? strrchr(text, ')') : NULL;
        if (at && strlen(at) > 4 && strtol(at + 4, NULL, 10) == getpid() && n < room)
            out[n++] = pid;
    }
    if (d)
        (void)closedir(d);
    return n;
}

/* Does the memory of a process hold this text anywhere? */
static bool holds(pid_t pid, const char *text) {
    static char maps[65536], chunk[1 << 20];
    char path[64];
    bool found = false;

    read_proc(pid, "maps", maps, sizeof maps);
    (void)snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    const int mem = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(mem >= 0);
    for (char *line = maps, *next; *line && !found; line = next) {
        char *at;
        next = line + strcspn(line, "\n");
        next += *next == '\n';
        unsigned long from = strtoul(line, &at, 16); /* "from-to rwxp ..." */
        const unsigned long to = strtoul(at + 1, &at, 16);
        if (at[1] != 'r')
            continue;
        if (to - from > ((unsigned long)1 << 32)) /* the shadow of a sanitiser */
            continue;
        for (ssize_t n; from < to && !found; from += (unsigned long)n) {
            const size_t want = to - from < sizeof chunk ? to - from : sizeof chunk;
            if ((n = pread(mem, chunk, want, (off_t)from)) <= 0)
                break;
            found = memmem(chunk, (size_t)n, text, strlen(text));
        }
    }
    (void)close(mem);
    return found;
}

/* "0=/dev/null 1=/dev/null ..." with what changes left out. */
static void descriptors(pid_t pid, struct sl_buf *out) {
    sl_buf_clear(out);
    for (int fd = 0; fd < 4096; fd++) {
        char path[64], to[256];
        (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
        const ssize_t n = readlink(path, to, sizeof to - 1);
        if (n < 0)
            continue;
        to[n] = '\0';
        to[strcspn(to, "[0123456789")] = '\0';
        sl_buf_printf(out, "%d=%s ", fd, to);
    }
}

static long rss_kb(pid_t pid) {
    char text[8192];

    read_proc(pid, "status", text, sizeof text);
    const char *at = strstr(text, "VmRSS:");
    return at ? strtol(at + 6, NULL, 10) : -1;
}

static void look_at_one(struct world *w, pid_t pid, const char *secret, const char *own,
                        const char *fds) {
    struct sl_buf b = SL_BUF(65536);
    char text[4096];

    /* Its command may have spoken before it had put the rest away. */
    for (const sl_time until = real_now() + PATIENCE;
         descriptors(pid, &b), strcmp(sl_buf_str(&b), fds) != 0; turn(w))
        if (real_now() > until)
            fail_msg("%s", sl_buf_str(&b));
    assert_false(holds(pid, secret));
    assert_false(holds(pid, own));
    read_proc(pid, "comm", text, sizeof text);
    assert_string_equal(text, "sluice-superv\n");
    read_proc(pid, "environ", text, sizeof text);
    assert_null(strstr(text, "PATH=/"));
#if !SL_SANITISED
    assert_string_equal(text, "");
#endif
    assert_in_range(rss_kb(pid), 1, RSS_MOST_KB);
    sl_buf_done(&b);
}

/* A server with a large heap, a secret in it, and a descriptor that nobody marked. */
static void knows_nothing(void **state) {
    struct world w;
    struct session_events e, t;
    char secret[64], *heap = sl_alloc(HEAP);
    pid_t pids[8];
    (void)state;

    (void)snprintf(secret, sizeof secret, "%s%s%s", SECRET_PARTS);
    for (size_t at = 0; at + sizeof secret < HEAP; at += 4096)
        memcpy(heap + at, secret, sizeof secret);
    const int open_fd = open("/etc/passwd", O_RDONLY); /* not closed by an exec */
    begin(&w, 0);
    make_object(&w, "/api/v1/namespaces/default/secrets",
                "{\"metadata\":{\"name\":\"s\"},\"data\":{\"k\":\"b2YtdGhlLWNvbnRhaW5lcg==\"}}");
    make_pod(&w, "a", "",
             "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"x\","
             "\"env\":[{\"name\":\"V\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"s\",\"key\":"
             "\"k\"}}}],\"command\":[\"sh\",\"-c\",\"echo $V; ls /proc/self/fd | tr '\\\\n' ' '; "
             "echo; exec sleep 1000\"]}]");
    WAIT(&w, sl_json_at(status_of(&w, "a", "main"), "state.running"));
    wait_reported(&w, "a");
    assert_int_equal(supervisors(pids, SL_LEN(pids)), 1);
    assert_true(holds(getpid(), secret)); /* so it would be found */
    look_at_one(&w, pids[0], secret, "of-the-container",
                "0=/dev/null 1=/dev/null 2=/dev/null 3=pipe: ");
    const pid_t first = pids[0];

    open_sh(&w, &e, "a", "ioe", "echo here; cat");
    WAIT(&w, e.out.len > 0);
    assert_int_equal(supervisors(pids, SL_LEN(pids)), 2);
    look_at_one(&w, pids[pids[0] == first], secret, "of-the-container",
                "0=/dev/null 1=/dev/null 2=/dev/null 3=pipe: ");
    feed_end(&e);
    WAIT(&w, e.endings > 0);
    open_sh(&w, &t, "a", "iot", "echo here; cat");
    WAIT(&w, t.out.len > 0);
    assert_int_equal(supervisors(pids, SL_LEN(pids)), 2);
    look_at_one(&w, pids[pids[0] == first], secret, "of-the-container",
                "0=/dev/pts/ 1=/dev/pts/ 2=/dev/pts/ 3=pipe: ");
    type(&t, "\004");
    WAIT(&w, t.endings > 0);
    expect_log(&w, "a", "main", false, "of-the-container\n0 1 2 3 \n"); /* 3 is the listing */
    close_ear(&e);
    close_ear(&t);
    delete_pod(&w, "a", 0);
    wait_phase(&w, "a", "gone");
    end(&w);
    (void)close(open_fd);
    sl_freep(&heap);
}

/* The first descriptors of the server are where the supervisor's go. */
static void low_descriptors(void **state) {
    struct world w;
    int kept[FD_FREE];
    (void)state;

    for (int fd = 3; fd < FD_FREE; fd++) {
        kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 200);
        (void)close(fd);
    }
    begin(&w, 0);
    make_sh(&w, "a", "Never", "echo out; echo err >&2; ls /proc/self/fd | tr '\\n' ' '");
    wait_phase(&w, "a", "Succeeded");
    expect_log(&w, "a", "main", false, "out\nerr\n0 1 2 3 ");
    end(&w);
    for (int fd = 3; fd < FD_FREE; fd++)
        if (kept[fd] >= 0) {
            (void)dup2(kept[fd], fd);
            (void)close(kept[fd]);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),   cmocka_unit_test(no_specs),
        cmocka_unit_test(too_large),        cmocka_unit_test(malformed_specs),
        cmocka_unit_test(refuses_its_spec), cmocka_unit_test(knows_nothing),
        cmocka_unit_test(low_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

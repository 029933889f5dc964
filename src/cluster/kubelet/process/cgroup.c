/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes may only be in leaf cgroups, so ours, if it is to have children with limits, must be
 * empty: if it contains no other process, we move to a leaf of our own.
 */
#include "cluster/kubelet/process/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "lib/log/log.h"

#define PERIOD_USEC 100000
#define PODS "sluice.pods."

struct klet_cgroups {
    char *root; /* where those of containers are; NULL: none */
};

static int write_file(const char *folder, const char *file, const char *text) {
    char path[PATH_MAX];

    sl_fmt(path, sizeof path, "%s/%s", folder, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_CREAT, 0644); /* no cgroup lets files be made */
    if (fd < 0)
        return -errno;
    ssize_t n = write(fd, text, strlen(text));
    int r = n < 0 ? -errno : 0;
    (void)close(fd);
    return r;
}

static bool read_file(const char *folder, const char *file, char *out, size_t size) {
    char path[PATH_MAX];

    sl_fmt(path, sizeof path, "%s/%s", folder, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0)
        (void)close(fd);
    out[n > 0 ? n : 0] = '\0';
    return n >= 0;
}

/* The folder of the cgroup that we are in: where cgroup2 is mounted, and the line "0::/path". */
static bool own_folder(char out[PATH_MAX]) {
    char mounts[PATH_MAX] = "", line[4096], group[2048] = "";
    FILE *f = fopen("/proc/self/mountinfo", "re");

    while (f && fgets(line, sizeof line, f))
        if (strstr(line, " - cgroup2 ") && sscanf(line, "%*s %*s %*s %*s %2047s", mounts) == 1)
            break;
    if (f)
        (void)fclose(f);
    f = fopen("/proc/self/cgroup", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "0::%2047s", group) == 1)
            break;
    if (f)
        (void)fclose(f);
    if (!*mounts || group[0] != '/')
        return false;
    return snprintf(out, PATH_MAX, "%s%s", mounts, strcmp(group, "/") == 0 ? "" : group) < PATH_MAX;
}

/* Are we alone in it? */
static bool alone(const char *folder) {
    char procs[64], self[32];

    sl_fmt(self, sizeof self, "%d\n", (int)getpid());
    return read_file(folder, "cgroup.procs", procs, sizeof procs) && strcmp(procs, self) == 0;
}

/* With those of its containers. One that is in use stays. */
static void remove_pods(const char *folder) {
    DIR *d = opendir(folder);

    for (const struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.' && e->d_type == DT_DIR)
            (void)unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
    if (d)
        (void)closedir(d);
    (void)rmdir(folder);
}

/* What a run that was killed has left. */
static void remove_old(const char *own) {
    DIR *d = opendir(own);
    char path[PATH_MAX];

    for (const struct dirent *e; d && (e = readdir(d));)
        if (strncmp(e->d_name, PODS, sizeof PODS - 1) == 0 &&
            snprintf(path, sizeof path, "%s/%s", own, e->d_name) < (int)sizeof path)
            remove_pods(path);
    if (d)
        (void)closedir(d);
}

static bool prepare(const char *own, char pods[PATH_MAX]) {
    char have[512], leaf[PATH_MAX];

    if (!read_file(own, "cgroup.controllers", have, sizeof have) || !strstr(have, "cpu") ||
        !strstr(have, "memory"))
        return false;
    const char *want = strstr(have, "pids") ? "+cpu +memory +pids" : "+cpu +memory";
    if (write_file(own, "cgroup.subtree_control", want) < 0) {
        if (!alone(own) || snprintf(leaf, sizeof leaf, "%s/sluice.self", own) >= PATH_MAX ||
            (mkdir(leaf, 0755) < 0 && errno != EEXIST) ||
            write_file(leaf, "cgroup.procs", "0") < 0 ||
            write_file(own, "cgroup.subtree_control", want) < 0)
            return false;
    }
    remove_old(own);
    if (snprintf(pods, PATH_MAX, "%s/" PODS "%d", own, (int)getpid()) >= PATH_MAX)
        return false;
    if ((mkdir(pods, 0755) < 0 && errno != EEXIST) ||
        write_file(pods, "cgroup.subtree_control", want) < 0)
        return false;
    return true;
}

struct klet_cgroups *klet_cgroups_new(const char *root) {
    struct klet_cgroups *g = sl_alloc0(1, sizeof *g);
    char own[PATH_MAX], pods[PATH_MAX];

    if (root)
        sl_fmt(own, sizeof own, "%s", root);
    if ((root || own_folder(own)) && prepare(own, pods))
        g->root = sl_strdup(pods);
    else
        sl_log(SL_LOG_INFO, "no writable cgroup v2 hierarchy, container limits not enforced");
    return g;
}

void klet_cgroups_free(struct klet_cgroups *g) {
    if (!g)
        return;
    if (g->root)
        remove_pods(g->root);
    sl_freep(&g->root);
    sl_freep(&g);
}

bool klet_cgroups_on(const struct klet_cgroups *g) {
    return g->root != NULL;
}

int klet_cgroup_open(const char *folder) {
    char procs[PATH_MAX];

    sl_fmt(procs, sizeof procs, "%.*s/cgroup.procs", (int)sizeof procs - 16, folder);
    return open(procs, O_WRONLY | O_CLOEXEC | O_CREAT, 0644);
}

int klet_cgroup_make(struct klet_cgroups *g, const char *name, int64_t cpu_milli,
                     int64_t memory_bytes, char **ret_folder) {
    char folder[PATH_MAX], text[64];

    if (!g->root || snprintf(folder, sizeof folder, "%s/%s", g->root, name) >= PATH_MAX ||
        (mkdir(folder, 0755) < 0 && errno != EEXIST))
        return -1;
    sl_fmt(text, sizeof text, "%u", CGROUP_PIDS);
    (void)write_file(folder, "pids.max", text);
    if (cpu_milli > 0) {
        sl_fmt(text, sizeof text, "%lld %d",
               (long long)(cpu_milli < 10 ? 10 : cpu_milli) * (PERIOD_USEC / 1000), PERIOD_USEC);
        (void)write_file(folder, "cpu.max", text);
    }
    if (memory_bytes > 0) {
        sl_fmt(text, sizeof text, "%lld", (long long)memory_bytes);
        (void)write_file(folder, "memory.max", text);
        (void)write_file(folder, "memory.swap.max", "0");
        (void)write_file(folder, "memory.oom.group", "1");
    }
    *ret_folder = sl_strdup(folder);
    return klet_cgroup_open(folder);
}

bool klet_cgroup_oom(const char *folder) {
    char text[512], *p;

    if (!read_file(folder, "memory.events", text, sizeof text))
        return false;
    p = strstr(text, "oom_kill ");
    return p && strtol(p + 9, NULL, 10) > 0;
}

void klet_cgroup_remove(const char *folder) {
    (void)rmdir(folder);
}

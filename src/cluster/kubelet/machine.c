/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kubelet/machine.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "core/base/fmt.h"

static void first_line(const char *path, char *out, size_t size) {
    FILE *f = fopen(path, "re");

    *out = '\0';
    if (f && fgets(out, (int)size, f))
        out[strcspn(out, "\n")] = '\0';
    if (f)
        (void)fclose(f);
}

static int64_t memory_total(void) {
    FILE *f = fopen("/proc/meminfo", "re");
    static const char head[] = "MemTotal:";
    long long kib = 0;
    char line[200];

    while (f && kib == 0 && fgets(line, sizeof line, f))
        if (strncmp(line, head, sizeof head - 1) == 0)
            kib = strtoll(line + sizeof head - 1, NULL, 10);
    if (f)
        (void)fclose(f);
    return kib * 1024;
}

static void os_name(char *out, size_t size) {
    FILE *f = fopen("/etc/os-release", "re");
    char line[200];

    sl_fmt_short(out, size, "Linux");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "PRETTY_NAME=\"", 13) == 0) {
            line[13 + strcspn(line + 13, "\"\n")] = '\0';
            sl_fmt_short(out, size, "%.100s", line + 13);
        }
    if (f)
        (void)fclose(f);
}

void klet_machine_address(char out[64]) {
    struct ifaddrs *all = NULL;

    sl_fmt(out, 64, "127.0.0.1");
    if (getifaddrs(&all) < 0)
        return;
    for (struct ifaddrs *a = all; a; a = a->ifa_next)
        if (a->ifa_addr && a->ifa_addr->sa_family == AF_INET && (a->ifa_flags & IFF_UP) &&
            !(a->ifa_flags & IFF_LOOPBACK)) {
            (void)inet_ntop(AF_INET,
                            &((const struct sockaddr_in *)(const void *)a->ifa_addr)->sin_addr, out,
                            64);
            break;
        }
    freeifaddrs(all);
}

void klet_machine_inspect(struct klet_machine *m, const char *dir) {
    cpu_set_t cpus;
    struct statvfs fs;

    m->cpu_milli =
        INT64_C(1000) * (sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1);
    m->memory_bytes = memory_total();
    if (statvfs(dir, &fs) == 0)
        m->disk_bytes = (int64_t)fs.f_blocks * (int64_t)fs.f_frsize;
    (void)uname(&m->uts);
    os_name(m->os, sizeof m->os);
    first_line("/etc/machine-id", m->machine_id, sizeof m->machine_id);
    first_line("/proc/sys/kernel/random/boot_id", m->boot_id, sizeof m->boot_id);
}

const char *klet_machine_arch(const struct klet_machine *m) {
    return strcmp(m->uts.machine, "x86_64") == 0    ? "amd64"
           : strcmp(m->uts.machine, "aarch64") == 0 ? "arm64"
                                                    : m->uts.machine;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this machine is, as far as its Node reports it: read once, at the start.
 */
#ifndef SL_CLUSTER_KUBELET_MACHINE_H
#define SL_CLUSTER_KUBELET_MACHINE_H

#include <stdint.h>
#include <sys/utsname.h>

struct klet_machine {
    int64_t cpu_milli, memory_bytes, disk_bytes;
    struct utsname uts;
    char os[120], machine_id[64], boot_id[64];
};

/* 'dir' is on the disk that counts. What cannot be read is empty. */
void klet_machine_inspect(struct klet_machine *m, const char *dir);
/* "amd64": as Kubernetes calls it. */
const char *klet_machine_arch(const struct klet_machine *m);
/* The first address of IPv4 that is not loopback. */
void klet_machine_address(char out[64]);

#endif

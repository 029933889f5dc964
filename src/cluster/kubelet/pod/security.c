/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The securityContext of a container: what of it holds here. Users, groups, capabilities and the
 * refusal of root as a kubelet has them; the file system can be made read-only where there are
 * mount namespaces. seccomp, SELinux, AppArmor, procMount, privileged and hostUsers do nothing: the
 * client is warned of those when the pod is made.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cluster/kubelet/kubelet_int.h"
#include "lib/json/json.h"

/* By their numbers. */
static const char *const capabilities[] = {"CHOWN",
                                           "DAC_OVERRIDE",
                                           "DAC_READ_SEARCH",
                                           "FOWNER",
                                           "FSETID",
                                           "KILL",
                                           "SETGID",
                                           "SETUID",
                                           "SETPCAP",
                                           "LINUX_IMMUTABLE",
                                           "NET_BIND_SERVICE",
                                           "NET_BROADCAST",
                                           "NET_ADMIN",
                                           "NET_RAW",
                                           "IPC_LOCK",
                                           "IPC_OWNER",
                                           "SYS_MODULE",
                                           "SYS_RAWIO",
                                           "SYS_CHROOT",
                                           "SYS_PTRACE",
                                           "SYS_PACCT",
                                           "SYS_ADMIN",
                                           "SYS_BOOT",
                                           "SYS_NICE",
                                           "SYS_RESOURCE",
                                           "SYS_TIME",
                                           "SYS_TTY_CONFIG",
                                           "MKNOD",
                                           "LEASE",
                                           "AUDIT_WRITE",
                                           "AUDIT_CONTROL",
                                           "SETFCAP",
                                           "MAC_OVERRIDE",
                                           "MAC_ADMIN",
                                           "SYSLOG",
                                           "WAKE_ALARM",
                                           "BLOCK_SUSPEND",
                                           "AUDIT_READ",
                                           "PERFMON",
                                           "BPF",
                                           "CHECKPOINT_RESTORE"};

static yyjson_val *of_pod(const struct klet_container *c) {
    return sl_json_at(yyjson_doc_get_root(c->pod->local->doc), "spec.securityContext");
}

static int64_t id_of(struct klet_container *c, const char *what) {
    const int64_t id = sl_json_int(sl_json_at(c->spec, "securityContext"), what, -1);

    return id >= 0 ? id : sl_json_int(of_pod(c), what, -1);
}

void klet_users_of(struct klet_container *c, struct klet_users *ret) {
    *ret = (struct klet_users){.uid = id_of(c, "runAsUser"),
                               .gid = id_of(c, "runAsGroup"),
                               .fs_group = sl_json_int(of_pod(c), "fsGroup", -1)};
    if (ret->gid < 0 && ret->uid > 0)
        ret->gid = 0;
}

static int check_root(struct klet_container *c, const struct klet_users *u, struct sl_err *err) {
    const bool of_all = sl_json_bool(of_pod(c), "runAsNonRoot", false);
    const int64_t uid = u->uid >= 0 ? u->uid : (int64_t)geteuid();

    if (!sl_json_bool(sl_json_at(c->spec, "securityContext"), "runAsNonRoot", of_all) || uid != 0)
        return 0;
    return sl_err_set(err, SL_EINVAL, "%s (pod: \"%.80s\", container: %.63s)",
                      u->uid == 0 ? "container's runAsUser breaks non-root policy"
                                  : "container has runAsNonRoot and image will run as root",
                      c->pod->name, c->name);
}

/* Sets or clears the bits of a list of names. */
static int take_caps(yyjson_val *list, bool drop, uint64_t *mask, struct sl_err *err) {
    yyjson_val *one;
    size_t i, n;

    yyjson_arr_foreach (list, i, n, one) {
        const char *name = sl_json_text(one);
        uint64_t bits = 0;
        name += strncasecmp(name, "CAP_", 4) == 0 ? 4 : 0;
        for (size_t k = 0; k < SL_LEN(capabilities); k++)
            if (strcasecmp(name, capabilities[k]) == 0)
                bits = (uint64_t)1 << k;
        if (strcasecmp(name, "ALL") == 0)
            bits = UINT64_MAX;
        if (!bits)
            return sl_err_set(err, SL_EINVAL, "unknown capability \"%.80s\" to %s", name,
                              drop ? "drop" : "add");
        *mask = drop ? *mask | bits : *mask & ~bits;
    }
    return 0;
}

/* Beyond it Linux would take another one: 4294967296 is root. */
static int check_id(int64_t id, struct sl_err *err) {
    return id <= INT32_MAX
               ? 0
               : sl_err_set(err, SL_EINVAL,
                            "the securityContext names %lld: a user or group is between "
                            "0 and %d",
                            (long long)id, INT32_MAX);
}

static int add_group(struct klet_launch *l, int64_t gid, struct sl_err *err) {
    sl_assert(l->n_groups < LAUNCH_GROUPS);
    if (gid >= 0)
        l->groups[l->n_groups++] = (gid_t)gid;
    return check_id(gid, err);
}

static int take_users(struct klet_container *c, const struct klet_users *u, struct klet_launch *l,
                      struct sl_err *err) {
    yyjson_val *more = sl_json_at(of_pod(c), "supplementalGroups"), *one;
    size_t i, n;
    int r = check_id(u->uid, err);

    if (r == 0)
        r = check_id(u->gid, err);
    l->uid = u->uid;
    l->gid = u->gid;
    if (yyjson_arr_size(more) >= LAUNCH_GROUPS)
        return sl_err_set(err, SL_ELIMIT, "more than %u supplementalGroups", LAUNCH_GROUPS - 1);
    yyjson_arr_foreach (more, i, n, one) {
        r = r < 0 ? r : add_group(l, yyjson_is_int(one) ? yyjson_get_sint(one) : -1, err);
    }
    r = r < 0 ? r : add_group(l, u->fs_group, err);
    if (l->n_groups > 0 && l->gid < 0)
        l->gid = (int64_t)getegid();
    return r;
}

int klet_security_apply(struct klet_container *c, struct klet_launch *l, struct sl_err *err) {
    yyjson_val *own = sl_json_at(c->spec, "securityContext");
    struct klet_users u;

    klet_users_of(c, &u);
    int r = check_root(c, &u, err);
    if (r == 0 && geteuid() == 0) {
        r = take_users(c, &u, l, err);
        if (r == 0)
            r = take_caps(sl_json_at(own, "capabilities.drop"), true, &l->drop, err);
        if (r == 0)
            r = take_caps(sl_json_at(own, "capabilities.add"), false, &l->drop, err);
    }
    /* Set-user-ID programs are the machine's, and trust its files. In a container with volumes in
     * their place, perhaps in that of /etc, they give root only if the pod allows it. */
    l->no_new_privs =
        !sl_json_bool(own, "allowPrivilegeEscalation", !(l->uid > 0 && l->mounts.n > 0));
    if (sl_json_bool(own, "readOnlyRootFilesystem", false) &&
        klet_spawner_mounts(c->pod->rt->spawner))
        l->writable = c->pod->local->folder;
    return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the runtime. One record per pod on one of our nodes; a pod of this machine has a
 * 'klet_local_pod' part besides. All is level-triggered: an event (an object, the exit of a
 * process, a deadline) enqueues a pod, and sl_kubelet_tick reconciles each enqueued pod once
 * (klet_pod_sync, klet_sim_sync): starts, stops, sets its next deadline, and enqueues a write of
 * its status if that has changed.
 */
#ifndef SL_CLUSTER_KUBELET_KUBELET_INT_H
#define SL_CLUSTER_KUBELET_KUBELET_INT_H

#include <yyjson.h>

#include "cluster/kubelet/kubelet.h"
#include "cluster/kubelet/pod/logs.h"
#include "cluster/kubelet/process/cgroup.h"
#include "cluster/kubelet/process/spawn.h"
#include "kube/informer/informer.h"

#define BACKOFF_FIRST (10 * SL_SEC)
#define BACKOFF_MOST (5 * SL_MINUTE)
#define BACKOFF_RESET (10 * SL_MINUTE) /* the back-off is reset after running that long */
#define SIM_LABEL "sluice.dev/simulated"
#define LOCAL_TAINT "sluice.dev/real"
#define EXIT_CODE "sluice.dev/exit-code"

enum klet_role { ROLE_INIT, ROLE_SIDECAR, ROLE_MAIN };
enum klet_cstate { C_WAITING, C_STARTING, C_RUNNING, C_ENDED };

/* How a run ended; times are of the wall. */
struct klet_ending {
    bool is;
    int code;
    const char *reason;
    char *message;
    sl_time started, finished;
    uint32_t run;
};

enum klet_probe_kind { PROBE_STARTUP, PROBE_READY, PROBE_LIVE, PROBES };

struct klet_probe {
    bool is, ok, started; /* the last result; whether it is being checked yet */
    uint32_t row;         /* consecutive equal results */
    bool answer;
    sl_time at, until; /* mono: next check; timeout of the current one */
    struct klet_handler_call *call;
};

struct klet_pod;

struct klet_container {
    struct klet_pod *pod;
    yyjson_val *spec; /* of one on this machine */
    char *name, *image;
    enum klet_role role;
    enum klet_cstate state;
    const char *waiting; /* a reason, while it waits */
    char *message;
    struct klet_ending now, last;
    uint32_t restarts;
    bool ready, up; /* 'up': its startup probe, if any, has succeeded */
    sl_span backoff;
    sl_time start_at;     /* mono: not before */
    bool reported_mounts; /* that its volumes are not where it has them mounted */
    sl_time started_mono, started_wall;
    sl_time kill_at; /* mono: SIGTERM was sent; then SIGKILL. SL_TIME_NEVER: not stopping */
    sl_time term_at; /* mono: when a preStop hook has had its time. SL_TIME_NEVER: none runs */
    bool ending, terminated; /* it is being stopped; SIGTERM was sent */
    bool posting;    /* it runs, and its postStart hook too: it is not started before that */
    sl_time post_at; /* mono: when a hook of type sleep is done */
    struct klet_proc *proc;
    struct klet_handler_call *hook;
    uint32_t attached; /* sessions that get its output */
    struct klet_logfile *log;
    char *cgroup;
    char *env; /* the variables of this run, each ended by a zero */
    size_t env_len;
    struct klet_probe probes[PROBES];
};

struct klet_ref {
    bool secret, optional;
    char *name;
    sl_kube_call call;
    bool known;
    yyjson_doc *doc; /* NULL with 'known': there is none, or it cannot be read */
    char *why;       /* that it cannot */
    struct klet_pod *pod;
};

/* The token of a projected volume. */
struct klet_token {
    struct klet_pod *pod;
    char *volume, *path, *audience; /* audience: "" is the API server */
    int64_t seconds;
    unsigned mode;
    sl_kube_call call;
    bool answered;
    char *text, *why; /* text NULL: there is none, and why */
    sl_time renew_at; /* mono */
};

/* Of a pod on this machine. */
struct klet_local_pod {
    char *text;      /* the object, without managedFields */
    yyjson_doc *doc; /* the same, read */
    char *folder;
    SL_VEC(struct klet_ref) refs;
    bool refs_requested, volumes; /* refs were requested or are here; the volumes are populated */
    sl_time refs_at;
    SL_VEC(struct klet_token) tokens;
    bool tokens_requested;
    sl_kube_call services_call;
    yyjson_doc *services; /* of its namespace; NULL: not read, or not wanted */
    bool services_known;
    sl_time services_at;                   /* mono: not requested before */
    SL_VEC(struct sl_json_fields) lookups; /* while 'lookups_open' */
    bool lookups_open;
};

enum { COND_START, COND_INIT, COND_READY, COND_CONTAINERS, CONDS };

struct klet_pod {
    struct sl_kubelet *rt;
    uint32_t slot, place; /* its number; its place in the heap of deadlines */
    char *ns, *name, *uid, *version, *node;
    struct klet_local_pod *local; /* NULL: on a simulated node */
    struct klet_container *cs;
    uint32_t n_cs;
    enum { ALWAYS, ON_FAILURE, NEVER } policy;
    char *foreign; /* conditions of others, an array of JSON */
    bool gates;    /* all readiness gates are true */
    struct {
        bool is, known;
        sl_time since;
    } conds[CONDS];
    sl_time start; /* wall: status.startTime; 0: not yet */
    int64_t generation;
    sl_span grace;    /* terminationGracePeriodSeconds, or of the deletion */
    sl_time deadline; /* mono: activeDeadlineSeconds; or the end of a simulated run */
    sl_time due;      /* mono: next reconcile */
    bool dirty, seen, deleting;
    bool stopping, ended; /* all its containers are being stopped; have terminated for good */
    bool fixed;           /* it had ended before we saw it: its status is not ours to change */
    bool inited;          /* its init containers are through */
    bool deleted;         /* the deletion was confirmed to the API */
    bool lost;            /* deleted in the API */
    const char *phase;    /* when ended */
    const char *reason;   /* of the pod's end, if it was not its containers' */
    const char *message;
    int sim_code;    /* of one on a simulated node */
    sl_span sim_for; /* how long it runs there */
    uint64_t reported_hash,
        reporting_hash; /* hashes of the status that was written, and that is on its way */
    bool reported_end, reporting_end; /* whether it reports that the pod has ended */
};

enum klet_slot_kind { SLOT_FREE, SLOT_POD, SLOT_NODE, SLOT_LEASE };
struct klet_slot {
    enum klet_slot_kind kind;
    struct klet_pod *pod;
    struct klet_node *node;
};

struct sl_kubelet {
    struct uv_loop_s *loop;
    struct sl_kube_client *client;
    char *dir, *node;
    char *api;        /* where pods find the API server, "127.0.0.1:6443"; NULL: nowhere */
    char address[64]; /* of this machine */
    struct sl_kubelet_sim_nodes sim;
    int (*renew_lease)(void *ctx, const char *node, struct sl_err *err);
    void *renew_ctx;
    SL_VEC(struct klet_slot) slots;
    SL_VEC(uint32_t) free_slots;
    struct sl_map by_name;  /* pods */
    struct sl_map finished; /* hashes of uids: pods that have ended, as long as the API has them. An
                               older state of one that still comes does not make it run again */
    struct sl_heap timers;
    SL_VEC(uint32_t) dirty;
    struct sl_reflector *pods;
    struct sl_writer *writer;
    struct klet_nodes *nodes;
    struct klet_spawner *spawner;
    struct klet_cgroups *cgroups;
    struct klet_exec_session *sessions;
    sl_time exec_at;  /* mono: the same of exec sessions */
    sl_time event_at; /* mono: rate limit of events */
    uint32_t events;
    bool stopped;
    sl_time sweep_at; /* mono: when to remove directories of deleted pods */
};

/* ---- kubelet.c ---- */
uint32_t klet_slot_new(struct sl_kubelet *r, enum klet_slot_kind kind);
void klet_slot_free(struct sl_kubelet *r, uint32_t slot);
void klet_pod_enqueue(struct klet_pod *p);
/* Reconcile again at 'at' at the latest; dropped when the pod is reconciled. */
void klet_pod_enqueue_at(struct klet_pod *p, sl_time at);
void klet_pod_report_status(struct klet_pod *p); /* its status may have changed */
void klet_pods_take(struct sl_kubelet *r, const struct sl_kube_reply *rp); /* a list of them */
void klet_pod_drop(struct klet_pod *p); /* the object is gone: so is all we have of it */

/* ---- node.c ---- */
void klet_nodes_begin(struct sl_kubelet *r);
void klet_nodes_free(struct sl_kubelet *r);
void klet_nodes_tick(struct sl_kubelet *r);
sl_time klet_nodes_next(const struct sl_kubelet *r);
bool klet_nodes_ready(const struct sl_kubelet *r);
/* lease.c, through node.c: of the slots of kind SLOT_LEASE. */
struct klet_node;
bool klet_lease_build(struct sl_kubelet *r, struct klet_node *n, struct sl_write *w);
void klet_lease_done(struct sl_kubelet *r, struct klet_node *n, enum sl_written how);
bool klet_node_build(struct sl_kubelet *r, uint32_t slot, struct sl_write *w);
void klet_node_done(struct sl_kubelet *r, uint32_t slot, enum sl_written how,
                    const struct sl_kube_reply *rp);
void klet_node_read(struct sl_kubelet *r, uint32_t slot, const struct sl_kube_reply *rp);
enum klet_node_owner {
    NODE_OWNER_OTHER,
    NODE_OWNER_LOCAL,
    NODE_OWNER_SIM,
    NODE_OWNER_LOST
}; /* LOST: a simulated node of an earlier run */
enum klet_node_owner klet_node_owner_of(const struct sl_kubelet *r, const char *name);
bool klet_node_is_virtual(const struct sl_kubelet *r, const char *name);
/* What a container may use of this machine: "cpu" in milli, "memory" and "ephemeral-storage" in
 * bytes. */
int64_t klet_node_allocatable(const struct sl_kubelet *r, const char *resource);

/* ---- pod/pod.c ---- */
void klet_pod_take(struct sl_kubelet *r, yyjson_val *o);
struct klet_pod *klet_pod_find(struct sl_kubelet *r, const char *ns, const char *name);
struct klet_container *klet_pod_container(struct klet_pod *p, const char *name);
void klet_pod_sync(struct klet_pod *p);
void klet_pod_free(struct klet_pod *p);
/* All containers end, then the pod; reason NULL: as its containers ended. */
void klet_pod_stop(struct klet_pod *p, const char *reason, const char *message);

/* ---- pod/simulated.c ---- */
void klet_sim_take(struct klet_pod *p, yyjson_val *o);
void klet_sim_sync(struct klet_pod *p);
/* Fails it before it begins, as interLink does, unless it names the one pool that is to run it. */
void klet_sim_check_pool(struct klet_pod *p, yyjson_val *o);
/* How long a pod runs on a simulated node; SL_TIME_NEVER: until it is deleted. */
sl_span klet_sim_span(yyjson_val *pod);

/* ---- pod/status.c ---- */
const char *klet_pod_phase(const struct klet_pod *p);
void klet_pod_status(struct klet_pod *p, struct sl_buf *b);

/* ---- pod/probe_request.c ---- */
enum klet_handler_use { HANDLER_PROBE, HANDLER_HOOK };
typedef void (*klet_handler_fn)(struct klet_container *c, int which, bool ok);
/* Runs the action of a probe or a hook; 'fn' is called later, once, unless it is ended before.
 * NULL: it cannot be run. */
struct klet_handler_call *klet_handler_call_begin(struct klet_container *c, yyjson_val *handler,
                                                  enum klet_handler_use why, klet_handler_fn fn,
                                                  int which);
/* The result is not needed any more; a command is killed. NULL is allowed. */
void klet_handler_call_end(struct klet_handler_call *a);

/* ---- pod/container.c ---- */
/* Restarted when it ends with this code? */
bool klet_container_restarts(const struct klet_container *c, int code);
void klet_container_start(struct klet_container *c);
/* It is being started, and has a hook that others behind it wait for. */
bool klet_container_blocks_others(const struct klet_container *c);
/* Stops it: preStop, SIGTERM, after 'grace' SIGKILL. May be repeated with a shorter grace. */
void klet_container_stop(struct klet_container *c, sl_span grace);
/* Deadlines of the container: kills, hooks, probes. */
void klet_container_tick(struct klet_container *c);
void klet_container_done(struct klet_container *c);
void klet_ending_clear(struct klet_ending *e);

/* ---- pod/event.c ---- */
void klet_container_event(struct klet_container *c, bool warning, const char *reason,
                          const char *note);

/* ---- pod/launch.c ---- */
/* Neither a command nor arguments: the container's own. */
struct klet_launch_of {
    yyjson_val *command;     /* of a probe or a hook; $(NAME) is expanded */
    const char *const *argv; /* arguments without expansion, at least one, NULL-terminated */
    bool tty;
};
/* What a process of this container needs: its own, or another beside it. l is filled in any case.
 */
int klet_launch_make(struct klet_container *c, const struct klet_launch_of *of,
                     struct klet_launch *l, struct sl_err *err) _must_check_;

/* ---- pod/security.c ---- */
/* User and group of a container, by its securityContext or the pod's; -1: not set. */
struct klet_users {
    int64_t uid, gid, fs_group;
};
void klet_users_of(struct klet_container *c, struct klet_users *ret);
/* Its securityContext, as far as this machine supports it. An error is one of a kubelet. */
int klet_security_apply(struct klet_container *c, struct klet_launch *l,
                        struct sl_err *err) _must_check_;

/* ---- pod/exec_session.c ---- */
/* Of a running container: its output; its input is accepted again; it has terminated. */
void klet_sessions_output(struct klet_container *c, bool is_err, const char *bytes, size_t len);
void klet_sessions_writable(struct klet_container *c);
void klet_sessions_end(struct klet_container *c, int code);
void klet_sessions_forget(struct klet_container *c); /* the record goes */
/* All processes are about to be ended, without further events. */
void klet_sessions_stop(struct sl_kubelet *r);
void klet_sessions_free(struct sl_kubelet *r);

/* ---- pod/env.c ---- */
struct sl_arena;
struct klet_vars {
    SL_VEC(const char *) v; /* "NAME=value", in the arena */
    struct sl_map by_name;  /* places in it: an object may name very many */
};
void klet_vars_done(struct klet_vars *v);
const char *klet_vars_get(const struct klet_vars *v, const char *name);
void klet_vars_set(struct klet_vars *v, struct sl_arena *a, const char *name, const char *value);
/* $(NAME) as Kubernetes expands it: unknown ones stay, $$ is $. */
char *klet_vars_expand(const struct klet_vars *v, struct sl_arena *a, const char *text);
int klet_vars_of(struct klet_container *c, struct klet_vars *v, struct sl_arena *a,
                 struct sl_err *err) _must_check_;
/* Those of a run stay the same for all that runs beside it. */
void klet_vars_save(struct klet_container *c, const struct klet_vars *v);
void klet_vars_saved(const struct klet_container *c, struct klet_vars *v, struct sl_arena *a);
/* The text of a fieldRef, with a zero behind it and, in an annotation, perhaps inside; false: there
 * is no such field. */
bool klet_field_text(struct klet_pod *p, struct sl_arena *a, const char *path, struct sl_text *ret);
/* That of a resourceFieldRef. */
const char *klet_resource_text(struct klet_pod *p, struct sl_arena *a, yyjson_val *container,
                               const char *resource, const char *divisor);

/* ---- pod/references.c ---- */
/* Requests the ConfigMaps and Secrets that the pod refers to. True when all responses are here. */
bool klet_refs_get(struct klet_pod *p);
void klet_refs_free(struct klet_pod *p);
/* Drops them, so that the next start reads their current state. */
void klet_refs_again(struct klet_pod *p);
/* NULL: it does not exist, or cannot be read; klet_refs_none has the error. */
yyjson_val *klet_refs_find(const struct klet_pod *p, bool secret, const char *name);
/* 0 if it is optional and not there. */
int klet_refs_none(const struct klet_pod *p, bool secret, const char *name, bool optional,
                   struct sl_err *err) _must_check_;
/* The value of a key, and whether it is base64; NULL: no such key. */
yyjson_val *klet_refs_key(struct klet_pod *p, yyjson_val *object, bool secret, const char *key,
                          bool *ret_encoded);
/* Its bytes, and a zero behind them; NULL: they are none. In the arena, if they had to be decoded.
 */
const char *klet_refs_bytes(yyjson_val *v, bool encoded, struct sl_arena *a, size_t *ret_len);

/* Between these, while no object of the pod changes, a map that is searched for many keys is sorted
 * once. */
void klet_lookups_begin(struct klet_pod *p);
void klet_lookups_end(struct klet_pod *p);
/* The value under a key of a map of the pod or of what it names; NULL if there is none. */
yyjson_val *klet_lookup(struct klet_pod *p, yyjson_val *map, const char *key);

/* ---- pod/tokens.c ---- */
/* Requests the tokens of its volumes. True when all are answered. */
bool klet_tokens_get(struct klet_pod *p);
void klet_tokens_tick(struct klet_pod *p);  /* renews those that are due */
void klet_tokens_again(struct klet_pod *p); /* those that were refused are requested again */
/* NULL: there is none, and why. */
const char *klet_token_find(const struct klet_pod *p, const char *volume, const char *path,
                            const char **ret_why);
void klet_tokens_free(struct klet_pod *p);

/* ---- pod/service_env.c ---- */
/* Requests the Services of its namespace. True when they are here, or not wanted. */
bool klet_services_get(struct klet_pod *p);
void klet_services_add(const struct klet_pod *p, struct klet_vars *v, struct sl_arena *a);
void klet_services_free(struct klet_pod *p);

/* ---- pod/volume.c ---- */
int klet_volumes_make(struct klet_pod *p, struct sl_err *err) _must_check_;
/* The directory of a volume; into the arena. NULL: it is not one of ours. */
const char *klet_volume_folder(struct klet_pod *p, yyjson_val *volume, struct sl_arena *a);
/* What a hostPath of a type "OrCreate" lacks. As root it follows no links but root's: -ELOOP. */
int klet_host_path_make(const char *host, bool file);
int klet_folder_make(const char *path, unsigned mode); /* with its parents; 0 or -errno */
void klet_folder_remove(const char *path);
int klet_file_write(const char *path, const char *bytes, size_t len, unsigned mode);

/* ---- pod/probe.c ---- */
void klet_probes_begin(struct klet_container *c);
void klet_probes_end(struct klet_container *c);
void klet_probes_tick(struct klet_container *c);

#endif

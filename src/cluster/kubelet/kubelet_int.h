/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the runtime. One record per pod on one of our nodes; a pod of this machine has a
 * 'real' part besides. All is level-triggered: an event (an object, the exit of a process, a
 * deadline) enqueues a pod, and sl_runtime_tick reconciles each enqueued pod once (pod_sync,
 * sim_sync): starts, stops, sets its next deadline, and enqueues a write of its status if that has
 * changed.
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
#define REAL_TAINT "sluice.dev/real"
#define EXIT_CODE "sluice.dev/exit-code"

enum role { ROLE_INIT, ROLE_SIDECAR, ROLE_MAIN };
enum cstate { C_WAITING, C_STARTING, C_RUNNING, C_ENDED };

/* How a run ended; times are of the wall. */
struct ending {
    bool is;
    int code;
    const char *reason;
    char *message;
    sl_time started, finished;
    uint32_t run;
};

enum probe_kind { PROBE_STARTUP, PROBE_READY, PROBE_LIVE, PROBES };

struct probe {
    bool is, ok, started; /* the last result; whether it is being checked yet */
    uint32_t row;         /* consecutive equal results */
    bool answer;
    sl_time at, until; /* mono: next check; timeout of the current one */
    struct asking *asking;
};

struct pod;

struct container {
    struct pod *pod;
    yyjson_val *spec; /* of one on this machine */
    char *name, *image;
    enum role role;
    enum cstate state;
    const char *waiting; /* a reason, while it waits */
    char *message;
    struct ending now, last;
    uint32_t restarts;
    bool ready, up; /* 'up': its startup probe, if any, has succeeded */
    sl_span backoff;
    sl_time start_at; /* mono: not before */
    sl_time started_mono, started_wall;
    sl_time kill_at; /* mono: SIGTERM was sent; then SIGKILL. SL_TIME_NEVER: not stopping */
    sl_time term_at; /* mono: when a preStop hook has had its time. SL_TIME_NEVER: none runs */
    bool ending, terminated; /* it is being stopped; SIGTERM was sent */
    bool posting;    /* it runs, and its postStart hook too: it is not started before that */
    sl_time post_at; /* mono: when a hook that sleeps is done */
    struct proc *proc;
    struct asking *hook;
    uint32_t attached; /* sessions that get its output */
    struct logfile *log;
    char *cgroup;
    char *env; /* the variables of this run, each ended by a zero */
    size_t env_len;
    struct probe probes[PROBES];
};

struct ref {
    bool secret, optional;
    char *name;
    sl_call call;
    bool known;
    yyjson_doc *doc; /* NULL with 'known': there is none, or it cannot be read */
    char *why;       /* that it cannot */
    struct pod *pod;
};

/* Of a pod on this machine. */
struct real {
    char *text;      /* the object, without managedFields */
    yyjson_doc *doc; /* the same, read */
    char *folder;
    SL_VEC(struct ref) refs;
    bool asked, volumes; /* refs were requested or are here; the volumes are populated */
    sl_time ask_at;
    SL_VEC(struct sl_json_fields) lookups; /* while 'looking' */
    bool looking;
};

enum { COND_START, COND_INIT, COND_READY, COND_CONTAINERS, CONDS };

struct pod {
    struct sl_runtime *rt;
    uint32_t slot, place; /* its number; its place in the heap of deadlines */
    char *ns, *name, *uid, *version, *node;
    struct real *real; /* NULL: on a simulated node */
    struct container *cs;
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
    sl_time due;      /* mono: when to look again */
    bool dirty, seen, deleting;
    bool stopping, ended; /* all its containers are being stopped; have terminated for good */
    bool fixed;           /* it had ended before we saw it: its status is not ours to change */
    bool inited;          /* its init containers are through */
    bool deleted;         /* the deletion was confirmed to the API */
    bool lost;            /* deleted in the API */
    const char *phase;    /* when ended */
    const char *reason;   /* of the pod's end, if it was not its containers' */
    const char *message;
    int sim_code;               /* of one on a simulated node */
    sl_span sim_for;            /* how long it runs there */
    uint64_t told, sending;     /* hashes of the status that was written, and that is on its way */
    bool told_end, sending_end; /* whether it reports that the pod has ended */
};

enum slot_kind { SLOT_FREE, SLOT_POD, SLOT_NODE, SLOT_LEASE };
struct slot {
    enum slot_kind kind;
    struct pod *pod;
    struct node *node;
};

struct sl_runtime {
    struct uv_loop_s *loop;
    struct sl_port *port;
    char *dir, *node;
    char address[64]; /* of this machine */
    struct sl_sim_nodes sim;
    SL_VEC(struct slot) slots;
    SL_VEC(uint32_t) free_slots;
    struct sl_map by_name;  /* pods */
    struct sl_map finished; /* hashes of uids: pods that have ended, as long as the API has them. An
                               older state of one that still comes does not make it run again */
    struct sl_heap timers;
    SL_VEC(uint32_t) dirty;
    struct sl_reflector *pods;
    struct sl_writer *writer;
    struct nodes *nodes;
    struct spawner *spawner;
    struct cgroups *cgroups;
    struct talk *talks;
    sl_time exec_at;  /* mono: the same of exec sessions */
    sl_time event_at; /* mono: rate limit of events */
    uint32_t events;
    bool stopped;
    sl_time sweep_at; /* mono: when to remove directories of deleted pods */
};

/* ---- kubelet.c ---- */
uint32_t slot_new(struct sl_runtime *r, enum slot_kind kind);
void slot_free(struct sl_runtime *r, uint32_t slot);
void pod_dirty(struct pod *p);
/* Reconcile again at 'at' at the latest; dropped when the pod is reconciled. */
void pod_due(struct pod *p, sl_time at);
void pod_tell(struct pod *p);                                    /* its status may have changed */
void pods_take(struct sl_runtime *r, const struct sl_reply *rp); /* a list of them */
void pod_drop(struct pod *p); /* the object is gone: so is all we have of it */

/* ---- node.c ---- */
void nodes_begin(struct sl_runtime *r);
void nodes_free(struct sl_runtime *r);
void nodes_tick(struct sl_runtime *r);
sl_time nodes_next(const struct sl_runtime *r);
bool nodes_ready(const struct sl_runtime *r);
bool node_build(struct sl_runtime *r, uint32_t slot, struct sl_write *w);
void node_done(struct sl_runtime *r, uint32_t slot, enum sl_written how, const struct sl_reply *rp);
void node_read(struct sl_runtime *r, uint32_t slot, const struct sl_reply *rp);
enum whose {
    WHOSE_OTHER,
    WHOSE_REAL,
    WHOSE_SIM,
    WHOSE_LOST
}; /* LOST: a simulated node of an earlier run */
enum whose node_whose(const struct sl_runtime *r, const char *name);
/* What a container may use of this machine: "cpu" in milli, "memory" and "ephemeral-storage" in
 * bytes. */
int64_t node_allocatable(const struct sl_runtime *r, const char *resource);

/* ---- pod/pod.c ---- */
void pod_take(struct sl_runtime *r, yyjson_val *o);
struct pod *pod_find(struct sl_runtime *r, const char *ns, const char *name);
struct container *pod_container(struct pod *p, const char *name);
void pod_sync(struct pod *p);
void pod_free(struct pod *p);
/* All containers end, then the pod; reason NULL: as its containers ended. */
void pod_stop(struct pod *p, const char *reason, const char *message);

/* ---- pod/simulated.c ---- */
void sim_take(struct pod *p, yyjson_val *o);
void sim_sync(struct pod *p);
/* How long a pod runs on a simulated node; SL_TIME_NEVER: until it is deleted. */
sl_span sim_span(yyjson_val *pod);

/* ---- pod/status.c ---- */
const char *pod_phase(const struct pod *p);
void pod_status(struct pod *p, struct sl_buf *b);

/* ---- pod/probe_request.c ---- */
enum ask_why { ASK_PROBE, ASK_HOOK };
typedef void (*asked_fn)(struct container *c, int which, bool ok);
/* Runs the action of a probe or a hook; 'fn' is called later, once, unless it is ended before.
 * NULL: it cannot be run. */
struct asking *ask_begin(struct container *c, yyjson_val *handler, enum ask_why why, asked_fn fn,
                         int which);
/* The result is not needed any more; a command is killed. NULL is allowed. */
void ask_end(struct asking *a);

/* ---- pod/container.c ---- */
/* Restarted when it ends with this code? */
bool container_restarts(const struct container *c, int code);
void container_start(struct container *c);
/* It is being started, and has a hook that others behind it wait for. */
bool container_holds_up(const struct container *c);
/* Stops it: preStop, SIGTERM, after 'grace' SIGKILL. May be repeated with a shorter grace. */
void container_stop(struct container *c, sl_span grace);
/* Deadlines of the container: kills, hooks, probes. */
void container_tick(struct container *c);
void container_done(struct container *c);
void ending_clear(struct ending *e);

/* ---- pod/event.c ---- */
void container_event(struct container *c, bool warning, const char *reason, const char *note);

/* ---- pod/launch.c ---- */
/* Neither a command nor arguments: the container's own. */
struct launch_of {
    yyjson_val *command;     /* of a probe or a hook; $(NAME) is expanded */
    const char *const *argv; /* arguments without expansion, at least one, NULL-terminated */
    bool tty;
};
/* What a process of this container needs: its own, or another beside it. l is filled in any case.
 */
int launch_make(struct container *c, const struct launch_of *of, struct launch *l,
                struct sl_err *err) _must_check_;

/* ---- pod/security.c ---- */
/* User and group of a container, by its securityContext or the pod's; -1: not set. */
struct users {
    int64_t uid, gid, fs_group;
};
void users_of(struct container *c, struct users *ret);
/* Its securityContext, as far as this machine supports it. An error is one of a kubelet. */
int security_apply(struct container *c, struct launch *l, struct sl_err *err) _must_check_;

/* ---- pod/exec_session.c ---- */
/* Of a running container: its output; its input is accepted again; it has terminated. */
void talks_output(struct container *c, bool is_err, const char *bytes, size_t len);
void talks_room(struct container *c);
void talks_end(struct container *c, int code);
void talks_forget(struct container *c); /* the record goes */
/* All processes are about to be ended, without further events. */
void talks_stop(struct sl_runtime *r);
void talks_free(struct sl_runtime *r);

/* ---- pod/env.c ---- */
struct sl_arena;
struct vars {
    SL_VEC(const char *) v; /* "NAME=value", in the arena */
    struct sl_map by_name;  /* places in it: an object may name very many */
};
void vars_done(struct vars *v);
const char *vars_get(const struct vars *v, const char *name);
void vars_set(struct vars *v, struct sl_arena *a, const char *name, const char *value);
/* $(NAME) as Kubernetes expands it: unknown ones stay, $$ is $. */
char *vars_expand(const struct vars *v, struct sl_arena *a, const char *text);
int vars_of(struct container *c, struct vars *v, struct sl_arena *a,
            struct sl_err *err) _must_check_;
/* Those of a run stay the same for all that runs beside it. */
void vars_keep(struct container *c, const struct vars *v);
void vars_kept(const struct container *c, struct vars *v, struct sl_arena *a);
/* The text of a fieldRef, with a zero behind it and, in an annotation, perhaps inside; false: there
 * is no such field. */
bool field_text(struct pod *p, struct sl_arena *a, const char *path, struct sl_text *ret);
/* That of a resourceFieldRef. */
const char *resource_text(struct pod *p, struct sl_arena *a, yyjson_val *container,
                          const char *resource, const char *divisor);

/* ---- pod/references.c ---- */
/* Requests the ConfigMaps and Secrets that the pod refers to. True when all responses are here. */
bool refs_get(struct pod *p);
void refs_free(struct pod *p);
/* Drops them, so that the next start reads their current state. */
void refs_again(struct pod *p);
/* NULL: there is none, or it cannot be read; refs_none tells which. */
yyjson_val *refs_find(const struct pod *p, bool secret, const char *name);
/* 0 if it is optional and not there. */
int refs_none(const struct pod *p, bool secret, const char *name, bool optional,
              struct sl_err *err) _must_check_;
/* The value of a key, and whether it is base64; NULL: no such key. */
yyjson_val *refs_key(struct pod *p, yyjson_val *object, bool secret, const char *key,
                     bool *ret_encoded);
/* Its bytes, and a zero behind them; NULL: they are none. In the arena, if they had to be decoded.
 */
const char *refs_bytes(yyjson_val *v, bool encoded, struct sl_arena *a, size_t *ret_len);

/* Between these, while no object of the pod changes, a map that is searched for many keys is sorted
 * once. */
void lookups_begin(struct pod *p);
void lookups_end(struct pod *p);
/* The value under a key of a map of the pod or of what it names; NULL if there is none. */
yyjson_val *lookup(struct pod *p, yyjson_val *map, const char *key);

/* ---- pod/volume.c ---- */
int volumes_make(struct pod *p, struct sl_err *err) _must_check_;
/* The directory of a volume; into the arena. NULL: it is not one of ours. */
const char *volume_folder(struct pod *p, yyjson_val *volume, struct sl_arena *a);
/* What a hostPath of a type "OrCreate" lacks. As root it follows no links but root's: -ELOOP. */
int host_path_make(const char *host, bool file);
int folder_make(const char *path, unsigned mode); /* with its parents; 0 or -errno */
void folder_remove(const char *path);
int file_write(const char *path, const char *bytes, size_t len, unsigned mode);

/* ---- pod/probe.c ---- */
void probes_begin(struct container *c);
void probes_end(struct container *c);
void probes_tick(struct container *c);

#endif

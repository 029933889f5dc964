/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the unit tests of src/manager/fluxqueue: the controller over the in-memory API. */
#ifndef FQTEST_H
#define FQTEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "fakeapi.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "manager/fluxqueue/fluxqueue.h"
#include "manager/fluxqueue/jobspec/jobspec.h"

#define FQ_REPLICAS 2u
#define PODS "/api/v1/namespaces/default/pods"
#define JOBS "/apis/batch/v1/namespaces/default/jobs"
#define SETS "/apis/apps/v1/namespaces/default/statefulsets"
#define REPLICASETS "/apis/apps/v1/namespaces/default/replicasets"
#define NODES "/api/v1/nodes"
#define FLUXJOBS "/apis/jobs.converged-computing.org/v1alpha1/namespaces/default/fluxjobs"

struct world {
    struct fakeapi *api;
    struct sl_settings *settings;
    struct sl_fluxqueue *q[FQ_REPLICAS];
    struct sl_ledger *ledger; /* of those that are started from now on; NULL: none */
    uint32_t writes;
};

extern uint64_t fq_seed; /* of the API of the next world */
int setup(void **state);
int teardown(void **state);
void start(struct world *w, uint32_t replica, bool standby);
void stop(struct world *w, uint32_t replica);
void run(struct world *w, sl_span span);
/* The first replica, from what is in the API. */
void restart(struct world *w, sl_span span);
int post(struct world *w, const char *path, const char *body);
/* The same with apostrophes for quotation marks; it has to succeed. */
void create(struct world *w, const char *path, const char *text);
void patch(struct world *w, const char *path, const char *body);
void drop(struct world *w, const char *path);

/* A node of so many cpus, 8Gi of memory and 10 pods; more: further fields of its metadata. */
void node(struct world *w, const char *name, const char *cpu);
/* What admission makes of a pod, a Job, a StatefulSet. more: further fields of the pod's spec. */
void pod(struct world *w, const char *name, const char *cpu, const char *annotations,
         const char *more);
/* A pod that only names our scheduler. */
void plain(struct world *w, const char *name, const char *cpu, const char *more);
void job(struct world *w, const char *name, int pods, const char *cpu, const char *annotations);
void set(struct world *w, const char *name, int pods, const char *cpu);
/* As the controller of a Job, a StatefulSet or a ReplicaSet: its pod of this index, of a template
 * with so many cpus, or one. Returns the pod's path. */
const char *child_of(struct world *w, const char *kind, const char *owner, int index,
                     const char *cpu);
const char *child(struct world *w, const char *kind, const char *owner, int index);
/* So many cpus for a pod; for a template. */
void resize(struct world *w, const char *path, const char *cpu);
void roll(struct world *w, const char *path, const char *cpu);
/* How many events with this reason the object of this name has. */
uint32_t events(struct world *w, const char *reason, const char *object);
/* As the kubelet. */
void phase(struct world *w, const char *pod, const char *phase);

const char *at(struct world *w, const char *path, const char *field);
int64_t number(struct world *w, const char *path, const char *field);
#define assert_field(w, path, field, value) assert_string_equal(at((w), (path), (field)), (value))

#endif

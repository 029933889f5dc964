/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What unit tests of the controller of MasterQueues share: an in-memory API, an in-memory NATS
 * server, one or two replicas of the controller over them, and the MasterQueue of the worked
 * example with its two pools. Time is virtual.
 */
#ifndef SL_TESTS_MANAGER_MASTERQUEUE_MQTEST_H
#define SL_TESTS_MANAGER_MASTERQUEUE_MQTEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "fakenats.h"
#include "kube/informer/informer.h"
#include "lib/json/json.h"
#include "lib/log/log.h"
#include "lib/metrics/metrics.h"
#include "manager/masterqueue/masterqueue.h"

#define MQS "/apis/vk.io/v1/masterqueues"
#define FLAVORS "/apis/kueue.x-k8s.io/v1beta2/resourceflavors"
#define QUEUES "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
#define FIRENZE                                                                                    \
    "{\"quotas\":{\"cpu\":\"85\",\"memory\":\"1Ti\",\"pods\":123,\"nvidia.com/gpu\":28},"          \
    "\"labels\":[\"site=firenze\"],\"taints\":[]}"
#define CINECA                                                                                     \
    "{\"quotas\":{\"cpu\":\"2000\",\"memory\":\"8Ti\",\"pods\":50,\"nvidia.com/gpu\":0},"          \
    "\"labels\":[],\"taints\":[\"slurm=true:NoSchedule\"]}"
#define NOMINAL                                                                                    \
    "\"nominalQuota\":{\"cpu\":\"1M\",\"memory\":\"1Ei\",\"pods\":100,\"nvidia.com/gpu\":10000}"
#define LEND "\"canLendTo\":[{\"queue\":\"group1\",\"lendingLimit\":{\"pods\":30}}]"
#define NATS(more)                                                                                 \
    "\"natsFlavor\":{\"natsConnector\":\"nats://user:pass@nats.nats:4222\",\"natsSubject\":"       \
    "\"interlink.resources\",\"virtualNode\":\"interlink\",\"poolTimeout\":30," more "}"
#define GROUP "{\"name\":\"interlink\"," NATS("\"poolRegExp\":\".*\"") "," NOMINAL "," LEND "}"
#define TEMPLATE                                                                                   \
    "\"template\":{\"cohort\":\"masterqueue\",\"stopPolicy\":\"None\",\"queueingStrategy\":"       \
    "\"BestEffortFIFO\",\"namespaceSelector\":{}}"
#define MASTERQUEUE(flavors)                                                                       \
    "{\"metadata\":{\"name\":\"masterqueue\"},\"spec\":{" TEMPLATE ",\"flavors\":[" flavors "]}}"
#define MQ MQS "/masterqueue"
#define MASTER QUEUES "/masterqueue"
#define GROUP1 QUEUES "/group1"
#define F_FIRENZE "masterqueue-interlink-podman-firenze"
#define F_CINECA "masterqueue-interlink-slurm-cineca"
#define NONE SL_MQ_NO_FLAVOR ","
#define SECRETS "/api/v1/namespaces/kueue-system/secrets"

#define REPLICAS 2u

struct world {
    struct fakeapi *api;
    struct fakenats *nats;
    struct sl_masterqueues *q[REPLICAS]; /* the clients of the same numbers; NULL: it is dead */
    struct sl_metrics *metrics;
    uint32_t server;
    const char *used; /* the flavor that admitted work uses */
    uint64_t writes;  /* of flavors, queues and MasterQueues */
    uint64_t queue_writes, flavor_writes;
    uint32_t events;
};

int setup(void **state);
int teardown(void **state);
void start(struct world *w, uint32_t replica, bool standby);
void stop(struct world *w, uint32_t replica);
void run(struct world *w, sl_span span);

int post(struct world *w, const char *path, const char *body);
void patch(struct world *w, const char *path, const char *body);
void publish(struct world *w, const char *pool, const char *payload);
void both(struct world *w);
/* The MasterQueue of the example, with both pools. */
void usual(struct world *w);
/* Both publish every 10 s for so long. */
void keep(struct world *w, sl_span span);

yyjson_val *get(struct world *w, const char *path);
const char *str(struct world *w, const char *path, const char *field);
/* The flavors of a queue, with a comma behind each. */
const char *flavors_of(struct world *w, const char *path);
yyjson_val *cell(struct world *w, const char *path, uint32_t flavor, uint32_t resource);
yyjson_val *pool(struct world *w, const char *mq, const char *name);
/* Events with this reason that were written, each as often as it occurred. */
uint32_t count_events(struct world *w, const char *reason);
void condition(struct world *w, const char *mq, const char *type, const char *status,
               const char *reason);
void assert_active(struct world *w);
void assert_cell(struct world *w, const char *path, uint32_t flavor, uint32_t resource,
                 const char *name, const char *nominal, const char *borrow);

/* Log lines from 'begin' on, warnings and above: how many have this text. */
void log_begin(void);
uint32_t log_count(const char *text);
void log_end(void);

#endif

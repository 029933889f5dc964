/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MiniClusters (flux-framework.org): each becomes an Indexed Job whose pods form a Flux instance,
 * with ConfigMaps of scripts and a certificate, and Services. Names, labels and mounts are the Flux
 * Operator's, of March 2024 for what was made in v1alpha2 and of the middle of 2023 for v1alpha1.
 * The Job carries the label of its queue, and waits there as any Job does.
 *
 * A controller of its own on the informer kit, which reads other kinds once there is a MiniCluster.
 * Where the Flux Operator makes the objects (miniCluster.controller), it makes none, and says so in
 * a condition. No I/O and no clock of its own. One thread.
 *
 *     sl_miniclusters_tick(m) after callbacks of the API client, and at sl_miniclusters_next(m).
 */
#ifndef SL_MANAGER_MINICLUSTER_MINICLUSTER_H
#define SL_MANAGER_MINICLUSTER_MINICLUSTER_H

#include "kube/client/port.h"

struct sl_settings;

struct sl_miniclusters_spec {
    struct sl_kube_client *client;
    const struct sl_settings *settings;
    const char *instance; /* reportingInstance of events */
    uint64_t seed;        /* for jitter */
    bool standby;         /* begins without writing */
};

struct sl_miniclusters;

struct sl_miniclusters *sl_miniclusters_new(const struct sl_miniclusters_spec *spec);
void sl_miniclusters_free(struct sl_miniclusters *m);
void sl_miniclusters_configure(struct sl_miniclusters *m, const struct sl_settings *settings);
void sl_miniclusters_tick(struct sl_miniclusters *m);
sl_time sl_miniclusters_next(const struct sl_miniclusters *m); /* mono */
void sl_miniclusters_lead(struct sl_miniclusters *m, bool lead);
/* Nothing to read or to write: at rest until something outside happens. */
bool sl_miniclusters_idle(const struct sl_miniclusters *m);

#endif

/* What the manager counts. Private. */
#ifndef SL_CONTROLLERS_METRICS_H
#define SL_CONTROLLERS_METRICS_H

#include "controllers/wl.h"

void count_write(struct sl_manager *m, const struct sl_write *w, enum sl_written how);
/* One decision of the engine about a workload. */
void count_effect(struct sl_manager *m, struct rec_wl *w, const struct sl_effect *x);
void count_finished(struct sl_manager *m, const struct rec_wl *w);
/* Its pods are ready: how long that took. */
void count_ready(struct sl_manager *m, const struct rec_wl *w);
void count_cycle(struct sl_manager *m, const struct sl_effects *x);
void drop_cq_series(struct sl_manager *m, const char *cq);
void drop_lq_series(struct sl_manager *m, const char *ns, const char *name);

#endif

#include "controllers/metrics.h"

void count_write(struct sl_manager *m, const struct sl_write *w, enum sl_written how) {
    (void)m, (void)w, (void)how;
}
void count_effect(struct sl_manager *m, struct rec_wl *w, const struct sl_effect *x) {
    (void)m, (void)w, (void)x;
}
void count_finished(struct sl_manager *m, const struct rec_wl *w) {
    (void)m, (void)w;
}
void count_ready(struct sl_manager *m, const struct rec_wl *w) {
    (void)m, (void)w;
}
void count_cycle(struct sl_manager *m, const struct sl_effects *x) {
    (void)m, (void)x;
}
void drop_cq_series(struct sl_manager *m, const char *cq) {
    (void)m, (void)cq;
}
void drop_lq_series(struct sl_manager *m, const char *ns, const char *name) {
    (void)m, (void)ns, (void)name;
}
void sl_manager_refresh_metrics(struct sl_manager *m) {
    (void)m;
}

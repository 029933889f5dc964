#include "controllers/rec.h"

void sl_manager_dump(const struct sl_manager *m, struct sl_buf *out) {
    (void)m;
    sl_buf_puts(out, "{}\n");
}
int sl_manager_check(const struct sl_manager *m, struct sl_err *err) {
    return sl_engine_check(m->engine, err);
}

/* Reading times as objects write them: RFC 3339. Writing them is base/stamp.h. */
#ifndef SL_APISERVER_STAMP_H
#define SL_APISERVER_STAMP_H

#include "base/time.h"

/* False if it is none. */
bool sl_stamp_parse(const char *s, sl_time *ret);

#endif

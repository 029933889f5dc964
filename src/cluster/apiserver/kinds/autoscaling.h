/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two forms of HorizontalPodAutoscalers: v2 is stored, and v1 has its cpu usage alone in
 * fields; everything else is JSON in annotations.
 */
#ifndef SL_CLUSTER_APISERVER_KINDS_AUTOSCALING_H
#define SL_CLUSTER_APISERVER_KINDS_AUTOSCALING_H

#include <yyjson.h>

/* Adds the metric of v2 for an average cpu usage in percent. */
void api_scaler_cpu_metric(yyjson_mut_doc *doc, yyjson_mut_val *metrics, int64_t percent);
/* An object in one of the two versions, converted to the other ("autoscaling/v1"). */
yyjson_mut_val *api_scaler_convert(yyjson_val *object, const char *api_version,
                                   yyjson_mut_doc *doc);

#endif

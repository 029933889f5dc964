/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A script is what is done to a matcher, line by line, and what is expected to come of it:
 *
 *     policy lonode                  also: filters ALL:core, subsystems power, time 0 1000
 *     graph cluster0{node0-1{core0-3}}
 *     edge power /panel0 /cluster0/node0
 *     now 10
 *     alloc 1 node1{slot1{core2}} for 60
 *     = 10+60 cluster0{node0{core0:x core1:x}}
 *
 * "also POLICY" gives a second policy, which an act goes by that begins with "by also".
 * Acts: alloc, alloc-sat, reserve JOB REQUEST; sat, try, try-later, check REQUEST; cancel, begin
 * JOB; again JOB REQUEST; part JOB PATH...; update, update-later JOB AT+DURATION
 * PATH[*AMOUNT][:x]...; more JOB REQUEST; down, up PATH; prop, noprop PATH KEY[=VALUE]; shrink
 * PATH...; add PATH VERTEX; clone; job JOB; jobs; sums PATH [AT [JOB]]. An act without a line of
 * expectation has to succeed: no error, and a match matches.
 */
#ifndef SL_TESTS_CORE_GRAPH_SCRIPT_H
#define SL_TESTS_CORE_GRAPH_SCRIPT_H

#include "side.h"

/* Says in ret_why what went otherwise than expected. */
bool script_run(const char *script, bool fast, struct sl_buf *ret_why);

#endif

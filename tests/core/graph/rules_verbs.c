/* SPDX-License-Identifier: Apache-2.0 */
/* 3.6: what each verb answers, and when. */
#include <stddef.h>

#include "rules.h"

#define ONE_NODE                                                                                   \
    "policy low\n"                                                                                 \
    "time 0 100\n"                                                                                 \
    "graph cluster0{node0{core0-3}}\n"

const struct rule rules_verbs[] = {
    {"rule_3_6_allocate_now_or_busy", ONE_NODE "alloc 1 slot1{core3} for 10\n"
                                               "= 0+10 cluster0{node0{core0:x core1:x core2:x}}\n"
                                               "alloc 2 slot1{core2} for 10\n"
                                               "= busy\n"
                                               "alloc 2 slot1{core5} for 10\n"
                                               "= busy\n"
                                               "jobs\n"
                                               "= ok 1\n"
                                               "alloc 2 slot1{core1} for 10\n"
                                               "= 0+10 cluster0{node0{core3:x}}\n"},
    {"rule_3_6_with_satisfiability_busy_or_never", ONE_NODE "alloc-sat 1 slot1{core3} for 10\n"
                                                            "alloc-sat 2 slot1{core2} for 10\n"
                                                            "= busy\n"
                                                            "alloc-sat 2 slot1{core5} for 10\n"
                                                            "= never\n"},
    {"rule_3_6_nodes_down_are_busy_not_never_ours", ONE_NODE "down /cluster0/node0\n"
                                                             "alloc-sat 1 node1{slot1{core1}}\n"
                                                             "= busy\n"
                                                             "reserve 1 node1{slot1{core1}}\n"
                                                             "= busy\n"
                                                             "sat node1{slot1{core1}}\n"
                                                             "= satisfiable\n"},
    {"rule_3_6_reserve_at_the_first_end_that_will_do",
     ONE_NODE "alloc 1 slot1{core2} for 10\n"
              "alloc 2 slot1{core2} for 20\n"
              "reserve 3 slot1{core1} for 5\n"
              "= r 10+5 cluster0{node0{core0:x}}\n"
              "reserve 4 slot1{core3} for 5\n"
              "= r 20+5 cluster0{node0{core0:x core1:x core2:x}}\n"
              "reserve 5 slot1{core5} for 5\n"
              "= never\n"
              "reserve 6 slot1{core4} for 90\n"
              "= r 25+75 cluster0{node0{core0:x core1:x core2:x core3:x}}\n"},
    {"rule_3_6_reserve_allocates_if_it_can", ONE_NODE "reserve 1 slot1{core2} for 10\n"
                                                      "= 0+10 cluster0{node0{core0:x core1:x}}\n"},
    {"rule_3_6_reservations_keep_others_out_of_their_time",
     ONE_NODE "alloc 1 slot1{core4} for 10\n"
              "reserve 2 slot1{core4} for 10\n"
              "cancel 1\n"
              "alloc 3 slot1{core1} for 11\n"
              "= busy\n"
              "alloc 3 slot1{core1} for 10\n"
              "= 0+10 cluster0{node0{core0:x}}\n"
              "reserve 4 slot1{core4} for 5\n"
              "= r 20+5 cluster0{node0{core0:x core1:x core2:x core3:x}}\n"},
    {"rule_3_6_no_time_within_the_end", ONE_NODE "alloc 1 slot1{core4}\n"
                                                 "reserve 2 slot1{core1} for 1\n"
                                                 "= busy\n"
                                                 "reserve 2 slot1{core5} for 1\n"
                                                 "= never\n"},
    {"rule_3_6_the_window_ends_with_the_graph", ONE_NODE "now 95\n"
                                                         "alloc 1 slot1{core1} for 10\n"
                                                         "= 95+5 cluster0{node0{core0:x}}\n"
                                                         "now 100\n"
                                                         "alloc 2 slot1{core1} for 10\n"
                                                         "= busy\n"},
    {"rule_3_6_satisfiability_takes_nothing", ONE_NODE "sat slot1{core4}\n"
                                                       "= satisfiable\n"
                                                       "sat slot1{core5}\n"
                                                       "= never\n"
                                                       "jobs\n"
                                                       "= ok\n"
                                                       "alloc 1 slot1{core4}\n"
                                                       "sat slot1{core4}\n"
                                                       "= satisfiable\n"},
    {"rule_3_6_without_allocating", ONE_NODE "try slot1{core4} for 10\n"
                                             "= m 0+10 cluster0{node0{core0:x core1:x core2:x "
                                             "core3:x}}\n"
                                             "jobs\n"
                                             "= ok\n"
                                             "alloc 1 slot1{core1} for 10\n"
                                             "try slot1{core4} for 10\n"
                                             "= busy\n"
                                             "try-later slot1{core4} for 10\n"
                                             "= m 10+10 cluster0{node0{core0:x core1:x core2:x "
                                             "core3:x}}\n"
                                             "try-later slot1{core5} for 10\n"
                                             "= never\n"
                                             "jobs\n"
                                             "= ok 1\n"},
    {"rule_3_6_a_job_that_overruns_keeps_what_it_has",
     ONE_NODE "alloc 1 slot1{core3} for 10\n"
              "now 20\n"
              "alloc 2 slot1{core2} for 10\n"
              "= busy\n"
              "alloc 2 slot1{core1} for 10\n"
              "= 20+10 cluster0{node0{core3:x}}\n"
              /* later it is expected to be gone */
              "reserve 3 slot1{core4} for 10\n"
              "= r 30+10 cluster0{node0{core0:x core1:x core2:x core3:x}}\n"},
    {"rule_3_6_a_job_that_overruns_is_thought_to_end_in_the_next_second_ours",
     ONE_NODE "alloc 1 slot1{core3} for 10\n"
              "now 20\n"
              "reserve 2 slot1{core2} for 10\n"
              "= r 21+10 cluster0{node0{core0:x core1:x}}\n"
              "begin 2\n"
              "= stale\n"
              "job 2\n"
              "= r 21+10 cluster0{node0{core0:x core1:x}}\n"
              "cancel 1\n"
              "begin 2\n"
              "job 2\n"
              "= 21+10 cluster0{node0{core0:x core1:x}}\n"},
    {"rule_3_6_an_id_in_use", ONE_NODE "alloc 1 slot1{core1}\n"
                                       "alloc 1 slot1{core1}\n"
                                       "= exists\n"
                                       "reserve 1 slot1{core1}\n"
                                       "= exists\n"
                                       "jobs\n"
                                       "= ok 1\n"},
    {"rule_3_6_a_reservation_begins", ONE_NODE "alloc 1 slot1{core4} for 10\n"
                                               "reserve 2 slot1{core4} for 10\n"
                                               "begin 1\n"
                                               "= error\n"
                                               "begin 3\n"
                                               "= no such\n"
                                               "cancel 1\n"
                                               "now 10\n"
                                               "begin 2\n"
                                               "job 2\n"
                                               "= 10+10 cluster0{node0{core0:x core1:x core2:x "
                                               "core3:x}}\n"
                                               "now 30\n"
                                               "alloc 3 slot1{core1} for 10\n"
                                               "= busy\n"},
    {"rule_3_6_a_reservation_cannot_begin_on_pools_in_use",
     "policy low\n"
     "time 0 100\n"
     "graph cluster0{node0{memory0*8%} node1{memory0*8%} node2{memory0*8%}}\n"
     "alloc 1 slot1{memory3} for 10\n"
     "alloc 2 node2{slot1{memory8}} for 10\n"
     "= 0+10 cluster0{node1{memory0*8:x} node2{memory0*8:x}}\n"
     "now 5\n"
     /* whole nodes, amounts, and shared */
     "reserve 3 node1:x for 10\n"
     "= r 10+10 cluster0{node0:x{memory0*8:x}}\n"
     "reserve 4 slot1{memory6} for 10\n"
     "= r 10+10 cluster0{node1{memory0*6:x}}\n"
     "reserve 5 node2{memory1} for 10\n"
     "= r 10+10 cluster0{node1{memory0*8} node2{memory0*8}}\n"
     "begin 3\n"
     "= stale\n"
     "begin 4\n"
     "= stale\n"
     "begin 5\n"
     "= stale\n"
     "cancel 2\n"
     "begin 4\n"
     "begin 5\n"
     "cancel 1\n"
     "begin 3\n"},
    {"rule_3_6_a_reservation_that_did_not_begin_ends_with_its_time",
     ONE_NODE "alloc 1 slot1{core4} for 10\n"
              "reserve 2 slot1{core4} for 10\n"
              "cancel 1\n"
              "now 30\n"
              "alloc 3 slot1{core1} for 10\n"
              "= 30+10 cluster0{node0{core0:x}}\n"},
    {"rule_3_6_what_was_refused_is_possible_when_a_time_is_over",
     ONE_NODE "alloc 1 slot1{core4} for 10\n"
              "reserve 2 slot1{core4} for 10\n"
              "cancel 1\n"
              "alloc 3 slot1{core1} for 15\n"
              "= busy\n"
              "now 15\n"
              "alloc 3 slot1{core1} for 15\n"
              "= busy\n"
              "now 20\n"
              "alloc 3 slot1{core1} for 15\n"
              "= 20+15 cluster0{node0{core0:x}}\n"},
    {"rule_3_6_fluxion_more_nodes_than_there_are_is_busy",
     "verdicts fluxion\npolicy low\ntime 0 100\ngraph cluster0{node0-1{core0-1}}\n"
     "reserve 1 node3{slot1{core1}} for 10\n"
     "= busy\n"
     "reserve 1 slot3{node1} for 10\n"
     "= busy\n"
     "alloc-sat 1 node3{slot1{core1}} for 10\n"
     "= never\n"
     "sat node3{slot1{core1}}\n"
     "= never\n"
     /* what is no node is not counted */
     "reserve 1 slot5{core1} for 10\n"
     "= never\n"
     "alloc-sat 1 slot5{core1} for 10\n"
     "= never\n"},
    {"rule_3_6_fluxion_nodes_down_are_never",
     "verdicts fluxion\npolicy low\ntime 0 100\ngraph cluster0{node0-1{core0-1}}\n"
     "down /cluster0/node0\n"
     "alloc-sat 1 node2{slot1{core1}} for 10\n"
     "= never\n"
     "reserve 1 node2{slot1{core1}} for 10\n"
     "= busy\n"
     "sat node2{slot1{core1}}\n"
     "= satisfiable\n"
     /* without nodes in the request it is only busy */
     "alloc-sat 1 slot4{core1} for 10\n"
     "= busy\n"},
    {"rule_3_6_fluxion_a_constraint_with_too_few_nodes",
     "verdicts fluxion\npolicy low\ntime 0 100\ngraph cluster0{node0-1{core0-1}}\n"
     "reserve 1 node2{slot1{core1}} for 10 where hosts(node1)\n"
     "= busy\n"
     "alloc-sat 1 node2{slot1{core1}} for 10 where hosts(node1)\n"
     "= never\n"},
    {"rule_3_6_fluxion_jobs_without_an_end_are_never",
     "verdicts fluxion\npolicy low\ntime 0 100\ngraph cluster0{node0{core0-1}}\n"
     "alloc 1 node1:x for 10\n"
     "alloc-sat 2 node1{slot1{core1}} for 10\n"
     "= busy\n"
     "cancel 1\n"
     "alloc 1 node1:x\n"
     "= 0+100 cluster0{node0:x{core0:x core1:x}}\n"
     "alloc-sat 2 node1{slot1{core1}} for 10\n"
     "= never\n"
     "reserve 2 node1{slot1{core1}} for 10\n"
     "= never\n"
     "alloc 2 node1{slot1{core1}} for 10\n"
     "= busy\n"},
    {"rule_3_6_what_ends_when_it_begins_does_not_meet",
     ONE_NODE "update 1 50+10 /cluster0/node0/core0:x\n"
              "try-later slot1{core4} for 10\n"
              "= m 60+10 cluster0{node0{core0:x core1:x core2:x core3:x}}\n"
              "reserve 2 slot1{core4} for 10\n"
              "= r 60+10 cluster0{node0{core0:x core1:x core2:x core3:x}}\n"
              "update 3 69+1 /cluster0/node0/core1:x\n"
              "= exists\n"
              "update 3 70+1 /cluster0/node0/core1:x\n"
              /* two jobs cannot be allocated the same, whatever their times */
              "update 4 70+1 /cluster0/node0/core0:x\n"
              "= exists\n"},
    {NULL, NULL},
};

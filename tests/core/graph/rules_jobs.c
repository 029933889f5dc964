/* SPDX-License-Identifier: Apache-2.0 */
/* 3.9: cancel, partial cancel, update, and graphs that change. */
#include <stddef.h>

#include "rules.h"

#define TWO_NODES                                                                                  \
    "policy low\n"                                                                                 \
    "time 0 100\n"                                                                                 \
    "graph cluster0{node0-1{core0-1 memory0*8%}}\n"

const struct rule rules_jobs[] = {
    {"rule_3_9_cancel", TWO_NODES "alloc 1 slot4{core1}\n"
                                  "alloc 2 slot1{core1}\n"
                                  "= busy\n"
                                  "cancel 1\n"
                                  "cancel 1\n"
                                  "= no such\n"
                                  "job 1\n"
                                  "= no such\n"
                                  "sums /cluster0\n"
                                  "= ok core 0/4 node 0/2 memory 0/16\n"
                                  "alloc 2 slot4{core1}\n"},
    {"rule_3_9_cancel_a_reservation", TWO_NODES "alloc 1 slot4{core1} for 10\n"
                                                "reserve 2 slot4{core1} for 10\n"
                                                "cancel 2\n"
                                                "try-later slot4{core1} for 90\n"
                                                "= m 10+90 cluster0{node0{core0:x core1:x} "
                                                "node1{core0:x core1:x}}\n"},
    {"rule_3_9_cancel_of_something_shared", /* whatever the times of those who stay */
     TWO_NODES "alloc 1 node2{core2} for 17\n"
               "alloc 2 node2{core2} for 19\n"
               "cancel 2\n"
               "alloc 3 node2{core2} for 30\n"
               "cancel 3\n"
               "now 5\n"
               "reserve 4 slot4{core1} for 10\n"
               "= r 17+10 cluster0{node0{core0:x core1:x} node1{core0:x core1:x}}\n"},
    {"rule_3_9_partial_cancel", TWO_NODES "alloc 1 slot4{core1}\n"
                                          "part 1 /cluster0/node0/core1\n"
                                          "= ok\n"
                                          "job 1\n"
                                          "= 0+100 cluster0{node0{core0:x} node1{core0:x "
                                          "core1:x}}\n"
                                          "alloc 2 slot1{core1}\n"
                                          "= 0+100 cluster0{node0{core1:x}}\n"},
    {"rule_3_9_partial_cancel_of_a_way_takes_what_is_below",
     TWO_NODES "alloc 1 slot4{core1}\n"
               "part 1 /cluster0/node0\n"
               "= ok\n"
               "job 1\n"
               "= 0+100 cluster0{node1{core0:x core1:x}}\n"
               "alloc 2 node1:x\n"
               "= 0+100 cluster0{node0:x{core0:x core1:x memory0*8:x}}\n"},
    {"rule_3_9_partial_cancel_takes_ways_that_lead_nowhere",
     TWO_NODES "alloc 1 slot4{core1}\n"
               "part 1 /cluster0/node0/core0 /cluster0/node0/core1\n"
               "= ok\n"
               "job 1\n"
               "= 0+100 cluster0{node1{core0:x core1:x}}\n"},
    {"rule_3_9_partial_cancel_of_all", TWO_NODES "alloc 1 slot2{core1}\n"
                                                 "part 1 /cluster0/node0/core0\n"
                                                 "= ok\n"
                                                 "part 1 /cluster0/node1/core0\n"
                                                 "= all\n"
                                                 "jobs\n"
                                                 "= ok\n"},
    {"rule_3_9_partial_cancel_of_what_it_does_not_have",
     TWO_NODES "alloc 1 slot1{core2}\n"
               "part 1 /cluster0/node0/core0 /cluster0/node1/core0\n"
               "= error\n"
               "job 1\n"
               "= 0+100 cluster0{node0{core0:x core1:x}}\n"
               "part 2 /cluster0/node0/core0\n"
               "= no such\n"},
    {"rule_3_9_partial_cancel_of_a_reservation", TWO_NODES "alloc 1 slot4{core1} for 10\n"
                                                           "reserve 2 slot1{core1} for 10\n"
                                                           "= r 10+10 cluster0{node0{core0:x}}\n"
                                                           "part 2 /cluster0/node0/core0\n"
                                                           "= error\n"},
    {"rule_3_9_partial_cancel_below_something_exclusive",
     TWO_NODES "alloc 1 node1:x\n"
               "part 1 /cluster0/node0/core1\n"
               "= ok\n"
               "job 1\n"
               "= 0+100 cluster0{node0{core0:x memory0*8:x}}\n"
               "alloc 2 slot3{core1}\n"
               "= 0+100 cluster0{node0{core1:x} node1{core0:x core1:x}}\n"},
    {"rule_3_9_partial_cancel_of_an_amount", TWO_NODES "alloc 1 slot1{core1 memory3}\n"
                                                       "part 1 /cluster0/node0/memory0\n"
                                                       "job 1\n"
                                                       "= 0+100 cluster0{node0{core0:x}}\n"
                                                       "sums /cluster0\n"
                                                       "= ok core 1/4 node 0/2 memory 0/16\n"},
    {"rule_3_9_partial_cancel_of_something_shared", TWO_NODES "alloc 1 node1{core2}\n"
                                                              "part 1 /cluster0/node0/core0\n"
                                                              "= ok\n"
                                                              "job 1\n"
                                                              "= 0+100 cluster0{node0{core1}}\n"
                                                              "part 1 /cluster0/node0/core1\n"
                                                              "= all\n"},
    {"rule_3_9_update",
     TWO_NODES "update 7 5+10 /cluster0/node0/core1:x /cluster0/node1/memory0*3:x\n"
               "job 7\n"
               "= 5+10 cluster0{node0{core1:x} node1{memory0*3:x}}\n"
               /* it is allocated: for the present whatever its time */
               "alloc 8 slot3{core1} for 1\n"
               "= 0+1 cluster0{node0{core0:x} node1{core0:x core1:x}}\n"
               "alloc 9 slot1{memory6} for 1\n"
               "= 0+1 cluster0{node0{memory0*6:x}}\n"
               "alloc 10 slot1{memory6} for 1\n"
               "= busy\n"
               "alloc 10 slot1{memory5} for 1\n"
               "= 0+1 cluster0{node1{memory0*5:x}}\n"},
    {"rule_3_9_update_within_the_time_of_the_graph",
     TWO_NODES "update 1 5+0 /cluster0/node0/core1:x\n"
               "= error\n"
               "update 1 50+51 /cluster0/node0/core0:x\n"
               "= error\n"
               "update 1 50+50 /cluster0/node0/core0:x\n"
               "job 1\n"
               "= 50+50 cluster0{node0{core0:x}}\n"},
    {"rule_3_9_shared_use_takes_nothing",
     TWO_NODES "alloc 1 node1{memory6} for 10\n"
               "= 0+10 cluster0{node0{memory0*8}}\n"
               "alloc 2 node1{slot1{memory8}} for 10\n"
               "= 0+10 cluster0{node0{memory0*8:x}}\n"
               "cancel 2\n"
               "alloc 2 node1{slot1{memory7}} for 10\n"
               "cancel 1\n"
               "update 1 0+10 /cluster0/node0/memory0*8\n"
               "job 1\n"
               "= 0+10 cluster0{node0{memory0*8}}\n"
               "alloc 3 node1:x for 10\n"
               "= 0+10 cluster0{node1:x{core0:x core1:x memory0*8:x}}\n"},
    {"rule_3_9_update_of_what_is_taken",
     TWO_NODES "alloc 1 slot1{core1 memory3}\n"
               "= 0+100 cluster0{node0{core0:x memory0*3:x}}\n"
               "update 2 0+10 /cluster0/node0/core1:x /cluster0/node0/core0:x\n"
               "= exists\n"
               "update 2 0+10 /cluster0/node0/memory0*6:x\n"
               "= exists\n"
               "update 2 0+10 /cluster0/node0:x\n"
               "= exists\n"
               "update 1 0+10 /cluster0/node1/core0:x\n"
               "= exists\n"
               "update 2 0+10 /cluster0/node0/core0\n"
               "= exists\n"
               "jobs\n"
               "= ok 1\n"
               "update 2 0+10 /cluster0/node0/memory0*5:x /cluster0/node0/core1:x\n"
               "alloc 3 node1:x\n"
               "= 0+100 cluster0{node1:x{core0:x core1:x memory0*8:x}}\n"
               "update 4 0+10 /cluster0/node1/core0\n"
               "= exists\n"},
    {"rule_3_9_update_later",
     TWO_NODES "alloc 1 node1:x for 10\n"
               "= 0+10 cluster0{node0:x{core0:x core1:x memory0*8:x}}\n"
               "update 2 10+10 /cluster0/node0/core0:x\n"
               "= exists\n"
               "update-later 2 9+10 /cluster0/node0/core0:x\n"
               "= exists\n"
               "update-later 2 10+10 /cluster0/node0/core0:x /cluster0/node0/memory0*3:x\n"
               "job 2\n"
               "= r 10+10 cluster0{node0{core0:x memory0*3:x}}\n"
               "update-later 3 19+1 /cluster0/node0/memory0*6:x\n"
               "= exists\n"
               "reserve 3 slot4{core1} for 10\n"
               "= r 20+10 cluster0{node0{core0:x core1:x} node1{core0:x core1:x}}\n"},
    {"rule_3_9_update_of_a_touched_one", TWO_NODES "alloc 1 node1{core1}\n"
                                                   "update 2 0+10 /cluster0/node0/core0:x\n"
                                                   "= exists\n"
                                                   "update 2 0+10 /cluster0/node0/core0\n"
                                                   "job 2\n"
                                                   "= 0+10 cluster0{node0{core0}}\n"},
    {"rule_3_9_update_has_what_is_listed",
     TWO_NODES "update 1 0+100 /cluster0/node0:x /cluster0/node0/core0:x\n"
               "job 1\n"
               "= 0+100 cluster0{node0:x{core0:x}}\n"
               "sums /cluster0\n"
               "= ok core 1/4 node 1/2 memory 0/16\n"
               "update 2 0+100 /cluster0/node0/core1:x\n"
               "= exists\n"},
    {"rule_3_9_update_takes_pools_whole", "time 0 100\n"
                                          "graph cluster0{node0{memory0*8}}\n"
                                          "update 1 0+100 /cluster0/node0/memory0*3:x\n"
                                          "job 1\n"
                                          "= 0+100 cluster0{node0{memory0*8:x}}\n"},
    {"rule_3_9_update_of_down_ones", TWO_NODES "down /cluster0/node0\n"
                                               "update 1 0+100 /cluster0/node0/core0:x\n"
                                               "job 1\n"
                                               "= 0+100 cluster0{node0{core0:x}}\n"},
    {"rule_3_9_update_that_makes_no_sense",
     TWO_NODES "update 1 0+100 /cluster0/node0/core0:x /cluster0/node0/core0:x\n"
               "= error\n"
               "update 1 0+100 /cluster0/node0/memory0*9:x\n"
               "= error\n"
               "update 1 0+100 /cluster0/node0/core0*2:x\n"
               "= error\n"
               "update 1 0+100 /cluster0/node0/core0*0:x\n"
               "= error\n"
               "update 1 0+101 /cluster0/node0/core0:x\n"
               "= error\n"
               "update 1 100+1 /cluster0/node0/core0:x\n"
               "= error\n"
               "update 1 0+10\n"
               "= error\n"},
    {"rule_3_9_a_job_gets_more", TWO_NODES
     "alloc 1 slot1{core1 memory3} for 20\n"
     "now 5\n"
     "more 1 node1{slot1{core1 memory4}}\n"
     "= 5+15 cluster0{node0{core1:x memory0*4:x}}\n"
     "job 1\n"
     "= 0+20 cluster0{node0{core0:x core1:x memory0*7:x}}\n"
     "more 1 node1:x\n"
     "= 5+15 cluster0{node1:x{core0:x core1:x memory0*8:x}}\n"
     "job 1\n"
     "= 0+20 cluster0{node0{core0:x core1:x memory0*7:x} node1:x{core0:x core1:x memory0*8:x}}\n"
     "more 1 node1{slot1{core1}}\n"
     "= busy\n"
     "more 2 slot1{core1}\n"
     "= no such\n"
     "cancel 1\n"
     "sums /cluster0\n"
     "= ok core 0/4 node 0/2 memory 0/16\n"},
    {"rule_3_9_a_job_that_is_over_gets_no_more", TWO_NODES "alloc 1 slot1{core1} for 5\n"
                                                           "now 5\n"
                                                           "more 1 slot1{core1}\n"
                                                           "= error\n"},
    {"rule_3_9_shrink", TWO_NODES "alloc 1 slot4{core1} for 10\n"
                                  "reserve 2 slot4{core1} for 10\n"
                                  "shrink /cluster0/node0\n"
                                  "job 1\n"
                                  "= 0+10 cluster0{node1{core0:x core1:x}}\n"
                                  "job 2\n"
                                  "= r 10+10 cluster0{node1{core0:x core1:x}}\n"
                                  "sat node2\n"
                                  "= never\n"
                                  "sums /cluster0\n"
                                  "= ok core 2/2 node 0/1 memory 0/8\n"
                                  "cancel 1\n"
                                  "alloc 3 slot2{core1} for 10\n"
                                  "= 0+10 cluster0{node1{core0:x core1:x}}\n"},
    {"rule_3_9_shrink_takes_jobs_that_have_nothing_left",
     TWO_NODES "alloc 1 slot1{core1}\n"
               "= 0+100 cluster0{node0{core0:x}}\n"
               "shrink /cluster0/node0\n"
               "jobs\n"
               "= ok\n"},
    {"rule_3_9_grow", TWO_NODES "alloc 1 slot4{core1} for 10\n"
                                "add /cluster0 node2{core0-1 gpu0}\n"
                                "job 1\n"
                                "= 0+10 cluster0{node0{core0:x core1:x} node1{core0:x core1:x}}\n"
                                "alloc 2 slot1{core1 gpu1} for 10\n"
                                "= 0+10 cluster0{node2{core0:x gpu0:x}}\n"
                                "sums /cluster0\n"
                                "= ok core 5/6 node 0/3 memory 0/16 gpu 1/1\n"},
    {"rule_3_9_nothing_is_put_into_a_pool_in_use",
     TWO_NODES "alloc 1 slot1{memory3} for 10\n"
               "= 0+10 cluster0{node0{memory0*3:x}}\n"
               "noprop /cluster0/node0/memory0 sluice.divisible\n"
               "= ok\n"
               "prop /cluster0/node0/memory0 sluice.divisible=no\n"
               "= error\n"
               "add /cluster0/node0/memory0 bank0\n"
               "= error\n"
               "alloc 2 node1{slot1{memory5}} for 10\n"
               "= 0+10 cluster0{node0{memory0*5:x}}\n"
               "noprop /cluster0/node1/memory0 sluice.divisible\n"
               "= all\n"
               "alloc 3 slot1{memory1} for 10\n"
               "= 0+10 cluster0{node1{memory0*8:x}}\n"},
    {"rule_3_9_what_is_put_into_something_exclusive_waits",
     TWO_NODES "alloc 1 node1:x for 10\n"
               "add /cluster0/node0 core7\n"
               "job 1\n"
               "= 0+10 cluster0{node0:x{core0:x core1:x memory0*8:x}}\n"
               "alloc 2 node1{slot1{core3}} for 10\n"
               "= busy\n"
               "cancel 1\n"
               "alloc 2 node1{slot1{core3}} for 10\n"
               "= 0+10 cluster0{node0{core0:x core1:x core7:x}}\n"},
    {"rule_3_9_shrink_leaves_exclusive_what_is_above",
     TWO_NODES "alloc 1 node1:x for 10\n"
               "shrink /cluster0/node0/core1\n"
               "job 1\n"
               "= 0+10 cluster0{node0:x{core0:x memory0*8:x}}\n"
               "alloc 2 node2{core1} for 10\n"
               "= busy\n"},
    {"rule_3_9_status", TWO_NODES "alloc 1 slot1{core1}\n"
                                  "down /cluster0/node0\n"
                                  "job 1\n"
                                  "= 0+100 cluster0{node0{core0:x}}\n"
                                  "alloc 2 slot1{core1}\n"
                                  "= 0+100 cluster0{node1{core0:x}}\n"
                                  "cancel 1\n"
                                  "up /cluster0/node0\n"
                                  "alloc 3 slot1{core1}\n"
                                  "= 0+100 cluster0{node0{core0:x}}\n"},
    {"rule_3_9_a_clone_is_on_its_own", TWO_NODES "alloc 1 slot3{core1} for 10\n"
                                                 "reserve 2 slot2{core1} for 10\n"
                                                 "clone\n"
                                                 "job 2\n"
                                                 "= r 10+10 cluster0{node0{core0:x} "
                                                 "node1{core0:x}}\n"
                                                 "cancel 1\n"
                                                 "alloc 3 slot4{core1} for 10\n"
                                                 "= 0+10 cluster0{node0{core0:x core1:x} "
                                                 "node1{core0:x core1:x}}\n"},
    {NULL, NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* 3.8: who is preferred. */
#include <stddef.h>

#include "rules.h"

#define TWO_NODES "time 0 100\ngraph cluster0{node0-1{core0-3}}\n"

const struct rule rules_policy[] = {
    {"rule_3_8_several_policies_share_jobs", "policy lonode\n"
                                             "also hinodex\n"
                                             "time 0 100\n"
                                             "graph cluster0{node0-2{core0-1}}\n"
                                             "alloc 1 slot1{core1}\n"
                                             "= 0+100 cluster0{node0{core0:x}}\n"
                                             "by also alloc 2 slot1{core1}\n"
                                             "= 0+100 cluster0{node2:x{core0:x core1:x}}\n"
                                             "by also alloc 3 slot1{core1}\n"
                                             "= 0+100 cluster0{node1:x{core0:x core1:x}}\n"
                                             "by also alloc 4 slot1{core1}\n"
                                             "= busy\n"
                                             "alloc 4 slot1{core1}\n"
                                             "= 0+100 cluster0{node0{core1:x}}\n"
                                             "cancel 3\n"
                                             "alloc 5 slot1{core1}\n"
                                             "= 0+100 cluster0{node1{core0:x}}\n"
                                             "by also alloc 6 slot1{core1}\n"
                                             "= busy\n"
                                             "down /cluster0/node2\n"
                                             "cancel 2\n"
                                             "by also alloc 6 slot1{core1}\n"
                                             "= busy\n"
                                             "up /cluster0/node2\n"
                                             "by also alloc 6 slot1{core1}\n"
                                             "= 0+100 cluster0{node2:x{core0:x core1:x}}\n"
                                             "by also sat slot3{core1}\n"
                                             "= satisfiable\n"},
    {"rule_3_8_high_prefers_high_ids", "policy high\n" TWO_NODES "alloc 1 slot2{core2}\n"
                                       "= 0+100 cluster0{node0{core2:x core3:x} node1{core2:x "
                                       "core3:x}}\n"
                                       "alloc 2 node1{slot1{core1}}\n"
                                       "= 0+100 cluster0{node1{core1:x}}\n"},
    {"rule_3_8_low_prefers_low_ids", "policy low\n" TWO_NODES "alloc 1 slot2{core2}\n"
                                     "= 0+100 cluster0{node0{core0:x core1:x} node1{core0:x "
                                     "core1:x}}\n"},
    {"rule_3_8_equal_scores_as_found",
     "policy low\n"
     "time 0 100\n"
     "graph cluster0{rack0{node0#9{core0#8}} rack1{node0#5{core0#6}} rack2{node0#7{core0#4}}}\n"
     "try slot1{core1}\n"
     "= m 0+100 cluster0{rack0{node0{core0:x}}}\n"
     "alloc 1 node1{slot1{core1}}\n"
     "= 0+100 cluster0{rack0{node0{core0:x}}}\n"
     "try node1{slot1{core1}}\n"
     "= m 0+100 cluster0{rack1{node0{core0:x}}}\n"},
    {"rule_3_8_equal_scores_as_found_high",
     "policy high\n"
     "time 0 100\n"
     "graph cluster0{rack0{node0#5{core0#8}} rack1{node0#9{core0#6}} rack2{node0#7{core0#4}}}\n"
     "try slot1{core1}\n"
     "= m 0+100 cluster0{rack0{node0{core0:x}}}\n"
     "alloc 1 node1{slot1{core1}}\n"
     "= 0+100 cluster0{rack0{node0{core0:x}}}\n"
     "try slot1{core1}\n"
     "= m 0+100 cluster0{rack1{node0{core0:x}}}\n"},
    {"rule_3_8_hinode_fills_high_nodes", "policy hinode\n" TWO_NODES "alloc 1 slot2{core2}\n"
                                         "= 0+100 cluster0{node1{core0:x core1:x core2:x "
                                         "core3:x}}\n"},
    {"rule_3_8_lonode_fills_low_nodes", "policy lonode\n" TWO_NODES "alloc 1 slot2{core2}\n"
                                        "= 0+100 cluster0{node0{core0:x core1:x core2:x "
                                        "core3:x}}\n"},
    {"rule_3_8_node_centric_scores_know_the_unique_id", /* |5-1| and |3-1| */
     "policy lonode\n"
     "time 0 100\n"
     "graph cluster0{rack0{node0#5{core0}} rack1{node0#3{core0}}}\n"
     "try slot1{core1}\n"
     "= m 0+100 cluster0{rack1{node0{core0:x}}}\n"},
    {"rule_3_8_hinodex_takes_whole_nodes",
     "policy hinodex\n" TWO_NODES "alloc 1 node1{slot1{core1}}\n"
     "= 0+100 cluster0{node1:x{core0:x core1:x core2:x core3:x}}\n"
     /* also when the node is only on the way */
     "alloc 2 slot1{core1}\n"
     "= 0+100 cluster0{node0:x{core0:x core1:x core2:x core3:x}}\n"
     "alloc 3 slot1{core1}\n"
     "= busy\n"},
    {"rule_3_8_lonodex_asks_for_untouched_nodes",
     "policy lonodex\n" TWO_NODES "update 1 0+100 /cluster0/node0/core2:x\n"
     "alloc 2 slot1{core1}\n"
     "= 0+100 cluster0{node1:x{core0:x core1:x core2:x core3:x}}\n"
     "alloc 3 slot1{core1}\n"
     "= busy\n"},
    {"rule_3_8_whole_nodes_whatever_the_request_says",
     "policy lonodex\n" TWO_NODES "alloc 1 node1:s{core1:s}\n"
     "= 0+100 cluster0{node0:x{core0:x core1:x core2:x core3:x}}\n"},
    {"rule_3_8_first_prefers_what_has_most_left",
     "policy first\n" TWO_NODES "alloc 1 slot1{core1}\n"
     "= 0+100 cluster0{node1{core3:x}}\n"
     "alloc 2 slot1{core1}\n"
     "= 0+100 cluster0{node0{core3:x}}\n"
     "alloc 3 slot1{core1}\n"
     "= 0+100 cluster0{node1{core2:x}}\n"},
    {"rule_3_8_first_prefers_what_was_not_visited",
     "policy first\n" TWO_NODES "alloc 1 slot1{core1}\n"
     "= 0+100 cluster0{node1{core3:x}}\n"
     "cancel 1\n"
     "alloc 2 slot1{core1}\n"
     "= 0+100 cluster0{node0{core3:x}}\n"
     "cancel 2\n"
     "alloc 3 slot1{core1}\n"
     "= 0+100 cluster0{node1{core3:x}}\n"},
    {"rule_3_8_first_knows_what_was_given_back_ours", /* elsewhere node1 is still full */
     "policy first\n" TWO_NODES "alloc 1 slot1{core4}\n"
     "= 0+100 cluster0{node1{core0:x core1:x core2:x core3:x}}\n"
     "alloc 2 slot1{core1}\n"
     "= 0+100 cluster0{node0{core3:x}}\n"
     "cancel 1\n"
     "alloc 3 slot1{core1}\n"
     "= 0+100 cluster0{node1{core3:x}}\n"},
    {"rule_3_8_first_visits_without_allocating", "policy first\n" TWO_NODES "try slot1{core1}\n"
                                                 "= m 0+100 cluster0{node1{core3:x}}\n"
                                                 "sat slot1{core1}\n"
                                                 "= satisfiable\n"
                                                 "alloc 1 slot1{core1}\n"
                                                 "= 0+100 cluster0{node0{core3:x}}\n"},
    {"rule_3_8_first_goes_by_untouched_racks",
     "policy first\n"
     "time 0 100\n"
     "graph cluster0{rack0{node0-1{core0-3}} rack1{node2-3{core0-3}}}\n"
     "alloc 1 slot1{core1}\n"
     "= 0+100 cluster0{rack1{node3{core3:x}}}\n"
     "alloc 2 slot1{core1}\n"
     "= 0+100 cluster0{rack0{node1{core3:x}}}\n"
     /* both racks have two nodes that no job has alone */
     "alloc 3 slot1{core1}\n"
     "= 0+100 cluster0{rack1{node2{core3:x}}}\n"},
    {"rule_3_8_first_weighs_the_last_type_of_the_filter",
     "policy first\n"
     "filters ALL:core,ALL:gpu\n"
     "time 0 100\n"
     "graph cluster0{node0{core0-1 gpu0-1} node1{core0-7 gpu0} node2{core0-3}}\n"
     "alloc 1 slot1{core1}\n"
     "= 0+100 cluster0{node2{core3:x}}\n"
     "alloc 2 slot1{core1 gpu1}\n"
     "= 0+100 cluster0{node1{core7:x gpu0:x}}\n"
     "alloc 3 slot1{core1}\n"
     "= 0+100 cluster0{node0{core1:x}}\n"
     /* gpus that are free: 2, 0, 0 */
     "alloc 4 slot1{core1}\n"
     "= 0+100 cluster0{node0{core0:x}}\n"
     "alloc 5 slot1{core1}\n"
     "= 0+100 cluster0{node2{core2:x}}\n"},
    {"rule_3_8_first_weighs_its_own_type_s_filter_first",
     "policy first\n"
     "filters ALL:core,rack:gpu\n"
     "time 0 100\n"
     "graph cluster0{rack0{node0{core0-7 gpu0}} rack1{node1{core0-3 gpu0-1}}}\n"
     "alloc 1 slot1{core1}\n"
     "= 0+100 cluster0{rack1{node1{core3:x}}}\n"
     "alloc 2 slot1{core1}\n"
     "= 0+100 cluster0{rack0{node0{core7:x}}}\n"
     "alloc 3 slot1{core1}\n" /* the last type of a rack is core */
     "= 0+100 cluster0{rack0{node0{core6:x}}}\n"},
    {"rule_3_8_first_each_vertex_stops_for_itself",
     "policy first\n"
     "time 0 100\n"
     "graph cluster0{rack0{node0-2{core0}} rack1{node0-1{core0}}}\n"
     /* rack1 is enough */
     "try node2:x\n"
     "= m 0+100 cluster0{rack1{node0:x{core0:x} node1:x{core0:x}}}\n"
     /* rack0 was not visited; then rack1 is walked, for four; the best of five are node2, both
        node1 and of node0 the one that was found first */
     "try node4:x\n"
     "= m 0+100 cluster0{rack0{node0:x{core0:x} node1:x{core0:x} node2:x{core0:x}} "
     "rack1{node1:x{core0:x}}}\n"},
    {"rule_3_8_first_looks_no_longer_at_what_it_has",
     "policy first\n"
     "time 0 100\n"
     "graph cluster0{ssd0-3 core0-1}\n"
     "try core1:x ssd2:x\n"
     "= m 0+100 cluster0{ssd2:x ssd3:x core1:x}\n"},
    {"rule_3_8_first_takes_the_best_of_what_it_found",
     "policy first\n"
     "time 0 100\n"
     /* walked by unique id, chosen by id */
     "graph cluster0{node0#9{core5#20 core1#30 core7#10}}\n"
     "alloc 1 slot1{core1}\n"
     "= 0+100 cluster0{node0{core1:x}}\n"
     "alloc 2 slot(1-2){core1}\n"
     "= 0+100 cluster0{node0{core5:x core7:x}}\n"},
    {"rule_3_8_firstnodex", "policy firstnodex\n" TWO_NODES "alloc 1 slot1{core1}\n"
                            "= 0+100 cluster0{node1:x{core0:x core1:x core2:x core3:x}}\n"
                            "alloc 2 slot1{core1}\n"
                            "= 0+100 cluster0{node0:x{core0:x core1:x core2:x core3:x}}\n"},
    {"rule_3_8_locality_prefers_high_intervals_at_the_top",
     "policy locality\n"
     "time 0 100\n"
     "graph cluster0{node0{core0-3 core5-6}}\n"
     "try core2:x\n"
     "= m 0+100 cluster0{node0{core5:x core6:x}}\n"
     "try core5:x\n"
     "= m 0+100 cluster0{node0{core0:x core1:x core2:x core5:x core6:x}}\n"
     /* inside: high */
     "try node1{core2:x}\n"
     "= m 0+100 cluster0{node0{core5:x core6:x}}\n"},
    {"rule_3_8_locality_stays_in_few_nodes",
     "policy locality\n"
     "time 0 100\n"
     "graph cluster0{node0-3{core0-3}}\n"
     "try slot6{core1}\n"
     "= m 0+100 cluster0{node0{core0:x core1:x core2:x core3:x} node1{core2:x core3:x}}\n"},
    /* of more than 16 equal ones, those that its sort leaves in front */
    {"rule_3_8_locality_as_fluxion_has_it", "verdicts fluxion\n"
                                            "policy locality\n"
                                            "time 0 100\n"
                                            "graph cluster0{node0-4{core0-3}}\n"
                                            "try slot6{core1}\n"
                                            "= m 0+100 cluster0{node2{core1:x} node3{core0:x} "
                                            "node4{core0:x core1:x core2:x core3:x}}\n"},
    {"rule_3_8_variation_prefers_low_classes",
     "policy variation\n"
     "time 0 100\n"
     "graph cluster0{node0(perf_class=5){core0} node1(perf_class=3){core0} node2{core0} "
     "node3(perf_class=12){core0}}\n"
     "alloc 1 node2:x\n"
     "= 0+100 cluster0{node0:x{core0:x} node1:x{core0:x}}\n"
     "alloc 2 node1:x\n"
     "= 0+100 cluster0{node3:x{core0:x}}\n"
     "cancel 1\n"
     "prop /cluster0/node0 perf_class=1\n"
     "alloc 3 node1:x\n"
     "= 0+100 cluster0{node0:x{core0:x}}\n"},
    {"rule_3_8_a_policy_in_words",
     "policy policy=low node_centric=true node_exclusive=false stop_on_1_matches=true\n" TWO_NODES
     /* walked as by first, chosen as by low */
     "alloc 1 slot1{core1}\n"
     "= 0+100 cluster0{node1{core3:x}}\n"
     "try node2{slot1{core1}}\n"
     "= m 0+100 cluster0{node0{core3:x} node1{core2:x}}\n"},
    {NULL, NULL},
};

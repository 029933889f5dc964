/* SPDX-License-Identifier: Apache-2.0 */
/* 3.7: the walk, slots, exclusiveness, pools. */
#include <stddef.h>

#include "rules.h"

#define LOW "policy low\ntime 0 100\n"
#define RACKS LOW "graph cluster0{rack0-1{node0-1{core0-1}}}\n"
#define SOCKETS LOW "graph cluster0{node0{socket0-1{core0-1 gpu0}}}\n"

const struct rule rules_walk[] = {
    {"rule_3_7_levels_above_may_be_left_out", RACKS "try slot1{core2}\n"
                                                    "= m 0+100 cluster0{rack0{node0{core0:x "
                                                    "core1:x}}}\n"
                                                    "try node1{slot1{core2}}\n"
                                                    "= m 0+100 cluster0{rack0{node0{core0:x "
                                                    "core1:x}}}\n"
                                                    "try cluster1{rack1{node1{slot1{core2}}}}\n"
                                                    "= m 0+100 cluster0{rack0{node0{core0:x "
                                                    "core1:x}}}\n"},
    {"rule_3_7_levels_between_may_not", RACKS "sat rack1{core1}\n"
                                              "= never\n"
                                              "sat cluster1{node1{slot1{core1}}}\n"
                                              "= never\n"
                                              "sat cluster1{slot1{core1}}\n"
                                              "= never\n"},
    /* the reference finds this satisfiable and never allocates it */
    {"rule_3_7_a_slot_may_take_shape_one_level_below_ours",
     SOCKETS "alloc 1 node1{slot1{core2 gpu1}}\n"
             "= 0+100 cluster0{node0{socket0{core0:x core1:x gpu0:x}}}\n"
             "alloc 2 node1{slot1{core2 gpu1}}\n"
             "= 0+100 cluster0{node0{socket1{core0:x core1:x gpu0:x}}}\n"},
    {"rule_3_7_slot_never_spans_sockets", SOCKETS "sat node1{slot1{core3}}\n"
                                                  "= never\n"
                                                  "sat slot1{core3}\n"
                                                  "= never\n"
                                                  "try node1{slot2{core2}}\n"
                                                  "= m 0+100 cluster0{node0{socket0{core0:x "
                                                  "core1:x} socket1{core0:x core1:x}}}\n"},
    {"rule_3_7_a_slot_takes_shape_where_all_its_types_are",
     LOW "graph cluster0{node0{core0-1 socket0{core0-1 gpu0}}}\n"
         "try slot1{core1 gpu1}\n"
         "= m 0+100 cluster0{node0{socket0{core0:x gpu0:x}}}\n"
         /* and at the first such place: not in the socket then */
         "sat slot3{core1}\n"
         "= never\n"},
    {"rule_3_7_slots_of_nodes_at_the_first_level_that_has_them",
     LOW "graph cluster0{node0{core0-1} rack0{node1-2{core0-1}}}\n"
         "sat slot2{node1}\n"
         "= never\n"
         "alloc 1 slot1{node1{core1}}\n"
         "= 0+100 cluster0{node0:x{core0:x}}\n"
         "alloc 2 slot1{node1}\n"
         "= busy\n"},
    {"rule_3_7_slots_from_anywhere_are_the_best_of_all",
     "policy high\n"
     "time 0 100\n"
     "graph cluster0{node0{core0-3 memory0-3*8} node1{core0-1 memory0-3*8} node2{core0-5}}\n"
     "alloc 1 slot1{core1 memory9}\n"
     "= 0+100 cluster0{node0{core3:x memory2*8:x memory3*8:x}}\n"
     "alloc 2 slot(1-9){core1 memory9}\n"
     "= 0+100 cluster0{node0{core2:x memory0*8:x memory1*8:x} node1{core0:x core1:x "
     "memory0*8:x memory1*8:x memory2*8:x memory3*8:x}}\n"
     "down /cluster0/node2/core5\n"
     "alloc 3 slot2{core2} for 20\n"
     "= 0+20 cluster0{node2{core1:x core2:x core3:x core4:x}}\n"
     "reserve 4 slot2{core2} for 10\n"
     "= r 20+10 cluster0{node2{core1:x core2:x core3:x core4:x}}\n"},
    {"rule_3_7_two_equal_side_by_side", RACKS "check node1 node1\n"
                                              "= error\n"
                                              "check node1{slot1{core1} core1}\n"
                                              "= error\n"
                                              "check node1{slot1{core1} or_slot1{core1}}\n"
                                              "= error\n"
                                              "check node1{slot1}\n"
                                              "= error\n"
                                              "check node1 rack1{node1}\n"
                                              "= ok\n"},
    {"rule_3_7_exclusive_false_below_exclusive", RACKS "check slot1{node1:s}\n"
                                                       "= error\n"
                                                       "check slot1{node1{core1:s}}\n"
                                                       "= error\n"
                                                       "check node1:x{core1:s}\n"
                                                       "= error\n"
                                                       "check node1:s{core1:x}\n"
                                                       "= ok\n"},
    {"rule_3_7_nodes_of_all_racks_compete",
     RACKS "alloc 1 rack1{node1{slot1{core1}}} where hosts(node0)\n"
           "= 0+100 cluster0{rack0{node0{core0:x}}}\n"
           "try node2:x\n"
           "= m 0+100 cluster0{rack0{node1:x{core0:x core1:x}} rack1{node0:x{core0:x core1:x}}}\n"
           /* with racks in the request they are chosen rack by rack */
           "try rack1{node2:x}\n"
           "= m 0+100 cluster0{rack1{node0:x{core0:x core1:x} node1:x{core0:x core1:x}}}\n"},
    {"rule_3_7_slots_of_all_nodes_compete",
     LOW "graph cluster0{node0-1{core0-3}}\n"
         "try slot2{core2}\n"
         "= m 0+100 cluster0{node0{core0:x core1:x} node1{core0:x core1:x}}\n"
         "try slot3{core2}\n"
         "= m 0+100 cluster0{node0{core0:x core1:x core2:x core3:x} node1{core0:x core1:x}}\n"
         "sat slot5{core2}\n"
         "= never\n"},
    {"rule_3_7_every_want_inside_must_be_met",
     LOW "graph cluster0{node0{core0-3} node1{core0 gpu0}}\n"
         "try node1{slot1{core1} gpu1:x}\n"
         "= m 0+100 cluster0{node1{core0:x gpu0:x}}\n"
         "sat node1{slot1{core2} gpu1}\n"
         "= never\n"
         "sat node2{slot1{core1} gpu1}\n"
         "= never\n"},
    {"rule_3_7_several_top_requests",
     LOW "graph cluster0{rack0{node0{core0-1} ssd0-2*100}}\n"
         "alloc 1 node1{slot1{core1}} ssd150:x\n"
         "= 0+100 cluster0{rack0{node0{core0:x} ssd0*100:x ssd1*100:x}}\n"
         "alloc 2 node1{slot1{core1}} ssd150:x\n"
         "= busy\n"
         "alloc 2 node1{slot1{core1}} ssd1:x\n"
         "= 0+100 cluster0{rack0{node0{core1:x} ssd2*100:x}}\n"},
    {"rule_3_7_wants_beside_a_slot", LOW "graph cluster0{node0{core0-3 ssd0-1}}\n"
                                         "alloc 1 node1{ssd1:x slot2{core1}}\n"
                                         "= 0+100 cluster0{node0{core0:x core1:x ssd0:x}}\n"
                                         "alloc 2 node1{ssd1 slot1{core1}}\n"
                                         "= 0+100 cluster0{node0{core2:x ssd1}}\n"
                                         "alloc 3 node1{ssd1 slot1{core1}}\n"
                                         "= 0+100 cluster0{node0{core3:x ssd1}}\n"},
    {"rule_3_7_pools_are_taken_whole", LOW "graph cluster0{node0{memory0-2*8}}\n"
                                           "alloc 1 slot1{memory1}\n"
                                           "= 0+100 cluster0{node0{memory0*8:x}}\n"
                                           "alloc 2 slot1{memory9}\n"
                                           "= 0+100 cluster0{node0{memory1*8:x memory2*8:x}}\n"
                                           "alloc 3 slot1{memory1}\n"
                                           "= busy\n"},
    {"rule_3_7_bundles_are_of_whole_vertices",
     LOW "graph cluster0{node0{memory0*3 memory1*8 memory2*3 memory3*3}}\n"
         /* 3+8, 3+3 */
         "try slot2{memory5}\n"
         "= m 0+100 cluster0{node0{memory0*3:x memory1*8:x memory2*3:x memory3*3:x}}\n"
         "sat slot3{memory5}\n"
         "= never\n"},
    {"rule_3_7_bundle_size_is_what_the_count_takes_of_all",
     LOW "graph cluster0{node0{core0-4}}\n"
         /* of 5 cores (1-4) takes 4, so there is one slot */
         "try slot(1-9){core(1-4)}\n"
         "= m 0+100 cluster0{node0{core0:x core1:x core2:x core3:x}}\n"
         "sat slot2{core(1-4)}\n"
         "= never\n"
         "sat slot2{core(1,2)}\n"
         "= satisfiable\n"},
    {"rule_3_7_fewer_vertices_can_be_more_slots",
     LOW "graph cluster0{node0{core0-2}}\n"
         /* of 3 cores (1-4+2) takes 3, of 2 it takes 1 */
         "alloc 1 slot2{core(1-4+2)}\n"
         "= busy\n"
         "alloc 2 core1\n"
         "alloc 1 slot2{core(1-4+2)}\n"
         "= 0+100 cluster0{node0{core1:x core2:x}}\n"},
    {"rule_3_7_divisible_pools_by_amounts_ours",
     LOW "graph cluster0{node0{memory0-1*8%}}\n"
         "alloc 1 slot1{memory3}\n"
         "= 0+100 cluster0{node0{memory0*3:x}}\n"
         /* of the 5 and 8 that are left: 4, 1 and 3, 4; the two that score least */
         "try slot2{memory4}\n"
         "= m 0+100 cluster0{node0{memory0*4:x memory1*4:x}}\n"
         "try slot3{memory4}\n"
         "= m 0+100 cluster0{node0{memory0*5:x memory1*7:x}}\n"
         "alloc 2 slot1{memory8}\n"
         "= 0+100 cluster0{node0{memory0*5:x memory1*3:x}}\n"
         "alloc 3 slot1{memory6}\n"
         "= busy\n"
         "alloc 3 slot1{memory5}\n"
         "= 0+100 cluster0{node0{memory1*5:x}}\n"
         "cancel 2\n"
         "alloc 4 node1{memory8:x}\n"
         "= 0+100 cluster0{node0{memory0*5:x memory1*3:x}}\n"},
    {"rule_3_7_divisible_pools_over_time_ours", LOW "graph cluster0{memory0*8%}\n"
                                                    "alloc 1 slot1{memory5} for 10\n"
                                                    "reserve 2 slot1{memory4} for 10\n"
                                                    "= r 10+10 cluster0{memory0*4:x}\n"
                                                    "alloc 3 slot1{memory4} for 10\n"
                                                    "= busy\n"
                                                    /* 3 until 10, 4 from then on */
                                                    "alloc 3 slot1{memory3} for 20\n"
                                                    "= 0+20 cluster0{memory0*3:x}\n"
                                                    "try-later slot1{memory(1+)} for 10\n"
                                                    "= m 10+10 cluster0{memory0:x}\n"},
    {"rule_3_7_divisible_pools_of_jobs_that_overrun_ours", LOW "graph cluster0{memory0*8%}\n"
                                                               "alloc 1 slot1{memory5} for 10\n"
                                                               "now 20\n"
                                                               "alloc 2 slot1{memory4} for 10\n"
                                                               "= busy\n"
                                                               "alloc 2 slot1{memory3} for 10\n"
                                                               "= 20+10 cluster0{memory0*3:x}\n"
                                                               "try-later slot1{memory8} for 10\n"
                                                               "= m 30+10 cluster0{memory0*8:x}\n"},
    {"rule_3_7_divisible_pools_go_whole_with_their_node_ours",
     LOW "graph cluster0{node0-1{memory0*8%}}\n"
         "alloc 1 slot1{memory1}\n"
         "= 0+100 cluster0{node0{memory0:x}}\n"
         "alloc 2 node1:x{memory1}\n"
         "= 0+100 cluster0{node1:x{memory0*8:x}}\n"
         "alloc 3 node1:x\n"
         "= busy\n"},
    {"rule_3_7_exclusive_takes_the_whole_subtree",
     SOCKETS "alloc 1 node1:x{socket1{core1}}\n"
             "= 0+100 cluster0{node0:x{socket0:x{core0:x core1:x gpu0:x} socket1:x{core0:x core1:x "
             "gpu0:x}}}\n"},
    {"rule_3_7_slots_over_nodes", RACKS "alloc 1 slot2{node1{core1}}\n"
                                        "= 0+100 cluster0{rack0{node0:x{core0:x}} "
                                        "rack1{node0:x{core0:x}}}\n"
                                        "alloc 2 slot1{node2}\n"
                                        "= busy\n"
                                        "alloc 2 slot2{node1}\n"
                                        "= 0+100 cluster0{rack0{node1:x} rack1{node1:x}}\n"},
    {"rule_3_7_nobody_gets_what_is_below_a_slots", RACKS "alloc 1 slot4{node1{core1}}\n"
                                                         "alloc 2 slot1{core1}\n"
                                                         "= busy\n"
                                                         "alloc 2 node1{core1}\n"
                                                         "= busy\n"
                                                         "reserve 2 core1 for 1\n"
                                                         "= busy\n"},
    {"rule_3_7_nor_of_racks", RACKS "alloc 1 slot2{rack1{node1}} for 10\n"
                                    "= 0+10 cluster0{rack0:x{node0:x} rack1:x{node0:x}}\n"
                                    "alloc 2 node1 for 10\n"
                                    "= busy\n"
                                    "reserve 2 node1 for 10\n"
                                    "= r 10+10 cluster0{rack0{node0}}\n"},
    {"rule_3_7_exclusive_wants_it_untouched", LOW "graph cluster0{node0{core0-1}}\n"
                                                  "alloc 1 slot1{core1} for 10\n"
                                                  "alloc 2 node1:x for 10\n"
                                                  "= busy\n"
                                                  "alloc 2 node1{slot1{core1}} for 10\n"
                                                  "= 0+10 cluster0{node0{core1:x}}\n"
                                                  "cancel 1\n"
                                                  "cancel 2\n"
                                                  "alloc 3 node1:x for 10\n"
                                                  "= 0+10 cluster0{node0:x{core0:x core1:x}}\n"
                                                  "alloc 4 node1 for 10\n"
                                                  "= busy\n"},
    {"rule_3_7_shared_by_any_number_ours", LOW "graph cluster0{node0{core0-1}}\n"
                                               "alloc 1 node1{core2} for 10\n"
                                               "= 0+10 cluster0{node0{core0 core1}}\n"
                                               "alloc 2 node1{core1} for 10\n"
                                               "= 0+10 cluster0{node0{core0}}\n"
                                               "alloc 3 slot1{core1} for 10\n"
                                               "= busy\n"
                                               "cancel 1\n"
                                               "alloc 3 slot1{core1} for 10\n"
                                               "= 0+10 cluster0{node0{core1:x}}\n"
                                               "alloc 4 node1{core2} for 10\n"
                                               "= busy\n"
                                               "alloc 4 core1\n"
                                               "= 0+100 cluster0{node0{core0}}\n"},
    {"rule_3_7_overrun_keeps_exclusive_ones_out", LOW "graph cluster0{node0{core0-1}}\n"
                                                      "alloc 1 node1{core1} for 10\n"
                                                      "now 50\n"
                                                      "alloc 2 node1:x for 10\n"
                                                      "= busy\n"
                                                      "alloc 2 node1{core1} for 10\n"
                                                      "= 50+10 cluster0{node0{core0}}\n"},
    {"rule_3_7_a_busy_way_is_no_way",
     LOW "graph cluster0{node0{core0-1 ssd0} node1{core0-1 ssd0}}\n"
         "alloc 1 node1:x for 10\n"
         "= 0+10 cluster0{node0:x{core0:x core1:x ssd0:x}}\n"
         "alloc 2 ssd1 for 5\n"
         "= 0+5 cluster0{node1{ssd0}}\n"},
    {"rule_3_7_xor_slots_are_alternatives",
     LOW "graph cluster0{node0{core0-3 gpu0}}\n"
         "alloc 1 xor_slot1{core1 gpu1} xor_slot1{core3} for 10\n"
         "= 0+10 cluster0{node0{core0:x gpu0:x}}\n"
         "alloc 2 xor_slot1{core1 gpu1} xor_slot1{core3} for 10\n"
         "= 0+10 cluster0{node0{core1:x core2:x core3:x}}\n"
         /* at each time all of them, in their order */
         "reserve 3 xor_slot1{core4} xor_slot1{core1} for 10\n"
         "= r 10+10 cluster0{node0{core0:x core1:x core2:x core3:x}}\n"
         "sat node1{xor_slot1{core9} xor_slot2{core2}}\n"
         "= satisfiable\n"
         "sat node1{xor_slot1{core9} xor_slot3{core2}}\n"
         "= never\n"
         "check node1{xor_slot1{core1} slot1{core2}}\n"
         "= error\n"},
    {"rule_3_7_xor_slots_at_several_depths",
     LOW "graph cluster0{rack0{node0-1{core0-3}} ssd0-1}\n"
         /* the outer list changes last */
         "alloc 1 cluster1{rack1{node1{xor_slot1{core5} xor_slot1{core3}}} xor_slot1{ssd1} "
         "xor_slot2{ssd1}}\n"
         "= 0+100 cluster0{rack0{node0{core0:x core1:x core2:x}} ssd0:x}\n"
         "alloc 2 cluster1{rack1{node1{xor_slot1{core5} xor_slot1{core3}}} xor_slot2{ssd1} "
         "xor_slot1{ssd1}}\n"
         "= 0+100 cluster0{rack0{node1{core0:x core1:x core2:x}} ssd1:x}\n"
         "sat xor_slot1{node1{xor_slot1{core9} xor_slot1{core4}}} xor_slot1{core1}\n"
         "= satisfiable\n"},
    {"rule_3_7_at_most_256_alternatives_ours",
     LOW "graph cluster0{node0{core0-1}}\n"
         "check cluster1{xor_slot1{ssd1} xor_slot1{ssd2} xor_slot1{ssd3} xor_slot1{ssd4} "
         "rack1{xor_slot1{ssd1} xor_slot1{ssd2} xor_slot1{ssd3} xor_slot1{ssd4} "
         "node1{xor_slot1{ssd1} xor_slot1{ssd2} xor_slot1{ssd3} xor_slot1{ssd4} "
         "socket1{xor_slot1{ssd1} xor_slot1{ssd2} xor_slot1{ssd3} xor_slot1{ssd4}}}}}\n"
         "= ok\n"
         "check cluster1{xor_slot1{ssd1} xor_slot1{ssd2} xor_slot1{ssd3} xor_slot1{ssd4} "
         "rack1{xor_slot1{ssd1} xor_slot1{ssd2} xor_slot1{ssd3} xor_slot1{ssd4} "
         "node1{xor_slot1{ssd1} xor_slot1{ssd2} xor_slot1{ssd3} xor_slot1{ssd4} "
         "socket1{xor_slot1{ssd1} xor_slot1{ssd2} xor_slot1{ssd3} xor_slot1{ssd4} "
         "xor_slot1{ssd5}}}}}\n"
         "= error\n"},
    {"rule_3_7_or_slots_at_several_depths_ours",
     LOW "graph cluster0{node0{core0-3 gpu0}}\n"
         "try or_slot1{node1{or_slot2{core1 gpu1} or_slot2{core3}}}\n"
         "= m 0+100 cluster0{node0:x{core0:x core1:x core2:x core3:x gpu0:x}}\n"},
    {"rule_3_7_a_slot_in_a_slot",
     LOW "graph cluster0{node0-1{core0-3}}\n"
         "alloc 1 slot1{node1{slot2{core1}}}\n"
         "= 0+100 cluster0{node0:x{core0:x core1:x}}\n"
         "alloc 2 slot1{node1{slot2{core1}}}\n"
         "= 0+100 cluster0{node1:x{core0:x core1:x}}\n"
         "sat slot2{slot2{core1}}\n" /* directly: it takes shape nowhere */
         "= never\n"},
    {"rule_3_7_several_slots_at_the_top_are_all_met_ours",
     "policy lonode\n"
     "time 0 100\n"
     "graph cluster0{node0-2{core0*8% memory0*16%} node3{core0*8% memory0*16% gpu0*2%}}\n"
     "alloc 1 slot3{core4 memory4} slot2{gpu1}\n"
     "= 0+100 cluster0{node0{core0*8:x memory0*8:x} node1{core0*4:x memory0*4:x} "
     "node3{gpu0*2:x}}\n"
     "alloc 2 slot1{gpu1} slot1{core1 memory1}\n"
     "= busy\n"
     "sat slot1{gpu2} slot4{core8 memory16}\n"
     "= satisfiable\n"
     "sat slot1{gpu1 core1} slot4{core8 memory16}\n"
     "= never\n"
     "cancel 1\n"
     "reserve 3 slot2{core8} slot1{gpu1 memory16} for 10\n"
     "= 0+10 cluster0{node0{core0*8:x} node1{core0*8:x} node3{memory0*16:x gpu0:x}}\n"
     "reserve 4 slot3{core8} slot1{gpu2} for 10\n"
     "= r 10+10 cluster0{node0{core0*8:x} node1{core0*8:x} node2{core0*8:x} node3{gpu0*2:x}}\n"},
    {"rule_3_7_several_slots_in_another_order_if_need_be_ours",
     LOW "graph cluster0{node0{core0-1 gpu0} node1{core0-1}}\n"
         /* the first one would take the cores beside the gpu */
         "alloc 1 slot1{core2} slot1{core2 gpu1}\n"
         "= 0+100 cluster0{node0{core0:x core1:x gpu0:x} node1{core0:x core1:x}}\n"
         "sat slot1{core2} slot1{core2 gpu1}\n"
         "= satisfiable\n"
         "sat slot2{core2} slot1{core2 gpu1}\n"
         "= never\n"},
    {"rule_3_7_several_slots_beside_other_requests_ours",
     LOW "graph cluster0{node0-1{core0-3} ssd0-1}\n"
         "alloc 1 slot1{core1} ssd1:x slot1{core4}\n"
         "= 0+100 cluster0{node0{core0:x} node1{core0:x core1:x core2:x core3:x} ssd0:x}\n"},
    {"rule_3_7_several_slots_inside_a_request_ours",
     LOW "graph cluster0{node0-1{core0-3 gpu0 memory0*8%}}\n"
         "alloc 1 node1{slot2{core1 memory2} slot1{core1 gpu1 memory3}}\n"
         "= 0+100 cluster0{node0{core0:x core1:x core2:x gpu0:x memory0*7:x}}\n"
         "sat node1{slot2{core1} slot1{core3}}\n"
         "= never\n"
         "check node1{slot1{core1} core1}\n"
         "= error\n"},
    {"rule_3_7_several_slots_inside_take_shape_together_ours",
     SOCKETS "sat node1{slot1{core1} slot1{gpu1}}\n"
             "= never\n"
             "try socket1{slot1{core1} slot1{gpu1}}\n"
             "= m 0+100 cluster0{node0{socket0{core0:x gpu0:x}}}\n"},
    {"rule_3_7_or_slots_may_be_mixed_ours",
     LOW "graph cluster0{node0{core0-5 gpu0-1}}\n"
         /* 2 with gpus, then one without */
         "try node1{or_slot3{core1 gpu1} or_slot3{core2}}\n"
         "= m 0+100 cluster0{node0{core0:x core1:x core2:x core3:x gpu0:x gpu1:x}}\n"
         /* the most slots: 1 core and a gpu twice, 4 cores with one each */
         "try node1{or_slot(1-9){core3} or_slot(1-9){core1 gpu1}}\n"
         "= m 0+100 cluster0{node0{core0:x core1:x core2:x core3:x core4:x gpu0:x gpu1:x}}\n"
         "check node1{or_slot1{core1} or_slot2{core2}}\n"
         "= error\n"},
    {"rule_3_7_or_slots_without_their_type_are_left_out_ours",
     LOW "graph cluster0{node0{core0-3} node1{core0-3 gpu0}}\n"
         "try or_slot2{core1 gpu1} or_slot2{core2}\n"
         "= m 0+100 cluster0{node0{core0:x core1:x} node1{core0:x gpu0:x}}\n"},
    {"rule_3_7_slots_of_unlike_vertices_compete",
     /* cores 3 and 4 are three together, core 5 is alone: a slot of fewer vertices scores less */
     LOW "graph cluster0{node0{core3 core4*2 core5*3 gpu7 gpu8}}\n"
         "alloc 1 node1{slot1{core3 gpu1}}\n"
         "= 0+100 cluster0{node0{core5*3:x gpu8:x}}\n"
         "alloc 2 node1{slot1{core3 gpu1}}\n"
         "= 0+100 cluster0{node0{core3:x core4*2:x gpu7:x}}\n"},
    {"rule_3_7_of_equal_slots_the_first_that_was_cut",
     "policy variation\n"
     "time 0 100\n"
     "graph cluster0{node0{memory0*8% core0-2}}\n"
     "alloc 1 node1{slot1{memory2 core1}}\n"
     "= 0+100 cluster0{node0{memory0*2:x core0:x}}\n"
     "alloc 2 node1{slot2{memory2 core1}}\n"
     "= 0+100 cluster0{node0{memory0*4:x core1:x core2:x}}\n"},
    {"rule_3_7_what_a_slot_scores", LOW
     /* low: 1+2+3 and 1+4+5 in node0, 1+3+4 in node1 */
     "graph cluster0{node0{core0-3} node1{core1-2}}\n"
     "alloc 1 slot2{core2}\n"
     "= 0+100 cluster0{node0{core0:x core1:x} node1{core1:x core2:x}}\n"},
    {NULL, NULL},
};

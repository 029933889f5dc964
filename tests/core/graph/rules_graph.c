/* SPDX-License-Identifier: Apache-2.0 */
/* 3.1 the graph, 3.3 requests: counts and constraints, 3.5 filters. */
#include <stddef.h>

#include "rules.h"

#define FOUR_NODES                                                                                 \
    "policy low\n"                                                                                 \
    "time 0 100\n"                                                                                 \
    "graph cluster0{node0@0(a){core0} node1@1(a b){core0} node2@2(b=slow){core0} "                 \
    "node3@3{core0}}\n"

/* Stores that a rack has, and a pool of all of them. */
#define TIERS(policy)                                                                              \
    "policy " policy "\n"                                                                          \
    "time 0 100\n"                                                                                 \
    "graph cluster0{rack0{store0{ssd0-1*4} node0{core0-1}} "                                       \
    "rack1{store1{ssd0-1*4} node1{core0-1}} pool0}\n"                                              \
    "edge containment /cluster0/pool0 /cluster0/rack0/store0\n"                                    \
    "edge containment /cluster0/pool0 /cluster0/rack1/store1\n"

const struct rule rules_graph[] = {
    /* ---- 3.1 ---- */
    {"rule_3_1_types_are_free_strings", "policy low\n"
                                        "time 0 100\n"
                                        "graph zoo0{cage0{tiger0-1}}\n"
                                        "alloc 1 cage1{slot1{tiger1}}\n"
                                        "= 0+100 zoo0{cage0{tiger0:x}}\n"},
    {"rule_3_1_a_vertex_is_a_pool", "policy low\n"
                                    "time 0 100\n"
                                    "graph cluster0{node0{memory0-1*8}}\n"
                                    "alloc 1 slot1{memory9}\n"
                                    "= 0+100 cluster0{node0{memory0*8:x memory1*8:x}}\n"},
    {"rule_3_1_nodes_of_any_size", "policy low\n"
                                   "time 0 100\n"
                                   "graph cluster0{node0{core0-4999} node1{core0}}\n"
                                   "alloc 1 slot2{core2400}\n"
                                   "sums /cluster0\n"
                                   "= ok core 4800/5001 node 0/2\n"
                                   "alloc 2 slot1{core201}\n"
                                   "= busy\n"
                                   "alloc 2 slot1{core200}\n"
                                   "alloc 3 slot1{core1}\n"
                                   "= 0+100 cluster0{node1{core0:x}}\n"
                                   "part 2 /cluster0/node0/core4999 /cluster0/node0/core4800\n"
                                   "alloc 4 node1{slot2{core1}}\n"
                                   "= 0+100 cluster0{node0{core4800:x core4999:x}}\n"
                                   "cancel 1\n"
                                   "cancel 2\n"
                                   "alloc 1 node1:x{core5000}\n"
                                   "= busy\n"
                                   "cancel 4\n"
                                   "alloc 1 node1:x{core5000}\n"
                                   "sums /cluster0\n"
                                   "= ok core 5001/5001 node 1/2\n"},
    {"rule_3_1_id_none", "policy low\n"
                         "time 0 100\n"
                         "graph cluster{node{core0-1 core}}\n"
                         "alloc 1 slot1{core1}\n"
                         "= 0+100 cluster{node{core:x}}\n"},
    {"rule_3_1_down_is_not_used", "policy low\n"
                                  "time 0 100\n"
                                  "graph cluster0{node0!{core0} node1{core0! core1}}\n"
                                  "alloc 1 slot1{core1}\n"
                                  "= 0+100 cluster0{node1{core1:x}}\n"
                                  "alloc 2 slot1{core1}\n"
                                  "= busy\n"
                                  "up /cluster0/node0\n"
                                  "alloc 2 slot1{core1}\n"
                                  "= 0+100 cluster0{node0{core0:x}}\n"},
    {"rule_3_1_the_root_down", "graph cluster0!{core0}\n"
                               "alloc 1 slot1{core1}\n"
                               "= busy\n"
                               "sat slot1{core1}\n"
                               "= satisfiable\n"},
    {"rule_3_1_a_second_parent_is_walked",
     TIERS("low") "alloc 1 rack1{node1{slot1{core1}} store1{ssd4:x}}\n"
                  "= 0+100 cluster0{rack0{store0{ssd0*4:x} node0{core0:x}}}\n"
                  "alloc 2 rack1{node1{slot1{core1}}} pool1{store1{ssd4:x}}\n"
                  "= 0+100 cluster0{rack0{node0{core1:x}} pool0{store0{ssd1*4:x}}}\n"
                  "job 2\n"
                  "= 0+100 cluster0{rack0{node0{core1:x}} pool0{store0{ssd1*4:x}}}\n"
                  "alloc 3 pool1{store1{ssd8:x}}\n"
                  "= 0+100 cluster0{pool0{store1{ssd0*4:x ssd1*4:x}}}\n"
                  "alloc 4 rack1{store1{ssd1:x}}\n"
                  "= busy\n"
                  "cancel 2\n"
                  "alloc 4 rack1{store1{ssd1:x}}\n"
                  "= 0+100 cluster0{rack0{store0{ssd1*4:x}}}\n"},
    {"rule_3_1_a_second_parent_takes_its_children_along",
     TIERS("low") "alloc 1 pool1:x\n"
                  "= 0+100 cluster0{pool0:x{store0:x{ssd0*4:x ssd1*4:x} "
                  "store1:x{ssd0*4:x ssd1*4:x}}}\n"
                  "alloc 2 rack1{store1{ssd1:x}}\n"
                  "= busy\n"
                  "alloc 2 rack1{node1{slot2{core1}}}\n"
                  "= 0+100 cluster0{rack0{node0{core0:x core1:x}}}\n"
                  "cancel 1\n"
                  "alloc 1 rack1{store1{ssd1:x}}\n"
                  "= 0+100 cluster0{rack0{store0{ssd0*4:x}}}\n"
                  "alloc 3 pool1:x\n"
                  "= busy\n"
                  "alloc 3 pool1{store2{ssd4:x}}\n"
                  "= 0+100 cluster0{pool0{store0{ssd1*4:x} store1{ssd0*4:x}}}\n"
                  "alloc 4 rack1:x\n"
                  "= busy\n"},
    {"rule_3_1_found_through_one_parent_only",
     TIERS("low") "alloc 1 rack1{store1{ssd4:x}} pool1{store1{ssd4:x}}\n"
                  "= busy\n"
                  "down /cluster0/rack0\n"
                  "alloc 1 rack1{store1{ssd4:x}} pool1{store1{ssd4:x}}\n"
                  "= 0+100 cluster0{rack1{store1{ssd0*4:x}} pool0{store0{ssd0*4:x}}}\n"},
    {"rule_3_1_early_stops_go_through_a_second_parent",
     TIERS("first") "alloc 1 pool1{store1{ssd4:x}}\n"
                    "= 0+100 cluster0{pool0{store1{ssd1*4:x}}}\n"
                    "alloc 2 rack1{store1{ssd4:x}}\n"
                    "= 0+100 cluster0{rack1{store1{ssd0*4:x}}}\n"},
    {"rule_3_1_a_part_of_what_came_through_a_second_parent",
     TIERS("low") "alloc 1 rack1{node1{slot1{core1}}} pool1{store1{ssd8:x}}\n"
                  "= 0+100 cluster0{rack0{node0{core0:x}} "
                  "pool0{store0{ssd0*4:x ssd1*4:x}}}\n"
                  "part 1 /cluster0/rack0\n"
                  "job 1\n"
                  "= 0+100 cluster0{pool0{store0{ssd0*4:x ssd1*4:x}}}\n"
                  "part 1 /cluster0/rack0/store0/ssd0\n"
                  "job 1\n"
                  "= 0+100 cluster0{pool0{store0{ssd1*4:x}}}\n"
                  "shrink /cluster0/pool0\n"
                  "job 1\n"
                  "= 0+100 cluster0{rack0{store0{ssd1*4:x}}}\n"},
    {"rule_3_1_an_update_through_a_second_parent",
     TIERS("low") "update 1 0+50 /cluster0/pool0 /cluster0/rack0/store0/ssd0:x "
                  "/cluster0/rack0/store0\n"
                  "job 1\n"
                  "= 0+50 cluster0{pool0{store0{ssd0*4:x}}}\n"
                  "update 2 0+50 /cluster0/rack0/store0/ssd1:x\n"
                  "job 2\n"
                  "= 0+50 cluster0{rack0{store0{ssd1*4:x}}}\n"
                  "update 3 0+50 /cluster0/pool0:x\n"
                  "= exists\n"},
    {"rule_3_1_auxiliary_subsystems_are_walked_up",
     "policy low\n"
     "time 0 100\n"
     "subsystems power\n"
     "graph cluster0{node0-1{core0-1}} +panel0*10% +panel1*10%\n"
     "edge power /panel0 /cluster0/node0\n"
     "edge power /panel1 /cluster0/node1\n"
     "alloc 1 node1{slot1{core1} panel6:x}\n"
     "= 0+100 cluster0{node0{core0:x}} panel0*6:x\n"
     "alloc 2 node1{slot1{core1} panel6:x}\n"
     "= 0+100 cluster0{node1{core0:x}} panel1*6:x\n"
     "alloc 3 node1{slot1{core1} panel6:x}\n"
     "= busy\n"
     "alloc 3 node1{slot1{core1} panel4:x}\n"
     "= 0+100 cluster0{node0{core1:x}} panel0*4:x\n"},
    {"rule_3_1_auxiliary_what_was_chosen_counts", /* in the same match */
     "policy low\n"
     "time 0 100\n"
     "subsystems power\n"
     "graph cluster0{node0-2{core0-1}} +panel0*10% +panel1*10%\n"
     "edge power /panel0 /cluster0/node0\n"
     "edge power /panel0 /cluster0/node1\n"
     "edge power /panel1 /cluster0/node2\n"
     "alloc 1 node2{slot1{core1} panel6:x}\n"
     "= 0+100 cluster0{node0{core0:x} node2{core0:x}} panel0*6:x panel1*6:x\n"
     "sat node3{slot1{core1} panel6:x}\n"
     "= never\n"
     "sat node3{slot1{core1} panel5:x}\n"
     "= satisfiable\n"},
    {"rule_3_1_auxiliary_nearest_first", "policy low\n"
                                         "time 0 100\n"
                                         "subsystems power\n"
                                         "graph cluster0{node0{core0-3}} +panel0 +panel1 +panel2\n"
                                         "edge power /panel0 /panel2\n"
                                         "edge power /panel1 /cluster0/node0\n"
                                         "edge power /panel2 /cluster0/node0\n"
                                         "alloc 1 node1{slot1{core1} panel1:x}\n"
                                         "= 0+100 cluster0{node0{core0:x}} panel1:x\n"
                                         "alloc 2 node1{slot1{core1} panel1:x}\n"
                                         "= 0+100 cluster0{node0{core1:x}} panel2:x\n"
                                         "alloc 3 node1{slot1{core1} panel1:x}\n"
                                         "= 0+100 cluster0{node0{core2:x}} panel0:x\n"},
    {"rule_3_1_auxiliary_in_the_tree", "policy low\n"
                                       "time 0 100\n"
                                       "subsystems power\n"
                                       "graph cluster0{node0{core0} panel0*6}\n"
                                       "edge power /cluster0/panel0 /cluster0/node0\n"
                                       "alloc 1 node1{slot1{core1} panel4}\n"
                                       "= 0+100 cluster0{node0{core0:x} panel0*6}\n"},
    {"rule_3_1_auxiliary_only_if_asked", "policy low\n"
                                         "time 0 100\n"
                                         "graph cluster0{node0{core0}} +panel0\n"
                                         "edge power /panel0 /cluster0/node0\n"
                                         "sat node1{slot1{core1} panel1:x}\n"
                                         "= never\n"},
    /* ---- 3.3 ---- */
    {"rule_3_3_count_takes_the_largest_that_is_there",
     "policy low\n"
     "time 0 100\n"
     "graph cluster0{node0{core0-4}}\n"
     "try slot1{core(2-4)}\n"
     "= m 0+100 cluster0{node0{core0:x core1:x core2:x core3:x}}\n"
     "try slot1{core(1-9*2)}\n"
     "= m 0+100 cluster0{node0{core0:x core1:x core2:x core3:x}}\n"
     "try slot1{core(2-9^2)}\n"
     "= m 0+100 cluster0{node0{core0:x core1:x core2:x core3:x}}\n"
     "try slot1{core(1-9+3)}\n"
     "= m 0+100 cluster0{node0{core0:x core1:x core2:x core3:x}}\n"
     "try slot1{core(1+)}\n"
     "= m 0+100 cluster0{node0{core0:x core1:x core2:x core3:x core4:x}}\n"
     "try slot1{core(6+)}\n"
     "= busy\n"},
    {"rule_3_3_count_of_a_set_is_ours", "policy low\n"
                                        "time 0 100\n"
                                        "graph cluster0{node0{core0-4}}\n"
                                        "try slot1{core(1,3,7)}\n"
                                        "= m 0+100 cluster0{node0{core0:x core1:x core2:x}}\n"
                                        "sat slot1{core(6,7)}\n"
                                        "= never\n"},
    {"rule_3_3_count_of_slots", "policy low\n"
                                "time 0 100\n"
                                "graph cluster0{node0{core0-4}}\n"
                                "try slot(1-9){core2}\n"
                                "= m 0+100 cluster0{node0{core0:x core1:x core2:x core3:x}}\n"},
    {"rule_3_3_a_type_that_is_not_there", "graph cluster0{node0{core0}}\n"
                                          "check slot1{tiger1}\n"
                                          "= error\n"
                                          /* one that graphs usually have */
                                          "check slot1{gpu1}\n"
                                          "= ok\n"
                                          "sat slot1{gpu1}\n"
                                          "= never\n"
                                          "alloc 1 slot1{core1 gpu1}\n"
                                          "= busy\n"
                                          "reserve 1 node1{slot1{core1 gpu1}}\n"
                                          "= never\n"},
    {"rule_3_3_duration", "policy low\n"
                          "time 10 100\n"
                          "graph cluster0{core0-4}\n"
                          "now 20\n"
                          "alloc 1 slot1{core1}\n"
                          "= 20+80 cluster0{core0:x}\n"
                          "alloc 2 slot1{core1} for 90\n"
                          "= 20+80 cluster0{core1:x}\n"
                          "alloc 3 slot1{core1} for 91\n"
                          "= bad time\n"
                          "alloc 3 slot1{core1} for -1\n"
                          "= bad time\n"
                          "sat slot1{core1} for 91\n"
                          "= bad time\n"},
    {"rule_3_3_constraint_properties", FOUR_NODES
     "try slot(1-4){core1} where has(a)\n"
     "= m 0+100 cluster0{node0{core0:x} node1{core0:x}}\n"
     "try slot(1-4){core1} where has(a,b)\n"
     "= m 0+100 cluster0{node1{core0:x}}\n"
     "try slot(1-4){core1} where has(^a)\n"
     "= m 0+100 cluster0{node2{core0:x} node3{core0:x}}\n"
     "try slot(1-4){core1} where has(^a,^b)\n"
     "= m 0+100 cluster0{node3{core0:x}}\n"
     "try slot(1-4){core1} where has()\n"
     "= m 0+100 cluster0{node0{core0:x} node1{core0:x} node2{core0:x} node3{core0:x}}\n"},
    {"rule_3_3_constraint_property_by_key_alone",
     FOUR_NODES "try slot(1-4){core1} where has(b)\n"
                "= m 0+100 cluster0{node1{core0:x} node2{core0:x}}\n"
                "noprop /cluster0/node2 b\n"
                "prop /cluster0/node3 b=any\n"
                "try slot(1-4){core1} where has(b)\n"
                "= m 0+100 cluster0{node1{core0:x} node3{core0:x}}\n"},
    {"rule_3_3_constraint_hostlist",
     FOUR_NODES "try slot(1-4){core1} where hosts(node1,node3,node9)\n"
                "= m 0+100 cluster0{node1{core0:x} node3{core0:x}}\n"},
    {"rule_3_3_constraint_ranks",
     FOUR_NODES "try slot(1-4){core1} where ranks(0,2-7)\n"
                "= m 0+100 cluster0{node0{core0:x} node2{core0:x} node3{core0:x}}\n"},
    {"rule_3_3_constraint_and_or_not",
     FOUR_NODES "try slot(1-4){core1} where and(has(a) has(b))\n"
                "= m 0+100 cluster0{node1{core0:x}}\n"
                "try slot(1-4){core1} where or(ranks(3) has(a))\n"
                "= m 0+100 cluster0{node0{core0:x} node1{core0:x} node3{core0:x}}\n"
                "try slot(1-4){core1} where not(has(a) has(b))\n"
                "= m 0+100 cluster0{node0{core0:x} node2{core0:x} node3{core0:x}}\n"
                "sat slot(1-4){core1} where not()\n"
                "= never\n"},
    {"rule_3_3_constraint_or_of_none_is_true_ours",
     FOUR_NODES "try slot1{core1} where or()\n"
                "= m 0+100 cluster0{node0{core0:x}}\n"},
    {"rule_3_3_constraint_is_asked_of_nodes_only",
     "policy low\n"
     "time 0 100\n"
     "graph cluster0{storage_node0(a){ssd0} storage_node1{ssd0} node0{ssd0} rack0{ssd0}}\n"
     "try slot(1-9){ssd1} where has(a)\n"
     "= m 0+100 cluster0{storage_node0{ssd0:x} rack0{ssd0:x}}\n"},
    {"rule_3_3_constraint_holds_in_satisfiability", FOUR_NODES "sat slot4{core1} where has(a)\n"
                                                               "= never\n"
                                                               "sat slot2{core1} where has(a)\n"
                                                               "= satisfiable\n"},
    /* ---- 3.5 ---- */
    {"rule_3_5_default_filters", "policy low\n"
                                 "time 0 100\n"
                                 "graph cluster0{rack0{node0-1{core0-3 gpu0}}}\n"
                                 "alloc 1 slot1{core3} for 10\n"
                                 "sums /cluster0/rack0\n"
                                 "= ok core 3/8 node 0/2\n"
                                 "sums /cluster0/rack0/node0\n"
                                 "= ok core 3/4\n"
                                 "sums /cluster0/rack0/node0/core0\n"
                                 "= ok\n"
                                 "sums /cluster0/rack0 10\n"
                                 "= ok core 0/8 node 0/2\n"},
    {"rule_3_5_leaf_types_are_added_at_the_cluster",
     "policy low\n"
     "time 0 100\n"
     "filters rack:core\n"
     "graph cluster0{rack0{node0-1{memory0*8 core0-3 gpu0}}}\n"
     "alloc 1 slot1{gpu1 memory2}\n"
     "sums /cluster0\n"
     "= ok memory 8/16 gpu 1/2\n"
     "sums /cluster0/rack0\n"
     "= ok core 0/8\n"
     "sums /cluster0/rack0/node0\n"
     "= ok\n"},
    {"rule_3_5_sums_of_one_job", "policy low\n"
                                 "time 0 100\n"
                                 "graph cluster0{node0{core0-7}}\n"
                                 "alloc 1 slot1{core3}\n"
                                 "alloc 2 slot1{core2}\n"
                                 "sums /cluster0/node0 0 1\n"
                                 "= ok core 3/8\n"
                                 "sums /cluster0/node0 0 2\n"
                                 "= ok core 2/8\n"
                                 "sums /cluster0/node0\n"
                                 "= ok core 5/8\n"},
    {"rule_3_5_shared_use_is_not_summed", "policy low\n"
                                          "time 0 100\n"
                                          "graph cluster0{node0{core0-7}}\n"
                                          "alloc 1 node1{core3}\n"
                                          "sums /cluster0/node0\n"
                                          "= ok core 0/8\n"},
    {NULL, NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GRUG: what a recipe makes, and what is said of a wrong one. Recipes are written short here,
 *
 *     node TEXT: id|type|basename|size|unit|subsystem|root     empty: not given
 *     edge TEXT: source|target|key=value|…
 */
#include "graphio_fixture.h"

static const char *const node_keys[] = {"type", "basename", "size", "unit", "subsystem", "root"};

static char *part(char **next) {
    static char empty[1];
    char *s = strsep(next, "|");
    return s ? s : empty;
}

/* GraphML from lines that begin with "node " or "edge "; others are taken as they are. */
static char *recipe(const char *lines) {
    static const char *const keys[] = {"root", "type", "basename", "size", "unit", "subsystem"};
    static const char *const edge_keys[] = {"e_subsystem",  "relation",    "rrelation",
                                            "id_scope",     "id_start",    "id_stride",
                                            "gen_method",   "multi_scale", "as_tgt_subsystem",
                                            "as_tgt_uplvl", "as_src_uplvl"};
    struct sl_buf b;
    char *copy = strdup(lines), *next = copy, *line;

    assert_non_null(copy);
    sl_buf_init(&b, 1 << 20);
    sl_buf_puts(&b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml>");
    for (size_t i = 0; i < SL_LEN(keys); i++)
        sl_buf_printf(&b, "<key id=\"k_%s\" for=\"node\" attr.name=\"%s\"/>", keys[i], keys[i]);
    for (size_t i = 0; i < SL_LEN(edge_keys); i++)
        sl_buf_printf(&b, "<key id=\"k_%s\" for=\"edge\" attr.name=\"%s\"/>", edge_keys[i],
                      edge_keys[i]);
    sl_buf_puts(&b, "<graph id=\"g\" edgedefault=\"directed\">\n");
    while ((line = strsep(&next, "\n"))) {
        if (strncmp(line, "node ", 5) == 0) {
            char *rest = line + 5;
            sl_buf_printf(&b, "<node id=\"%s\">", part(&rest));
            for (size_t i = 0; i < SL_LEN(node_keys) && rest; i++) {
                char *value = part(&rest);
                if (*value)
                    sl_buf_printf(&b, "<data key=\"k_%s\">%s</data>", node_keys[i], value);
            }
            sl_buf_puts(&b, "</node>\n");
        } else if (strncmp(line, "edge ", 5) == 0) {
            char *rest = line + 5, *source = part(&rest), *target = part(&rest);
            sl_buf_printf(&b, "<edge source=\"%s\" target=\"%s\">", source, target);
            while (rest) {
                char *value = part(&rest), *key = strsep(&value, "=");
                sl_buf_printf(&b, "<data key=\"k_%s\">%s</data>", key, value);
            }
            sl_buf_puts(&b, "</edge>\n");
        } else {
            sl_buf_printf(&b, "%s\n", line);
        }
    }
    sl_buf_puts(&b, "</graph></graphml>\n");
    free(copy);
    return b.s;
}

static void makes(const char *lines, const char *want) {
    char *text = recipe(lines);
    fx_expect(SL_GRAPHIO_GRUG, text, want);
    free(text);
}

static void refused(const char *lines, const char *want) {
    char *text = recipe(lines);
    fx_refused(SL_GRAPHIO_GRUG, text, want);
    free(text);
}

#define CLUSTER "node c|cluster|||||1\n"

static void rule_3_2_multiply(void **state) {
    (void)state;
    makes(CLUSTER "node n|node\nnode o|core\nnode m|memory|mem|8|GB\n"
                  "edge c|n|multi_scale=2|gen_method=MULTIPLY|relation=contains|rrelation=in\n"
                  "edge n|o|multi_scale=2\nedge n|m",
          "/cluster0 cluster 0\n"
          "/cluster0/node0 node 0 rank=0\n"
          "/cluster0/node0/core0 core 0\n"
          "/cluster0/node0/core1 core 1\n"
          "/cluster0/node0/mem0 memory 0 basename=mem size=8 unit=GB\n"
          "/cluster0/node1 node 1 rank=1\n"
          "/cluster0/node1/core0 core 0\n"
          "/cluster0/node1/core1 core 1\n"
          "/cluster0/node1/mem0 memory 0 basename=mem size=8 unit=GB\n");
}

/* Vertices are numbered in the order of the edges, all of one edge together. */
static void rule_3_2_unique_ids_go_by_kind(void **state) {
    char *text = recipe(CLUSTER "node n|node\nnode o|core\nnode p|gpu\nedge c|n|multi_scale=2\n"
                                "edge n|o|multi_scale=2\nedge n|p");
    struct sl_graph *g = fx_graph(SL_GRAPHIO_GRUG, text);
    static const struct {
        const char *path;
        int64_t uniq_id;
    } want[] = {
        {"/cluster0", 0},
        {"/cluster0/node0", 1},
        {"/cluster0/node1", 2},
        {"/cluster0/node0/core0", 3},
        {"/cluster0/node1/core1", 6},
        {"/cluster0/node1/gpu0", 8},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(want); i++)
        assert_int_equal(sl_graph_vertex(g, fx_at(g, want[i].path))->uniq_id, want[i].uniq_id);
    sl_graph_free(g);
    free(text);
}

static void rule_3_2_ids(void **state) {
    (void)state;
    /* scope 0: start + i, whatever the stride; below 0: none */
    makes(CLUSTER "node n|node\nedge c|n|multi_scale=2|id_start=5|id_stride=3",
          "/cluster0 cluster 0\n/cluster0/node5 node 5 rank=0\n/cluster0/node6 node 6 rank=1\n");
    makes(CLUSTER "node n|node|login\nedge c|n|id_scope=-1",
          "/cluster0 cluster 0\n/cluster0/login node -1 basename=login rank=0\n");
    /* scope 1: unique in the grandparent; stride counts */
    makes(CLUSTER "node n|node\nnode s|socket\nnode o|core\nedge c|n\nedge n|s|multi_scale=2\n"
                  "edge s|o|multi_scale=2|id_scope=1|id_start=1|id_stride=2",
          "/cluster0 cluster 0\n"
          "/cluster0/node0 node 0 rank=0\n"
          "/cluster0/node0/socket0 socket 0\n"
          "/cluster0/node0/socket0/core1 core 1\n"
          "/cluster0/node0/socket0/core3 core 3\n"
          "/cluster0/node0/socket1 socket 1\n"
          "/cluster0/node0/socket1/core5 core 5\n"
          "/cluster0/node0/socket1/core7 core 7\n");
    /* a scope that is deeper than the tree is the whole tree */
    makes(CLUSTER "node r|rack\nnode n|node\nedge c|r|multi_scale=2\n"
                  "edge r|n|multi_scale=2|id_scope=9",
          "/cluster0 cluster 0\n"
          "/cluster0/rack0 rack 0\n"
          "/cluster0/rack0/node0 node 0 rank=0\n"
          "/cluster0/rack0/node1 node 1 rank=1\n"
          "/cluster0/rack1 rack 1\n"
          "/cluster0/rack1/node2 node 2 rank=2\n"
          "/cluster0/rack1/node3 node 3 rank=3\n");
    /* scope 1 starts again in each rack */
    makes(CLUSTER "node r|rack\nnode n|node\nnode o|core\nedge c|r|multi_scale=2\n"
                  "edge r|n|multi_scale=2\nedge n|o|id_scope=1",
          "/cluster0 cluster 0\n"
          "/cluster0/rack0 rack 0\n"
          "/cluster0/rack0/node0 node 0 rank=0\n"
          "/cluster0/rack0/node0/core0 core 0\n"
          "/cluster0/rack0/node1 node 1 rank=1\n"
          "/cluster0/rack0/node1/core1 core 1\n"
          "/cluster0/rack1 rack 1\n"
          "/cluster0/rack1/node0 node 0 rank=2\n"
          "/cluster0/rack1/node0/core0 core 0\n"
          "/cluster0/rack1/node1 node 1 rank=3\n"
          "/cluster0/rack1/node1/core1 core 1\n");
}

static void rule_3_2_associate_in(void **state) {
    (void)state;
    makes(CLUSTER "node n|node\nnode f|pfs||||power|1\nnode x|node||||power\n"
                  "edge c|n|multi_scale=2\n"
                  "edge f|x|gen_method=ASSOCIATE_IN|e_subsystem=power|as_tgt_subsystem=containment",
          "/cluster0 cluster 0\n"
          "/cluster0/node0 node 0 rank=0\n"
          "/cluster0/node1 node 1 rank=1\n"
          "/pfs0 pfs 0\n"
          "power pfs0 -> node0 /pfs0/node0\n"
          "power pfs0 -> node1 /pfs0/node1\n");
}

static void rule_3_2_associate_by_path_in(void **state) {
    (void)state;
    /* Each rack's switch is connected to the nodes of its rack. */
    makes(CLUSTER "node r|rack\nnode n|node\nnode w|ib||||ib|1\nnode e|switch||||ib\n"
                  "node y|rack||||ib\nnode x|node||||ib\n"
                  "edge c|r|multi_scale=2\nedge r|n|multi_scale=2|id_scope=1\n"
                  "edge w|y|gen_method=ASSOCIATE_IN|e_subsystem=ib\n"
                  "edge y|x|gen_method=ASSOCIATE_BY_PATH_IN|e_subsystem=ib|"
                  "as_tgt_subsystem=containment|as_tgt_uplvl=1|as_src_uplvl=0",
          "/cluster0 cluster 0\n"
          "/cluster0/rack0 rack 0\n"
          "/cluster0/rack0/node0 node 0 rank=0\n"
          "/cluster0/rack0/node1 node 1 rank=1\n"
          "/cluster0/rack1 rack 1\n"
          "/cluster0/rack1/node2 node 2 rank=2\n"
          "/cluster0/rack1/node3 node 3 rank=3\n"
          "/ib0 ib 0\n"
          "ib ib0 -> rack0 /ib0/rack0\n"
          "ib ib0 -> rack1 /ib0/rack1\n"
          "ib rack0 -> node0 /ib0/rack0/node0\n"
          "ib rack0 -> node1 /ib0/rack0/node1\n"
          "ib rack1 -> node2 /ib0/rack1/node2\n"
          "ib rack1 -> node3 /ib0/rack1/node3\n");
}

/* A vertex that two contain is in the first; the other edge is kept. */
static void rule_3_2_associate_in_containment(void **state) {
    (void)state;
    makes(CLUSTER "node r|rack\nnode u|unit\nnode b|burst\nnode x|unit\n"
                  "edge c|r|multi_scale=2\nedge r|u|id_scope=1\nedge c|b\n"
                  "edge b|x|gen_method=ASSOCIATE_IN",
          "/cluster0 cluster 0\n"
          "/cluster0/rack0 rack 0\n"
          "/cluster0/rack0/unit0 unit 0\n"
          "/cluster0/rack1 rack 1\n"
          "/cluster0/rack1/unit1 unit 1\n"
          "/cluster0/burst0 burst 0\n"
          "containment burst0 -> unit0\n"
          "containment burst0 -> unit1\n");
}

static void rule_3_2_multiply_in_another_subsystem(void **state) {
    (void)state;
    makes(CLUSTER
          "node n|node\nnode p|power||||power|1\nnode u|pdu||||power\nnode x|node||||power\n"
          "edge c|n\nedge p|u|multi_scale=2|e_subsystem=power\n"
          "edge u|x|gen_method=ASSOCIATE_IN|e_subsystem=power",
          "/cluster0 cluster 0\n"
          "/cluster0/node0 node 0 rank=0\n"
          "/power0 power 0\n"
          "/pdu0 pdu 0\n"
          "/pdu1 pdu 1\n"
          "power power0 -> pdu0 /power0/pdu0\n"
          "power power0 -> pdu1 /power0/pdu1\n"
          "power pdu0 -> node0 /power0/pdu0/node0\n"
          "power pdu1 -> node0 /power0/pdu0/node0\n");
}

static void roots_of_a_subsystem_are_one(void **state) {
    (void)state;
    makes(CLUSTER "node d|cluster|||||1\nnode n|node\nnode m|gpu\nedge c|n\nedge d|m",
          "/cluster0 cluster 0\n/cluster0/node0 node 0 rank=0\n/cluster0/gpu0 gpu 0\n");
    makes(CLUSTER, "/cluster0 cluster 0\n");
}

/* What was reached once is not reached again. */
static void recipes_with_rings_end(void **state) {
    (void)state;
    makes(CLUSTER "node n|node\nedge c|n\nedge n|c\nedge c|n",
          "/cluster0 cluster 0\n/cluster0/node0 node 0 rank=0\n");
    makes(CLUSTER "node n|node\nnode x|lost\nedge c|n",
          "/cluster0 cluster 0\n/cluster0/node0 node 0 rank=0\n");
    makes(CLUSTER "node n|node\nedge c|n|multi_scale=0", "/cluster0 cluster 0\n");
}

static void keys_have_defaults(void **state) {
    (void)state;
    fx_expect(
        SL_GRAPHIO_GRUG,
        "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
        "<key id=\"d0\" for=\"node\" attr.name=\"type\"><default> node </default></key>\n"
        "<key id=\"d1\" for=\"node\" attr.name=\"root\" attr.type=\"boolean\"/>\n"
        "<key id=\"d2\" for=\"edge\" attr.name=\"multi_scale\"><desc>how many</desc>"
        "<default>2</default></key>\n"
        "<graph><node id=\"a\"><data key=\"d0\">cluster</data><data key=\"d1\">true</data>"
        "</node><node id=\"b\"/><edge source=\"a\" target=\"b\"/></graph></graphml>",
        "/cluster0 cluster 0\n/cluster0/node0 node 0 rank=0\n/cluster0/node1 node 1 rank=1\n");
}

static void wrong_recipes(void **state) {
    (void)state;
    refused("node n|node", "f:1: expected a node with the key \"root\", 1");
    refused(CLUSTER "node n", "f:4: expected the key \"type\" of node \"n\"");
    refused(CLUSTER "node c|node", "f:4: the node \"c\" is given twice");
    refused(CLUSTER "edge c|n", "f:4: there is no node \"n\"");
    refused(
        CLUSTER "node n|node\nedge c|n|gen_method=MAKE",
        "f:5: gen_method: expected MULTIPLY, ASSOCIATE_IN or ASSOCIATE_BY_PATH_IN, got \"MAKE\"");
    refused(CLUSTER "node n|node\nedge c|n|multi_scale=x",
            "f:5: multi_scale: expected a whole number from 0 to 16777216, got \"x\"");
    refused(CLUSTER "node n|node||0\nedge c|n",
            "f:4: size: expected a whole number from 1 to 274877906944, got \"0\"");
    refused("node c|cluster|||||maybe", "f:3: root: expected 1 or 0, got \"maybe\"");
    refused(CLUSTER "node n|node\nedge c|n|multi_scale=100001", "f:5: more than 100000 vertices");
    refused(CLUSTER "<node id=\"n\"><data key=\"zz\">1</data></node>",
            "f:4: the key \"zz\" was not declared");
    refused(CLUSTER "<node id=\"n\"><data key=\"k_relation\">1</data></node>",
            "f:4: \"relation\" is no key of a node");
    refused(CLUSTER "<node><data key=\"k_type\">a</data></node>",
            "f:4: expected the attribute \"id\" of <node>");
    refused(CLUSTER "<node id=\"n\"><node id=\"m\"/></node>", "f:4: expected <data>, got <node>");
    refused(CLUSTER "<node id=\"n\"><data key=\"k_type\"><b/></data></node>",
            "f:4: expected text, got <b>");
    fx_refused(SL_GRAPHIO_GRUG, "", "f:1: expected GraphML: no element found");
    fx_refused(SL_GRAPHIO_GRUG, "<graphml>\n<graph>", "f:2: expected GraphML: no element found");
    fx_refused(SL_GRAPHIO_GRUG, "<html/>", "f:1: expected <graphml>, got <html>");
    fx_refused(SL_GRAPHIO_GRUG, "<!DOCTYPE x [<!ENTITY a \"b\">]><graphml/>",
               "f:1: declarations of one's own in <!DOCTYPE> are not read");
}

static void wrong_graphs(void **state) {
    (void)state;
    /* An association that makes a ring in its subsystem. */
    refused(CLUSTER "node n|node\nnode p|pw||||power|1\nnode x|node||||power\nnode y|pw||||power\n"
                    "edge c|n\nedge p|x|gen_method=ASSOCIATE_IN|e_subsystem=power\n"
                    "edge x|y|gen_method=ASSOCIATE_IN|e_subsystem=power",
            "f: node0 leads to itself in power");
}

static void allowlist(void **state) {
    char *text = recipe(CLUSTER "node r|rack\nnode n|node\nnode s|socket\nnode o|core\nnode p|gpu\n"
                                "edge c|r|multi_scale=2\nedge r|n|multi_scale=2|id_scope=1\n"
                                "edge n|s|multi_scale=2\nedge s|o|id_scope=1\nedge n|p");
    struct sl_graph *g;
    struct sl_err err;
    (void)state;

    assert_int_equal(fx_read(SL_GRAPHIO_GRUG, text, "core,node", &g, NULL, &err), 0);
    fx_expect_dump(g, "/cluster0 cluster 0\n"
                      "/cluster0/node0 node 0 rank=0\n"
                      "/cluster0/node0/core0 core 0\n"
                      "/cluster0/node0/core1 core 1\n"
                      "/cluster0/node1 node 1 rank=1\n"
                      "/cluster0/node1/core0 core 0\n"
                      "/cluster0/node1/core1 core 1\n"
                      "/cluster0/node2 node 2 rank=2\n"
                      "/cluster0/node2/core0 core 0\n"
                      "/cluster0/node2/core1 core 1\n"
                      "/cluster0/node3 node 3 rank=3\n"
                      "/cluster0/node3/core0 core 0\n"
                      "/cluster0/node3/core1 core 1\n");
    sl_graph_free(g);
    assert_int_equal(fx_read(SL_GRAPHIO_GRUG, text, "none", &g, NULL, &err), 0);
    fx_expect_dump(g, "/cluster0 cluster 0\n"); /* the root always stays */
    sl_graph_free(g);
    free(text);
}

/* The graph of 10,000 nodes that speed is measured with. */
static void a_large_recipe(void **state) {
    char *text =
        recipe(CLUSTER "node r|rack\nnode n|node\nnode o|core\nnode p|gpu\nnode m|memory||8|GB\n"
                       "edge c|r|multi_scale=250\nedge r|n|multi_scale=40|id_scope=1\n"
                       "edge n|o|multi_scale=16\nedge n|p|multi_scale=4\nedge n|m|multi_scale=8");
    struct sl_graphio_text t = {
        .format = SL_GRAPHIO_GRUG, .file = "f", .text = text, .len = strlen(text)};
    struct sl_graph *g = NULL;
    struct sl_err err;
    (void)state;

    assert_int_equal(sl_graphio_read(&t, &g, NULL, &err), 0);
    assert_int_equal(sl_graph_live(g), 1 + 250 + 10000 + 28 * 10000);
    assert_int_equal(sl_graph_vertex(g, fx_at(g, "/cluster0/rack249/node9999"))->rank, 9999);
    assert_int_equal(sl_graph_vertex(g, fx_at(g, "/cluster0/rack249/node9999/memory7"))->size, 8);
    sl_graph_free(g);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_3_2_multiply),
        cmocka_unit_test(rule_3_2_unique_ids_go_by_kind),
        cmocka_unit_test(rule_3_2_ids),
        cmocka_unit_test(rule_3_2_associate_in),
        cmocka_unit_test(rule_3_2_associate_by_path_in),
        cmocka_unit_test(rule_3_2_associate_in_containment),
        cmocka_unit_test(rule_3_2_multiply_in_another_subsystem),
        cmocka_unit_test(roots_of_a_subsystem_are_one),
        cmocka_unit_test(recipes_with_rings_end),
        cmocka_unit_test(keys_have_defaults),
        cmocka_unit_test(wrong_recipes),
        cmocka_unit_test(wrong_graphs),
        cmocka_unit_test(allowlist),
        cmocka_unit_test(a_large_recipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

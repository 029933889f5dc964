/* SPDX-License-Identifier: Apache-2.0 */
/* hwloc's XML: which objects become what, the allowlist, and texts that are none. */
#include "graphio_fixture.h"

#define SET(mask)                                                                                  \
    " cpuset=\"" mask "\" complete_cpuset=\"" mask                                                 \
    "\" nodeset=\"0x00000001\" complete_nodeset=\"0x00000001\""
#define DEVICE(n, pci, class, what)                                                                \
    "<object type=\"PCIDev\" gp_index=\"" n "3\" pci_busid=\"0000:" pci                            \
    ":00.0\" pci_type=\"" class " [10de:1db4] [10de:1214] a1\" pci_link_speed=\"0.000000\">" what  \
                                "</object>"

static const char machine[] =
    /* clang-format off */
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
    "<topology version=\"2.0\">\n"
    "<object type=\"Machine\" os_index=\"0\"" SET("0x0000000f")
    " allowed_cpuset=\"0x0000000f\" allowed_nodeset=\"0x00000001\" gp_index=\"1\">\n"
    "<info name=\"HostName\" value=\"node12\"/>\n"
    "<object type=\"Package\" os_index=\"0\"" SET("0x0000000f") " gp_index=\"2\">\n"
    "<object type=\"NUMANode\" os_index=\"0\"" SET("0x0000000f")
    " gp_index=\"3\" local_memory=\"8589934592\"/>\n"
    "<object type=\"Core\" os_index=\"0\"" SET("0x00000003") " gp_index=\"4\">\n"
    "<object type=\"PU\" os_index=\"0\"" SET("0x00000001") " gp_index=\"5\"/>\n"
    "<object type=\"PU\" os_index=\"1\"" SET("0x00000002") " gp_index=\"6\"/>\n"
    "</object>\n"
    "<object type=\"Core\" os_index=\"1\"" SET("0x0000000c") " gp_index=\"7\">\n"
    "<object type=\"PU\" os_index=\"2\"" SET("0x00000004") " gp_index=\"8\"/>\n"
    "<object type=\"PU\" os_index=\"3\"" SET("0x00000008") " gp_index=\"9\"/>\n"
    "</object>\n"
    "<object type=\"Bridge\" gp_index=\"12\" bridge_type=\"0-1\" depth=\"0\" "
    "bridge_pci=\"0000:[00-ff]\">\n"
    DEVICE("1", "01", "0302", "<object type=\"OSDev\" gp_index=\"14\" name=\"cuda1\" "
           "subtype=\"CUDA\" osdev_type=\"5\"/>")
    DEVICE("2", "02", "0302", "<object type=\"OSDev\" gp_index=\"15\" name=\"opencl0d3\" "
           "subtype=\"OpenCL\" osdev_type=\"5\"/>")
    DEVICE("3", "03", "0380", "<object type=\"OSDev\" gp_index=\"16\" name=\"rsmi2\" "
           "subtype=\"RSMI\" osdev_type=\"1\"/>")
    DEVICE("4", "04", "0106", "<object type=\"OSDev\" gp_index=\"17\" name=\"sda\" "
           "subtype=\"Disk\" osdev_type=\"0\"><info name=\"LinuxDeviceID\" value=\"8:0\"/>"
           "<info name=\"Size\" value=\"500000000\"/></object>")
    "</object></object></object></topology>\n";
/* clang-format on */

static void rule_3_2_kinds(void **state) {
    (void)state;
    fx_expect(SL_GRAPHIO_HWLOC, machine,
              "/cluster0 cluster 0\n"
              "/cluster0/node12 node 12 rank=0\n"
              "/cluster0/node12/socket0 socket 0\n"
              "/cluster0/node12/socket0/core0 core 0\n"
              "/cluster0/node12/socket0/core0/pu0 pu 0\n"
              "/cluster0/node12/socket0/core0/pu1 pu 1\n"
              "/cluster0/node12/socket0/core1 core 1\n"
              "/cluster0/node12/socket0/core1/pu2 pu 2\n"
              "/cluster0/node12/socket0/core1/pu3 pu 3\n"
              "/cluster0/node12/socket0/numanode0 numanode 0\n"
              "/cluster0/node12/socket0/gpu1 gpu 1\n"
              "/cluster0/node12/socket0/gpu3 gpu 3\n"
              "/cluster0/node12/socket0/gpu2 gpu 2\n"
              "/cluster0/node12/socket0/storage3 storage 3 size=500 {LinuxDeviceID=8:0}\n");
}

static void rule_3_2_allowlist(void **state) {
    struct sl_graph *g;
    struct sl_err err;
    (void)state;
    assert_int_equal(fx_read(SL_GRAPHIO_HWLOC, machine, "node,core,gpu", &g, NULL, &err), 0);
    fx_expect_dump(g, "/cluster0 cluster 0\n"
                      "/cluster0/node12 node 12 rank=0\n"
                      "/cluster0/node12/core0 core 0\n"
                      "/cluster0/node12/core1 core 1\n"
                      "/cluster0/node12/gpu1 gpu 1\n"
                      "/cluster0/node12/gpu3 gpu 3\n"
                      "/cluster0/node12/gpu2 gpu 2\n");
    sl_graph_free(g);
    /* memory is there for who asks for it */
    assert_int_equal(fx_read(SL_GRAPHIO_HWLOC, machine, "socket,memory", &g, NULL, &err), 0);
    fx_expect_dump(g, "/cluster0 cluster 0\n"
                      "/cluster0/socket0 socket 0\n"
                      "/cluster0/socket0/memory0 memory 0 size=8192 unit=MB\n");
    sl_graph_free(g);
}

/* hwloc 1 has no NUMA nodes where there is only one; libhwloc adds it. */
static void xml_of_hwloc_1(void **state) {
#define OLD(mask) " cpuset=\"" mask "\" complete_cpuset=\"" mask "\" online_cpuset=\"" mask "\""
    (void)state;
    fx_expect(SL_GRAPHIO_HWLOC,
              "<topology><object type=\"Machine\" os_index=\"0\"" OLD(
                  "0x00000001") "><info name=\"HostName\" value=\"login\"/>"
                                "<object type=\"Socket\" os_index=\"0\"" OLD(
                                    "0x00000001") "><object "
                                                  "type=\"PU\" "
                                                  "os_index="
                                                  "\"0\"" OLD("0x0000000"
                                                              "1") "/></"
                                                                   "obje"
                                                                   "ct><"
                                                                   "/obj"
                                                                   "ect>"
                                                                   "</"
                                                                   "topo"
                                                                   "logy"
                                                                   ">",
              "/cluster0 cluster 0\n"
              "/cluster0/login node -1 basename=login rank=0\n"
              "/cluster0/login/socket0 socket 0\n"
              "/cluster0/login/socket0/pu0 pu 0\n"
              "/cluster0/login/socket0/numanode0 numanode 0\n");
#undef OLD
}

static void errors(void **state) {
    (void)state;
    fx_refused(SL_GRAPHIO_HWLOC, "", "f:1: no element found");
    fx_refused(SL_GRAPHIO_HWLOC, "<topology/>", "f:1: expected a machine in hwloc's XML");
    fx_refused(SL_GRAPHIO_HWLOC, "<topology>\n<object/></topology>",
               "f:2: expected the attribute \"type\" of <object>");
    fx_refused(SL_GRAPHIO_HWLOC,
               "<topology version=\"2.0\"><object type=\"Machine\" cpuset=\"0x1\"/></topology>",
               "f:1: expected cpuset, nodeset and the complete ones of <object>");
    fx_refused(SL_GRAPHIO_HWLOC, "<graphml/>", "f:1: expected <topology> of hwloc");
    fx_refused(SL_GRAPHIO_HWLOC, "<topology>\n<info>", "f:2: no element found");
    fx_refused(SL_GRAPHIO_HWLOC, "<!DOCTYPE topology [<!ENTITY a \"b\">]><topology/>",
               "f:1: declarations of one's own in <!DOCTYPE> are not read");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_3_2_kinds),
        cmocka_unit_test(rule_3_2_allowlist),
        cmocka_unit_test(xml_of_hwloc_1),
        cmocka_unit_test(errors),
    };
    /* hwloc writes its opinion of wrong XML to stderr; it is not asked for. */
    assert_int_equal(setenv("HWLOC_HIDE_ERRORS", "2", 1), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

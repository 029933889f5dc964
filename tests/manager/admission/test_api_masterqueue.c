/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is refused of MasterQueues, with path and reason, what is not, and what is warned of.
 */
#include "case.h"
#include "manager/admission/masterqueue.h"

#define PATH "/validate-vk-io-v1-masterqueue"
#define AT "spec.flavors[0].natsFlavor."
#define SUBDOMAIN                                                                                  \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "   \
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "  \
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define DNS_LABEL                                                                                  \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "   \
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "     \
    "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
#define KEY_NAME                                                                                   \
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "  \
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " \
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define QUANTITY "must be a quantity, such as 4, 500m or 1Gi"

#define MQ(spec) "{'metadata':{'name':'mq'},'spec':{" spec "}}"
#define FLAVORS(list) MQ("'template':{'cohort':'c'},'flavors':[" list "]")
#define NATS(fields) "'natsFlavor':{'natsConnector':'nats.nats:4222','natsSubject':'a.b'" fields "}"
/* A group g with this beside its defaults, or a whole queue with it. */
#define GROUP(name, fields, rest) "{'name':'" name "'," NATS(fields) rest "}"
#define ONE(fields) FLAVORS(GROUP("g", fields, ""))
#define ANY ",'poolRegExp':'.*'"
#define BESIDE(rest) FLAVORS(GROUP("g", ANY, rest))
#define LOCAL(name, rest) "{'name':'" name "','localFlavor':{}" rest "}"
#define TEMPLATE(fields) MQ("'template':{'cohort':'c'," fields "}")

#define TEN "aaaaaaaaaa"
#define SIXTY TEN TEN TEN TEN TEN TEN
#define N240 SIXTY SIXTY SIXTY SIXTY
#define RESOURCES_10(p)                                                                            \
    "'" p "0':1,'" p "1':1,'" p "2':1,'" p "3':1,'" p "4':1,'" p "5':1,'" p "6':1,'" p "7':1,'" p  \
    "8':1,'" p "9':1"

static void what_is_right(void **state) {
    static const struct review_case cases[] = {
        {.name = "nothing", .object = MQ(""), .message = ""},
        {.name = "no spec", .object = "{}", .message = ""},
        {.name = "no flavors", .object = FLAVORS(""), .message = ""},
        {
            .name = "the seed's",
            .object = FLAVORS(
                "{'name':'interlink','natsFlavor':{'natsConnector':"
                "'nats://user:password@nats.nats:4222','natsSubject':'interlink.resources',"
                "'virtualNode':'interlink','poolTimeout':30,'poolRegExp':'.*'},'nominalQuota':{"
                "'cpu':'1M','memory':'1Ei','pods':100,'nvidia.com/gpu':10000},'canLendTo':[{"
                "'queue':'group1','lendingLimit':{'pods':30}}]}"),
            .message = "",
        },
        {
            .name = "pools",
            .object = ONE(",'pools':['podman-firenze','slurm-cineca'],'virtualNode':'node.a-1',"
                          "'natsSecret':{'name':'masterqueue-nats'}"),
            .message = "",
        },
        {.name = "an empty list", .object = ONE(",'pools':[]"), .message = ""},
        {.name = "an empty pattern", .object = ONE(",'poolRegExp':''"), .message = ""},
        {
            .name = "local flavors",
            .object = FLAVORS(LOCAL("local-cpu", "") "," LOCAL(
                "local.gpu", ",'nominalQuota':{'pods':'100','example.com/fpga':'1.5'}")),
            .message = "",
        },
        {
            .name = "one borrower of two groups",
            .object = FLAVORS(GROUP("g", ANY, ",'canLendTo':[{'queue':'q'}]") "," LOCAL(
                "h", ",'canLendTo':[{'queue':'q'},{'queue':'r'}]")),
            .message = "",
        },
        {.name = "a second", .object = ONE(ANY ",'poolTimeout':1"), .message = ""},
        {.name = "a day", .object = ONE(ANY ",'poolTimeout':86400"), .message = ""},
        {.name = "nothing to lend", .object = BESIDE(",'nominalQuota':{'cpu':0}"), .message = ""},
        {
            .name = "the whole template",
            .object = TEMPLATE("'namespaceSelector':{'matchExpressions':[{'key':'a','operator':"
                               "'Exists'}]},'preemption':{'reclaimWithinCohort':'Any',"
                               "'borrowWithinCohort':{'policy':'LowerPriority',"
                               "'maxPriorityThreshold':-2147483648}},'stopPolicy':'Stop'"),
            .message = "",
        },
    };

    (void)state;
    check_cases(PATH, cases, SL_LEN(cases));
}

static void names(void **state) {
    static const struct review_case cases[] = {
        {
            .name = "no name",
            .object = FLAVORS("{'localFlavor':{}}"),
            .message = "spec.flavors[0].name: Required value",
        },
        {
            .name = "upper case",
            .object = FLAVORS(GROUP("G", ANY, "")),
            .message = "spec.flavors[0].name: Invalid value: \"G\": " SUBDOMAIN,
        },
        {
            .name = "a NUL inside",
            .object = FLAVORS(LOCAL("g\\u0000h", "")),
            .message = "spec.flavors[0].name: Invalid value: \"g\\x00h\": " SUBDOMAIN,
        },
        {
            .name = "no space for a pool",
            .object = FLAVORS(GROUP(N240 "aaaaaaaaa", ANY, "")),
            .message = "spec.flavors[0].name: Invalid value: \"" N240 "aaaaaaaaa\": must leave "
                       "space for the name of a pool: names of flavors, MASTERQUEUE-GROUP-POOL, "
                       "have no more than 253 characters",
        },
        {.name = "just so", .object = FLAVORS(GROUP(N240 "aaaaaaaa", ANY, "")), .message = ""},
        {
            .name = "of the longest pool",
            .object = FLAVORS(GROUP(N240 "aaaaaa", ",'pools':['abc','abcd']", "")),
            .message = AT "pools[1]: Invalid value: \"abcd\": must make a flavor's name, "
                          "MASTERQUEUE-GROUP-POOL, of no more than 253 characters",
        },
        {
            .name = "two groups",
            .object = FLAVORS(GROUP("g", ANY, "") "," GROUP("g", ANY, "")),
            .message = "spec.flavors[1].name: Duplicate value: \"g\"",
        },
        {
            .name = "two local flavors",
            .object = FLAVORS(LOCAL("l", "") "," LOCAL("l", "")),
            .message = "spec.flavors[1].name: Duplicate value: \"l\"",
        },
        {
            .name = "pools",
            .object = ONE(",'pools':['a','B','a.b','a','" SIXTY "aaaa','','x\\u0000']"),
            .message = "[" AT "pools[1]: Invalid value: \"B\": " DNS_LABEL ", " AT
                       "pools[2]: Invalid value: \"a.b\": must not contain dots, " AT
                       "pools[3]: Duplicate value: \"a\": there is another flavor of this "
                       "name, " AT "pools[4]: Invalid value: \"" SIXTY
                       "aaaa\": must be no more than 63 characters, " AT
                       "pools[5]: Invalid value: \"\": " DNS_LABEL ", " AT
                       "pools[6]: Invalid value: \"x\\x00\": " DNS_LABEL "]",
        },
        {
            .name = "the same flavor in two ways",
            .object = FLAVORS(GROUP("a", ",'pools':['b-c']", "") "," GROUP(
                "a-b", ",'pools':['c']", "") "," LOCAL("mq-a-b-c", "")),
            .message = "[spec.flavors[1].natsFlavor.pools[0]: Duplicate value: \"c\": there is "
                       "another flavor of this name, spec.flavors[2].name: Duplicate value: "
                       "\"mq-a-b-c\": there is another flavor of this name]",
        },
        {
            .name = "virtual nodes",
            .object = FLAVORS(GROUP("g", ANY ",'virtualNode':'Node'",
                                    "") "," GROUP("h", ANY ",'virtualNode':''", "")),
            .message =
                "[" AT "virtualNode: Invalid value: \"Node\": " SUBDOMAIN
                ", spec.flavors[1].natsFlavor.virtualNode: Invalid value: \"\": " SUBDOMAIN "]",
        },
        {
            .name = "a node that no label can name",
            .object = ONE(ANY ",'virtualNode':'" SIXTY "aaaa'"),
            .message =
                AT "virtualNode: Invalid value: \"" SIXTY "aaaa\": must be no more than 63 bytes",
        },
        {
            .name = "a Secret",
            .object = ONE(ANY ",'natsSecret':{'name':'a/b'}"),
            .message = AT "natsSecret.name: Invalid value: \"a/b\": " SUBDOMAIN,
        },
        {
            .name = "a Secret without name",
            .object = ONE(ANY ",'natsSecret':{}"),
            .message = AT "natsSecret.name: Required value",
        },
        {
            .name = "cohort",
            .object = MQ("'template':{'cohort':'C'}"),
            .message = "spec.template.cohort: Invalid value: \"C\": " SUBDOMAIN,
        },
        {
            .name = "no cohort",
            .object = MQ("'template':{}"),
            .message = "spec.template.cohort: Required value",
        },
    };

    (void)state;
    check_cases(PATH, cases, SL_LEN(cases));
}

static void one_of_two(void **state) {
    static const struct review_case cases[] = {
        {
            .name = "neither flavor",
            .object = FLAVORS("{'name':'g'}"),
            .message = "spec.flavors[0]: Required value: exactly one of natsFlavor and localFlavor "
                       "must be set",
        },
        {
            .name = "both flavors",
            .object = BESIDE(",'localFlavor':{}"),
            .message = "spec.flavors[0].localFlavor: Forbidden: exactly one of natsFlavor and "
                       "localFlavor must be set",
        },
        {
            .name = "neither choice",
            .object = ONE(""),
            .message = "spec.flavors[0].natsFlavor: Required value: exactly one of pools and "
                       "poolRegExp must be set",
        },
        {
            .name = "both choices",
            .object = ONE(ANY ",'pools':[]"),
            .message = AT "poolRegExp: Forbidden: exactly one of pools and poolRegExp must be set",
        },
    };

    (void)state;
    check_cases(PATH, cases, SL_LEN(cases));
}

/* With a subject of these bytes. */
#define SUBJECT(s)                                                                                 \
    FLAVORS("{'name':'g','natsFlavor':{'natsConnector':'h','natsSubject':'" s "'" ANY "}}")
#define CONNECTOR(s)                                                                               \
    FLAVORS("{'name':'g','natsFlavor':{'natsConnector':'" s "','natsSubject':'a'" ANY "}}")

static void subjects_and_patterns(void **state) {
    static const struct review_case cases[] = {
        {.name = "one token", .object = SUBJECT("a"), .message = ""},
        {.name = "of any letters", .object = SUBJECT("$A.b-c_d.é"), .message = ""},
        {
            .name = "none",
            .object = FLAVORS("{'name':'g','natsFlavor':{'natsConnector':'h'" ANY "}}"),
            .message = AT "natsSubject: Required value",
        },
        {
            .name = "empty",
            .object = SUBJECT(""),
            .message = AT "natsSubject: Invalid value: \"\": must not have empty tokens",
        },
        {
            .name = "empty tokens",
            .object = SUBJECT("a..b"),
            .message = AT "natsSubject: Invalid value: \"a..b\": must not have empty tokens",
        },
        {
            .name = "an empty last token",
            .object = SUBJECT("a."),
            .message = AT "natsSubject: Invalid value: \"a.\": must not have empty tokens",
        },
        {
            .name = "wildcard",
            .object = SUBJECT("a.*"),
            .message = AT "natsSubject: Invalid value: \"a.*\": must not have wildcards",
        },
        {
            .name = "full wildcard",
            .object = SUBJECT("a.>"),
            .message = AT "natsSubject: Invalid value: \"a.>\": must not have wildcards",
        },
        {
            .name = "a space",
            .object = SUBJECT("a b"),
            .message = AT "natsSubject: Invalid value: \"a b\": must not have spaces or control "
                          "characters",
        },
        {
            .name = "a NUL",
            .object = SUBJECT("a\\u0000"),
            .message = AT "natsSubject: Invalid value: \"a\\x00\": must not have spaces or control "
                          "characters",
        },
        {.name = "a pattern", .object = ONE(",'poolRegExp':'^(?!x)a{,3}\\\\Z'"), .message = ""},
        {
            .name = "no pattern",
            .object = ONE(",'poolRegExp':'podman-('"),
            .message = AT "poolRegExp: Invalid value: \"podman-(\": must be a regular expression "
                          "in Python's syntax: missing ), unterminated subpattern at byte 8",
        },
        {
            .name = "a shell's pattern",
            .object = ONE(",'poolRegExp':'*-firenze'"),
            .message = AT "poolRegExp: Invalid value: \"*-firenze\": must be a regular expression "
                          "in Python's syntax: nothing to repeat at byte 0",
        },
        {
            .name = "too soon",
            .object = ONE(ANY ",'poolTimeout':0"),
            .message = AT "poolTimeout: Invalid value: 0: must be between 1 and 86400 seconds",
        },
        {
            .name = "too late",
            .object = ONE(ANY ",'poolTimeout':86401"),
            .message = AT "poolTimeout: Invalid value: 86401: must be between 1 and 86400 seconds",
        },
    };

    (void)state;
    check_cases(PATH, cases, SL_LEN(cases));
}

/* What they say is the parser's affair; that they say nothing secret is ours, too. */
static void connectors(void **state) {
    static const struct {
        const char *object, *begins;
    } cases[] = {
        {FLAVORS("{'name':'g','natsFlavor':{'natsSubject':'a'" ANY "}}"),
         AT "natsConnector: Required value"},
        {CONNECTOR(""), AT "natsConnector: Invalid value: "},
        {CONNECTOR("nats://user:sesame@"), AT "natsConnector: Invalid value: "},
        {CONNECTOR("nats://user:sesame@host:port"), AT "natsConnector: Invalid value: "},
        {CONNECTOR("http://user:sesame@host"), AT "natsConnector: Invalid value: "},
        {CONNECTOR("wss://user:sesame@host/path"), AT "natsConnector: Invalid value: "},
        {CONNECTOR("nats://user:ses%zzame@host"), AT "natsConnector: Invalid value: "},
        {CONNECTOR("nats://user:sesame@a,nats://other:sesame@b"),
         AT "natsConnector: Invalid value: "},
        {CONNECTOR("nats://user:sesame@ho st"), AT "natsConnector: Invalid value: "},
        {CONNECTOR("host\\u0000:4222"), AT "natsConnector: Invalid value: "},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct answer a;
        review_object(PATH, cases[i].object, NULL, NULL, false, &a);
        if (a.allowed || strncmp(a.message, cases[i].begins, strlen(cases[i].begins)) != 0 ||
            strstr(sl_buf_str(&a.text), "sesame") || strstr(sl_buf_str(&a.text), "ses%"))
            fail_msg("%s: %s", cases[i].object, a.message);
        answer_done(&a);
    }
}

static void amounts_and_borrowers(void **state) {
    static const struct review_case cases[] = {
        {
            .name = "amounts",
            .object = BESIDE(",'nominalQuota':{'cpu':'much','memory':-1,'pods':null,'a/b/c':1,"
                             "'gpu':'1Gi'}"),
            .message = "[spec.flavors[0].nominalQuota[cpu]: Invalid value: \"much\": " QUANTITY
                       ", spec.flavors[0].nominalQuota[memory]: Invalid value: -1: must be greater "
                       "than or equal to 0, spec.flavors[0].nominalQuota[pods]: Invalid value: "
                       "null: " QUANTITY
                       ", spec.flavors[0].nominalQuota[a/b/c]: Invalid value: \"a/b/c\": a valid "
                       "label key must consist of alphanumeric characters, '-', '_' or '.', and "
                       "must start and end with an alphanumeric character (e.g. 'MyName',  or "
                       "'my.name',  or '123-abc', regex used for validation is "
                       "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain "
                       "prefix and '/' (e.g. 'example.com/MyName')]",
        },
        {
            .name = "limits",
            .object = BESIDE(",'canLendTo':[{'queue':'q','lendingLimit':{'cpu':'-1','@':1}}]"),
            .message = "[spec.flavors[0].canLendTo[0].lendingLimit[cpu]: Invalid value: \"-1\": "
                       "must be greater than or equal to 0, "
                       "spec.flavors[0].canLendTo[0].lendingLimit[@]: Invalid value: "
                       "\"@\": " KEY_NAME "]",
        },
        {
            .name = "more resources than a group may have",
            .object = BESIDE(",'nominalQuota':{" RESOURCES_10("a") "," RESOURCES_10(
                "b") "," RESOURCES_10("c") ",'x':1,'y':1,'z':1}"),
            .message = "spec.flavors[0].nominalQuota: Too many: 33: must have at most 32 items",
        },
        {
            .name = "more resources than all may have",
            .object = FLAVORS(
                GROUP("g", ANY,
                      ",'nominalQuota':{" RESOURCES_10("a") "," RESOURCES_10(
                          "b") "}") "," LOCAL("h",
                                              ",'nominalQuota':{" RESOURCES_10(
                                                  "c") ",'x':1},'canLendTo':[{'queue':'q',"
                                                       "'lendingLimit':{'x':1,'y':1,'z':1}}]")),
            .message = "spec.flavors: Invalid value: 33: must not name more than 32 resources in "
                       "all",
        },
        {
            .name = "no queue",
            .object = BESIDE(",'canLendTo':[{}]"),
            .message = "spec.flavors[0].canLendTo[0].queue: Required value",
        },
        {
            .name = "queues",
            .object = BESIDE(",'canLendTo':[{'queue':'q'},{'queue':'Q'},{'queue':'q'},"
                             "{'queue':'mq'}]"),
            .message = "[spec.flavors[0].canLendTo[1].queue: Invalid value: \"Q\": " SUBDOMAIN
                       ", spec.flavors[0].canLendTo[2].queue: Duplicate value: \"q\", "
                       "spec.flavors[0].canLendTo[3].queue: Invalid value: \"mq\": must not be the "
                       "name of the MasterQueue, whose own queue lends]",
        },
    };

    (void)state;
    check_cases(PATH, cases, SL_LEN(cases));
}

static void templates(void **state) {
    static const struct review_case cases[] = {
        {
            .name = "selector",
            .object = TEMPLATE("'namespaceSelector':{'matchExpressions':[{'key':'a','operator':"
                               "'Near'}]}"),
            .message = "spec.template.namespaceSelector.matchExpressions[0].operator: Invalid "
                       "value: \"Near\": not a valid selector operator",
        },
        {
            .name = "priority",
            .object = TEMPLATE("'preemption':{'reclaimWithinCohort':'Any','borrowWithinCohort':{"
                               "'maxPriorityThreshold':2147483648}}"),
            .message = "spec.template.preemption.borrowWithinCohort.maxPriorityThreshold: Invalid "
                       "value: 2147483648: must be between -2147483648 and 2147483647",
        },
    };

    (void)state;
    check_cases(PATH, cases, SL_LEN(cases));
}

#define WRONG MQ("'flavors':[{'name':'G'}]")

/* A stored object can be labelled, whatever it is. */
static void updates_are_of_specs(void **state) {
    static const struct review_case cases[] = {
        {.name = "the same spec",
         .object =
             "{'metadata':{'name':'mq','labels':{'a':'b'}},'spec':{'flavors':[{'name':'G'}]}}",
         .old = WRONG,
         .message = ""},
        {
            .name = "one more error",
            .object = MQ("'flavors':[{'name':'G','localFlavor':{}}]"),
            .old = WRONG,
            .message = "spec.flavors[0].name: Invalid value: \"G\": " SUBDOMAIN,
        },
        {
            .name = "an empty object is not nothing",
            .object = BESIDE(",'localFlavor':{}"),
            .old = BESIDE(""),
            .message = "spec.flavors[0].localFlavor: Forbidden: exactly one of natsFlavor and "
                       "localFlavor must be set",
        },
        {.name = "no spec at all", .object = "{}", .old = "{}", .message = ""},
    };

    (void)state;
    check_cases(PATH, cases, SL_LEN(cases));
}

/* n items of a list, and what is said about them. */
static void check_count(const char *before, const char *item, const char *after, uint32_t n,
                        const char *message) {
    struct sl_buf object = SL_BUF((size_t)1 << 20);
    struct answer a;

    sl_buf_puts(&object, before);
    for (uint32_t i = 0; i < n; i++) {
        sl_buf_puts(&object, i ? "," : "");
        for (const char *p = item; *p; p++)
            if (*p == '#')
                sl_buf_printf(&object, "%u", i);
            else
                sl_buf_putc(&object, *p);
    }
    sl_buf_puts(&object, after);
    assert_false(sl_buf_full(&object));
    review_object(PATH, sl_buf_str(&object), NULL, NULL, false, &a);
    assert_string_equal(a.message, message);
    answer_done(&a);
    sl_buf_done(&object);
}

static void ceilings(void **state) {
    static const char groups[] = "{'metadata':{'name':'mq'},'spec':{'flavors':[",
                      queues[] = "{'spec':{'flavors':[{'name':'l','localFlavor':{},'canLendTo':[",
                      pools[] = "{'spec':{'flavors':[{'name':'g','natsFlavor':{'natsConnector':'h',"
                                "'natsSubject':'a','pools':[";

    (void)state;
    check_count(groups, LOCAL("l#", ""), "]}}", SL_MASTERQUEUE_MAX_GROUPS, "");
    check_count(groups, LOCAL("l#", ""), "]}}", SL_MASTERQUEUE_MAX_GROUPS + 1,
                "spec.flavors: Too many: 65: must have at most 64 items");
    check_count(queues, "{'queue':'q#'}", "]}]}}", SL_MASTERQUEUE_MAX_BORROWERS, "");
    check_count(queues, "{'queue':'q#'}", "]}]}}", SL_MASTERQUEUE_MAX_BORROWERS + 1,
                "spec.flavors[0].canLendTo: Too many: 65: must have at most 64 items");
    check_count(pools, "'p#'", "]}}]}}", SL_MASTERQUEUE_MAX_POOLS, "");
    check_count(pools, "'p#'", "]}}]}}", SL_MASTERQUEUE_MAX_POOLS + 1,
                AT "pools: Too many: 257: must have at most 256 items");
    check_count(groups, GROUP("g#", ",'pools':['a','b','c','d','e']", ""), "]}}", 52,
                "spec.flavors[51].natsFlavor.pools: Too many: 260: must have at most 256 items");
    check_count("{'spec':{'flavors':[{'name':'g','natsFlavor':{'natsConnector':'h','natsSubject':'",
                "aaaaaaaaaaaaaaa", "'" ANY "}}]}}", 64, "");
}

static void warnings(void **state) {
    static const struct {
        const char *object, *warnings[3];
    } cases[] = {
        {ONE(ANY), {NULL}},
        {ONE(ANY ",'poolTimeout':35"), {NULL}},
        {ONE(ANY ",'poolTimeout':34"),
         {AT "poolTimeout: a pool is dropped after poolTimeout plus 5 s of silence, and providers "
             "usually publish every 30 s: use 60 or more"}},
        {CONNECTOR("nats://user:sesame@host"),
         {AT "natsConnector: whoever may read this object can read the credentials: natsSecret "
             "keeps them out of it"}},
        {CONNECTOR("nats://token@host"),
         {AT "natsConnector: whoever may read this object can read the credentials: natsSecret "
             "keeps them out of it"}},
        {MQ("'flavors':[" LOCAL("l", "") "]"),
         {"spec.template: not set, so the cohort of the queues is \"mq\""}},
        {TEMPLATE("'preemption':{'borrowWithinCohort':{'policy':'LowerPriority'}}"),
         {"spec.template.preemption.borrowWithinCohort: ignored without reclaimWithinCohort"}},
        {TEMPLATE("'preemption':{'reclaimWithinCohort':'Never','borrowWithinCohort':{'policy':"
                  "'LowerPriority'}}"),
         {"spec.template.preemption.borrowWithinCohort: ignored without reclaimWithinCohort"}},
        {TEMPLATE("'preemption':{'borrowWithinCohort':{'policy':'Never'}}"), {NULL}},
        {TEMPLATE("'preemption':{'reclaimWithinCohort':'Any','borrowWithinCohort':{}}"), {NULL}},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct answer a;
        size_t n = 0;
        review_object(PATH, cases[i].object, NULL, NULL, false, &a);
        assert_string_equal(a.message, "");
        yyjson_val *list = sl_json_get(a.response, "warnings");
        for (; cases[i].warnings[n]; n++)
            assert_string_equal(sl_json_text(yyjson_arr_get(list, n)), cases[i].warnings[n]);
        assert_int_equal(sl_json_size(list), n);
        answer_done(&a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_right), cmocka_unit_test(names),
        cmocka_unit_test(one_of_two),    cmocka_unit_test(subjects_and_patterns),
        cmocka_unit_test(connectors),    cmocka_unit_test(amounts_and_borrowers),
        cmocka_unit_test(templates),     cmocka_unit_test(updates_are_of_specs),
        cmocka_unit_test(ceilings),      cmocka_unit_test(warnings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

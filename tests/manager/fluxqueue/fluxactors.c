/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelets, the machines, and the people. All see the API as it is; what users create has the
 * marks of admission already: the label, the gate or the suspension, the scheduler's name.
 */
#include "fluxworld.h"

#include "core/base/stamp.h"

#define MAX_LIVE 24u /* objects of users at a time: the queue tries 32 in a pass */

enum { RUN, END, STOP };

/* ---- kubelets ---- */

static uint32_t number_of(struct world *w, const char *name) {
    for (uint32_t i = w->pods.n; i-- > 0;)
        if (strcmp(w->pods.v[i], name) == 0)
            return i;
    *sl_vec_push(&w->pods) = sl_strdup(name);
    return w->pods.n - 1;
}

/* The end of a uid, since names are used again. */
static uint64_t pod_arg(struct world *w, yyjson_val *pod, uint32_t step) {
    const char *uid = sl_json_str(pod, "metadata.uid");
    size_t len = strlen(uid);
    uint64_t tail = strtoull(len > 8 ? uid + len - 8 : uid, NULL, 16) & 0xffffffff;
    return tail << 32 | (uint64_t)number_of(w, sl_json_str(pod, "metadata.name")) << 4 | step;
}

static void kubelet(void *ctx, uint64_t arg);

static void kubelet_soon(struct world *w, yyjson_val *pod, uint32_t step, sl_span least,
                         sl_span most) {
    fakeapi_at(w->api, fakeapi_now(w->api) + sl_prng_range(&w->prng, least, most), kubelet, w,
               pod_arg(w, pod, step));
}

/* Is the node there, and does its kubelet answer? */
static bool alive(struct world *w, yyjson_val *pod) {
    char path[300];
    (void)snprintf(path, sizeof path, NODES "/%s", sl_json_str(pod, "spec.nodeName"));
    yyjson_val *node = fakeapi_get(w->api, path);
    return node && sl_json_condition(node, "Ready");
}

static void set_phase(struct world *w, const char *path, const char *phase) {
    char stamp[SL_STAMP_TEXT];
    bool runs = strcmp(phase, "Running") == 0;
    (void)sl_stamp(FAKEAPI_EPOCH + fakeapi_now(w->api), stamp);
    (void)world_send(w, SL_PATCH, path,
                     "{'status':{'phase':'%s','startTime':'%s','conditions':[{'type':'Ready',"
                     "'status':'%s','lastTransitionTime':'%s'}]%s}}",
                     phase, stamp, runs ? "True" : "False", stamp,
                     runs ? ""
                          : ",'containerStatuses':[{'name':'main','restartCount':0,'state':{"
                            "'terminated':{'exitCode':0,'finishedAt':'2026-01-01T00:00:00Z'}}}]");
}

/* So long it runs: for ever in a set, else about as long as was said. */
static sl_span run_time(struct world *w, yyjson_val *pod) {
    yyjson_val *ref = yyjson_arr_get(sl_json_at(pod, "metadata.ownerReferences"), 0);
    const char *said = sl_json_label(pod, "test.run");
    if (ref && strcmp(sl_json_str(ref, "kind"), "Job") != 0)
        return SL_TIME_NEVER;
    if (!*said)
        return sl_prng_range(&w->prng, 5 * SL_SEC, 90 * SL_SEC);
    sl_span most = (sl_span)strtoul(said, NULL, 10) * SL_SEC - 4 * SL_SEC;
    if (!w->punctual && world_odds(w, 5))
        most *= 2;
    return sl_prng_range(&w->prng, most / 2, most);
}

static void run_pod(struct world *w, yyjson_val *pod, const char *status) {
    uint64_t arg = pod_arg(w, pod, END);
    sl_span span = run_time(w, pod);
    set_phase(w, status, "Running");
    if (span != SL_TIME_NEVER)
        fakeapi_at(w->api, fakeapi_now(w->api) + span, kubelet, w, arg);
}

static void kubelet(void *ctx, uint64_t arg) {
    struct world *w = ctx;
    char path[300], status[320];
    uint32_t step = arg & 15;
    (void)snprintf(path, sizeof path, PODS "/%s", w->pods.v[(arg & 0xffffffff) >> 4]);
    (void)snprintf(status, sizeof status, "%s/status", path);
    yyjson_val *pod = fakeapi_get(w->api, path);
    if (!pod || pod_arg(w, pod, step) != arg || !*sl_json_str(pod, "spec.nodeName"))
        return;
    if ((!alive(w, pod) && step != STOP) || (w->frozen && step == END)) {
        fakeapi_at(w->api, fakeapi_now(w->api) + 5 * SL_SEC, kubelet, w, arg);
        return;
    }
    const char *phase = sl_json_str(pod, "status.phase");
    if (step == STOP) {
        if (!view_terminal(pod) && world_odds(w, 2))
            set_phase(w, status, "Failed");
        (void)world_send(w, SL_DELETE, path, "{'gracePeriodSeconds':0}");
    } else if (step == RUN && strcmp(phase, "Pending") == 0) {
        run_pod(w, pod, status);
    } else if (step == END && strcmp(phase, "Running") == 0) {
        set_phase(w, status, w->punctual || !world_odds(w, 5) ? "Succeeded" : "Failed");
    }
}

void actors_noticed(struct world *w, const struct fakeapi_change *c) {
    const char *is = sl_json_str(c->now, "spec.nodeName");
    if (strcmp(c->kind->plural, "pods") != 0 || !c->now || !*is)
        return;
    if (!*sl_json_str(c->before, "spec.nodeName"))
        kubelet_soon(w, c->now, RUN, 0, 2 * SL_SEC);
    if (sl_json_at(c->now, "metadata.deletionTimestamp") &&
        !sl_json_at(c->before, "metadata.deletionTimestamp"))
        kubelet_soon(w, c->now, STOP, 0, w->punctual ? SL_SEC : 5 * SL_SEC);
}

/* ---- machines ---- */

static void node_status(struct world *w, uint32_t i, bool ready) {
    char path[64];
    (void)snprintf(path, sizeof path, NODES "/n%u/status", i);
    (void)world_send(w, SL_PATCH, path,
                     "{'status':{'conditions':[{'type':'Ready','status':'%s'}]}}",
                     ready ? "True" : "False");
}

static void node_resize(struct world *w, uint32_t i) {
    char path[64];
    (void)snprintf(path, sizeof path, NODES "/n%u/status", i);
    (void)world_send(w, SL_PATCH, path,
                     "{'status':{'allocatable':{'cpu':'%u','memory':'%uGi','pods':'%u',"
                     "'example.com/gpu':%s}}}",
                     1 + world_below(w, 6), 4 + world_below(w, 5), 3 + world_below(w, 8),
                     world_odds(w, 2) ? "null" : "'2'");
}

static void node_come(struct world *w, uint32_t i) {
    world_tell(w, "n%u comes", i);
    (void)world_send(w, SL_POST, NODES,
                     "{'metadata':{'name':'n%u','labels':{'kubernetes.io/hostname':'n%u',"
                     "'disk':'%s'%s}},'spec':{}}",
                     i, i, world_odds(w, 2) ? "ssd" : "hdd",
                     world_odds(w, 4)   ? ""
                     : world_odds(w, 2) ? ",'example.com/rack':'a'"
                                        : ",'example.com/rack':'b'");
    node_resize(w, i);
    node_status(w, i, true);
}

static void node_change(struct world *w) {
    uint32_t i = world_below(w, MAX_NODES), how = world_below(w, 10);
    char path[64];
    (void)snprintf(path, sizeof path, NODES "/n%u", i);
    if (!w->machines[i].exists) {
        node_come(w, i);
        return;
    }
    world_tell(w, "n%u changes: %u", i, how);
    switch (how) {
    case 0:
        (void)world_send(w, SL_DELETE, path, "{}");
        break;
    case 1:
        (void)world_send(w, SL_PATCH, path, "{'spec':{'unschedulable':true}}");
        break;
    case 2:
    case 3:
        (void)world_send(w, SL_PATCH, path, "{'spec':{'unschedulable':null,'taints':null}}");
        break;
    case 4:
        (void)world_send(w, SL_PATCH, path,
                         "{'spec':{'taints':[{'key':'dedicated','value':'%s','effect':'%s'}]}}",
                         world_odds(w, 2) ? "a" : "b",
                         world_odds(w, 4) ? "PreferNoSchedule" : "NoSchedule");
        break;
    case 5:
        node_status(w, i, false);
        break;
    case 6:
        node_status(w, i, true);
        break;
    case 7:
        (void)world_send(w, SL_PATCH, path, "{'metadata':{'labels':{'disk':'%s'}}}",
                         world_odds(w, 2) ? "ssd" : "hdd");
        break;
    default:
        node_resize(w, i);
        break;
    }
}

/* ---- what users create ---- */

struct wish {
    char annotations[400], spec[1000], labels[200];
    bool bad;
};

/* Something that must be refused, or can never be, and must not be in anybody's way. */
static void draw_bad(struct world *w, struct wish *x) {
    static const char *const annotations[] = {
        "'fluxqueue/duration':'soon'",      "'fluxqueue/begin-time':'never'",
        "'fluxqueue/within':'moon'",        "'fluxqueue/tasks-per-node':'x'",
        "'fluxqueue/jobspec':'{{{'",        "'fluxqueue/whole-nodes':'maybe'",
        "'fluxqueue/jobspec':'version: 1'", "'fluxqueue/tasks-per-node':'100001'",
        "'fluxqueue/queue':'../../etc'",    "'fluxqueue/queue':'no-such-queue'",
    };
    uint32_t n = world_below(w, SL_LEN(annotations));
    x->bad = true;
    (void)snprintf(x->annotations, sizeof x->annotations, "'test/bad':'yes',%s", annotations[n]);
}

static void draw_annotations(struct world *w, struct wish *x, bool set) {
    char stamp[SL_STAMP_TEXT];
    size_t at = strlen(x->annotations);
    char *end = x->annotations + at;
    size_t left = sizeof x->annotations - at;
    if (!set && world_odds(w, 3)) {
        uint32_t seconds = 20 + world_below(w, 100);
        (void)snprintf(end, left, "'fluxqueue/duration':'%us'", seconds);
        (void)snprintf(x->labels, sizeof x->labels, ",'test.run':'%u'", seconds);
    } else if (!w->punctual && world_odds(w, 8)) {
        sl_time t = FAKEAPI_EPOCH + fakeapi_now(w->api) + world_below(w, 120) * SL_SEC;
        (void)snprintf(end, left, "'fluxqueue/begin-time':'%s'",
                       sl_stamp(t / SL_SEC * SL_SEC, stamp));
    } else if (!set && world_odds(w, 10)) {
        (void)snprintf(end, left, "'fluxqueue/whole-nodes':'true'");
    } else if (!set && world_odds(w, 12)) {
        (void)snprintf(end, left, "'fluxqueue/within':'rack'");
    } else if (!set && world_odds(w, 12)) {
        (void)snprintf(end, left, "'fluxqueue/tasks-per-node':'1'");
    }
}

static void draw_spec(struct world *w, struct wish *x) {
    static const char *const cpus[] = {"500m", "1", "1", "2", "1500m", "100m", "3"};
    bool huge = !w->punctual && world_odds(w, 15), gpu = world_odds(w, 8);
    int at = snprintf(
        x->spec, sizeof x->spec,
        "'schedulerName':'FluxionScheduler','restartPolicy':'Never','containers':[{'name':'main',"
        "'image':'busybox','resources':{'requests':{'cpu':'%s','memory':'%uMi'%s}}}]",
        huge ? "100" : cpus[world_below(w, SL_LEN(cpus))], 64u << world_below(w, 5),
        gpu ? ",'example.com/gpu':'1'" : "");
    if (world_odds(w, 8))
        at += snprintf(x->spec + at, sizeof x->spec - (size_t)at,
                       ",'initContainers':[{'name':'first','resources':{'requests':{'cpu':'2'}}}]");
    if (world_odds(w, 5))
        at += snprintf(x->spec + at, sizeof x->spec - (size_t)at, ",'nodeSelector':{'disk':'%s'}",
                       world_odds(w, 2) ? "ssd" : "hdd");
    if (world_odds(w, 5))
        (void)snprintf(x->spec + at, sizeof x->spec - (size_t)at, ",'tolerations':[{%s}]",
                       world_odds(w, 2) ? "'operator':'Exists'"
                                        : "'key':'dedicated','operator':'Equal','value':'a'");
}

static struct wish draw(struct world *w, bool set) {
    struct wish x = {0};
    if (!w->punctual && world_odds(w, 10))
        draw_bad(w, &x);
    else
        draw_annotations(w, &x, set);
    draw_spec(w, &x);
    return x;
}

/* Something that holds between the pods of a job. */
static void draw_rule(struct world *w, struct wish *x) {
#define OWN "'labelSelector':{'matchLabels':{'ruled':'yes'}},'topologyKey':'%s'"
    static const char *const rules[] = {
        ",'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{" OWN
        "}]}}",
        ",'affinity':{'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{" OWN
        "}]}}",
        ",'topologySpreadConstraints':[{'maxSkew':1,'whenUnsatisfiable':'DoNotSchedule'," OWN "}]",
        ",'topologySpreadConstraints':[{'maxSkew':2,'whenUnsatisfiable':'DoNotSchedule'," OWN "}]",
    };
    size_t spec = strlen(x->spec), labels = strlen(x->labels);
    char rule[300];
    if (strstr(x->annotations, "tasks-per-node") || strstr(x->annotations, "within"))
        return; /* both may be more than can be */
    (void)snprintf(rule, sizeof rule, "%s", rules[world_below(w, SL_LEN(rules))]);
    const char *key = world_odds(w, 3) ? "example.com/rack" : "kubernetes.io/hostname";
    char *at = strstr(rule, "%s");
    sl_assert(at);
    (void)snprintf(x->spec + spec, sizeof x->spec - spec, "%.*s%s%s", (int)(at - rule), rule, key,
                   at + 2);
    (void)snprintf(x->labels + labels, sizeof x->labels - labels, ",'ruled':'yes'");
}

static void create_pod(struct world *w) {
    struct wish x = draw(w, false);
    bool bare = world_odds(w, 8), other = !w->punctual && world_odds(w, 8);
    uint32_t n = w->next_name++;
    if (w->ruled && !w->punctual && world_odds(w, 8)) { /* it has no others */
        (void)snprintf(x.annotations, sizeof x.annotations, "'test/bad':'yes','test/alone':'yes'");
        draw_rule(w, &x);
    }
    world_tell(w, "p%u is created: %s %s", n, x.annotations, x.spec);
    (void)world_send(
        w, SL_POST, PODS,
        "{'metadata':{'name':'p%u','labels':{%s%s},'annotations':{%s}},'spec':{%s,'priority':%u"
        "%s%s%s}}",
        n, bare ? "'fluxqueue/queue':'default'" : "'fluxqueue.seen':'yes'", x.labels, x.annotations,
        x.spec, world_odds(w, 5) ? world_below(w, 100) : 0,
        bare ? "" : ",'schedulingGates':[{'name':'fluxqueue'}",
        !bare && other ? ",{'name':'example.com/wait'}" : "", bare ? "" : "]");
}

/* One that names the scheduler, and nothing else of it. */
static void create_plain(struct world *w) {
    struct wish x = {0};
    uint32_t n = w->next_name++;
    draw_spec(w, &x);
    bool alone = w->ruled && world_odds(w, 3);
    if (alone)
        draw_rule(w, &x);
    world_tell(w, "q%u is created: %s", n, x.spec);
    (void)world_send(w, SL_POST, PODS,
                     "{'metadata':{'name':'q%u','labels':{'a':'b'%s},'annotations':{%s}},'spec':{"
                     "%s,'priority':%u}}",
                     n, x.labels, alone ? "'test/alone':'yes'" : "", x.spec,
                     world_odds(w, 5) ? world_below(w, 100) : 0);
}

static void create_job(struct world *w) {
    struct wish x = draw(w, false);
    uint32_t n = w->next_name++, parallelism = 1 + world_below(w, 4),
             more_of_them = !w->punctual && world_odds(w, 3) ? world_below(w, 4) : 0,
             completions = parallelism + more_of_them;
    bool indexed = world_odds(w, 2), counted = indexed || !world_odds(w, 5);
    char more[160] = "";
    if (w->ruled && world_odds(w, 2))
        draw_rule(w, &x);
    if (counted)
        (void)snprintf(more, sizeof more, "'completions':%u,'completionMode':'%s',", completions,
                       indexed ? "Indexed" : "NonIndexed");
    world_tell(w, "j%u is created: %u of %u%s %s %s", n, parallelism, completions,
               indexed ? " indexed" : "", x.annotations, x.spec);
    (void)world_send(
        w, SL_POST, JOBS,
        "{'metadata':{'name':'j%u','labels':{'fluxqueue.seen':'yes'},'annotations':{%s}},'spec':{"
        "'suspend':true,'backoffLimit':100,'parallelism':%u,%s'template':{'metadata':{'labels':{"
        "'fluxqueue.seen':'yes'%s}},'spec':{%s%s}}}}",
        n, x.annotations, parallelism, more, x.labels, x.spec,
        world_odds(w, 5) ? ",'priorityClassName':'c1'" : "");
}

static const char *const set_kinds[] = {"statefulsets", "replicasets", "deployments"};

static void create_set(struct world *w) {
    struct wish x = draw(w, true);
    uint32_t n = w->next_name++, kind = world_below(w, 3);
    char path[100], *never = strstr(x.spec, "'restartPolicy':'Never',");
    if (w->ruled && world_odds(w, 2))
        draw_rule(w, &x);
    if (never) /* sets restart theirs */
        memmove(never, never + 24, strlen(never + 24) + 1);
    (void)snprintf(path, sizeof path, APPS "%s", set_kinds[kind]);
    world_tell(w, "%c%u is created: %s", "srd"[kind], n, x.spec);
    (void)world_send(
        w, SL_POST, path,
        "{'metadata':{'name':'%c%u','labels':{'fluxqueue.seen':'yes'},'annotations':{%s}},'spec':{"
        "'replicas':%u,'selector':{'matchLabels':{'set':'x%u'}},%s'template':{'metadata':{"
        "'labels':{'fluxqueue.seen':'yes','set':'x%u'%s}},'spec':{%s,'schedulingGates':[{'name':"
        "'fluxqueue'}]}}}}",
        "srd"[kind], n, x.annotations, world_below(w, 4), n,
        kind == 0 && world_odds(w, 2) ? "'podManagementPolicy':'Parallel'," : "", n, x.labels,
        x.spec);
}

static void create_foreign(struct world *w) {
    uint32_t n = w->next_name++, node = world_below(w, MAX_NODES);
    char where[40] = "'a':1";
    if (world_odds(w, 2) && w->machines[node].exists)
        (void)snprintf(where, sizeof where, "'nodeName':'n%u'", node);
    else
        (void)snprintf(where, sizeof where, "'schedulerName':'default-scheduler'");
    (void)world_send(w, SL_POST, PODS,
                     "{'metadata':{'name':'f%u'},'spec':{%s,'containers':[{'name':'main',"
                     "'resources':{'requests':{'cpu':'%um','memory':'64Mi'}}}]}}",
                     n, where, 100 * (1 + world_below(w, 15)));
}

/* ---- what they do with it ---- */

struct pick {
    char paths[128][200];
    const char *of;
    uint32_t n;
};

static void pick_one(void *ctx, yyjson_val *o) {
    struct pick *p = ctx;
    if (p->n < SL_LEN(p->paths))
        (void)snprintf(p->paths[p->n++], sizeof p->paths[0], "%s/%s", p->of,
                       sl_json_str(o, "metadata.name"));
}

static void pick_from(struct world *w, struct pick *p, const char *collection) {
    p->of = collection;
    (void)fakeapi_each(w->api, collection, pick_one, p);
}

static void delete_one(struct world *w, const char *path) {
    world_tell(w, "%s is deleted", path);
    (void)world_send(w, SL_DELETE, path, "{'propagationPolicy':'%s'}",
                     world_odds(w, 3) ? "Foreground" : "Background");
}

static void pick_objects(struct world *w, struct pick *p) {
    pick_from(w, p, JOBS);
    for (size_t i = 0; i < SL_LEN(set_kinds); i++) {
        static const char *const of[] = {APPS "statefulsets", APPS "replicasets",
                                         APPS "deployments"};
        pick_from(w, p, of[i]);
    }
}

static void delete_object(struct world *w) {
    struct pick p = {0};
    pick_objects(w, &p);
    if (p.n)
        delete_one(w, p.paths[world_below(w, p.n)]);
}

static void delete_pod(struct world *w) {
    struct pick p = {0};
    pick_from(w, &p, PODS);
    if (p.n)
        delete_one(w, p.paths[world_below(w, p.n)]);
}

static void delete_fluxjob(struct world *w) {
    struct pick p = {0};
    pick_from(w, &p, FLUXJOBS);
    if (p.n)
        delete_one(w, p.paths[world_below(w, p.n)]);
}

static void scale_or_roll(struct world *w) {
    struct pick p = {0};
    pick_objects(w, &p);
    const char *path = p.n ? p.paths[world_below(w, p.n)] : "";
    bool job = strncmp(path, JOBS, strlen(JOBS)) == 0;
    if (!*path)
        return;
    if (job || !world_odds(w, 4)) {
        world_tell(w, "%s is scaled", path);
        (void)world_send(w, SL_PATCH, path, "{'spec':{'%s':%u}}", job ? "parallelism" : "replicas",
                         world_below(w, 5));
        return;
    }
    world_tell(w, "%s gets another template", path);
    if (w->wide && world_odds(w, 2)) {
        static const char *const cpus[] = {"500m", "1", "2", "3"};
        (void)world_send(w, SL_PATCH, path,
                         "{'spec':{'template':{'spec':{'containers':[{'name':'main','image':"
                         "'busybox','resources':{'requests':{'cpu':'%s','memory':'%uMi'}}}]}}}}",
                         cpus[world_below(w, SL_LEN(cpus))], 64u << world_below(w, 5));
        return;
    }
    (void)world_send(w, SL_PATCH, path,
                     "{'spec':{'template':{'metadata':{'labels':{'version':'v%u'}}}}}",
                     world_below(w, 1000));
}

static void drop_gate(struct world *w) {
    struct pick p = {0};
    pick_from(w, &p, PODS);
    for (uint32_t i = 0; i < p.n; i++) {
        yyjson_val *pod = fakeapi_get(w->api, p.paths[i]),
                   *gates = pod ? sl_json_at(pod, "spec.schedulingGates") : NULL;
        if (!sl_json_find(gates, "name", "example.com/wait"))
            continue;
        bool ours = sl_json_find(gates, "name", "fluxqueue") != NULL;
        (void)world_send(w, SL_PATCH, p.paths[i], "{'spec':{'schedulingGates':%s}}",
                         ours ? "[{'name':'fluxqueue'}]" : "null");
    }
}

static void kill_or_start(struct world *w) {
    uint32_t i = world_below(w, REPLICAS);
    if (w->replicas[i].q)
        world_kill(w, i);
    else
        world_start(w, i);
}

static void cut_streams(struct world *w) {
    fakeapi_cut(w->api, world_below(w, REPLICAS));
}

static uint32_t live_objects(struct world *w) {
    struct pick p = {0};
    pick_objects(w, &p);
    return p.n + fakeapi_each(w->api, FLUXJOBS, NULL, NULL);
}

static void create(struct world *w) {
    static void (*const kinds[])(struct world *) = {create_pod, create_pod, create_job, create_job,
                                                    create_job, create_set, create_set};
    if (live_objects(w) >= MAX_LIVE + 8)
        return;
    if (w->wide && world_odds(w, 6))
        create_plain(w);
    else
        kinds[world_below(w, SL_LEN(kinds))](w);
}

void actors_submit(void *ctx, uint64_t arg) {
    struct world *w = ctx;
    (void)arg;
    if (world_odds(w, 3))
        create_job(w);
    else
        create_pod(w);
}

void actors_operate(void *ctx, uint64_t arg) {
    static const struct {
        void (*fn)(struct world *w);
        uint32_t weight;
    } operations[] = {
        {create, 40},        {create_foreign, 5}, {delete_object, 6}, {delete_pod, 8},
        {delete_fluxjob, 1}, {scale_or_roll, 8},  {drop_gate, 4},     {node_change, 20},
        {kill_or_start, 5},  {cut_streams, 2},
    };
    struct world *w = ctx;
    uint32_t sum = 0;
    (void)arg;
    if (w->failed)
        return;
    for (size_t i = 0; i < SL_LEN(operations); i++)
        sum += operations[i].weight;
    uint32_t at = world_below(w, sum);
    for (size_t i = 0; i < SL_LEN(operations); at -= operations[i++].weight)
        if (at < operations[i].weight) {
            operations[i].fn(w);
            return;
        }
}

void actors_begin(struct world *w) {
    for (uint32_t i = 0, n = 1 + world_below(w, MAX_NODES - 1); i < n; i++)
        node_come(w, i);
}

void actors_calm(struct world *w) {
    drop_gate(w);
    for (uint32_t i = 0; i < MAX_NODES; i++)
        if (w->machines[i].exists)
            node_status(w, i, true);
}

void actors_delete_all(struct world *w) {
    struct pick p = {0};
    pick_objects(w, &p);
    for (uint32_t i = 0; i < p.n; i++)
        (void)world_send(w, SL_DELETE, p.paths[i], "{'propagationPolicy':'Background'}");
    p.n = 0;
    pick_from(w, &p, PODS);
    for (uint32_t i = 0; i < p.n; i++)
        (void)world_send(w, SL_DELETE, p.paths[i], "{}");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histories: people change Services, ReplicationControllers, DaemonSets, Endpoints by hand and
 * nodes at random while the network fails in every way that the in-memory API knows and controllers
 * die. When all is calm:
 *
 *   - The slices of a Service have each of its pods once, ready if that is, at most 100 in each,
 *     and its Endpoints have the same pods.
 *   - Endpoints that somebody wrote are mirrored, and nothing else is.
 *   - A DaemonSet has one pod of its present template on each node that it may be on, no other, and
 *     its status says so.
 *   - Nobody writes any more.
 *
 * usage: netfaults [--first N] [--seeds N] [--verbose]
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps_world.h"
#include "core/base/collection/hash.h"
#include "core/base/collection/map.h"
#include "lib/log/log.h"
#include "seeds.h"

#define SERVICES 3u
#define SETS_ 2u
#define NODES 6u
#define SLICES "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices"
#define DAEMONS APPS "/daemonsets"
#define CONTROLLERS NS "/replicationcontrollers"

struct history {
    struct apps_world w; /* first */
    bool failed;
    char why[600];
};

static uint64_t total_endpoints, total_daemons, total_mirrors;

static int64_t below(struct history *h, int64_t n) {
    return (int64_t)sl_prng_below(&h->w.prng, (uint64_t)n);
}

static void broken(struct history *h, const char *what, const char *whom) {
    if (h->failed)
        return;
    h->failed = true;
    (void)snprintf(h->why, sizeof h->why, "at %.3f s: %s: %.300s",
                   (double)fakeapi_now(h->w.api) / (double)SL_SEC, what, whom);
}

static void sendf(struct history *h, enum sl_kube_method m, const char *path, const char *fmt, ...)
    _printf_(4, 5);
static void sendf(struct history *h, enum sl_kube_method m, const char *path, const char *fmt,
                  ...) {
    char body[2000];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(body, sizeof body, fmt, ap);
    va_end(ap);
    (void)world_do(&h->w, m, path, m == SL_PATCH ? SL_MERGE_PATCH : SL_JSON, body);
}

/* ---- users ---- */

static void change_service(struct history *h) {
    int64_t i = below(h, SERVICES);
    char path[200];
    const char *selectors[] = {"{'app':'a'}", "{'app':'b'}", "{'tier':'t'}", "{'app':'d'}"};

    (void)snprintf(path, sizeof path, NS "/services/s%lld", (long long)i);
    const char *selector = selectors[below(h, 4)];
    if (!world_exists(&h->w, path))
        sendf(h, SL_POST, NS "/services",
              "{'metadata':{'name':'s%lld'},'spec':{'clusterIP':'10.96.0.%lld','selector':%s,"
              "'ports':[{'name':'p','port':80,'protocol':'TCP','targetPort':'web'}]}}",
              (long long)i, (long long)i, selector);
    else if (!below(h, 4))
        (void)world_do(&h->w, SL_DELETE, path, NULL, NULL);
    else {
        sendf(h, SL_PATCH, path,
              "{'metadata':{'labels':{'x':'%lld'}},'spec':{'publishNotReadyAddresses':%s,"
              "'selector':{'app':null,'tier':null}}}",
              (long long)below(h, 3), below(h, 2) ? "true" : "false");
        sendf(h, SL_PATCH, path, "{'spec':{'selector':%s}}", selector);
    }
}

static void change_controller(struct history *h) {
    const char *name = below(h, 2) ? "a" : "b";
    char path[200];

    (void)snprintf(path, sizeof path, CONTROLLERS "/%s", name);
    if (!world_exists(&h->w, path))
        sendf(h, SL_POST, CONTROLLERS,
              "{'metadata':{'name':'%s'},'spec':{'replicas':%lld,'selector':{'app':'%s'},"
              "'template':{'metadata':{'labels':{'app':'%s','tier':'t'}},'spec':{'containers':[{"
              "'name':'c','image':'i','ports':[{'name':'web','containerPort':80,'protocol':"
              "'TCP'}]}]}}}}",
              name, (long long)below(h, 140), name, name);
    else if (!below(h, 8))
        (void)world_do(&h->w, SL_DELETE, path, NULL, NULL);
    else
        sendf(h, SL_PATCH, path, "{'spec':{'replicas':%lld}}", (long long)below(h, 140));
}

static void change_node(struct history *h) {
    int64_t i = 2 + below(h, NODES);
    char path[100];

    (void)snprintf(path, sizeof path, "/api/v1/nodes/n%lld", (long long)i);
    if (!world_exists(&h->w, path))
        sendf(h, SL_POST, "/api/v1/nodes", "{'metadata':{'name':'n%lld','labels':{'disk':'%s'}}}",
              (long long)i, below(h, 2) ? "ssd" : "hdd");
    else if (below(h, 3))
        sendf(h, SL_PATCH, path, "{'spec':{'taints':[%s]}}",
              below(h, 2) ? "" : "{'key':'k','effect':'NoExecute'}");
    else
        (void)world_do(&h->w, SL_DELETE, path, NULL, NULL);
}

static void change_daemon(struct history *h) {
    int64_t i = below(h, SETS_);
    char path[100];

    (void)snprintf(path, sizeof path, DAEMONS "/d%lld", (long long)i);
    if (!world_exists(&h->w, path))
        sendf(h, SL_POST, DAEMONS,
              "{'metadata':{'name':'d%lld'},'spec':{'selector':{'matchLabels':{'set':'d%lld'}},"
              "'updateStrategy':{'rollingUpdate':{%s}},'template':{'metadata':{'labels':{'set':"
              "'d%lld','app':'d'}},'spec':{'containers':[{'name':'c','image':'i0','ports':[{'name':"
              "'web','containerPort':80,'protocol':'TCP'}]}]}}}}",
              (long long)i, (long long)i,
              i ? "'maxUnavailable':0,'maxSurge':2" : "'maxUnavailable':2,'maxSurge':0",
              (long long)i);
    else if (!below(h, 8))
        (void)world_do(&h->w, SL_DELETE, path, NULL, NULL);
    else if (below(h, 2))
        sendf(h, SL_PATCH, path, "{'spec':{'template':{'spec':{'nodeSelector':{'disk':%s}}}}}",
              below(h, 2) ? "'ssd'" : "null");
    else
        sendf(h, SL_PATCH, path, "{'spec':{'template':{'metadata':{'annotations':{'v':'%lld'}}}}}",
              (long long)below(h, 4));
}

static void change_by_hand(struct history *h) {
    if (!world_exists(&h->w, NS "/services/hand")) {
        sendf(h, SL_POST, NS "/services",
              "{'metadata':{'name':'hand'},'spec':{'clusterIP':'10.96.1.1'}}");
        return;
    }
    if (below(h, 6) == 0) {
        (void)world_do(&h->w, SL_DELETE, below(h, 2) ? NS "/endpoints/hand" : NS "/services/hand",
                       NULL, NULL);
        return;
    }
    char list[1000] = "";
    for (int64_t i = below(h, 5); i > 0; i--) {
        size_t len = strlen(list);
        (void)snprintf(list + len, sizeof list - len, "%s{'ip':'10.9.0.%lld'}", len ? "," : "",
                       (long long)i);
    }
    sendf(h, SL_POST, NS "/endpoints", "{'metadata':{'name':'hand'}}");
    sendf(h, SL_PATCH, NS "/endpoints/hand",
          "{'subsets':[{'addresses':[%s],'ports':[{'port':%lld,'protocol':'TCP'}]}]}", list,
          (long long)(80 + below(h, 2)));
}

static void act_as_user(struct history *h) {
    static void (*const acts[])(struct history *) = {change_service, change_controller,
                                                     change_node,    change_daemon,
                                                     change_daemon,  change_by_hand};
    acts[below(h, SL_LEN(acts))](h);
}

/* ---- what must hold in the end ---- */

struct check {
    struct history *h;
    const char *service;
    yyjson_val *selector;
    bool unready;
    struct sl_map seen; /* hashes of uids, and whether each is ready */
    uint32_t n, expected, addresses;
};

static bool chosen(const struct check *k, yyjson_val *pod) {
    size_t i, n;
    yyjson_val *key, *v;

    yyjson_obj_foreach (k->selector, i, n, key, v)
        if (strcmp(sl_json_label(pod, yyjson_get_str(key)), yyjson_get_str(v)) != 0)
            return false;
    return *sl_json_str(pod, "status.podIP") && !sl_json_at(pod, "metadata.deletionTimestamp");
}

static void see_endpoint(struct check *k, yyjson_val *e) {
    const char *uid = sl_json_str(e, "targetRef.uid");
    if (!*uid) /* written by hand */
        uid = sl_json_text(yyjson_arr_get_first(yyjson_obj_get(e, "addresses")));
    uint64_t hash = sl_hash_str(1, uid);

    if (sl_map_get(&k->seen, hash) != SL_MAP_NONE)
        broken(k->h, "twice among the endpoints", uid);
    sl_map_add(&k->seen, hash, sl_json_bool(e, "conditions.ready", false));
    k->n++;
}

static void see_slice(void *ctx, yyjson_val *o) {
    struct check *k = ctx;
    yyjson_val *list = yyjson_obj_get(o, "endpoints"), *e;
    size_t i, n;

    if (strcmp(sl_json_label(o, "kubernetes.io/service-name"), k->service) != 0)
        return;
    if (sl_json_size(list) > 100)
        broken(k->h, "more than 100 endpoints in a slice", sl_json_str(o, "metadata.name"));
    yyjson_arr_foreach (list, i, n, e)
        see_endpoint(k, e);
}

static void check_pod(void *ctx, yyjson_val *o) {
    struct check *k = ctx;

    if (!chosen(k, o))
        return;
    k->expected++;
    uint32_t ready = sl_map_get(&k->seen, sl_hash_str(1, sl_json_str(o, "metadata.uid")));
    if (ready == SL_MAP_NONE || ready != (k->unready || sl_json_condition(o, "Ready")))
        broken(k->h, "not the endpoint that it should be", sl_json_str(o, "metadata.name"));
}

static void check_service(void *ctx, yyjson_val *o) {
    struct history *h = ctx;
    struct check k = {.h = h,
                      .service = sl_json_str(o, "metadata.name"),
                      .selector = sl_json_at(o, "spec.selector"),
                      .unready = sl_json_bool(o, "spec.publishNotReadyAddresses", false)};
    char path[200];
    size_t i, n;
    yyjson_val *set;

    (void)snprintf(path, sizeof path, NS "/endpoints/%s", k.service);
    yyjson_arr_foreach (sl_json_at(fakeapi_get(h->w.api, path), "subsets"), i, n, set)
        k.addresses += (uint32_t)(sl_json_size(sl_json_at(set, "addresses")) +
                                  sl_json_size(sl_json_at(set, "notReadyAddresses")));
    (void)fakeapi_each(h->w.api, SLICES, see_slice, &k);
    if (yyjson_obj_size(k.selector)) {
        (void)fakeapi_each(h->w.api, PODS, check_pod, &k);
        if (k.n != k.expected || k.addresses != k.n)
            broken(h, "not its pods", k.service);
        total_endpoints += k.n;
    } else {
        if (k.n != k.addresses)
            broken(h, "not mirrored", k.service);
        total_mirrors += k.n;
    }
    sl_map_done(&k.seen);
}

struct daemon {
    struct history *h;
    yyjson_val *set;
    const char *node;
    int64_t n, desired;
};

static void count_daemon(void *ctx, yyjson_val *o) {
    struct daemon *d = ctx;

    if (strcmp(sl_json_label(o, "set"), sl_json_str(d->set, "metadata.name")) != 0 ||
        strcmp(sl_json_str(o, "spec.nodeName"), d->node) != 0)
        return;
    d->n++;
    if (strcmp(sl_json_annotation(o, "v"),
               sl_json_annotation(sl_json_at(d->set, "spec.template"), "v")) != 0)
        broken(d->h, "a pod of another template", sl_json_str(o, "metadata.name"));
}

static void check_daemon_node(void *ctx, yyjson_val *o) {
    struct daemon *d = ctx;
    const char *disk = sl_json_str(d->set, "spec.template.spec.nodeSelector.disk");
    bool runs = (!*disk || strcmp(disk, sl_json_label(o, "disk")) == 0) &&
                sl_json_size(sl_json_at(o, "spec.taints")) == 0;

    d->node = sl_json_str(o, "metadata.name");
    d->n = 0;
    (void)fakeapi_each(d->h->w.api, PODS, count_daemon, d);
    d->desired += runs;
    if (d->n != runs)
        broken(d->h, "not one pod on a node of a DaemonSet", d->node);
}

static void check_daemon(void *ctx, yyjson_val *o) {
    static const char *const counts[] = {"desiredNumberScheduled", "currentNumberScheduled",
                                         "numberReady"};
    struct daemon d = {.h = ctx, .set = o};

    (void)fakeapi_each(d.h->w.api, "/api/v1/nodes", check_daemon_node, &d);
    for (size_t i = 0; i < SL_LEN(counts); i++)
        if (sl_json_int(sl_json_at(o, "status"), counts[i], -1) != d.desired)
            broken(d.h, counts[i], sl_json_str(o, "metadata.name"));
    total_daemons += (uint64_t)d.desired;
}

static void settle(struct history *h) {
    fakeapi_set_faults(h->w.api, NULL);
    world_run(&h->w, 15 * SL_MINUTE); /* also a stream that hangs has been given up by then */
    (void)fakeapi_each(h->w.api, NS "/services", check_service, h);
    (void)fakeapi_each(h->w.api, DAEMONS, check_daemon, h);
    uint64_t version = fakeapi_version(h->w.api);
    world_run(&h->w, 4 * SL_MINUTE);
    if (fakeapi_version(h->w.api) != version)
        broken(h, "somebody still writes", "");
}

static bool history(uint64_t seed, bool verbose) {
    struct history h = {.w = {.addresses = true}};
    struct fakeapi_faults faults;

    world_start(&h.w, seed);
    fakeapi_some_faults(&h.w.prng, 60, &faults);
    if (seed % 8)
        fakeapi_set_faults(h.w.api, &faults);
    for (uint32_t i = 0; i < 80 && !h.failed; i++) {
        world_run(&h.w, below(&h, 8) * SL_SEC);
        act_as_user(&h);
        if (!below(&h, 30)) {
            world_kill(&h.w);
            world_run(&h.w, 12 * SL_SEC);
            world_revive(&h.w);
        }
    }
    if (!h.failed)
        settle(&h);
    if (h.failed || verbose)
        (void)printf("seed %llu: %s\n", (unsigned long long)seed, h.failed ? h.why : "good");
    world_stop(&h.w);
    return !h.failed;
}

int main(int argc, char **argv) {
    sl_log_set(SL_LOG_ERROR);
    struct seeds all = seeds_run(argc, argv, 20, history);
    (void)printf("# %llu endpoints, %llu mirrored, %llu pods of DaemonSets in the end\n",
                 (unsigned long long)total_endpoints, (unsigned long long)total_mirrors,
                 (unsigned long long)total_daemons);
    seeds_report(&all);
    if (all.n < 10) /* one history need not have all of it */
        return all.bad > 0;
    return all.bad || !total_endpoints || !total_mirrors || !total_daemons;
}

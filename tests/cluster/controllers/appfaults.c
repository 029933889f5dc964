/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histories: people change Deployments, StatefulSets, owners and namespaces at random while the
 * network fails in every way that the in-memory API knows and controllers die. What must hold is
 * asked after every change:
 *
 *   - Of a Deployment there are never more pods than the surge allows, and no pod is deleted by a
 * controller if fewer than allowed would be available. (Of what was asked for since it last was at
 * rest, the weakest counts.)
 *   - With Recreate, pods of two templates never stand side by side.
 *   - A StatefulSet in order makes a pod only when all before it are ready, deletes one beyond its
 * size only when there is none after it, and one of an old revision only when all others are ready.
 *   - Nothing is deleted by a controller that has an owner who lives, or that was to be left alone.
 *   - What is deleted in the foreground goes after those that block it.
 *   - Of a namespace that is gone nothing is left.
 *
 * When all is calm, everything is as its spec says, and nobody writes any more.
 *
 * usage: appfaults [--first N] [--seeds N] [--verbose], which tells every change
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

#define DEPLOYED 3u
#define STATEFUL 2u
#define HOMES 3u
#define YOUNG (90 * SL_SEC) /* may not have been observed by its controller */

struct deployed {
    char name[16];
    int64_t replicas, surge, missing;
    int64_t most, least; /* pods, available ones */
    bool recreate;
};

struct stateful {
    char name[16];
    int64_t replicas;
    bool parallel;
};

struct history {
    struct apps_world w; /* first */
    struct deployed d[DEPLOYED];
    struct stateful s[STATEFUL];
    struct sl_map left_alone; /* hash of the uid of an owner whose dependents were to stay */
    struct sl_map foreground; /* and of one whose dependents were to go before it */
    uint32_t serial;
    bool failed, traced;
    char why[600];
};

static uint64_t total_rollouts, total_deaths, total_collected, total_homes;

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

/* ---- pods ---- */

struct tally {
    const char *app, *but;
    int64_t pods, available, old, others_not_ready, hashes;
    char hash[32];
    const char *set;      /* of a stateful one: its name */
    int64_t below, above; /* ordinals: ready ones below, any above */
    int64_t ordinal;
};

static bool is_ready(yyjson_val *o) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (sl_json_at(o, "status.conditions"), i, n, v)
        if (strcmp(sl_json_str(v, "type"), "Ready") == 0 &&
            strcmp(sl_json_str(v, "status"), "True") == 0)
            return true;
    return false;
}

static int64_t ordinal_of(const char *name) {
    const char *dash = strrchr(name, '-');
    return dash ? strtoll(dash + 1, NULL, 10) : -1;
}

static void tally_pod(void *ctx, yyjson_val *o) {
    struct tally *t = ctx;
    bool going = sl_json_at(o, "metadata.deletionTimestamp") != NULL;
    const char *hash = sl_json_label(o, "pod-template-hash");

    if (strcmp(sl_json_label(o, "app"), t->app) != 0)
        return;
    t->pods += !going;
    t->available += !going && is_ready(o);
    if (!t->hashes) {
        (void)snprintf(t->hash, sizeof t->hash, "%s", hash);
        t->hashes = 1;
    } else if (strcmp(t->hash, hash) != 0) {
        t->hashes = 2;
    }
    if (strcmp(sl_json_str(o, "metadata.name"), t->but) == 0)
        return;
    int64_t ordinal = ordinal_of(sl_json_str(o, "metadata.name"));
    t->others_not_ready += going || !is_ready(o);
    t->below += ordinal < t->ordinal && !going && is_ready(o);
    t->above += ordinal > t->ordinal;
}

static struct tally tally(struct history *h, const char *app, const char *but) {
    struct tally t = {.app = app, .but = but, .ordinal = ordinal_of(but)};
    (void)fakeapi_each(h->w.api, PODS, tally_pod, &t);
    return t;
}

/* ---- what must hold ---- */

static bool ours(const struct fakeapi_change *ch) {
    return ch->client == 0;
}

/* It was made, or began to go. */
static bool was_created(const struct fakeapi_change *ch) {
    return ch->now && !ch->before;
}

static bool began_to_go(const struct fakeapi_change *ch) {
    return ch->before && !sl_json_at(ch->before, "metadata.deletionTimestamp") &&
           (!ch->now || sl_json_at(ch->now, "metadata.deletionTimestamp"));
}

static void check_deployed(struct history *h, struct deployed *d, const struct fakeapi_change *ch) {
    struct tally t = tally(h, d->name, "");

    if (was_created(ch) && t.pods > d->most)
        broken(h, "too many pods", ch->key);
    if (began_to_go(ch) && ours(ch) && t.available < d->least)
        broken(h, "too few available pods", ch->key);
    if (was_created(ch) && d->recreate && t.hashes > 1)
        broken(h, "pods of two templates", ch->key);
}

static void check_stateful(struct history *h, struct stateful *s, const struct fakeapi_change *ch) {
    yyjson_val *o = ch->now ? ch->now : ch->before;
    const char *name = sl_json_str(o, "metadata.name");
    struct tally t = tally(h, s->name, name);
    int64_t ordinal = ordinal_of(name);

    if (s->parallel || !ours(ch))
        return;
    if (was_created(ch) && t.below < ordinal)
        broken(h, "made before those before it were ready", ch->key);
    if (!began_to_go(ch))
        return;
    if (ordinal >= s->replicas && t.above > 0 && t.others_not_ready)
        broken(h, "deleted before those after it were gone", ch->key);
    else if (ordinal < s->replicas && t.others_not_ready)
        broken(h, "deleted while others were not ready", ch->key);
}

static void check_pod(struct history *h, const struct fakeapi_change *ch) {
    yyjson_val *o = ch->now ? ch->now : ch->before;

    for (uint32_t i = 0; i < DEPLOYED; i++)
        if (strcmp(sl_json_label(o, "app"), h->d[i].name) == 0)
            check_deployed(h, &h->d[i], ch);
    for (uint32_t i = 0; i < STATEFUL; i++)
        if (strcmp(sl_json_label(o, "app"), h->s[i].name) == 0)
            check_stateful(h, &h->s[i], ch);
}

static bool has_finalizer(yyjson_val *o, const char *name) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (sl_json_at(o, "metadata.finalizers"), i, n, v)
        if (yyjson_equals_str(v, name))
            return true;
    return false;
}

static bool is_young(struct history *h, yyjson_val *o) {
    return FAKEAPI_EPOCH + fakeapi_now(h->w.api) - sl_json_time(o, "metadata.creationTimestamp") <
           YOUNG;
}

/* The collector deleted this: were its owners gone? Ours are ConfigMaps and Secrets. */
static void check_collected(struct history *h, const struct fakeapi_change *ch) {
    size_t i, n;
    yyjson_val *ref;

    total_collected++;
    yyjson_arr_foreach (sl_json_at(ch->before, "metadata.ownerReferences"), i, n, ref) {
        char path[300];
        (void)snprintf(path, sizeof path, NS "/%s/%s",
                       strcmp(sl_json_str(ref, "kind"), "Secret") == 0 ? "secrets" : "configmaps",
                       sl_json_str(ref, "name"));
        yyjson_val *o = fakeapi_get(h->w.api, path);
        if (o && strcmp(sl_json_str(o, "metadata.uid"), sl_json_str(ref, "uid")) == 0 &&
            sl_map_get(&h->foreground, sl_hash_str(1, sl_json_str(ref, "uid"))) == SL_MAP_NONE)
            broken(h, "deleted though an owner lives", ch->key);
        uint32_t since = sl_map_get(&h->left_alone, sl_hash_str(1, sl_json_str(ref, "uid")));
        if (since != SL_MAP_NONE && sl_json_time(ch->before, "metadata.creationTimestamp") + YOUNG <
                                        FAKEAPI_EPOCH + since * SL_SEC)
            broken(h, "deleted though it was to be left alone", ch->key);
    }
}

struct blocked {
    struct history *h;
    const char *uid, *key;
};

static void check_blocks(void *ctx, yyjson_val *o) {
    struct blocked *b = ctx;
    size_t i, n;
    yyjson_val *ref;

    yyjson_arr_foreach (sl_json_at(o, "metadata.ownerReferences"), i, n, ref)
        if (strcmp(sl_json_str(ref, "uid"), b->uid) == 0 &&
            sl_json_bool(ref, "blockOwnerDeletion", false) && !is_young(b->h, o))
            broken(b->h, "went before one that blocks it", b->key);
}

static bool is_thing(const struct fakeapi_change *ch) {
    return (strcmp(ch->kind->kind, "ConfigMap") == 0 || strcmp(ch->kind->kind, "Secret") == 0) &&
           strncmp(ch->key, "ns/", 3) == 0;
}

static void check_empty(struct history *h, const char *home) {
    static const char *const kinds[] = {"/api/v1/namespaces/%s/pods",
                                        "/api/v1/namespaces/%s/configmaps",
                                        "/api/v1/namespaces/%s/secrets",
                                        "/api/v1/namespaces/%s/serviceaccounts",
                                        "/api/v1/namespaces/%s/events",
                                        "/apis/apps/v1/namespaces/%s/deployments",
                                        "/apis/apps/v1/namespaces/%s/replicasets",
                                        "/apis/events.k8s.io/v1/namespaces/%s/events"};
    char path[200];

    total_homes++;
    for (size_t i = 0; i < SL_LEN(kinds); i++) {
        (void)snprintf(path, sizeof path, kinds[i], home);
        if (fakeapi_each(h->w.api, path, NULL, NULL))
            broken(h, "something is left in", path);
    }
}

static void trace(struct history *h, const struct fakeapi_change *ch) {
    yyjson_val *o = ch->now ? ch->now : ch->before;
    char *meta = yyjson_val_write(sl_json_at(o, "metadata"), 0, NULL);
    char *spec = yyjson_val_write(sl_json_at(o, "spec.replicas"), 0, NULL);

    (void)printf("%9.3f %s %s by %d: %s %s\n", (double)fakeapi_now(h->w.api) / (double)SL_SEC,
                 ch->kind->kind, ch->key, (int)ch->client, !ch->now ? "gone" : meta,
                 spec ? spec : "");
    free(meta); /* yyjson's */
    free(spec);
}

static void on_change(struct apps_world *w, const struct fakeapi_change *ch) {
    struct history *h = SL_CONTAINER_OF(w, struct history, w);

    if (h->traced)
        trace(h, ch);
    if (h->failed)
        return;
    if (strcmp(ch->kind->kind, "Pod") == 0 && strncmp(ch->key, "ns/", 3) == 0)
        check_pod(h, ch);
    if (is_thing(ch) && ch->now && has_finalizer(ch->now, "foregroundDeletion"))
        sl_map_add(&h->foreground, sl_hash_str(1, sl_json_str(ch->now, "metadata.uid")), 1);
    if (is_thing(ch) && ours(ch) && began_to_go(ch))
        check_collected(h, ch);
    if (is_thing(ch) && !ch->now && has_finalizer(ch->before, "foregroundDeletion")) {
        struct blocked b = {h, sl_json_str(ch->before, "metadata.uid"), ch->key};
        (void)fakeapi_each(w->api, NS "/configmaps", check_blocks, &b);
        (void)fakeapi_each(w->api, NS "/secrets", check_blocks, &b);
    }
    if (strcmp(ch->kind->kind, "Namespace") == 0 && !ch->now)
        check_empty(h, ch->key);
}

/* ---- users ---- */

static int sendf(struct history *h, enum sl_kube_method m, const char *path, const char *fmt, ...)
    _printf_(4, 5);
static int sendf(struct history *h, enum sl_kube_method m, const char *path, const char *fmt, ...) {
    char body[2000];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(body, sizeof body, fmt, ap);
    va_end(ap);
    return world_do(&h->w, m, path, m == SL_PATCH ? SL_MERGE_PATCH : SL_JSON, body);
}

/* From now on; earlier specs count as long as this one is not reached. */
static void request_deployed(struct history *h, struct deployed *d, bool rest) {
    int64_t missing = d->missing < d->replicas ? d->missing : d->replicas;
    int64_t most = d->recreate ? d->replicas : d->replicas + d->surge;
    int64_t least = d->recreate ? 0 : d->replicas - missing;

    (void)h;
    d->most = rest || most > d->most ? most : d->most;
    d->least = rest || least < d->least ? least : d->least;
}

static void put_deployed(struct history *h, struct deployed *d, uint32_t i) {
    *d = (struct deployed){.replicas = below(h, 6), .surge = below(h, 3), .recreate = !below(h, 4)};
    (void)snprintf(d->name, sizeof d->name, "d%u", i);
    d->missing = d->surge ? below(h, 3) : 1 + below(h, 2);
    request_deployed(h, d, true);
    d->least = 0;
    char strategy[200] = "'type':'Recreate'";
    if (!d->recreate)
        (void)snprintf(strategy, sizeof strategy,
                       "'rollingUpdate':{'maxSurge':%lld,'maxUnavailable':%lld}",
                       (long long)d->surge, (long long)d->missing);
    (void)sendf(h, SL_POST, DEPLOYMENTS,
                "{'metadata':{'name':'%s'},'spec':{'replicas':%lld,'strategy':{%s},'revisionHistory"
                "Limit':2,'selector':{'matchLabels':{'app':'%s'}},'template':{'metadata':{'labels':"
                "{'app':'%s'}},'spec':{'containers':[{'name':'c','image':'i0'}]}}}}",
                d->name, (long long)d->replicas, strategy, d->name, d->name);
}

static bool at_rest(struct history *h, const struct deployed *d, const char *path) {
    struct tally t = tally(h, d->name, "");

    return world_int(&h->w, path, "status.observedGeneration") ==
               world_int(&h->w, path, "metadata.generation") &&
           strcmp(world_condition(&h->w, path, "Progressing"), "True NewReplicaSetAvailable") ==
               0 &&
           t.pods == d->replicas && t.available == d->replicas && t.hashes <= 1;
}

static void change_deployed(struct history *h, struct deployed *d) {
    char path[100];

    (void)snprintf(path, sizeof path, DEPLOYMENTS "/%s", d->name);
    if (at_rest(h, d, path)) {
        request_deployed(h, d, true);
        total_rollouts++;
    }
    switch (below(h, 4)) {
    case 0:
        d->replicas = below(h, 7);
        request_deployed(h, d, false);
        (void)sendf(h, SL_PATCH, path, "{'spec':{'replicas':%lld}}", (long long)d->replicas);
        break;
    case 1:
        (void)sendf(h, SL_PATCH, path, "{'spec':{'paused':%s}}", below(h, 3) ? "false" : "true");
        break;
    default: /* some of them were there before */
        (void)sendf(h, SL_PATCH, path,
                    "{'spec':{'template':{'spec':{'containers':[{'name':'c','image':'i%lld'}]}}}}",
                    (long long)below(h, 4));
    }
}

static void put_stateful(struct history *h, struct stateful *s, uint32_t i) {
    *s = (struct stateful){.replicas = below(h, 4), .parallel = i == 1};
    (void)snprintf(s->name, sizeof s->name, "s%u", i);
    (void)sendf(h, SL_POST, STATEFULSETS,
                "{'metadata':{'name':'%s'},'spec':{'replicas':%lld,'podManagementPolicy':'%s',"
                "'serviceName':'x','selector':{'matchLabels':{'app':'%s'}},'template':{'metadata':{"
                "'labels':{'app':'%s'}},'spec':{'containers':[{'name':'c','image':'i0'}]}}}}",
                s->name, (long long)s->replicas, s->parallel ? "Parallel" : "OrderedReady", s->name,
                s->name);
}

static void change_stateful(struct history *h, struct stateful *s) {
    char path[100];

    (void)snprintf(path, sizeof path, STATEFULSETS "/%s", s->name);
    if (!below(h, 2)) {
        s->replicas = below(h, 5);
        (void)sendf(h, SL_PATCH, path, "{'spec':{'replicas':%lld}}", (long long)s->replicas);
    } else {
        (void)sendf(h, SL_PATCH, path,
                    "{'spec':{'template':{'spec':{'containers':[{'name':'c','image':'i%lld'}]}}}}",
                    (long long)below(h, 3));
    }
}

/* ---- owners ---- */

struct pick {
    int64_t left;
    char path[200], refs[1200];
    uint32_t n;
};

static void pick_one(void *ctx, yyjson_val *o) {
    struct pick *p = ctx;
    const char *kind = sl_json_str(o, "kind"), *name = sl_json_str(o, "metadata.name");

    if (strncmp(name, "t-", 2) != 0 || p->left-- != 0)
        return;
    size_t len = strlen(p->refs);
    (void)snprintf(p->path, sizeof p->path, NS "/%s/%s",
                   strcmp(kind, "Secret") == 0 ? "secrets" : "configmaps", name);
    if (!sl_json_at(o, "metadata.deletionTimestamp"))
        (void)snprintf(p->refs + len, sizeof p->refs - len,
                       "%s{'apiVersion':'v1','kind':'%s','name':'%s','uid':'%s',"
                       "'blockOwnerDeletion':%s}",
                       len ? "," : "", kind, name, sl_json_str(o, "metadata.uid"),
                       p->n % 2 ? "true" : "false");
    p->n++;
}

static void pick(struct history *h, struct pick *p) {
    const char *of = below(h, 2) ? NS "/configmaps" : NS "/secrets";
    uint32_t n = fakeapi_each(h->w.api, of, NULL, NULL);

    p->left = n ? below(h, n) : 0;
    p->path[0] = '\0';
    (void)fakeapi_each(h->w.api, of, pick_one, p);
}

static void make_thing(struct history *h) {
    struct pick p = {.n = (uint32_t)below(h, 2)};

    for (int64_t i = below(h, 3); i > 0; i--)
        pick(h, &p);
    if (!below(h, 12)) {
        size_t len = strlen(p.refs);
        (void)snprintf(p.refs + len, sizeof p.refs - len,
                       "%s{'apiVersion':'v1','kind':'Secret','name':'t-0','uid':'absent-%lld'}",
                       len ? "," : "", (long long)below(h, 5));
    }
    (void)sendf(h, SL_POST, below(h, 2) ? NS "/configmaps" : NS "/secrets",
                "{'metadata':{'name':'t-%u','finalizers':[%s],'ownerReferences':[%s]}}",
                h->serial++, below(h, 6) ? "" : "'test/hold'", p.refs);
}

static void delete_thing(struct history *h) {
    static const char *const policies[] = {"Background", "Foreground", "Orphan"};
    struct pick p = {0};
    const char *policy = policies[below(h, 3)];

    pick(h, &p);
    yyjson_val *o = p.path[0] ? fakeapi_get(h->w.api, p.path) : NULL;
    if (!o || sl_json_at(o, "metadata.deletionTimestamp"))
        return;
    if (strcmp(policy, "Orphan") == 0)
        sl_map_add(&h->left_alone, sl_hash_str(1, sl_json_str(o, "metadata.uid")),
                   (uint32_t)(fakeapi_now(h->w.api) / SL_SEC));
    (void)sendf(h, SL_DELETE, p.path, "{'propagationPolicy':'%s'}", policy);
}

static void take_hold(void *ctx, yyjson_val *o) {
    struct pick *p = ctx;
    if (has_finalizer(o, "test/hold") && !p->path[0])
        (void)snprintf(p->path, sizeof p->path, NS "/%s/%s",
                       strcmp(sl_json_str(o, "kind"), "Secret") == 0 ? "secrets" : "configmaps",
                       sl_json_str(o, "metadata.name"));
}

/* The owner of the finalizer removes it. False: there is none left. */
static bool release_one(struct history *h) {
    struct pick p = {0};
    char list[200] = "";
    size_t i, n;
    yyjson_val *v;

    (void)fakeapi_each(h->w.api, NS "/configmaps", take_hold, &p);
    (void)fakeapi_each(h->w.api, NS "/secrets", take_hold, &p);
    if (!p.path[0])
        return false;
    yyjson_arr_foreach (sl_json_at(fakeapi_get(h->w.api, p.path), "metadata.finalizers"), i, n, v)
        if (!yyjson_equals_str(v, "test/hold")) {
            size_t len = strlen(list);
            (void)snprintf(list + len, sizeof list - len, "%s'%s'", len ? "," : "",
                           yyjson_get_str(v));
        }
    (void)sendf(h, SL_PATCH, p.path, "{'metadata':{'finalizers':[%s]}}", list);
    return true;
}

/* ---- namespaces ---- */

static void change_namespace(struct history *h) {
    char home[100], path[200];
    int64_t i = below(h, HOMES);

    (void)snprintf(home, sizeof home, "/api/v1/namespaces/home-%lld", (long long)i);
    if (!world_exists(&h->w, home)) {
        (void)sendf(h, SL_POST, "/api/v1/namespaces", "{'metadata':{'name':'home-%lld'}}",
                    (long long)i);
        (void)snprintf(path, sizeof path, "%s/secrets", home);
        (void)sendf(h, SL_POST, path, "{'metadata':{'name':'x'}}");
        (void)snprintf(path, sizeof path, "/apis/apps/v1/namespaces/home-%lld/deployments",
                       (long long)i);
        (void)sendf(h, SL_POST, path,
                    "{'metadata':{'name':'d'},'spec':{'replicas':2,'selector':{'matchLabels':{'a':"
                    "'b'}},'template':{'metadata':{'labels':{'a':'b'}},'spec':{}}}}");
    } else if (!below(h, 2)) {
        (void)world_do(&h->w, SL_DELETE, home, NULL, NULL);
    }
}

/* ---- a history ---- */

static void act_as_user(struct history *h) {
    switch (below(h, 8)) {
    case 0:
    case 1:
        change_deployed(h, &h->d[below(h, DEPLOYED)]);
        break;
    case 2:
        change_stateful(h, &h->s[below(h, STATEFUL)]);
        break;
    case 3:
    case 4:
        make_thing(h);
        break;
    case 5:
        delete_thing(h);
        break;
    case 6:
        if (!below(h, 2))
            (void)release_one(h);
        break;
    default:
        change_namespace(h);
    }
}

/* What they sent may still arrive: nothing else runs before that. */
static void restart_controllers(struct history *h) {
    total_deaths++;
    world_kill(&h->w);
    world_run(&h->w, 12 * SL_SEC);
    world_revive(&h->w);
}

static void check_thing(void *ctx, yyjson_val *o) {
    struct history *h = ctx;

    if (sl_json_at(o, "metadata.deletionTimestamp"))
        broken(h, "still there in the end", sl_json_str(o, "metadata.name"));
}

static void check_end(struct history *h) {
    char path[100];

    for (uint32_t i = 0; i < DEPLOYED; i++) {
        (void)snprintf(path, sizeof path, DEPLOYMENTS "/%s", h->d[i].name);
        if (!at_rest(h, &h->d[i], path))
            broken(h, "not as it should be in the end", path);
    }
    for (uint32_t i = 0; i < STATEFUL; i++) {
        struct tally t = tally(h, h->s[i].name, "");
        (void)snprintf(path, sizeof path, STATEFULSETS "/%s", h->s[i].name);
        if (t.available != h->s[i].replicas || t.pods != t.available ||
            world_int(&h->w, path, "status.replicas") != h->s[i].replicas ||
            (h->s[i].replicas &&
             world_int(&h->w, path, "status.updatedReplicas") != h->s[i].replicas))
            broken(h, "not as it should be in the end", path);
    }
    (void)fakeapi_each(h->w.api, NS "/configmaps", check_thing, h);
    (void)fakeapi_each(h->w.api, NS "/secrets", check_thing, h);
    for (uint32_t i = 0; i < HOMES; i++) {
        (void)snprintf(path, sizeof path, "/api/v1/namespaces/home-%u", i);
        if (*world_show(&h->w, path, "metadata.deletionTimestamp"))
            broken(h, "still there in the end", path);
    }
}

static void settle(struct history *h) {
    char path[100];

    fakeapi_set_faults(h->w.api, NULL);
    for (uint32_t i = 0; i < DEPLOYED; i++) {
        (void)snprintf(path, sizeof path, DEPLOYMENTS "/%s", h->d[i].name);
        (void)sendf(h, SL_PATCH, path, "{'spec':{'paused':false}}");
    }
    while (release_one(h))
        ;
    world_run(&h->w, 15 * SL_MINUTE); /* also a stream that hangs has been given up by then */
    check_end(h);
    uint64_t version = fakeapi_version(h->w.api);
    world_run(&h->w, 4 * SL_MINUTE);
    if (fakeapi_version(h->w.api) != version)
        broken(h, "somebody still writes", "");
}

static bool history(uint64_t seed, bool verbose) {
    struct history h = {.w = {.watch = on_change}, .traced = verbose};
    struct fakeapi_faults faults;

    world_start(&h.w, seed);
    fakeapi_some_faults(&h.w.prng, 60, &faults);
    faults.hang_watch =
        0; /* what could not have been observed is excused for a minute and a half only */
    for (uint32_t i = 0; i < DEPLOYED; i++)
        put_deployed(&h, &h.d[i], i);
    for (uint32_t i = 0; i < STATEFUL; i++)
        put_stateful(&h, &h.s[i], i);
    if (seed % 8)
        fakeapi_set_faults(h.w.api, &faults);
    for (uint32_t i = 0; i < 80 && !h.failed; i++) {
        world_run(&h.w, below(&h, 8) * SL_SEC);
        act_as_user(&h);
        if (!below(&h, 30))
            restart_controllers(&h);
    }
    if (!h.failed)
        settle(&h);
    if (h.failed || verbose)
        (void)printf("seed %llu: %s\n", (unsigned long long)seed, h.failed ? h.why : "good");
    world_stop(&h.w);
    sl_map_done(&h.left_alone);
    sl_map_done(&h.foreground);
    return !h.failed;
}

int main(int argc, char **argv) {
    sl_log_set(SL_LOG_ERROR);
    struct seeds all = seeds_run(argc, argv, 50, history);
    (void)printf("# %llu changes of Deployments at rest, %llu objects collected, %llu namespaces "
                 "gone, %llu deaths\n",
                 (unsigned long long)total_rollouts, (unsigned long long)total_collected,
                 (unsigned long long)total_homes, (unsigned long long)total_deaths);
    seeds_report(&all);
    if (all.n < 10) /* one history need not have all of it */
        return all.bad > 0;
    return all.bad || !total_rollouts || !total_collected || !total_homes;
}

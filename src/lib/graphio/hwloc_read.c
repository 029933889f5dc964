/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One machine by hwloc, under a cluster. libhwloc reads its own XML; objects without a name here
 * are skipped, and their content moves one level up. libhwloc does not report the place of an
 * error, so the text is validated before: it gets XML of bounded size only.
 */
#include <expat.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/graph/hostlist.h"
#include "lib/graphio/stage.h"

#define MAX_DEPTH 128u
#define MAX_OBJECTS (UINT32_C(1) << 20)

struct walker {
    const struct sl_graphio_text *t;
    struct graphio_stage *s;
    struct sl_err *err;
    hwloc_topology_t topo;
    uint32_t depth;
};

/* What a kind of object becomes. */
static const struct kind {
    hwloc_obj_type_t type;
    const char *name, *basename, *allow; /* its name in the list of types */
} kinds[] = {
    {HWLOC_OBJ_GROUP, "group", "group", "group"},
    {HWLOC_OBJ_NUMANODE, "numanode", "numanode", "numanode"},
    {HWLOC_OBJ_PACKAGE, "socket", "socket", "socket"},
    {HWLOC_OBJ_L1CACHE, "cache", "L1cache", "L1cache"},
    {HWLOC_OBJ_L2CACHE, "cache", "L2cache", "L2cache"},
    {HWLOC_OBJ_L3CACHE, "cache", "L3cache", "L3cache"},
    {HWLOC_OBJ_CORE, "core", "core", "core"},
    {HWLOC_OBJ_PU, "pu", "pu", "pu"},
};

static int64_t at_least_1(uint64_t v) {
    return v < 1 ? 1 : v > (uint64_t)SL_GRAPH_MAX_SIZE ? SL_GRAPH_MAX_SIZE : (int64_t)v;
}

/* The number at s, 0 if there is none. */
static int64_t number_at(const char *s) {
    int64_t v = 0;
    for (; *s >= '0' && *s <= '9' && v < INT32_MAX / 10; s++)
        v = v * 10 + (*s - '0');
    return v;
}

static bool machine(struct walker *w, hwloc_obj_t o, struct sl_vertex_spec *s) {
    const char *host = hwloc_obj_get_info_by_name(o, "HostName");

    if (!host || !*host || strlen(host) > SL_VERTEX_NAME / 2 ||
        !graphio_type_allowed(w->t->allow, "node"))
        return false;
    size_t n = sl_hostlist_split(host, &s->id);
    s->type = "node";
    s->name = sl_arena_strdup(&w->s->arena, host);
    s->basename = n > 0 ? sl_arena_strndup(&w->s->arena, host, n) : s->name;
    return true;
}

/* hwloc numbers devices of all kinds together; their own number is in the name: cuda0, rsmi1, or
 * opencl0d2, the last being the device of a platform. */
static bool gpu(struct walker *w, hwloc_obj_t o, struct sl_vertex_spec *s) {
    const char *name = o->name ? o->name : "", *d;
    bool rsmi = strncmp(name, "rsmi", 4) == 0;

    if (o->attr->osdev.type != HWLOC_OBJ_OSDEV_COPROC &&
        !(o->attr->osdev.type == HWLOC_OBJ_OSDEV_GPU && rsmi))
        return false;
    if (!graphio_type_allowed(w->t->allow, "gpu"))
        return false;
    if (rsmi || strncmp(name, "cuda", 4) == 0)
        s->id = number_at(name + 4);
    else if (strncmp(name, "opencl", 6) == 0 && (d = strchr(name + 6, 'd')))
        s->id = number_at(d + 1);
    s->type = "gpu";
    return true;
}

/* In gigabytes; hwloc has kilobytes. One of no size is of no use. */
static bool storage(struct walker *w, hwloc_obj_t o, struct sl_vertex_spec *s) {
    const char *size = hwloc_obj_get_info_by_name(o, "Size"),
               *id = hwloc_obj_get_info_by_name(o, "LinuxDeviceID");
    uint64_t kilobytes = size ? strtoull(size, NULL, 10) : 0;

    if (o->attr->osdev.type != HWLOC_OBJ_OSDEV_BLOCK || kilobytes == 0 ||
        !graphio_type_allowed(w->t->allow, "storage"))
        return false;
    struct sl_graph_prop *p = sl_arena_alloc0(&w->s->arena, 1, sizeof(*p));
    p->key = "LinuxDeviceID";
    p->value = sl_arena_strdup(&w->s->arena, id ? id : "-1");
    s->type = "storage";
    s->size = at_least_1(kilobytes / 1000000);
    s->props = p;
    s->n_props = 1;
    return true;
}

static bool plain(struct walker *w, hwloc_obj_t o, struct sl_vertex_spec *s) {
    for (size_t i = 0; i < SL_LEN(kinds); i++) {
        if (o->type != kinds[i].type)
            continue;
        s->type = kinds[i].name;
        s->basename = kinds[i].basename;
        if (kinds[i].type >= HWLOC_OBJ_L1CACHE && kinds[i].type <= HWLOC_OBJ_L3CACHE && o->attr)
            s->size = at_least_1(o->attr->cache.size / 1024);
        return graphio_type_allowed(w->t->allow, kinds[i].allow);
    }
    return false;
}

static uint32_t stage_vertex(struct walker *w, uint32_t parent, const struct sl_vertex_spec *s) {
    uint32_t at = w->s->v.n;

    *sl_vec_push(&w->s->v) = (struct graphio_staged){.spec = *s, .there = SL_VTX_NONE};
    if (at > 0)
        *sl_vec_push(&w->s->edges) = (struct graphio_stage_edge){parent, at, SL_GRAPH_CONTAINMENT};
    return at;
}

/* The memory of a NUMA node, in megabytes; only if requested by name. */
static void memory(struct walker *w, hwloc_obj_t o, uint32_t parent) {
    struct sl_vertex_spec s = {
        .type = "memory", .unit = "MB", .id = (int64_t)o->logical_index, .uniq_id = -1, .rank = -1};

    if (o->type != HWLOC_OBJ_NUMANODE || !o->attr || o->attr->numanode.local_memory >> 20 == 0 ||
        !w->t->allow || !*w->t->allow || !graphio_type_allowed(w->t->allow, "memory"))
        return;
    s.size = at_least_1(o->attr->numanode.local_memory >> 20);
    (void)stage_vertex(w, parent, &s);
}

static int walk_topology(struct walker *w, hwloc_obj_t o, uint32_t parent) {
    struct sl_vertex_spec s = {
        .id = (int64_t)o->logical_index, .uniq_id = -1, .rank = -1, .size = 1};
    bool known;
    int r = 0;

    if (++w->depth > MAX_DEPTH || w->s->v.n + 2 > graphio_max_vertices(w->t))
        return sl_err_set(w->err, SL_ELIMIT, "%s: more than %u vertices, or %u levels", w->t->file,
                          graphio_max_vertices(w->t), MAX_DEPTH);
    if (o->type == HWLOC_OBJ_MACHINE) {
        known = machine(w, o, &s);
        s.rank = 0; /* the one node that there is */
    } else if (o->type == HWLOC_OBJ_OS_DEVICE) {
        known = o->attr && (gpu(w, o, &s) || storage(w, o, &s));
    } else {
        known = plain(w, o, &s);
    }
    if (known)
        parent = stage_vertex(w, parent, &s);
    memory(w, o, parent);
    for (hwloc_obj_t kid = NULL; r >= 0 && (kid = hwloc_get_next_child(w->topo, o, kid));)
        r = walk_topology(w, kid, parent);
    w->depth--;
    return r;
}

/* ---- before libhwloc sees it ---- */

struct xml_check {
    const struct sl_graphio_text *t;
    struct sl_err *err;
    XML_Parser parser;
    uint32_t depth, n;
    bool old; /* hwloc 1, where a machine may have no NUMA nodes */
    int code;
};

static void object(struct xml_check *l, int code, const char *what) {
    l->code = sl_err_set(l->err, code, "%s:%lu: %s", l->t->file,
                         (unsigned long)XML_GetCurrentLineNumber(l->parser), what);
    (void)XML_StopParser(l->parser, XML_FALSE);
}

/* "0x00000001,,0x0000000f", of which an empty word is zero; "0xf...f," in front: no end of ones.
 * libhwloc takes what it can read of another text, and then crashes on sets that do not fit. */
static bool is_bitmap(const char *s) {
    bool empty = false; /* may the next word be */

    if (strncmp(s, "0xf...f", 7) == 0) {
        s += 7;
        empty = true;
        if (*s == '\0')
            return true;
        if (*s++ != ',')
            return false;
    }
    for (;; s++, empty = true) {
        if (strncmp(s, "0x", 2) == 0) {
            const size_t n = strspn(s + 2, "0123456789abcdefABCDEF");
            if (n < 1 || n > 8)
                return false;
            s += 2 + n;
            if (*s == '\0')
                return true;
        } else if (!empty) {
            return false;
        }
        if (*s != ',')
            return false;
    }
}

static bool ends_with(const char *s, const char *end) {
    const size_t n = strlen(s), k = strlen(end);
    return n >= k && strcmp(s + n - k, end) == 0;
}

/* Objects that are no devices have sets of processors; libhwloc takes that for granted. */
static void check_object(struct xml_check *l, const XML_Char **atts) {
    static const char *const devices[] = {"Bridge", "PCIDev", "OSDev", "Misc"};
    static const char *const sets[] = {"cpuset", "complete_cpuset", "nodeset", "complete_nodeset"};
    const char *type = NULL;
    uint32_t have = 0;

    for (const XML_Char **a = atts; *a; a += 2) {
        if (strcmp(a[0], "type") == 0)
            type = a[1];
        if ((ends_with(a[0], "cpuset") || ends_with(a[0], "nodeset")) && !is_bitmap(a[1])) {
            object(l, SL_EINVAL, "expected a bitmap such as 0x0000000f in the sets of <object>");
            return;
        }
        for (uint32_t i = 0; i < SL_LEN(sets); i++)
            have |= strcmp(a[0], sets[i]) == 0 ? 1u << i : 0;
    }
    if (!type) {
        object(l, SL_EINVAL, "expected the attribute \"type\" of <object>");
        return;
    }
    for (size_t i = 0; i < SL_LEN(devices); i++)
        if (strcmp(type, devices[i]) == 0)
            return;
    if (have != 15 && !(l->old && (have & 3) == 3))
        object(l, SL_EINVAL, "expected cpuset, nodeset and the complete ones of <object>");
}

static void XMLCALL on_start(void *ctx, const XML_Char *name, const XML_Char **atts) {
    struct xml_check *l = ctx;

    if (l->depth == 0) {
        l->old = true;
        for (const XML_Char **a = atts; *a; a += 2) {
            l->old = l->old && strcmp(a[0], "version") != 0;
            if (strcmp(a[0], "version") == 0 && strncmp(a[1], "2.", 2) != 0)
                object(l, SL_EINVAL, "expected version 2 of hwloc's XML, or the one before it");
        }
    }
    if (l->code == 0 && strcmp(name, "object") == 0)
        check_object(l, atts);
    if (l->code == 0 && l->depth == 0 && strcmp(name, "topology") != 0)
        object(l, SL_EINVAL, "expected <topology> of hwloc");
    /* Attributes, pages and the like are elements as well. */
    else if (l->code == 0 && (++l->depth > MAX_DEPTH || ++l->n > 16 * (uint64_t)MAX_OBJECTS))
        object(l, SL_ELIMIT, "too many elements, or too deep");
}

static void XMLCALL on_end(void *ctx, const XML_Char *name) {
    (void)name;
    ((struct xml_check *)ctx)->depth--;
}

static void XMLCALL on_doctype(void *ctx, const XML_Char *name, const XML_Char *sysid,
                               const XML_Char *pubid, int internal) {
    (void)name;
    (void)sysid;
    (void)pubid;
    if (internal)
        object(ctx, SL_EINVAL, "declarations of one's own in <!DOCTYPE> are not read");
}

static int check_document(const struct sl_graphio_text *t, struct sl_err *err) {
    struct xml_check l = {.t = t, .err = err};

    if (t->len >= INT32_MAX)
        return sl_err_set(err, SL_ELIMIT, "%s: more than %d bytes", t->file, INT32_MAX);
    l.parser = XML_ParserCreate(NULL);
    sl_assert(l.parser);
    XML_SetUserData(l.parser, &l);
    XML_SetElementHandler(l.parser, on_start, on_end);
    XML_SetStartDoctypeDeclHandler(l.parser, on_doctype);
    if (XML_Parse(l.parser, t->text ? t->text : "", (int)t->len, XML_TRUE) != XML_STATUS_OK &&
        l.code == 0)
        object(&l, SL_EINVAL, XML_ErrorString(XML_GetErrorCode(l.parser)));
    XML_ParserFree(l.parser);
    return l.code;
}

static int load(struct walker *w) {
    int r;

    if (hwloc_topology_init(&w->topo) != 0)
        return sl_err_set(w->err, SL_EIO, "%s: hwloc cannot begin", w->t->file);
    /* hwloc counts the terminator. */
    char *text = sl_alloc(w->t->len + 1);
    if (w->t->len > 0)
        memcpy(text, w->t->text, w->t->len);
    text[w->t->len] = '\0';
    if (hwloc_topology_set_io_types_filter(w->topo, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) < 0 ||
        hwloc_topology_set_cache_types_filter(w->topo, HWLOC_TYPE_FILTER_KEEP_STRUCTURE) < 0 ||
        hwloc_topology_set_icache_types_filter(w->topo, HWLOC_TYPE_FILTER_KEEP_STRUCTURE) < 0 ||
        hwloc_topology_set_xmlbuffer(w->topo, text, (int)w->t->len + 1) != 0 ||
        hwloc_topology_load(w->topo) != 0)
        r = sl_err_set(w->err, SL_EINVAL, "%s:1: expected a machine in hwloc's XML", w->t->file);
    else
        r = walk_topology(w, hwloc_get_root_obj(w->topo), 0);
    hwloc_topology_destroy(w->topo);
    sl_freep(&text);
    return r;
}

int graphio_stage_hwloc(const struct sl_graphio_text *t, struct graphio_stage *s,
                        struct sl_err *err) {
    static const struct sl_vertex_spec cluster = {
        .type = "cluster", .id = 0, .uniq_id = -1, .rank = -1, .size = 1};
    struct walker w = {.t = t, .s = s, .err = err};

    int r = check_document(t, err);

    if (r < 0)
        return r;
    (void)stage_vertex(&w, 0, &cluster);
    return load(&w);
}

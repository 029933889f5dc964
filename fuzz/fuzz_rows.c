/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of the store as a disk, a crash or somebody else left it. An input is JSON:
 *
 *     {"marks": [["version", 9], ...], "resources": [[1, "pods"], ...],
 *      "objects": [[ROW, VERSION, NS, NAME, UID, TEXT, GONE, FLOOR, SUM], ...]}
 *
 * whose values stand in the tables as they are: texts, numbers, null; a list or an object as its
 * JSON text. ROW may be [RESOURCE, NUMBER]. Without SUM the checksum is right. Any other input is
 * damage to the file of a store that was well: two bytes of an offset and one that is written
 * there, again and again.
 *
 * The store opens, or it refuses in words. What it opens it opens again, with the same objects
 * unless it is pages that are damaged, and takes changes.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/store/store_int.h"
#include "core/base/collection/hash.h"
#include "lib/json/json.h"
#include "lib/log/log.h"

#define RESOURCES 3u
#define MAX_FILE ((size_t)1 << 20)
#define MAX_PUTS 64u /* rows of an input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[RESOURCES] = {"pods", "batch/jobs", "events"};
static char dir[64], path[80], well[MAX_FILE];
static size_t well_len; /* the bytes of a file that is well */
static uv_loop_t loop;

/* ---- a store ---- */

static bool is_readable(void *ctx, const struct sl_store_object *o) {
    (void)ctx;
    return *o->text == '{';
}

static struct sl_store *open_store(struct sl_err *err) {
    struct sl_store *st = NULL;
    int r = sl_store_open(
        &(struct sl_store_spec){.loop = &loop, .path = path, .past = 4, .readable = is_readable},
        &st, err);

    for (uint32_t i = 0; r >= 0 && i < RESOURCES; i++) {
        r = sl_store_resource(st, i, names[i], err);
        if (r < 0)
            sl_store_close(st);
    }
    sl_assert(r >= 0 || *err->text);
    return r < 0 ? NULL : st;
}

static void close_store(struct sl_store *st) {
    sl_store_close(st);
    while (uv_run(&loop, UV_RUN_NOWAIT))
        ;
}

/* All that is there, and each can be found by its name. */
static uint64_t walk(struct sl_store *st) {
    uint64_t h = 0;

    for (uint32_t i = 0; i < RESOURCES; i++) {
        uint32_t n = 0;
        for (struct sl_store_object *o = sl_store_seek(st, i, "", ""); o;
             o = sl_store_next(st, o)) {
            sl_assert(sl_store_get(st, i, o->ns, o->name) == o);
            sl_assert(o->len <= SL_STORE_MAX_OBJECT && o->text[o->len] == '\0');
            sl_assert(o->version <= sl_store_version(st) && is_readable(NULL, o));
            h = sl_digest_bytes(sl_digest_str(sl_digest_str(h, o->ns), o->name), o->text, o->len);
            n++;
        }
        sl_assert(n == sl_store_count(st, i));
    }
    return h;
}

static void on_kept(void *ctx, int r) {
    *(int *)ctx = r < 0 ? -1 : 1;
}

static void on_event(void *ctx, const struct sl_store_event *ev) {
    sl_assert(ev->now && ev->now->name);
    ++*(uint32_t *)ctx;
}

static void put(struct sl_store *st) {
    struct sl_store_watch *w = NULL;
    struct sl_err err;
    uint32_t events = 0;
    int done = 0;

    int r = sl_store_watch(st, 0, sl_store_version(st), on_event, &events, &w);
    sl_assert((r >= 0) == (w != NULL));
    if (sl_store_put(st, 0, "ns", "new", "u", "{}", 2, NULL, &err) >= 0) {
        sl_store_on_commit(st, sl_store_version(st), on_kept, &done);
        while (!done)
            (void)uv_run(&loop, UV_RUN_ONCE);
        (void)uv_run(&loop, UV_RUN_NOWAIT);
        if (w && done > 0)
            sl_assert(events == 1);
    }
    if (w)
        sl_store_unwatch(st, w);
    /* What was taken back is not there. */
    sl_assert((done > 0) == (sl_store_get(st, 0, "ns", "new") != NULL) || done == 0);
}

/* 'whole': the pages are SQLite's own. What it does not notice of damage to them, and writes over
 * with the first commit, may be anything. */
static void use(bool whole) {
    struct sl_err err = {.text = ""};
    struct sl_store *st = open_store(&err);

    if (!st)
        return;
    uint64_t was = walk(st);
    close_store(st);
    st = open_store(&err);
    sl_assert(!whole || (st && walk(st) == was));
    if (!st)
        return;
    put(st);
    was = walk(st);
    close_store(st);
    st = open_store(&err);
    sl_assert(!whole || (st && walk(st) == was));
    if (st)
        close_store(st);
}

/* ---- its file ---- */

static void write_well(void) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    sl_assert(fd >= 0 && write(fd, well, well_len) == (ssize_t)well_len && close(fd) == 0);
}

static void remove_all(void) {
    static const char *const ends[] = {"", "-wal", "-shm", "-journal", "-lock"};
    char name[128];

    for (size_t i = 0; i < SL_LEN(ends); i++) {
        (void)snprintf(name, sizeof name, "%s%s", path, ends[i]);
        (void)unlink(name);
    }
}

static void forget(void) {
    remove_all();
    (void)rmdir(dir);
}

/* Two objects, one of them with a past, and one that was deleted. */
static void prepare(void) {
    const char *at = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    struct sl_err err;
    struct sl_store *st;
    char text[64];

    sl_log_set(SL_LOG_ERROR);
    (void)snprintf(dir, sizeof dir, "%s/sl-rows-XXXXXX", at);
    sl_assert(mkdtemp(dir));
    (void)atexit(forget);
    (void)snprintf(path, sizeof path, "%s/objects.db", dir);
    sl_assert(uv_loop_init(&loop) == 0);
    sl_assert((st = open_store(&err)));
    for (uint32_t i = 0; i < 12; i++) {
        (void)snprintf(text, sizeof text, "{\"metadata\":{\"name\":\"n%u\"}}", i % 3);
        char name[] = {'n', (char)('0' + i % 3), '\0'};
        sl_assert(sl_store_put(st, i % 2, "default", name, "u", text, strlen(text), NULL, &err) >=
                  0);
    }
    struct sl_store_object *o = sl_store_get(st, 0, "default", "n0");
    sl_assert(o && sl_store_delete(st, o, "{}", 2, &err) >= 0);
    close_store(st);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, well, sizeof well);
    sl_assert(n > 0 && (size_t)n < sizeof well && close(fd) == 0);
    well_len = (size_t)n;
}

/* ---- rows of the input ---- */

static void bind_value(sqlite3_stmt *s, int at, yyjson_val *v) {
    struct sl_text t = sl_json_view(v);

    if (yyjson_is_str(v))
        (void)sqlite3_bind_text(s, at, t.s, (int)t.n, SQLITE_TRANSIENT);
    else if (yyjson_is_bool(v) || yyjson_is_int(v))
        (void)sqlite3_bind_int64(s, at,
                                 yyjson_is_bool(v) ? yyjson_get_bool(v) : yyjson_get_sint(v));
    else if (yyjson_is_real(v))
        (void)sqlite3_bind_double(s, at, yyjson_get_real(v));
    else if (yyjson_is_ctn(v)) {
        size_t len = 0;
        char *text = yyjson_val_write(v, YYJSON_WRITE_ALLOW_INVALID_UNICODE, &len);
        (void)sqlite3_bind_blob(s, at, text ? text : "", (int)len, SQLITE_TRANSIENT);
        free(text);
    } else {
        (void)sqlite3_bind_null(s, at);
    }
}

static void insert(sqlite3 *db, const char *sql, int columns, yyjson_val *rows) {
    yyjson_val *row;
    size_t i, n;

    yyjson_arr_foreach (rows, i, n, row) {
        sqlite3_stmt *s = NULL;
        yyjson_val *first = yyjson_arr_get_first(row);
        if (i >= MAX_PUTS || sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
            return;
        for (int k = 0; k < columns; k++)
            bind_value(s, k + 1, yyjson_arr_get(row, (size_t)k));
        if (yyjson_is_arr(first)) {
            uint64_t of = store_row_first((uint32_t)yyjson_get_uint(yyjson_arr_get(first, 0)));
            (void)sqlite3_bind_int64(
                s, 1, (int64_t)(of + (uint64_t)yyjson_get_sint(yyjson_arr_get(first, 1))));
        }
        (void)sqlite3_step(s);
        (void)sqlite3_finalize(s);
    }
}

static const char *text_of(sqlite3_stmt *s, int at) {
    const unsigned char *t = sqlite3_column_text(s, at);

    return t ? (const char *)t : "";
}

/* Rows without a checksum get the right one. */
static void seal(sqlite3 *db) {
    sqlite3_stmt *s = NULL, *set = NULL;

    if (sqlite3_prepare_v2(db,
                           "SELECT row, version, ns, name, uid, text, gone, floor FROM objects"
                           " WHERE sum IS NULL ORDER BY row",
                           -1, &s, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, "UPDATE objects SET sum = ? WHERE row = ?", -1, &set, NULL) ==
            SQLITE_OK)
        while (sqlite3_step(s) == SQLITE_ROW) {
            const char *text = sqlite3_column_blob(s, 5);
            const struct store_file_row row = {.row = (uint64_t)sqlite3_column_int64(s, 0),
                                               .version = (uint64_t)sqlite3_column_int64(s, 1),
                                               .ns = text_of(s, 2),
                                               .name = text_of(s, 3),
                                               .uid = text_of(s, 4),
                                               .text = text ? text : "",
                                               .len = (size_t)sqlite3_column_bytes(s, 5),
                                               .gone = sqlite3_column_int64(s, 6) != 0,
                                               .floor = (uint64_t)sqlite3_column_int64(s, 7)};
            (void)sqlite3_bind_int64(set, 1, (int64_t)store_file_checksum(&row));
            (void)sqlite3_bind_int64(set, 2, (int64_t)row.row);
            (void)sqlite3_step(set);
            (void)sqlite3_reset(set);
        }
    (void)sqlite3_finalize(s);
    (void)sqlite3_finalize(set);
}

static void write_rows(yyjson_val *in) {
    sqlite3 *db = NULL;

    sl_assert(sqlite3_open(path, &db) == SQLITE_OK);
    (void)sqlite3_exec(db,
                       "PRAGMA locking_mode=EXCLUSIVE; PRAGMA synchronous=OFF; BEGIN;"
                       "DELETE FROM objects; DELETE FROM resources; DELETE FROM marks",
                       NULL, NULL, NULL);
    insert(db, "REPLACE INTO marks VALUES(?,?)", 2, sl_json_get(in, "marks"));
    insert(db, "REPLACE INTO resources VALUES(?,?)", 2, sl_json_get(in, "resources"));
    insert(db,
           "REPLACE INTO objects(row, version, ns, name, uid, text, gone, floor, sum)"
           " VALUES(?,?,?,?,?,?,?,?,?)",
           9, sl_json_get(in, "objects"));
    seal(db);
    (void)sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    (void)sqlite3_close(db);
}

static void damage(const uint8_t *data, size_t size) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    sl_assert(fd >= 0);
    for (size_t i = 0; i + 3 <= size; i += 3) {
        off_t at = (off_t)(((size_t)data[i] << 8 | data[i + 1]) % well_len);
        sl_assert(pwrite(fd, data + i + 2, 1, at) == 1);
    }
    (void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!well_len)
        prepare();
    remove_all();
    write_well();
    yyjson_doc *doc = size > 0 ? yyjson_read((const char *)data, size, 0) : NULL;
    bool rows = yyjson_is_obj(yyjson_doc_get_root(doc));
    if (rows)
        write_rows(yyjson_doc_get_root(doc));
    else
        damage(data, size);
    yyjson_doc_free(doc);
    use(rows);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In-memory NATS servers behind struct sl_nats_port, on the virtual clock of an in-memory API and
 * with seeded faults: for tests of what reads from NATS. All that happens is an event of that API
 * (fakeapi_at), so one seed gives the same run everywhere.
 *
 * What it does as real ones: servers by host and port, in clusters; user and password, or a token;
 * TLS or not; subjects with '*' and '>'; at most once, to whoever is connected and subscribed when
 * a message arrives; reconnects for ever with growing pauses, to any server of the connector or of
 * the cluster that it was connected to; permissions to subscribe; of a subject only the newest
 * message waits.
 *
 * What it leaves out: bytes and protocol, certificates, nkeys, replies, queue groups.
 *
 * A client is a process. Whoever owns one ticks it whenever fakenats_pending says so.
 */
#ifndef FAKENATS_H
#define FAKENATS_H

#include "core/base/prng.h"
#include "fakeapi.h"
#include "lib/nats/port.h"

#define FAKENATS_CLIENTS FAKEAPI_CLIENTS
/* A host that cannot be opened at all, as with a certificate that cannot be read. */
#define FAKENATS_NEVER "never.invalid"

struct fakenats;

/* It lives as long as the API whose clock it has: free that one first. */
struct fakenats *fakenats_new(struct fakeapi *a, uint64_t seed);
void fakenats_free(struct fakenats *n);
struct sl_nats_port *fakenats_port(struct fakenats *n, uint32_t client);
/* Does an event wait for 'next'? */
bool fakenats_pending(const struct fakenats *n, uint32_t client);
/* The client's process died: its connections are gone, and no event of them follows. The port is
 * that of its next life. */
void fakenats_kill(struct fakenats *n, uint32_t client);

/* ---- servers ---- */
struct fakenats_server {
    const char *host; /* strings are borrowed for ever */
    uint16_t port;
    uint32_t cluster;            /* its members pass on each other's messages */
    const char *user, *password; /* NULL: not asked for */
    const char *token;
    bool tls; /* a connector that demands it is refused without */
};
#define FAKENATS_SERVERS 16u
/* Returns its number. */
uint32_t fakenats_serve(struct fakenats *n, const struct fakenats_server *s);

/* What goes wrong with a server until then; it ends earlier if the same is asked for with an
 * earlier time. */
/* Not reachable; its connections end at once. */
void fakenats_outage(struct fakenats *n, uint32_t server, sl_time until);
/* Half-open: connections are there, and nothing comes through; new ones are not made. At the end
 * the clients notice (a ping without answer), or all goes on as if nothing had been. */
void fakenats_silence(struct fakenats *n, uint32_t server, sl_time until);
/* Nobody is let in, and whoever is in is thrown out: the users are being replaced. */
void fakenats_deny(struct fakenats *n, uint32_t server, sl_time until);
/* It ends, and is at another place behind the same name after that time. */
void fakenats_move(struct fakenats *n, uint32_t server, sl_time until);
/* Who subscribes to this subject from now on is refused it and stays connected; NULL: all may
 * again. As with a real one, what was refused stays so until it is subscribed to again. Borrowed.
 */
void fakenats_forbid(struct fakenats *n, uint32_t server, const char *subject);
/* It reports an error to all that are connected to it, and they stay so. */
void fakenats_complain(struct fakenats *n, uint32_t server, const char *text);
/* 'open' of this client fails, and why; NULL: no more. Borrowed. */
void fakenats_cannot_open(struct fakenats *n, uint32_t client, const char *why);
/* Ends every connection to it, once. */
void fakenats_cut(struct fakenats *n, uint32_t server);
/* One client reaches no server. */
void fakenats_partition(struct fakenats *n, uint32_t client, sl_time until);

/* ---- publishers ---- */
/* To all who are subscribed in the server's cluster; lost if the server is away. */
void fakenats_publish(struct fakenats *n, uint32_t server, const char *subject, const char *data,
                      size_t len);
/* Payloads that no reader may take, or stumble over: fakenats_poison(i) for i below this. */
#define FAKENATS_POISONS 24u
/* Returns its bytes, valid until the next call. */
const char *fakenats_poison(struct fakenats *n, uint32_t i, size_t *ret_len);

/* ---- faults: each happens once in N, seeded; 0: never ---- */
struct fakenats_faults {
    /* per message and receiver */
    uint32_t lose;
    uint32_t delay;     /* takes up to 5 s */
    uint32_t reorder;   /* the next one of the subject overtakes it */
    uint32_t duplicate; /* comes again, up to 5 s later */
    uint32_t poison;    /* something else comes */
    /* per message that is published; one in N of these begins an outage */
    uint32_t outage;     /* up to 10 min */
    uint32_t silence;    /* up to 'longest_silence' */
    uint32_t deny;       /* up to 2 min */
    uint32_t move;       /* up to 30 s */
    uint32_t disconnect; /* at once, and it can be reached */
    uint32_t partition;  /* of client 0 or 1, up to 5 min */
    sl_span longest_silence;
};
#define FAKENATS_FAULTS 11u
extern const char *const fakenats_fault_names[FAKENATS_FAULTS];
/* Each with one chance in two; those of messages once in 10 to 80, those of servers once in
 * 'rarely' to 8 * rarely. */
void fakenats_some_faults(struct sl_prng *p, uint32_t rarely, struct fakenats_faults *ret);
/* NULL: none from now on, and those that last end now. */
void fakenats_set_faults(struct fakenats *n, const struct fakenats_faults *f);

struct fakenats_stats {
    uint64_t published, delivered, replaced; /* replaced: by a newer one before it was read */
    uint64_t ups, downs;
    uint64_t struck[FAKENATS_FAULTS];
};
void fakenats_stats(const struct fakenats *n, struct fakenats_stats *ret);

/* ---- what is the case ---- */
/* Each event as it is put where 'next' finds it. */
typedef void (*fakenats_fn)(void *ctx, uint32_t client, const struct sl_nats_event *e);
void fakenats_on_event(struct fakenats *n, fakenats_fn fn, void *ctx);
/* Connections that a client has open, and whether one of them is up. */
uint32_t fakenats_open(const struct fakenats *n, uint32_t client);
bool fakenats_is_up(const struct fakenats *n, uint32_t client, sl_nats_conn c);
/* The cluster that a connection is up in or was last; UINT32_MAX: none. */
uint32_t fakenats_cluster(const struct fakenats *n, uint32_t client, sl_nats_conn c);
/* Does a subject match a pattern with wildcards? */
bool fakenats_matches(const char *pattern, const char *subject);

#endif

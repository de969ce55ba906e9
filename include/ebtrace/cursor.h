/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The consumer API: reads the rings of a process, or a ring file, ours or OCaml 5's.
 *
 * A cursor reads without the writer's help and without disturbing it or other readers. Records that
 * the writer overwrote before they were read become one EBT_LOST event at the position of the hole.
 * The file is copied with pread() and only the copy is parsed, so a hostile, truncated or changing
 * file can do no harm. Bad words become an EBT_DAMAGE event; reading continues behind them where it
 * can.
 *
 * Not thread-safe: one cursor, one thread at a time. Several cursors on one file are independent.
 */
#ifndef EBTRACE_CURSOR_H
#define EBTRACE_CURSOR_H

#include <ebtrace/event.h>
#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

struct ebt_cursor;

/* The releases of producers, which number their ids differently. EBT_RELEASE_AUTO: as the file
 * records it; if it does not, the newest. */
enum ebt_release {
	EBT_RELEASE_AUTO = 0,
	EBT_RELEASE_EBTRACE = 1, /* our own producer: the file holds its tables */
	EBT_RELEASE_OCAML_5_0 = 50,
	EBT_RELEASE_OCAML_5_1 = 51,
	EBT_RELEASE_OCAML_5_2 = 52,
	EBT_RELEASE_OCAML_5_3 = 53,
	EBT_RELEASE_OCAML_5_4 = 54,
	EBT_RELEASE_OCAML_5_5 = 55,
};

/* Size of the buffer for the one-line reason of a failed open. */
#define EBT_REASON_BYTES 256

/*
 * Opens a ring file. `path` must name a regular file. On success *ret is a cursor at the oldest
 * record of each ring; the caller frees it with ebt_cursor_close(). Returns 0, else -errno,
 * -EBADMSG (not a ring file, or a damaged header) or -EPROTO (another version), and writes to
 * `reason` (EBT_REASON_BYTES, may be NULL) one line with the file, the byte offset and the expected
 * value.
 */
int ebt_cursor_open(const char *path, enum ebt_release release, struct ebt_cursor **ret,
		    char *reason);
/* The same for an open descriptor, which the cursor owns from now on, also on failure. `name` is
 * for messages. */
int ebt_cursor_open_fd(int fd, const char *name, enum ebt_release release, struct ebt_cursor **ret,
		       char *reason);
/*
 * Opens the ring of a running process. It is found by its mapping, so its directory, mount and pid
 * namespace do not matter; `dir` (may be NULL) is searched if no ring is mapped. Refuses symbolic
 * links, files that are not regular, and files of another owner than the process. pid 0: this
 * process. Returns as ebt_cursor_open(); -ESRCH: no such process; -ENOENT: no ring.
 */
int ebt_cursor_open_pid(pid_t pid, const char *dir, enum ebt_release release,
			struct ebt_cursor **ret, char *reason);
void ebt_cursor_close(struct ebt_cursor *c); /* NULL is allowed */

/*
 * Called for each event. `payload` (NULL if there is none) holds `bytes` bytes and is valid during
 * the call: the 20 buckets of EBT_ALLOC_SIZES, the bytes of EBT_CUSTOM. Return 0 to continue; any
 * other value ends the poll, which returns the number of events so far, including this one. It must
 * not read from the cursor, nor poll or close it.
 */
typedef int ebt_event_fn(const struct ebt_event *ev, const void *payload, size_t bytes, void *ctx);

/*
 * Delivers at most `max` events (0: all that the rings held at the call) and returns their number,
 * including lost and damage events; 0: nothing new; -errno. Each ring's events are delivered in
 * order. Rings are served round-robin, and the next call continues with the next ring.
 */
ssize_t ebt_cursor_poll(struct ebt_cursor *c, ebt_event_fn *fn, void *ctx, size_t max);

/*
 * The same, into ev[0..cap). It may return fewer than cap although more events are ready: call it
 * until it returns 0. Payloads stay in the cursor: with EBT_F_PAYLOAD arg[0] is the offset of the
 * payload in ebt_cursor_payloads(), arg[1] its length in bytes; valid until the next call.
 */
ssize_t ebt_cursor_read(struct ebt_cursor *c, struct ebt_event *ev, size_t cap);
const void *ebt_cursor_payloads(const struct ebt_cursor *c);

/* Name of a user event; NULL if it has none. Valid until the next call. */
const char *ebt_cursor_user_name(struct ebt_cursor *c, uint32_t id);
/* Canonical names, "minor_local_roots"; NULL for an id that is not in events.def. Static. */
const char *ebt_phase_name(uint32_t id);
const char *ebt_counter_name(uint32_t id);
const char *ebt_lifecycle_name(uint32_t id);

struct ebt_cursor_info {
	uint32_t max_domains;
	uint32_t ring_words;
	enum ebt_release release;
	int release_assumed;  /* 1: the file does not record the release; the newest is assumed */
	char producer[64];    /* "ebtrace-probes 1.0", "ocaml 5.3" */
	char runtime[64];     /* empty: the producer did not set it */
	uint64_t pid;	      /* in the producer's pid namespace; 0: not known */
	uint64_t start_ns;    /* when the file was made; 0 unless start_known */
	uint64_t events;      /* delivered, not counting lost and damage events */
	uint64_t lost_events; /* of rings that count events; others count lost_words alone */
	uint64_t lost_words;
	uint64_t damaged;      /* damage events */
	int start_known;       /* 1: the file records start_ns (OCaml's do not) */
	uint32_t first_domain; /* of the first ring; see <ebtrace/ring.h> */
};
void ebt_cursor_info(struct ebt_cursor *c, struct ebt_cursor_info *ret);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif
#endif

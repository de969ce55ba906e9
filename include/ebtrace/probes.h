/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The producer API: the probes with which a language runtime reports its events.
 *
 * Every probe is a USDT marker (provider `ebtrace`) and a record in the ring of the calling thread,
 * in the file PID.events. Without a listener a probe is one load and one branch. A probe allocates
 * nothing, acquires no lock, changes neither errno nor the signal mask, and may be used in signal
 * handlers; only a thread's first probe after a (re)start is slower, as it acquires a ring. A probe
 * in a signal handler that interrupted a probe of the same thread is dropped and counted.
 *
 * Each thread is a domain: it acquires the lowest free ring at its first probe and releases it when
 * it ends. Threads that find no free ring have none: their markers still fire, with EBT_NO_POS for
 * position, and the file counts their events.
 *
 * Environment, read when the library is loaded (OCAML_RUNTIME_EVENTS_START, _DIR and _PRESERVE are
 * synonyms; a value is on if it is not empty):
 *   EBTRACE_START        record from the first event
 *   EBTRACE_DIR          directory of the file; default: see ebt_start()
 *   EBTRACE_PRESERVE     keep the file at exit
 *   EBTRACE_LOG_WSIZE    words of a ring, as a power of two: 9 to 27, default 16
 *   EBTRACE_MAX_DOMAINS  rings: 1 to 4096, default 128
 *   EBTRACE_PAGETRACE    write a page trace to this file: see ebt_page_trace_start(). The variable
 *                        is then removed from the environment: programs that this one starts would
 *                        overwrite the file. Why it cannot be written is one line on stderr and the
 *                        result of ebt_page_trace_stop(); a FIFO's reader is waited for up to 10 s.
 * A value out of its range is replaced by the nearest limit.
 *
 * A child of fork() records into a file of its own if its parent did: its first probe makes the
 * file, which begins with ring_start and fork_child. exec() ends the recording; the file stays, and
 * the new program replaces it when it records, or with EBTRACE_PRESERVE keeps it.
 *
 * The ring file allocates disk blocks as it is used: a few pages at the start, a page for new
 * names, a ring when a thread acquires it (512 KiB by default). If the disk has no space for a
 * ring, the thread has none, and its events are counted as those of a thread without a free ring.
 * Blocks are allocated before they are written, so a full disk causes no SIGBUS. Truncating the
 * file while it is mapped does; only its owner and root can truncate it. Preventing that costs more
 * than it saves: a handler for SIGBUS belongs to the program, a file that cannot be truncated (a
 * sealed memfd) has no name by which readers find it, and checking the size in each probe is a
 * system call. To delete a ring file in use, unlink it.
 *
 * A tracer that attaches to the marker ring_request requests the ring: the next probe then starts
 * it as ebt_start() would. A failure is not reported, and the probes retry once a second while the
 * request lasts; a request also restarts a ring after ebt_stop().
 *
 * Sandboxes. Before its end a program may have entered a seccomp filter that kills it for any
 * system call that it does not need itself, and only a system call could find that out. So the exit
 * of a program makes no system call if nothing records, if a tracer requested the ring, or with
 * EBTRACE_PRESERVE. The file stays until it is removed by the tracer, by the next program of this
 * user that records into a directory private to the user, or by `ebtrace list --prune`. At exit the
 * library removes a ring only if the program or EBTRACE_START alone started it: a program that
 * records and then enters such a filter calls ebt_stop() first, or runs with EBTRACE_PRESERVE.
 * While it records, a thread's first probe, a fork and a child's first probe make system calls too;
 * all other probes make none where the vdso provides the clock.
 */
#ifndef EBTRACE_PROBES_H
#define EBTRACE_PROBES_H

#include <ebtrace/alloc.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <ebtrace/gate_x86_64.h>
#elif defined(__aarch64__)
#include <ebtrace/gate_aarch64.h>
#else
#error "no marker of this processor is known"
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum ebt_phase {
#define EBT_PHASE(id, name, stops) EBT_PHASE_##name = id,
#include <ebtrace/events.def>
};
enum ebt_counter {
#define EBT_COUNTER_ID(id, name, unit, help) EBT_COUNTER_##name = id,
#include <ebtrace/events.def>
};

/*
 * The gate: zero without a listener. The kernel counts listeners in the two semaphores; the library
 * keeps the state of the ring beside them, so that one load reads all three.
 */
struct ebt_gate {
	uint16_t events;       /* semaphore of every event marker */
	uint16_t ring_request; /* semaphore of ebtrace:ring_request */
	uint32_t ring;	       /* not 0: recording, or something the slow path must see */
};
extern EBT_API struct ebt_gate ebt_gate;

/* True if a probe would be recorded or traced now: use it to guard costly arguments. */
static inline int ebt_enabled(void)
{
	return __builtin_expect(__atomic_load_n(ebt_gate_word(), __ATOMIC_RELAXED) != 0, 0) != 0;
}

/* The gate of the probes of pages: as above, zero without a listener and without a trace. */
struct ebt_page_gate {
	uint16_t events; /* semaphore of the markers of pages */
	uint16_t reserved;
	uint32_t trace; /* not 0: a page trace is written */
};
extern EBT_API struct ebt_page_gate ebt_page_gate;

/* The out-of-line parts of the probes below; do not call them directly. */
EBT_API void ebt_emit_begin(enum ebt_phase phase);
EBT_API void ebt_emit_end(enum ebt_phase phase);
EBT_API void ebt_emit_counter(enum ebt_counter counter, uint64_t value);
EBT_API void ebt_emit_alloc_flush(void);
EBT_API void ebt_emit_unit(int event);
EBT_API void ebt_emit_int(int event, int64_t value);
EBT_API void ebt_emit_span_begin(int event);
EBT_API void ebt_emit_span_end(int event);
EBT_API void ebt_emit_custom(int event, const void *payload, size_t bytes);
EBT_API void ebt_count_alloc(size_t words);
EBT_API void ebt_emit_page_alloc(const void *addr, size_t pages);
EBT_API void ebt_emit_page_free(const void *addr, size_t pages);
EBT_API void ebt_emit_page_scavenge(const void *addr, size_t pages);

/*
 * The calling domain enters / leaves a phase. Phases nest; the caller must pair them. An unknown
 * phase number is ignored. Thread-safe and async-signal-safe, as all probes are.
 */
static inline void ebt_begin(enum ebt_phase phase)
{
	if (ebt_enabled())
		ebt_emit_begin(phase);
}
static inline void ebt_end(enum ebt_phase phase)
{
	if (ebt_enabled())
		ebt_emit_end(phase);
}

/* The current value of a counter of the calling domain; units: events.def. */
static inline void ebt_counter(enum ebt_counter counter, uint64_t value)
{
	if (ebt_enabled())
		ebt_emit_counter(counter, value);
}

/*
 * Counts one allocation of `words` words in the calling domain's buckets (0-9 one bucket a size,
 * 10-19 ... 90-99 one a ten, the last for 100 and more). ebt_alloc_flush() records the buckets as
 * one event and resets all of them.
 */
static inline void ebt_alloc(size_t words)
{
	if (ebt_enabled())
		ebt_count_alloc(words);
}
static inline void ebt_alloc_flush(void)
{
	if (ebt_enabled())
		ebt_emit_alloc_flush();
}

/* The types of user events. */
enum ebt_user_type {
	EBT_USER_UNIT = 0,
	EBT_USER_INT = 1,
	EBT_USER_SPAN = 2,
	EBT_USER_CUSTOM = 3,
};

/*
 * Registers a user event. `name`: 1 to 127 bytes, copied. Registering a name again with the same
 * type returns its id. Returns the id, 0 to 8191, or -EINVAL (no name, too long, unknown type),
 * -EEXIST (the name has another type), -ENOSPC (8192 names are registered). Names registered
 * before the ring starts appear in it. Acquires a lock; not for signal handlers. Thread-safe.
 */
EBT_API int ebt_register(const char *name, enum ebt_user_type type);

/*
 * Writes a user event; `event` is the result of ebt_register(). An id that is not registered, or
 * has another type, is ignored, so probes need not test for a failed registration. Payloads of
 * ebt_custom(): 0 to EBT_CUSTOM_MAX_BYTES bytes, copied; a longer one, or one larger than half a
 * ring, is dropped and counted.
 */
#define EBT_CUSTOM_MAX_BYTES 8167
static inline void ebt_unit(int event)
{
	if (ebt_enabled())
		ebt_emit_unit(event);
}
static inline void ebt_int(int event, int64_t value)
{
	if (ebt_enabled())
		ebt_emit_int(event, value);
}
static inline void ebt_span_begin(int event)
{
	if (ebt_enabled())
		ebt_emit_span_begin(event);
}
static inline void ebt_span_end(int event)
{
	if (ebt_enabled())
		ebt_emit_span_end(event);
}
static inline void ebt_custom(int event, const void *payload, size_t bytes)
{
	if (ebt_enabled())
		ebt_emit_custom(event, payload, bytes);
}

/* True if a probe of pages would be written or traced now. */
static inline int ebt_page_enabled(void)
{
	return __builtin_expect(__atomic_load_n(ebt_page_gate_word(), __ATOMIC_RELAXED) != 0, 0) !=
	       0;
}

/*
 * Pages of the runtime's own heap, for its page trace and for listeners to the markers page_alloc,
 * page_free and page_scavenge; no ring has them. A page has 8 KiB (EBT_PAGETRACE_PAGE_BYTES),
 * whatever the processor's has: a run of `pages` of them begins at `addr`, a multiple of 8 KiB. A
 * run that does not, or that has no page, or a page at 2^48 or above, is refused: nothing is
 * emitted, and it is counted as lost.
 *
 * alloc: the heap takes the pages (those that were scavenged are no longer); free: it has them
 * back; scavenge: free ones are returned to the system. To have the events of several threads in
 * their order, call ebt_page_alloc() after the pages were taken, the other two before they are
 * given up, or each under the heap's lock.
 */
static inline void ebt_page_alloc(const void *addr, size_t pages)
{
	if (ebt_page_enabled())
		ebt_emit_page_alloc(addr, pages);
}
static inline void ebt_page_free(const void *addr, size_t pages)
{
	if (ebt_page_enabled())
		ebt_emit_page_free(addr, pages);
}
static inline void ebt_page_scavenge(const void *addr, size_t pages)
{
	if (ebt_page_enabled())
		ebt_emit_page_scavenge(addr, pages);
}

/*
 * Writes the events of pages to `path` from now on, in the format of Go's page traces
 * (<ebtrace/pagetrace.h>), which `ebtrace pages` reads. Each thread writes as a P of its own, the
 * lowest free number below 128, through a buffer of 32 KiB; it is written when it is full, when the
 * thread ends, and at the end. Events of threads that got no number are of P -1, the last block
 * of the file, which also says that the program ended by itself. What a killed program had in its
 * buffers is not in the file, and what it was writing may be cut; exec() loses what
 * ebt_page_trace_flush() has not written.
 *
 * The file is created with mode 0600, locked, and then truncated. A forked child does not write to
 * it and has no trace until it starts one. A file that cannot be written any more, as on a full
 * disk, ends with the last whole block, and the program goes on. While a trace is written, the
 * probes make system calls when a buffer is full and at a thread's first event, and so does the end
 * of a thread or of the program. Events in a signal handler that interrupted one of the same thread
 * are dropped and counted; if it ends the program, its thread's buffer is lost. ebt_pause() does
 * not stop the trace.
 *
 * A FIFO, a device, or a descriptor of the program is written to as ebt_object_trace_start() does.
 *
 * Returns 0, or -EALREADY: a trace is written; -EAGAIN: another process has locked the file;
 * -EINVAL: what no trace is written to, as a terminal; -ENXIO: a FIFO that no process reads;
 * -ELOOP: a symbolic link; else -errno. Not for signal handlers.
 */
EBT_API int ebt_page_trace_start(const char *path);
/* Ends the trace; the library does so at exit. Returns 0, the first error of its file, or -EINVAL:
 * no trace is written; if EBTRACE_PAGETRACE asked for one, the error is why. Not for signal
 * handlers. */
EBT_API int ebt_page_trace_stop(void);
/* Writes what is buffered, as a program does before exec(). Not for signal handlers. */
EBT_API void ebt_page_trace_flush(void);
/* Events of pages of this process that were refused, or are missing in its page trace since they
 * interrupted another one or found no memory. */
EBT_API uint64_t ebt_page_lost(void);

/*
 * Makes the ring file and starts recording. Directory: $EBTRACE_DIR, else
 * $OCAML_RUNTIME_EVENTS_DIR, else $XDG_RUNTIME_DIR/ebtrace, else /dev/shm/ebtrace-UID; the last
 * two are made with mode 0700 and refused if another user owns them. The file is complete before it
 * gets its name, with mode 0600. A file left by a dead process with this pid is replaced. If a live
 * process uses the name (a second copy of this library in this process, or a process of another pid
 * namespace), or OCaml's runtime in this process may use it, the name is PID-2.events, and so on.
 * The domains of a second copy have numbers behind those of the first.
 * Returns 0 (also if it already records), else -errno, and the program runs without a ring.
 * Acquires a lock; not for signal handlers. Thread-safe.
 */
EBT_API int ebt_start(void);
/*
 * Ends recording and removes the file unless EBTRACE_PRESERVE is set. The library does so at exit,
 * except in the cases above under Sandboxes (where dlclose() leaves the file mapped). A later
 * ebt_start() makes a new file. Returns 0. Waits for running probes of other threads.
 */
EBT_API int ebt_stop(void);
/*
 * ebt_pause() disables the probes of the whole process, rings and markers, until ebt_resume(). Each
 * records its lifecycle event. Returns 0, or -EAGAIN if nothing records.
 */
EBT_API int ebt_pause(void);
EBT_API int ebt_resume(void);
/* The path of the ring file; NULL if there is none. Valid until the next start, stop or fork. */
EBT_API const char *ebt_ring_path(void);
/*
 * Sets the runtime's name in the current ring file and in later ones; at most 63 bytes are kept.
 * Acquires a lock; not for signal handlers.
 */
EBT_API void ebt_runtime_name(const char *name);
/* Releases the calling thread's ring, and its part of an allocation trace and of a page trace, now
 * instead of when the thread ends. */
EBT_API void ebt_thread_end(void);
/* Version of the library, "1.0". */
EBT_API const char *ebt_probes_version(void);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The producer API: what a language runtime calls to show what it is doing.
 *
 * Every probe is a USDT marker (provider `ebtrace`) and a record in the ring of the calling thread,
 * in the file PID.events. A probe that nobody listens to is one load and one branch. A probe
 * allocates nothing, takes no lock, changes neither errno nor the signal mask, and may be used in
 * signal handlers; only a thread's first probe after a (re)start is slower, as it takes a ring. A
 * probe in a signal handler that interrupted a probe of the same thread is dropped and counted.
 *
 * Each thread is a domain: it gets the lowest free ring at its first probe and gives it back when
 * it ends. With more threads than rings, the rest have none: their markers still fire, with
 * EBT_NO_POS for position, and their events are counted in the file.
 *
 * Environment, read when the library is loaded (OCAML_RUNTIME_EVENTS_START, _DIR and _PRESERVE are
 * synonyms; a value is on if it is not empty):
 *   EBTRACE_START        record from the first event
 *   EBTRACE_DIR          directory of the file; default: see ebt_start()
 *   EBTRACE_PRESERVE     keep the file at exit
 *   EBTRACE_LOG_WSIZE    words of a ring, as a power of two: 9 to 27, default 16
 *   EBTRACE_MAX_DOMAINS  rings: 1 to 4096, default 128
 * A value out of its range is moved to the nearest limit.
 *
 * A fork()ed child records into a file of its own if its parent did: the file is made at its first
 * probe, and begins with ring_start and fork_child. exec() ends the recording; the file stays, and
 * the new program replaces it when it records, or with EBTRACE_PRESERVE leaves it alone.
 *
 * The ring file takes room as it is used: a few pages at the start, a page with a new name, a ring
 * when a thread takes it (512 KiB by default). Where the disk has no room for a ring, the thread has
 * none; its events are counted as those of a thread too many. What is written was allocated before,
 * so a full disk never is a SIGBUS. One thing is: truncating the file while it is written. Only the
 * file's owner and root can do it, and who cuts a mapped file kills the program that maps it. The
 * ways around it cost more than they save: a handler for SIGBUS belongs to the program, a file that
 * cannot be truncated (a sealed memfd) has no name by which readers find it, and a look at the
 * file's size in each probe is a system call. To be rid of a file, unlink it.
 *
 * A tracer that attaches to the marker ring_request asks for the ring: the next probe then starts
 * it as ebt_start() would. If that fails, nothing is said, and the probes try again once a second
 * as long as somebody asks; so it also is after an ebt_stop().
 *
 * Sandboxes. A program may have entered a filter by its end that kills it for any system call it
 * does not need itself, and there is no asking without one. So the end of a program in which nothing
 * records, or whose ring a tracer asked for, or with EBTRACE_PRESERVE, makes no system call. The file
 * stays; the tracer removes it, or the next program of this user that records into a directory that
 * is the user's alone, or `ebtrace list --prune`. Only a ring that the program or EBTRACE_START alone
 * asked for is removed at exit: a program that records and then enters such a filter calls
 * ebt_stop() first, or has EBTRACE_PRESERVE set. While it records, a thread's first probe, a fork and
 * a child's first probe make system calls too; all others make none where the vdso has the time.
 */
#ifndef EBTRACE_PROBES_H
#define EBTRACE_PROBES_H

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

#define EBT_API __attribute__((visibility("default")))

enum ebt_phase {
#define EBT_PHASE(id, name, stops) EBT_PHASE_##name = id,
#include <ebtrace/events.def>
};
enum ebt_counter {
#define EBT_COUNTER_ID(id, name, unit, help) EBT_COUNTER_##name = id,
#include <ebtrace/events.def>
};

/*
 * The gate: zero while nobody listens. The kernel counts listeners in the two semaphores; the
 * library keeps the state of the ring beside them, so that one load tells all.
 */
struct ebt_gate {
	uint16_t events;       /* semaphore of every event marker */
	uint16_t ring_request; /* semaphore of ebtrace:ring_request */
	uint32_t ring;	       /* not 0: recording, or something the slow path must see */
};
extern EBT_API struct ebt_gate ebt_gate;

/* True if a probe would be recorded or traced now: guard costly arguments with it. */
static inline int ebt_enabled(void)
{
	return __builtin_expect(__atomic_load_n(ebt_gate_word(), __ATOMIC_RELAXED) != 0, 0) != 0;
}

/* The out-of-line halves of the probes below; not to be called directly. */
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

/*
 * The calling domain enters / leaves a phase. Phases nest; the pairing is the caller's duty. An
 * unknown phase number is ignored. Any thread, any time.
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

/* A counter of the calling domain has this value now; units: see events.def. */
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

/* What a user event may be written as. */
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
 * before the ring starts appear in it. Takes a lock; not for signal handlers. Thread-safe.
 */
EBT_API int ebt_register(const char *name, enum ebt_user_type type);

/*
 * Writes a user event; `event` is what ebt_register() returned. An id that was not registered, or
 * whose type is another, is ignored: so a failed registration needs no test at every probe.
 * Payloads of ebt_custom(): 0 to EBT_CUSTOM_MAX_BYTES bytes, copied; a longer one, and one that
 * does not fit in half a ring, is dropped and counted.
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

/*
 * Makes the ring file and starts recording. Directory: $EBTRACE_DIR, else
 * $OCAML_RUNTIME_EVENTS_DIR, else $XDG_RUNTIME_DIR/ebtrace, else /dev/shm/ebtrace-UID; the last
 * two are made with mode 0700 and refused if they are somebody else's. The file appears under its
 * name complete, with mode 0600; a file that a dead process with this pid left is replaced; if a
 * live one has the name (a second copy of this library in this process, or a process of another
 * pid namespace), or OCaml's runtime in this process may want it, PID-2.events is used, and so on.
 * Returns 0 (also if it records already), else -errno, and the program goes on without.
 * Takes a lock; not for signal handlers. Thread-safe.
 */
EBT_API int ebt_start(void);
/*
 * Ends recording and removes the file unless EBTRACE_PRESERVE is set; done by itself at exit, but
 * for what is said of sandboxes above (dlclose() leaves the file mapped in those cases).
 * A later ebt_start() makes a new file. Returns 0. Waits for probes under way in other threads.
 */
EBT_API int ebt_stop(void);
/*
 * Silences the probes of the whole process, rings and markers, until ebt_resume(). Both record
 * their lifecycle event. Return 0, or -EAGAIN if there is no recording.
 */
EBT_API int ebt_pause(void);
EBT_API int ebt_resume(void);
/* The path of the ring file; NULL while there is none. Valid until the next start, stop or fork. */
EBT_API const char *ebt_ring_path(void);
/*
 * Names the runtime in the ring file, this one if there is one already and those made later; at most
 * 63 bytes are kept. Takes a lock; not for signal handlers.
 */
EBT_API void ebt_runtime_name(const char *name);
/* The calling thread gives its ring back now instead of at its end. */
EBT_API void ebt_thread_end(void);
/* Version of the library, "1.0". */
EBT_API const char *ebt_probes_version(void);

#ifdef __cplusplus
}
#endif
#endif

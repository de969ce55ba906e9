/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The producer API of sampled allocations; <ebtrace/probes.h> includes this header.
 *
 * Every word that the program allocates is sampled with the same probability, the rate, so bytes
 * are estimated without bias: a sampled object stands for samples / rate words. A runtime calls
 * ebt_object_alloc() for each allocation and keeps the number of an object that was sampled, to
 * report what becomes of it. An allocation that is not sampled costs a subtraction and a branch.
 *
 * Sampling is on while a trace is written or somebody listens to the markers `alloc`, `promote`,
 * `collect` (provider ebtrace) or `alloc`, `free` (provider otel_memory), which fire for each
 * sampled event. A thread notices a listener, and a trace that another thread starts, before it has
 * allocated 131,072 more words.
 *
 * The trace is a file of memtrace, one domain a thread (up to 128; more share them). It is flushed
 * about once a second while there are events, at the end of a thread and of the program. A forked
 * child does not write to it and has none until it starts one. exec() loses what
 * ebt_object_trace_flush() has not written. A file that cannot be written any more, as on a full
 * disk, ends with the last whole packet, and the program goes on. Probes may be used in signal
 * handlers; one that interrupts another of the same thread is dropped and counted. While a trace is
 * written, probes of sampled allocations make system calls; with listeners alone they make none.
 *
 * Environment, read when the library is loaded:
 *   EBTRACE_MEMTRACE       write a trace to this file, under the conditions of
 *                          ebt_object_trace_start(). The variable is then removed from the
 *                          environment: programs that this one starts would overwrite the file.
 *   EBTRACE_MEMTRACE_RATE  the rate, of listeners too: above 0, at most 1; default 1e-5
 *   EBTRACE_MEMTRACE_SEED  a number that makes the samples of each thread repeatable
 * If the trace cannot start, or the rate is invalid, a line on stderr reports why, and so does the
 * result of ebt_object_trace_stop(). The program waits up to 10 s for the reader of a FIFO, and
 * reports that. A program that runs with more privilege than its caller ignores the variables.
 */
#ifndef EBTRACE_ALLOC_H
#define EBTRACE_ALLOC_H

#include <ebtrace/event.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EBT_API __attribute__((visibility("default")))

/* The state of a sampler; only `left` is read outside the library. */
struct ebt_sampler {
	int64_t left;	 /* words to the next call of the slow path; negative: due */
	int64_t rest;	 /* words to the next sample beyond `left` */
	uint64_t random; /* state of the generator */
	double rate;	 /* probability that a word is sampled */
	double per_ln;	 /* 1 / ln(1 - rate) */
};
/* The calling thread's. */
extern EBT_API __thread struct ebt_sampler ebt_object_sampler
	__attribute__((tls_model("initial-exec")));

/* The out-of-line parts of the probes below; do not call them directly. */
EBT_API uint64_t ebt_object_sample(size_t words, enum ebt_alloc_source source, const void *address);
EBT_API void ebt_emit_promote(uint64_t obj);
EBT_API void ebt_emit_collect(uint64_t obj, const void *address);

/*
 * The calling thread allocates `words` words, without a header; source: in the minor or the major
 * heap, or outside of both. Returns 0, almost always, or the number of a sampled object. `address`
 * is what otel_memory's listeners identify the object by: a runtime whose objects move passes NULL,
 * here and to ebt_object_collect(), and the number stands for the address.
 */
static inline uint64_t ebt_object_alloc(size_t words, enum ebt_alloc_source source,
					const void *address)
{
	ebt_object_sampler.left -= (int64_t)words;
	if (__builtin_expect(ebt_object_sampler.left >= 0, 1))
		return 0;
	return ebt_object_sample(words, source, address);
}
/* A sampled object, of any thread, moves to the major heap, or is freed. The number 0 is
 * ignored. */
static inline void ebt_object_promote(uint64_t obj)
{
	if (__builtin_expect(obj != 0, 0))
		ebt_emit_promote(obj);
}
static inline void ebt_object_collect(uint64_t obj, const void *address)
{
	if (__builtin_expect(obj != 0, 0))
		ebt_emit_collect(obj, address);
}

struct ebt_memtrace_location; /* <ebtrace/memtrace.h> */

/*
 * How the backtraces of a trace are made. Any thread may call the functions at any time, inside an
 * allocation, so they must not allocate, nor wait for a lock.
 */
struct ebt_object_stacks {
	/* Writes the codes of the calling thread's frames, outermost first, at most `max`; a code
	 * is a number that is not 0. Returns how many there are. NULL: the return addresses, by
	 * frame pointers. */
	size_t (*backtrace)(void *ctx, int64_t *codes, size_t max);
	/* Sets *ret to the positions of a code in the source, outermost first, as struct
	 * ebt_memtrace_trace describes. Asked once a code and thread. NULL: of a return address the
	 * module's path, and as function the offset of the call in that file with the build id, by
	 * which ebtrace finds function, file and line. */
	size_t (*locations)(void *ctx, int64_t code, const struct ebt_memtrace_location **ret);
	void *ctx;
};
/* Sets it for the process; the structure is not copied. NULL: the default. */
EBT_API void ebt_object_stacks(const struct ebt_object_stacks *stacks);

/*
 * Writes a trace to `path` from now on. `rate`: above 0, at most 1 (EBT_MEMTRACE_RATE, if nobody
 * chose one); `context`: what the trace is called, or NULL. The file is created with mode 0600,
 * locked, and then truncated.
 *
 * A FIFO, a device, and a descriptor of the program (/dev/stdout, /dev/stderr, /dev/fd/N: a pipe, a
 * socket, or a file, which is neither locked nor truncated) are written to as they are. While the
 * reader of a full pipe reads nothing, a thread that has a packet to write waits; the trace ends
 * after 10 s of that, or if the reader has gone. A reader sees the end when the program and
 * ebt_object_trace_stop() have closed their descriptors.
 *
 * Returns 0, or -EALREADY: a trace is written; -EAGAIN: another process has locked the file;
 * -EINVAL: the rate, or what no trace is written to, as a terminal or a directory; -ENXIO: a FIFO
 * that no process reads; -ELOOP: a symbolic link; -EMSGSIZE: the context is too long; else -errno.
 * Not for signal handlers.
 */
EBT_API int ebt_object_trace_start(const char *path, double rate, const char *context);
/* Ends the trace; the library does so at exit. Returns 0, the first error of its file, or -EINVAL:
 * no trace is written; if EBTRACE_MEMTRACE asked for one, the error is why. Not for signal
 * handlers. */
EBT_API int ebt_object_trace_stop(void);
/* Writes what is buffered, as a program does before exec(). Not for signal handlers. */
EBT_API void ebt_object_trace_flush(void);
/* Sampled events of this process that are in no trace and fired no marker, since they interrupted
 * another one. */
EBT_API uint64_t ebt_object_lost(void);
/* Makes the samples repeatable: threads have their sequences in the order of their first samples
 * since this call. For tests; call it before a trace starts. */
EBT_API void ebt_object_seed(uint64_t seed);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* What a run is asked for. Whoever parses it owns all that it points to. */
#ifndef ENGINE_OPTIONS_H
#define ENGINE_OPTIONS_H

#include <ebtrace/cursor.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

enum engine_mode { MODE_AUTO, MODE_RING, MODE_WATERMARK, MODE_STREAM, MODE_PROBES };
enum engine_ring_request { RING_REQUEST_AUTO, RING_REQUEST_ALWAYS, RING_REQUEST_NEVER };
enum engine_attach { ATTACH_AUTO, ATTACH_MULTI, ATTACH_PERF };

struct engine_options {
	/* One of the three is traced: processes, a program (NULL-terminated; else NULL), files. */
	pid_t *pids;
	unsigned pid_count;
	char **program;
	char **files; /* "-": standard input */
	unsigned file_count;
	/* Of all events these alone. */
	const char **globs;
	unsigned glob_count;
	uint16_t *domains;
	unsigned domain_count;
	uint32_t *threads;
	unsigned thread_count;
	uint64_t min_duration_ns; /* 0: of any */
	const char *ring_dir;	  /* where else a process may have its ring; NULL: nowhere */
	enum engine_mode mode;
	enum engine_attach attach;
	enum engine_ring_request ring_request;
	enum ebt_release release;  /* of rings that do not say it themselves */
	uint64_t duration_ns;	   /* of a live run; 0: no limit */
	uint64_t bpf_buffer_bytes; /* a power of two */
	uint64_t buffer_bytes;	   /* of the backlog of all rings; 0: the default */
	int nice;		   /* of ebtrace when it was started; its program gets it */
	rlim_t open_files;	   /* soft limit, likewise */
	bool follow;		   /* children, too */
	bool realtime;		   /* scheduling, where it is permitted */
	bool snapshot;		   /* of the processes: what their rings hold now */
	bool wait;		   /* for something to trace */
	bool counts;		   /* who saw an event, and where, does not matter */
};

/* The names of the modes, by number; NULL ends them. */
extern const char *const engine_mode_names[];

/* Memory for the backlog of all rings, in bytes. */
size_t engine_buffer_bytes(const struct engine_options *o);
/* Markers of ours tell when to read the rings, and nothing else. */
bool engine_watermarks(const struct engine_options *o);

#endif

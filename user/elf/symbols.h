/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source positions of instructions of one module, that is a program or a shared library, by
 * their offset in its file: function, file and line, with the functions that were inlined, from its
 * debug information or its separate debug file, if need be from a debuginfod server (debuginfod.h);
 * else the function, from its symbol tables; else "module+0xoffset". Results are cached.
 *
 * The module is not trusted: it is read by a process without privileges (symbols_worker.h). A
 * module that makes that one fail is read for its symbol tables only; if that fails too, for
 * nothing.
 *
 * All modules of a run share a budget of time, of memory, and of how many are read. A module has at
 * most half of the time that others have left. What is beyond is "module+0xoffset", and one message
 * says so.
 */
#ifndef ELF_SYMBOLS_H
#define ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/messages.h"
#include "elf/unwind.h"

#define SYMBOLS_BUILD_ID_BYTES 32

struct symbols_position {
	const char *function;  /* as the linker knows it, not demangled; NULL: not known */
	const char *file;      /* NULL: not known */
	uint32_t line, column; /* 0: not known */
};

struct symbols;

/* The budget of a run's modules, and the modules with a running process. To start one more process,
 * the oldest are ended until there is a free slot and memory; they are started anew when they are
 * needed. Initialised by zeroes; outlives the modules, then symbols_running_done(). */
#define SYMBOLS_RUNNING	   32
#define SYMBOLS_MODULES	   4096		  /* of a run are read */
#define SYMBOLS_TEXT_BYTES (256ull << 20) /* of names and paths that a run receives */
struct symbols_running {
	struct symbols *at[SYMBOLS_RUNNING];
	unsigned next;			 /* to be replaced */
	const struct messages *messages; /* set by the caller; outlive it */
	/* Set by the caller. A lookup that is not answered within a few ms is put off: it returns
	 * as if there were no memory, and sets `waits`, which the caller clears; the same lookup
	 * later may have its answer. */
	bool puts_off;
	/* Set by the caller: the run was asked to end; a process that does not answer soon is given
	 * up. */
	bool hurries;
	bool waits;
	/* Set by the caller: the budget of time. 0: 16 s, and a 16th of the time that the run
	 * takes. */
	uint64_t budget_ns;
	/* Set by the caller: memory that the processes may have when one more is started. 0: 1
	 * GiB. */
	uint64_t budget_bytes;

	/* Private. */
	uint64_t began_ns, spent_ns;   /* of the time that processes take to answer */
	uint64_t text_bytes;	       /* received */
	unsigned modules;	       /* that were read */
	bool is_reported;	       /* that time was not enough */
	bool hurried;		       /* a process was given up for that */
	struct debuginfod *debuginfod; /* NULL: not needed so far, or no server is named */
	bool has_no_servers, is_asked;
	struct symbols *asks; /* for this module; NULL: it was closed */
};

void symbols_running_done(struct symbols_running *r);

/*
 * fd: of the module; stays the caller's, which may close it; -1: it cannot be read. path: the
 * module's name in positions, and where the search for its separate debug file starts. Keeps
 * `running`. 0 or -ENOMEM; a file that is no module is opened too, without any function known.
 */
int symbols_open(int fd, const char *path, struct symbols_running *running, struct symbols **ret);
void symbols_close(struct symbols *s); /* NULL is allowed */
/*
 * The positions of the instruction at an offset, the outermost first: the last one is the
 * instruction's own, each other one is that of the call that was inlined. Of a return address the
 * caller passes the offset less 1. Returns their number, at least 1; 0: no memory, or it was put
 * off. Positions are valid until the next call, their strings until symbols_close().
 */
unsigned symbols_find(struct symbols *s, uint64_t offset, const struct symbols_position **ret);
/* How a stack is unwound from the instruction at an offset, as symbols_find() has it. 0, -ENOMEM,
 * or -EAGAIN: it was put off. */
int symbols_unwind(struct symbols *s, uint64_t offset, struct unwind_rule *ret);
/* The module's build id. Returns its bytes; 0: it has none. */
size_t symbols_build_id(const struct symbols *s, const uint8_t **ret);

#endif

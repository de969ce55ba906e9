/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames and stacks in the session of addresses of code in traced processes: an address is found in
 * the mappings of its process, and resolved once for each place in a module's file. What is in no
 * file, as code that was made at run time, has its address for a name. What is in no mapping, to
 * which a register leads that is no frame pointer, is one unknown frame. Modules and their frames
 * are kept for the whole run, so their memory is bounded by the code there is.
 */
#ifndef SOURCE_STACKS_CODE_FRAMES_H
#define SOURCE_STACKS_CODE_FRAMES_H

#include "elf/unwind.h"
#include "proc/code_memory.h"
#include "session/session.h"
#include <sys/types.h>

#define CODE_STACK_MAX 128 /* of more addresses the innermost */
/* In place of the outermost address: a frame that reports that the stack ends too early. */
#define CODE_CUT      UINT64_MAX
#define CODE_CUT_NAME "[stack not whole]"
/* And between two: that frames are missing there. */
#define CODE_GAP      UNWIND_GAP
#define CODE_GAP_NAME "[frames missing]"

struct code_frames;
struct memory_reader;
struct code_module;
struct maps_list;

/* The executable mappings of a process as they were read last. Initialised by zeroes. */
struct code_map {
	struct code_mapping *mapping; /* by address */
	size_t count, cap;
	uint64_t read_ns;  /* 0: never */
	uint64_t cost_ns;  /* the time that it took */
	unsigned early;	   /* how often they were read without a pause */
	bool is_parents;   /* they are of the process that has forked this one */
	uint64_t recorded; /* how many there were when one was taken of those that are recorded */
};

/* Keeps the session. 0 or -ENOMEM. */
int code_frames_new(struct session *session, struct code_frames **ret);
void code_frames_free(struct code_frames *c); /* NULL is allowed */
/* From now on `memory` reads the memory of processes. It must outlive c. */
void code_frames_read_by(struct code_frames *c, struct memory_reader *memory);
/* Records the mappings of a process that has not begun yet, and of its children: code that they
 * have unmapped is found, too. */
void code_frames_record(struct code_frames *c, pid_t pid);
/* False: nothing is known of where a process has its code. */
bool code_frames_has_code(const struct code_frames *c, const struct code_map *map);
/* Reads the recorded mappings. To be called often, or records are lost. */
void code_frames_poll(struct code_frames *c);
/*
 * puts_off: from now on lookups that take long are put off: their results mean nothing, and
 * code_frames_waits() is true. The same call later may have its answer.
 */
void code_frames_put_off(struct code_frames *c, bool puts_off);
/* A lookup was put off since the last call. */
bool code_frames_waits(struct code_frames *c);
/* The run was asked to end: lookups that take long are given up. */
void code_frames_hurry(struct code_frames *c);

/*
 * Reads the mappings of a process, unless that was done less than 100 ms ago, `soon`: 1 ms, or took
 * long. Of one that has ended the last ones stay. Modules are opened now, as they may be gone
 * later.
 */
void code_map_read(struct code_frames *c, struct code_map *map, pid_t pid, bool soon);
/* Takes its mappings (MAPS_TRACED) from a list that was read just now. */
void code_map_set(struct code_frames *c, struct code_map *map, pid_t pid,
		  const struct maps_list *maps);
/* A child has its parent's mappings until its own are read, or its code_map_exec(): it may have
 * ended before. Without memory it has none. */
void code_map_inherit(struct code_map *map, const struct code_map *parent);
/* The process runs another program: the mappings are to be read again. */
void code_map_exec(struct code_map *map);
void code_map_done(struct code_map *map);

/* Writes the name of a function to be used in place of the linker's. False: it has no other. */
typedef bool code_rename(const char *symbol, char *ret, size_t cap);

/* Addresses of a process, the innermost first. */
struct code_stack {
	const uint64_t *address;
	size_t count;
	bool returns;	     /* the first one is a return address, as the others are */
	uint32_t outer;	     /* the stack that they extend; 0: none */
	code_rename *rename; /* NULL: functions have the linker's names; one of a run */
};

/*
 * The stack without the innermost frames that are of libebtrace-probes. It is valid until the next
 * stacks_reclaim() unless it is held. If an address is in no mapping, the mappings are read again.
 * 0 or -ENOMEM.
 */
int code_frames_stack(struct code_frames *c, struct code_map *map, pid_t pid,
		      const struct code_stack *s, uint32_t *ret);
/* How the stack is unwound from an address, which the function returns to unless it is the
 * innermost. */
struct unwind_rule code_frames_unwind(struct code_frames *c, struct code_map *map, pid_t pid,
				      uint64_t address, bool is_innermost);

/* A position in the source. What is not known is NULL or 0. */
struct code_position {
	const char *function, *file;
	uint32_t line, start_char, end_char;
	bool has_chars;
};

/* How a return address is resolved that has positions of its own. */
struct code_lookup {
	uint16_t variant; /* addresses have different positions in each; below 2^15 */
	/* Writes the positions, the outermost first, FRAME_POSITIONS_MAX at most. Their strings are
	 * valid until the next call. Returns their number; 0: as the symbols have it. */
	unsigned (*find)(void *ctx, struct code_memory *memory, struct code_position *ret);
	void *ctx;
};

/* The frame of a return address, which the caller holds. `find` is called once for each place in a
 * module and variant. 0: no memory. */
uint32_t code_frames_return(struct code_frames *c, struct code_map *map, pid_t pid,
			    uint64_t address, const struct code_lookup *by);
/* The memory around a return address. False: it is in no module. */
bool code_frames_memory(struct code_frames *c, struct code_map *map, pid_t pid, uint64_t address,
			struct code_memory *ret);
/* The name of the function that has an address, or to which it returns; valid as long as c is not
 * read again. NULL: it has none, or no memory. */
const char *code_frames_function(struct code_frames *c, struct code_map *map, pid_t pid,
				 uint64_t address, bool returns);
/* True if the address is in a mapping that is executable. */
bool code_frames_is_code(struct code_frames *c, struct code_map *map, pid_t pid, uint64_t address);
struct session *code_frames_session(const struct code_frames *c);
/* A frame that is only a name, which the caller holds. 0: no memory. */
uint32_t code_frames_named(struct code_frames *c, const char *name);

#endif

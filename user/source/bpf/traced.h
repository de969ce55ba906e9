/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The traced processes by slot, to which the registry's entries refer while they are traced
 * (struct process, in_bpf), and when each is scanned for files to probe: at once when it is new
 * or has called exec, at growing distances while it loads its libraries, and then with all others.
 * A new process can be held while it is scanned. A slot is used again when its process has ended
 * and its last record has been read; free slots are used round-robin.
 */
#ifndef SOURCE_BPF_TRACED_H
#define SOURCE_BPF_TRACED_H

#include "session/processes.h"
#include "source/bpf/alloc_process.h"
#include "source/bpf/event_stacks.h"
#include "source/bpf/files.h"
#include "source/pages/spaces.h"

struct bpf_life {
	uint32_t process;    /* its index in the registry */
	uint64_t dev, inode; /* of its program */
	uint64_t born_ns, end_ns;
};
struct bpf_unseen {
	struct bpf_life *life; /* the last ones */
	uint32_t lives;
	uint32_t left_out;    /* there was no room for them */
	uint32_t known_files; /* when they were last asked about */
};
/* Those of which it is not known whether something was missed. */
static inline uint32_t bpf_unseen_unknown(const struct bpf_unseen *u)
{
	return u->lives + u->left_out;
}

/* The file that a process executes; path: as it was given to exec(), NULL: not known. */
struct bpf_program {
	uint64_t dev, inode;
	const char *path;
};

struct bpf_process {
	uint32_t slot;
	pid_t pid;
	uint32_t process; /* its index in the registry */
	uint64_t serial;  /* never used twice */
	bool ended;
	bool named;	     /* the session knows which runtime it has */
	uint64_t end_ns;     /* when its end was noticed */
	uint64_t since_ns;   /* added, or its last exec */
	uint64_t born_ns;    /* its last fork or exec; 0: it ran when it was attached to */
	uint64_t scanned_ns; /* when its mappings were read last; 0: never since then */
	bool unmapped;	     /* at its last scan it had none: it may have ended */
	uint64_t exe_dev, exe_inode;
	char *exe_path; /* of its last exec, until it has been scanned; or NULL */
	uint32_t
		parent; /* its slot and serial, of a process that has not called exec; EBT_NO_SLOT */
	uint64_t parent_serial;
	bool young;	  /* among the young ones of bpf_traced */
	bool pending;	  /* to be scanned as soon as possible */
	bool held;	  /* by hold_begin() */
	uint64_t held_ns; /* since then; 0: it runs */
	uint8_t scans;	  /* scans since then; see young_ns() */
	struct bpf_files files;
	struct alloc_process allocs;
	struct page_user pages;
};

/* Whether the kernel has a slot, to assign it to a child. */
enum bpf_slot_state {
	BPF_SLOT_OURS = 0,
	BPF_SLOT_IN_KERNEL = 1,
	BPF_SLOT_LOST = 2, /* IN_KERNEL, and the last search did not find it there */
};

struct bpf_traced {
	struct processes *processes; /* the registry, which is referred to for each process */
	/* What could have been seen of the process from `since` to `until` was not. May be NULL. */
	void (*unwatched)(void *ctx, uint32_t process, uint64_t since_ns, uint64_t until_ns);
	/* The same, as its probes were gone, which a scan has noticed at `until`. May be NULL. */
	void (*cut)(void *ctx, uint32_t process, uint64_t since_ns, uint64_t until_ns);
	/* The same, but the ring of the process has it. May be NULL. */
	void (*in_ring)(void *ctx, pid_t pid);
	void *ctx;
	struct bpf_scanner by;
	struct code_frames *code; /* of the stacks of allocations; NULL: there are none */
	bool hold;		  /* new processes, while probes are put into them */
	bool no_files;		  /* nothing is to be probed in files */

	struct bpf_process **slot; /* NULL: no process uses it */
	uint32_t slots;
	uint32_t *
		free; /* a queue of free slots: [first_free, first_free + frees), modulo slots_room */
	uint32_t frees, first_free, slots_room;
	uint8_t *state;		    /* by slot: enum bpf_slot_state */
	uint32_t in_kernel;	    /* slots in state IN_KERNEL or LOST */
	uint32_t *young, youngs;    /* slots that are scanned by themselves; room for all */
	struct bpf_process **ended; /* not yet released, in order of their end */
	uint32_t ends, ends_room;
	uint64_t last_serial;	/* processes that were ever added */
	uint32_t first_process; /* the first of them */
	struct bpf_unseen unseen;
};

/* Reserves a slot for bpf_traced_add(); or -ENOMEM. */
int bpf_traced_reserve_slot(struct bpf_traced *t);
/* Frees a reserved slot. */
void bpf_traced_free_slot(struct bpf_traced *t, uint32_t slot);
/* The kernel has the reserved slot now, for the child of a fork. */
void bpf_traced_offer_slot(struct bpf_traced *t, uint32_t slot);
/* The kernel has assigned the slot, as a record says, and it is reserved again. False: it did not
 * have it. */
bool bpf_traced_take_slot(struct bpf_traced *t, uint32_t slot);
/*
 * After records were dropped: found[] is true for slots that are in the kernel's queue or its map.
 * A slot of the kernel that two searches in a row did not find, with all records received between
 * them, is lost: no record will name it, and it is freed. True if another search is needed.
 */
bool bpf_traced_free_lost_slots(struct bpf_traced *t, const bool *found);
/* Adds a process that is not traced, in a reserved slot; process: its index in the registry. It
 * stays until its slot is released. NULL: no memory. */
struct bpf_process *bpf_traced_add(struct bpf_traced *t, uint32_t slot, pid_t pid,
				   uint32_t process);
/* A process that is still traced; or NULL. */
struct bpf_process *bpf_traced_find(const struct bpf_traced *t, pid_t pid);
/* The process of a slot, which may have ended; NULL: it has none. */
static inline struct bpf_process *bpf_traced_get(const struct bpf_traced *t, uint32_t slot)
{
	return slot < t->slots ? t->slot[slot] : NULL;
}

/* Attaches to what is new in the process. The number of new sites, or -errno. */
int bpf_traced_scan(struct bpf_traced *t, struct bpf_process *proc);
/* The process is new, born at `ts` as a child of `parent` (NULL: not known). */
void bpf_traced_fork(struct bpf_traced *t, struct bpf_process *proc,
		     const struct bpf_process *parent, uint64_t ts);
/* The process runs another program since `ts`, or the same one anew. */
void bpf_traced_exec(struct bpf_traced *t, struct bpf_process *proc, uint64_t ts,
		     const struct bpf_program *program);
/* Scans those that are new, and again those that still load their libraries. */
void bpf_traced_scan_young(struct bpf_traced *t);
void bpf_traced_scan_all(struct bpf_traced *t);
/* The process is no more, or no more traced: detaches. */
void bpf_traced_end(struct bpf_traced *t, struct bpf_process *proc);
/* Releases the processes that have ended and of which `may` is true: their slots may be used
 * again. */
void bpf_traced_release(struct bpf_traced *t,
			bool (*may)(void *ctx, const struct bpf_process *proc), void *ctx);
void bpf_traced_detach(struct bpf_traced *t); /* ends all of them */
void bpf_traced_done(struct bpf_traced *t);

#endif

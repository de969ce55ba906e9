/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which processes are traced, by slot: how each came to be, what it runs, and its end. The
 * registry's entries refer to them (struct process, in_bpf). What each has mapped is read by the
 * caller, which is notified when that is due: the process is new, or has called exec, or a file
 * could not be probed. A new process can be held until then.
 *
 * The kernel assigns slots to the children of traced processes. Free slots are used round-robin:
 *
 *	free		-> reserved	reserve_slot()
 *	reserved	-> used		add(), until its process has ended and release() frees it
 *			-> in kernel	offer_slot()
 *			-> free		free_slot()
 *	in kernel	-> reserved	take_slot(): a record names it
 *			-> free		free_lost_slots(): no record will name it
 */
#ifndef SOURCE_BPF_TRACED_H
#define SOURCE_BPF_TRACED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "session/processes.h"
#include "source/bpf/alloc_process.h"
#include "source/bpf/counted.h"
#include "source/bpf/files.h"
#include "source/bpf/plan.h"
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
/* Those that may have missed something, which is not known. */
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
	bool called;	     /* it was asked for its name, for its first span, */
	bool was_called;     /* and the session has that: until its next exec */
	uint64_t end_ns;     /* when its end was noticed */
	uint64_t since_ns;   /* added, or its last exec */
	uint64_t born_ns;    /* its last fork or exec; 0: it ran when it was attached to */
	uint64_t found_ns;   /* as in struct bpf_scan */
	uint64_t scanned_ns; /* when its mappings were read last; 0: never since then */
	uint64_t missed_ns;  /* what it missed until then has been reported */
	bool unmapped;	     /* it had none then: it may have ended */
	uint64_t exe_dev, exe_inode;
	char *exe_path; /* of its last exec, until it has been scanned; or NULL */
	uint32_t
		/* its slot and serial, of a process that has not called exec; EBT_NO_SLOT */
		parent;
	uint64_t parent_serial;
	bool young;   /* among the young ones of bpf_traced */
	bool pending; /* its mappings have not been read since it was born, or called exec */
	bool held;    /* by exec_holder_hold() */
	bool covered; /* as of struct process_event, until it calls exec */
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

struct bpf_traced_options {
	struct processes *processes; /* the registry, which is referred to for each process */
	struct code_frames *code;    /* of the stacks of allocations; NULL: there are none */
	struct page_spaces *pages;   /* NULL: pages are not watched */
	struct bpf_counted *counted; /* NULL: events are not counted in maps */
	int notices;   /* of execs, for the holder of new processes (exec_holder.h); 0: no holder */
	bool no_files; /* nothing is to be probed in files */
	bool threads;  /* records say when processes begin threads */
	/* What could have been seen of the process from `since` to `until` was not. May be NULL. */
	void (*unwatched)(void *ctx, uint32_t process, uint64_t since_ns, uint64_t until_ns);
	/* Nor this, as its probes were gone, which a scan has noticed at `until`. May be NULL. */
	void (*cut)(void *ctx, uint32_t process, uint64_t since_ns, uint64_t until_ns);
	void (*report)(void *ctx, const struct process_event *e); /* may be NULL */
	void *ctx;
};

/* How a process came to be. */
struct bpf_birth {
	const struct bpf_process *parent; /* NULL: not known */
	struct process_start start;
	uint64_t ts;		/* of the fork; 0: it gets its links when it has called exec */
	bool shares_memory;	/* with its parent, until it calls exec */
	int64_t clock_ahead_ns; /* as of struct process */
	bool was_there;		/* it is no child, but it was not known */
	const char *comm;	/* of the parent; NULL: not known */
};

/* Read it, but do not write it. Zeroed memory has no processes. */
struct bpf_traced {
	struct bpf_traced_options opt;
	struct bpf_scanner by;

	struct bpf_process **slot; /* NULL: no process uses it */
	uint32_t slots;
	uint32_t *
		/* a queue of free slots: [first_free, first_free + frees), modulo slots_room */
		free;
	uint32_t frees, first_free, slots_room;
	uint8_t *state;		    /* by slot: enum bpf_slot_state */
	uint32_t in_kernel;	    /* slots in state IN_KERNEL or LOST */
	uint32_t *young, youngs;    /* slots of those that are, or were, pending; room for all */
	uint32_t closes;	    /* links that were closed when the holder's verdicts began */
	struct bpf_process **ended; /* not yet released, in order of their end */
	uint32_t ends, ends_room;
	uint64_t last_serial;	    /* processes that were ever added */
	uint32_t first_process;	    /* the first of them */
	struct exec_holder *holder; /* NULL: none */
	struct bpf_unseen unseen;
	bool stopped; /* no process is scanned any more; those that are added have ended */
	int error;    /* the first one of pages that no record is of */
};

/* by: the links and attachers as they begin, and what they may do. */
void bpf_traced_init(struct bpf_traced *t, const struct bpf_traced_options *opt,
		     const struct bpf_scanner *by);

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
/* Adds a process of the registry that is not traced, in a reserved slot. It stays until its slot is
 * released. NULL: no memory. */
struct bpf_process *bpf_traced_add(struct bpf_traced *t, uint32_t slot, pid_t pid,
				   uint32_t process);
/* Adds a living process, entering it into the registry. start: NULL if not known. */
struct bpf_process *bpf_traced_begin(struct bpf_traced *t, uint32_t slot, pid_t pid,
				     const struct process_start *start);
/* Adds a process that the kernel has put into this slot: it gets its links at its first scan.
 * now_ns: when one that had its pid has ended at the latest. */
void bpf_traced_add_child(struct bpf_traced *t, pid_t pid, uint32_t slot,
			  const struct bpf_birth *birth, uint64_t now_ns);
/* Begins to watch the pages of a process that runs already. 0, or as page_user_begin(). */
int bpf_traced_begin_pages(struct bpf_traced *t, struct bpf_process *proc);
/* A process that is still traced; or NULL. */
struct bpf_process *bpf_traced_find(const struct bpf_traced *t, pid_t pid);
/* Whether no other processes execute this file than those that are traced and their children. False
 * also where they cannot be listed. */
bool bpf_traced_alone(struct bpf_traced *t, uint64_t dev, uint64_t inode);
/* The process of a slot, which may have ended; NULL: it has none. */
static inline struct bpf_process *bpf_traced_get(const struct bpf_traced *t, uint32_t slot)
{
	return slot < t->slots ? t->slot[slot] : NULL;
}

/* The session knows now which runtime the process has. */
static inline void bpf_process_named(struct bpf_process *proc)
{
	proc->named = true;
}
/* Sites that are attached now, in all processes. */
static inline uint32_t bpf_traced_sites(const struct bpf_traced *t)
{
	return t->by.links.sites;
}
/* Calls report(). */
static inline void bpf_traced_publish(const struct bpf_traced *t, const struct process_event *e)
{
	if (t->opt.report)
		t->opt.report(t->opt.ctx, e);
}
static inline void bpf_traced_report(const struct bpf_traced *t, pid_t pid,
				     enum process_event_kind kind, uint64_t ts)
{
	bpf_traced_publish(
		t, &(struct process_event){.kind = kind, .pid = pid, .ts = ts, .by_bpf = true});
}

/* Attaches to what is new among the process's mappings, as they were at read_ns. The number of new
 * sites, or -errno. */
int bpf_traced_scan(struct bpf_traced *t, struct bpf_process *proc, const struct maps_list *maps,
		    uint64_t read_ns);
/* The mappings were at read_ns as they were at the last scan. */
void bpf_traced_unchanged(struct bpf_process *proc, uint64_t read_ns);
/* The process is new, born at `ts` as a child of `parent` (NULL: not known). */
void bpf_traced_fork(struct bpf_traced *t, struct bpf_process *proc,
		     const struct bpf_process *parent, uint64_t ts);
/* The process runs another program since `ts`, or the same one anew. */
void bpf_traced_exec(struct bpf_traced *t, struct bpf_process *proc, uint64_t ts,
		     const struct bpf_program *program);
/* Calls report() with its exec. comm: its name since. */
void bpf_traced_report_exec(const struct bpf_traced *t, const struct bpf_process *proc, uint64_t ts,
			    const char *comm);
/* No process may be probed by this program: it was refused, and some process needs it. */
void bpf_traced_refuse(struct bpf_traced *t, enum bpf_probe program);
/* The process is held if its mappings are another program's: they can be read before the kernel
 * reports the exec, which is over when it is held. True: that is so. */
bool bpf_traced_expect(struct bpf_traced *t, struct bpf_process *proc,
		       const struct maps_list *maps);
/* True if the mappings were read before the process's last exec. */
bool bpf_traced_is_older(const struct bpf_process *proc, uint64_t read_ns);
/* Holds those that are new, and lets go of those that have been scanned. */
void bpf_traced_hold_young(struct bpf_traced *t);
/* Attaches and detaches as time has it, and checks that the probes are still there. */
void bpf_traced_update_all(struct bpf_traced *t);
/* The process is no more, or no more traced: detaches. */
void bpf_traced_end(struct bpf_traced *t, struct bpf_process *proc);
/* The process has ended, at ts: its pages and its entry in the registry end with it. */
void bpf_traced_exited(struct bpf_traced *t, struct bpf_process *proc, uint64_t ts);
/* Releases the processes that have ended, if `may` is true for them: their slots may be used
 * again. */
void bpf_traced_release(struct bpf_traced *t,
			bool (*may)(void *ctx, const struct bpf_process *proc), void *ctx);
void bpf_traced_stop(struct bpf_traced *t);   /* no process is scanned any more */
void bpf_traced_detach(struct bpf_traced *t); /* ends all of them */
void bpf_traced_done(struct bpf_traced *t);

#endif

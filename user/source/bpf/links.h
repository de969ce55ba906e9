/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The probe links: one for a file in one process, or, if the attacher can share it, one for all
 * processes that run the file (the BPF program then reads the process's slot from a map). A shared
 * link stays open when its last process ends, for the next one. With many such links
 * the one used longest ago is closed. Untraced processes that run the file hit its probes, too:
 * above some rate the link goes, and each traced process gets its own.
 *
 * How a shared link goes: at its next update each process gets a link of its own. Hits of these do
 * not count yet. When all are there a time is set: from then on they count, and hits of the shared
 * link do not. Both decide by the time stamp of the event, so none is missed or counted
 * twice; where each takes the time itself, one that passes at that very moment may be. When that
 * time is over all hits are of the new links, whatever their time stamps are, and the shared one is
 * closed.
 */
#ifndef SOURCE_BPF_LINKS_H
#define SOURCE_BPF_LINKS_H

#include "base/ptrmap.h"
#include "source/bpf/attachers.h"
#include "source/bpf/link_keeper.h"

struct bpf_links {
	/* Makes a link, by the program of spec->probe (enum bpf_probe): a descriptor, or -errno.
	 * Closing it removes the probes, which takes tens of milliseconds in another process. */
	int (*attach)(void *ctx, const struct link_spec *spec);
	/* Called with the number of sites that are about to be linked in a process, before the
	 * first of them is. NULL: no such call, and nothing is planned ahead. */
	void (*announce)(void *ctx, uint32_t sites);
	/* False: the probes of a link are gone, as the process was killed that held them. NULL:
	 * they never are. */
	bool (*holds)(int fd);
	/* Hits of a shared link by processes that are not traced, by the key of its plan. */
	uint64_t (*foreign)(void *ctx, uint32_t key);
	void *ctx;
	uint32_t sites;				   /* attached now */
	uint32_t closes;			   /* links that were closed */
	PTRMAP(struct bpf_shared) shared;	   /* by file and attacher */
	struct bpf_shared *first_idle, *last_idle; /* those without users, longest ago first */
	uint32_t idles;
	struct bpf_shared *going[EBT_HANDOVERS]; /* by their keys modulo that; NULL: none */
};
struct bpf_link {
	const struct attacher *by;
	int fd; /* < 0: none */
	uint32_t sites;
	uint32_t key; /* of its plan */
};
struct bpf_shared {
	const struct attacher *by;
	uint64_t dev, inode;
	struct bpf_link link;
	uint64_t since_ns; /* its probes are in place */
	bool goes;
	unsigned rounds;   /* in which all processes were updated since it goes */
	uint64_t until_ns; /* hits after that do not count, and it has no new users; 0: all do */
	uint64_t gone_ns;  /* closed finally, or never to be made; 0: not */
	uint32_t users;
	uint32_t cuts; /* how often its probes were gone */
	struct bpf_shared *prev_idle, *next_idle;
	uint64_t foreign, checked_ns;
	uint64_t held_ns; /* when its probes were found in place last */
};
/* True if a shared link of the attacher has probed the file in all processes since before born_ns.
 * by: NULL: one has, of each attacher that can share it. */
bool bpf_links_cover(const struct bpf_links *l, const struct attacher *by, uint64_t dev,
		     uint64_t inode, uint64_t born_ns);
/* Which link is made. */
struct link_of {
	int file;
	pid_t pid;     /* <= 0: shared by all processes */
	int beside;    /* as of struct link_spec */
	uint32_t heir; /* key of the shared link that goes, and had the process; 0: none */
};
/* Plans a link: 0, or -errno with nothing planned. The plan is either attached or dropped. */
int bpf_links_plan(struct attach_env *env, const struct attacher *by, void *state,
		   const struct link_of *of, struct attach_plan *ret);
/* Makes a planned link. The number of its sites (0: none were planned, no link), or -errno. */
int bpf_links_attach(struct bpf_links *l, struct attach_env *env, const struct attacher *by,
		     struct attach_plan *plan, const struct link_of *of, struct bpf_link *ret);
void bpf_links_drop(struct attach_env *env, const struct attacher *by, struct attach_plan *plan);
/* Plans and makes a link. The number of its sites (0: none were planned, no link), or -errno. */
int bpf_links_open(struct bpf_links *l, struct attach_env *env, const struct attacher *by,
		   void *state, const struct link_of *of, struct bpf_link *ret);
void bpf_links_close(struct bpf_links *l, struct attach_env *env, struct bpf_link *link);
/* Closes a link if its probes are gone. False: they were gone. */
bool bpf_links_check(struct bpf_links *l, struct attach_env *env, struct bpf_link *link);
/* A shared link goes. heirs: those of its users that need links of their own. False: not now, as
 * another one does that has its place. */
bool bpf_links_unshare(struct bpf_links *l, struct attach_env *env, struct bpf_shared *sh,
		       uint32_t heirs, uint64_t now_ns);
/* The next step of the shared links that go. Called before all processes are updated. */
void bpf_links_hand_over(struct bpf_links *l, struct attach_env *env, uint64_t now_ns);
/* The key of the shared link of a file that goes: of the links of its own that a process gets
 * meanwhile; 0: none does. */
uint32_t bpf_links_heir(const struct bpf_links *l, const struct attacher *by, uint64_t dev,
			uint64_t inode);
/* Shared links that untraced processes hit too often, or, of an attacher that is exclusive, at all,
 * go. Called periodically, before all processes are updated. */
void bpf_links_check_foreign(struct bpf_links *l, struct attach_env *env, uint64_t now_ns);
/* The shared link of a file, added if there is none (then link.fd < 0: not attached); adds a user.
 * NULL: the file is not shared any more, or no memory. */
struct bpf_shared *bpf_links_share(struct bpf_links *l, struct attach_env *env,
				   const struct attacher *by, uint64_t dev, uint64_t inode);
/* True if a file was shared, also if it is not any more. */
bool bpf_links_knows(const struct bpf_links *l, const struct attacher *by, uint64_t dev,
		     uint64_t inode);
/* Removes a user. */
void bpf_links_leave(struct bpf_links *l, struct attach_env *env, struct bpf_shared *sh);
void bpf_links_close_shared(struct bpf_links *l, struct attach_env *env); /* when no user is left */

#endif

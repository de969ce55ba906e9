/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probe links that no signal to the tracer can damage. If a task with a pending fatal signal
 * removes a uprobe, or fails to add one, the kernel stops half-way, and the program keeps the
 * breakpoint for ever. So the tracer neither makes nor closes a link. A process of its own, a
 * holder, makes each link and holds it until the tracer's end of a socket pair is closed, by the
 * tracer or by its death. Then the holder exits, which removes the probes: an exiting process
 * handles no more signals. Another process forks the holders: the keeper, which is small, has a
 * session of its own, and blocks all signals. Holders share its memory, and a thread waits for
 * each, as most of what a short link costs would be a copy of that.
 *
 * For each link that a process removes the kernel waits, some 40 ms, one after the other; processes
 * that exit wait at the same time. So a holder has few links: those of one file in one process.
 *
 * What remains: SIGKILL sent to a holder itself while it makes its link. If it is sent later the
 * probes are gone; its link then says so.
 */
#ifndef SOURCE_BPF_LINK_KEEPER_H
#define SOURCE_BPF_LINK_KEEPER_H

#include "source/bpf/uprobe.h"

#include <stdbool.h>

#define LINK_MAKER_FDS 5

struct link_keeper;

struct link_spec {
	int file;	/* the probed file; in a holder, a descriptor of the same file */
	uint32_t probe; /* for make() */
	pid_t pid;	/* <= 0: all processes */
	const struct uprobe_site *site;
	uint32_t sites;
	/* A link of the same file and process, made before: its holder makes and holds this one,
	 * too, so that both are removed when both are closed. <= 0: a holder of its own. */
	int beside;
};

struct link_maker {
	/* Called in a holder: makes the link as open descriptors. 0 or -errno. If it uses the heap,
	 * a SIGKILL at that moment may leave it locked in the keeper. */
	int (*make)(void *ctx, const struct link_spec *spec);
	void *ctx;
	/* Holders close all descriptors of the tracer except these; < 0: none. */
	int fds[LINK_MAKER_FDS];
};

/* Forks the keeper, a copy of the tracer: call it while that is small. 0 or -errno. */
int link_keeper_new(const struct link_maker *maker, struct link_keeper **ret);
/* Makes a link: a close-on-exec descriptor; closing it detaches asynchronously. Or -errno. */
int link_keeper_attach(struct link_keeper *k, const struct link_spec *spec);
/* False: its holder was killed, and the probes of the link are removed. */
bool link_keeper_holds(int link);
/* True: it was killed. Links stay, but no more can be made. */
bool link_keeper_has_ended(const struct link_keeper *k);
/* Takes over the links of one that was killed. */
void link_keeper_replace(struct link_keeper *k, struct link_keeper *older);
/* Removes all links, also open ones, and waits until they are removed. NULL is allowed. */
void link_keeper_free(struct link_keeper *k);
/* Removes the probes; link_keeper_free() then frees the rest. False: after wait_ns they are not
 * removed yet; link_keeper_free() waits for that. */
bool link_keeper_stop(struct link_keeper *k, uint64_t wait_ns);
/*
 * Forks a process that closes these descriptors, of links that are no uprobes, some time after the
 * tracer has: close what this returns when that is done. For each of them the kernel may wait 0.1
 * s, but the tracer then does not. -errno: there is no such process.
 */
int link_keeper_close_behind(const int *fd, size_t n);

#endif

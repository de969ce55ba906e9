/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probe links that no signal to the tracer can damage. The kernel gives up half-way when it removes a
 * uprobe, or fails to add one, for a task with a fatal signal pending: the program then keeps the
 * breakpoint for ever. So the tracer neither makes nor closes a link. Each one is made and held by a
 * process of its own, a holder, until the tracer's end of a socket pair is closed, by the tracer or
 * by its death. Then the holder ends, and that removes the probes: an ending process takes no more
 * signals. Holders are forked by one more process, the keeper, which is small, has a session of its
 * own, and blocks all signals.
 *
 * What remains: SIGKILL sent to a holder itself while it makes its link.
 */
#ifndef SOURCE_LINK_KEEPER_H
#define SOURCE_LINK_KEEPER_H

#include "source/uprobe.h"

#define LINK_MAKER_FDS 4

struct link_keeper;

struct link_spec {
	int file;	/* the probed one; in a holder, a descriptor of the same file */
	uint32_t probe; /* for make() */
	pid_t pid;	/* <= 0: all processes */
	const struct uprobe_site *site;
	uint32_t sites;
};

struct link_maker {
	/* Called in a holder: makes the link, of descriptors that are left open. 0 or -errno. */
	int (*make)(void *ctx, const struct link_spec *spec);
	void *ctx;
	/* All descriptors of the tracer but these are closed in holders; < 0: none. */
	int fds[LINK_MAKER_FDS];
};

/* Forks the keeper, with the tracer's memory as it is now: call it early. 0 or -errno. */
int link_keeper_new(const struct link_maker *maker, struct link_keeper **ret);
/* Makes a link: a descriptor, close-on-exec, that detaches when it is closed, without waiting; or
 * -errno. */
int link_keeper_attach(struct link_keeper *k, const struct link_spec *spec);
/* Waits until every link is gone, whether or not its descriptor was closed. NULL is allowed. */
void link_keeper_free(struct link_keeper *k);

#endif

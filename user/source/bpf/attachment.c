// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/attachment.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

bool attachment_may_retry(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -EBUSY;
}

static bool is_given_up(const struct attachment *a)
{
	return a->err && !attachment_may_retry(a->err);
}

/* Leaves a->shared NULL where the file cannot be probed in all processes at once. */
static void share(struct bpf_links *l, struct attach_env *env, struct attachment *a, int file)
{
	struct stat st;
	if (env->share && a->by->is_shareable && a->by->is_shareable(a->state) && !fstat(file, &st))
		a->shared = bpf_links_share(l, env, st.st_dev, st.st_ino);
	a->cuts = a->shared ? a->shared->cuts : 0;
}

bool attachment_is_cut(struct bpf_links *l, struct attach_env *env, struct attachment *a)
{
	if (!a->by || !a->shared)
		return a->by && !bpf_links_check(l, env, &a->link);
	a->shared->cuts += !bpf_links_check(l, env, &a->shared->link);
	return a->watched && a->cuts != a->shared->cuts;
}

int attachment_begin(struct bpf_links *l, struct attach_env *env, const struct attacher *by,
		     const struct attach_process *process, const struct attach_file *file,
		     struct attachment *ret)
{
	struct attachment a = {.by = by, .pid = process->pid, .link.fd = -1};
	struct attach_file own = *file;
	own.fd = a.file = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	if (a.file < 0)
		return -errno;
	int err = by->begin(env, process, &own, &a.state);
	if (err) {
		close(a.file);
		return err;
	}
	share(l, env, &a, a.file);
	*ret = a;
	return 0;
}

/* The first process that is to be probed brings the link, which the others find in place. */
static int update_shared(struct bpf_links *l, struct attach_env *env, struct attachment *a,
			 enum attach_when when, uint64_t now_ns)
{
	struct bpf_shared *sh = a->shared;
	if (when == ATTACH_NOT) {
		/* It would pay for each event: probes and ring. */
		bpf_links_unshare(l, env, sh, now_ns);
		return 0;
	}
	if (a->watched || is_given_up(a) || when == ATTACH_LATER)
		return 0;
	if (!bpf_links_check(l, env, &sh->link))
		a->cuts = ++sh->cuts;
	if (sh->link.fd < 0) {
		int n = bpf_links_open(l, env, a->by, a->state, a->file, 0, &sh->link);
		a->err = n < 0 ? n : 0;
		if (n <= 0)
			return n;
		sh->since_ns = clock_ns(CLOCK_MONOTONIC);
	}
	a->watched = true;
	return (int)sh->link.sites;
}

static void leave_shared(struct bpf_links *l, struct attach_env *env, struct attachment *a)
{
	a->unshared_ns = a->watched ? a->shared->gone_ns : 0;
	bpf_links_leave(l, env, a->shared);
	a->shared = NULL;
}

static void close_file(struct attachment *a)
{
	if (a->file >= 0)
		close(a->file);
	a->file = -1;
}

/* Whether a link of its own is to be made. */
static bool is_due(const struct attachment *a, enum attach_when when)
{
	return when == ATTACH_NOW && a->link.fd < 0 && !is_given_up(a) && a->file >= 0;
}

uint32_t attachment_plan(struct attach_env *env, struct attachment *a, uint64_t now_ns)
{
	if (a->shared || !is_due(a, ATTACH_NOW))
		return 0;
	if (!a->plan.site && is_due(a, a->by->update(a->state, now_ns)))
		bpf_links_plan(env, a->by, a->state, false, &a->plan);
	return a->plan.sites;
}

static int open_own(struct bpf_links *l, struct attach_env *env, struct attachment *a)
{
	if (!a->plan.site)
		return bpf_links_open(l, env, a->by, a->state, a->file, a->pid, &a->link);
	return bpf_links_attach(l, env, a->by, &a->plan, a->file, a->pid, &a->link);
}

int attachment_update(struct bpf_links *l, struct attach_env *env, struct attachment *a,
		      uint64_t now_ns)
{
	enum attach_when when = a->by->update(a->state, now_ns);
	a->left_alone = when == ATTACH_NOT;
	if (a->shared && !a->shared->gone_ns)
		return update_shared(l, env, a, when, now_ns);
	if (a->shared)
		leave_shared(l, env, a);
	if (when == ATTACH_NOT && a->link.fd >= 0) {
		log_at(LOG_VERBOSE, "process %d records events itself now: no probes any more",
		       a->pid);
		bpf_links_close(l, env, &a->link);
	}
	if (!is_due(a, when))
		return 0;
	int n = open_own(l, env, a);
	a->err = n < 0 ? n : 0;
	if (!a->by->changes && !attachment_may_retry(n))
		close_file(a);
	return n;
}

uint64_t attachment_missed(const struct attachment *a, uint64_t unwatched_ns)
{
	if (a->unshared_ns)
		return a->unshared_ns;
	bool before = a->shared && a->shared->since_ns <= unwatched_ns;
	return before ? 0 : unwatched_ns;
}

void attachment_end(struct bpf_links *l, struct attach_env *env, struct attachment *a)
{
	if (!a->by)
		return;
	bpf_links_close(l, env, &a->link);
	bpf_links_drop(env, a->by, &a->plan);
	if (a->shared)
		bpf_links_leave(l, env, a->shared);
	close_file(a);
	a->by->end(a->state);
	*a = (struct attachment){0};
}

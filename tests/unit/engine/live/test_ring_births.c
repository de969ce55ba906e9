/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that appear in a directory of rings: each that may be one of ours is opened before its
 * process can remove it, or counted as missed. */
#include "engine/live/ring_births.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

struct directory {
	char path[40];
	int fd;
	struct ring_births births;
	/* What the user answers, and was asked. */
	enum ring_parent answer;
	bool is_stranger;
	unsigned asked, missed;
	pid_t last_missed;
};

static enum ring_parent parent(void *ctx, pid_t pid)
{
	struct directory *d = ctx;
	(void)pid;
	d->asked++;
	return d->answer;
}

static bool may_own(void *ctx, uid_t uid)
{
	return uid == getuid() && !((struct directory *)ctx)->is_stranger;
}

static void missed(void *ctx, pid_t pid)
{
	struct directory *d = ctx;
	d->missed++;
	d->last_missed = pid;
}

static void begin(struct directory *d, enum ring_parent answer)
{
	*d = (struct directory){.path = "/tmp/ebt-births-XXXXXX", .answer = answer};
	d->fd = mkdtemp(d->path) ? open(d->path, O_DIRECTORY | O_RDONLY | O_CLOEXEC) : -1;
	ring_births_init(&d->births);
	ring_births_watch(&d->births, d->fd);
	ring_births_watch(&d->births, d->fd);
	if (d->fd < 0 || d->births.fd < 0)
		abort();
}

static void end(struct directory *d)
{
	ring_births_done(&d->births);
	close(d->fd);
	if (rmdir(d->path))
		diag("%s is not empty", d->path);
}

static void make(const struct directory *d, const char *name)
{
	int fd = openat(d->fd, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, name, strlen(name)) < 0)
		abort();
	close(fd);
}

static void take_away(const struct directory *d, const char *name)
{
	if (unlinkat(d->fd, name, 0))
		abort();
}

static bool look(struct directory *d)
{
	const struct ring_births_user user = {parent, may_own, missed, d};
	return ring_births_read(&d->births, &user);
}

/* Whether the only file that waits holds this, though its name is gone. */
static bool holds(struct directory *d, pid_t pid, const char *want)
{
	char text[64] = "";
	const struct ring_birth *b = d->births.first;
	return b && !b->next && d->births.waiting == 1 && b->pid == pid &&
	       pread(b->fd, text, sizeof(text) - 1, 0) > 0 && !strcmp(text, want) &&
	       !strcmp(b->name, want);
}

static void test_ours(void)
{
	struct directory d;
	begin(&d, RING_PARENT_OURS);
	ok(!look(&d) && !d.asked, "without a new file nothing is asked");
	make(&d, "4711.events");
	ok(look(&d), "a new ring of ours is reported");
	take_away(&d, "4711.events");
	ok(holds(&d, 4711, "4711.events") && !d.births.first->is_second,
	   "it can be read when its process has removed it");
	is(d.asked, 1, "a directory that is watched twice reports it once");
	ok(!look(&d) && d.births.waiting == 1, "nor does it come again");
	int fd = d.births.first->fd;
	ring_births_remove(&d.births, &d.births.first);
	ok(!d.births.first && !d.births.waiting && fcntl(fd, F_GETFD) >= 0,
	   "one that is taken out leaves its descriptor to the caller");
	close(fd);

	make(&d, "some.tmp");
	look(&d);
	if (renameat(d.fd, "some.tmp", d.fd, "12-2.events"))
		abort();
	d.answer = RING_PARENT_READ;
	ok(look(&d) && d.births.first->pid == 12 && d.births.first->is_second,
	   "one that is moved there is new, and may be another one of a process that has one");
	take_away(&d, "12-2.events");
	is(d.missed, 0, "none is missed");
	end(&d);
}

/* A file that was there for a moment. */
static void test_gone(void)
{
	static const struct {
		enum ring_parent parent;
		unsigned missed;
		const char *name;
	} rows[] = {
		{RING_PARENT_OURS, 1, "a ring of ours that is gone already is missed"},
		{RING_PARENT_READ, 1, "so is another one of its process"},
		{RING_PARENT_GONE, 1, "and one of a process that has ended, which may be ours"},
		{RING_PARENT_OTHER, 0, "that of another program is not"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct directory d;
		begin(&d, rows[i].parent);
		make(&d, "77.events");
		take_away(&d, "77.events");
		ok(!look(&d) && !d.births.waiting && d.missed == rows[i].missed &&
			   d.last_missed == (rows[i].missed ? 77 : 0),
		   "%s", rows[i].name);
		end(&d);
	}
}

/* One that can be opened. */
static void test_others(void)
{
	struct directory d;
	begin(&d, RING_PARENT_GONE);
	make(&d, "5.events");
	ok(!look(&d) && d.missed == 1,
	   "a ring whose process has ended before it could be asked for its parent is missed");
	take_away(&d, "5.events");
	d.answer = RING_PARENT_OTHER;
	make(&d, "5.events");
	ok(!look(&d) && d.missed == 1, "another program's is left alone");
	take_away(&d, "5.events");
	d.answer = RING_PARENT_OURS;
	d.asked = 0;
	d.is_stranger = true;
	make(&d, "5.events");
	ok(!look(&d) && d.missed == 1 && !d.asked, "so is a file of another user");
	take_away(&d, "5.events");
	d.is_stranger = false;
	if (symlinkat("/etc/passwd", d.fd, "5.events") || mkdirat(d.fd, "6.events", 0700))
		abort();
	make(&d, "7.events.tmp");
	ok(!look(&d) && d.missed == 1 && !d.asked,
	   "and what is no ring: a link, a directory, another name");
	take_away(&d, "5.events");
	take_away(&d, "7.events.tmp");
	unlinkat(d.fd, "6.events", AT_REMOVEDIR);
	end(&d);
}

static void test_limits(void)
{
	struct directory d;
	struct rlimit was, few = {0};
	begin(&d, RING_PARENT_OURS);
	getrlimit(RLIMIT_NOFILE, &was);
	int free_fd = dup(d.fd);
	close(free_fd);
	few = (struct rlimit){(rlim_t)free_fd, was.rlim_max};
	make(&d, "8.events");
	setrlimit(RLIMIT_NOFILE, &few);
	ok(!look(&d) && d.missed == 1 && d.last_missed == 8,
	   "without a descriptor for it a ring is missed");
	setrlimit(RLIMIT_NOFILE, &was);
	take_away(&d, "8.events");

	/* More than the kernel queues. */
	unsigned most = 16384;
	FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
	if (!f || fscanf(f, "%u", &most) != 1 || most > 100000)
		most = 100000;
	if (f)
		fclose(f);
	for (unsigned i = 0; i <= most; i++) {
		make(&d, i % 2 ? "x" : "y");
		take_away(&d, i % 2 ? "x" : "y");
	}
	d.last_missed = 1;
	look(&d);
	ok(d.births.more && d.last_missed,
	   "one read does not take all of a long queue, and says so");
	for (unsigned i = 0; i < most / 100 && d.births.more; i++)
		look(&d);
	is(d.last_missed, 0, "where the kernel has dropped some it is not known whose");
	is(d.missed, 2, "which is said once");
	end(&d);
}

/* More than may wait; what is taken out gives its room back. */
static void test_waiting(void)
{
	struct ring_births b;
	unsigned kept = 0, wrong = 0;
	ring_births_init(&b);
	while (kept < 2000 && ring_births_keep(&b, -1, 1, "1.events"))
		kept++;
	ok(kept == 1024 && b.waiting == 1024, "1,024 files may wait: %u", kept);
	for (unsigned i = 0; i < 3000; i++) {
		ring_births_remove(&b, &b.first);
		wrong += !ring_births_keep(&b, -1, 1, "1.events");
		wrong += ring_births_keep(&b, -1, 1, "1.events");
	}
	ok(!wrong && b.waiting == 1024, "one for each that is taken out, over a long run");
	ring_births_done(&b);
}

int main(void)
{
	test_waiting();
	test_ours();
	test_gone();
	test_others();
	test_limits();
	return tap_done();
}

// SPDX-License-Identifier: BSD-2-Clause
/* The BPF source on real processes: tests/prog/markers_x86_64.c, linked in every way. */
#include "source/bpf/bpf.h"

#include "base/clock.h"
#include "proc/memory_reader.h"
#include "tests/tap.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS	 1000 /* of markers_x86_64.c */
#define CHILDREN 5000

struct prog {
	pid_t pid;
	FILE *in, *out;
	char line[64];
};

struct seen {
	long begin, counter, custom, wrong, disorder, lost, fork, exec, exit;
	uint32_t child;
	uint64_t last[64];
};

static char dir[] = "/tmp/ebt-bpf-XXXXXX";

static const char *ask(struct prog *p, int command)
{
	fputc(command, p->in);
	fflush(p->in);
	if (!fgets(p->line, sizeof(p->line), p->out))
		p->line[0] = 0;
	p->line[strcspn(p->line, "\n")] = 0;
	return p->line;
}

static int start(struct prog *p, const char *path)
{
	int in[2], out[2];
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return -1;
	p->pid = fork();
	if (!p->pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	p->in = fdopen(in[1], "w");
	p->out = fdopen(out[0], "r");
	return fgets(p->line, sizeof(p->line), p->out) ? 0 : -1;
}

static void finish(struct prog *p)
{
	fputc('q', p->in);
	fclose(p->in);
	fclose(p->out);
	waitpid(p->pid, NULL, 0);
}

static void note(struct session *session, struct seen *seen, uint32_t lane, struct ebt_event *ev)
{
	if (lane < 64 && ev->ts < seen->last[lane])
		seen->disorder++;
	if (lane < 64)
		seen->last[lane] = ev->ts;
	if (ev->kind == EBT_BEGIN) {
		seen->begin++;
		seen->wrong += ev->id != 11 || ev->domain || ev->pos != 2ull * ev->seq ||
			       ev->arg[0] || !(ev->flags & EBT_F_SEQ) || !ev->tid;
	} else if (ev->kind == EBT_COUNTER) {
		seen->wrong += ev->id != 4 || ev->pos != EBT_NO_POS || ev->arg[0] >= ROUNDS ||
			       ev->domain != EBT_NO_DOMAIN;
		seen->counter++;
	} else if (ev->kind == EBT_CUSTOM) {
		size_t bytes = 0;
		const unsigned char *data = session_blob(session, ev, &bytes);
		seen->wrong +=
			ev->id != 9 || !data || bytes != 100 || data[0] != 1 || data[99] != 100;
		session_drop_event(session, ev);
		seen->custom++;
	} else if (ev->kind == EBT_LOST) {
		seen->lost += (long)ev->arg[0];
	} else if (ev->kind == EBT_PROCESS) {
		seen->fork += ev->id == EBT_PROCESS_FORK;
		seen->exec += ev->id == EBT_PROCESS_EXEC;
		seen->exit += ev->id == EBT_PROCESS_EXIT;
		if (ev->id == EBT_PROCESS_FORK)
			seen->child = (uint32_t)ev->arg[0];
	}
}

static void drain(struct session *session, struct source *s, struct seen *seen)
{
	struct ebt_event ev[256];
	for (uint32_t lane = 0; lane < s->lanes; lane++)
		for (int n; (n = source_read(s, lane, ev, 256)) > 0;)
			for (int i = 0; i < n; i++)
				note(session, seen, lane, &ev[i]);
}

/* Those whose mappings are to be read, as the engine does. */
static struct {
	pid_t pid[CHILDREN];
	unsigned count;
} changed_pids;

static void note_change(void *ctx, const struct process_event *e)
{
	(void)ctx;
	bool wants = e->kind == PROCESS_BORN || e->kind == PROCESS_EXECED ||
		     e->kind == PROCESS_RING_STARTED || e->kind == PROCESS_MAPPED;
	if (wants && changed_pids.count < CHILDREN)
		changed_pids.pid[changed_pids.count++] = e->pid;
}

static int attach(struct source *s, pid_t pid, char *reason)
{
	struct maps_list maps;
	int n = bpf_source_trace(s, pid, 0, reason);
	if (n)
		return n;
	uint64_t read_ns = now_ns();
	memory_reader_list(NULL, pid, MAPS_TRACED, &maps);
	n = bpf_source_attach(s, pid, &maps, read_ns, reason);
	maps_list_done(&maps);
	return n;
}

static void scan_changed(struct source *s)
{
	for (unsigned i = 0; i < changed_pids.count; i++) {
		struct maps_list maps;
		uint64_t read_ns = now_ns();
		memory_reader_list(NULL, changed_pids.pid[i], MAPS_TRACED, &maps);
		bpf_source_scan(s, changed_pids.pid[i], &maps, read_ns);
		maps_list_done(&maps);
	}
	changed_pids.count = 0;
}

static void follow(struct session *session, struct source *s, struct seen *seen)
{
	source_poll(s);
	scan_changed(s);
	drain(session, s, seen);
	usleep(1000);
}

/* Polls until *count, which is one of *seen, is `want`; a minute is enough for any machine. */
static void follow_until(struct session *session, struct source *s, struct seen *seen,
			 const long *count, long want)
{
	for (int i = 0; i < 60000 && *count != want; i++)
		follow(session, s, seen);
}

static void stop(struct session *session, struct source *s, struct seen *seen)
{
	source_stop(s);
	drain(session, s, seen);
}

static struct source *new_source(struct session *session, const struct probe_plan *opt)
{
	struct source *s = NULL;
	char reason[BPF_REASON_BYTES];
	struct probe_plan with = *opt;
	with.report = note_change;
	if (bpf_source_new(session, &with, &s, reason))
		diag("%s", reason);
	return s;
}

/* One program, fired once: every event once, and no trace of us afterwards. */
static void check_counts(const char *what, const char *path, const struct probe_plan *opt)
{
	struct session *session;
	struct prog p;
	struct seen seen = {0};
	char reason[BPF_REASON_BYTES] = "";
	if (session_new(&session) || start(&p, path)) {
		ok(0, "%s: it starts", what);
		return;
	}
	struct source *s = new_source(session, opt);
	int sites = s ? attach(s, p.pid, reason) : -1;
	ok(sites == 3, "%s: its three markers are found (%d %s)", what, sites, reason);
	if (sites > 0) {
		is_str(ask(&p, 's'), "3 cc", "attached, the semaphore counts the sites");
		ask(&p, 'f');
		stop(session, s, &seen);
		ok(seen.begin == ROUNDS && seen.counter == ROUNDS && seen.custom == ROUNDS,
		   "%s: every hit is received once", what);
		ok(!seen.wrong && !seen.disorder, "%s: values are whole and in order", what);
		is_str(ask(&p, 's'), "0 90", "detached, text and semaphore are as they were");
	}
	source_free(s);
	finish(&p);
	session_free(session);
}

static int build(const char *flags, char *path, size_t bytes, const char *name)
{
	char cmd[512];
	snprintf(path, bytes, "%s/%s", dir, name);
	snprintf(cmd, sizeof(cmd), "cc -O2 -Iinclude %s tests/prog/markers_x86_64.c -o %s", flags,
		 path);
	return system(cmd);
}

static void check_links(void)
{
	static const struct {
		const char *name, *flags;
	} way[] = {
		{"pie", "-pie -fPIE"},
		{"fixed", "-no-pie -fno-pie"},
		{"static", "-static -fno-pie -no-pie"},
		{"static-pie", "-static-pie -fPIE"},
		{"stripped", "-pie -fPIE -s"},
	};
	char path[128];
	for (size_t i = 0; i < sizeof(way) / sizeof(*way); i++) {
		if (build(way[i].flags, path, sizeof(path), way[i].name))
			ok(0, "%s: it builds", way[i].name);
		else
			check_counts(way[i].name, path, &(struct probe_plan){0});
	}
}

static void check_children(const char *path)
{
	struct session *session;
	struct prog p;
	struct seen seen = {0};
	char reason[BPF_REASON_BYTES];
	if (session_new(&session) || start(&p, path)) {
		ok(0, "a program starts");
		return;
	}
	struct source *s = new_source(session, &(struct probe_plan){0});
	is(attach(s, p.pid, reason), 3, "a parent is attached to");
	uint32_t child = (uint32_t)atoi(ask(&p, 'c'));
	/* The poll that reads of its fork attaches to it. */
	follow_until(session, s, &seen, &seen.fork, 1);
	is(seen.child, child, "the fork is reported with the child's pid");
	kill_child((pid_t)child, SIGUSR1);
	follow_until(session, s, &seen, &seen.exit, 1);
	is(seen.begin, ROUNDS, "what a child fires after its fork is received");
	is(seen.exit, 1, "the child's end is reported once");
	is_str(ask(&p, 'x'), "ready", "the program executes itself");
	follow_until(session, s, &seen, &seen.exec, 1);
	is(seen.exec, 1, "the exec is told");
	ask(&p, 'f');
	stop(session, s, &seen);
	is(seen.begin, 2 * ROUNDS, "events go on after the exec");
	is(seen.wrong, 0, "no value is wrong");
	source_free(s);
	finish(&p);
	session_free(session);
}

/* More children than the kernel is given slots for at once: it gets those of the ended ones. */
static void check_many(const char *path)
{
	struct session *session;
	struct prog p;
	struct seen seen = {0};
	char reason[BPF_REASON_BYTES];
	if (session_new(&session) || start(&p, path)) {
		ok(0, "a program starts");
		return;
	}
	struct source *s = new_source(session, &(struct probe_plan){0});
	is(attach(s, p.pid, reason), 3, "a parent of many is attached to");
	fputc('n', p.in);
	fflush(p.in);
	struct pollfd done = {.fd = fileno(p.out), .events = POLLIN};
	while (!poll(&done, 1, 0))
		follow(session, s, &seen);
	if (!fgets(p.line, sizeof(p.line), p.out))
		p.line[0] = 0;
	is(atoi(p.line), CHILDREN, "it has many children, one after the other");
	stop(session, s, &seen);
	/* Where this test waits for a CPU for so long that no slot is left, that is reported. */
	ok(seen.fork == CHILDREN || seen.lost,
	   "the fork of each is reported, or that some were not followed");
	is(seen.exit, seen.fork, "and its end");
	source_free(s);
	finish(&p);
	session_free(session);
}

static void check_drops(const char *path)
{
	struct session *session;
	struct prog p;
	struct seen seen = {0};
	struct bpf_counts counts;
	char reason[BPF_REASON_BYTES];
	if (session_new(&session) || start(&p, path)) {
		ok(0, "a program starts");
		return;
	}
	struct source *s = new_source(session, &(struct probe_plan){.ring_bytes = 4096});
	is(attach(s, p.pid, reason), 3, "a source with one page attaches");
	ask(&p, 'f');
	stop(session, s, &seen);
	bpf_source_counts(s, &counts);
	ok(seen.begin < ROUNDS && seen.begin > 0, "one page holds some of the events");
	is(seen.begin + (long)counts.dropped_in_ring, ROUNDS,
	   "hits in a ring are received or counted as dropped");
	is(seen.counter + seen.custom + (long)counts.dropped, 2 * ROUNDS,
	   "hits in no ring are received or counted as dropped");
	is(seen.lost, (long)counts.dropped, "what is in no ring is told as lost");
	source_free(s);
	finish(&p);
	session_free(session);
}

/* The file is gone when the tracer comes. */
static void check_deleted(const char *path)
{
	struct session *session;
	struct prog p;
	struct seen seen = {0};
	char cmd[300], copy[160], reason[BPF_REASON_BYTES];
	snprintf(copy, sizeof(copy), "%s/deleted", dir);
	snprintf(cmd, sizeof(cmd), "cp %s %s", path, copy);
	if (session_new(&session) || system(cmd) || start(&p, copy) || unlink(copy)) {
		ok(0, "a program starts and is deleted");
		return;
	}
	struct source *s = new_source(session, &(struct probe_plan){0});
	is(attach(s, p.pid, reason), 3, "a deleted program is attached to");
	ask(&p, 'f');
	stop(session, s, &seen);
	is(seen.begin, ROUNDS, "a deleted program's events are received");
	source_free(s);
	finish(&p);
	session_free(session);
}

/* Two tracers at once; the one that is killed leaves no more behind than the one that detaches. */
static void check_two(const char *path)
{
	struct session *session;
	struct prog p;
	struct seen seen = {0};
	char reason[BPF_REASON_BYTES];
	int ready[2];
	if (session_new(&session) || start(&p, path) || pipe(ready)) {
		ok(0, "a program starts");
		return;
	}
	pid_t other = fork();
	if (!other) {
		struct source *mine = new_source(session, &(struct probe_plan){0});
		char c = mine && attach(mine, p.pid, reason) == 3 ? 'y' : 'n';
		if (write(ready[1], &c, 1) == 1)
			pause();
		_exit(1);
	}
	char c = 'n';
	ok(read(ready[0], &c, 1) == 1 && c == 'y', "another tracer attaches");
	struct source *s = new_source(session, &(struct probe_plan){0});
	is(attach(s, p.pid, reason), 3, "a second tracer attaches");
	ask(&p, 'f');
	stop(session, s, &seen);
	is(seen.begin, ROUNDS, "the second received everything");
	is_str(ask(&p, 's'), "3 cc", "after it detached, the other's links still stand");
	kill_child(other, SIGKILL);
	waitpid(other, NULL, 0);
	for (int i = 0; i < 6000 && strcmp(ask(&p, 's'), "0 90"); i++)
		usleep(10000);
	is_str(p.line, "0 90", "a killed tracer leaves nothing in the program");
	source_free(s);
	finish(&p);
	session_free(session);
}

static bool has_ended(const struct session *session, pid_t pid)
{
	const struct processes *ps = &session->processes;
	const struct process *p = processes_at(ps, processes_find(ps, (uint32_t)pid));
	return p && (!p->pid || p->ended);
}

/* It ended before the kernel's map had it: no record of its exit will come. */
static void check_zombie(void)
{
	struct session *session;
	struct seen seen = {0};
	char reason[BPF_REASON_BYTES] = "";
	pid_t pid = session_new(&session) ? -1 : fork();
	if (!pid)
		_exit(0);
	siginfo_t info;
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	struct source *s = new_source(session, &(struct probe_plan){0});
	ok(s && attach(s, pid, reason) <= 0, "nothing of a zombie is probed");
	for (int i = 0; i < 60000 && s && !has_ended(session, pid); i++)
		follow(session, s, &seen);
	ok(has_ended(session, pid), "and soon it has ended, though no record reports it");
	waitpid(pid, NULL, 0);
	source_free(s);
	session_free(session);
}

int main(void)
{
	char path[128], cmd[300], reason[BPF_REASON_BYTES];
	if (geteuid())
		return skip_all("needs root");
	if (!mkdtemp(dir) || build("-pie -fPIE", path, sizeof(path), "markers"))
		return skip_all("needs a compiler");
	check_links();
	check_counts("perf-event links", path, &(struct probe_plan){.attach = BPF_ATTACH_PERF});
	check_children(path);
	check_many(path);
	check_deleted(path);
	check_drops(path);
	check_two(path);
	check_zombie();

	struct session *session = NULL;
	session_new(&session);
	struct source *s = new_source(session, &(struct probe_plan){0});
	ok(s && attach(s, 0x3ffffffe, reason) < 0, "a pid that is nobody is refused");
	ok(strstr(reason, "no such process"), "and the reason says so");
	source_free(s);
	session_free(session);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	if (system(cmd))
		diag("%s was not removed", dir);
	tap_keeps(2);
	return tap_done();
}

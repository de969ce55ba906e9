// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a hit of a marker costs the traced program while it is drained every millisecond, beside a
 * hit whose program returns at once; one at the begin or the end of a pause, which has what the
 * kernel counted in it; and one that is counted in maps. A line of JSON each.
 */
#include "source/bpf/bpf.h"

#include "proc/memory_reader.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HITS   200000
#define ROUNDS 7

volatile uint16_t bench_semaphore __attribute__((section(".probes"))) = 0;

#define SITE(name, args)                                                             \
	"990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"            \
	".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n"                  \
	"992: .balign 4\n993: .8byte 990b, 0, bench_semaphore\n.asciz \"ebtrace\"\n" \
	".asciz \"" name "\"\n.asciz \"" args "\"\n994: .balign 4\n.popsection\n"

static double now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

#define HIT(name, pos)                                                       \
	__asm__ volatile(SITE(name, "4@%%edi 8@%%rsi 4@%%ecx 8@%%r8 8@%%r9") \
			 :                                                   \
			 : "D"(11), "c"(0), "r"(pos))

enum { EMPTY, PAUSE, PLAIN, LOOPS };

/* Alternates them, so that a noisy neighbour hits all; the best round of each counts. The goal
 * is in terms of the empty one: what a trap costs is the machine's. */
__attribute__((noinline)) static void traced(double best[LOOPS])
{
	register uint64_t r9 __asm__("r9");
	for (int i = 0; i < LOOPS; i++)
		best[i] = 1e9;
	for (int round = 0; round < ROUNDS; round++) {
		double at[LOOPS + 1] = {now_ns()};
		r9 = 0;
		for (int i = 0; i < HITS; i++)
			__asm__ volatile(SITE("ring_request", "") : : "D"(11));
		at[1] = now_ns();
		for (int i = 0; i < HITS / 2; i++) {
			HIT("begin", r9);
			HIT("end", r9);
		}
		at[2] = now_ns();
		for (int i = 0; i < HITS; i++)
			HIT("user_unit", r9);
		at[3] = now_ns();
		for (int i = 0; i < LOOPS; i++)
			if ((at[i + 1] - at[i]) / HITS < best[i])
				best[i] = (at[i + 1] - at[i]) / HITS;
	}
}

/* The number of markers in what the process has mapped. */
static int attach(struct source *s, pid_t pid, char *reason)
{
	struct maps_list maps;
	if (bpf_source_trace(s, pid, 0, reason))
		return -1;
	memory_reader_list(NULL, pid, MAPS_TRACED, &maps);
	int n = bpf_source_attach(s, pid, &maps, 0, reason);
	maps_list_done(&maps);
	return n;
}

/* Traces a child with these options, at so many sites; its best rounds. */
static int measure(const struct probe_plan *opt, int sites, double best[LOOPS])
{
	int go[2], done[2];
	if (pipe(go) || pipe(done))
		return 1;
	pid_t child = fork();
	if (!child) {
		char c;
		if (read(go[0], &c, 1) == 1)
			traced(best);
		_exit(write(done[1], best, LOOPS * sizeof(*best)) < 0);
	}
	char reason[BPF_REASON_BYTES] = "";
	struct session *session;
	struct source *s;
	if (session_new(&session) || bpf_source_new(session, opt, &s, reason) ||
	    attach(s, child, reason) != sites || write(go[1], "g", 1) != 1) {
		kill(child, SIGKILL);
		fprintf(stderr, "bench_marker: %s\n", reason);
		return 1;
	}
	struct ebt_event ev[256];
	long events = 0;
	for (int status; !waitpid(child, &status, WNOHANG); usleep(1000)) {
		source_poll(s);
		for (uint32_t lane = 0; lane < s->lanes; lane++)
			for (int n; (n = source_read(s, lane, ev, 256)) > 0; events += n)
				session_drop_events(session, ev, (size_t)n);
	}
	struct bpf_counts counts;
	bpf_source_counts(s, &counts);
	if (read(done[0], best, LOOPS * sizeof(*best)) != LOOPS * (ssize_t)sizeof(*best))
		return 1;
	if (counts.dropped || counts.dropped_in_ring)
		fprintf(stderr, "bench_marker: %llu dropped\n",
			(unsigned long long)(counts.dropped + counts.dropped_in_ring));
	source_free(s);
	session_free(session);
	return events == 0;
}

static void put_row(const char *name, double ns, double empty_ns, double goal_ns)
{
	printf("{\"name\":\"%s\",\"unit\":\"ns\",\"ours\":%.1f,\"limit\":%.1f,\"goal\":%.1f}\n",
	       name, ns, empty_ns, goal_ns);
}

int main(void)
{
	double best[LOOPS];
	if (measure(&(struct probe_plan){0}, 4, best))
		return 1;
	put_row("marker_of_a_pause", best[PAUSE], best[EMPTY], 1.08 * best[EMPTY]);
	put_row("marker_to_bpf", best[PLAIN], best[EMPTY], 1.08 * best[EMPTY]);
	if (measure(&(struct probe_plan){.counting = true}, 3, best))
		return 1;
	put_row("marker_counted", best[PAUSE], best[EMPTY], best[EMPTY] + 110);
	return 0;
}

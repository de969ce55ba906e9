// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a probe costs the program: idle, and written to a ring, beside the bare clocks. JSON lines
 * on stdout, one a result, of one round: run.sh makes the medians. The library chooses its clock
 * when it is loaded, so the program runs itself again for each mode.
 */
#include <ebtrace/probes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "usdt-probes/cycles.h"

#define ROUNDS 2000000

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void said(const char *name, double ns, const char *rest)
{
	printf("{\"name\":\"%s\",\"unit\":\"ns\",\"ours\":%.2f%s}\n", name, ns, rest);
}

/* The loop itself is paid by both; the asm keeps it from being folded away. */
static double time_empty(void)
{
	double t = now_ns();
	for (int i = 0; i < ROUNDS; i++)
		__asm__ volatile("" ::: "memory");
	return (now_ns() - t) / ROUNDS;
}

static double time_pairs(void)
{
	double t = now_ns();
	for (int i = 0; i < ROUNDS / 2; i++) {
		ebt_begin(EBT_PHASE_minor);
		ebt_end(EBT_PHASE_minor);
		__asm__ volatile("" ::: "memory");
	}
	return (now_ns() - t) / ROUNDS;
}

static double time_int(void)
{
	int event = ebt_register("bench.int", EBT_USER_INT);
	double t = now_ns();
	for (int i = 0; i < ROUNDS; i++)
		ebt_int(event, i);
	return (now_ns() - t) / ROUNDS;
}

static double time_custom(void)
{
	char payload[16] = "sixteen bytes..";
	int event = ebt_register("bench.custom", EBT_USER_CUSTOM);
	double t = now_ns();
	for (int i = 0; i < ROUNDS; i++)
		ebt_custom(event, payload, sizeof(payload));
	return (now_ns() - t) / ROUNDS;
}

static void bench_clocks(void)
{
	struct timespec ts;
	double t = now_ns();
	for (int i = 0; i < ROUNDS; i++)
		clock_gettime(CLOCK_MONOTONIC, &ts);
	said("clock_gettime", (now_ns() - t) / ROUNDS, "");
	uint64_t sum = 0;
	t = now_ns();
	for (int i = 0; i < ROUNDS; i++)
		sum += ebt_cycles();
	__asm__ volatile("" ::"r"(sum));
	said("rdtsc", (now_ns() - t) / ROUNDS, "");
}

static void bench_ring(const char *clock)
{
	char name[64];
	time_pairs(); /* the first round pays for the pages */
	snprintf(name, sizeof(name), "ring_write_%s", clock);
	said(name, time_pairs(), strcmp(clock, "tsc") ? "" : ",\"goal\":18");
	snprintf(name, sizeof(name), "ring_write_int_%s", clock);
	said(name, time_int(), "");
	snprintf(name, sizeof(name), "ring_write_custom16_%s", clock);
	said(name, time_custom(), "");
}

static double time_idle_pages(void)
{
	double t = now_ns();
	for (int i = 0; i < ROUNDS; i++) {
		ebt_page_alloc(NULL, 1);
		__asm__ volatile("" ::: "memory");
	}
	return (now_ns() - t) / ROUNDS;
}

static double time_unsampled(void)
{
	double t = now_ns();
	for (int i = 0; i < ROUNDS; i++) {
		ebt_object_alloc(3, EBT_ALLOC_MINOR, NULL);
		__asm__ volatile("" ::: "memory");
	}
	return (now_ns() - t) / ROUNDS;
}

/* A backtrace whose last two frames are new. */
static size_t twelve_frames(void *ctx, int64_t *codes, size_t max)
{
	int64_t *n = ctx;
	(void)max;
	for (int i = 0; i < 12; i++)
		codes[i] = 0x400000 + 64 * i;
	codes[10] += ++*n % 7;
	return 12;
}

/* Every word is sampled: the draw, the clock, the backtrace and the file are in it. */
static void bench_sampled(void)
{
	char path[64];
	int64_t n = 0;
	uint64_t obj = 0;
	struct ebt_object_stacks stacks = {.backtrace = twelve_frames, .ctx = &n};
	const char *peer = ",\"theirs\":120.6,\"peer\":\"memtrace\"";
	snprintf(path, sizeof(path), "/dev/shm/ebtrace-bench-%d.ctf", getpid());
	ebt_object_stacks(&stacks);
	if (ebt_object_trace_start(path, 1, NULL))
		return;
	for (int i = 0; i < ROUNDS / 10; i++)
		ebt_object_alloc(1, EBT_ALLOC_MINOR, NULL);
	double t = now_ns();
	for (int i = 0; i < ROUNDS / 4; i++)
		obj = ebt_object_alloc(1, EBT_ALLOC_MINOR, NULL);
	said("object_alloc_sampled", (now_ns() - t) / (ROUNDS / 4.0), peer);
	t = now_ns();
	for (int i = 0; i < ROUNDS / 4; i++)
		ebt_object_collect(obj, NULL);
	said("object_collect_sampled", (now_ns() - t) / (ROUNDS / 4.0), peer);
	ebt_object_trace_stop();
	ebt_object_stacks(NULL);
	unlink(path);
}

/* A turn fits into the time that a thread runs at once. */
#define PAGE_ROUNDS 50000
#define PAGE_TURNS  60

static double time_clock(bool tsc)
{
	uint64_t sum = 0;
	struct timespec ts;
	double t = now_ns();
	for (int i = 0; i < PAGE_ROUNDS; i++) {
		if (tsc)
			sum += ebt_cycles();
		else
			clock_gettime(CLOCK_MONOTONIC, &ts);
	}
	__asm__ volatile("" ::"r"(sum));
	return (now_ns() - t) / PAGE_ROUNDS;
}

static double time_pages(void)
{
	double t = now_ns();
	for (uintptr_t i = 0; i < PAGE_ROUNDS; i++)
		ebt_page_alloc((const void *)(i << 13), 1);
	return (now_ns() - t) / PAGE_ROUNDS;
}

/* The least of many short turns: the clock, the writer and the file are in it; the limit is the
 * clock. */
static void bench_pages(const char *clock)
{
	bool tsc = !strcmp(clock, "tsc");
	double ns = INFINITY, limit = INFINITY;
	char path[64], name[64], rest[64];
	snprintf(path, sizeof(path), "/dev/shm/ebtrace-bench-%d.pt", getpid());
	if (ebt_page_trace_start(path))
		return;
	for (int turn = 0; turn < PAGE_TURNS; turn++) {
		ns = fmin(ns, time_pages());
		limit = fmin(limit, time_clock(tsc));
	}
	ebt_page_trace_stop();
	unlink(path);
	snprintf(name, sizeof(name), "page_trace_write_%s", clock);
	snprintf(rest, sizeof(rest), ",\"limit\":%.2f,\"goal\":%d", limit, tsc ? 15 : 30);
	said(name, ns, rest);
}

static int run_again(char *self, const char *clock)
{
	char command[512];
	fflush(stdout);
	snprintf(command, sizeof(command), "EBTRACE_START=1 EBTRACE_CLOCK=%s '%s' %s", clock, self,
		 clock);
	return system(command);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		bench_ring(argv[1]);
		bench_pages(argv[1]);
		return 0;
	}
	time_empty();
	double empty = time_empty();
	double idle = time_pairs() - empty;
	said("idle_probe", idle > 0 ? idle : 0, ",\"limit\":0.2,\"goal\":1");
	double unsampled = time_unsampled() - empty;
	said("object_alloc_unsampled", unsampled > 0 ? unsampled : 0, ",\"goal\":1");
	double pages = time_idle_pages() - empty;
	said("idle_page_probe", pages > 0 ? pages : 0, ",\"limit\":0.2,\"goal\":1");
	bench_sampled();
	bench_clocks();
	return run_again(argv[0], "monotonic") || run_again(argv[0], "tsc");
}

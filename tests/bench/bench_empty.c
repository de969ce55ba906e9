// SPDX-License-Identifier: BSD-2-Clause
/*
 * What our BPF programs are compared with: programs that return at once, in the same places. Prints
 * "ready" and works until SIGTERM.
 * usage: bench_empty ocaml PID FILE    on the functions of the OCaml runtime in FILE
 *        bench_empty faults PID        at the begin and at the end of page faults, by perf events
 *        bench_empty runs NAME         measures a run of the program of this name by the kernel's
 *                                      statistics, and prints its ns at the end
 * The first two print at the end what a run of their own took if the statistics are on.
 */
#include "runtime/ocaml/probes.h"
#include "source/bpf/uprobe.h"
#include "source/pages/faults.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 20000000

static int load(enum bpf_prog_type type, enum bpf_attach_type attach)
{
	const struct bpf_insn insn[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach);
	return bpf_prog_load(type, "bench_empty", "Dual BSD/GPL", insn, 2, &opts);
}

/* What a run of the program has taken on average. 0: it has not run, or nobody has counted. */
static double run_ns(const struct bpf_prog_info *info)
{
	return info->run_cnt ? (double)info->run_time_ns / (double)info->run_cnt : 0;
}

/* The same of the program of this name that has run most often. */
static double run_ns_of(const char *name)
{
	struct bpf_prog_info most = {0};
	for (uint32_t id = 0; !bpf_prog_get_next_id(id, &id);) {
		struct bpf_prog_info info = {0};
		uint32_t bytes = sizeof(info);
		int program = bpf_prog_get_fd_by_id(id);
		if (program < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(program, &info, &bytes) &&
		    info.run_cnt > most.run_cnt && !strncmp(info.name, name, sizeof(info.name) - 1))
			most = info;
		close(program);
	}
	return run_ns(&most);
}

/* False: we are to end. */
static bool wait_ns(long ns)
{
	sigset_t term;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	return ns ? sigtimedwait(&term, NULL, &(struct timespec){.tv_nsec = ns}) < 0
		  : sigwaitinfo(&term, NULL) < 0;
}

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

static int count_runs(const char *name)
{
	double ns = 0;
	int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (stats < 0)
		return 1;
	ready();
	do {
		double now = run_ns_of(name);
		ns = now > 0 ? now : ns;
	} while (wait_ns(LOOK_NS));
	printf("%.1f\n", ns);
	return 0;
}

static int attach_ocaml(int program, pid_t pid, const char *path)
{
	struct ocaml_runtime r;
	struct uprobe_site site[OCAML_FUNCTIONS] = {{0}};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || ocaml_probes_read(fd, &r))
		return -1;
	for (unsigned i = 0; i < r.sites; i++)
		site[i].offset = r.site[i].offset;
	close(fd);
	return uprobe_multi_attach(program, path, pid, site, r.sites);
}

int main(int argc, char **argv)
{
	sigset_t term;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	if (argc == 3 && !strcmp(argv[1], "runs"))
		return count_runs(argv[2]);
	bool ocaml = argc == 4 && !strcmp(argv[1], "ocaml");
	if (!ocaml && (argc != 3 || strcmp(argv[1], "faults") != 0))
		return 2;
	int program = ocaml ? load(BPF_PROG_TYPE_KPROBE, UPROBE_MULTI_ATTACH_TYPE)
			    : load(BPF_PROG_TYPE_PERF_EVENT, 0);
	struct page_faults faults = {.begin = program, .end = program};
	int err = program < 0 ? program
		  : ocaml     ? attach_ocaml(program, atoi(argv[2]), argv[3])
			      : page_faults_attach(&faults, atoi(argv[2]));
	if (err < 0) {
		fprintf(stderr, "bench_empty: %s\n", strerror(-err));
		return 1;
	}
	ready();
	while (wait_ns(0))
		;
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);
	if (bpf_obj_get_info_by_fd(program, &info, &bytes))
		return 1;
	printf("%.1f\n", run_ns(&info));
	return 0;
}

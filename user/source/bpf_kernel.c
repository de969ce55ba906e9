// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf_kernel.h"

#include "base/log.h"
#include "proc/process.h"
#include "source/bpf_channel.h"
#include "source/link_keeper.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ebtrace.skel.h"

#define MIN_PROCESSES	16384u /* that maps have room for */
#define OFFCPU_PROGRAMS 6
#define MAX_PROCESSES	(4u << 20) /* the kernel's own limit of pids */

struct bpf_kernel {
	struct bpf_kernel_options opt;
	struct ebtrace_bpf *skel;
	struct bpf_channel channel;
	struct link_keeper *keeper;
	int cpus;
	struct bpf_program *fault_end; /* NULL: no fault is of interest */
	struct bpf_link *offcpu[OFFCPU_PROGRAMS];
	int offcpu_error; /* 0 or -errno */
};

/* libbpf's own messages speak of its insides, and some mislead: they are for our debug log. */
static int log_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	if (log_level < LOG_DEBUG)
		return 0;
	char line[512];
	int n = vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = 0;
	log_at(LOG_DEBUG, "%s", line);
	return n;
}

/* ---- links ---- */

static struct bpf_program *program_of(const struct bpf_kernel *k, enum bpf_probe which)
{
	switch (which) {
	case BPF_PROBE_OCAML:
		return k->skel->progs.ebt_ocaml_function;
	case BPF_PROBE_ALLOC:
		return k->skel->progs.ebt_alloc;
	case BPF_PROBE_OCAML_ALLOC:
		return k->skel->progs.ebt_ocaml_alloc;
	default:
		return k->skel->progs.ebt_marker;
	}
}

static int make_perf_links(struct bpf_program *prog, const char *path, const struct link_spec *spec)
{
	for (uint32_t i = 0; i < spec->sites; i++) {
		const struct uprobe_site *at = &spec->site[i];
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .ref_ctr_offset = at->semaphore,
			    .bpf_cookie = at->cookie);
		pid_t pid = spec->pid > 0 ? spec->pid : -1;
		if (!bpf_program__attach_uprobe_opts(prog, pid, path, at->offset, &opts))
			return -errno;
	}
	return 0;
}

/* In a process of its own, whose end closes what is made here. */
static int make_link(void *ctx, const struct link_spec *spec)
{
	struct bpf_kernel *k = ctx;
	struct bpf_program *prog = program_of(k, (enum bpf_probe)spec->probe);
	char path[32];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", spec->file);
	if (!k->opt.multi)
		return make_perf_links(prog, path, spec);
	int fd = uprobe_multi_attach(bpf_program__fd(prog), path, spec->pid, spec->site,
				     spec->sites);
	return fd < 0 ? fd : 0;
}

static int start_keeper(struct bpf_kernel *k)
{
	struct link_maker maker = {
		.make = make_link,
		.ctx = k,
		.fds = {bpf_program__fd(program_of(k, BPF_PROBE_MARKER)),
			bpf_program__fd(program_of(k, BPF_PROBE_OCAML)),
			bpf_program__fd(program_of(k, BPF_PROBE_ALLOC)),
			bpf_program__fd(program_of(k, BPF_PROBE_OCAML_ALLOC))},
	};
	return link_keeper_new(&maker, &k->keeper);
}

int bpf_kernel_attach(struct bpf_kernel *k, enum bpf_probe program, int file, pid_t pid,
		      const struct uprobe_site *site, uint32_t sites)
{
	struct link_spec spec = {
		.file = file, .probe = program, .pid = pid, .site = site, .sites = sites};
	return link_keeper_attach(k->keeper, &spec);
}

void bpf_kernel_stop_links(struct bpf_kernel *k)
{
	link_keeper_free(k->keeper);
	k->keeper = NULL;
}

void bpf_kernel_detach(struct bpf_kernel *k)
{
	ebtrace_bpf__detach(k->skel);
}

/* ---- maps ---- */

int bpf_kernel_set_runtime(struct bpf_kernel *k, uint32_t key, const struct ebt_ocaml_runtime *r)
{
	int map = bpf_map__fd(k->skel->maps.ebt_ocaml);
	int foreign = bpf_map__fd(k->skel->maps.ebt_foreign);
	if (!r) {
		bpf_map_delete_elem(map, &key);
		bpf_map_delete_elem(foreign, &key);
		__atomic_fetch_add(&k->skel->bss->ebt_ocaml_generation, 1, __ATOMIC_RELEASE);
		return 0;
	}
	if (r->slot == EBT_NO_SLOT) {
		uint64_t *zero = calloc((size_t)k->cpus, sizeof(*zero));
		int err = zero && !bpf_map_update_elem(foreign, &key, zero, BPF_ANY) ? 0 : -ENOMEM;
		free(zero);
		if (err)
			return err;
	}
	return bpf_map_update_elem(map, &key, r, BPF_ANY) ? -errno : 0;
}

int bpf_kernel_set_allocs(struct bpf_kernel *k, uint32_t key, const struct ebt_alloc_file *file)
{
	int map = bpf_map__fd(k->skel->maps.ebt_alloc_files);
	int err = file ? bpf_map_update_elem(map, &key, file, BPF_ANY)
		       : bpf_map_delete_elem(map, &key);
	return err ? -errno : 0;
}

int bpf_kernel_set_ocaml_allocs(struct bpf_kernel *k, uint32_t key,
				const struct ebt_ocaml_allocs *r)
{
	int map = bpf_map__fd(k->skel->maps.ebt_ocaml_allocs);
	int err = r ? bpf_map_update_elem(map, &key, r, BPF_ANY) : bpf_map_delete_elem(map, &key);
	return err ? -errno : 0;
}

bool bpf_kernel_get_ocaml_allocs(const struct bpf_kernel *k, uint32_t key,
				 struct ebt_ocaml_allocs *ret)
{
	return !bpf_map_lookup_elem(bpf_map__fd(k->skel->maps.ebt_ocaml_allocs), &key, ret);
}

bool bpf_kernel_take_domain(struct bpf_kernel *k, uint32_t key, uint32_t number,
			    struct ebt_ocaml_domain *ret)
{
	uint64_t id = (uint64_t)key << 32 | number;
	int map = bpf_map__fd(k->skel->maps.ebt_ocaml_domains);
	return !bpf_map_lookup_elem(map, &id, ret) && !bpf_map_delete_elem(map, &id);
}

uint64_t bpf_kernel_foreign(struct bpf_kernel *k, uint32_t key)
{
	uint64_t *n = calloc((size_t)k->cpus, sizeof(*n)), sum = 0;
	if (n && !bpf_map_lookup_elem(bpf_map__fd(k->skel->maps.ebt_foreign), &key, n))
		for (int i = 0; i < k->cpus; i++)
			sum += n[i];
	free(n);
	return sum;
}

int bpf_kernel_add(struct bpf_kernel *k, pid_t pid, uint32_t slot)
{
	int map = bpf_map__fd(k->skel->maps.ebt_traced);
	return bpf_map_update_elem(map, &pid, &slot, BPF_NOEXIST) ? -errno : 0;
}

void bpf_kernel_remove(struct bpf_kernel *k, pid_t pid)
{
	bpf_map_delete_elem(bpf_map__fd(k->skel->maps.ebt_traced), &pid);
	/* Its threads have cached that it is traced. */
	__atomic_fetch_add(&k->skel->bss->ebt_ocaml_generation, 1, __ATOMIC_RELEASE);
}

bool bpf_kernel_find(const struct bpf_kernel *k, pid_t pid, uint32_t *ret_slot)
{
	return !bpf_map_lookup_elem(bpf_map__fd(k->skel->maps.ebt_traced), &pid, ret_slot);
}

bool bpf_kernel_next(const struct bpf_kernel *k, uint32_t *pid)
{
	int map = bpf_map__fd(k->skel->maps.ebt_traced);
	return !bpf_map_get_next_key(map, *pid ? pid : NULL, pid);
}

bool bpf_kernel_sees_exits(const struct bpf_kernel *k)
{
	return k->skel->links.ebt_process_exit != NULL;
}

int bpf_kernel_push_slot(struct bpf_kernel *k, uint32_t slot)
{
	int map = bpf_map__fd(k->skel->maps.ebt_free_slots);
	return bpf_map_update_elem(map, NULL, &slot, BPF_ANY) ? -errno : 0;
}

bool bpf_kernel_pop_slot(struct bpf_kernel *k, uint32_t *ret_slot)
{
	int map = bpf_map__fd(k->skel->maps.ebt_free_slots);
	return !bpf_map_lookup_and_delete_elem(map, NULL, ret_slot);
}

struct ebt_dropped bpf_kernel_dropped(const struct bpf_kernel *k)
{
	const struct ebt_dropped *d = &k->skel->bss->ebt_dropped;
	return (struct ebt_dropped){
		.in_ring = __atomic_load_n(&d->in_ring, __ATOMIC_RELAXED),
		.nowhere = __atomic_load_n(&d->nowhere, __ATOMIC_RELAXED),
		.control = __atomic_load_n(&d->control, __ATOMIC_RELAXED),
		.stacks = __atomic_load_n(&d->stacks, __ATOMIC_RELAXED),
		.children = __atomic_load_n(&d->children, __ATOMIC_RELAXED),
	};
}

void bpf_kernel_fault_programs(const struct bpf_kernel *k, int *ret_begin, int *ret_end)
{
	*ret_begin = bpf_program__fd(k->skel->progs.ebt_fault_begin);
	*ret_end = bpf_program__fd(k->fault_end);
}

int bpf_kernel_fd(const struct bpf_kernel *k)
{
	return bpf_map__fd(k->skel->maps.ebt_channel);
}

int bpf_kernel_read(struct bpf_kernel *k, bool wait)
{
	return bpf_channel_read(&k->channel, wait, k->opt.receive, k->opt.ctx);
}

/* ---- when threads do not run ---- */

/* The walks first, the switches last. */
static void list_offcpu_programs(const struct ebtrace_bpf *skel,
				 struct bpf_program *ret[OFFCPU_PROGRAMS])
{
	ret[0] = skel->progs.ebt_offcpu_begin;
	ret[1] = skel->progs.ebt_offcpu_flush;
	ret[2] = skel->progs.ebt_offcpu_fork;
	ret[3] = skel->progs.ebt_offcpu_waking;
	ret[4] = skel->progs.ebt_offcpu_exit;
	ret[5] = skel->progs.ebt_offcpu_switch;
}

/* Behind the program that follows forks. */
static int attach_offcpu(struct bpf_kernel *k)
{
	struct bpf_program *programs[OFFCPU_PROGRAMS];
	list_offcpu_programs(k->skel, programs);
	for (unsigned i = 0; i < OFFCPU_PROGRAMS; i++) {
		k->offcpu[i] = bpf_program__attach(programs[i]);
		if (k->offcpu[i])
			continue;
		int err = -errno;
		bpf_kernel_stop_offcpu(k);
		return err;
	}
	return 0;
}

void bpf_kernel_stop_offcpu(struct bpf_kernel *k)
{
	for (unsigned i = OFFCPU_PROGRAMS; i--;) {
		bpf_link__destroy(k->offcpu[i]);
		k->offcpu[i] = NULL;
	}
}

/* The programs write nothing: a read ends when they have seen all threads. */
static int walk(const struct bpf_link *link)
{
	char byte;
	int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
	if (fd < 0)
		return link ? -errno : 0;
	ssize_t n;
	do
		n = read(fd, &byte, sizeof(byte));
	while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	int err = n < 0 ? -errno : 0;
	close(fd);
	return err;
}

int bpf_kernel_begin_offcpu(struct bpf_kernel *k)
{
	return walk(k->offcpu[0]);
}

int bpf_kernel_flush_offcpu(struct bpf_kernel *k)
{
	return walk(k->offcpu[1]);
}

int bpf_kernel_offcpu_error(const struct bpf_kernel *k)
{
	return k->offcpu_error;
}

/* ---- set-up ---- */

static uint32_t read_limit(const char *path)
{
	unsigned long n = 0;
	FILE *f = fopen(path, "re");
	if (!f || fscanf(f, "%lu", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n < MIN_PROCESSES ? MIN_PROCESSES : n > MAX_PROCESSES ? MAX_PROCESSES : (uint32_t)n;
}

/* Maps with room for as many processes as the kernel allows; they take memory for those that
 * are. */
static int set_sizes(struct bpf_kernel *k)
{
	uint32_t threads = read_limit("/proc/sys/kernel/threads-max");
	uint32_t pids = read_limit("/proc/sys/kernel/pid_max");
	uint32_t processes = threads < pids ? threads : pids;
	struct bpf_map *by_process[] = {k->skel->maps.ebt_traced, k->skel->maps.ebt_ocaml,
					k->skel->maps.ebt_foreign, k->skel->maps.ebt_alloc_files,
					k->skel->maps.ebt_ocaml_allocs};
	int err = bpf_map__set_max_entries(k->skel->maps.ebt_channel, (uint32_t)k->opt.ring_bytes);
	for (size_t i = 0; i < sizeof(by_process) / sizeof(*by_process) && !err; i++)
		err = bpf_map__set_max_entries(by_process[i], processes);
	return err;
}

static void choose_programs(struct bpf_kernel *k)
{
	for (enum bpf_probe p = 0; p < BPF_PROBES; p++) {
		bpf_program__set_autoattach(program_of(k, p), false);
		if (k->opt.multi)
			bpf_program__set_expected_attach_type(
				program_of(k, p), (enum bpf_attach_type)UPROBE_MULTI_ATTACH_TYPE);
	}
	bpf_program__set_autoload(k->skel->progs.ebt_ocaml_alloc, k->opt.ocaml_allocs);
	for (enum bpf_probe p = 0; k->opt.pages && p < BPF_PROBES; p++)
		bpf_program__set_autoload(program_of(k, p), false);
}

static bool has_member(const struct btf *btf, const char *structure, const char *member)
{
	int id = btf__find_by_name_kind(btf, structure, BTF_KIND_STRUCT);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	const struct btf_member *m = type ? btf_members(type) : NULL;
	for (uint16_t i = 0; m && i < btf_vlen(type); i++)
		if (!strcmp(btf__str_by_offset(btf, m[i].name_off), member))
			return true;
	return false;
}

/* True if a program of a perf event can read the kernel's sample (Linux 6.2), and the kernel fills the
 * sample before it runs the program (6.3, which added dyn_size). Otherwise a fault of a huge page
 * counts as one of a small page, and mapping the zero page counts as a fault. */
static bool has_samples(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool has = btf && btf__find_by_name_kind(btf, "bpf_cast_to_kern_ctx", BTF_KIND_FUNC) > 0 &&
		   has_member(btf, "perf_sample_data", "dyn_size");
	btf__free(btf);
	return has;
}

static void choose_fault_programs(struct bpf_kernel *k)
{
	bool samples = k->opt.pages && has_samples();
	struct bpf_program *p;
	const struct {
		struct bpf_program *program;
		bool on;
	} of_faults[] = {{k->skel->progs.ebt_page_fault_plain, k->opt.pages && !samples},
			 {k->skel->progs.ebt_page_fault, samples},
			 {k->skel->progs.ebt_fault_begin, k->opt.faults},
			 {k->skel->progs.ebt_fault_end, k->opt.faults}};
	bpf_object__for_each_program(p, k->skel->obj) if (bpf_program__type(p) ==
							  BPF_PROG_TYPE_TRACEPOINT)
		bpf_program__set_autoload(p, k->opt.pages);
	k->fault_end = NULL;
	for (int i = 0; i < 4; i++) {
		bpf_program__set_autoload(of_faults[i].program, of_faults[i].on);
		bpf_program__set_autoattach(of_faults[i].program, false);
		k->fault_end = of_faults[i].on ? of_faults[i].program : k->fault_end;
	}
	bpf_map__set_autocreate(k->skel->maps.ebt_page_calls, k->opt.pages);
	k->skel->rodata->ebt_faults_on = k->opt.faults;
	k->skel->rodata->ebt_page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
}

static int choose_offcpu_programs(struct bpf_kernel *k)
{
	struct bpf_program *programs[OFFCPU_PROGRAMS];
	list_offcpu_programs(k->skel, programs);
	for (unsigned i = 0; i < OFFCPU_PROGRAMS; i++) {
		bpf_program__set_autoload(programs[i], k->opt.offcpu);
		bpf_program__set_autoattach(programs[i], false);
	}
	bpf_map__set_autocreate(k->skel->maps.ebt_threads, k->opt.offcpu);
	bpf_map__set_autocreate(k->skel->maps.ebt_cpu_waiters, k->opt.offcpu);
	return bpf_map__set_max_entries(k->skel->maps.ebt_cpu_waiters, (uint32_t)k->cpus);
}

static int load(struct bpf_kernel *k)
{
	k->skel = ebtrace_bpf__open();
	if (!k->skel)
		return -errno;
	k->skel->rodata->ebt_follow = !k->opt.no_follow;
	k->skel->rodata->ebt_stacks_on = k->opt.stacks != NULL;
	if (k->opt.stacks)
		k->skel->rodata->ebt_stacks = *k->opt.stacks;
	uint64_t pidns = process_own_pidns();
	k->skel->rodata->ebt_pidns_ino = pidns == PROCESS_INITIAL_PIDNS ? 0 : pidns;
	choose_programs(k);
	choose_fault_programs(k);
	int err = choose_offcpu_programs(k);
	if (!err)
		err = set_sizes(k);
	return err ? err : ebtrace_bpf__load(k->skel);
}

/* A kernel may refuse the programs of the scheduler's tracepoints alone: then the others run without
 * them. */
static int load_without_offcpu(struct bpf_kernel *k, int err)
{
	if (!k->opt.offcpu)
		return err;
	ebtrace_bpf__destroy(k->skel);
	k->skel = NULL;
	k->opt.offcpu = k->opt.faults = false;
	k->offcpu_error = err;
	return load(k);
}

static int begin(struct bpf_kernel *k)
{
	int err = load(k);
	if (err)
		err = load_without_offcpu(k, err);
	if (!err && !k->opt.pages)
		err = start_keeper(k);
	if (!err)
		err = ebtrace_bpf__attach(k->skel);
	if (!err && k->opt.offcpu)
		k->offcpu_error = attach_offcpu(k);
	return err ? err : bpf_channel_open(&k->channel, bpf_kernel_fd(k), k->opt.ring_bytes);
}

bool bpf_kernel_allows(void)
{
	libbpf_set_print(log_libbpf);
	if (libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_KPROBE, NULL) != 1)
		return false;
	struct btf *btf = btf__load_vmlinux_btf();
	btf__free(btf);
	return btf != NULL;
}

int bpf_kernel_new(const struct bpf_kernel_options *opt, struct bpf_kernel **ret)
{
	struct bpf_kernel *k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->opt = *opt;
	k->cpus = libbpf_num_possible_cpus();
	libbpf_set_print(log_libbpf);
	int err = k->cpus < 0 ? k->cpus : begin(k);
	if (err) {
		bpf_kernel_free(k);
		return err;
	}
	*ret = k;
	return 0;
}

void bpf_kernel_free(struct bpf_kernel *k)
{
	if (!k)
		return;
	bpf_kernel_stop_links(k);
	bpf_channel_close(&k->channel);
	bpf_kernel_stop_offcpu(k);
	ebtrace_bpf__destroy(k->skel);
	free(k);
}

// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/kernel.h"

#include "base/clock.h"
#include "base/ending.h"
#include "base/file.h"
#include "base/log.h"
#include "proc/process.h"
#include "proc/timens.h"
#include "source/bpf/channel.h"
#include "source/bpf/counted.h"
#include "source/bpf/link_keeper.h"
#include "source/bpf/numberings.h"
#include "source/bpf/plan.h"
#include "source/bpf/sampler.h"
#include "source/pages/faults.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ebtrace.skel.h"

#define MAX_PROGRAMS 10		  /* of a feature */
#define LOG_BYTES    (16u << 20)  /* of a program that the verifier refuses */
#define FILES_MORE   8		  /* descriptors of loading beside those of maps and programs */
#define LONG_NS	     200000000ull /* what takes longer to end is reported to the user */

struct bpf_kernel {
	struct bpf_kernel_options opt;
	struct ebtrace_bpf *skel;
	struct bpf_channel channel;
	struct link_keeper *keeper;
	int cpus;
	unsigned features; /* that are loaded */
	struct bpf_refusal refusal[BPF_FEATURES];
	struct bpf_link *link[BPF_FEATURES][MAX_PROGRAMS];
	uint64_t stopping_ns; /* since when probes are being removed; 0: they are not */
	bool said_stopping;
};

/* The programs of each feature, in the order in which they are attached. Those of BPF_BLAME: the
 * walks first, the switches last. */
static const char *const programs[BPF_FEATURES][MAX_PROGRAMS + 1] = {
	[BPF_CHILDREN] = {"ebt_process_fork", "ebt_process_exec", "ebt_process_exit"},
	[BPF_MARKERS] = {"ebt_marker"},
	[BPF_RUNTIME_EVENTS] = {"ebt_ocaml_function"},
	[BPF_ALLOCS] = {"ebt_alloc"},
	[BPF_RUNTIME_ALLOCS] = {"ebt_ocaml_alloc"},
	[BPF_USDT] = {"ebt_usdt"},
	[BPF_PAGES] = {"ebt_enter_munmap", "ebt_enter_mmap", "ebt_enter_mremap", "ebt_enter_brk",
		       "ebt_enter_madvise", "ebt_leave_munmap", "ebt_leave_mmap",
		       "ebt_leave_mremap", "ebt_leave_brk", "ebt_leave_madvise"},
	[BPF_BLAME] = {"ebt_offcpu_begin", "ebt_offcpu_flush", "ebt_offcpu_fork",
		       "ebt_offcpu_waking", "ebt_offcpu_exit", "ebt_offcpu_switch"},
	[BPF_FAULTS] = {"ebt_fault_begin", "ebt_fault_end"},
	[BPF_SAMPLES] = {"ebt_sample"},
	[BPF_MAPPINGS] = {"ebt_code_mapped"},
};
#define PROGRAM_EXIT  2 /* of BPF_CHILDREN */
#define PROGRAM_BEGIN 0 /* of BPF_BLAME */
#define PROGRAM_FLUSH 1

static bool has_feature(unsigned features, enum bpf_feature f)
{
	return features & BPF_FEATURE(f);
}

/* libbpf's own messages speak of its insides, and some mislead: they are for our debug log. */
static int log_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (log_level < LOG_DEBUG && level != LIBBPF_WARN)
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
	struct bpf_program *const of[BPF_PROBES] = {
		[BPF_PROBE_MARKER] = k->skel->progs.ebt_marker,
		[BPF_PROBE_RUNTIME] = k->skel->progs.ebt_ocaml_function,
		[BPF_PROBE_ALLOC] = k->skel->progs.ebt_alloc,
		[BPF_PROBE_RUNTIME_ALLOC] = k->skel->progs.ebt_ocaml_alloc,
		[BPF_PROBE_USDT] = k->skel->progs.ebt_usdt,
	};
	return of[which];
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
	struct link_maker maker = {.make = make_link, .ctx = k};
	_Static_assert(LINK_MAKER_FDS == BPF_PROBES, "one of each program");
	for (enum bpf_probe p = 0; p < BPF_PROBES; p++)
		maker.fds[p] = bpf_program__fd(program_of(k, p));
	return link_keeper_new(&maker, &k->keeper);
}

int bpf_kernel_attach(struct bpf_kernel *k, const struct link_spec *spec)
{
	if (!has_feature(k->features, bpf_feature_of((enum bpf_probe)spec->probe)))
		return -ENOTSUP;
	int fd = link_keeper_attach(k->keeper, spec);
	if (fd >= 0 || !link_keeper_has_ended(k->keeper))
		return fd;
	struct link_keeper *ended = k->keeper;
	int err = start_keeper(k);
	if (err)
		return err;
	link_keeper_replace(k->keeper, ended);
	return link_keeper_attach(k->keeper, spec);
}

/* No signal interrupts what it reports. */
static void report_stopping(struct bpf_kernel *k)
{
	uint64_t now = now_ns();
	k->stopping_ns = k->stopping_ns ? k->stopping_ns : now;
	if (k->said_stopping || !ending_asked() || now - k->stopping_ns < LONG_NS)
		return;
	k->said_stopping = true;
	messages_at(k->opt.messages, LOG_NORMAL,
		    "removing probes: for each the kernel waits until no CPU runs it any more");
}

void bpf_kernel_stop_links(struct bpf_kernel *k)
{
	report_stopping(k);
	if (k->keeper && !link_keeper_stop(k->keeper, LONG_NS))
		report_stopping(k);
	link_keeper_free(k->keeper);
	k->keeper = NULL;
}

enum bpf_feature bpf_feature_of(enum bpf_probe probe)
{
	static const enum bpf_feature of[BPF_PROBES] = {
		[BPF_PROBE_MARKER] = BPF_MARKERS, [BPF_PROBE_RUNTIME] = BPF_RUNTIME_EVENTS,
		[BPF_PROBE_ALLOC] = BPF_ALLOCS,	  [BPF_PROBE_RUNTIME_ALLOC] = BPF_RUNTIME_ALLOCS,
		[BPF_PROBE_USDT] = BPF_USDT,
	};
	return of[probe];
}

static void detach(struct bpf_kernel *k, enum bpf_feature f)
{
	for (unsigned i = MAX_PROGRAMS; i--;) {
		report_stopping(k);
		bpf_link__destroy(k->link[f][i]);
		k->link[f][i] = NULL;
	}
}

/* The links of tracepoints of system calls are removed by another process: for each of them the
 * kernel waits. Their programs find that nothing is traced. */
static void detach_pages(struct bpf_kernel *k)
{
	int fd[MAX_PROGRAMS], n = 0, behind = -1;
	for (unsigned i = 0; i < MAX_PROGRAMS; i++)
		if (k->link[BPF_PAGES][i])
			fd[n++] = bpf_link__fd(k->link[BPF_PAGES][i]);
	if (n)
		behind = link_keeper_close_behind(fd, (size_t)n);
	detach(k, BPF_PAGES);
	if (behind >= 0)
		close(behind);
}

void bpf_kernel_detach(struct bpf_kernel *k)
{
	detach_pages(k);
	detach(k, BPF_CHILDREN);
}

/* ---- maps ---- */

static struct bpf_map *map_of(const struct bpf_kernel *k, enum bpf_table table)
{
	struct bpf_map *const maps[BPF_TABLES] = {
		[BPF_TABLE_RUNTIMES] = k->skel->maps.ebt_ocaml,
		[BPF_TABLE_FOREIGN] = k->skel->maps.ebt_foreign,
		[BPF_TABLE_HANDOVER] = k->skel->maps.ebt_handover,
		[BPF_TABLE_ALLOC_FILES] = k->skel->maps.ebt_alloc_files,
		[BPF_TABLE_RUNTIME_ALLOCS] = k->skel->maps.ebt_ocaml_allocs,
		[BPF_TABLE_DOMAINS] = k->skel->maps.ebt_ocaml_domains,
		[BPF_TABLE_USDT_SPECS] = k->skel->maps.ebt_usdt_specs,
		[BPF_TABLE_SAMPLED] = k->skel->maps.ebt_sampled,
		[BPF_TABLE_KERNEL_STACKS] = k->skel->maps.ebt_kernel_stacks,
	};
	return maps[table];
}

/* A key in the size that the map has it in. */
union key {
	uint32_t word;
	uint64_t words;
};

static union key key_of(const struct bpf_map *map, uint64_t key)
{
	return bpf_map__key_size(map) == sizeof(uint32_t) ? (union key){.word = (uint32_t)key}
							  : (union key){.words = key};
}

/* The value of a map that has one for each CPU: the same for all. */
static int set_each_cpu(const struct bpf_kernel *k, int map, const union key *key,
			const void *value, size_t bytes)
{
	size_t room = (bytes + 7) / 8 * 8;
	char *values = calloc((size_t)k->cpus, room);
	for (int i = 0; values && i < k->cpus; i++)
		memcpy(values + (size_t)i * room, value, bytes);
	int err = !values ? -ENOMEM : bpf_map_update_elem(map, key, values, BPF_ANY) ? -errno : 0;
	free(values);
	return err;
}

int bpf_kernel_set(struct bpf_kernel *k, enum bpf_table table, uint64_t key, const void *value)
{
	struct bpf_map *map = map_of(k, table);
	union key of_map = key_of(map, key);
	int fd = bpf_map__fd(map);
	if (value && bpf_map__type(map) == BPF_MAP_TYPE_PERCPU_HASH)
		return set_each_cpu(k, fd, &of_map, value, bpf_map__value_size(map));
	int err = value ? bpf_map_update_elem(fd, &of_map, value, BPF_ANY)
			: bpf_map_delete_elem(fd, &of_map);
	err = err ? -errno : 0;
	/* Threads have cached what they found there. */
	if (!value && table == BPF_TABLE_RUNTIMES)
		__atomic_fetch_add(&k->skel->bss->ebt_ocaml_generation, 1, __ATOMIC_RELEASE);
	return err;
}

int bpf_kernel_get(const struct bpf_kernel *k, enum bpf_table table, uint64_t key, void *ret)
{
	const struct bpf_map *map = map_of(k, table);
	union key of_map = key_of(map, key);
	return bpf_map_lookup_elem(bpf_map__fd(map), &of_map, ret) ? -errno : 0;
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
	return k->link[BPF_CHILDREN][PROGRAM_EXIT] != NULL;
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
	struct ebt_dropped d;
	const uint64_t *from = (const uint64_t *)&k->skel->bss->ebt_dropped;
	for (size_t i = 0; i < sizeof(d) / sizeof(*from); i++)
		((uint64_t *)&d)[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	return d;
}

void bpf_kernel_set_level(struct bpf_kernel *k, enum ebt_level level)
{
	__atomic_store_n(&k->skel->bss->ebt_level, level, __ATOMIC_RELAXED);
}

const struct ebt_hits *bpf_kernel_hits(const struct bpf_kernel *k)
{
	return k->skel->bss->ebt_hits;
}

void bpf_kernel_event_programs(const struct bpf_kernel *k, enum bpf_feature f, int *ret_begin,
			       int *ret_end)
{
	*ret_begin = *ret_end = -1;
	if (!has_feature(k->features, f))
		return;
	const struct bpf_program *end = f == BPF_FAULTS	   ? k->skel->progs.ebt_fault_end
					: f == BPF_SAMPLES ? k->skel->progs.ebt_sample
					: has_feature(k->features, BPF_PAGE_SIZES)
						? k->skel->progs.ebt_page_fault
						: k->skel->progs.ebt_page_fault_plain;
	if (f == BPF_FAULTS)
		*ret_begin = bpf_program__fd(k->skel->progs.ebt_fault_begin);
	*ret_end = bpf_program__fd(end);
}

struct ebt_sample_counts bpf_kernel_sample_counts(const struct bpf_kernel *k)
{
	return k->skel->bss->ebt_sample_counts;
}

int bpf_kernel_exec_notices(const struct bpf_kernel *k)
{
	return has_feature(k->features, BPF_CHILDREN) ? bpf_map__fd(k->skel->maps.ebt_exec_notices)
						      : 0;
}

struct bpf_count_maps bpf_kernel_count_maps(const struct bpf_kernel *k)
{
	return (struct bpf_count_maps){
		.lanes = bpf_map__fd(k->skel->maps.ebt_count_lanes),
		.pages = bpf_map__fd(k->skel->maps.ebt_count_pages),
		.processes = bpf_map__fd(k->skel->maps.ebt_count_processes),
	};
}

void bpf_kernel_begin_run(struct bpf_kernel *k, uint64_t ns)
{
	__atomic_store_n(&k->skel->bss->ebt_run_begin_ns, ns, __ATOMIC_RELAXED);
}

void bpf_kernel_count_gap(struct bpf_kernel *k)
{
	__atomic_fetch_add(&k->skel->bss->ebt_count_gaps, 1, __ATOMIC_RELAXED);
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

void bpf_kernel_stop_offcpu(struct bpf_kernel *k)
{
	detach(k, BPF_BLAME);
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
	return walk(k->link[BPF_BLAME][PROGRAM_BEGIN]);
}
int bpf_kernel_flush_offcpu(struct bpf_kernel *k)
{
	return walk(k->link[BPF_BLAME][PROGRAM_FLUSH]);
}

/* ---- set-up ---- */

/* Room for as many processes as the kernel allows takes memory for those that are there. */
static int set_sizes(struct bpf_kernel *k)
{
	uint32_t of_each = process_limit(), rooms = k->opt.rooms ? k->opt.rooms : 1;
	const struct {
		struct bpf_map *map;
		uint32_t entries;
	} sizes[] = {{k->skel->maps.ebt_traced, of_each},
		     {k->skel->maps.ebt_ocaml, of_each},
		     {k->skel->maps.ebt_foreign, of_each},
		     {k->skel->maps.ebt_alloc_files, of_each},
		     {k->skel->maps.ebt_ocaml_allocs, of_each},
		     {k->skel->maps.ebt_sampled, of_each},
		     {k->skel->maps.ebt_offcpu_rooms, rooms},
		     {k->skel->maps.ebt_offcpu_free, rooms},
		     {k->skel->maps.ebt_cpu_waiters, (uint32_t)k->cpus},
		     {k->skel->maps.ebt_channel, (uint32_t)k->opt.plan->ring_bytes}};
	int err = 0;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes) && !err; i++)
		err = bpf_map__set_max_entries(sizes[i].map, sizes[i].entries);
	return err;
}

/* True if the kernel fills the sample of a perf event before it runs the program (Linux 6.3, which
 * added dyn_size). Otherwise a fault of a huge page counts as one of a small page, and mapping the
 * zero page counts as a fault. */
static bool has_samples(struct bpf_refusal *ret)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, "perf_sample_data", BTF_KIND_STRUCT) : 0;
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	const struct btf_member *m = type ? btf_members(type) : NULL;
	bool has = false;
	for (uint16_t i = 0; m && !has && i < btf_vlen(type); i++)
		has = !strcmp(btf__str_by_offset(btf, m[i].name_off), "dyn_size");
	if (btf && !has)
		bpf_refuse_missing("page sizes in samples of page faults", "6.3", ret);
	btf__free(btf);
	return has;
}

static void choose_program(const struct bpf_kernel *k, struct bpf_program *program, bool on)
{
	bpf_program__set_autoload(program, on);
	for (enum bpf_probe p = 0; p < BPF_PROBES && k->opt.multi; p++)
		if (program == program_of(k, p))
			bpf_program__set_expected_attach_type(
				program, (enum bpf_attach_type)UPROBE_MULTI_ATTACH_TYPE);
}

static void choose_programs(struct bpf_kernel *k, unsigned features)
{
	bool sizes = has_feature(features, BPF_PAGE_SIZES);
	choose_program(k, k->skel->progs.ebt_page_fault, sizes);
	choose_program(k, k->skel->progs.ebt_page_fault_plain,
		       has_feature(features, BPF_PAGES) && !sizes);
	for (enum bpf_feature f = 0; f < BPF_FEATURES; f++)
		for (unsigned i = 0; programs[f][i]; i++)
			choose_program(
				k, bpf_object__find_program_by_name(k->skel->obj, programs[f][i]),
				has_feature(features, f));
}

static void set_counting(struct bpf_kernel *k)
{
	bool counts = k->opt.plan->yield == PROBE_TALLIES;
	bpf_map__set_autocreate(k->skel->maps.ebt_count_lanes, counts);
	bpf_map__set_autocreate(k->skel->maps.ebt_count_pages, counts);
	bpf_map__set_autocreate(k->skel->maps.ebt_count_processes, counts);
	k->skel->rodata->ebt_counting = counts;
	k->skel->rodata->ebt_count_coarse = k->opt.plan->coarse;
	numberings_set_rows(k->skel->rodata->ebt_count_rows);
	k->skel->rodata->ebt_budgeted = k->opt.plan->budgeted;
}

static int set_up(struct bpf_kernel *k, unsigned features)
{
	uint64_t pidns = process_own_pidns();
	k->skel->rodata->ebt_follow = !k->opt.plan->no_follow;
	k->skel->rodata->ebt_everyone = k->opt.plan->everyone;
	k->skel->rodata->ebt_own_pid = (uint32_t)getpid();
	k->skel->rodata->ebt_notice_execs = k->opt.plan->hold && !k->opt.plan->pages;
	k->skel->rodata->ebt_stacks_on = has_feature(features, BPF_STACKS);
	numberings_set_runs(k->skel->rodata->ebt_phases_run);
	if (k->opt.stacks)
		k->skel->rodata->ebt_stacks = *k->opt.stacks;
	k->skel->rodata->ebt_pidns_ino = pidns == PROCESS_INITIAL_PIDNS ? 0 : pidns;
	k->skel->rodata->ebt_clock_ahead = timens_own().monotonic_ns;
	k->skel->rodata->ebt_faults_on = has_feature(features, BPF_FAULTS);
	k->skel->rodata->ebt_kernel_stacks_on = k->opt.plan->kernel_stacks;
	bpf_map__set_autocreate(k->skel->maps.ebt_kernel_stacks, k->opt.plan->kernel_stacks);
	set_counting(k);
	k->skel->rodata->ebt_page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	bpf_map__set_autocreate(k->skel->maps.ebt_page_calls, has_feature(features, BPF_PAGES));
	bpf_map__set_autocreate(k->skel->maps.ebt_threads, has_feature(features, BPF_BLAME));
	bpf_map__set_autocreate(k->skel->maps.ebt_cpu_waiters, has_feature(features, BPF_BLAME));
	bpf_map__set_autocreate(k->skel->maps.ebt_offcpu_rooms, k->opt.rooms);
	bpf_map__set_autocreate(k->skel->maps.ebt_offcpu_free, k->opt.rooms);
	k->skel->rodata->ebt_offcpu_stacks = k->opt.rooms;
	k->skel->rodata->ebt_offcpu_in_pauses =
		k->opt.plan->offcpu_stacks == OFFCPU_STACKS_IN_PAUSES;
	k->skel->rodata->ebt_offcpu_min_ns = k->opt.plan->offcpu_min_ns;
	k->skel->rodata->ebt_offcpu_stack_min_ns = k->opt.plan->offcpu_stack_min_ns;
	return set_sizes(k);
}

/* Descriptors that loading takes. */
static int count_files(const struct bpf_object *object)
{
	const struct bpf_map *map;
	struct bpf_program *prog;
	int n = FILES_MORE;
	bpf_object__for_each_map(map, object) n += bpf_map__autocreate(map);
	bpf_object__for_each_program(prog, object) n += bpf_program__autoload(prog);
	return n;
}

/* log: of LOG_BYTES, for what the verifier says of a program that it refuses; NULL: to the debug
 * log. 0 or -errno. */
static int load(struct bpf_kernel *k, unsigned features, char *log)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .kernel_log_buf = log,
		    .kernel_log_size = log ? LOG_BYTES : 0);
	ebtrace_bpf__destroy(k->skel);
	k->skel = ebtrace_bpf__open_opts(&opts);
	k->features = 0;
	if (!k->skel)
		return -errno;
	choose_programs(k, features);
	int err = set_up(k, features);
	if (!err)
		err = ebtrace_bpf__load(k->skel);
	int shortage = err ? bpf_shortage_of_files(count_files(k->skel->obj)) : 0;
	err = shortage ? shortage : err;
	k->features = err ? 0 : features;
	return err;
}

/* ---- what the kernel refuses ---- */

uint64_t bpf_feature_needs(enum bpf_feature f)
{
	bool reads_tracefs = f == BPF_PAGES || f == BPF_PAGE_SIZES;
	return BPF_NEEDS | (reads_tracefs ? bpf_tracefs_needs() : 0);
}

static void refuse_all(struct bpf_kernel *k, struct bpf_attempt a)
{
	for (enum bpf_feature f = 0; f < BPF_FEATURES; f++) {
		a.needs = bpf_feature_needs(f);
		if (has_feature(k->opt.features, f))
			bpf_refuse(&a, &k->refusal[f]);
	}
	k->features = 0;
}

/* 0, -ESRCH if the kernel has none, or -errno. libbpf says of every error that there is none. */
static int read_btf(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	btf__free(btf);
	if (btf)
		return 0;
	int fd = file_open(AT_FDCWD, "/sys/kernel/btf/vmlinux", 0);
	if (fd >= 0)
		close(fd);
	return fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM ? fd : -ESRCH;
}

/* Loads a feature's programs, beside those that it adds to. */
static bool loads_alone(struct bpf_kernel *k, enum bpf_feature f, unsigned others, char *log)
{
	static const unsigned needs[BPF_FEATURES] = {
		[BPF_STACKS] = BPF_PROBE_FEATURES,
		[BPF_PAGE_SIZES] = BPF_FEATURE(BPF_PAGES),
		[BPF_FAULTS] = BPF_FEATURE(BPF_BLAME),
	};
	unsigned with = needs[f] & others;
	if (needs[f] && !with) {
		for (enum bpf_feature n = 0; n < BPF_FEATURES; n++)
			if (needs[f] & BPF_FEATURE(n) && k->refusal[n].err)
				k->refusal[f] = k->refusal[n];
		return false;
	}
	*log = 0;
	int err = load(k, BPF_FEATURE(f) | with, log);
	struct bpf_attempt a = {.step = BPF_STEP_LOAD,
				.err = err,
				.needs = bpf_feature_needs(f),
				.log = *log ? log : NULL};
	if (err)
		bpf_refuse(&a, &k->refusal[f]);
	return !err;
}

/* The kernel has refused them together: loads those that it accepts. 0 or -errno. Each load reads
 * the kernel's BTF, so that the feature that is refused most often, the last, is tried first. */
static int load_accepted(struct bpf_kernel *k, unsigned wanted)
{
	const enum bpf_feature last = BPF_FEATURES - 1;
	unsigned accepted = 0, others = wanted & ~BPF_FEATURE(last);
	char *log = malloc(LOG_BYTES);
	if (!log)
		return -ENOMEM;
	if (has_feature(wanted, last) && loads_alone(k, last, 0, log))
		accepted = BPF_FEATURE(last);
	else if (others != wanted && !load(k, others, NULL))
		accepted = others;
	/* What a feature adds to comes before it. */
	for (enum bpf_feature f = 0; f < last && accepted != others; f++)
		if (has_feature(others, f) && loads_alone(k, f, accepted, log))
			accepted |= BPF_FEATURE(f);
	free(log);
	return k->features == accepted ? 0 : load(k, accepted, NULL);
}

static void load_wanted(struct bpf_kernel *k, unsigned wanted)
{
	struct bpf_attempt a = {.step = BPF_STEP_LOAD};
	a.err = load(k, wanted, NULL);
	if (!a.err)
		return;
	int btf = read_btf();
	a.no_btf = btf == -ESRCH;
	a.err = !btf ? load_accepted(k, wanted) : a.no_btf ? a.err : btf;
	if (a.err)
		refuse_all(k, a);
}

static void attach(struct bpf_kernel *k, enum bpf_feature f)
{
	for (unsigned i = 0; programs[f][i]; i++) {
		k->link[f][i] = bpf_program__attach(
			bpf_object__find_program_by_name(k->skel->obj, programs[f][i]));
		if (k->link[f][i])
			continue;
		struct bpf_attempt a = {.step = f == BPF_PAGES ? BPF_STEP_TRACEPOINT
							       : BPF_STEP_LINK,
					.err = -errno,
					.needs = bpf_feature_needs(f)};
		bpf_refuse(&a, &k->refusal[f]);
		k->features &= ~BPF_FEATURE(f);
		detach(k, f);
		k->stopping_ns = 0;
		return;
	}
}

static void attach_loaded(struct bpf_kernel *k)
{
	static const enum bpf_feature attached[] = {BPF_CHILDREN, BPF_PAGES, BPF_BLAME,
						    BPF_MAPPINGS};
	for (unsigned i = 0; i < sizeof(attached) / sizeof(*attached); i++)
		if (has_feature(k->features, attached[i]))
			attach(k, attached[i]);
	if (has_feature(k->features, BPF_FAULTS) && !has_feature(k->features, BPF_BLAME)) {
		k->refusal[BPF_FAULTS] = k->refusal[BPF_BLAME];
		k->features &= ~BPF_FEATURE(BPF_FAULTS);
	}
}

/* The events of page faults are tried on this process, those of samples on each CPU: what refuses
 * them refuses all. */
static void try_events(struct bpf_kernel *k, enum bpf_feature f)
{
	struct page_faults faults = {0};
	bpf_kernel_event_programs(k, f, &faults.begin, &faults.end);
	if (faults.end < 0)
		return;
	int n = f == BPF_SAMPLES ? sampler_try(faults.end) : page_faults_attach(&faults, getpid());
	page_faults_detach(&faults);
	struct bpf_attempt a = {.step = BPF_STEP_EVENT, .err = n, .needs = bpf_feature_needs(f)};
	if (n >= 0)
		return;
	bpf_refuse(&a, &k->refusal[f]);
	k->features &= ~BPF_FEATURE(f);
	detach(k, f);
}

/* True if no program can be loaded at all. */
static bool refuses_everything(struct bpf_kernel *k)
{
	struct privilege p;
	struct bpf_refusal old;
	privilege_read(&p);
	bpf_refuse_version(&p, &old);
	for (enum bpf_feature f = 0; old.err && f < BPF_FEATURES; f++)
		if (has_feature(k->opt.features, f))
			k->refusal[f] = old;
	int err = uprobe_try_load();
	bool is_denied = err == -EPERM || err == -EACCES;
	if (!old.err && is_denied)
		refuse_all(k, (struct bpf_attempt){.step = BPF_STEP_LOAD, .err = err});
	return old.err || is_denied;
}

static int begin(struct bpf_kernel *k)
{
	unsigned wanted = k->opt.features;
	if (refuses_everything(k))
		return 0;
	if (has_feature(wanted, BPF_PAGE_SIZES) && !has_samples(&k->refusal[BPF_PAGE_SIZES]))
		wanted &= ~BPF_FEATURE(BPF_PAGE_SIZES);
	load_wanted(k, wanted);
	int err = k->features & BPF_PROBE_FEATURES ? start_keeper(k) : 0;
	if (err || !k->features)
		return err;
	attach_loaded(k);
	try_events(k, BPF_FAULTS);
	try_events(k, BPF_PAGES);
	try_events(k, BPF_SAMPLES);
	return bpf_channel_open(&k->channel, bpf_kernel_fd(k), k->opt.plan->ring_bytes);
}

unsigned bpf_kernel_features(const struct bpf_kernel *k)
{
	return k->features;
}

const struct bpf_refusal *bpf_kernel_refusal(const struct bpf_kernel *k, enum bpf_feature f)
{
	return k->refusal[f].err ? &k->refusal[f] : NULL;
}

bool bpf_kernel_allows(void)
{
	struct privilege p;
	struct bpf_refusal old;
	libbpf_set_print(log_libbpf);
	privilege_read(&p);
	bpf_refuse_version(&p, &old);
	return !old.err && !uprobe_try_load() && !read_btf();
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
	if (err)
		bpf_kernel_free(k);
	else
		*ret = k;
	return err;
}

void bpf_kernel_free(struct bpf_kernel *k)
{
	if (!k)
		return;
	bpf_kernel_stop_links(k);
	bpf_channel_close(&k->channel);
	bpf_kernel_stop_offcpu(k);
	bpf_kernel_detach(k);
	ebtrace_bpf__destroy(k->skel);
	free(k);
}

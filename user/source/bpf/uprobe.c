// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/uprobe.h"

#include "base/clock.h"

#include <errno.h>
#include <link.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The part of union bpf_attr for BPF_LINK_CREATE of a uprobe_multi link (linux 6.6); older
 * headers lack it. */
struct link_create {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, zero;
};

static int sys_bpf(int cmd, void *attr, size_t bytes)
{
	long ret = syscall(__NR_bpf, cmd, attr, bytes);
	return ret < 0 ? -errno : (int)ret;
}

static int load_empty(uint32_t attach_type)
{
	const struct bpf_insn insn[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr;
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_KPROBE;
	attr.insns = (uintptr_t)insn;
	attr.insn_cnt = 2;
	attr.license = (uintptr_t) "Dual BSD/GPL";
	attr.expected_attach_type = attach_type;
	return sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
}

int uprobe_try_load(void)
{
	int prog = load_empty(0);
	if (prog < 0)
		return prog;
	close(prog);
	return 0;
}

bool uprobe_multi_works(void)
{
	int prog = load_empty(UPROBE_MULTI_ATTACH_TYPE);
	if (prog < 0)
		return false;
	uint64_t offset = 0;
	struct link_create attr = {
		.prog_fd = (uint32_t)prog,
		.attach_type = UPROBE_MULTI_ATTACH_TYPE,
		.path = (uintptr_t) "/",
		.offsets = (uintptr_t)&offset,
		.cnt = 1,
	};
	/* A kernel that knows such links finds that / is no file to probe. A kernel with a correct
	 * pid filter refuses a negative pid; others search for that process and find none. */
	int no_file = sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
	attr.pid = (uint32_t)-1;
	int no_pid = sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
	close(prog);
	return no_file == -EBADF && no_pid == -EINVAL;
}

int uprobe_multi_attach(int prog_fd, const char *path, pid_t pid, const struct uprobe_site *site,
			uint32_t sites)
{
	uint64_t few[3 * UPROBE_FEW];
	uint64_t *many = sites > UPROBE_FEW ? calloc(sites, 3 * sizeof(*many)) : NULL;
	uint64_t *words = many ? many : few;
	if (sites > UPROBE_FEW && !many)
		return -ENOMEM;
	uint64_t *offsets = words, *semaphores = words + sites, *cookies = words + 2ull * sites;
	for (uint32_t i = 0; i < sites; i++) {
		offsets[i] = site[i].offset;
		semaphores[i] = site[i].semaphore;
		cookies[i] = site[i].cookie;
	}
	struct link_create attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type = UPROBE_MULTI_ATTACH_TYPE,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.ref_ctr_offsets = (uintptr_t)semaphores,
		.cookies = (uintptr_t)cookies,
		.cnt = sites,
		.pid = pid > 0 ? (uint32_t)pid : 0,
	};
	int fd = sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
	free(many);
	return fd;
}

/* A site of our own, which is passed often. */
__attribute__((noinline)) static void pass(unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		__asm__ volatile(".globl uprobe_own_site\n.hidden uprobe_own_site\n"
				 "uprobe_own_site: nop");
}
extern const char uprobe_own_site[];

struct own_site {
	uintptr_t address;
	uint64_t offset; /* in its file; 0: not found */
};

static int find_own_site(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
	struct own_site *site = ctx;
	(void)bytes;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t at = site->address - info->dlpi_addr - ph->p_vaddr;
		if (ph->p_type == PT_LOAD && at < ph->p_filesz)
			site->offset = ph->p_offset + at;
	}
	return site->offset != 0;
}

double uprobe_price_ns(void)
{
	enum { PASSES = 5000, ROUNDS = 5 };
	struct own_site own = {.address = (uintptr_t)uprobe_own_site};
	double best = 0;
	if (!uprobe_multi_works() || !dl_iterate_phdr(find_own_site, &own))
		return 0;
	int prog = load_empty(UPROBE_MULTI_ATTACH_TYPE);
	struct uprobe_site site = {.offset = own.offset};
	int link =
		prog < 0 ? prog : uprobe_multi_attach(prog, "/proc/self/exe", getpid(), &site, 1);
	for (unsigned i = 0; i < ROUNDS && link >= 0; i++) {
		uint64_t begin = now_ns();
		pass(PASSES);
		double ns = (double)(now_ns() - begin) / PASSES;
		best = !i || ns < best ? ns : best;
	}
	if (link >= 0)
		close(link);
	if (prog >= 0)
		close(prog);
	return best;
}

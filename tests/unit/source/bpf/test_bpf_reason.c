// SPDX-License-Identifier: BSD-2-Clause
/* Why the kernel refuses BPF programs: what is found depends on what this process may do. */
#include "source/bpf/kernel.h"
#include "source/bpf/reason.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool may_bpf(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
	return !syscall(SYS_capget, &header, caps) && caps[0].effective & 1u << CAP_SYS_ADMIN;
}

#define LOAD_NEEDS (1ull << CAP_BPF | 1ull << CAP_PERFMON)

static struct bpf_refusal of(enum bpf_step step, int err, uint64_t needs, const char *log)
{
	struct bpf_refusal r;
	bpf_refuse(&(struct bpf_attempt){.step = step, .err = err, .needs = needs, .log = log}, &r);
	return r;
}

static void check_line(const char *what, const char *log, const char *want)
{
	int len = 0;
	const char *at = bpf_verifier_reason(log, &len);
	char line[256];
	snprintf(line, sizeof(line), "%.*s", len, at ? at : "");
	ok(!strcmp(line, want), "%s: '%s'", what, line);
}

static void test_log(void)
{
	check_line("the verifier's reason is the first line that is no instruction and no state",
		   "reg type unsupported for arg#0 function f#12\n"
		   "0: R1=ctx(off=0,imm=0) R10=fp0\n; int f(void *ctx)\n0: (85) call 113\n"
		   "unknown func bpf_probe_read_kernel#113\n"
		   "processed 1 insns (limit 1000000) max_states_per_insn 0\n",
		   "unknown func bpf_probe_read_kernel#113");
	check_line("a sentence about a register is a reason",
		   "0: (61) r0 = *(u32 *)(r1 +0)\nR1 type=ctx expected=fp\n",
		   "R1 type=ctx expected=fp");
	check_line("a log of progress alone has none", "0: (95) exit\nprocessed 1 insns\n", "");
	check_line("nor has an empty one", "", "");
}

static void test_privileged(void)
{
	struct bpf_refusal r = of(BPF_STEP_LOAD, -EACCES, LOAD_NEEDS, "0: (95) exit\nbad exit\n");
	is(r.err, -ENOTSUP, "with all capabilities a refused program is no denial");
	is(r.cause, BPF_CAUSE_VERIFIER, "but the verifier's");
	ok(strstr(r.why, "bad exit"), "whose line is quoted: %s", r.why);
	r = of(BPF_STEP_LOAD, -EINVAL, LOAD_NEEDS, "0: (95) exit\nprocessed 1 insns\n");
	is(r.cause, BPF_CAUSE_OTHER, "without such a line the verifier is not named");
	is_str(r.why, strerror(EINVAL), "but the error");
	r = of(BPF_STEP_LOAD, -EMFILE, LOAD_NEEDS, "0: (95) exit\nbad exit\n");
	ok(strstr(r.why, "ulimit -n"), "a lack of descriptors is named: %s", r.why);
	r = of(BPF_STEP_LOAD, -ENFILE, LOAD_NEEDS, NULL);
	ok(strstr(r.why, "fs.file-max"), "also one of the whole machine: %s", r.why);
	r = of(BPF_STEP_LINK, -ENOENT, LOAD_NEEDS, NULL);
	is_str(r.why, strerror(ENOENT), "what has no known cause has the error's own text");
	bpf_refuse(&(struct bpf_attempt){.err = -ESRCH, .no_btf = true}, &r);
	ok(r.cause == BPF_CAUSE_BTF && strstr(r.why, "CONFIG_DEBUG_INFO_BTF"),
	   "missing types are named");
}

static void test_version(void)
{
	static const struct {
		unsigned major, minor;
		bool old;
	} rows[] = {{5, 19, true}, {6, 0, true}, {6, 1, false}, {6, 18, false}, {7, 0, false}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct bpf_refusal r;
		struct privilege p = {.major = rows[i].major, .minor = rows[i].minor};
		snprintf(p.release, sizeof(p.release), "%u.%u.3", p.major, p.minor);
		bpf_refuse_version(&p, &r);
		ok((r.err != 0) == rows[i].old, "Linux %s is %s", p.release,
		   rows[i].old ? "too old" : "supported");
		ok(!r.err || strstr(r.why, p.release), "and named: %s", r.why);
	}
}

/* What a function that reads too much finds on its stack: a number that is new enough. */
static __attribute__((noinline)) void fill_stack(void)
{
	volatile unsigned at[4096];
	for (unsigned i = 0; i < sizeof(at) / sizeof(*at); i++)
		at[i] = 7;
}

static void test_old_kernel(void)
{
	int had = personality(0xffffffff);
	personality(had | UNAME26);
	fill_stack();
	ok(!bpf_kernel_allows(), "a kernel that says it is Linux 2.6 is not asked for more");
	personality(had);
}

static void test_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {{0}};
	/* Root is not told to be root. */
	const char *what = geteuid() ? ", or root" : ", which root lacks here";
	char want[128];
	if (may_bpf()) {
		caps[CAP_BPF / 32].effective = caps[CAP_BPF / 32].permitted = 1u << CAP_BPF % 32;
		caps[CAP_PERFMON / 32].permitted |= 1u << CAP_PERFMON % 32;
		is(syscall(SYS_capset, &header, caps), 0, "CAP_PERFMON is dropped");
		snprintf(want, sizeof(want), "needs CAP_PERFMON%s", what);
		is_str(of(BPF_STEP_LOAD, -EPERM, LOAD_NEEDS, NULL).why, want,
		       "one capability that is missing is named alone");
	}
	memset(caps, 0, sizeof(caps));
	if (syscall(SYS_capset, &header, caps))
		exit(1);
	struct bpf_refusal r = of(BPF_STEP_LOAD, -EACCES, LOAD_NEEDS, "R1 leaks\n");
	is(r.err, -EPERM, "without capabilities what the verifier refuses is a denial");
	snprintf(want, sizeof(want), "needs CAP_BPF and CAP_PERFMON%s", what);
	is_str(r.why, want, "and they are named");
	snprintf(want, sizeof(want), "needs CAP_BPF, CAP_PERFMON and CAP_DAC_READ_SEARCH%s", what);
	is_str(of(BPF_STEP_TRACEPOINT, -EACCES, LOAD_NEEDS | 1ull << CAP_DAC_READ_SEARCH, NULL).why,
	       want, "also three of them");
}

static unsigned open_files(void)
{
	unsigned n = 0;
	for (int fd = 0; fd < 1000; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_files(void)
{
	struct rlimit had, few;
	unsigned before = open_files();
	is(bpf_shortage_of_files(10), 0, "ten descriptors more can be had");
	is(bpf_shortage_of_files(100000), 0, "of many no more are tried than a number");
	getrlimit(RLIMIT_NOFILE, &had);
	few = had;
	few.rlim_cur = 0;
	for (unsigned unused = 0; unused < 5; few.rlim_cur++)
		unused += fcntl((int)few.rlim_cur, F_GETFD) < 0;
	setrlimit(RLIMIT_NOFILE, &few);
	int five = bpf_shortage_of_files(5), six = bpf_shortage_of_files(6);
	setrlimit(RLIMIT_NOFILE, &had);
	ok(!five && six == -EMFILE, "where five can be had there is a shortage of six");
	is(open_files(), before, "none of those that were tried stays open");
}

int main(void)
{
	test_files();
	test_log();
	if (may_bpf())
		test_privileged();
	test_version();
	test_old_kernel();
	test_capabilities();
	return tap_done();
}

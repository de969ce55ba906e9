// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/reason.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"

#define FILES_MAX 256 /* descriptors that are tried */

static const char *const cause_names[] = {
	[BPF_CAUSE_NONE] = "none",
	[BPF_CAUSE_CAPABILITY] = "capability",
	[BPF_CAUSE_USERNS] = "user_namespace",
	[BPF_CAUSE_SECCOMP] = "seccomp",
	[BPF_CAUSE_LOCKDOWN] = "lockdown",
	[BPF_CAUSE_VERSION] = "version",
	[BPF_CAUSE_BTF] = "btf",
	[BPF_CAUSE_MISSING] = "missing",
	[BPF_CAUSE_VERIFIER] = "verifier",
	[BPF_CAUSE_TRACEFS] = "tracefs",
	[BPF_CAUSE_OTHER] = "other",
};

const char *bpf_cause_name(enum bpf_cause cause)
{
	return cause_names[cause];
}

/* ---- the verifier's log ---- */

/* Lines of the log that show instructions, states and statistics. */
static bool is_progress(const char *line, size_t len)
{
	static const char *const begins[] = {";",
					     "from ",
					     "processed ",
					     "R0",
					     "R1",
					     "R2",
					     "R3",
					     "R4",
					     "R5",
					     "R6",
					     "R7",
					     "R8",
					     "R9",
					     "R10",
					     "last_idx ",
					     "regs=",
					     "parent ",
					     "mark_precise",
					     "func#",
					     "Validating ",
					     "max_states",
					     "Func#",
					     "propagating",
					     "stack depth",
					     "verification",
					     "reg type unsupported",
					     "func '"};
	if (!len || isspace((unsigned char)*line))
		return true;
	size_t digits = strspn(line, "0123456789");
	if (digits && line[digits] == ':')
		return true;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++) {
		size_t n = strlen(begins[i]);
		/* A register at the begin of a sentence is the reason: "R1 type=...". */
		if (!strncmp(line, begins[i], n) &&
		    (*line != 'R' || line[n] == '=' || line[n] == '_'))
			return true;
	}
	return false;
}

const char *bpf_verifier_reason(const char *log, int *ret_len)
{
	while (log && *log) {
		size_t len = strcspn(log, "\n");
		if (!is_progress(log, len)) {
			*ret_len = len > 160 ? 160 : (int)len;
			return log;
		}
		log += len + (log[len] == '\n');
	}
	return NULL;
}

/* ---- refusals ---- */

static void set(struct bpf_refusal *r, enum bpf_cause cause, const char *advice)
{
	r->cause = cause;
	r->advice = advice;
}

/* Those that may be needed, in the order of messages. */
static const unsigned capabilities[] = {CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH,
					CAP_SYS_ADMIN};
#define CAPABILITIES (sizeof(capabilities) / sizeof(*capabilities))

static uint64_t find_lacking(const struct privilege *p, uint64_t needs)
{
	for (unsigned i = 0; i < CAPABILITIES; i++)
		if (privilege_has(p, capabilities[i]))
			needs &= ~(1ull << capabilities[i]);
	return needs;
}

/* "needs CAP_BPF and CAP_PERFMON, or root": those that are missing. Root reads what it lacks. */
static void refuse_capabilities(uint64_t lacking, struct bpf_refusal *r)
{
	size_t at = (size_t)snprintf(r->why, sizeof(r->why), "needs ");
	uint64_t left = lacking;
	for (unsigned i = 0; i < CAPABILITIES; i++) {
		uint64_t c = 1ull << capabilities[i];
		if (!(left & c))
			continue;
		left &= ~c;
		const char *sep = !left ? "" : left & (left - 1) ? ", " : " and ";
		at += (size_t)snprintf(r->why + at, sizeof(r->why) - at, "%s%s",
				       privilege_name(capabilities[i]), sep);
	}
	snprintf(r->why + at, sizeof(r->why) - at, "%s",
		 geteuid() ? ", or root" : ", which root lacks here");
	set(r, BPF_CAUSE_CAPABILITY,
	    geteuid() ? "run ebtrace as root; in a container, add the capabilities that are named"
		      : "root lacks them here: add the capabilities that are named, to the "
			"container or the service");
	r->err = -EPERM;
}

void bpf_refuse_others(const struct privilege *p, uint64_t lacking, struct bpf_refusal *ret)
{
	struct bpf_refusal r = {.err = -EACCES};
	if (lacking && !find_lacking(p, lacking)) {
		set(&r, BPF_CAUSE_USERNS, "run ebtrace outside the container");
		snprintf(r.why, sizeof(r.why),
			 "this process is in a user namespace of its own, whose capabilities the "
			 "kernel does not accept for processes of other users");
	} else if (lacking) {
		refuse_capabilities(lacking, &r);
		r.advice = geteuid() ? "run ebtrace as root, or as the process's user"
				     : "add the capabilities that are named, or run ebtrace as the "
				       "process's user";
	}
	*ret = lacking ? r : (struct bpf_refusal){0};
}

/* Debian's level 3 reserves perf_event_open() for CAP_SYS_ADMIN. 0: not known. */
static int read_paranoia(void)
{
	char text[32];
	ssize_t n = file_read_text("/proc/sys/kernel/perf_event_paranoid", text, sizeof(text));
	return n > 0 ? atoi(text) : 0;
}

static ssize_t read_tracefs(void)
{
	char text[32];
	return file_read_text("/sys/kernel/tracing/events/syscalls/sys_enter_munmap/id", text,
			      sizeof(text));
}

uint64_t bpf_tracefs_needs(void)
{
	return read_tracefs() == -EACCES ? 1ull << CAP_DAC_READ_SEARCH : 0;
}

static bool is_reserved(const struct privilege *p)
{
	return !privilege_has(p, CAP_SYS_ADMIN) && read_paranoia() > 2;
}

/* Tracepoints are attached to by perf_event_open(), when their numbers have been read. */
static bool is_paranoid(const struct bpf_attempt *a, const struct privilege *p)
{
	bool calls = a->step == BPF_STEP_EVENT || a->step == BPF_STEP_UPROBE ||
		     (a->step == BPF_STEP_TRACEPOINT && read_tracefs() > 0);
	return calls && is_reserved(p);
}

/* The call that a seccomp filter refuses; NULL: none. Without a filter the kernel finds no such
 * file, and no attributes at NULL, whatever this process may do. */
static const char *find_filtered(const struct bpf_attempt *a, const struct privilege *p)
{
	union bpf_attr attr;
	memset(&attr, 0, sizeof(attr));
	attr.pathname = (uintptr_t) "/proc/self/fd/none";
	if (!p->filtered)
		return NULL;
	if (syscall(SYS_bpf, BPF_OBJ_GET, &attr, sizeof(attr)) < 0 && errno != ENOENT)
		return "bpf()";
	if (a->step == BPF_STEP_LOAD || is_reserved(p))
		return NULL;
	bool reached = syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0ul) >= 0 || errno == EFAULT;
	return reached ? NULL : "perf_event_open()";
}

static void refuse_filtered(const char *call, struct bpf_refusal *r)
{
	set(r, BPF_CAUSE_SECCOMP,
	    "run ebtrace outside the container, or allow bpf() and perf_event_open() in its "
	    "seccomp profile");
	snprintf(r->why, sizeof(r->why), "a seccomp filter refuses %s", call);
	r->err = -EPERM;
}

static void refuse_permission(const struct bpf_attempt *a, const struct privilege *p,
			      struct bpf_refusal *r)
{
	const char *filtered = find_filtered(a, p);
	uint64_t lacking = find_lacking(p, a->needs);
	uint64_t others = lacking & ~(1ull << CAP_SYS_ADMIN | 1ull << CAP_DAC_READ_SEARCH);
	if (!others && is_paranoid(a, p)) {
		set(r, BPF_CAUSE_CAPABILITY,
		    geteuid() ? "run ebtrace as root, or: sysctl kernel.perf_event_paranoid=2"
			      : "add CAP_SYS_ADMIN, or: sysctl kernel.perf_event_paranoid=2");
		snprintf(r->why, sizeof(r->why),
			 "kernel.perf_event_paranoid is %d: perf_event_open() needs "
			 "CAP_SYS_ADMIN, %s",
			 read_paranoia(), geteuid() ? "or root" : "which root lacks here");
		r->err = -EPERM;
	} else if (lacking) {
		refuse_capabilities(lacking, r);
	} else if (!p->initial_userns) {
		set(r, BPF_CAUSE_USERNS, "run ebtrace outside the container");
		snprintf(r->why, sizeof(r->why),
			 "this process is in a user namespace of its own, whose capabilities the "
			 "kernel does not accept for BPF");
	} else if (filtered) {
		refuse_filtered(filtered, r);
	} else if (p->lockdown == LOCKDOWN_CONFIDENTIALITY) {
		set(r, BPF_CAUSE_LOCKDOWN, "boot without lockdown=confidentiality");
		snprintf(r->why, sizeof(r->why), "the kernel is locked down (confidentiality)");
	} else {
		snprintf(r->why, sizeof(r->why), "%s", strerror(-r->err));
	}
}

/* Programs read the kernel's memory by bpf_probe_read_kernel(), which lockdown takes away. libbpf
 * then replaces it by the older bpf_probe_read(), which is not there either. */
static bool is_locked_down(const struct privilege *p, const char *line)
{
	return p->lockdown == LOCKDOWN_CONFIDENTIALITY && strstr(line, "bpf_probe_read");
}

static void refuse_program(const struct privilege *p, const char *at, int len,
			   struct bpf_refusal *r)
{
	char line[192];
	snprintf(line, sizeof(line), "%.*s", len, at);
	r->err = -ENOTSUP;
	if (is_locked_down(p, line)) {
		set(r, BPF_CAUSE_LOCKDOWN, "boot without lockdown=confidentiality");
		snprintf(r->why, sizeof(r->why),
			 "the kernel is locked down (confidentiality): programs may not read its "
			 "memory");
		return;
	}
	set(r, BPF_CAUSE_VERIFIER, "report it with the output of -vv and the kernel's release");
	snprintf(r->why, sizeof(r->why), "this kernel's verifier refuses a program: %.150s", line);
}

static void refuse_tracepoint(struct bpf_refusal *r)
{
	bool mounted = !access("/sys/kernel/tracing/events", F_OK) ||
		       !access("/sys/kernel/debug/tracing/events", F_OK);
	set(r, mounted ? BPF_CAUSE_MISSING : BPF_CAUSE_TRACEFS,
	    mounted ? "use a kernel with CONFIG_FTRACE_SYSCALLS"
		    : "mount -t tracefs none /sys/kernel/tracing");
	snprintf(r->why, sizeof(r->why), "%s",
		 mounted ? "this kernel has no tracepoints of system calls"
			 : "tracefs is missing: mount -t tracefs none /sys/kernel/tracing");
}

static void refuse_btf(struct bpf_refusal *r)
{
	set(r, BPF_CAUSE_BTF, "use a kernel with CONFIG_DEBUG_INFO_BTF");
	snprintf(r->why, sizeof(r->why),
		 "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF, /sys/kernel/btf/vmlinux), which "
		 "they need");
	r->err = -ENOTSUP;
}

int bpf_shortage_of_files(int wanted)
{
	int fd[FILES_MAX], n = 0, err = 0;
	for (; n < wanted && n < FILES_MAX && !err; n += !err) {
		fd[n] = file_open(AT_FDCWD, "/dev/null", 0);
		err = fd[n] < 0 ? fd[n] : 0;
	}
	while (n)
		close(fd[--n]);
	return err == -EMFILE || err == -ENFILE ? err : 0;
}

/* Ours, or those of the whole machine. */
static void refuse_files(struct bpf_refusal *r)
{
	bool own = r->err == -EMFILE;
	set(r, BPF_CAUSE_OTHER,
	    own ? "raise the limit: ulimit -n" : "raise the limit: sysctl fs.file-max");
	snprintf(r->why, sizeof(r->why), "%s (%s)", strerror(-r->err),
		 own ? "ulimit -n" : "fs.file-max");
}

void bpf_refuse(const struct bpf_attempt *a, struct bpf_refusal *ret)
{
	struct privilege p;
	struct bpf_refusal r = {.err = a->err};
	privilege_read(&p);
	set(&r, BPF_CAUSE_OTHER, "see what the kernel answered: -vv");
	bool loads = a->step == BPF_STEP_LOAD;
	int len = 0;
	const char *line = loads ? bpf_verifier_reason(a->log, &len) : NULL;
	/* The verifier refuses with EACCES. */
	bool denied = a->err == -EPERM || (a->err == -EACCES && !loads) ||
		      (a->err == -EACCES && find_lacking(&p, a->needs));
	const char *filtered = denied ? NULL : find_filtered(a, &p);
	if (denied)
		refuse_permission(a, &p, &r);
	else if (a->err == -EMFILE || a->err == -ENFILE)
		refuse_files(&r);
	else if (filtered)
		refuse_filtered(filtered, &r);
	else if (a->no_btf)
		refuse_btf(&r);
	else if (line)
		refuse_program(&p, line, len, &r);
	else if (a->step == BPF_STEP_TRACEPOINT && a->err == -ENOENT)
		refuse_tracepoint(&r);
	else
		snprintf(r.why, sizeof(r.why), "%s", strerror(-a->err));
	*ret = r;
}

void bpf_refuse_version(const struct privilege *p, struct bpf_refusal *ret)
{
	*ret = (struct bpf_refusal){0};
	if (p->major > BPF_OLDEST_MAJOR ||
	    (p->major == BPF_OLDEST_MAJOR && p->minor >= BPF_OLDEST_MINOR))
		return;
	ret->err = -ENOTSUP;
	set(ret, BPF_CAUSE_VERSION, "use Linux 6.1 or later");
	snprintf(ret->why, sizeof(ret->why),
		 "Linux %s is older than %d.%d, the oldest that is supported", p->release,
		 BPF_OLDEST_MAJOR, BPF_OLDEST_MINOR);
}

void bpf_refuse_missing(const char *what, const char *since, struct bpf_refusal *ret)
{
	*ret = (struct bpf_refusal){.err = -ENOTSUP};
	set(ret, BPF_CAUSE_MISSING, "use a newer kernel");
	snprintf(ret->why, sizeof(ret->why), "this kernel has no %s (Linux %s)", what, since);
}

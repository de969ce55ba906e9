/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/open.h"

#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/commands.h"
#include "codec/ring_ids.h"
#include "proc/ocaml.h"
#include "proc/runtime.h"

#define MAX_STDIN_BYTES (4ull << 30)

void complain(const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(stderr, "ebtrace: %s\n", line);
}

int open_status(int err)
{
	switch (err) {
	case -ENOENT:
		return EXIT_NOTHING;
	case -ESRCH:
		return EXIT_GONE;
	case -EACCES:
	case -EPERM:
	case -EOWNERDEAD: /* of ringfile_find(): somebody else's file */
		return EXIT_DENIED;
	default:
		return EXIT_ERROR;
	}
}

/* Rings are read at offsets, which a pipe has not: it is copied to memory first. */
static int spool_stdin(void)
{
	struct stat st;
	if (!fstat(STDIN_FILENO, &st) && S_ISREG(st.st_mode))
		return dup(STDIN_FILENO);
	int fd = memfd_create("ebtrace-stdin", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	static char buf[65536];
	uint64_t total = 0;
	ssize_t n;
	while ((n = read(STDIN_FILENO, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		int err = n < 0 ? -errno : 0;
		total += n > 0 ? (uint64_t)n : 0;
		if (!err && total > MAX_STDIN_BYTES)
			err = -EFBIG;
		if (!err && write(fd, buf, (size_t)n) != n)
			err = -ENOSPC;
		if (err) {
			close(fd);
			return err;
		}
	}
	return fd;
}

int open_file(const char *path, enum ebt_release release, struct ebt_cursor **ret)
{
	char reason[EBT_REASON_BYTES] = "";
	int err;
	if (!strcmp(path, "-")) {
		int fd = spool_stdin();
		if (fd < 0) {
			complain("cannot read standard input: %s", strerror(-fd));
			return EXIT_ERROR;
		}
		err = ebt_cursor_open_fd(fd, "standard input", release, ret, reason);
	} else {
		err = ebt_cursor_open(path, release, ret, reason);
	}
	if (err)
		complain("%s", *reason ? reason : strerror(-err));
	return err ? EXIT_ERROR : 0;
}

void open_tell_assumed(struct ebt_cursor *c, const char *name)
{
	struct ebt_cursor_info info;
	ebt_cursor_info(c, &info);
	if (info.release_assumed && log_level >= LOG_NORMAL)
		complain("'%s' does not tell which OCaml wrote it; taken as %s; --ocaml-version "
			 "says otherwise",
			 name, ring_release_name(info.release));
}

static int denied(const struct process *p)
{
	char name[64];
	struct passwd *pw = getpwuid(p->uid);
	if (pw)
		snprintf(name, sizeof(name), "%s", pw->pw_name);
	else
		snprintf(name, sizeof(name), "uid %u", p->uid);
	complain("process %d (%s) belongs to %s; try: sudo ebtrace -p %d", p->pid, p->comm, name,
		 p->pid);
	return EXIT_DENIED;
}

int open_process(pid_t pid, struct process *ret)
{
	process_look(pid, ret);
	switch (ret->state) {
	case PROCESS_OPEN:
		return 0;
	case PROCESS_KERNEL:
		complain("process %d (%s) is a kernel thread: there is no language runtime in it",
			 pid, ret->comm);
		return EXIT_KERNEL;
	case PROCESS_ZOMBIE:
		complain("process %d (%s) has ended, and waits for its parent to notice", pid,
			 ret->comm);
		return EXIT_GONE;
	case PROCESS_DENIED:
		return denied(ret);
	case PROCESS_GONE:
		break;
	}
	complain("no process %d; 'ebtrace list' shows what can be traced", pid);
	return EXIT_GONE;
}

void open_nothing(pid_t pid, bool privileged)
{
	const char *restart = "start it with OCAML_RUNTIME_EVENTS_START=1, or with: ebtrace -- "
			      "PROGRAM";
	enum ebt_release release = runtime_process_release(pid);
	if (release && !privileged)
		complain("process %d is %s, and its ring is off; try: sudo ebtrace -p %d, or %s",
			 pid, ring_release_name(release), pid, restart);
	else if (release)
		complain("process %d is %s, its ring is off, and its functions cannot be probed; "
			 "%s",
			 pid, ring_release_name(release), restart);
	else if (ocaml_is_stripped(pid))
		complain("process %d is an OCaml 5 program whose symbols have all been stripped: "
			 "its functions cannot be found; %s, or link it without -s",
			 pid, restart);
	else
		complain("process %d has nothing to trace: no ring file, and no markers that could "
			 "be used; start it with OCAML_RUNTIME_EVENTS_START=1 (OCaml 5), or link "
			 "libebtrace-probes",
			 pid);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/open.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/guess.h"
#include "codec/ring_ids.h"
#include "proc/machine.h"
#include "runtime/inspect.h"
#include "runtime/runtimes.h"

#define MAX_SPOOL_BYTES (4ull << 30)

void complain(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	log_vat(LOG_QUIET, fmt, ap);
	va_end(ap);
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
static int spool(int from, const void *head, size_t head_bytes)
{
	static char buf[65536];
	int fd = memfd_create("ebtrace-spool", MFD_CLOEXEC);
	int err = fd < 0 ? -errno : file_write(fd, head, head_bytes);
	uint64_t total = head_bytes;
	for (ssize_t n; !err && (n = file_read(from, buf, sizeof(buf))) != 0;) {
		total += n > 0 ? (uint64_t)n : 0;
		err = n < 0 ? (int)n : total > MAX_SPOOL_BYTES ? -EFBIG : 0;
		if (!err)
			err = file_write(fd, buf, (size_t)n);
	}
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

/* A pipe gives each byte once: of a capture, the first ones are kept. */
static int look_at_pipe(struct input *in)
{
	ssize_t n = file_read(in->fd, in->head, CAPTURE_HEAD_BYTES);
	if (n < 0)
		return (int)n;
	in->head_bytes = (size_t)n;
	in->is_capture = capture_is(in->head, in->head_bytes);
	if (in->is_capture)
		return 0;
	int fd = spool(in->fd, in->head, in->head_bytes);
	close(in->fd);
	in->fd = fd;
	return fd < 0 ? fd : 0;
}

static int look(struct input *in, bool is_stdin)
{
	struct stat st;
	if (fstat(in->fd, &st))
		return -errno;
	if (S_ISREG(st.st_mode)) {
		uint8_t head[CAPTURE_HEAD_BYTES];
		ssize_t n = pread(in->fd, head, sizeof(head), lseek(in->fd, 0, SEEK_CUR));
		in->is_capture = n > 0 && capture_is(head, (size_t)n);
		return 0;
	}
	/* A device by name may have no end. */
	bool is_pipe = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode);
	return is_pipe || (is_stdin && S_ISCHR(st.st_mode)) ? look_at_pipe(in) : 0;
}

/* Without O_NONBLOCK a FIFO that nobody writes to would hang us. */
static int open_path(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

/* 0 if it may hold events; else an exit status after a line on stderr. */
static int refuse_program(int fd, const char *path, const char *command)
{
	char head[4] = "";
	ssize_t n = pread(fd, head, sizeof(head), lseek(fd, 0, SEEK_CUR));
	bool is_script = n >= 2 && !memcmp(head, "#!", 2);
	if (!is_script && (n != sizeof(head) || memcmp(head, ELFMAG, SELFMAG)))
		return 0;
	complain("'%s' is a program and holds no events; to run and trace it: ebtrace %s-- %s%s",
		 path, strcmp(command, "stat") ? "" : "stat ", strchr(path, '/') ? "" : "./", path);
	return EXIT_USAGE;
}

int open_input(const char *path, const char *command, struct input *ret)
{
	bool is_stdin = !strcmp(path, "-");
	*ret = (struct input){.name = is_stdin ? "standard input" : path};
	ret->fd = is_stdin ? dup(STDIN_FILENO) : open_path(path);
	int err = ret->fd < 0 ? -errno : look(ret, is_stdin);
	int status =
		err || is_stdin || ret->is_capture ? 0 : refuse_program(ret->fd, path, command);
	if (status)
		close(ret->fd);
	if (!err)
		return status;
	if (ret->fd >= 0)
		close(ret->fd);
	if (is_stdin)
		complain("cannot read standard input: %s", strerror(-err));
	else
		complain("cannot open '%s': %s", path, strerror(-err));
	return EXIT_ERROR;
}

/* A cursor that had to assume a release is opened again if what the rings hold betrays another. */
static int reopen_as_guessed(int fd, struct input *in, struct ebt_cursor **c)
{
	const char *name = in->name;
	struct ebt_cursor_info info;
	ebt_cursor_info(*c, &info);
	enum ebt_release guess = info.release_assumed ? guess_release(fd, name) : EBT_RELEASE_AUTO;
	if (guess == EBT_RELEASE_AUTO || guess == info.release)
		return 0;
	ebt_cursor_close(*c);
	*c = NULL;
	in->guessed = true;
	int err = ebt_cursor_open_fd(dup(fd), name, guess, c, NULL);
	if (!err && log_level >= LOG_NORMAL)
		complain("'%s' does not tell which OCaml wrote it; its phases nest as those of %s "
			 "and "
			 "before; --ocaml-version says otherwise",
			 name, ring_release_name(guess));
	return err;
}

int open_cursor(struct input *in, enum ebt_release release, struct ebt_cursor **ret)
{
	char reason[EBT_REASON_BYTES] = "";
	int again = release ? -1 : dup(in->fd);
	int err = ebt_cursor_open_fd(in->fd, in->name, release, ret, reason);
	bool is_other = err == -EBADMSG || err == -EPROTO;
	if (!err && again >= 0)
		err = reopen_as_guessed(again, in, ret);
	if (again >= 0)
		close(again);
	if (err)
		complain("%s%s", *reason ? reason : strerror(-err),
			 is_other ? "; it is no capture either" : "");
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

static int denied(const struct process_status *p)
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

int open_process(pid_t pid, struct process_status *ret)
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
	case PROCESS_UNREAD:
		complain("process %d cannot be looked at: %s", pid, strerror(-ret->error));
		return EXIT_ERROR;
	case PROCESS_GONE:
		break;
	}
	complain("no process %d; 'ebtrace list' shows what can be traced", pid);
	return EXIT_GONE;
}

static int open_executable(pid_t pid)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Its program has a runtime whose symbols are all gone. */
static bool is_stripped(pid_t pid)
{
	int fd = open_executable(pid);
	bool hidden = fd >= 0 && runtimes_is_hidden(fd);
	if (fd >= 0)
		close(fd);
	return hidden;
}

/* What the executable of a process is, where that is why nothing can be traced in it. */
static bool tell_executable(pid_t pid)
{
	char machine[MACHINE_NAME_BYTES], reason[RUNTIME_REASON_BYTES];
	int fd = open_executable(pid);
	if (fd < 0)
		return false;
	bool foreign = machine_check(fd, machine) == -ENOTSUP;
	bool known = !foreign && runtimes_explain(fd, reason);
	close(fd);
	if (foreign)
		complain("process %d is a program of another machine: %s", pid, machine);
	else if (known)
		complain("process %d %s", pid, reason);
	return foreign || known;
}

void open_nothing(struct inspect *in, pid_t pid, bool privileged)
{
	const char *restart = "start it with OCAML_RUNTIME_EVENTS_START=1, or with: ebtrace -- "
			      "PROGRAM";
	struct inspect_process files;
	inspect_process(in, pid, &files);
	enum ebt_release release = files.release;
	if (release && !privileged)
		complain("process %d is %s, and its ring is off; try: sudo ebtrace -p %d, or %s",
			 pid, ring_release_name(release), pid, restart);
	else if (release)
		complain("process %d is %s, its ring is off, and its functions cannot be probed; "
			 "%s",
			 pid, ring_release_name(release), restart);
	else if (files.markers && !privileged)
		complain("process %d links libebtrace-probes, and its ring is off; try: sudo "
			 "ebtrace -p %d, or start it with EBTRACE_START=1, or with: ebtrace -- "
			 "PROGRAM",
			 pid, pid);
	else if (is_stripped(pid))
		complain("process %d is an OCaml 5 program whose symbols have all been stripped: "
			 "its functions cannot be found; %s, or link it without -s",
			 pid, restart);
	else if (!tell_executable(pid))
		complain(
			"process %d has nothing to trace: no ring file, and no markers that could "
			"be used; start it with OCAML_RUNTIME_EVENTS_START=1 (OCaml 5), or link "
			"libebtrace-probes; --wait waits until it, or a child of it, has something",
			pid);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/regular.h"
#include "elf/debuginfod_worker.h"
#include "elf/elf.h"

/*
 * The files that clients of debuginfod keep: FOLDER/BUILDID/debuginfo. The folder is that of
 * DEBUGINFOD_CACHE_PATH, to which files are added; else the one that libdebuginfod uses, which is
 * only read. Files are not trusted.
 */

#define FILE_NAME  "debuginfo"
#define COPY_BYTES ((size_t)16 << 20)

static int open_in(const char *folder, const char *below, const char *hex)
{
	char path[PATH_MAX];
	int n = folder && *folder == '/'
			? snprintf(path, sizeof(path), "%s%s/%s/" FILE_NAME, folder, below, hex)
			: -1;
	int fd = n > 0 && n < (int)sizeof(path) ? regular_open(path, 0, 0) : -1;
	return fd < 0 ? -1 : fd;
}

/* A descriptor of the cached file of a build id in hexadecimal; -1: there is none. The folders are
 * those of libdebuginfod, without its old one. */
static int debuginfod_cache_open(const char *hex)
{
	const char *named = secure_getenv("DEBUGINFOD_CACHE_PATH");
	const char *cache = secure_getenv("XDG_CACHE_HOME");
	if (named && *named)
		return open_in(named, "", hex);
	if (cache && *cache)
		return open_in(cache, "/debuginfod_client", hex);
	return open_in(secure_getenv("HOME"), "/.cache/debuginfod_client", hex);
}

static int open_folder(int dir, const char *name, int flags)
{
	if (mkdirat(dir, name, 0700) && errno != EEXIST)
		return -errno;
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	return fd < 0 ? -errno : fd;
}

static int copy(int from, int to)
{
	off_t at = 0;
	ssize_t n;
	while ((n = sendfile(to, from, &at, COPY_BYTES)) > 0)
		;
	return n < 0 ? -errno : 0;
}

/* Adds the file under its final name only when it is complete. 0 or -errno. */
static int add(int dir, int from)
{
	char name[32];
	snprintf(name, sizeof(name), FILE_NAME ".%d", getpid());
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
	if (fd < 0)
		return -errno;
	int err = copy(from, fd);
	if (close(fd) && !err)
		err = -errno;
	if (!err && renameat(dir, name, dir, FILE_NAME))
		err = -errno;
	if (err)
		unlinkat(dir, name, 0);
	return err;
}

/* Copies a file into the folder that the user has named; without one, nothing. 0 or -errno. */
static int debuginfod_cache_add(const char *hex, int fd)
{
	const char *named = secure_getenv("DEBUGINFOD_CACHE_PATH");
	if (!named || *named != '/')
		return 0;
	int folder = open_folder(AT_FDCWD, named, 0);
	if (folder < 0)
		return folder;
	int dir = open_folder(folder, hex, O_NOFOLLOW);
	int err = dir < 0 ? dir : add(dir, fd);
	if (dir >= 0)
		close(dir);
	close(folder);
	return err;
}

#define BUDGET_BYTES (256u << 20)
#define SERVERS	     16
#define NS_OF_MS     1000000u

struct server {
	char *url;
	bool is_dead; /* it is not asked again */
};

struct debuginfod {
	const struct messages *messages;
	struct server server[SERVERS];
	unsigned servers;
	pid_t pid; /* 0: not started */
	int socket;
	uint64_t budget_ns, spent_ns, spent_bytes;
	bool is_reported, is_stopped;

	/* The question: the server that is asked, since when; 0: none is. */
	unsigned at;
	uint64_t asked_ns;
	int file; /* for the server's answer; the answer itself if is_known; -1: none */
	bool is_known;
	char *path;
	uint8_t build_id[DEBUGINFOD_BUILD_ID_BYTES];
	size_t build_id_bytes;
	char hex[2 * DEBUGINFOD_BUILD_ID_BYTES + 1];
};

static bool add_server(struct debuginfod *d, const char *url, size_t bytes)
{
	while (bytes && url[bytes - 1] == '/')
		bytes--;
	if (!bytes || d->servers == SERVERS)
		return true;
	char *copy = strndup(url, bytes);
	if (copy)
		d->server[d->servers++].url = copy;
	return copy;
}

struct debuginfod *debuginfod_new(const struct messages *messages, uint64_t budget_ns)
{
	const char *urls = secure_getenv("DEBUGINFOD_URLS"), *end;
	bool has_room = true;
	struct debuginfod *d = urls && *urls ? calloc(1, sizeof(*d)) : NULL;
	if (!d)
		return NULL;
	d->messages = messages;
	d->budget_ns = budget_ns;
	d->socket = d->file = -1;
	for (; has_room && *urls; urls = *end ? end + 1 : end) {
		end = urls + strcspn(urls, " ");
		has_room = add_server(d, urls, (size_t)(end - urls));
	}
	if (d->servers)
		return d;
	debuginfod_free(d);
	return NULL;
}

static void end_process(struct debuginfod *d)
{
	if (!d->pid)
		return;
	close(d->socket);
	/* We may lack the capability to kill another user's process; it then ends as its socket is
	 * closed. */
	int flags = kill(d->pid, SIGKILL) ? WNOHANG : 0;
	while (waitpid(d->pid, NULL, flags) < 0 && errno == EINTR)
		;
	d->pid = 0;
	d->socket = -1;
}

static void close_file(struct debuginfod *d)
{
	if (d->file >= 0)
		close(d->file);
	d->file = -1;
}

static void charge(struct debuginfod *d)
{
	if (d->asked_ns)
		d->spent_ns += now_ns() - d->asked_ns;
	d->asked_ns = 0;
}

void debuginfod_stop(struct debuginfod *d)
{
	charge(d);
	end_process(d);
	d->is_stopped = true;
}

void debuginfod_free(struct debuginfod *d)
{
	if (!d)
		return;
	end_process(d);
	close_file(d);
	for (unsigned i = 0; i < d->servers; i++)
		free(d->server[i].url);
	free(d->path);
	free(d);
}

/* Its address as it is shown, without what may be a password. */
static const char *shown(const struct debuginfod *d)
{
	const char *url = d->server[d->at].url, *host = strstr(url, "://");
	size_t bytes = host ? strcspn(host + 3, "/") : 0;
	const char *at = host ? memrchr(host + 3, '@', bytes) : NULL;
	return at ? at + 1 : url;
}

static void report(struct debuginfod *d, const char *what)
{
	messages_at(
		d->messages, d->is_reported ? LOG_VERBOSE : LOG_NORMAL,
		"the debuginfod server '%s' %s: functions of files without debug information may "
		"be shown without lines, or as module+offset",
		shown(d), what);
	d->is_reported = true;
}

/* The time that the server has: all that is left of the budget, or half of it if another server
 * can be asked afterwards. */
static uint64_t time_for(const struct debuginfod *d)
{
	uint64_t left = d->spent_ns < d->budget_ns ? d->budget_ns - d->spent_ns : 0;
	for (unsigned i = d->at + 1; i < d->servers; i++)
		if (!d->server[i].is_dead)
			return left / 2;
	return left;
}

static int send_request(struct debuginfod *d)
{
	static struct debuginfod_request r;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec part = {&r, sizeof(r)};
	struct msghdr m = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &d->file, sizeof(int));
	r = (struct debuginfod_request){
		.max_bytes = BUDGET_BYTES - d->spent_bytes,
		.timeout_ms = (uint32_t)(time_for(d) / NS_OF_MS) + 1,
	};
	int n = snprintf(r.url, sizeof(r.url), "%s/buildid/%s/debuginfo", d->server[d->at].url,
			 d->hex);
	if (n >= (int)sizeof(r.url))
		return -ENAMETOOLONG;
	return sendmsg(d->socket, &m, MSG_NOSIGNAL) == (ssize_t)sizeof(r) ? 0 : -EPIPE;
}

/* Asks the server, with the process that there is, or a new one. */
static int ask_server(struct debuginfod *d)
{
	int err = d->pid ? 0 : debuginfod_worker_start(BUDGET_BYTES, &d->socket, &d->pid);
	close_file(d);
	if (!err)
		d->file = memfd_create("debuginfod", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (!err && d->file < 0)
		err = -errno;
	if (!err)
		err = send_request(d);
	messages_at(d->messages, LOG_VERBOSE,
		    "asking '%s' for the debug information of '%s', build id %s", shown(d), d->path,
		    d->hex);
	d->asked_ns = now_ns();
	return err;
}

static bool may_ask(const struct debuginfod *d)
{
	return !d->is_stopped && d->spent_ns < d->budget_ns && d->spent_bytes < BUDGET_BYTES;
}

/* Asks the next server, from d->at on, that can be asked. */
static void ask_next(struct debuginfod *d)
{
	for (; d->at < d->servers && may_ask(d); d->at++) {
		if (d->server[d->at].is_dead)
			continue;
		int err = ask_server(d);
		if (!err)
			return;
		messages_at(d->messages, LOG_DEBUG, "debuginfod: %s", strerror(-err));
		charge(d);
		end_process(d);
		d->server[d->at].is_dead = true;
	}
	close_file(d);
}

static bool has_build_id(const struct debuginfod *d, int fd)
{
	uint8_t id[DEBUGINFOD_BUILD_ID_BYTES];
	struct elf *elf;
	if (elf_open(fd, &elf))
		return false;
	size_t bytes = elf_build_id(elf, id, sizeof(id));
	elf_close(elf);
	return bytes == d->build_id_bytes && !memcmp(id, d->build_id, bytes);
}

void debuginfod_ask(struct debuginfod *d, const struct debuginfod_module *m)
{
	free(d->path);
	d->path = strdup(m->path);
	d->build_id_bytes = m->bytes;
	memcpy(d->build_id, m->build_id, m->bytes);
	for (size_t i = 0; i < m->bytes; i++)
		snprintf(d->hex + 2 * i, 3, "%02x", m->build_id[i]);
	d->at = 0;
	d->file = d->path ? debuginfod_cache_open(d->hex) : -1;
	d->is_known = d->file >= 0 && has_build_id(d, d->file);
	if (d->is_known)
		messages_at(d->messages, LOG_VERBOSE,
			    "the debug information of '%s' is in debuginfod's cache", d->path);
	else if (!d->is_stopped && !may_ask(d))
		messages_at(d->messages, LOG_VERBOSE,
			    "no server is asked for '%s': what a run has for that is used up",
			    d->path);
	else if (d->path)
		ask_next(d);
}

/* Takes the file from the process, which cannot change it any more. */
static bool take_file(struct debuginfod *d)
{
	struct stat st;
	if (fcntl(d->file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) ||
	    fstat(d->file, &st))
		return false;
	uint64_t bytes = (uint64_t)st.st_blocks * 512;
	d->spent_bytes += bytes > (uint64_t)st.st_size ? bytes : (uint64_t)st.st_size;
	bool is_ours = has_build_id(d, d->file);
	messages_at(d->messages, LOG_VERBOSE, "'%s' has sent %llu bytes%s", shown(d),
		    (unsigned long long)st.st_size,
		    is_ours ? "" : ", which are not the debug information of that build id");
	int err = is_ours ? debuginfod_cache_add(d->hex, d->file) : 0;
	if (err)
		messages_at(d->messages, LOG_VERBOSE,
			    "they cannot be kept in DEBUGINFOD_CACHE_PATH: %s", strerror(-err));
	return is_ours;
}

/* Ends the question to a server. True: it has the file. */
static bool end_question(struct debuginfod *d, int32_t result)
{
	struct server *s = &d->server[d->at];
	charge(d);
	switch (result) {
	case DEBUGINFOD_FOUND:
		return take_file(d);
	case DEBUGINFOD_ABSENT:
		messages_at(d->messages, LOG_VERBOSE, "'%s' does not have it", shown(d));
		return false;
	case DEBUGINFOD_TOO_LARGE:
		messages_at(d->messages, LOG_VERBOSE,
			    "what '%s' sends is larger than the %u MiB of a run", shown(d),
			    BUDGET_BYTES >> 20);
		return false;
	case DEBUGINFOD_REFUSED:
		messages_at(d->messages, LOG_VERBOSE, "'%s' answers with an error", shown(d));
		return false;
	case DEBUGINFOD_NO_LIBRARY:
		messages_at(d->messages, LOG_NORMAL,
			    "DEBUGINFOD_URLS is set, but libcurl.so.4 cannot be loaded, so no "
			    "server is asked; install libcurl4, or unset the variable");
		debuginfod_stop(d);
		return false;
	case DEBUGINFOD_SILENT:
		report(d, "does not answer in time");
		break;
	case DEBUGINFOD_UNREACHABLE:
		report(d, "cannot be reached");
		break;
	default:
		end_process(d);
		report(d, "has sent what ended the process that asks");
	}
	s->is_dead = true;
	return false;
}

/* The answer of the process, waited for until until_ns. -EAGAIN: none yet; 0: it has ended. */
static int32_t receive(struct debuginfod *d, uint64_t until_ns)
{
	int32_t result;
	struct pollfd p = {.fd = d->socket, .events = POLLIN};
	uint64_t now = now_ns(), left = now < until_ns ? until_ns - now : 0;
	struct timespec wait = {.tv_sec = (time_t)(left / 1000000000),
				.tv_nsec = (long)(left % 1000000000)};
	int ready = ppoll(&p, 1, &wait, NULL);
	if (!ready || (ready < 0 && errno == EINTR))
		return -EAGAIN;
	return recv(d->socket, &result, sizeof(result), MSG_DONTWAIT) == sizeof(result) &&
			       result > 0
		       ? result
		       : 0;
}

int debuginfod_receive(struct debuginfod *d, uint64_t until_ns)
{
	bool has_file = d->is_known;
	while (!has_file && d->asked_ns) {
		uint64_t end = d->asked_ns + time_for(d) + 20 * NS_OF_MS; /* it is late itself */
		int32_t result = receive(d, until_ns < end ? until_ns : end);
		if (result == -EAGAIN && now_ns() < end)
			return -EAGAIN;
		if (result == -EAGAIN) {
			end_process(d);
			result = DEBUGINFOD_SILENT;
		}
		has_file = end_question(d, result);
		if (!has_file) {
			d->at++;
			ask_next(d);
		}
	}
	int fd = has_file ? d->file : -ENOENT;
	if (!has_file)
		close_file(d);
	d->file = -1;
	d->is_known = false;
	return fd;
}

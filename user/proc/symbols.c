/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/map.h"
#include "proc/elf.h"
#include "proc/regular.h"
#include "proc/symbols_worker.h"

#define DEBUG_FOLDER  "/usr/lib/debug"
#define WAIT_MS	      120000 /* without a byte from the process; its own limit is CPU time */
#define BUFFER_BYTES  65536
#define MAX_POSITIONS UINT32_MAX

/* What the module is read for; each failure is a step down. */
enum reading { READ_ALL, READ_SYMBOLS, READ_NOTHING };

/* Strings, each allocated. */
struct texts {
	char **at;
	size_t count, cap;
};

struct symbols {
	char *path;
	int module, debug; /* -1: none */
	enum reading reading;
	uint8_t build_id[SYMBOLS_BUILD_ID_BYTES];
	size_t build_id_bytes;

	struct symbols_running *running;
	pid_t pid; /* 0: not started */
	int socket;
	char *buffer; /* received bytes [at, end) */
	size_t at, end;

	struct texts received; /* by the process, which numbers them from first_received on */
	size_t first_received;
	struct texts made;
	struct symbols_position *position;
	size_t positions, positions_cap;
	struct map found; /* by offset: the first position << 8 | their number */
	struct unwind_rule *rule;
	size_t rules, rules_cap;
	struct map unwound; /* by offset: the index of a rule */
};

static void *grow(void *array, size_t count, size_t *cap, size_t bytes)
{
	if (count < *cap)
		return array;
	size_t more = *cap ? 2 * *cap : 64;
	void *grown = realloc(array, more * bytes);
	if (grown)
		*cap = more;
	return grown;
}

/* Keeps the string. 0 or -ENOMEM, and it is freed. */
static int add_text(struct texts *t, char *text)
{
	char **grown = text ? grow(t->at, t->count, &t->cap, sizeof(*t->at)) : NULL;
	if (!grown) {
		free(text);
		return -ENOMEM;
	}
	t->at = grown;
	t->at[t->count++] = text;
	return 0;
}

static void free_texts(struct texts *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->at[i]);
	free(t->at);
}

static int open_elf(int fd, struct elf **ret, uint8_t *build_id, size_t *ret_bytes)
{
	int err = elf_open(fd, ret);
	if (err)
		return err;
	*ret_bytes = elf_build_id(*ret, build_id, SYMBOLS_BUILD_ID_BYTES);
	if (*ret_bytes > SYMBOLS_BUILD_ID_BYTES)
		*ret_bytes = 0;
	return 0;
}

/* A debug file is used only if it has the module's build id. */
static int open_debug_file(const struct symbols *s, const char *path)
{
	uint8_t id[SYMBOLS_BUILD_ID_BYTES];
	size_t bytes = 0;
	struct elf *elf;
	int fd = regular_open(path, 0, 0);
	if (fd < 0)
		return -1;
	if (!open_elf(fd, &elf, id, &bytes))
		elf_close(elf);
	if (bytes && bytes == s->build_id_bytes && !memcmp(id, s->build_id, bytes))
		return fd;
	close(fd);
	return -1;
}

static int open_by_build_id(const struct symbols *s)
{
	char path[sizeof(DEBUG_FOLDER) + 32 + 2 * SYMBOLS_BUILD_ID_BYTES];
	if (!s->build_id_bytes)
		return -1;
	int n = snprintf(path, sizeof(path), DEBUG_FOLDER "/.build-id/%02x/", s->build_id[0]);
	for (size_t i = 1; i < s->build_id_bytes; i++)
		n += snprintf(path + n, sizeof(path) - (size_t)n, "%02x", s->build_id[i]);
	snprintf(path + n, sizeof(path) - (size_t)n, ".debug");
	return open_debug_file(s, path);
}

static int open_by_link(const struct symbols *s, const char *name)
{
	const char *slash = strrchr(s->path, '/');
	int folder = slash ? (int)(slash - s->path) : 0, fd = -1;
	char path[PATH_MAX];
	if (!slash || *s->path != '/' || strstr(s->path, "/../"))
		return -1;
	/* Beside the module, then in the folder for all of them. */
	for (unsigned i = 0; i < 3 && fd < 0; i++) {
		int n = snprintf(path, sizeof(path), "%s%.*s%s/%s", i == 2 ? DEBUG_FOLDER : "",
				 folder, s->path, i == 1 ? "/.debug" : "", name);
		if (n < (int)sizeof(path))
			fd = open_debug_file(s, path);
	}
	return fd;
}

static void open_files(struct symbols *s, int fd)
{
	struct elf *elf;
	s->module = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (s->module < 0 || open_elf(s->module, &elf, s->build_id, &s->build_id_bytes))
		return;
	s->reading = READ_ALL;
	const char *link = elf_debug_link(elf);
	s->debug = open_by_build_id(s);
	if (s->debug < 0 && link)
		s->debug = open_by_link(s, link);
	elf_close(elf);
}

int symbols_open(int fd, const char *path, struct symbols_running *running, struct symbols **ret)
{
	struct symbols *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->module = s->debug = s->socket = -1;
	s->running = running;
	s->reading = READ_NOTHING;
	s->path = strdup(path);
	s->buffer = malloc(BUFFER_BYTES);
	if (!s->path || !s->buffer) {
		symbols_close(s);
		return -ENOMEM;
	}
	if (fd >= 0)
		open_files(s, fd);
	*ret = s;
	return 0;
}

static void stop(struct symbols *s)
{
	if (!s->pid)
		return;
	close(s->socket);
	kill(s->pid, SIGKILL);
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
	s->pid = 0;
	s->socket = -1;
	for (unsigned i = 0; i < SYMBOLS_RUNNING; i++)
		if (s->running->at[i] == s)
			s->running->at[i] = NULL;
}

void symbols_close(struct symbols *s)
{
	if (!s)
		return;
	stop(s);
	free_texts(&s->received);
	free_texts(&s->made);
	free(s->position);
	map_done(&s->found);
	free(s->rule);
	map_done(&s->unwound);
	if (s->module >= 0)
		close(s->module);
	if (s->debug >= 0)
		close(s->debug);
	free(s->buffer);
	free(s->path);
	free(s);
}

static int start(struct symbols *s)
{
	struct debug_info_files files = {
		.module = s->module,
		.debug = s->debug,
		.symbols_only = s->reading == READ_SYMBOLS,
	};
	struct symbols **slot = &s->running->at[s->running->next];
	if (*slot)
		stop(*slot);
	int err = symbols_worker_start(&files, &s->socket, &s->pid);
	s->at = s->end = 0;
	s->first_received = s->received.count;
	if (err)
		return err == -ENOMEM ? -EAGAIN : err; /* for a process, not for us */
	*slot = s;
	s->running->next = (s->running->next + 1) % SYMBOLS_RUNNING;
	return 0;
}

static int receive_more(struct symbols *s)
{
	struct pollfd p = {.fd = s->socket, .events = POLLIN};
	int ready;
	while ((ready = poll(&p, 1, WAIT_MS)) < 0 && errno == EINTR)
		;
	ssize_t n = ready > 0 ? read(s->socket, s->buffer, BUFFER_BYTES) : -1;
	if (n <= 0)
		return -EPIPE;
	s->at = 0;
	s->end = (size_t)n;
	return 0;
}

static int receive(struct symbols *s, void *ret, size_t bytes)
{
	int err = 0;
	for (char *p = ret; bytes && !err;) {
		size_t n = s->end - s->at < bytes ? s->end - s->at : bytes;
		memcpy(p, s->buffer + s->at, n);
		s->at += n;
		p += n;
		bytes -= n;
		if (bytes)
			err = receive_more(s);
	}
	return err;
}

static int receive_string(struct symbols *s, const char **ret)
{
	uint32_t number;
	uint16_t bytes;
	int err = receive(s, &number, sizeof(number));
	*ret = NULL;
	if (err || !number)
		return err;
	size_t known = s->received.count - s->first_received;
	if (number > known + 1)
		return -EBADMSG;
	if (number == known + 1) {
		err = receive(s, &bytes, sizeof(bytes));
		if (!err && bytes > SYMBOLS_WORKER_TEXT)
			err = -EBADMSG;
		char *text = err ? NULL : calloc(1, (size_t)bytes + 1);
		if (text)
			err = receive(s, text, bytes);
		if (err) {
			free(text);
			return err;
		}
		err = add_text(&s->received, text);
	}
	if (!err)
		*ret = s->received.at[s->first_received + number - 1];
	return err;
}

static int add_position(struct symbols *s, const struct symbols_position *p)
{
	void *grown = s->positions < MAX_POSITIONS ? grow(s->position, s->positions,
							  &s->positions_cap, sizeof(*s->position))
						   : NULL;
	if (!grown)
		return -ENOMEM;
	s->position = grown;
	s->position[s->positions++] = *p;
	return 0;
}

/* Nothing is known of an offset but the module. */
static int add_unknown(struct symbols *s, uint64_t offset)
{
	const char *slash = strrchr(s->path, '/');
	char *text = NULL;
	if (asprintf(&text, "%s+0x%llx", slash ? slash + 1 : s->path, (unsigned long long)offset) <
	    0)
		return -ENOMEM;
	int err = add_text(&s->made, text);
	struct symbols_position p = {.function = text};
	return err ? err : add_position(s, &p);
}

static int keep(struct symbols *s, uint64_t offset, size_t first)
{
	uint64_t *found = map_put(&s->found, offset);
	if (!found)
		return -ENOMEM;
	*found = (uint64_t)first << 8 | (s->positions - first);
	return 0;
}

/* Receives the answer for one offset. -ENOMEM, or it cannot be understood. */
static int receive_positions(struct symbols *s, uint64_t offset)
{
	size_t first = s->positions;
	uint8_t count;
	int err = receive(s, &count, sizeof(count));
	if (!err && count > DEBUG_INFO_POSITIONS_MAX)
		err = -EBADMSG;
	for (unsigned i = 0; !err && i < count; i++) {
		struct symbols_position p;
		if (!(err = receive_string(s, &p.function)) &&
		    !(err = receive_string(s, &p.file)) &&
		    !(err = receive(s, &p.line, sizeof(p.line))) &&
		    !(err = receive(s, &p.column, sizeof(p.column))))
			err = add_position(s, &p);
	}
	if (!err && !count)
		err = add_unknown(s, offset);
	if (!err)
		err = keep(s, offset, first);
	if (err)
		s->positions = first;
	return err;
}

static int send_all(int fd, const void *data, size_t bytes)
{
	for (const char *p = data; bytes;) {
		ssize_t n = send(fd, p, bytes, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPIPE;
		p += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int keep_rule(struct symbols *s, uint64_t offset, const struct unwind_rule *rule)
{
	void *grown = grow(s->rule, s->rules, &s->rules_cap, sizeof(*s->rule));
	if (!grown)
		return -ENOMEM;
	s->rule = grown;
	uint64_t *index = map_put(&s->unwound, offset);
	if (!index)
		return -ENOMEM;
	s->rule[s->rules] = *rule;
	*index = s->rules++;
	return 0;
}

static int receive_rule(struct symbols *s, uint64_t request)
{
	struct unwind_rule rule;
	int err = receive(s, &rule, sizeof(rule));
	return err ? err : keep_rule(s, request & ~SYMBOLS_WORKER_UNWIND, &rule);
}

/* Looks up an offset by the process. */
static int ask(struct symbols *s, uint64_t request)
{
	int err = s->pid ? 0 : start(s);
	if (!err)
		err = send_all(s->socket, &request, sizeof(request));
	if (err)
		return err;
	return request & SYMBOLS_WORKER_UNWIND ? receive_rule(s, request)
					       : receive_positions(s, request);
}

static int keep_unknown(struct symbols *s, uint64_t offset)
{
	size_t first = s->positions;
	return add_unknown(s, offset) || keep(s, offset, first) ? -ENOMEM : 0;
}

/* Looks up what is not known. 0 or -ENOMEM. */
static int look_up(struct symbols *s, uint64_t request)
{
	for (; s->reading != READ_NOTHING; s->reading++) {
		int err = ask(s, request);
		if (!err)
			return 0;
		stop(s);
		if (err == -ENOMEM)
			return err;
		log_at(LOG_DEBUG, "symbols of %s: %s", s->path, strerror(-err));
	}
	if (request & SYMBOLS_WORKER_UNWIND)
		return keep_rule(s, request & ~SYMBOLS_WORKER_UNWIND, &(struct unwind_rule){0});
	return keep_unknown(s, request);
}

int symbols_unwind(struct symbols *s, uint64_t offset, struct unwind_rule *ret)
{
	const uint64_t *known = map_get(&s->unwound, offset &= ~SYMBOLS_WORKER_UNWIND);
	if (!known && look_up(s, offset | SYMBOLS_WORKER_UNWIND))
		return -ENOMEM;
	if (!known)
		known = map_get(&s->unwound, offset);
	*ret = s->rule[*known];
	return 0;
}

unsigned symbols_find(struct symbols *s, uint64_t offset, const struct symbols_position **ret)
{
	const uint64_t *found = map_get(&s->found, offset);
	/* No file is so long. */
	if (!found &&
	    (offset & SYMBOLS_WORKER_UNWIND ? keep_unknown(s, offset) : look_up(s, offset)))
		return 0;
	if (!found)
		found = map_get(&s->found, offset);
	*ret = s->position + (*found >> 8);
	return *found & 0xff;
}

size_t symbols_build_id(const struct symbols *s, const uint8_t **ret)
{
	*ret = s->build_id;
	return s->build_id_bytes;
}

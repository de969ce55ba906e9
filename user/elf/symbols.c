/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf/symbols.h"

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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "base/regular.h"
#include "elf/debuginfod.h"
#include "elf/elf.h"
#include "elf/symbols_worker.h"

#define DEBUG_FOLDER  "/usr/lib/debug"
#define BUFFER_BYTES  65536
#define MAX_POSITIONS UINT32_MAX

/* The budget of a run: time spent waiting, which grows by 1/BUDGET_SHARE of the time of the run,
 * and memory. SERVERS_NS: the part of servers of debug files. */
#define BUDGET_NS    16000000000u
#define SERVERS_NS   10000000000u
#define BUDGET_SHARE 16
#define MEMORY_BYTES (1ull << 30)
/* Time that a module may take beyond its share if only its symbol tables are read. */
#define TABLES_NS 500000000u
/* A process is not waited for longer when the run was asked to end. */
#define HURRY_NS 150000000u
/* Waits for an answer: before the lookup is put off, and between checks for signals. */
#define PUT_OFF_NS 2000000u
#define LOOK_NS	   20000000u

/* Memory of a process: a multiple of what its files have on the disk, which sparse ones have
 * not. */
#define MEMORY_LEAST  (128ull << 20)
#define MEMORY_MOST   (4ull << 30)
#define MEMORY_FACTOR 16

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
	bool lacks_debug; /* servers were not asked yet */

	struct symbols_running *running;
	pid_t pid; /* 0: not started */
	int socket;
	bool is_counted; /* one of the modules that were read */
	char *buffer;	 /* the answer so far: bytes [at, end) */
	size_t at, end, buffer_bytes;
	/* The request that it has not answered, and since when. */
	bool is_asked;
	uint64_t asked, asked_ns;
	uint64_t spent_ns; /* of the run's, for this module */

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

/* Keeps the string. 0 or -ENOMEM, and it is freed. */
static int add_text(struct texts *t, char *text)
{
	if (!text || !array_reserve(t->at, t->cap, t->count)) {
		free(text);
		return -ENOMEM;
	}
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
	s->lacks_debug = s->debug < 0 && s->build_id_bytes && !elf_has_debug_info(elf);
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
	s->buffer_bytes = BUFFER_BYTES;
	if (!s->path || !s->buffer) {
		symbols_close(s);
		return -ENOMEM;
	}
	if (fd >= 0)
		open_files(s, fd);
	*ret = s;
	return 0;
}

/* The time since the request counts. */
static void charge(struct symbols *s)
{
	uint64_t ns = s->is_asked ? now_ns() - s->asked_ns : 0;
	s->is_asked = false;
	s->spent_ns += ns;
	s->running->spent_ns += ns;
}

static void stop(struct symbols *s)
{
	if (!s->pid)
		return;
	charge(s);
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
	if (s->running->asks == s)
		s->running->asks = NULL;
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

static uint64_t file_bytes(int fd)
{
	struct stat st;
	return fd < 0 || fstat(fd, &st) ? 0 : (uint64_t)st.st_blocks * 512;
}

static uint64_t memory_for(const struct symbols *s)
{
	uint64_t files = file_bytes(s->module) + file_bytes(s->debug);
	uint64_t bytes = files < MEMORY_MOST ? MEMORY_LEAST + MEMORY_FACTOR * files : MEMORY_MOST;
	return bytes < MEMORY_MOST ? bytes : MEMORY_MOST;
}

/* Memory that a process occupies now. */
static uint64_t resident_bytes(pid_t pid)
{
	unsigned long long pages = 0;
	char path[32], text[128];
	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	if (file_read_text(path, text, sizeof(text)) < 0 || sscanf(text, "%*s %llu", &pages) != 1)
		pages = 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Ends processes, those that were started first, until there is a place and memory for one more. */
static void make_room(struct symbols_running *r)
{
	uint64_t memory = 0, most = r->budget_bytes ? r->budget_bytes : MEMORY_BYTES;
	for (unsigned i = 0; i < SYMBOLS_RUNNING; i++)
		memory += r->at[i] ? resident_bytes(r->at[i]->pid) : 0;
	for (unsigned i = 0; i < SYMBOLS_RUNNING && memory > most; i++) {
		struct symbols *oldest = r->at[(r->next + i) % SYMBOLS_RUNNING];
		memory -= oldest ? resident_bytes(oldest->pid) : 0;
		if (oldest)
			stop(oldest);
	}
	if (r->at[r->next])
		stop(r->at[r->next]);
}

static int start(struct symbols *s)
{
	struct symbols_running *r = s->running;
	struct debug_info_files files = {
		.module = s->module,
		.debug = s->debug,
		.symbols_only = s->reading == READ_SYMBOLS,
	};
	make_room(r);
	if (!r->began_ns)
		r->began_ns = now_ns();
	int err = symbols_worker_start(&files, memory_for(s), &s->socket, &s->pid);
	s->at = s->end = 0;
	s->first_received = s->received.count;
	if (err)
		return err == -ENOMEM ? -EPIPE : err; /* for a process, not for us */
	r->modules += !s->is_counted;
	s->is_counted = true;
	r->at[r->next] = s;
	r->next = (r->next + 1) % SYMBOLS_RUNNING;
	return 0;
}

/* Reads what there is of an answer, up to a time. 0: it is whole; -EAGAIN: not yet. */
static int receive_answer(struct symbols *s, uint64_t until_ns)
{
	for (;;) {
		uint32_t bytes = 0;
		size_t whole = sizeof(bytes);
		if (s->end >= whole) {
			memcpy(&bytes, s->buffer, sizeof(bytes));
			whole += bytes;
		}
		if (bytes > SYMBOLS_WORKER_ANSWER)
			return -EBADMSG;
		if (s->end == whole && bytes)
			return 0;
		if (!array_reserve(s->buffer, s->buffer_bytes, whole - 1))
			return -ENOMEM;
		struct pollfd p = {.fd = s->socket, .events = POLLIN};
		uint64_t now = now_ns(), left = now < until_ns ? until_ns - now : 0;
		struct timespec wait = {.tv_nsec = (long)left};
		int ready = ppoll(&p, 1, &wait, NULL);
		if (!ready || (ready < 0 && errno == EINTR))
			return -EAGAIN;
		ssize_t n =
			s->end < whole ? read(s->socket, s->buffer + s->end, whole - s->end) : 0;
		if (n <= 0)
			return -EPIPE;
		s->end += (size_t)n;
	}
}

static int receive(struct symbols *s, void *ret, size_t bytes)
{
	if (bytes > s->end - s->at)
		return -EBADMSG;
	memcpy(ret, s->buffer + s->at, bytes);
	s->at += bytes;
	return 0;
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
		s->running->text_bytes += bytes;
		err = add_text(&s->received, text);
	}
	if (!err)
		*ret = s->received.at[s->first_received + number - 1];
	return err;
}

static int add_position(struct symbols *s, const struct symbols_position *p)
{
	if (s->positions >= MAX_POSITIONS ||
	    !array_reserve(s->position, s->positions_cap, s->positions))
		return -ENOMEM;
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
	if (!array_reserve(s->rule, s->rules_cap, s->rules))
		return -ENOMEM;
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

/* One that ends a run is waiting to be read. */
static bool has_signal(void)
{
	sigset_t set;
	return !sigpending(&set) &&
	       (sigismember(&set, SIGINT) == 1 || sigismember(&set, SIGTERM) == 1 ||
		sigismember(&set, SIGHUP) == 1 || sigismember(&set, SIGQUIT) == 1);
}

/* A module may take half of the time that others have left, and TABLES_NS more for its symbol
 * tables. */
static bool is_too_long(const struct symbols *s)
{
	const struct symbols_running *r = s->running;
	uint64_t now = now_ns(), waited = s->is_asked ? now - s->asked_ns : 0;
	uint64_t ran_ns = r->began_ns ? now - r->began_ns : 0;
	uint64_t budget = r->budget_ns ? r->budget_ns : BUDGET_NS + ran_ns / BUDGET_SHARE;
	uint64_t hurry_ns = r->hurried ? HURRY_NS / 8 : HURRY_NS;
	uint64_t others = r->spent_ns - s->spent_ns;
	uint64_t share = others < budget ? (budget - others) / 2 : 0;
	if (s->reading == READ_SYMBOLS)
		share += others < 2 * budget ? TABLES_NS : 0;
	return s->spent_ns + waited > share || (r->hurries && waited > hurry_ns);
}

/* How reading more of a module exceeds the budget; NULL: it does not. */
static const char *beyond_budget(const struct symbols *s)
{
	const struct symbols_running *r = s->running;
	return !s->is_counted && r->modules >= SYMBOLS_MODULES ? "is one too many"
	       : r->text_bytes > SYMBOLS_TEXT_BYTES	       ? "gives too many names"
	       : is_too_long(s)				       ? "takes too long"
							       : NULL;
}

static int send_request(struct symbols *s, uint64_t request)
{
	int err = beyond_budget(s) ? -ETIMEDOUT : s->pid ? 0 : start(s);
	if (!err)
		err = send_all(s->socket, &request, sizeof(request));
	if (err)
		return err;
	s->is_asked = true;
	s->asked = request;
	s->asked_ns = now_ns();
	s->at = s->end = 0;
	return 0;
}

/* Waits for the answer to the request that was sent, and keeps it. -EAGAIN: it is put off. */
static int await(struct symbols *s)
{
	struct symbols_running *r = s->running;
	int err;
	uint64_t until = r->puts_off ? s->asked_ns + PUT_OFF_NS : now_ns() + LOOK_NS;
	for (; (err = receive_answer(s, until)) == -EAGAIN; until = now_ns() + LOOK_NS) {
		if (beyond_budget(s))
			return -ETIMEDOUT;
		r->waits |= r->puts_off;
		if (r->puts_off)
			return err;
		r->hurries |= has_signal();
	}
	charge(s);
	s->at = sizeof(uint32_t);
	if (err)
		return err;
	return s->asked & SYMBOLS_WORKER_UNWIND ? receive_rule(s, s->asked)
						: receive_positions(s, s->asked);
}

/* Sends a request to the process and keeps the answer. An earlier request that was put off is
 * finished first. 0, -EAGAIN or -errno. */
static int ask(struct symbols *s, uint64_t request)
{
	bool is_other = s->is_asked && s->asked != request;
	int err = s->is_asked ? 0 : send_request(s, request);
	if (!err)
		err = await(s);
	if (err || !is_other)
		return err;
	err = send_request(s, request);
	return err ? err : await(s);
}

static void report_budget(struct symbols *s, const char *what)
{
	messages_at(s->running->messages, s->running->is_reported ? LOG_VERBOSE : LOG_NORMAL,
		    "reading the symbols of '%s' %s: its functions are shown without lines, or as "
		    "module+offset, and so are those of other such modules",
		    s->path, what);
	s->running->is_reported = true;
}

static int keep_unknown(struct symbols *s, uint64_t offset)
{
	size_t first = s->positions;
	return add_unknown(s, offset) || keep(s, offset, first) ? -ENOMEM : 0;
}

void symbols_running_done(struct symbols_running *r)
{
	debuginfod_free(r->debuginfod);
	r->debuginfod = NULL;
}

static void ask_servers(struct symbols *s)
{
	struct symbols_running *r = s->running;
	struct debuginfod_module m = {s->path, s->build_id, s->build_id_bytes};
	if (!r->debuginfod && !r->has_no_servers)
		r->debuginfod = debuginfod_new(r->messages, SERVERS_NS);
	r->has_no_servers = !r->debuginfod;
	if (r->has_no_servers || r->hurries) {
		s->lacks_debug = false;
		return;
	}
	debuginfod_ask(r->debuginfod, &m);
	r->asks = s;
	r->is_asked = true;
}

/* Receives the debug file from the servers, for the module that it was requested for; its process
 * starts anew. 0 or -EAGAIN. */
static int receive_debug(struct symbols_running *r, uint64_t until_ns)
{
	struct symbols *s = r->asks;
	int fd = debuginfod_receive(r->debuginfod, until_ns);
	if (fd == -EAGAIN)
		return fd;
	r->is_asked = false;
	r->asks = NULL;
	if (s)
		s->lacks_debug = false;
	if (s && fd >= 0) {
		stop(s);
		s->debug = fd;
	} else if (fd >= 0) {
		close(fd);
	}
	return 0;
}

/* Asks servers for the debug file. 0, or -EAGAIN: it is put off. */
static int fetch_debug(struct symbols *s)
{
	struct symbols_running *r = s->running;
	while (s->lacks_debug) {
		if (!r->is_asked)
			ask_servers(s);
		uint64_t until = r->puts_off ? 0 : now_ns() + LOOK_NS;
		if (!r->is_asked || !receive_debug(r, until))
			continue;
		r->hurries |= !r->puts_off && has_signal();
		if (r->hurries) {
			debuginfod_stop(r->debuginfod);
		} else if (r->puts_off) {
			r->waits = true;
			return -EAGAIN;
		}
	}
	return 0;
}

/* Answers a request that has no cached result. 0, -EAGAIN or -ENOMEM. */
static int look_up(struct symbols *s, uint64_t request)
{
	bool is_named = !(request & SYMBOLS_WORKER_UNWIND) && s->reading != READ_NOTHING;
	if (is_named && fetch_debug(s))
		return -EAGAIN;
	for (; s->reading != READ_NOTHING; s->reading++) {
		int err = ask(s, request);
		if (!err || err == -EAGAIN)
			return err;
		const char *beyond = beyond_budget(s);
		stop(s);
		if (err == -ENOMEM)
			return err;
		messages_at(s->running->messages, LOG_DEBUG, "symbols of %s: %s", s->path,
			    strerror(-err));
		if (err != -ETIMEDOUT)
			continue;
		s->running->hurried = s->running->hurries;
		report_budget(s, beyond ? beyond : "takes too long");
		if (s->running->hurries)
			s->reading = READ_SYMBOLS;
	}
	if (request & SYMBOLS_WORKER_UNWIND)
		return keep_rule(s, request & ~SYMBOLS_WORKER_UNWIND, &(struct unwind_rule){0});
	return keep_unknown(s, request);
}

int symbols_unwind(struct symbols *s, uint64_t offset, struct unwind_rule *ret)
{
	const uint64_t *known = map_get(&s->unwound, offset &= ~SYMBOLS_WORKER_UNWIND);
	int err = known ? 0 : look_up(s, offset | SYMBOLS_WORKER_UNWIND);
	if (err)
		return err;
	if (!known)
		known = map_get(&s->unwound, offset);
	*ret = s->rule[*known];
	return 0;
}

unsigned symbols_find(struct symbols *s, uint64_t offset, const struct symbols_position **ret)
{
	const uint64_t *found = map_get(&s->found, offset);
	/* No file has an offset with this bit. */
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

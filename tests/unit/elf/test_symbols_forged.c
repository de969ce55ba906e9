/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers of a process that reads symbols, as a file that has taken it over may forge them. */
#include "elf/symbols.h"
#include "elf/symbols_worker.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

/* What it answers: the bytes behind the length, and the length. */
static struct {
	uint8_t bytes[8192];
	uint32_t len, claimed;
} script;
static unsigned starts;
static pid_t started; /* last */

/* In place of the one of symbols_worker.c. */
int symbols_worker_start(const struct debug_info_files *files, uint64_t memory, int *ret_socket,
			 pid_t *ret_pid)
{
	int pair[2];
	uint64_t request;
	(void)files, (void)memory;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	starts++;
	*ret_pid = fork();
	if (!*ret_pid)
		close(pair[0]);
	while (!*ret_pid && read(pair[1], &request, sizeof(request)) == sizeof(request))
		if (write(pair[1], &script.claimed, sizeof(script.claimed)) < 0 ||
		    write(pair[1], script.bytes, script.len) < 0)
			_exit(1);
	if (!*ret_pid)
		_exit(0);
	close(pair[1]);
	*ret_socket = pair[0];
	started = *ret_pid;
	return *ret_pid < 0 ? -errno : 0;
}

static void put(const void *data, size_t bytes)
{
	memcpy(script.bytes + script.len, data, bytes);
	script.len += (uint32_t)bytes;
	script.claimed = script.len;
}

static void put_number(uint32_t number)
{
	put(&number, sizeof(number));
}

static void put_text(uint32_t number, uint16_t bytes)
{
	static const char text[8000] = "function";
	put_number(number);
	put(&bytes, sizeof(bytes));
	put(text, bytes);
}

static void begin(uint8_t count)
{
	script.len = script.claimed = 0;
	put(&count, 1);
}

/* An answer that is not believed is asked for once more, of symbol tables alone; then nothing is
 * known. */
static void check(bool is_good, const char *name)
{
	struct messages silent = {0};
	struct symbols_running running = {.messages = &silent};
	const struct symbols_position *p;
	struct symbols *s;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (symbols_open(fd, "/some/file", &running, &s))
		abort();
	close(fd);
	starts = 0;
	const char *got = symbols_find(s, 0x10, &p) == 1 ? p->function : "none";
	bool is_known = !strncmp(got, "function", 8);
	ok(is_good ? is_known && starts == 1 : !strcmp(got, "file+0x10") && starts == 2, "%s",
	   name) ||
		(diag("%u starts, '%.20s'", starts, got), 0);
	symbols_close(s);
	symbols_running_done(&running);
}

/* One position, of a function with this number. */
static void put_position(uint32_t number, uint16_t bytes)
{
	begin(1);
	put_text(number, bytes);
	put_number(0);
	put_number(7);
	put_number(3);
}

static uint64_t resident_bytes(pid_t pid)
{
	unsigned long long pages = 0;
	char path[32];
	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	FILE *f = fopen(path, "r");
	if (f && fscanf(f, "%*s %llu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Whether an offset that was not asked for starts the module's process anew. */
static bool starts_anew(struct symbols *s, uint64_t offset)
{
	const struct symbols_position *p;
	unsigned before = starts;
	return symbols_find(s, offset, &p) == 1 && starts > before;
}

/* One module more than processes may run, then one for which there is no memory. */
static void test_oldest(void)
{
	enum { MODULES = SYMBOLS_RUNNING + 2 };
	struct messages silent = {0};
	struct symbols_running running = {.messages = &silent};
	struct symbols *s[MODULES];
	pid_t pid[MODULES];
	uint64_t bytes = 0;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	begin(1); /* a position without names, as often as it is asked for */
	for (int i = 0; i < 4; i++)
		put_number(0);
	for (int i = 0; i < MODULES; i++) {
		/* All but the first one run, and one of them must end. */
		for (int k = 1; i == MODULES - 1 && k < i; k++)
			bytes += resident_bytes(pid[k]);
		running.budget_bytes = bytes ? bytes - resident_bytes(pid[1]) / 2 : 0;
		if (symbols_open(fd, "/some/file", &running, &s[i]) || !starts_anew(s[i], 0x10))
			abort();
		pid[i] = started;
	}
	running.budget_bytes = 0;
	ok(!starts_anew(s[MODULES - 2], 0x20) && !starts_anew(s[MODULES - 1], 0x20) &&
		   !starts_anew(s[2], 0x20),
	   "where there is no memory, processes that were started late go on");
	ok(starts_anew(s[1], 0x20), "the oldest one was ended");
	for (int i = 0; i < MODULES; i++)
		symbols_close(s[i]);
	symbols_running_done(&running);
	close(fd);
}

int main(void)
{
	put_position(1, 8);
	check(true, "an answer that follows the rules is believed");
	put_position(1, SYMBOLS_WORKER_TEXT);
	check(true, "so is one with the longest text");
	put_position(1, SYMBOLS_WORKER_TEXT + 1);
	check(false, "one with a longer text is not");
	put_position(2, 8);
	check(false, "nor is a number that skips one");
	put_position(3, 8);
	check(false, "or two");
	put_position(UINT32_MAX, 8);
	check(false, "nor is the largest number");
	begin(255);
	check(false, "nor are more positions than there may be");
	put_position(1, 8);
	script.claimed = script.len -= 5;
	check(false, "nor is an answer that ends inside a position");
	put_position(1, 8);
	script.claimed = SYMBOLS_WORKER_ANSWER + 1;
	check(false, "nor is one that claims to be too long");
	test_oldest();
	return tap_done();
}

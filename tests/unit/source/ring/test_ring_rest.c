/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether many ring files are still at rest, by few system calls: what has changed, what was cut,
 * and where the call is refused. */
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "source/ring/file.h"
#include "tests/tap.h"
#include "tests/unit/ring_forged.h"
#include "tests/unit/seccomp.h"

#define FILES 150u /* more than one call reads: of files, and of headers */
#define FEW   31u

struct forged {
	int fd;
	struct ebt_ring_file h;
	struct ring_file *file;
};

static struct forged forged[FILES];
static struct ring_file *files[FILES];

static void set(unsigned i, uint64_t tail, uint64_t writing)
{
	const struct ebt_ring_header h = {.tail = tail, .events = tail / 3, .writing = writing};
	forged_header(forged[i].fd, &forged[i].h, 0, &h);
}

/* False: it cannot be read. */
static bool look(unsigned i)
{
	struct ring_fill fill = {0};
	return ring_file_update(files[i], now_ns(), &fill);
}

/* Live ring files, each second with an extension block, at rest. */
static void forge_all(void)
{
	for (unsigned i = 0; i < FILES; i++) {
		char path[] = "/tmp/ebtrace-rest-XXXXXX";
		struct ebt_cursor *c;
		forged[i] = (struct forged){.fd = mkstemp(path), .h = forged_layout(8)};
		if (forged[i].fd < 0)
			abort();
		forged_file(forged[i].fd, &forged[i].h, i % 2);
		set(i, 300, 0);
		if (ebt_cursor_open(path, EBT_RELEASE_OCAML_5_3, &c, NULL) ||
		    ring_file_new(c, path, i, true, 1000, &forged[i].file))
			abort();
		unlink(path);
		files[i] = forged[i].file;
	}
}

/* A first look finds the events, a second one nothing new. */
static void come_to_rest(void)
{
	for (unsigned i = 0; i < FILES; i++) {
		files[i]->whole_ns = 0; /* all rings, however soon that is */
		if (!look(i))
			abort();
		files[i]->whole_ns = 0;
		files[i]->looked_ns = 0;
		if (!look(i))
			abort();
	}
}

/* A file rests for a while: false if this has taken longer. */
static bool try_to_rest(unsigned n, const bool *may)
{
	uint64_t begin = now_ns();
	for (unsigned i = 0; i < FILES; i++) {
		files[i]->looked = i < n;
		files[i]->rested = false;
		files[i]->looked_ns = may[i] ? begin : 0;
	}
	ring_files_rest(files, FILES);
	return now_ns() - begin < 100000000;
}

/* Looks at the first n files. How many rest; a bit for each of the first 64 that does not. */
static unsigned rest_of(unsigned n, uint64_t *ret_others)
{
	unsigned rested = 0;
	bool may[FILES];
	for (unsigned i = 0; i < FILES; i++)
		may[i] = files[i]->looked_ns;
	while (!try_to_rest(n, may))
		;
	*ret_others = 0;
	for (unsigned i = 0; i < FILES; i++) {
		rested += files[i]->rested;
		if (i < 64 && !files[i]->rested)
			*ret_others |= 1ull << i;
	}
	return rested;
}

static void test_rest(void)
{
	uint64_t others, before = files[9]->update_ns;
	come_to_rest();
	is(rest_of(FEW, &others), 0, "of a few files none is read together with others");
	is(rest_of(FILES, &others), FILES, "many that have not changed rest");
	ok(files[9]->update_ns > before && files[9]->safe_ns == files[9]->rings[0].safe_ns &&
		   files[9]->safe_ns < files[9]->update_ns,
	   "and nothing older than the look before can appear in them");
	is(rest_of(FILES - 50, &others), FILES - 50, "of those that are looked at");
}

static void test_changes(void)
{
	uint64_t others;
	come_to_rest();
	set(7, 303, 0);
	set(21, 300, 1);
	rest_of(FILES, &others);
	is(others, 1ull << 7 | 1ull << 21,
	   "one with a new event does not, nor one whose writer is inside an event");
	ok(look(7) && ring_file_has_news(files[7], 0), "the event is found by a look");
	set(21, 300, 0);
	come_to_rest();
	const struct ebt_ring_header second = {.tail = 3, .events = 1};
	forged_header(forged[8].fd, &forged[8].h, 1, &second);
	rest_of(FILES, &others);
	is(others, 1ull << 8, "nor one of which a second ring is used");
}

static void test_refused(void)
{
	static const int calls[] = {SYS_process_vm_readv, -1};
	uint64_t others;
	come_to_rest();
	pid_t pid = fork();
	if (!pid) {
		bool can = seccomp_enter(calls, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW) &&
			   !rest_of(FILES, &others) && look(5) && files[5]->looked_ns;
		_exit(can ? 0 : 1);
	}
	int status = -1;
	waitpid(pid, &status, 0);
	is(status, 0, "where the call is refused none rests, and looks go on");
}

/* Last: the file stays damaged. */
static void test_cut(void)
{
	uint64_t others;
	come_to_rest();
	rest_of(FILES, &others); /* they are mapped */
	if (ftruncate(forged[40].fd, 0))
		abort();
	unsigned rested = rest_of(FILES, &others);
	is(others & ((1ull << 41) - 1), 1ull << 40,
	   "one that was cut does not, and those before it do");
	ok(rested >= FILES - 64 && look(41), "those behind it are left to looks");
	ok(look(40) && ring_file_has_news(files[40], 0), "and a look finds its damage");
}

int main(void)
{
	forge_all();
	test_rest();
	test_changes();
	test_refused();
	test_cut();
	for (unsigned i = 0; i < FILES; i++) {
		ring_file_free(files[i]);
		close(forged[i].fd);
	}
	return tap_done();
}

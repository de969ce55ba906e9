/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of libebtrace-preload.so that work without a program: the table of sampled objects and
 * its filter against an array, mappings, and the file that packets go to. */
#include <dirent.h>
#include <ebtrace/recorder.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"
#include "usdt-probes/preload/mappings.h"
#include "usdt-probes/preload/objects.h"
#include "usdt-probes/preload/trace_file.h"

#define OBJECTS 20000
#define STEPS	400000

static void *address_of(unsigned i)
{
	/* Neighbours, and addresses that share the low bits. */
	return (void *)(0x10000000ull + (i % 5000) * 48ull + (uint64_t)(i / 5000) * (4u << 20));
}

static void test_objects(void)
{
	static uint64_t number[OBJECTS]; /* 0: not there */
	int good = 1, filter_good = 1;
	unsigned hits = 0, misses = 0;
	is(ebt_objects_init(), 0, "the table has memory");
	srand(3);
	for (unsigned i = 1; i <= STEPS; i++) {
		unsigned k = (unsigned)rand() % OBJECTS;
		uint64_t got = 0;
		filter_good &= !number[k] || ebt_filter_hit(address_of(k));
		good &= ebt_objects_has(address_of(k)) == (number[k] != 0);
		if (rand() % 2) {
			good &= ebt_objects_add(address_of(k), i);
			number[k] = i;
		} else {
			good &= ebt_objects_remove(address_of(k), &got) == (number[k] != 0);
			good &= got == number[k];
			number[k] = 0;
		}
	}
	ok(good, "%u random additions and removals agree with an array", STEPS);
	ok(filter_good, "the filter hits each object that is there");
	for (unsigned k = 0; k < OBJECTS; k++) {
		uint64_t got;
		if (number[k] && k >= 10)
			ebt_objects_remove(address_of(k), &got);
		number[k] = k < 10 ? number[k] : 0;
	}
	for (unsigned k = 0; k < OBJECTS; k++)
		*(ebt_filter_hit(address_of(k)) ? &hits : &misses) += 1;
	ok(hits < 200, "the filter misses what was removed (%u of %u hits)", hits, hits + misses);
}

static uint64_t mapped_kib(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");
	if (!f || fscanf(f, "%lu", &pages) != 1)
		abort();
	fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

/* Objects that live shortly, as most do: as many additions as a program of hours has. */
static void test_churn(void)
{
	enum { ALIVE = 200, TURNS = 4000000 };
	static uint64_t address[ALIVE];
	uint64_t got, wrong = 0;
	ebt_objects_done();
	if (ebt_objects_init())
		abort();
	/* Counters of the filter are taken once for each of its bits. */
	uint64_t most = EBT_FILTER_BITS * sizeof(uint16_t) / 1024 + 128, early = mapped_kib();
	for (unsigned i = 0; i < TURNS; i++) {
		unsigned k = (unsigned)rand() % ALIVE;
		if (address[k])
			wrong += !ebt_objects_remove((void *)address[k], &got) || got != address[k];
		address[k] =
			0x700000000000ull + 16ull * ((uint64_t)rand() % (1u << 20) * ALIVE + k);
		wrong += !ebt_objects_add((void *)address[k], address[k]);
	}
	uint64_t grown = mapped_kib() - early;
	is(wrong, 0, "over 4,000,000 additions and removals each object is found");
	ok(grown < most, "memory does not grow with those that are gone (%llu of %llu KiB)",
	   (unsigned long long)grown, (unsigned long long)most);
	for (unsigned k = 0; k < ALIVE; k++)
		if (address[k])
			ebt_objects_remove((void *)address[k], &got);
}

/* More objects share a bit than it counts: then it stays, as one of them may be there. */
static void test_shared_bit(void)
{
	enum { SHARERS = UINT16_MAX + 100 };
	uint64_t obj, wrong = 0;
	ebt_objects_done();
	if (ebt_objects_init())
		abort();
	for (uint64_t i = 1; i <= SHARERS; i++) {
		void *address = (void *)(i << 22 | i << 4);
		wrong += ebt_filter_bit((uintptr_t)address) != 0;
		wrong += !ebt_objects_add(address, i);
	}
	is(wrong, 0, "more objects share a bit of the filter than it counts");
	for (uint64_t i = SHARERS; i > 1; i--) {
		void *next = (void *)((i - 1) << 22 | (i - 1) << 4);
		wrong += !ebt_objects_remove((void *)(i << 22 | i << 4), &obj) || obj != i;
		wrong += !ebt_filter_hit(next);
	}
	is(wrong, 0, "the filter hits the last of them when the others are gone");
	wrong += !ebt_objects_remove((void *)(1ull << 22 | 1ull << 4), &obj) || obj != 1;
	is(wrong, 0, "which is found by its own address");
}

/* Its bit of the filter may be an object's, so the table is asked for it. */
static void test_null(void)
{
	void *object = (void *)0x100004000;
	uint64_t obj = 0;
	is(ebt_filter_bit((uintptr_t)object), ebt_filter_bit(0),
	   "an object shares its bit with NULL");
	ok(ebt_objects_add(object, 7), "it is added");
	ok(ebt_filter_hit(NULL) && !ebt_objects_has(NULL), "NULL is no object");
	ok(!ebt_objects_remove(NULL, &obj), "so it cannot be removed");
	ok(ebt_filter_hit(object), "free(NULL) leaves the object's bit");
	ok(ebt_objects_remove(object, &obj) && obj == 7,
	   "the object is removed by its own address");
}

static void test_mappings(void)
{
	uint64_t obj = 0;
	ok(!ebt_mappings_any(), "there is no mapping at first");
	ebt_mappings_add(0x10000, 1);
	ebt_mappings_add(0x20000, 2);
	ebt_mappings_add(0x30000, 3);
	ok(!ebt_mappings_take(0x10001, 0xffff, &obj), "a range behind an address does not have it");
	ok(ebt_mappings_take(0x18000, 0x10000, &obj) && obj == 2, "a range has an address in it");
	ok(!ebt_mappings_take(0x18000, 0x10000, &obj), "it is removed");
	ok(ebt_mappings_take(0, SIZE_MAX, &obj) && ebt_mappings_take(0, SIZE_MAX, &obj) &&
		   !ebt_mappings_any(),
	   "a range may have several");

	uint64_t most = EBT_MAPPINGS_MAX * 16 / 1024, early = mapped_kib();
	for (uintptr_t i = 1; i <= 2 * EBT_MAPPINGS_MAX; i++)
		ebt_mappings_add(i << 12, i);
	uint64_t grown = mapped_kib() - early, n = 0;
	ok(grown <= most + most / 4, "what was too small is given back (%llu of %llu KiB)",
	   (unsigned long long)grown, (unsigned long long)most);
	while (ebt_mappings_take(0, SIZE_MAX, &obj))
		n++;
	is(n, EBT_MAPPINGS_MAX, "so many are kept, and no more");
}

static char dir[] = "/tmp/ebtrace-preload.XXXXXX";

static uint64_t size_of(const char *path)
{
	struct stat st;
	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

static unsigned count_descriptors(void)
{
	unsigned count = 0;
	for (int fd = 0; fd < 100; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void test_file(void)
{
	static struct ebt_trace_file f, other;
	static char packet[30000];
	char path[PATH_MAX];
	int err = 0, good = 1;
	unsigned fds = count_descriptors();
	is(ebt_trace_file_make(&f, dir), 0, "a trace is made");
	is(ebt_trace_file_make(&other, dir), 0, "and one of the next program beside it");
	snprintf(path, sizeof(path), "%s/1.ctf", dir);
	is_str(other.path, path, "which has the next number");
	for (unsigned i = 0; i < 100 && !err; i++) {
		memset(packet, 'a' + (int)(i % 26), sizeof(packet));
		err = ebt_trace_file_write(&f, packet, sizeof(packet));
	}
	is(err, 0, "packets are written beyond the first window");
	is(f.state->bytes, 100 * sizeof(packet), "the state counts their bytes");
	ebt_trace_file_end(&f);
	is(size_of(f.path), 100 * sizeof(packet), "the end cuts the file behind them");
	FILE *in = fopen(f.path, "r");
	for (unsigned i = 0; in && i < 100 * sizeof(packet); i++)
		good &= getc(in) == 'a' + (int)(i / sizeof(packet) % 26);
	ok(in && good, "the file has their bytes");
	if (in)
		fclose(in);
	is(count_descriptors(), fds, "no descriptor stays open");
	unlink(other.path);
	while (!err)
		err = ebt_trace_file_write(&other, packet, sizeof(packet));
	is(err, -ENOENT, "a file that has gone does not grow");
}

static void test_file_limit(void)
{
	static struct ebt_trace_file f;
	struct rlimit old, limit;
	getrlimit(RLIMIT_FSIZE, &old);
	limit = (struct rlimit){1 << 15, old.rlim_max};
	setrlimit(RLIMIT_FSIZE, &limit);
	int err = ebt_trace_file_make(&f, dir);
	setrlimit(RLIMIT_FSIZE, &old);
	is(err, -EFBIG, "a limit of files is an error, and no signal");
}

static void remove_files(void)
{
	DIR *d = opendir(dir);
	for (struct dirent *e; d && (e = readdir(d));)
		unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(dir);
}

int main(void)
{
	test_objects();
	test_churn();
	test_null();
	test_shared_bit();
	test_mappings();
	if (mkdtemp(dir)) {
		test_file();
		test_file_limit();
		remove_files();
	}
	tap_keeps_mapped(5); /* a recorder has its files until its process ends */
	return tap_done();
}

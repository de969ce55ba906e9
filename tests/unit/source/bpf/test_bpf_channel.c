// SPDX-License-Identifier: BSD-2-Clause
/*
 * The reader of BPF's ring buffer, on a file that is laid out as the kernel lays out its buffer:
 * the page of the reader, that of the writer, the data, and the data again.
 */
#include "source/bpf/channel.h"
#include "tests/tap.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES 4096ul
#define HEAD  BPF_RINGBUF_HDR_SZ

struct kernel {
	_Atomic unsigned long *consumer, *producer;
	uint8_t *data;
	size_t bytes;
	int fd;
};

static struct kernel kernel_new(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), all = 2 * page + 2 * bytes;
	struct kernel k = {.bytes = bytes, .fd = memfd_create("ring", MFD_CLOEXEC)};
	uint8_t *map = MAP_FAILED;
	if (k.fd >= 0 && !ftruncate(k.fd, (off_t)all))
		map = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED, k.fd, 0);
	if (map == MAP_FAILED)
		abort();
	k.consumer = (void *)map;
	k.producer = (void *)(map + page);
	k.data = map + 2 * page;
	return k;
}

static void kernel_free(struct kernel *k)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	munmap(k->consumer, 2 * page + 2 * k->bytes);
	close(k->fd);
}

static void put_byte(struct kernel *k, unsigned long at, uint8_t byte)
{
	k->data[at % k->bytes] = k->data[at % k->bytes + k->bytes] = byte;
}

static void put_head(struct kernel *k, unsigned long at, uint32_t len)
{
	for (int i = 0; i < 2; i++)
		atomic_store_explicit((_Atomic uint32_t *)(k->data + at % k->bytes) +
					      (size_t)i * k->bytes / 4,
				      len, memory_order_release);
}

/* Reserves a record of so many bytes, each of which is `fill`; false: there is no room. */
static bool reserve(struct kernel *k, size_t bytes, uint8_t fill, unsigned long *ret)
{
	unsigned long at = *k->producer, end = at + ((HEAD + bytes + 7) & ~7ul);
	if (end - *k->consumer > k->bytes)
		return false;
	for (size_t i = 0; i < bytes; i++)
		put_byte(k, at + HEAD + i, fill);
	put_head(k, at, (uint32_t)bytes | BPF_RINGBUF_BUSY_BIT);
	atomic_store_explicit(k->producer, end, memory_order_release);
	*ret = at;
	return true;
}

static bool put(struct kernel *k, size_t bytes, uint8_t fill)
{
	unsigned long at;
	bool has_room = reserve(k, bytes, fill, &at);
	if (has_room)
		put_head(k, at, (uint32_t)bytes);
	return has_room;
}

static struct {
	unsigned count, stop_at;
	uint8_t fill[64];
	bool whole;
} got;

static int take(void *ctx, const void *record, size_t bytes)
{
	const uint8_t *byte = record;
	(void)ctx;
	for (size_t i = 0; i < bytes; i++)
		got.whole &= byte[i] == *byte;
	got.fill[got.count++ % 64] = *byte;
	return got.stop_at && got.count == got.stop_at ? -ENOBUFS : 0;
}

static int read_all(struct bpf_channel *c, unsigned stop_at)
{
	memset(&got, 0, sizeof(got));
	got.whole = true;
	got.stop_at = stop_at;
	return bpf_channel_read(c, false, take, NULL);
}

static void test_order(void)
{
	struct kernel k = kernel_new(BYTES);
	struct bpf_channel c;
	unsigned long busy;
	is(bpf_channel_open(&c, k.fd, BYTES), 0, "a buffer of one page can be read");
	ok(!read_all(&c, 0) && !got.count, "an empty one has no record");
	ok(put(&k, 16, 1) && put(&k, 3, 2) && reserve(&k, 40, 3, &busy) && put(&k, 8, 4),
	   "of four records the third is being written");
	ok(read_all(&c, 0) == -EAGAIN && got.count == 2 && got.fill[0] == 1 && got.fill[1] == 2,
	   "those before it are read, and that is not all");
	is(*k.consumer, busy, "and their room is given back");
	ok(bpf_channel_read(&c, true, take, NULL) == -EAGAIN && got.count == 2,
	   "it is not waited for without end");
	put_head(&k, busy, 40 | BPF_RINGBUF_DISCARD_BIT);
	ok(!read_all(&c, 0) && got.count == 1 && got.fill[0] == 4,
	   "a discarded one is skipped, those behind it are read");
	is(*k.consumer, *k.producer, "to the end");
	ok(put(&k, 8, 5) && put(&k, 8, 6) && read_all(&c, 1) == -ENOBUFS && got.count == 1,
	   "one that cannot take more ends it");
	ok(!read_all(&c, 0) && got.count == 1 && got.fill[0] == 6, "and finds the rest later");
	bpf_channel_close(&c);
	bpf_channel_close(&c);
	kernel_free(&k);
}

/* Records of all lengths, so that each lies across the end at some time. */
static void test_wrap(size_t bytes, size_t longest)
{
	struct kernel k = kernel_new(bytes);
	struct bpf_channel c;
	unsigned records = 0, read = 0, broken = 0, across = 0;
	if (bpf_channel_open(&c, k.fd, bytes))
		abort();
	for (size_t n = 1; n <= 4 * longest; n++) {
		size_t size = n % longest + 1;
		unsigned long at = *k.producer % bytes;
		if (!put(&k, size, (uint8_t)n))
			break;
		records++;
		across += at + HEAD + size > bytes;
		broken += read_all(&c, 0) || !got.whole || got.fill[0] != (uint8_t)n;
		read += got.count;
	}
	ok(records == 4 * longest && read == records && !broken && across > 4,
	   "%zu bytes: %u records, %u of them across the end, are each read whole", bytes, records,
	   across);
	bpf_channel_close(&c);
	kernel_free(&k);
}

/* A writer in another process, which waits for room. */
static void test_race(void)
{
	enum { RECORDS = 50000 };
	struct kernel k = kernel_new(BYTES);
	struct bpf_channel c;
	unsigned read = 0, broken = 0;
	if (bpf_channel_open(&c, k.fd, BYTES))
		abort();
	pid_t pid = fork();
	for (unsigned n = 0; !pid && n < RECORDS; n++)
		while (!put(&k, n % 100 + 1, (uint8_t)n))
			usleep(0);
	if (!pid)
		_exit(0);
	while (read < RECORDS && !broken) {
		read_all(&c, 0);
		broken += !got.whole;
		for (unsigned i = 0; i < got.count && got.count <= 64; i++)
			broken += got.fill[i] != (uint8_t)(read + i);
		read += got.count;
	}
	ok(read == RECORDS && !broken,
	   "of a writer that runs meanwhile each record is read once, whole and in order");
	waitpid(pid, NULL, 0);
	bpf_channel_close(&c);
	kernel_free(&k);
}

/* A writer that is held up in the middle of a record. */
static void test_wait(void)
{
	struct kernel k = kernel_new(BYTES);
	struct bpf_channel c;
	unsigned long at;
	if (bpf_channel_open(&c, k.fd, BYTES) || !reserve(&k, 8, 1, &at))
		abort();
	pid_t pid = fork();
	if (!pid) {
		usleep(5000);
		put_head(&k, at, 8);
		_exit(0);
	}
	int err = -EAGAIN;
	memset(&got, 0, sizeof(got));
	for (int i = 0; i < 100 && err == -EAGAIN; i++)
		err = bpf_channel_read(&c, true, take, NULL);
	ok(!err && got.count == 1, "a record that is being written is waited for");
	waitpid(pid, NULL, 0);
	bpf_channel_close(&c);
	kernel_free(&k);
}

static struct kernel *reading;
static size_t most_kept;

static int note_kept(void *ctx, const void *record, size_t bytes)
{
	unsigned long *at = ctx;
	(void)record;
	*at += (HEAD + bytes + 7) & ~7ul;
	if (*at - *reading->consumer > most_kept)
		most_kept = *at - *reading->consumer;
	return 0;
}

/* While much is read the kernel may write on. */
static void test_given_back(void)
{
	struct kernel k = kernel_new(1ul << 18);
	struct bpf_channel c;
	unsigned long at = 0;
	reading = &k;
	if (bpf_channel_open(&c, k.fd, k.bytes))
		abort();
	while (put(&k, 100, 1))
		;
	ok(!bpf_channel_read(&c, false, note_kept, &at) && at == *k.producer && *k.consumer == at,
	   "a full buffer is read");
	ok(most_kept <= k.bytes / 64 + 2 * (HEAD + 104), "and given back part by part: %zu",
	   most_kept);
	bpf_channel_close(&c);
	kernel_free(&k);
}

int main(void)
{
	struct bpf_channel c;
	test_given_back();
	test_order();
	test_wrap(BYTES, 1000);
	test_wrap(1ul << 18, 9000);
	test_race();
	test_wait();
	ok(bpf_channel_open(&c, -1, BYTES) == -EBADF, "no descriptor is no buffer");
	int fd = memfd_create("page", MFD_CLOEXEC);
	int before = tap_mappings(false);
	is(bpf_channel_open(&c, fd, SIZE_MAX / 2), -ENOMEM, "one that has no room is refused");
	is(tap_mappings(false), before, "and nothing of it is left");
	close(fd);
	return tap_done();
}

// SPDX-License-Identifier: BSD-2-Clause
/* Blocks that a thread closes, against those of one writer. */
#include "format/ebt/packer.h"
#include "tests/tap.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS 300
#define ROOM   (8u << 20)

struct file {
	char *bytes;
	size_t len;
};

static void append(struct file *f, const void *bytes, ssize_t len)
{
	if (!len)
		return;
	if (len < 0 || f->len + (size_t)len > ROOM)
		abort();
	memcpy(f->bytes + f->len, bytes, (size_t)len);
	f->len += (size_t)len;
}

/* Events of the n-th block: few or many; of two blocks in each seven, none. */
static void fill(struct capture_writer *w, unsigned n)
{
	static uint64_t ts;
	const struct capture_item gone = {.what = CAPTURE_GONE, .gone = 100 + n};
	ts = n ? ts : 1000;
	if (n % 7 == 3 || n % 7 == 4) {
		if (capture_put_item(w, &gone))
			abort();
		return;
	}
	for (unsigned i = 0; i < 1 + n * 37 % 400; i++) {
		struct ebt_event ev = {.ts = ts += 1 + i * n % 50,
				       .pos = 2ull * i,
				       .pid = 100 + n % 3,
				       .kind = i % 2 ? EBT_END : EBT_BEGIN,
				       .id = i % 7,
				       .seq = i,
				       .size = 2,
				       .flags = EBT_F_RING | EBT_F_SEQ};
		if (capture_put_event(w, &ev, NULL, 0))
			abort();
	}
}

static enum capture_block_type type_of(unsigned n)
{
	return n + 1 < BLOCKS ? CAPTURE_BLOCK_EVENTS : CAPTURE_BLOCK_END;
}

static void write_alone(struct file *f)
{
	struct capture_writer *w;
	const void *bytes;
	if (capture_writer_new(1, &w))
		abort();
	for (unsigned n = 0; n < BLOCKS; n++) {
		fill(w, n);
		ssize_t len = capture_close_block(w, type_of(n), &bytes);
		append(f, bytes, len);
	}
	capture_writer_free(w);
}

static void write_packed(struct file *f, bool waits)
{
	struct ebt_packer *p;
	const void *bytes;
	if (ebt_packer_new(1, &p))
		abort();
	for (unsigned n = 0; n < BLOCKS; n++) {
		fill(ebt_packer_open(p), n);
		ssize_t len = ebt_packer_finish(p, &bytes);
		append(f, bytes, len);
		ebt_packer_close(p, type_of(n));
		len = waits ? ebt_packer_finish(p, &bytes) : 0;
		append(f, bytes, len);
	}
	ssize_t len = ebt_packer_finish(p, &bytes);
	append(f, bytes, len);
	is(ebt_packer_finish(p, &bytes), 0, "the bytes of a block are returned once");
	ebt_packer_free(p);
}

/* In a child, whose freed memory is overwritten at once. Returns its wait status. */
static int free_packing(void)
{
	int status = -1;
	pid_t child = fork();
	if (!child) {
		mallopt(M_PERTURB, 0xa5);
		alarm(60); /* a thread that waits for what is freed never ends */
		for (unsigned n = 0; n < BLOCKS; n++) {
			struct ebt_packer *p;
			if (ebt_packer_new(1, &p))
				abort();
			fill(ebt_packer_open(p), n);
			ebt_packer_close(p, CAPTURE_BLOCK_END);
			ebt_packer_free(p);
		}
		_exit(0);
	}
	return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

int main(void)
{
	struct file alone = {malloc(ROOM), 0}, packed = {malloc(ROOM), 0},
		    waited = {malloc(ROOM), 0};
	if (!alone.bytes || !packed.bytes || !waited.bytes)
		abort();
	write_alone(&alone);
	write_packed(&packed, false);
	write_packed(&waited, true);
	ok(alone.len == packed.len && !memcmp(alone.bytes, packed.bytes, alone.len),
	   "blocks that are packed beside the next one have the bytes and the order of one "
	   "writer's");
	ok(alone.len == waited.len && !memcmp(alone.bytes, waited.bytes, alone.len),
	   "and so have those that are waited for");
	is(free_packing(), 0, "a packer may be freed while it packs");
	free(alone.bytes);
	free(packed.bytes);
	free(waited.bytes);
	return tap_done();
}

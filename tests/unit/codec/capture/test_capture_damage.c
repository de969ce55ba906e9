/* SPDX-License-Identifier: BSD-2-Clause */
/* Captures that are cut, bent and stretched, at every byte. */
#include "tests/unit/capture_file.h"

#include "tests/tap.h"

#define BLOCKS	  6
#define PER_BLOCK 20

/* A capture of tame events; starts[i] is where block i begins, the last one is the END. */
static struct bytes tame_file(size_t starts[BLOCKS + 2])
{
	struct capture_writer *w = new_writer();
	struct bytes file = {0};
	append_head(&file);
	for (unsigned b = 0; b < BLOCKS; b++) {
		starts[b] = file.len;
		for (unsigned i = 0; i < PER_BLOCK; i++) {
			struct ebt_event ev = tame_event(b * PER_BLOCK + i);
			capture_put_event(w, &ev, NULL, 0);
		}
		append_block(&file, w, CAPTURE_BLOCK_EVENTS);
	}
	starts[BLOCKS] = file.len;
	struct capture_item totals = {.what = CAPTURE_TOTALS};
	capture_put_item(w, &totals);
	append_block(&file, w, CAPTURE_BLOCK_END);
	starts[BLOCKS + 1] = file.len;
	capture_writer_free(w);
	return file;
}

/* Every event that came is one of the tame ones, and they rise. */
static bool are_tame(const struct result *r, unsigned *ret_missing)
{
	unsigned next = 0, missing = 0;
	for (size_t i = 0; i < r->count; i++) {
		const struct ebt_event *ev = &r->items[i].event;
		if (r->items[i].what != CAPTURE_EVENT || !capture_counts(ev->kind))
			continue;
		struct capture_item want = {.event = tame_event(ev->seq)};
		if (ev->seq < next || !same_event(&want, &r->items[i]))
			return false;
		missing += ev->seq - next;
		next = ev->seq + 1;
	}
	*ret_missing = missing + BLOCKS * PER_BLOCK - next;
	return true;
}

/* The first damage is of these bytes of the file. */
static bool is_damage_of(const struct result *r, size_t from, size_t to)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct ebt_event *ev = &r->items[i].event;
		if (r->items[i].what == CAPTURE_EVENT && ev->kind == EBT_DAMAGE)
			return ev->arg[0] == from && ev->arg[1] == (to - from + 7) / 8;
	}
	return from == to;
}

static void test_cut(void)
{
	size_t starts[BLOCKS + 2];
	struct bytes file = tame_file(starts);
	unsigned bad = 0, untold = 0, named = 0, missized = 0;
	for (size_t len = CAPTURE_HEAD_BYTES; len < file.len; len++) {
		struct result r = read_all(file.data, len, SIZE_MAX);
		unsigned blocks = 0, missing;
		while (blocks < BLOCKS && starts[blocks + 1] <= len)
			blocks++;
		bool at_border = len == starts[blocks];
		missized += !is_damage_of(&r, starts[blocks], len);
		bad += r.end || r.events != blocks * PER_BLOCK || !are_tame(&r, &missing);
		untold += (r.damaged == 1) == at_border || r.stats.whole || !r.stats.ended;
		/* The head of the cut block says what is missing. */
		bool has_head = len >= starts[blocks] + CAPTURE_BLOCK_BYTES && blocks < BLOCKS;
		named += r.lost != (has_head ? PER_BLOCK : 0);
		done(&r);
	}
	is(bad, 0, "cut at any byte, a capture gives every block before it");
	is(untold, 0, "a block that is cut is told as damage, and the end is missing");
	is(missized, 0, "the damage has the bytes that are left of the block");
	is(named, 0, "a cut block whose head is there says how many events it had");
	free(file.data);
}

#ifdef __SANITIZE_ADDRESS__
#define FLIP_STEP 5 /* only each fifth byte: it is slow */
#else
#define FLIP_STEP 1
#endif

static void test_flips(void)
{
	size_t starts[BLOCKS + 2];
	struct bytes file = tame_file(starts);
	unsigned bad = 0, uneven = 0, misplaced = 0, missized = 0;
	for (size_t at = CAPTURE_HEAD_BYTES; at < file.len; at += FLIP_STEP) {
		for (unsigned bit = 0; bit < 8; bit += 3) {
			file.data[at] ^= (uint8_t)(1 << bit);
			struct result r = read_all(file.data, file.len, SIZE_MAX);
			unsigned block = 0, missing = 0;
			while (starts[block + 1] <= at)
				block++;
			size_t want = (BLOCKS - (size_t)(block < BLOCKS)) * PER_BLOCK;
			bad += r.end || r.events != want || !are_tame(&r, &missing);
			uneven += r.lost != missing;
			missized += !is_damage_of(&r, starts[block], starts[block + 1]);
			misplaced += r.damaged != 1 || r.fault.offset != starts[block];
			done(&r);
			file.data[at] ^= (uint8_t)(1 << bit);
		}
	}
	is(bad, 0, "a flipped bit costs the block that it is in, and no other");
	is(uneven, 0, "the events of that block are told as lost, every one");
	is(missized, 0, "and has the bytes of that block");
	is(misplaced, 0, "the damage is told once, at the byte where the block begins");
	free(file.data);
}

static void test_shifts(void)
{
	size_t starts[BLOCKS + 2];
	struct bytes file = tame_file(starts);
	unsigned bad = 0;
	for (size_t at = starts[1]; at < starts[2]; at++) {
		/* A byte too few, then some too many. */
		for (size_t more = 0; more < 3; more++) {
			struct bytes bent = {0};
			append(&bent, file.data, at);
			append(&bent, "\xff\xff", more);
			append(&bent, file.data + at + !more, file.len - at - !more);
			struct result r = read_all(bent.data, bent.len, 33);
			unsigned missing = 0;
			bool between = more && at == starts[1];
			bad += r.end || !are_tame(&r, &missing) || r.lost != missing ||
			       r.events != (BLOCKS - (size_t)!between) * PER_BLOCK ||
			       r.damaged != 1;
			done(&r);
			free(bent.data);
		}
	}
	is(bad, 0, "bytes missing or too many cost their block alone: the next one is found");
	free(file.data);
}

int main(void)
{
	test_cut();
	test_flips();
	test_shifts();
	return tap_done();
}

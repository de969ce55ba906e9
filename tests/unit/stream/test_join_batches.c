// SPDX-License-Identifier: BSD-2-Clause
/* The join of batches against the join of one event at a time. */
#include "tests/unit/join_fixture.h"

#include <stdlib.h>
#include <string.h>

#define EVENTS 2000
#define RINGS  6 /* three of each of two processes */

static uint32_t state;

static uint32_t draw(uint32_t n)
{
	state = state * 1103515245u + 12345u;
	return (state >> 12) % n;
}

/* Events of some rings, in runs of one or in turns, and runs without ordinals; holes, copies,
 * partners, losses, final ones. */
static int make_events(struct ebt_event *ev)
{
	uint32_t seq[RINGS] = {0}, ring = 0, turns = 0, pairs = 0, uncounted = 0;
	uint64_t ts = 1000;
	int n = 0;
	while (n < EVENTS - 1) {
		turns = draw(40) ? turns : draw(2);
		pairs = draw(80) ? pairs : draw(3); /* runs of them, the ring's first or second */
		uncounted = draw(60) ? uncounted : draw(2);
		ring = turns || !draw(30) ? draw(RINGS) : ring;
		ts += draw(3);
		struct ebt_event *e = &ev[n++];
		*e = event(draw(50) ? R : B, uncounted ? seq[ring] : seq[ring]++, ts);
		e->process = 9 - ring % 2;
		e->domain = (uint16_t)(ring / 2 + 1 + (uncounted ? RINGS : 0));
		e->flags &= (uint16_t) ~(uncounted ? EBT_F_SEQ : 0);
		uint32_t what = draw(60);
		if (pairs && what > 7) {
			what = 2;
			e->flags = (e->flags & EBT_F_SEQ) | (pairs == 1 ? R : B);
		}
		switch (what) {
		case 0: /* a hole before the next */
			seq[ring] += 1 + draw(5);
			break;
		case 1: /* a copy, or an event of a hole */
			e->seq -= draw(4);
			break;
		case 2:
		case 3: /* a partner */
			ev[n] = *e;
			ev[n].flags ^= R | B;
			ev[n].tid = ev[n].flags & B ? 55 : 0;
			ev[n].pos = draw(30) ? ev[n].pos : EBT_NO_POS;
			e->pos = draw(30) ? e->pos : EBT_NO_POS;
			n++;
			break;
		case 4:
			e->kind = EBT_LOST;
			e->flags &= (uint16_t)~EBT_F_SEQ;
			e->flags |= draw(2) ? EBT_F_HISTORY : 0;
			e->arg[0] = 1;
			seq[ring] += draw(2) ? 1 : -1u; /* it has lost the event, or none */
			break;
		case 5:
			e->flags |= EBT_F_FINAL;
			break;
		case 6:
			e->flags |= EBT_F_FIRST;
			break;
		case 7:
			*e = (struct ebt_event){.ts = ts,
						.pos = EBT_NO_POS,
						.process = 9,
						.kind = EBT_PROCESS,
						.id = EBT_PROCESS_EXEC,
						.domain = EBT_NO_DOMAIN,
						.cpu = EBT_NO_CPU};
			break;
		}
	}
	return n;
}

/* What comes out of batches of up to `most` events; the number of them. */
static int join_all(const struct ebt_event *ev, int n, uint32_t most, struct ebt_event *ret)
{
	struct ebt_event batch[BATCH_EVENTS];
	begin();
	for (int at = 0, size; at < n; at += size) {
		size = 1 + (int)draw(most);
		size = size < n - at ? size : n - at;
		memcpy(batch, ev + at, (size_t)size * sizeof(*ev));
		join_events(join, batch, (size_t)size);
	}
	join_flush(join);
	memcpy(ret, out, (size_t)outs * sizeof(*out));
	end();
	return outs;
}

int main(void)
{
	static struct ebt_event ev[EVENTS], one[MAX], many[MAX];
	static const uint32_t sizes[] = {2, 7, BATCH_EVENTS};
	int bad = 0, most = 0;
	for (uint32_t round = 0; round < 300 && !bad; round++) {
		state = round;
		int n = make_events(ev), alone = join_all(ev, n, 1, one);
		most = alone > most ? alone : most;
		for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes) && !bad; i++) {
			int got = join_all(ev, n, sizes[i], many);
			bad = got != alone || memcmp(one, many, (size_t)got * sizeof(*one));
			if (bad)
				diag("round %u: %d events of batches of up to %u, %d alone", round,
				     got, sizes[i], alone);
		}
	}
	ok(!bad, "batches of any size come out as the same events one at a time do");
	ok(most < MAX, "of which none were dropped by the test");
	return tap_done();
}

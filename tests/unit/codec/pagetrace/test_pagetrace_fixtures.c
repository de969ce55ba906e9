/* SPDX-License-Identifier: BSD-2-Clause */
/* Page traces that Go wrote, against what an independent decoder prints of them. */
#include "tests/tap.h"
#include "tests/unit/pagetrace_fixture.h"

/* As manifest.tsv has them. */
struct fixture {
	const char *name;
	unsigned blocks, events, syncs, large;
	bool has_boot;
	unsigned lanes;
	uint64_t damage_at, damage_bytes; /* 0: none */
};

static void check_damage(const struct fixture *x, const struct pt_events *e, const char *how)
{
	bool good = x->damage_bytes ? e->damaged == 1 && e->damage[0].addr == x->damage_at &&
					      e->damage[0].pages == x->damage_bytes && *e->reason
				    : !e->damaged && !*e->reason;
	ok(good && e->counts.damaged == e->damaged && e->counts.damaged_bytes == x->damage_bytes,
	   "%s, %s: %s", x->name, how,
	   x->damage_bytes ? "its damage has its offset and size" : "it is not damaged");
	if (!good)
		diag("%zu damaged, first at %" PRIu64 ", %" PRIu64 " bytes: %s", e->damaged,
		     e->damage[0].addr, e->damage[0].pages, e->reason);
}

static void check_counts(const struct fixture *x, const struct ebt_pagetrace_counts *c,
			 const char *how)
{
	ok(c->blocks == x->blocks && c->events == x->events && c->syncs == x->syncs &&
		   c->large == x->large && c->has_boot == x->has_boot && !c->raised,
	   "%s, %s: the counts are the manifest's", x->name, how);
}

static void check_all(const struct fixture *x, struct pt_bytes *trace,
		      const struct pt_events *truth)
{
	static const size_t batches[] = {1, 256};
	for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++) {
		char how[64];
		snprintf(how, sizeof(how), "in batches of %zu", batches[i]);
		struct pt_events e = pt_read_all(trace, batches[i]);
		ok(!e.end && pt_same(&e, truth),
		   "%s, %s: the events in order of time are the truth's", x->name, how);
		check_damage(x, &e, how);
		check_counts(x, &e.counts, how);
		pt_free(&e);
	}
}

static void check_stream(const struct fixture *x, struct pt_bytes *trace,
			 const struct pt_events *truth)
{
	static const size_t pieces[] = {13, 1u << 20};
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		char how[64];
		snprintf(how, sizeof(how), "in pieces of %zu", pieces[i]);
		struct pt_events e = pt_read(trace, pieces[i], i & 1 ? 5 : 300);
		pt_sort(&e);
		ok(!e.end && pt_same(&e, truth),
		   "%s, %s: the events in the order of the file, sorted, are the truth's", x->name,
		   how);
		check_damage(x, &e, how);
		check_counts(x, &e.counts, how);
		pt_free(&e);
	}
}

/* All lanes, one after the other. */
static void check_lanes(const struct fixture *x, struct pt_bytes *trace,
			const struct pt_events *truth)
{
	struct ebt_pagetrace_file *f;
	const struct ebt_pagetrace_lane *lane;
	struct ebt_pagetrace_event ev[100];
	struct pt_events all = {0};
	bool good = true;
	uint64_t blocks = 0;
	if (ebt_pagetrace_open(pt_pread, trace, &f, NULL))
		abort();
	size_t lanes = ebt_pagetrace_lanes(f, &lane);
	for (size_t i = 0; i < lanes; i++) {
		size_t begin = all.n;
		for (ssize_t n; (n = ebt_pagetrace_read_lane(f, i, ev, 100)) > 0;)
			pt_keep(&all, ev, (size_t)n);
		for (size_t k = begin; k < all.n; k++)
			good &= all.at[k].p == lane[i].p &&
				(k == begin || all.at[k - 1].time_ns <= all.at[k].time_ns);
		good &= all.n - begin == lane[i].events &&
			(all.n == begin || (all.at[begin].time_ns == lane[i].first_ns &&
					    all.at[all.n - 1].time_ns == lane[i].last_ns));
		blocks += lane[i].blocks;
	}
	is(lanes, x->lanes, "as many lanes as Ps have written, in each process");
	ok(good && blocks == x->blocks,
	   "%s: a lane has one P's events in order of time, with the times and counts it states",
	   x->name);
	pt_sort(&all);
	ok(pt_same(&all, truth), "%s: the events of all lanes, sorted, are the truth's", x->name);
	ebt_pagetrace_close(f);
	pt_free(&all);
}

/* Names, counts and Ps of manifest.tsv; what it does not have is added here. */
static bool parse(char *line, struct fixture *x)
{
	char *field[24] = {0};
	size_t n = 0;
	for (char *f; n < 24 && (f = strsep(&line, "\t"));)
		field[n++] = f;
	if (n < 15)
		return false;
	*x = (struct fixture){.name = field[0]};
	x->blocks = (unsigned)atoi(field[7]);
	x->has_boot = !strncmp(field[8], "-1", 2);
	for (char *p = field[8]; *p; p++)
		x->lanes += *p == ',';
	x->lanes += *field[8] != 0;
	for (int i = 9; i < 12; i++)
		x->events += (unsigned)atoi(field[i]);
	x->syncs = (unsigned)atoi(field[12]);
	x->large = (unsigned)atoi(field[13]);
	return true;
}

int main(void)
{
	char line[4096];
	FILE *f = fopen("tests/data/pagetrace/manifest.tsv", "re");
	int fixtures = 0;
	if (!f || !fgets(line, sizeof(line), f))
		return ok(0, "the manifest is there"), tap_done();
	while (fgets(line, sizeof(line), f)) {
		struct fixture x;
		if (!parse(line, &x))
			continue;
		if (!strcmp(x.name, "fsize-go122")) {
			x.damage_at = 100000;
			x.damage_bytes = 3;
		}
		/* A hole, whose words the decoder counted as times. */
		if (!strcmp(x.name, "selfexec-go122")) {
			x.damage_at = 90328;
			x.damage_bytes = 9189 * 8;
			x.syncs -= 9189;
			x.lanes *= 2; /* of the program and of its child */
		}
		struct pt_bytes trace = pt_unpack(x.name, ".pt.xz");
		struct pt_events truth = pt_truth(x.name);
		check_all(&x, &trace, &truth);
		check_stream(&x, &trace, &truth);
		check_lanes(&x, &trace, &truth);
		pt_free(&truth);
		free(trace.data);
		fixtures++;
	}
	fclose(f);
	is(fixtures, 16, "all traces of the manifest are read");
	return tap_done();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts an NDJSON trace: reads it on stdin and prints one line for each domain and kind,
 * `DOMAIN KIND COUNT`, sorted; the events lost in each domain as kind `lost`; then what is true of
 * the whole: `unsorted N` (events older than the one before them), `twice N` (a position of a ring
 * that came again), `events N`, and the summary's own numbers. It knows nothing of the program's
 * code: it is the other side of the tests that demand "emitted = delivered + lost".
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DOMAINS 4097 /* the last one: none (-1) */
#define MAX_KINDS   32
#define MAX_PIDS    64

struct tally {
	char kinds[MAX_KINDS][24];
	unsigned kind_count;
	uint64_t count[MAX_DOMAINS][MAX_KINDS];
	uint64_t lost[MAX_DOMAINS];
	uint64_t events, unsorted, twice, last_ts;
	/* last position seen of each ring; a ring is a pid and a domain */
	int64_t pids[MAX_PIDS];
	unsigned pid_count;
	int64_t pos[MAX_PIDS][MAX_DOMAINS];
};

/* The number behind "key": in the line, or `none`. */
static int64_t number(const char *line, const char *key, int64_t none)
{
	const char *p = strstr(line, key);
	return p ? strtoll(p + strlen(key), NULL, 10) : none;
}

static unsigned kind_index(struct tally *t, const char *name, size_t n)
{
	for (unsigned i = 0; i < t->kind_count; i++)
		if (!strncmp(t->kinds[i], name, n) && !t->kinds[i][n])
			return i;
	if (t->kind_count == MAX_KINDS || n >= sizeof(t->kinds[0])) {
		fprintf(stderr, "too many kinds\n");
		exit(1);
	}
	memcpy(t->kinds[t->kind_count], name, n);
	return t->kind_count++;
}

static unsigned pid_index(struct tally *t, int64_t pid)
{
	for (unsigned i = 0; i < t->pid_count; i++)
		if (t->pids[i] == pid)
			return i;
	if (t->pid_count == MAX_PIDS) {
		fprintf(stderr, "too many processes\n");
		exit(1);
	}
	t->pids[t->pid_count] = pid;
	for (unsigned d = 0; d < MAX_DOMAINS; d++)
		t->pos[t->pid_count][d] = -1;
	return t->pid_count++;
}

static void take_event(struct tally *t, const char *line, unsigned kind, int64_t ts)
{
	int64_t domain = number(line, "\"domain\":", -1);
	if (domain < 0 || domain >= MAX_DOMAINS)
		domain = MAX_DOMAINS - 1;
	if ((uint64_t)ts < t->last_ts)
		t->unsorted++;
	t->last_ts = (uint64_t)ts;
	if (!strcmp(t->kinds[kind], "lost")) {
		t->lost[domain] += (uint64_t)number(line, "\"events\":", 0);
		return;
	}
	t->count[domain][kind]++;
	t->events++;
	int64_t pos = number(line, "\"pos\":", -1);
	if (pos < 0)
		return;
	int64_t *last = &t->pos[pid_index(t, number(line, "\"pid\":", 0))][domain];
	if (pos <= *last && pos != 0)
		t->twice++;
	*last = pos;
}

static void take_line(struct tally *t, const char *line)
{
	static const char key[] = "\"kind\":\"";
	const char *k = strstr(line, key);
	const char *end = k ? strchr(k + sizeof(key) - 1, '"') : NULL;
	if (!end) {
		printf("bad line: %.100s\n", line);
		return;
	}
	k += sizeof(key) - 1;
	size_t n = (size_t)(end - k);
	if (n == 6 && !strncmp(k, "header", n))
		return;
	if (n == 7 && !strncmp(k, "process", n))
		return;
	if (n == 7 && !strncmp(k, "summary", n)) {
		static const char *const keys[] = {"events",	 "lost_events", "history_events",
						   "lost_words", "late",	"damaged"};
		for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			char q[32];
			snprintf(q, sizeof(q), "\"%s\":", keys[i]);
			printf("summary %s %lld\n", keys[i], (long long)number(line, q, -1));
		}
		return;
	}
	take_event(t, line, kind_index(t, k, n), number(line, "\"ts\":", 0));
}

static void print_tally(const struct tally *t)
{
	for (unsigned d = 0; d < MAX_DOMAINS; d++) {
		int shown = d == MAX_DOMAINS - 1 ? -1 : (int)d;
		for (unsigned k = 0; k < t->kind_count; k++)
			if (t->count[d][k])
				printf("%d %s %llu\n", shown, t->kinds[k],
				       (unsigned long long)t->count[d][k]);
		if (t->lost[d])
			printf("%d lost %llu\n", shown, (unsigned long long)t->lost[d]);
	}
	printf("events %llu\nunsorted %llu\ntwice %llu\n", (unsigned long long)t->events,
	       (unsigned long long)t->unsorted, (unsigned long long)t->twice);
}

int main(void)
{
	struct tally *t = calloc(1, sizeof(*t));
	if (!t)
		return 1;
	char *line = NULL;
	size_t cap = 0;
	while (getline(&line, &cap, stdin) > 0)
		take_line(t, line);
	print_tally(t);
	free(line);
	free(t);
	return 0;
}

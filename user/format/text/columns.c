/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/text/columns.h"

#include <string.h>
#include <time.h>

#include "base/buf.h"

/* Right-aligned in `width` < 8, filled up with blanks. */
static char *format_aligned(char *p, uint64_t v, int width)
{
	char digits[24];
	int n = (int)(buf_format_u64(digits, v) - digits);
	memset(p, ' ', 8);
	p += width > n ? width - n : 0;
	memcpy(p, digits, sizeof(digits));
	return p + n;
}

/* "." and three digits. */
static char *format_thousandths(char *p, unsigned v)
{
	p[0] = '.';
	p[1] = (char)('0' + v / 100);
	p[2] = (char)('0' + v / 10 % 10);
	p[3] = (char)('0' + v % 10);
	return p + 4;
}

/* Blanks up to `width` from `from` on, and one more. */
static char *pad(char *p, const char *from, int width)
{
	int left = width - (int)(p - from) + 1;
	left = left > 1 ? left : 1;
	memset(p, ' ', 16);
	return p + left;
}

#define NS_PER_S       1000000000u
#define DURATION_WIDTH 11

/* In the unit that keeps it readable, as wide as the column is when there is none. */
static char *format_duration(char *p, uint64_t ns)
{
	static const char units[][4] = {" us ", " ms ", " s  "};
	unsigned unit = 0;
	if (ns < 1000) {
		p = format_aligned(p, ns, 7);
		memcpy(p, " ns ", 4);
		return p + 4;
	}
	for (; ns >= 1000000 && unit < 2; unit++)
		ns /= 1000;
	p = format_aligned(p, ns / 1000, 3);
	p = format_thousandths(p, (unsigned)(ns % 1000));
	memcpy(p, units[unit], 4);
	return p + 4;
}

static char *format_number(char *p, uint32_t v, bool known)
{
	*p = '-';
	return known ? buf_format_u64(p, v) : p + 1;
}

/* "[" and seconds. */
static __attribute__((noinline)) void make_seconds(struct text_columns *c, uint64_t seconds,
						   bool wall)
{
	char *p = c->seconds_text;
	*p++ = '[';
	if (wall) {
		time_t of_day = (time_t)seconds;
		p += strftime(p, 16, "%T", localtime(&of_day));
	} else {
		char text[48];
		size_t len = (size_t)(format_aligned(text, seconds, 4) - text);
		memcpy(p, text, len);
		p += len;
	}
	c->seconds = seconds;
	c->seconds_len = (uint32_t)(p - c->seconds_text);
}

static char *format_time(struct text_columns *c, char *p, uint64_t ts)
{
	const struct timebase *b = &c->session->timebase;
	uint64_t from = c->time == TEXT_TIME_DELTA ? c->last_ns : c->first_ns;
	uint64_t ns = ts > from ? ts - from : 0;
	bool wall = c->time == TEXT_TIME_WALL && b->at[TIMEBASE_REALTIME].known;
	if (wall)
		ns = b->at[TIMEBASE_REALTIME].ns + (ts - b->at[b->clock].ns);
	if (!c->seconds_len || c->seconds != ns / NS_PER_S)
		make_seconds(c, ns / NS_PER_S, wall);
	memcpy(p, c->seconds_text, sizeof(c->seconds_text));
	p += c->seconds_len;
	unsigned fraction = (unsigned)(ns % NS_PER_S);
	*p++ = '.';
	*p++ = (char)('0' + fraction / 100000000);
	p = buf_format_eight(p, fraction % 100000000);
	memcpy(p, "] ", 2);
	c->last_ns = ts;
	return p + 2;
}

static __attribute__((noinline)) void make_who(const struct text_columns *c, struct text_who *w,
					       const struct ebt_event *ev)
{
	uint32_t pid = processes_pid(&c->session->processes, ev->process);
	char text[sizeof(w->text) + 32], *p = format_number(text, pid, pid);
	int left = p - text < 7 ? 7 - (int)(p - text) : 0;
	*p++ = '/';
	p = pad(format_number(p, ev->tid, ev->tid), p, left + 7);
	*p++ = 'd';
	p = pad(format_number(p, ev->domain, ev->domain != EBT_NO_DOMAIN), p, 3);
	if (c->has_cpus) {
		memcpy(p, "cpu", 3);
		p += 3;
		p = pad(format_number(p, ev->cpu, ev->cpu != EBT_NO_CPU), p, 3);
	}
	*w = (struct text_who){.tid = ev->tid, .cpu = ev->cpu, .len = (uint32_t)(p - text)};
	memcpy(w->text, text, sizeof(w->text));
}

char *text_columns_format(struct text_columns *c, struct text_who *who, const struct ebt_event *ev,
			  const uint64_t *duration_ns, char *p)
{
	if (!c->has_first) {
		c->has_first = true;
		c->first_ns = c->last_ns = ev->ts;
		c->has_cpus = c->session->origins & ORIGIN_BPF;
	}
	if (!who->len || who->tid != ev->tid || who->cpu != ev->cpu)
		make_who(c, who, ev);
	p = format_time(c, p, ev->ts);
	memcpy(p, who->text, sizeof(who->text));
	p += who->len;
	if (duration_ns)
		return format_duration(p, *duration_ns);
	memset(p, ' ', DURATION_WIDTH);
	return p + DURATION_WIDTH;
}

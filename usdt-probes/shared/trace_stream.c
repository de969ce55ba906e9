/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace_stream.h"

#include <string.h>
#include <unistd.h>

uint64_t ebt_trace_clock_us(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000;
}

int ebt_trace_begin(struct ebt_memtrace_trace *t, unsigned word_bits, double rate,
		    const char *context)
{
	static char executable[4096], host[256];
	ssize_t n = readlink("/proc/self/exe", executable, sizeof(executable) - 1);
	executable[n > 0 ? n : 0] = 0;
	if (gethostname(host, sizeof(host) - 1))
		*host = 0;
	struct ebt_memtrace_info info = {
		.sample_rate = rate,
		.word_bits = (uint8_t)word_bits,
		.pid = (uint64_t)getpid(),
		.start_us = ebt_trace_clock_us(CLOCK_REALTIME),
		.executable = executable,
		.host = host,
		.runtime_params = "",
		.context = context,
	};
	return ebt_memtrace_write_info(t, &info);
}

size_t ebt_trace_stream_bytes(size_t frames)
{
	return ((ebt_memtrace_writer_bytes() + 63) & ~(size_t)63) + frames * sizeof(int64_t);
}

void ebt_trace_stream_init(struct ebt_trace_stream *s, void *memory, struct ebt_memtrace_trace *t,
			   uint16_t domain, uint64_t now_us)
{
	s->codec = ebt_memtrace_writer_init(memory, t, domain, now_us);
	s->last = (void *)((char *)memory + ebt_trace_stream_bytes(0));
	s->last_frames = 0;
}

static void shorten(struct ebt_trace_stream *s, struct ebt_memtrace_event *e)
{
	uint32_t common = 0;
	while (common < e->frames && common < s->last_frames && e->frame[common] == s->last[common])
		common++;
	s->last_frames = e->frames;
	e->common = common;
	e->frame += common;
	e->frames -= common;
	memcpy(s->last + common, e->frame, e->frames * sizeof(*s->last));
}

int ebt_trace_stream_write(struct ebt_trace_stream *s, struct ebt_memtrace_event *e)
{
	if (e->what == EBT_MEMTRACE_ALLOC)
		shorten(s, e);
	return ebt_memtrace_write(s->codec, e);
}

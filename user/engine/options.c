/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/options.h"

const char *const engine_mode_names[] = {"auto",   "ring",     "watermark", "stream",
					 "probes", "counters", NULL};

size_t engine_buffer_bytes(const struct engine_options *o)
{
	if (o->buffer_bytes)
		return o->buffer_bytes;
	/* A file can wait; a live ring cannot. */
	return o->file_count ? 64 << 20 : 256 << 20;
}

enum engine_mode engine_mode(const struct engine_options *o)
{
	return o->pages ? MODE_PROBES : o->mode;
}

bool engine_watermarks(const struct engine_options *o)
{
	/* Watermarks do not report threads, of which our own rings have enough for statistics, and
	 * they need a ring, which -a switches on nowhere. */
	bool counts = o->counts && !o->thread_count && !o->all;
	enum engine_mode mode = engine_mode(o);
	return mode == MODE_WATERMARK || (mode == MODE_AUTO && counts);
}

bool engine_has_budget(const struct engine_options *o)
{
	return o->cpu_share > 0 || o->memory_bytes;
}

bool engine_probes_alone(const struct engine_options *o)
{
	enum engine_mode mode = engine_mode(o);
	return mode == MODE_PROBES || mode == MODE_COUNTERS;
}

bool engine_sees_events(const struct engine_options *o)
{
	return engine_mode(o) != MODE_RING && !engine_watermarks(o);
}

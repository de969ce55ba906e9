/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/mem_rate.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "cmd/commands.h"
#include "cmd/message.h"
#include "engine/input/capture.h"
#include "engine/input/info.h"
#include "engine/input/inputs.h"
#include "engine/input/memtrace.h"
#include "report/mem/model/process.h"

/* The run reports what is wrong with a file. */
static void print_nothing(void *ctx, enum log_level level, const char *fmt, va_list ap)
{
	(void)ctx;
	(void)level;
	(void)fmt;
	(void)ap;
}

/* Whether all processes have the rate of their samples, without a weight of each. */
static bool all_have_rates(const struct session *s)
{
	const struct process *p = NULL;
	bool has = false;
	while ((p = processes_next(&s->processes, p))) {
		has = mem_process_scale(p, s->strings, 0).rate > 0;
		if (!has)
			break;
	}
	return has;
}

static bool has_rate(const struct engine *e, struct loop *l, struct inputs *ins, const char *path)
{
	bool ready = !inputs_add(ins, path) && !inputs_wait(ins);
	struct input *in = ready ? inputs_at(ins, 0) : NULL;
	struct input_info info = {0};
	if (!in || !in->ready || (in->kind != &input_memtrace && in->kind != &input_capture))
		return false;
	bool has = !in->kind->info(e, l, in, &info) && all_have_rates(e->session);
	free(info.by_domain);
	return has;
}

static bool file_has_rate(const struct opts *o, const char *path)
{
	struct engine e = {.options = &o->engine, .report = {print_nothing, NULL}};
	struct loop *l = NULL;
	struct inputs *ins = NULL;
	struct stat st;
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	bool has = !session_new(&e.session) && !loop_new(&l) && !inputs_new(&e, l, &ins) &&
		   has_rate(&e, l, ins, path);
	inputs_free(ins);
	loop_free(l);
	session_free(e.session);
	return has;
}

int mem_check_rate(const struct opts *o)
{
	for (unsigned i = 0; o->rate > 0 && i < o->engine.file_count; i++) {
		if (!file_has_rate(o, o->engine.files[i]))
			continue;
		complain("--rate is of samples whose rate is not known; '%s' has its own",
			 o->engine.files[i]);
		return EXIT_USAGE;
	}
	return 0;
}

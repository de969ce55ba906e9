/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of spans as a flame graph: a name, the kinds of its parts, their details. */
#include "report/spans/show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "report/flame_svg.h"
#include "report/text.h"

/* The words of a path; the last one may be empty. */
#define LEVELS 3
struct path {
	char word[LEVELS][256];
};

static void set_word(char *ret, size_t bytes, const char *text)
{
	bool is_cut;
	ret[utf8_copy(ret, bytes - 1, text, strlen(text), &is_cut)] = 0;
	utf8_disarm(ret);
	for (char *c = ret; *c; c++)
		if (*c == ';')
			*c = ':';
}

static int set_path(struct path *p, const struct span_sums *s, const struct span_name *n,
		    const struct span_part *part)
{
	struct buf b;
	if (buf_init(&b, -1, 256))
		return -ENOMEM;
	span_put_detail(&b, s, part->kind, part->detail);
	set_word(p->word[0], sizeof(p->word[0]), span_name_text(s, n));
	set_word(p->word[1], sizeof(p->word[1]), span_part_text(part->kind));
	set_word(p->word[2], sizeof(p->word[2]), buf_str(&b));
	int err = b.err;
	buf_done(&b);
	return err;
}

typedef int path_fn(void *ctx, const struct path *p, uint64_t ns);

static int each_path(const struct spans_view *v, path_fn *fn, void *ctx)
{
	const struct span_result *r = v->result;
	struct path path;
	int err = 0;
	for (uint32_t i = 0; i < r->names && !err; i++) {
		span_parts_sort(&r->name[i]->parts);
		for (uint32_t k = 0; k < r->name[i]->parts.count && !err; k++) {
			const struct span_part *part = &r->name[i]->parts.at[k];
			err = set_path(&path, r->sums, r->name[i], part);
			if (!err)
				err = fn(ctx, &path, part->ns);
		}
	}
	return err;
}

static int put_line(void *ctx, const struct path *p, uint64_t ns)
{
	struct buf *b = ctx;
	for (unsigned i = 0; i < LEVELS && *p->word[i]; i++) {
		buf_puts(b, i ? ";" : "");
		buf_puts(b, p->word[i]);
	}
	report_print(b, " %" PRIu64 "\n", ns);
	return 0;
}

int spans_folded(struct buf *b, const struct spans_view *v)
{
	return each_path(v, put_line, b);
}

/* Paths as stacks of the session, which are held. */
struct stacked {
	const struct session *session;
	struct frame_tree_value *value;
	size_t count, cap;
	uint64_t ns;
};

/* 0: no memory. */
static uint32_t push_word(const struct session *s, uint32_t parent, const char *word)
{
	struct frame_position position = {.function = strings_put(s->strings, word, strlen(word))};
	const struct frame frame = {.count = 1, .position = &position};
	uint32_t id = position.function ? frames_put(s->frames, &frame) : 0;
	uint32_t stack = id ? stacks_push(s->stacks, parent, id) : 0;
	frames_drop(s->frames, id);
	strings_drop(s->strings, position.function);
	return stack;
}

static int add_path(void *ctx, const struct path *p, uint64_t ns)
{
	struct stacked *t = ctx;
	uint32_t stack = 0;
	for (unsigned i = 0; i < LEVELS && *p->word[i]; i++)
		if (!(stack = push_word(t->session, stack, p->word[i])))
			return -ENOMEM;
	if (!array_reserve(t->value, t->cap, t->count))
		return -ENOMEM;
	stacks_hold(t->session->stacks, stack);
	t->value[t->count++] = (struct frame_tree_value){stack, ns};
	t->ns += ns;
	return 0;
}

static void put_value(void *ctx, size_t part, uint64_t ns, struct buf *b)
{
	const struct stacked *t = ctx;
	(void)part;
	report_print(b, "%s, %.2f %% of all spans", report_ns_text((double)ns).text,
		     report_percent((double)ns, (double)t->ns));
}

static int put_svg(struct buf *b, struct stacked *t, struct frame_tree *tree)
{
	struct flame_part part = {.name = "spans", .unit = 1};
	int err = frame_tree_add(tree, t->value, t->count, &part.root);
	if (!err)
		err = frame_tree_sort(tree);
	const struct flame_svg svg = {
		.title = "What spans were made of",
		.lines = "",
		.legend = "Width: time of spans, by their names, the kinds of their parts, and "
			  "which.",
		.unit = "nanoseconds",
		.tree = tree,
		.part = &part,
		.parts = 1,
		.put_value = put_value,
		.ctx = t,
	};
	return err ? err : flame_svg_put(b, &svg);
}

int spans_svg(struct buf *b, const struct spans_view *v)
{
	struct stacked t = {.session = v->session};
	struct frame_tree tree = {0};
	int err = each_path(v, add_path, &t);
	if (!err)
		err = frame_tree_init(&tree, v->session);
	if (!err)
		err = put_svg(b, &t, &tree);
	frame_tree_done(&tree);
	for (size_t i = 0; i < t.count; i++)
		stacks_drop(v->session->stacks, t.value[i].stack);
	free(t.value);
	return err;
}

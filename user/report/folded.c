/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/folded.h"

#include <inttypes.h>

#include "report/text.h"

#define PATH_BYTES 4096 /* at first */

/* A name as an element of a path: no ";", no end of a line. */
static void put_element(struct buf *path, const char *name)
{
	size_t at = path->len;
	buf_put_plain(path, name);
	for (; at < path->len; at++)
		if (path->data[at] == ';')
			path->data[at] = ':';
}

static void push(struct folded *p, const char *name)
{
	buf_put(&p->starts, &p->text.len, sizeof(p->text.len));
	if (p->text.len)
		buf_puts(&p->text, ";");
	put_element(&p->text, name);
	p->depth++;
}

static void pop(struct folded *p)
{
	p->depth--;
	p->starts.len -= sizeof(p->text.len);
	memcpy(&p->text.len, p->starts.data + p->starts.len, sizeof(p->text.len));
}

int folded_init(struct folded *f, struct buf *out)
{
	*f = (struct folded){.out = out};
	int err = buf_init(&f->text, -1, PATH_BYTES);
	return err ? err : buf_init(&f->starts, -1, PATH_BYTES);
}

void folded_done(struct folded *f)
{
	buf_done(&f->text);
	buf_done(&f->starts);
}

static void put_line(struct folded *f, uint32_t node, uint64_t value)
{
	buf_put(f->out, f->text.data, f->text.len);
	if (f->put_values)
		f->put_values(f->ctx, node, f->out);
	else
		report_print(f->out, " %" PRIu64, value);
	buf_puts(f->out, "\n");
}

/* The lines below what is in the path. */
static uint64_t put_tree(struct folded *f, const struct frame_tree *t, uint32_t root, size_t least)
{
	size_t first = f->depth;
	uint64_t left_out = t->node[root].self;
	for (uint32_t n = root; !folded_error(f);) {
		if (t->node[n].child) {
			n = t->node[n].child;
		} else {
			for (; n != root && !t->node[n].next; n = t->node[n].parent)
				pop(f);
			if (n == root)
				break;
			pop(f);
			n = t->node[n].next;
		}
		push(f, frame_tree_name(t, n));
		uint64_t value = t->node[n].self;
		if (value && f->depth < first + least)
			left_out += value;
		else if (value)
			put_line(f, n, value);
	}
	return left_out;
}

uint64_t folded_put(struct folded *f, const struct frame_tree *t, uint32_t root, const char *name,
		    size_t least)
{
	if (name)
		push(f, name);
	uint64_t left_out = put_tree(f, t, root, least);
	if (name && !folded_error(f))
		pop(f);
	return left_out;
}

// SPDX-License-Identifier: BSD-2-Clause
/* Trees of functions beside stacks that are merged one by one, as text. */
#include "report/frame_tree.h"
#include "tests/random.h"
#include "tests/tap.h"

#define FRAMES 12
#define NAMES  7
#define VALUES 3000
#define LINES  4000
#define TEXT   200

static struct session *session;
static uint64_t state = 88172645463325252ull;
static const char *const names[NAMES] = {"main", "a", "b", "c", "walk", "a.b", "z"};

static uint32_t draw(uint32_t below)
{
	return (uint32_t)(random_next(&state) >> 32) % below;
}

static uint32_t string(const char *text)
{
	return strings_put(session->strings, text, strlen(text));
}

/* A frame of functions that were inlined into each other, the outermost first. */
static uint32_t frame(uint64_t address, const char *const *function, uint32_t count, uint32_t line)
{
	struct frame_position position[3];
	for (uint32_t i = 0; i < count; i++)
		position[i] = (struct frame_position){
			.function = string(function[i]),
			.file = string("x.c"),
			.line = line + i,
			.has_line = true,
		};
	return frames_put(session->frames, &(struct frame){.address = address,
							   .has_address = address != 0,
							   .count = count,
							   .position = position});
}

static uint32_t stack_of(const uint32_t *frames, size_t n)
{
	uint32_t id = 0;
	for (size_t i = 0; i < n; i++)
		id = stacks_push(session->stacks, id, frames[i]);
	stacks_hold(session->stacks, id);
	return id;
}

/* The path of a node below `root`, "a;b;c". */
static void path_of(const struct frame_tree *t, uint32_t root, uint32_t node, char *ret)
{
	char below[TEXT] = "";
	*ret = 0;
	for (; node != root; node = t->node[node].parent) {
		snprintf(ret, TEXT, "%s%s%.100s", frame_tree_name(t, node), *below ? ";" : "",
			 below);
		memcpy(below, ret, TEXT);
	}
}

static uint32_t node_at(const struct frame_tree *t, uint32_t root, const char *path)
{
	char text[TEXT];
	for (uint32_t n = root; n; n = frame_tree_next(t, root, n)) {
		path_of(t, root, n, text);
		if (!strcmp(text, path))
			return n;
	}
	return 0;
}

static void test_shape(void)
{
	struct frame_tree t;
	const char *const f_main[] = {"main"}, *const f_a[] = {"a"}, *const f_bc[] = {"b", "c"};
	uint32_t in_main = frame(1, f_main, 1, 10), in_a = frame(2, f_a, 1, 20);
	uint32_t in_a2 = frame(3, f_a, 1, 30), in_c = frame(4, f_bc, 2, 40);
	const char *const f_mangled[] = {"_ZN2ns1fEi"};
	uint32_t mangled = frame(5, f_mangled, 1, 50), raw = frame(4711, NULL, 0, 0),
		 unknown = frame(0, NULL, 0, 0);
	const struct frame_tree_value v[] = {
		{stack_of((uint32_t[]){in_main, in_a}, 2), 3},
		{stack_of((uint32_t[]){in_main, in_a2}, 2), 4},
		{stack_of((uint32_t[]){in_main, in_a, in_a2, in_a, in_c}, 5), 5},
		{stack_of((uint32_t[]){in_main, in_a2, in_c, in_main}, 4), 1},
		{stack_of((uint32_t[]){raw, unknown}, 2), 20},
		{stack_of((uint32_t[]){raw, in_main, raw}, 3), 50},
		{stack_of((uint32_t[]){in_main, mangled}, 2), 1},
		{0, 2},
		{stack_of((uint32_t[]){in_main}, 1), 7},
		{stack_of((uint32_t[]){in_main}, 1), 1},
	};
	uint32_t root = 0, other = 0;
	if (frame_tree_init(&t, session) || frame_tree_add(&t, v, 10, &root) ||
	    frame_tree_add(&t, v, 1, &other) || frame_tree_sort(&t))
		exit(1);
	is(t.node[root].total, 94, "the root has the sum of all values");
	is(t.node[root].self, 2, "and those without a stack as its own");
	const struct frame_tree_node *a = &t.node[node_at(&t, root, "main;a")];
	ok(a->self == 7 && a->total == 13, "a function called at two places is one node");
	ok(a->line == 20 && a->more_positions && a->has_line,
	   "with the position of the larger value, and a mark that there are others");
	const struct frame_tree_node *m = &t.node[node_at(&t, root, "main")];
	ok(m->line == 10 && !m->more_positions && m->self == 8 && m->total == 72,
	   "one that is called at one place has its position alone");
	const struct frame_tree_node *c = &t.node[node_at(&t, root, "main;a;b;c")];
	ok(c->self == 6 && c->line == 41 && !strcmp(strings_text(session->strings, c->file), "x.c"),
	   "inlined functions are nodes, and recursion is none");
	is(t.node[node_at(&t, root, "main;$4711")].self, 50,
	   "a frame that was not resolved has its address, unless it calls one that was");
	ok(node_at(&t, root, "main;ns::f(int)"), "names are those of the source");
	is(t.node[node_at(&t, root, "?")].self, 20, "or a question mark");
	ok(!strcmp(frame_tree_name(&t, t.node[root].child), "?") &&
		   t.node[t.node[root].child].next == node_at(&t, root, "main"),
	   "siblings are in the order of their names");
	ok(t.node[other].total == 3 && node_at(&t, other, "main;a") && !node_at(&t, other, "?"),
	   "each tree has its own values alone");
	frame_tree_done(&t);
}

/* Stacks merged one by one. */
static struct line {
	char path[TEXT];
	uint64_t value;
} lines[LINES];
static unsigned line_count;

static const char *const (*functions_of)[3];

static void add_line(const uint32_t *pick, size_t depth, const uint32_t *counts, uint64_t value)
{
	char path[TEXT] = "";
	bool seen[NAMES] = {false};
	for (size_t i = 0; i < depth; i++)
		for (uint32_t k = 0; k < counts[pick[i]]; k++) {
			const char *name = functions_of[pick[i]][k];
			unsigned n = 0;
			while (strcmp(names[n], name))
				n++;
			if (seen[n])
				continue;
			seen[n] = true;
			snprintf(path + strlen(path), TEXT - strlen(path), "%s%s", *path ? ";" : "",
				 name);
		}
	unsigned i = 0;
	while (i < line_count && strcmp(lines[i].path, path))
		i++;
	if (i == LINES)
		exit(1);
	line_count += i == line_count;
	strcpy(lines[i].path, path);
	lines[i].value += value;
}

static void test_model(void)
{
	static struct frame_tree_value v[VALUES];
	const char *function[FRAMES][3];
	uint32_t ids[FRAMES], counts[FRAMES], root = 0;
	struct frame_tree t;
	functions_of = (const char *const(*)[3])function;
	for (uint32_t i = 0; i < FRAMES; i++) {
		counts[i] = 1 + draw(3) * draw(2);
		for (uint32_t k = 0; k < counts[i]; k++)
			function[i][k] = names[draw(NAMES)];
		ids[i] = frame(100 + i, function[i], counts[i], i);
	}
	for (unsigned i = 0; i < VALUES; i++) {
		uint32_t pick[8], path[8];
		size_t depth = 1 + draw(8);
		for (size_t k = 0; k < depth; k++) {
			pick[k] = draw(FRAMES);
			path[k] = ids[pick[k]];
		}
		v[i] = (struct frame_tree_value){stack_of(path, depth), 1 + draw(5)};
		add_line(pick, depth, counts, v[i].value);
	}
	if (frame_tree_init(&t, session) || frame_tree_add(&t, v, VALUES, &root) ||
	    frame_tree_sort(&t))
		exit(1);
	unsigned wrong = 0, with_value = 0;
	for (unsigned i = 0; i < line_count; i++)
		wrong += t.node[node_at(&t, root, lines[i].path)].self != lines[i].value;
	for (uint32_t n = root; n; n = frame_tree_next(&t, root, n)) {
		uint64_t below = t.node[n].self;
		with_value += t.node[n].self != 0;
		for (uint32_t c = t.node[n].child; c; c = t.node[c].next) {
			uint32_t next = t.node[c].next;
			below += t.node[c].total;
			wrong += next &&
				 strcmp(frame_tree_name(&t, c), frame_tree_name(&t, next)) >= 0;
		}
		wrong += below != t.node[n].total;
	}
	is(wrong, 0, "3000 stacks are merged as one by one, siblings in order, totals are sums");
	is(with_value, line_count, "and there is no other node with a value");
	frame_tree_done(&t);
}

static void test_deep(void)
{
	enum { DEPTH = 200000 };
	struct frame_tree t;
	char name[16];
	uint32_t id = 0, root = 0;
	for (unsigned i = 0; i < DEPTH; i++) {
		const char *function = name;
		snprintf(name, sizeof(name), "f%u", i);
		id = stacks_push(session->stacks, id, frame(1000000 + i, &function, 1, 1));
	}
	stacks_hold(session->stacks, id);
	const struct frame_tree_value v[] = {{id, UINT64_MAX}, {id, 5}};
	if (frame_tree_init(&t, session) || frame_tree_add(&t, v, 2, &root) || frame_tree_sort(&t))
		exit(1);
	is(t.nodes, DEPTH + 2, "a stack of 200,000 functions is as many nodes");
	ok(t.node[root].total == UINT64_MAX, "and sums stop at the largest number");
	frame_tree_done(&t);
}

static uint32_t put_name(const char *name)
{
	return strings_put(session->strings, name, strlen(name));
}

static void test_named(void)
{
	struct frame_tree t;
	if (frame_tree_init_named(&t, session->strings))
		exit(1);
	uint32_t root = frame_tree_root(&t), other = frame_tree_root(&t);
	uint32_t b = frame_tree_child(&t, root, put_name("b"));
	uint32_t a = frame_tree_child(&t, root, put_name("a"));
	uint32_t in_a = frame_tree_child(&t, a, put_name("a"));
	ok(root && other && b && in_a && in_a != a &&
		   frame_tree_child(&t, root, put_name("b")) == b,
	   "a name has one node below each node");
	t.node[root].self = 1;
	t.node[b].self = 2;
	t.node[in_a].self = 4;
	ok(!frame_tree_sort(&t) && t.node[root].total == 7 && t.node[a].total == 4 &&
		   !t.node[other].total,
	   "a tree that is made of names has sums");
	ok(t.node[root].child == a && t.node[a].next == b && !t.node[other].child,
	   "and siblings in order");
	frame_tree_done(&t);
}

int main(void)
{
	if (session_new(&session))
		return 1;
	test_shape();
	test_model();
	test_deep();
	test_named();
	session_free(session);
	return tap_done();
}

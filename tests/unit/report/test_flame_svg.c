// SPDX-License-Identifier: BSD-2-Clause
/* Pictures of large and strange trees: bounded, complete in number, and XML whatever the names. */
#include "base/xml.h"
#include "report/flame_svg.h"
#include "tests/tap.h"

static struct session *session;

static void put_number(void *ctx, size_t part, uint64_t value, struct buf *b)
{
	char text[32];
	(void)ctx;
	(void)part;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	buf_puts(b, text);
}

static uint32_t frame_of(const char *function)
{
	struct frame_position p = {
		.function = strings_put(session->strings, function, strlen(function))};
	return frames_put(session->frames, &(struct frame){.count = 1, .position = &p});
}

/* The picture of n stacks, each a value. The caller frees it. */
static char *draw(const struct frame_tree_value *v, size_t n, size_t parts)
{
	struct frame_tree t;
	struct flame_part part[2];
	struct buf b;
	uint32_t root[2] = {0};
	int err = frame_tree_init(&t, session);
	for (size_t i = 0; i < parts && !err; i++) {
		err = frame_tree_add(&t, v, n, &root[i]);
		part[i] = (struct flame_part){i ? "second" : "first", root[i], 1.0 + (double)i};
	}
	struct flame_svg f = {
		.title = "<title>",
		.lines = "one\ntwo & three\n",
		.legend = "Width: values.",
		.unit = "samples",
		.tree = &t,
		.part = part,
		.parts = parts,
		.put_value = put_number,
	};
	if (err || frame_tree_sort(&t) || buf_init(&b, -1, 4096) || flame_svg_put(&b, &f))
		exit(1);
	frame_tree_done(&t);
	char *text = strdup(buf_str(&b));
	buf_done(&b);
	return text;
}

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;
	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static void test_small(void)
{
	uint32_t f = stacks_push(session->stacks, 0, frame_of("f"));
	const struct frame_tree_value v[] = {{f, 3},
					     {stacks_push(session->stacks, f, frame_of("g")), 1}};
	char *one = draw(v, 2, 1), *two = draw(v, 2, 2);
	is(count(one, "<g class=\"f "), 3, "a function and its callee are below the program");
	ok(strstr(one, "<title>g\n25.00 %: 1</title>") &&
		   strstr(one, "<title>f\n100.00 %: 4\nitself 75.00 %: 3</title>"),
	   "tooltips have shares and values, also a function's own");
	ok(strstr(one, "x=\"0.0000\" y=\"36\" width=\"294.0000\""), "a share is a width");
	ok(!strstr(one, "frames are drawn"), "nothing is left out");
	is(count(two, "<g class=\"f "), 7, "two programs are side by side below all");
	ok(strstr(two, "<title>g\n8.33 %: 1</title>") &&
		   strstr(two, "<title>g\n16.67 %: 1</title>"),
	   "each with the unit of its own");
	free(one);
	free(two);
}

static void test_bounds(void)
{
	enum { WIDE = 60000, DEEP = 3000 };
	static struct frame_tree_value v[WIDE + 1];
	char name[32];
	uint32_t stack = 0, main_stack = stacks_push(session->stacks, 0, frame_of("main"));
	for (unsigned i = 0; i < WIDE; i++) {
		/* In groups of ten, each of which is wide enough. */
		snprintf(name, sizeof(name), "group%u", i / 10);
		stack = stacks_push(session->stacks, main_stack, frame_of(name));
		snprintf(name, sizeof(name), "f%u", i);
		v[i] = (struct frame_tree_value){
			stacks_push(session->stacks, stack, frame_of(name)), 1 + i % 3};
	}
	char *wide = draw(v, WIDE, 1);
	unsigned drawn = count(wide, "<g class=\"f "), more = count(wide, "<g class=\"f rest");
	ok(drawn - more == 6002 && more == 6000, "functions that are too narrow are one a caller");
	diag("%u frames, %u of them for more, %zu bytes", drawn, more, strlen(wide));
	ok(strstr(wide, " 6002 of 66002 frames are drawn"), "the picture has their number");
	is(count(wide, "<title>(10 more)\n"), 6000, "and the frames that stand for them, too");
	free(wide);
	stack = 0;
	for (unsigned i = 0; i < DEEP; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		stack = stacks_push(session->stacks, stack, frame_of(name));
	}
	v[0] = (struct frame_tree_value){stack, 1};
	char *deep = draw(v, 1, 1);
	is(count(deep, "<g class=\"f "), FLAME_LEVELS + 1, "a deep stack ends at the last level");
	ok(strstr(deep, " 500 of 3001 frames are drawn") && strstr(deep, "(1 more)"),
	   "which is said there");
	free(deep);
	char *none = draw(v, 0, 1);
	ok(strstr(none, "</svg>"), "of nothing there is a picture");
	free(none);
}

static void test_escapes(void)
{
	static const struct {
		const char *in, *out, *name;
	} rows[] = {
		{"a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;", "markup"},
		{"]]>", "]]&gt;", "the end of a CDATA section"},
		{"a\x01\n\t\x7f.", "a\ufffd\ufffd\ufffd\ufffd.", "control characters"},
		{"\xc2\x85\xc2\xa0", "\ufffd\xc2\xa0", "control characters of two bytes"},
		{"\xff\xc0\x80z\xe2\x82", "\ufffd\ufffd\ufffdz\ufffd\ufffd", "what is not UTF-8"},
		{"\xef\xbf\xbe\xef\xbf\xbd", "\ufffd\ufffd", "characters that XML forbids"},
		{"\u202e\u2028\u2066x", "\ufffd\ufffd\ufffdx", "marks of direction and of lines"},
		{"synthé \U0001f600 \u20ac", "synthé \U0001f600 \u20ac", "no other text"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buf b;
		char name[64];
		if (buf_init(&b, -1, 16))
			exit(1);
		xml_put(&b, rows[i].in, strlen(rows[i].in));
		snprintf(name, sizeof(name), "replaced in XML: %s", rows[i].name);
		is_str(buf_str(&b), rows[i].out, name);
		buf_done(&b);
	}
}

int main(void)
{
	if (session_new(&session))
		return 1;
	test_small();
	test_bounds();
	test_escapes();
	session_free(session);
	return tap_done();
}

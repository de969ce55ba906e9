/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks of events to a capture and back: through the codec, and from session to session. */
#include "format/ebt/ebt.h"
#include "format/ndjson/ndjson.h"
#include "source/file/capture.h"
#include "stream/pump.h"
#include "tests/random.h"
#include "tests/tap.h"
#include "tests/unit/capture_file.h"
#include "tests/unit/processes_fixture.h"
#include "tests/unit/watcher.h"

#include <sys/mman.h>
#include <unistd.h>

#define EVENTS 25000
#define DEEP   300000

static uint64_t random_state = 7;
static uint32_t draw(uint32_t below)
{
	return (uint32_t)(random_next(&random_state) >> 32) % below;
}

static uint32_t put(struct session *s, const char *text)
{
	return strings_put(s->strings, text, strlen(text));
}

/* One of many frames: not resolved, or with one to three functions. */
static uint32_t draw_frame(struct session *s)
{
	struct frame_position position[3];
	uint32_t n = draw(3000);
	struct frame f = {.address = n, .has_address = n % 7 != 1, .count = n % 4};
	f.address = f.has_address ? n : 0;
	f.position = position;
	for (uint32_t i = 0; i < f.count; i++) {
		char function[300], file[32];
		snprintf(function, sizeof(function), "Module%u.function_%0*u", n, (int)(n % 250),
			 i);
		snprintf(file, sizeof(file), "file%u.ml", n % 100);
		position[i] = (struct frame_position){
			.function = n % 5 ? put(s, function) : 0,
			.file = n % 6 ? put(s, file) : 0,
			.has_line = n % 8,
			.line = n % 8 ? n : 0,
			.has_chars = n % 9,
			.start_char = n % 9 ? i : 0,
			.end_char = n % 9 ? n : 0,
		};
	}
	if (n % 3)
		f.module = (struct frame_module){put(s, n % 2 ? "/lib/a" : "/lib/b"),
						 n % 2 ? put(s, "12ab") : 0, n};
	uint32_t id = frames_put(s->frames, &f);
	strings_drop(s->strings, f.module.path);
	strings_drop(s->strings, f.module.build_id);
	for (uint32_t i = 0; i < f.count; i++) {
		strings_drop(s->strings, position[i].function);
		strings_drop(s->strings, position[i].file);
	}
	return id;
}

/* Often one that was there before but for its innermost frames. */
static uint32_t draw_stack(struct session *s, uint32_t last)
{
	uint32_t id = last;
	for (uint32_t n = draw(6); n; n--)
		id = stacks_parent(s->stacks, id);
	for (uint32_t n = draw(6); n; n--) {
		uint32_t frame = draw_frame(s);
		id = stacks_push(s->stacks, id, frame);
		frames_drop(s->frames, frame);
	}
	return draw(10) ? id : 0;
}

/* What an output shows of the stack, as one number; 0 if there is none. */
static uint64_t look_of(const struct session *s, uint32_t stack)
{
	static uint32_t path[DEEP];
	struct buf text;
	uint64_t sum = 0;
	if (buf_init(&text, -1, 4096))
		abort();
	size_t depth = stacks_frames(s->stacks, stack, path, DEEP);
	for (size_t i = 0; i < depth; i++) {
		const struct frame *f = frames_get(s->frames, path[i]);
		for (uint32_t k = 0; k < frames_texts(f); k++) {
			frames_put_text(s->frames, f, k, &text);
			buf_put(&text, "\n", 1);
		}
		buf_put_u64(&text, f->address);
		buf_put_u64(&text, f->has_address);
		buf_puts(&text, f->module.path ? strings_text(s->strings, f->module.path) : "-");
		buf_puts(&text,
			 f->module.build_id ? strings_text(s->strings, f->module.build_id) : "-");
		buf_put_u64(&text, f->module.offset);
	}
	for (size_t i = 0; i < text.len; i++)
		sum = (sum ^ (unsigned char)text.data[i]) * 0x100000001b3ull;
	buf_done(&text);
	return sum;
}

/* Remembers how the stack of each event looks. */
struct viewer {
	struct watcher watch;
	uint64_t look[EVENTS + 1];
	size_t count, most_stacks;
};

static void note_stack(struct watcher *base, const struct ebt_event *ev)
{
	struct viewer *w = (struct viewer *)base;
	struct session *s = base->session;
	if (w->count < EVENTS)
		w->look[w->count++] = look_of(s, ev->stack);
	if (stacks_count(s->stacks) > w->most_stacks)
		w->most_stacks = stacks_count(s->stacks);
}

static void init(struct viewer *w)
{
	memset(w, 0, sizeof(*w));
	watcher_init(&w->watch, note_stack);
	if (enter_processes(w->watch.session, 100))
		abort();
}

static void read_back(int fd, struct viewer *w)
{
	is(watcher_read(&w->watch, fd), 0, "a capture with stacks is read to its end");
}

/* fd < 0: it is only watched. */
static void write_to(struct viewer *w, int fd)
{
	if (fd >= 0 && ebt_new(w->watch.session, fd, &w->watch.next))
		abort();
}

static void finish(struct viewer *w)
{
	sink_end(&w->watch.base);
	sink_free(w->watch.next);
	w->watch.next = NULL;
	stacks_free_unheld(w->watch.session->stacks);
}

static void emit(struct viewer *w, struct ebt_event ev, uint32_t stack)
{
	ev.cpu = EBT_NO_CPU;
	session_put_stack(w->watch.session, &ev, stack);
	w->watch.session->totals.events++;
	if (sink_events(&w->watch.base, &ev, 1))
		abort();
	session_drop_event(w->watch.session, &ev);
	session_reclaim(w->watch.session);
}

static bool is_empty(const struct session *s)
{
	return !stacks_count(s->stacks) && !frames_count(s->frames) && !strings_count(s->strings);
}

static void test_sessions(void)
{
	static struct viewer made, copy, again;
	int fd = memfd_create("capture", MFD_CLOEXEC), second = memfd_create("again", MFD_CLOEXEC);
	init(&made);
	write_to(&made, fd);
	uint32_t last = 0;
	for (unsigned i = 0; i < EVENTS; i++) {
		uint32_t stack = draw_stack(made.watch.session, last);
		stacks_hold(made.watch.session->stacks, stack);
		stacks_drop(made.watch.session->stacks, last);
		last = stack;
		emit(&made,
		     (struct ebt_event){.ts = i, .kind = EBT_UNIT, .domain = (uint16_t)(i % 3)},
		     stack);
	}
	stacks_drop(made.watch.session->stacks, last);
	finish(&made);
	ok(is_empty(made.watch.session), "an output keeps no stack when it is done");
	off_t size = lseek(fd, 0, SEEK_END);
	diag("%.1f bytes an event, at most %zu stacks", (double)size / EVENTS, made.most_stacks);

	init(&copy);
	write_to(&copy, second);
	read_back(fd, &copy);
	finish(&copy);
	init(&again);
	read_back(second, &again);
	finish(&again);
	ok(made.count == EVENTS && copy.count == EVENTS && again.count == EVENTS,
	   "all events come");
	ok(!memcmp(made.look, copy.look, sizeof(made.look)),
	   "each with the stack that it had, over many blocks and ids that are used again");
	ok(!memcmp(made.look, again.look, sizeof(made.look)),
	   "also out of the capture of a capture");
	ok(is_empty(copy.watch.session) && is_empty(again.watch.session),
	   "a source keeps none when it is done");
	session_free(made.watch.session);
	session_free(copy.watch.session);
	session_free(again.watch.session);
	close(fd);
	close(second);
}

static void test_deep(void)
{
	static struct viewer made, copy;
	int fd = memfd_create("deep", MFD_CLOEXEC);
	struct ebt_event ev = {.kind = EBT_UNIT};
	uint32_t stack = 0, outer = 0;
	init(&made);
	write_to(&made, fd);
	uint32_t frame = draw_frame(made.watch.session);
	for (unsigned i = 1; i <= DEEP; i++) {
		stack = stacks_push(made.watch.session->stacks, stack, frame);
		outer = i == 1000 ? stack : outer;
	}
	stacks_hold(made.watch.session->stacks, stack);
	emit(&made, ev, stack);
	emit(&made, ev, outer);
	emit(&made, ev, 0);
	finish(&made);
	init(&copy);
	read_back(fd, &copy);
	ok(copy.count == 3 && copy.look[0] && copy.look[0] != made.look[0] &&
		   copy.look[0] != copy.look[1],
	   "a stack that is too deep for a block is there in part");
	ok(copy.look[1] == made.look[1] && !copy.look[2], "those behind it are whole");
	session_free(made.watch.session);
	session_free(copy.watch.session);
	close(fd);
}

static void put_stack(struct capture_writer *w, uint32_t parent, uint32_t count)
{
	struct capture_item string = {.what = CAPTURE_STRING, .string = {.text = "f", .bytes = 1}};
	struct capture_position position = {.function = 1};
	struct capture_item frame = {.what = CAPTURE_FRAME,
				     .frame = {.count = 1, .position = &position}};
	uint32_t frames[2] = {1, 1};
	struct capture_item stack = {.what = CAPTURE_STACK,
				     .stack = {.parent = parent, .count = count, .frame = frames}};
	if (capture_put_item(w, &string) || capture_put_item(w, &frame) ||
	    capture_put_item(w, &stack))
		abort();
}

static void put_event(struct capture_writer *w, uint32_t stack)
{
	struct ebt_event ev = {.kind = EBT_UNIT, .stack = stack};
	if (capture_put_event(w, &ev, NULL, 0))
		abort();
}

static void test_numbers(void)
{
	struct capture_writer *w = new_writer();
	struct bytes file = {0};
	static const uint32_t want[] = {1, 2, 0, 0, 1, 0, 3};
	append_head(&file);
	put_stack(w, 0, 2);
	is(capture_last_number(w, CAPTURE_STACK), 2, "an item of two frames makes two stacks");
	for (unsigned i = 0; i < 3; i++)
		put_event(w, (uint32_t[]){1, 2, 3}[i]);
	append_block(&file, w, CAPTURE_BLOCK_EVENTS);
	is(capture_last_number(w, CAPTURE_STACK), 0, "a block begins without any");
	put_event(w, 1);
	put_stack(w, 0, 1);
	put_event(w, 1);
	put_event(w, 3);
	put_stack(w, 1, 2);
	put_event(w, 3);
	append_block(&file, w, CAPTURE_BLOCK_END);
	struct result r = read_all(file.data, file.len, SIZE_MAX);
	unsigned same = 0, events = 0;
	for (size_t i = 0; i < r.count; i++) {
		if (r.items[i].what != CAPTURE_EVENT)
			continue;
		same += events < 7 && r.items[i].event.stack == want[events];
		events++;
	}
	ok(same == 7 && events == 7, "an event has a stack only of its own block, made before it");
	done(&r);
	free(file.data);

	for (unsigned i = 0; i < 2; i++) {
		struct bytes damaged = {0};
		struct capture_item item = {.what = CAPTURE_STACK,
					    .stack = {.parent = i ? 0 : 3,
						      .count = 1,
						      .frame = (uint32_t[]){i ? 2 : 1}}};
		append_head(&damaged);
		put_stack(w, 0, 2);
		if (capture_put_item(w, &item))
			abort();
		append_block(&damaged, w, CAPTURE_BLOCK_END);
		r = read_all(damaged.data, damaged.len, SIZE_MAX);
		ok(r.fault.count == 1, "an item that refers to a %s that is yet to come is damage",
		   i ? "frame" : "stack");
		done(&r);
		free(damaged.data);
	}
	capture_writer_free(w);
}

static void test_ndjson(void)
{
	struct session *s;
	struct sink *out;
	char line[2][256];
	FILE *f = tmpfile();
	if (!f || session_new(&s) || enter_processes(s, 3) || ndjson_new(s, fileno(f), &out))
		abort();
	struct frame_position inlined[2] = {{.function = put(s, "List.iter"),
					     .file = put(s, "list.ml"),
					     .line = 99,
					     .start_char = 4,
					     .end_char = 10,
					     .has_line = true,
					     .has_chars = true},
					    {.function = put(s, "Main.\"f\""),
					     .file = put(s, "main.ml"),
					     .line = 3,
					     .has_line = true,
					     .has_chars = true}};
	uint32_t known = frames_put(s->frames, &(struct frame){.address = 1,
							       .has_address = true,
							       .count = 2,
							       .position = inlined});
	uint32_t code =
		frames_put(s->frames, &(struct frame){.address = 4711, .has_address = true});
	struct ebt_event ev = {.ts = 5, .pos = 8, .pid = 3, .kind = EBT_BEGIN, .cpu = EBT_NO_CPU};
	session_put_stack(s, &ev, stacks_push(s->stacks, stacks_push(s->stacks, 0, known), code));
	sink_events(out, &ev, 1);
	sink_end(out);
	rewind(f);
	for (unsigned i = 0; i < 2; i++)
		if (!fgets(line[i], sizeof(line[i]), f))
			abort();
	is_str(line[1],
	       "{\"ts\":5,\"kind\":\"begin\",\"domain\":0,\"id\":0,\"name\":\"explicit_gc_set\","
	       "\"pid\":3,\"pos\":8,\"stack\":[\"List.iter@list.ml:99:4-10\","
	       "\"Main.\\\"f\\\"@main.ml:3:0-0\",\"$4711\"]}\n",
	       "NDJSON has the stack as strings, the outermost first, an unknown address as a "
	       "number");
	sink_free(out);
	session_free(s);
	fclose(f);
}

int main(void)
{
	test_sessions();
	test_deep();
	test_numbers();
	test_ndjson();
	return tap_done();
}

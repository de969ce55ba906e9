// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/samples.h"

#include <errno.h>

#include "runtime/ocaml/names.h"
#include "session/versions.h"
#include "source/stacks/ocaml_parts.h"

struct sample_stack {
	uint32_t stack; /* 0: none */
	enum ebt_sample_end end;
};

/* The payload of a record of OCaml. */
struct ocaml_payload {
	const struct ebt_stack_memory *memory;
	const struct ebt_sample_more *more;
	const struct ebt_sample_caller *caller;
	const struct ebt_ocaml_callbacks *callbacks;
	const struct ebt_sample_starts *starts;
	const struct ebt_ocaml_frame *frame;
	size_t frames;
};

static bool split(const struct ebt_sample_record *rec, size_t payload, struct ocaml_payload *ret)
{
	ret->memory = (const void *)(rec + 1);
	ret->more = (const void *)(ret->memory + 1);
	ret->caller = (const void *)(ret->more + 1);
	ret->callbacks = (const void *)(ret->caller + 1);
	ret->starts = (const void *)(ret->callbacks + 1);
	ret->frame = (const void *)(ret->starts + 1);
	size_t fixed = (size_t)((const char *)ret->frame - (const char *)(rec + 1));
	ret->frames = payload < fixed ? 0 : (payload - fixed) / sizeof(*ret->frame);
	return payload >= fixed;
}

/* Addresses, the innermost first, and a mark if the stack ends too early. */
static int push_addresses(const struct c_stack_of *of, uint64_t address[CODE_STACK_MAX], size_t n,
			  code_rename *rename, struct sample_stack *ret)
{
	if (ret->end != EBT_SAMPLE_WHOLE && ret->end != EBT_SAMPLE_GAP)
		address[n++] = CODE_CUT;
	struct code_stack stack = {.address = address, .count = n, .rename = rename};
	return code_frames_stack(of->frames, of->map, of->pid, &stack, &ret->stack);
}

static struct unwind_block block_of(const struct ebt_stack_memory *m,
				    const struct ebt_sample_more *more)
{
	return (struct unwind_block){m->sp + sizeof(m->word), more->word,
				     more->words < EBT_SAMPLE_WORDS ? more->words
								    : EBT_SAMPLE_WORDS};
}

/* ---- C ---- */

static bool has_gap(const uint64_t *address, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (address[i] == CODE_GAP)
			return true;
	return false;
}

static int push_c(const struct c_stack_of *of, const struct ebt_sample_record *rec, size_t payload,
		  struct sample_stack *ret)
{
	uint64_t address[CODE_STACK_MAX];
	enum unwind_end end;
	const struct ebt_stack_memory *m = (const void *)(rec + 1);
	const struct ebt_stack_links *l = (const void *)(m + 1);
	const struct ebt_sample_more *more = (const void *)(l + 1);
	if (payload < sizeof(*m) + sizeof(*l) + sizeof(*more))
		return 0;
	struct unwind_image image = c_stack_image(m, l);
	image.block[2] = block_of(m, more);
	size_t n = c_stack_unwind(of, &image, address, &end, NULL);
	ret->end = end == UNWIND_CUT	 ? m->words ? EBT_SAMPLE_CUT : EBT_SAMPLE_UNREAD
		   : has_gap(address, n) ? EBT_SAMPLE_GAP
					 : EBT_SAMPLE_WHOLE;
	/* Also OCaml's, where it changes stacks. */
	return push_addresses(of, address, n, ocaml_name_function, ret);
}

/* ---- OCaml ---- */

/* The stack from frame `first` on, with the C of its parts inside and between. */
static int push_frames(const struct c_stack_of *of, const struct ebt_sample_record *rec,
		       const struct ocaml_payload *p, size_t first, struct ocaml_parts *parts,
		       struct sample_stack *ret)
{
	ocaml_parts_add_callbacks(of, parts, p->callbacks, first);
	struct ocaml_stack stack = {
		.frame = p->frame + first,
		.frames = p->frames - first,
		.c = parts->c,
		.c_count = parts->count,
		.version = versions_by_release(rec->release),
		.outer = rec->whole ? NULL : CODE_CUT_NAME,
	};
	ret->end = !rec->whole	    ? EBT_SAMPLE_CUT
		   : parts->has_gap ? EBT_SAMPLE_GAP
				    : EBT_SAMPLE_WHOLE;
	return ocaml_stack_push(of->frames, of->map, of->pid, &stack, &ret->stack);
}

/* The stack pointers of callers that the walk has found; the last one is that of its end. */
static size_t known_callers(const struct ocaml_payload *p, uint64_t ret[EBT_SAMPLE_STARTS + 1])
{
	size_t n = p->frames < EBT_SAMPLE_STARTS ? p->frames : EBT_SAMPLE_STARTS;
	for (size_t i = 0; i < n; i++)
		ret[i] = p->starts->sp[i];
	if (p->starts->end && p->starts->ends <= p->frames)
		ret[n++] = p->starts->end;
	return n;
}

/* Unwinds code up to a caller that the walk has found, and takes the rest from there. False: there
 * is none; then *ret_n addresses are in parts.address[0]. */
static bool join_walk(const struct c_stack_of *of, struct unwind_image *image,
		      const struct ocaml_payload *p, struct ocaml_parts *parts, size_t *ret_n,
		      size_t *ret_first)
{
	uint64_t known[EBT_SAMPLE_STARTS + 1];
	enum unwind_end end;
	size_t met = 0;
	image->strict = true;
	image->known = known;
	image->knowns = known_callers(p, known);
	*ret_n = c_stack_unwind(of, image, parts->address[0], &end, &met);
	if (end != UNWIND_KNOWN)
		return false;
	bool at_end = p->starts->end && known[met] == p->starts->end;
	*ret_first = at_end ? p->starts->ends : met;
	parts->count = 1;
	parts->c[0] = (struct ocaml_stack_c){.code = {.address = parts->address[0],
						      .count = *ret_n,
						      .rename = ocaml_name_function}};
	return true;
}

/* On a stack of OCaml. */
static int push_ocaml(const struct c_stack_of *of, const struct ebt_sample_record *rec,
		      const struct ocaml_payload *p, struct sample_stack *ret)
{
	struct ocaml_parts parts = {.count = 0};
	struct unwind_image image = c_stack_image(p->memory, NULL);
	size_t n, first;
	if (join_walk(of, &image, p, &parts, &n, &first))
		return push_frames(of, rec, p, first, &parts, ret);
	/* A caller at which the walk has not been may be a stale one: that of an instruction
	 * between two stacks, to which no rule applies. */
	ret->end = p->memory->words ? EBT_SAMPLE_LEAF : EBT_SAMPLE_UNREAD;
	return push_addresses(of, parts.address[0], n ? 1 : 0, ocaml_name_function, ret);
}

static struct unwind_image image_of_called(const struct ocaml_payload *p)
{
	struct unwind_image image = c_stack_image(p->memory, NULL);
	image.block[1] = block_of(p->memory, p->more);
	return image;
}

/* C that OCaml has called without saving where its stack is. If the register that has it was
 * neither found nor preserved, its caller is the last function that is known. */
static int push_call(const struct c_stack_of *of, const struct ebt_sample_record *rec,
		     const struct ocaml_payload *p, bool is_code, struct sample_stack *ret)
{
	struct ocaml_parts parts = {.count = 0};
	struct unwind_image image = image_of_called(p);
	size_t n, first, words = p->caller->words;
	image.high = 0;
	image.kept = p->caller->kept;
	image.other = is_code ? p->caller->sp : 0;
	image.block[2] = (struct unwind_block){
		p->caller->sp, p->caller->word,
		words < EBT_SAMPLE_CALLER_WORDS ? words : EBT_SAMPLE_CALLER_WORDS};
	struct ocaml_payload walked = *p;
	walked.frames = image.other ? p->frames : 0;
	if (join_walk(of, &image, &walked, &parts, &n, &first))
		return push_frames(of, rec, p, first, &parts, ret);
	ret->end = EBT_SAMPLE_CALL;
	return push_addresses(of, parts.address[0], n, ocaml_name_function, ret);
}

/* On a stack of C, which OCaml has called. */
static int push_called(const struct c_stack_of *of, const struct ebt_sample_record *rec,
		       const struct ocaml_payload *p, struct sample_stack *ret)
{
	struct ocaml_parts parts = {.count = 0};
	struct unwind_image image = image_of_called(p);
	bool is_entry = image.sp == image.high;
	const char *caller = code_frames_function(of->frames, of->map, of->pid,
						  is_entry ? image.pc : rec->returns, !is_entry);
	if (!caller || !ocaml_name_saves_stack(caller) || p->caller->sp)
		return push_call(of, rec, p, caller && ocaml_name_is_code(caller), ret);
	if (!is_entry) {
		ocaml_parts_add(of, &parts, &image, 0);
	} else {
		parts.address[0][0] = image.pc;
		parts.c[parts.count++] =
			(struct ocaml_stack_c){.code = {.address = parts.address[0], .count = 1}};
	}
	return push_frames(of, rec, p, 0, &parts, ret);
}

static int push(const struct c_stack_of *of, const struct ebt_sample_record *rec, size_t payload,
		struct sample_stack *ret)
{
	struct ocaml_payload p;
	if (rec->head.site == EBT_SAMPLE_C)
		return push_c(of, rec, payload, ret);
	if (!split(rec, payload, &p))
		return 0;
	return rec->head.site == EBT_SAMPLE_OCAML ? push_ocaml(of, rec, &p, ret)
						  : push_called(of, rec, &p, ret);
}

int samples_put_stack(const struct c_stack_of *of, const struct ebt_sample_record *rec,
		      size_t payload, struct ebt_event *ev, enum ebt_sample_end *ret)
{
	struct session *s = code_frames_session(of->frames);
	struct sample_stack stack = {0, EBT_SAMPLE_UNREAD};
	code_map_read(of->frames, of->map, of->pid, false);
	int err = code_frames_has_code(of->frames, of->map) ? push(of, rec, payload, &stack) : 0;
	if (code_frames_waits(of->frames))
		return -EAGAIN;
	*ret = stack.end;
	if (!err && stack.stack)
		session_put_stack(s, ev, stack.stack);
	session_reclaim(s);
	return err;
}

int samples_make(const struct c_stack_of *of, const struct ebt_sample_record *rec, size_t payload,
		 uint64_t period_ns, struct ebt_event *ev)
{
	enum ebt_sample_end end = EBT_SAMPLE_UNREAD;
	ev->kind = EBT_SAMPLE;
	ev->domain = rec->domain;
	ev->pos = period_ns;
	ev->arg[0] = rec->kernel != 0;
	int err = samples_put_stack(of, rec, payload, ev, &end);
	ev->id = end;
	return err;
}

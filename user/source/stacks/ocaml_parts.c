// SPDX-License-Identifier: BSD-2-Clause
#include "source/stacks/ocaml_parts.h"

#include "runtime/ocaml/frames.h"

void ocaml_parts_add(const struct c_stack_of *of, struct ocaml_parts *p,
		     const struct unwind_image *image, size_t frames)
{
	enum unwind_end end;
	uint64_t *address = p->address[p->count];
	size_t n = c_stack_unwind(of, image, address, &end, NULL);
	if (end != UNWIND_HIGH)
		address[n++] = CODE_GAP;
	p->has_gap |= end != UNWIND_HIGH;
	p->c[p->count++] = (struct ocaml_stack_c){
		frames, {.address = address, .count = n, .returns = image->returns}};
}

/* The registers of the C that has called OCaml are where that call has left them. False: they are
 * not. */
static bool is_callback(const struct c_stack_of *of, const struct ebt_ocaml_callback *c,
			struct unwind_image *ret)
{
	size_t words = c->words < EBT_CALLBACK_WORDS ? c->words : EBT_CALLBACK_WORDS;
	for (size_t i = 0; i < OCAML_LINKS; i++) {
		const struct ocaml_link *l = &ocaml_links[i];
		if (!l->pc || l->pc >= words || !c_stack_is_return(of, c->word[l->pc]))
			continue;
		*ret = (struct unwind_image){
			.pc = c->word[l->pc],
			.sp = c->link + 8 * (l->pc + 1),
			.fp = c->word[l->fp],
			.returns = true,
			.high = c->high,
			.block = {{c->link, c->word, words}},
		};
		return true;
	}
	return false;
}

void ocaml_parts_add_callbacks(const struct c_stack_of *of, struct ocaml_parts *p,
			       const struct ebt_ocaml_callbacks *callbacks, size_t skip)
{
	static const uint64_t gap = CODE_GAP;
	for (size_t i = 0; i < callbacks->count && i < EBT_OCAML_CALLBACKS; i++) {
		const struct ebt_ocaml_callback *c = &callbacks->callback[i];
		struct unwind_image image;
		if (c->frames < skip)
			continue;
		if (is_callback(of, c, &image)) {
			ocaml_parts_add(of, p, &image, c->frames - skip);
			continue;
		}
		p->c[p->count++] = (struct ocaml_stack_c){
			c->frames - skip, {.address = &gap, .count = 1, .returns = true}};
		p->has_gap = true;
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/bpf/kernel_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proc/kallsyms.h"
#include "source/stacks/code_frames.h"

#define NAME_BYTES 256

/* A stack of the map, the innermost frame first; held. */
struct known {
	uint32_t count;
	uint32_t frame[EBT_KERNEL_FRAMES];
};

struct kernel_stacks {
	struct session *session;
	const struct bpf_kernel *kernel;
	struct kallsyms *symbols; /* NULL: they may not be read */
	struct known *known[EBT_KERNEL_STACKS];
	uint32_t not_known, not_whole; /* frames, held */
};

/* A frame with a name, which the caller holds; file: or NULL. 0: no memory. */
static uint32_t make_frame(struct session *s, const char *name, const char *file)
{
	struct frame_position p = {.function = strings_put(s->strings, name, strlen(name)),
				   .file = file ? strings_put(s->strings, file, strlen(file)) : 0};
	const struct frame frame = {.count = 1, .position = &p};
	uint32_t id = p.function && (p.file || !file) ? frames_put(s->frames, &frame) : 0;
	strings_drop(s->strings, p.function);
	strings_drop(s->strings, p.file);
	return id;
}

int kernel_stacks_new(struct session *s, const struct bpf_kernel *k, struct kernel_stacks **ret)
{
	struct kernel_stacks *n = calloc(1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	n->session = s;
	n->kernel = k;
	n->not_known = make_frame(s, KERNEL_STACKS_FILE, KERNEL_STACKS_FILE);
	n->not_whole = make_frame(s, CODE_CUT_NAME, NULL);
	if (!n->not_known || !n->not_whole) {
		kernel_stacks_free(n);
		return -ENOMEM;
	}
	int err = kallsyms_read(NULL, &n->symbols);
	if (err)
		messages_at(&s->messages, LOG_NORMAL,
			    "functions of the kernel have no names: /proc/kallsyms %s%s",
			    err == -EACCES ? "has no addresses for us; " : "cannot be read: ",
			    err == -EACCES ? "kernel.kptr_restrict may hide them" : strerror(-err));
	*ret = n;
	return 0;
}

static void free_known(struct kernel_stacks *k, struct known *of)
{
	for (uint32_t i = 0; of && i < of->count; i++)
		frames_drop(k->session->frames, of->frame[i]);
	free(of);
}

void kernel_stacks_free(struct kernel_stacks *k)
{
	if (!k)
		return;
	for (uint32_t i = 0; i < EBT_KERNEL_STACKS; i++)
		free_known(k, k->known[i]);
	frames_drop(k->session->frames, k->not_known);
	frames_drop(k->session->frames, k->not_whole);
	kallsyms_free(k->symbols);
	free(k);
}

/* Parts that the compiler has made of a function (".isra.0") have the name of the whole. */
static uint32_t frame_at(struct kernel_stacks *k, uint64_t address)
{
	char name[NAME_BYTES];
	const char *symbol = kallsyms_find(k->symbols, address);
	if (!symbol)
		return make_frame(k->session, KERNEL_STACKS_FILE, KERNEL_STACKS_FILE);
	size_t len = 1 + strcspn(symbol + 1, ".");
	len = len < sizeof(name) ? len : sizeof(name) - 1;
	memcpy(name, symbol, len);
	name[len] = 0;
	return make_frame(k->session, name, KERNEL_STACKS_FILE);
}

/* NULL: it is not known. *ret_err: -ENOMEM. */
static const struct known *find(struct kernel_stacks *k, uint32_t number, int *ret_err)
{
	uint64_t address[EBT_KERNEL_FRAMES] = {0};
	if (number >= EBT_KERNEL_STACKS || !k->symbols)
		return NULL;
	if (k->known[number])
		return k->known[number];
	if (bpf_kernel_get(k->kernel, BPF_TABLE_KERNEL_STACKS, number, address))
		return NULL;
	struct known *of = calloc(1, sizeof(*of));
	*ret_err = of ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < EBT_KERNEL_FRAMES && address[i] && !*ret_err; i++) {
		/* All but the innermost are those behind a call. */
		of->frame[i] = frame_at(k, address[i] - (i > 0));
		*ret_err = of->frame[i] ? 0 : -ENOMEM;
		of->count += !*ret_err;
	}
	if (*ret_err || !of->count) {
		free_known(k, of);
		return NULL;
	}
	return k->known[number] = of;
}

int kernel_stacks_add(struct kernel_stacks *k, uint32_t kernel, struct ebt_event *ev)
{
	struct session *s = k->session;
	int err = 0;
	if (kernel == EBT_SAMPLE_USER)
		return 0;
	const struct known *of = kernel >= EBT_SAMPLE_KERNEL_STACK
					 ? find(k, kernel - EBT_SAMPLE_KERNEL_STACK, &err)
					 : NULL;
	uint32_t stack = ev->stack;
	if (!err && !stack)
		stack = stacks_push(s->stacks, 0, k->not_whole);
	for (uint32_t i = of ? of->count : 0; i-- > 0 && stack;)
		stack = stacks_push(s->stacks, stack, of->frame[i]);
	if (!of && stack)
		stack = stacks_push(s->stacks, stack, k->not_known);
	if (err || !stack)
		return -ENOMEM;
	stacks_hold(s->stacks, stack);
	session_drop_event(s, ev);
	session_put_stack(s, ev, stack);
	stacks_drop(s->stacks, stack);
	return 0;
}

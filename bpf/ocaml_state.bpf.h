/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The state of the OCaml domain that the current thread runs, by the runtime's thread-local
 * storage. All addresses come from the traced program: memory is copied, never trusted.
 */
#ifndef EBT_OCAML_STATE_BPF_H
#define EBT_OCAML_STATE_BPF_H

#include "channel.bpf.h"
#include "registers.bpf.h"

#include <bpf/bpf_core_read.h>

#ifndef NULL
#define NULL ((void *)0)
#endif

#define OCAML_MAX_DOMAINS 4096 /* of a runtime; a larger number is none */

static __always_inline uint64_t user_word(uint64_t address)
{
	uint64_t word = 0;
	bpf_probe_read_user(&word, sizeof(word), (void *)address);
	return word;
}

/* The address of the variable with the state; tls is not EBT_OCAML_TLS_NONE. */
static __always_inline uint64_t ocaml_state_at(uint32_t tls, int64_t offset, uint64_t module,
					       struct task_struct *task)
{
	uint64_t at = REGS_THREAD(task);
	if (tls == EBT_OCAML_TLS_MODULE)
		at = user_word(user_word(at + 8) + 16 * module);
	return at + offset;
}

/* The address of the state; 0: not known. */
static __always_inline uint64_t ocaml_state(uint32_t tls, int64_t offset, uint64_t module,
					    struct task_struct *task)
{
	return tls == EBT_OCAML_TLS_NONE ? 0 : user_word(ocaml_state_at(tls, offset, module, task));
}

/* The number of the domain with this state; EBT_NO_DOMAIN: not known. */
static __always_inline uint16_t ocaml_domain(uint64_t state, uint32_t id_offset)
{
	uint32_t id;
	if (!state || bpf_probe_read_user(&id, sizeof(id), (void *)(state + id_offset)) ||
	    id >= OCAML_MAX_DOMAINS)
		return EBT_NO_DOMAIN;
	return (uint16_t)id;
}

#endif

// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/site_callers.h"

#include <sys/stat.h>

#include "base/hash.h"
#include "elf/unwind.h"
#include "elf/usdt_operand.h"

/* In the map: the register, and above it the distance from it. */
#define REGISTER_BITS 8

void site_callers_done(struct site_callers *c)
{
	map_done(&c->known);
	symbols_running_done(&c->running);
	*c = (struct site_callers){0};
}

void site_callers_close(struct site_file *file)
{
	symbols_close(file->symbols);
	file->symbols = NULL;
}

static uint64_t pack(const struct unwind_rule *rule)
{
	uint8_t reg = rule->kind == UNWIND_BY_SP   ? usdt_stack_pointer()
		      : rule->kind == UNWIND_BY_FP ? usdt_frame_pointer()
						   : USDT_NO_REGISTER;
	int64_t distance = (int64_t)rule->cfa + rule->pc;
	return (uint64_t)distance << REGISTER_BITS | reg;
}

static uint64_t look_up(struct site_callers *c, struct site_file *file, uint64_t offset)
{
	struct unwind_rule rule = {.kind = UNWIND_UNKNOWN};
	if (!file->symbols && symbols_open(file->fd, file->path, &c->running, &file->symbols))
		file->symbols = NULL;
	if (file->symbols && symbols_unwind(file->symbols, offset, &rule))
		rule.kind = UNWIND_UNKNOWN;
	return pack(&rule);
}

struct ebt_operand site_callers_find(struct site_callers *c, struct site_file *file,
				     uint64_t offset, const struct messages *messages)
{
	struct stat st;
	c->running.messages = messages;
	if (!file->hash && !fstat(file->fd, &st))
		file->hash = hash_file(st.st_dev, st.st_ino);
	uint64_t key = hash_u64(file->hash, offset);
	const uint64_t *known = map_get(&c->known, key);
	uint64_t packed = known ? *known : look_up(c, file, offset);
	uint64_t *at = known ? NULL : map_put(&c->known, key);
	if (at)
		*at = packed;
	uint8_t reg = (uint8_t)packed;
	if (reg == USDT_NO_REGISTER)
		return (struct ebt_operand){0};
	return (struct ebt_operand){.size = sizeof(uint64_t),
				    .where = EBT_OPERAND_MEMORY,
				    .reg = reg,
				    .index = EBT_OPERAND_NONE,
				    .number = (int64_t)packed >> REGISTER_BITS};
}

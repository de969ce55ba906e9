// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/operand.h"

struct ebt_operand operand_of_arg(const struct usdt_arg *arg)
{
	static const uint8_t where[] = {
		[USDT_CONSTANT] = EBT_OPERAND_CONSTANT,
		[USDT_REGISTER] = EBT_OPERAND_REGISTER,
		[USDT_MEMORY] = EBT_OPERAND_MEMORY,
	};
	return (struct ebt_operand){
		.size = arg->size,
		.is_signed = arg->is_signed,
		.where = where[arg->where],
		.reg = arg->reg == USDT_NO_REGISTER ? EBT_OPERAND_NONE : arg->reg,
		.index = arg->index == USDT_NO_REGISTER ? EBT_OPERAND_NONE : arg->index,
		.shift = arg->shift,
		.drop = arg->drop,
		.number = arg->number,
	};
}

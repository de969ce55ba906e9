/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/model/choice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int mem_choice_add(struct mem_choice *c, uint64_t number)
{
	size_t at = (size_t)(number / 64);
	if (!array_room(c->word, c->words, at))
		return -ENOMEM;
	c->word[at] |= UINT64_C(1) << number % 64;
	return 0;
}

bool mem_choice_has(const struct mem_choice *c, uint64_t number)
{
	return number / 64 < c->words && c->word[number / 64] >> number % 64 & 1;
}

void mem_choice_done(struct mem_choice *c)
{
	free(c->word);
	*c = (struct mem_choice){0};
}

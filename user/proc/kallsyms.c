/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/kallsyms.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"

#define FILE_MAX (256u << 20)

struct symbol {
	uint64_t address;
	uint32_t name; /* where it begins in the text */
};

struct kallsyms {
	char *text;
	struct symbol *symbol; /* by address */
	uint32_t count, room;
};

/* A line is "address type name", and for modules "[module]" behind a tab. 0 or -ENOMEM. */
static int add_line(struct kallsyms *k, char *line)
{
	char *end;
	uint64_t address = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || !end[1] || !strchr("tTwW", end[1]) || end[2] != ' ')
		return 0;
	char *name = end + 3;
	name[strcspn(name, "\t ")] = 0;
	if (!address || !*name)
		return 0;
	if (!array_reserve(k->symbol, k->room, k->count))
		return -ENOMEM;
	k->symbol[k->count++] = (struct symbol){address, (uint32_t)(name - k->text)};
	return 0;
}

/* Of several names of one address the first in the file comes first. */
static int by_address(const void *x, const void *y)
{
	const struct symbol *a = x, *b = y;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

static int parse(struct kallsyms *k)
{
	int err = 0;
	char *rest = k->text;
	for (char *line; !err && (line = strsep(&rest, "\n"));)
		err = add_line(k, line);
	if (!err && !k->count)
		err = -EACCES;
	if (!err)
		qsort(k->symbol, k->count, sizeof(*k->symbol), by_address);
	return err;
}

int kallsyms_read(const char *path, struct kallsyms **ret)
{
	struct kallsyms *k = calloc(1, sizeof(*k));
	size_t bytes;
	if (!k)
		return -ENOMEM;
	int err = file_load(path ? path : "/proc/kallsyms", FILE_MAX, &k->text, &bytes);
	if (!err)
		err = parse(k);
	if (err) {
		kallsyms_free(k);
		return err;
	}
	*ret = k;
	return 0;
}

void kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return;
	free(k->symbol);
	free(k->text);
	free(k);
}

const char *kallsyms_find(const struct kallsyms *k, uint64_t address)
{
	uint32_t low = 0, high = k->count;
	while (low < high) { /* the first one behind the address */
		uint32_t middle = low + (high - low) / 2;
		if (k->symbol[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	uint64_t at = k->symbol[low - 1].address;
	while (low > 1 && k->symbol[low - 2].address == at)
		low--;
	return k->text + k->symbol[low - 1].name;
}

size_t kallsyms_count(const struct kallsyms *k)
{
	return k->count;
}

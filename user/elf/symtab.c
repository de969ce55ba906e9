/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf/symtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/segments.h"

#define MAX_SYMBOLS 10000000

struct symbol {
	uint64_t start, size;
	const char *name;
	bool is_global;
};

struct symtab {
	struct symbol *symbol;
	size_t symbols;
	struct segment *segment;
	size_t segments;
};

static Elf_Scn *find_section(Elf *elf, uint32_t type, GElf_Shdr *ret)
{
	Elf_Scn *scn = NULL;
	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, ret) && ret->sh_type == type && ret->sh_entsize)
			return scn;
	return NULL;
}

/* Not by elf_strptr(): each of its calls searches the end of the table's last string. */
static const char *name_at(const Elf_Data *strings, uint64_t at)
{
	const char *s = strings->d_buf;
	return at && at < strings->d_size && !s[strings->d_size - 1] ? s + at : "";
}

static bool in_code(Elf *elf, const GElf_Sym *sym)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = elf_getscn(elf, sym->st_shndx);
	return scn && gelf_getshdr(scn, &shdr) && shdr.sh_flags & SHF_EXECINSTR &&
	       sym->st_value >= shdr.sh_addr && sym->st_value - shdr.sh_addr < shdr.sh_size;
}

/* Functions of assembler files may have no type; $x and the like mark kinds of code. */
static bool is_function(Elf *elf, const GElf_Sym *sym, const char *name)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);
	if (sym->st_shndx == SHN_UNDEF || !*name || *name == '$')
		return false;
	return (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
	       (sym->st_shndx >= SHN_LORESERVE || in_code(elf, sym));
}

static int read_symbols(Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr, struct symtab *t)
{
	Elf_Scn *names = elf_getscn(elf, shdr->sh_link);
	Elf_Data *data = elf_getdata(scn, NULL), *strings = names ? elf_getdata(names, NULL) : NULL;
	if (!data || !data->d_buf || !strings || !strings->d_buf || !strings->d_size)
		return 0;
	size_t count = data->d_size / shdr->sh_entsize;
	if (count > MAX_SYMBOLS)
		count = MAX_SYMBOLS;
	t->symbol = calloc(count + 1, sizeof(*t->symbol));
	if (!t->symbol)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		GElf_Sym sym;
		const char *name =
			gelf_getsym(data, (int)i, &sym) ? name_at(strings, sym.st_name) : "";
		if (*name && is_function(elf, &sym, name))
			t->symbol[t->symbols++] = (struct symbol){
				.start = sym.st_value,
				.size = sym.st_size,
				.name = name,
				.is_global = GELF_ST_BIND(sym.st_info) == STB_GLOBAL,
			};
	}
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* The better name of two for one address is larger. */
static int compare_names(const struct symbol *x, const struct symbol *y)
{
	if (!x->size != !y->size)
		return x->size ? 1 : -1;
	if ((*x->name == '_') != (*y->name == '_'))
		return *x->name == '_' ? -1 : 1;
	if (x->is_global != y->is_global)
		return x->is_global ? 1 : -1;
	return strcmp(y->name, x->name);
}

/* Sorts the symbols and leaves one of each address; a symbol without a size ends at the next. */
static void keep_best(struct symtab *t)
{
	size_t kept = 0;
	qsort(t->symbol, t->symbols, sizeof(*t->symbol), by_start);
	for (size_t i = 0; i < t->symbols; i++) {
		struct symbol *last = kept ? &t->symbol[kept - 1] : NULL, s = t->symbol[i];
		if (last && last->start == s.start) {
			if (compare_names(&s, last) > 0)
				*last = s;
			continue;
		}
		t->symbol[kept++] = s;
		if (last && !last->size)
			last->size = s.start - last->start;
	}
	t->symbols = kept;
}

static int make_segments(struct symtab *t)
{
	struct segments_range *range = calloc(t->symbols + 1, sizeof(*range));
	if (!range)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->symbols; i++) {
		const struct symbol *s = &t->symbol[i];
		uint64_t bytes = s->size ? s->size : 1;
		range[i] = (struct segments_range){
			.start = s->start,
			.end = s->start > UINT64_MAX - bytes ? UINT64_MAX : s->start + bytes,
			.value = i,
		};
	}
	int err = segments_make(range, t->symbols, &t->segment, &t->segments);
	free(range);
	return err;
}

int symtab_new(Elf *elf, bool dynamic, struct symtab **ret)
{
	struct symtab *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	GElf_Shdr shdr;
	Elf_Scn *scn = find_section(elf, SHT_SYMTAB, &shdr);
	if (!scn && dynamic)
		scn = find_section(elf, SHT_DYNSYM, &shdr);
	int err = scn ? read_symbols(elf, scn, &shdr, t) : 0;
	if (!err && t->symbols) {
		keep_best(t);
		err = make_segments(t);
	}
	if (err) {
		symtab_free(t);
		return err;
	}
	*ret = t;
	return 0;
}

void symtab_free(struct symtab *t)
{
	if (!t)
		return;
	free(t->symbol);
	free(t->segment);
	free(t);
}

const char *symtab_find(const struct symtab *t, uint64_t address)
{
	uint32_t i = segments_find(t->segment, t->segments, address);
	return i == SEGMENTS_NONE ? NULL : t->symbol[i].name;
}

bool symtab_has_any(const struct symtab *t)
{
	return t->symbols;
}

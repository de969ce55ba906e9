/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf/debug_info.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>

#include "base/array.h"
#include "elf/segments.h"
#include "elf/symtab.h"

/* Bounds for hostile files; the process that runs this is limited in memory and time. */
#define MAX_UNITS   1000000
#define MAX_RANGES  8000000  /* of units, and of the functions of one unit */
#define MAX_DEPTH   128	     /* of nested entries */
#define MAX_ENTRIES 50000000 /* of a unit: references to siblings may be a circle */
#define NO_SCOPE    UINT32_MAX

/* A function, or one inlined in its parent. Parents precede their children. */
struct scope {
	uint32_t parent;      /* NO_SCOPE: a function */
	const char *function; /* NULL: not known */
	const char *call_file;
	uint32_t call_line, call_column; /* where it was inlined */
};

struct unit {
	Dwarf_Die die;
	bool indexed;
	struct segment *segment; /* values: scopes of the unit */
	size_t segments;
	struct scope *scope;
};

struct debug_info {
	Elf *module, *debug;
	Dwarf *dwarf; /* NULL: none */
	struct symtab *symtab;
	Dwarf_CFI *cfi; /* NULL: none, or not asked for yet */
	bool cfi_known;
	struct unit *unit;
	size_t units;
	struct segment *segment; /* values: units */
	size_t segments;
};

struct ranges {
	struct segments_range *range;
	size_t count, cap;
};

static int add_range(struct ranges *r, const struct segments_range *range)
{
	if (r->count == MAX_RANGES)
		return -E2BIG;
	if (!array_reserve(r->range, r->cap, r->count))
		return -ENOMEM;
	r->range[r->count++] = *range;
	return 0;
}

/* Adds the ranges of an entry. Code that was removed by the linker begins at 0. Returns their
 * number or -errno. */
static int add_ranges(struct ranges *r, Dwarf_Die *die, uint32_t depth, uint32_t value)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	int n = 0, err = 0;
	while (!err && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (!start || end <= start)
			continue;
		struct segments_range range = {start, end, depth, value};
		err = add_range(r, &range);
		n++;
	}
	return err ? err : n;
}

static int add_unit(struct debug_info *d, const Dwarf_Die *die, struct ranges *r, size_t *cap)
{
	if (!array_reserve(d->unit, *cap, d->units))
		return -ENOMEM;
	struct unit *u = &d->unit[d->units];
	*u = (struct unit){.die = *die};
	int n = add_ranges(r, &u->die, 0, (uint32_t)d->units);
	d->units += n > 0;
	return n < 0 ? n : 0;
}

/* By the ranges of each unit's own entry: not all compilers write .debug_aranges. */
static int find_units(struct debug_info *d)
{
	struct ranges r = {0};
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;
	size_t cap = 0;
	int err = 0;
	while (!err && d->units < MAX_UNITS &&
	       !dwarf_get_units(d->dwarf, cu, &cu, NULL, &type, &die, NULL))
		if (type == DW_UT_compile)
			err = add_unit(d, &die, &r, &cap);
	if (err != -ENOMEM)
		err = segments_make(r.range, r.count, &d->segment, &d->segments);
	free(r.range);
	return err;
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	return dwarf_attr(die, name, &attribute) && !dwarf_formudata(&attribute, &value) &&
			       value <= UINT32_MAX
		       ? (uint32_t)value
		       : 0;
}

static const char *function_of(Dwarf_Die *die)
{
	static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		Dwarf_Attribute attribute;
		const char *name =
			dwarf_formstring(dwarf_attr_integrate(die, names[i], &attribute));
		if (name && *name)
			return name;
	}
	return NULL;
}

/* An index of a unit while it is made. */
struct indexing {
	struct unit *unit;
	Dwarf_Files *files;
	struct ranges ranges;
	size_t scopes, cap;
};

/* Adds a function; its number, `parent` if it has no code, or -errno. */
static int64_t add_scope(struct indexing *x, Dwarf_Die *die, uint32_t depth, uint32_t parent)
{
	if (x->scopes == NO_SCOPE || !array_reserve(x->unit->scope, x->cap, x->scopes))
		return -ENOMEM;
	uint32_t number = (uint32_t)x->scopes;
	size_t ranges = x->ranges.count;
	int n = add_ranges(&x->ranges, die, depth, number);
	if (n < 0)
		x->ranges.count = ranges; /* there is no scope of this number */
	if (n <= 0)
		return n < 0 ? n : (int64_t)parent;
	struct scope s = {.parent = NO_SCOPE, .function = function_of(die)};
	uint32_t file = number_of(die, DW_AT_call_file);
	if (dwarf_tag(die) == DW_TAG_inlined_subroutine) {
		s.parent = parent;
		s.call_file = x->files && file ? dwarf_filesrc(x->files, file, NULL, NULL) : NULL;
		s.call_line = number_of(die, DW_AT_call_line);
		s.call_column = number_of(die, DW_AT_call_column);
	}
	x->unit->scope[x->scopes++] = s;
	return number;
}

static bool holds_code(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
		return true;
	}
	return false;
}

static bool is_function(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* Walks the entries below that of the unit, without recursion: their depth is the file's choice. */
static int walk(struct indexing *x)
{
	Dwarf_Die stack[MAX_DEPTH];
	uint32_t scope[MAX_DEPTH]; /* around the entry */
	int depth = 0;
	if (dwarf_child(&x->unit->die, &stack[0]))
		return 0;
	scope[0] = NO_SCOPE;
	for (uint32_t entries = 0; depth >= 0 && entries < MAX_ENTRIES; entries++) {
		Dwarf_Die *die = &stack[depth];
		int tag = dwarf_tag(die);
		int64_t inside = scope[depth];
		if (is_function(tag))
			inside = add_scope(x, die, (uint32_t)depth, scope[depth]);
		if (inside < 0)
			return (int)inside;
		if (holds_code(tag) && depth + 1 < MAX_DEPTH &&
		    !dwarf_child(die, &stack[depth + 1])) {
			scope[++depth] = (uint32_t)inside;
			continue;
		}
		while (depth >= 0 && dwarf_siblingof(&stack[depth], &stack[depth]))
			depth--;
	}
	return 0;
}

/* A unit that cannot be indexed to its end has what was found. */
static void index_unit(struct unit *u)
{
	struct indexing x = {.unit = u};
	u->indexed = true;
	if (dwarf_getsrcfiles(&u->die, &x.files, NULL))
		x.files = NULL;
	walk(&x);
	if (segments_make(x.ranges.range, x.ranges.count, &u->segment, &u->segments))
		u->segments = 0;
	free(x.ranges.range);
}

static int open_dwarf(struct debug_info *d)
{
	d->dwarf = dwarf_begin_elf(d->module, DWARF_C_READ, NULL);
	Dwarf_CU *cu = NULL;
	if (d->debug && (!d->dwarf || dwarf_get_units(d->dwarf, cu, &cu, NULL, NULL, NULL, NULL))) {
		dwarf_end(d->dwarf);
		d->dwarf = dwarf_begin_elf(d->debug, DWARF_C_READ, NULL);
	}
	return d->dwarf ? find_units(d) : 0;
}

/* In place of those that there are. */
static int read_symtab(struct debug_info *d, Elf *of, bool dynamic)
{
	symtab_free(d->symtab);
	d->symtab = NULL;
	return symtab_new(of, dynamic, &d->symtab);
}

/* The module's own symbols; if it is stripped, those of its debug file, else its dynamic ones. */
static int open_symtab(struct debug_info *d)
{
	int err = read_symtab(d, d->module, !d->debug);
	if (err || !d->debug || symtab_has_any(d->symtab))
		return err;
	err = read_symtab(d, d->debug, false);
	if (err || symtab_has_any(d->symtab))
		return err;
	return read_symtab(d, d->module, true);
}

int debug_info_open(const struct debug_info_files *files, struct debug_info **ret)
{
	struct debug_info *d = calloc(1, sizeof(*d));
	int err = d ? 0 : -ENOMEM;
	if (!err && elf_version(EV_CURRENT) == EV_NONE)
		err = -ENOEXEC;
	/* Not mapped: a file that is cut while it is read would end this process. */
	if (!err && !(d->module = elf_begin(files->module, ELF_C_READ, NULL)))
		err = -ENOEXEC;
	if (!err && files->debug >= 0)
		d->debug = elf_begin(files->debug, ELF_C_READ, NULL);
	if (!err)
		err = open_symtab(d);
	if (!err && !files->symbols_only)
		err = open_dwarf(d);
	if (err) {
		debug_info_close(d);
		return err;
	}
	*ret = d;
	return 0;
}

void debug_info_close(struct debug_info *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->units; i++) {
		free(d->unit[i].segment);
		free(d->unit[i].scope);
	}
	free(d->unit);
	free(d->segment);
	symtab_free(d->symtab);
	dwarf_cfi_end(d->cfi);
	dwarf_end(d->dwarf);
	elf_end(d->debug);
	elf_end(d->module);
	free(d);
}

/* The address at which a byte of the file is loaded. */
static bool address_of(Elf *elf, uint64_t offset, uint64_t *ret)
{
	size_t count = 0;
	GElf_Phdr p;
	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &p); i++) {
		if (p.p_type != PT_LOAD || !(p.p_flags & PF_X) || offset < p.p_offset ||
		    offset - p.p_offset >= p.p_filesz)
			continue;
		*ret = p.p_vaddr + (offset - p.p_offset);
		return true;
	}
	return false;
}

static struct unit *find_unit(struct debug_info *d, uint64_t address)
{
	uint32_t i = segments_find(d->segment, d->segments, address);
	if (i == SEGMENTS_NONE)
		return NULL;
	if (!d->unit[i].indexed)
		index_unit(&d->unit[i]);
	return &d->unit[i];
}

static void find_line(struct unit *u, uint64_t address, struct debug_info_position *ret)
{
	Dwarf_Line *line = dwarf_getsrc_die(&u->die, address);
	int number = 0, column = 0;
	if (!line || dwarf_lineno(line, &number) || number <= 0)
		return;
	ret->line = (uint32_t)number;
	ret->file = dwarf_linesrc(line, NULL, NULL);
	if (!dwarf_linecol(line, &column) && column > 0)
		ret->column = (uint32_t)column;
}

unsigned debug_info_find(struct debug_info *d, uint64_t offset,
			 struct debug_info_position ret[DEBUG_INFO_POSITIONS_MAX])
{
	uint64_t address;
	if (!address_of(d->module, offset, &address))
		return 0;
	struct unit *u = find_unit(d, address);
	uint32_t scope = u ? segments_find(u->segment, u->segments, address) : NO_SCOPE;
	struct debug_info_position at = {0};
	unsigned n = 0;
	if (u)
		find_line(u, address, &at);
	/* From the innermost outwards, written from the end of `ret`. */
	while (scope != NO_SCOPE && n < DEBUG_INFO_POSITIONS_MAX) {
		const struct scope *s = &u->scope[scope];
		at.function = s->function;
		ret[DEBUG_INFO_POSITIONS_MAX - ++n] = at;
		at = (struct debug_info_position){
			.file = s->call_file, .line = s->call_line, .column = s->call_column};
		scope = s->parent;
	}
	if (!n) {
		at.function = symtab_find(d->symtab, address);
		n = at.function || at.file;
		ret[0] = at;
		return n;
	}
	struct debug_info_position *outermost = &ret[DEBUG_INFO_POSITIONS_MAX - n];
	if (!outermost->function)
		outermost->function = symtab_find(d->symtab, address);
	for (unsigned i = 0; i < n; i++)
		ret[i] = outermost[i];
	return n;
}

/* ---- unwinding ---- */

#if defined(__aarch64__)
enum { REGISTER_FP = 29, REGISTER_SP = 31, REGISTER_KEPT = 19 };
#else
enum { REGISTER_FP = 6, REGISTER_SP = 7, REGISTER_KEPT = 3 };
#endif

#define MAX_FRAME_BYTES (1 << 20)

static bool fits(uint64_t number, int32_t *ret)
{
	int64_t n = (int64_t)number;
	*ret = (int32_t)n;
	return n > -MAX_FRAME_BYTES && n < MAX_FRAME_BYTES;
}

/* A frame's end at a distance from a register. */
static enum unwind_kind find_cfa(Dwarf_Frame *frame, int32_t *ret)
{
	Dwarf_Op *op;
	size_t count;
	if (dwarf_frame_cfa(frame, &op, &count) || count != 1)
		return UNWIND_OTHERWISE;
	bool is_long = op->atom == DW_OP_bregx;
	if (!is_long && (op->atom < DW_OP_breg0 || op->atom > DW_OP_breg31))
		return UNWIND_OTHERWISE;
	uint64_t number = is_long ? op->number : (uint64_t)op->atom - DW_OP_breg0;
	if (!fits(is_long ? op->number2 : op->number, ret))
		return UNWIND_OTHERWISE;
	return number == REGISTER_SP	 ? UNWIND_BY_SP
	       : number == REGISTER_FP	 ? UNWIND_BY_FP
	       : number == REGISTER_KEPT ? UNWIND_BY_KEPT
					 : UNWIND_OTHERWISE;
}

enum saved { SAVED_NOT, SAVED_LOST, SAVED_AT, SAVED_OTHERWISE };

/* Where the caller's register is, from the frame's end. */
static enum saved find_saved(Dwarf_Frame *frame, int number, int32_t *ret)
{
	Dwarf_Op room[3], *op;
	size_t count;
	*ret = 0;
	if (dwarf_frame_register(frame, number, room, &op, &count))
		return SAVED_OTHERWISE;
	if (!count)
		return op ? SAVED_LOST : SAVED_NOT;
	if (op[0].atom != DW_OP_call_frame_cfa)
		return SAVED_OTHERWISE;
	if (count == 1)
		return SAVED_AT;
	return count == 2 && op[1].atom == DW_OP_plus_uconst && fits(op[1].number, ret)
		       ? SAVED_AT
		       : SAVED_OTHERWISE;
}

static struct unwind_rule rule_of(Dwarf_Frame *frame)
{
	struct unwind_rule rule = {.kind = UNWIND_OTHERWISE};
	bool is_signal;
	int number = dwarf_frame_info(frame, NULL, NULL, &is_signal);
	if (number < 0)
		return rule;
	enum saved pc = find_saved(frame, number, &rule.pc);
	enum saved fp = find_saved(frame, REGISTER_FP, &rule.fp);
	enum saved kept = find_saved(frame, REGISTER_KEPT, &rule.kept);
	if (pc == SAVED_LOST)
		return (struct unwind_rule){.kind = UNWIND_OUTERMOST};
	rule.has_fp = fp == SAVED_AT;
	rule.has_kept = kept == SAVED_AT;
	if (pc != SAVED_AT || fp == SAVED_OTHERWISE)
		return rule;
	rule.kind = find_cfa(frame, &rule.cfa);
	/* Glue of runtimes is marked as the frame of a signal, too, which it is not. */
	if (is_signal && rule.kind != UNWIND_BY_SP)
		rule.kind = UNWIND_OTHERWISE;
	return rule;
}

struct unwind_rule debug_info_unwind(struct debug_info *d, uint64_t offset)
{
	struct unwind_rule rule = {.kind = UNWIND_UNKNOWN};
	uint64_t address;
	Dwarf_Frame *frame;
	if (!d->cfi_known)
		d->cfi = dwarf_getcfi_elf(d->module);
	d->cfi_known = true;
	if (!d->cfi || !address_of(d->module, offset, &address) ||
	    dwarf_cfi_addrframe(d->cfi, address, &frame))
		return rule;
	rule = rule_of(frame);
	free(frame);
	return rule;
}

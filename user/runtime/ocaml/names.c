/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtime/ocaml/names.h"

#include <string.h>

#include "base/demangle.h"

bool ocaml_name_is_code(const char *symbol)
{
	return !strncmp(symbol, "caml", 4) && symbol[4] >= 'A' && symbol[4] <= 'Z';
}

bool ocaml_name_saves_stack(const char *symbol)
{
	static const char *const saves[] = {
		"caml_c_call",	 "caml_c_call_stack_args",
		"caml_call_gc",	 "caml_call_realloc_stack",
		"caml_alloc1",	 "caml_alloc2",
		"caml_alloc3",	 "caml_allocN",
		"caml_runstack",
	};
	for (size_t i = 0; i < sizeof(saves) / sizeof(*saves); i++)
		if (!strcmp(symbol, saves[i]))
			return true;
	return false;
}

bool ocaml_name_function(const char *symbol, char *ret, size_t cap)
{
	static const char entry[] = ".entry";
	if (!ocaml_name_is_code(symbol))
		return false;
	size_t len = demangle(symbol, ret, cap), end = len;
	while (end && ret[end - 1] >= '0' && ret[end - 1] <= '9')
		end--;
	if (end > 1 && end < len && ret[end - 1] == '_')
		ret[end - 1] = 0;
	len = strlen(ret);
	/* The module itself. */
	if (len > sizeof(entry) - 1 && !strcmp(ret + len - (sizeof(entry) - 1), entry))
		ret[len - (sizeof(entry) - 1)] = 0;
	return len;
}

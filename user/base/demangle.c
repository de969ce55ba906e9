/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/demangle.h"

#include <stdbool.h>
#include <string.h>

#include "base/demangle_cxx.h"

/* The value of a lower-case hexadecimal digit, as OCaml writes them; -1: it is none. */
static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that "$xx" at s means; 0: that is no escape, or of a control character. */
static unsigned char escaped(const char *s)
{
	int high = hex_value(s[1]);
	int low = high < 0 ? -1 : hex_value(s[2]);
	if (low < 0)
		return 0;
	int c = high << 4 | low;
	return (unsigned char)(c < ' ' || c == 0x7f ? 0 : c);
}

/*
 * "caml", the module, a separator and the function. Up to OCaml 5.0 the separator is "__", as
 * between the parts of a module's name; later it is a dot, behind which "__" is the function's own.
 */
static size_t demangle_ocaml(const char *name, char *ret, size_t cap)
{
	const char *s = name + strlen("caml");
	bool in_module = true;
	size_t len = 0;
	while (*s && len < cap - 1) {
		unsigned char c = *s == '$' ? escaped(s) : 0;
		if (c) {
			ret[len++] = (char)c;
			s += 3;
		} else if (in_module && s[0] == '_' && s[1] == '_' && s[2]) {
			ret[len++] = '.';
			s += 2;
		} else {
			in_module = in_module && *s != '.';
			ret[len++] = *s++;
		}
	}
	if (*s) /* cut: len is cap - 1 */
		memcpy(ret + len - 3, "...", 3);
	ret[len] = '\0';
	return len;
}

size_t demangle(const char *name, char *ret, size_t cap)
{
	if (!strncmp(name, "_Z", 2))
		return demangle_cxx(name, ret, cap);
	/* The runtime's own functions are caml_..., and other C functions begin in lower case. */
	if (!strncmp(name, "caml", 4) && name[4] >= 'A' && name[4] <= 'Z')
		return demangle_ocaml(name, ret, cap);
	return 0;
}

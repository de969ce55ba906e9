/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/model/wrappers.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#include "base/demangle.h"
#include "session/languages.h"

/* The wrappers of no language in particular, or of a language without a row in languages.h; the
 * rows have the others. The manual page lists all. */
static const char *const built_in[] = {
	/* C */
	"malloc",
	"calloc",
	"realloc",
	"reallocarray",
	"aligned_alloc",
	"memalign",
	"posix_memalign",
	"valloc",
	"pvalloc",
	"strdup",
	"strndup",
	"wcsdup",
	"__strdup",
	"__strndup",
	"__wcsdup",
	"__GI___strdup",
	"__GI___strndup",
	"__libc_malloc",
	"__libc_calloc",
	"__libc_realloc",
	"__libc_memalign",
	/* many programs, and gnulib */
	"xmalloc",
	"xcalloc",
	"xrealloc",
	"xzalloc",
	"xnmalloc",
	"xnrealloc",
	"xreallocarray",
	"x2realloc",
	"x2nrealloc",
	"xmemdup",
	"xmemdup0",
	"xstrdup",
	"xstrndup",
	"ximalloc",
	"xicalloc",
	"xirealloc",
	"xpalloc",
	/* Libraries */
	"g_malloc*",
	"g_realloc*",
	"g_try_malloc*",
	"g_try_realloc*",
	"g_aligned_alloc*",
	"g_slice_alloc*",
	"g_slice_copy",
	"g_strdup",
	"g_strndup",
	"g_memdup*",
	"Perl_safesys*alloc",
	"Perl_safesysmalloc_*",
	"Perl_savepv*",
	"Perl_savesvpv",
	"PyMem_*alloc",
	"_PyMem_*alloc",
	"PyObject_*alloc",
	"_PyObject_*alloc",
	"sqlite3_malloc*",
	"sqlite3_realloc*",
	"sqlite3Malloc*",
	"sqlite3Realloc*",
	"sqlite3MemMalloc",
	"sqlite3MemRealloc",
	"sqlite3DbMalloc*",
	"sqlite3DbRealloc*",
	"sqlite3DbStr*Dup",
	"dbMallocRawFinish",
	"dbReallocFinish",
	"CRYPTO_*alloc",
	"CRYPTO_strdup",
	"CRYPTO_strndup",
	"CRYPTO_memdup",
	/* Allocators */
	"je_*alloc",
	"mi_*alloc",
	"tc_*alloc",
	"tcmalloc::*",
	"ebt_object_*",
	/* Rust */
	"__rust_*alloc*",
	"__rdl_*alloc*",
	"alloc::alloc::*",
	"alloc::raw_vec::*",
	"alloc::vec::*",
	"alloc::string::*",
	"alloc::boxed::*",
	NULL,
};

/* Versions of namespace std. */
static const char *const versions[] = {"__cxx11::", "__1::"};

static bool follows(const char *start, const char *at, const char *word)
{
	size_t len = strlen(word);
	return (size_t)(at - start) >= len && !strncmp(at - len, word, len);
}

/* A copy that the compiler made of a function: "xmalloc.part.0". */
static bool is_clone(const char *s)
{
	static const char *const clones[] = {".part.", ".constprop.", ".isra.", ".cold",
					     ".lto_priv."};
	for (size_t i = 0; i < sizeof(clones) / sizeof(*clones); i++)
		if (!strncmp(s, clones[i], strlen(clones[i])))
			return true;
	return false;
}

static bool is_operator(const char *shown, const char *s)
{
	bool begins = s == shown || s[-1] == ':' || s[-1] == ' ';
	return begins && !strncmp(s, "operator", 8) && s[8] && s[8] != '_' &&
	       !isalnum((unsigned char)s[8]);
}

/* The text behind the argument list that begins here: "<...>", "(...)". */
static const char *skip_list(const char *s)
{
	unsigned depth = 0;
	for (; *s; s++) {
		if (*s == '<' || *s == '(')
			depth++;
		else if ((*s == '>' || *s == ')') && !--depth)
			return s + 1;
	}
	return s;
}

/* The text behind the name of an operator: "operator<<", "operator()", "operator new". What begins
 * behind that with '<' is a list: "operator+<char>". */
static const char *skip_operator(const char *s)
{
	static const char *const longer[] = {
		"<=>", "<<=", ">>=", "->*", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=",
		"&&",  "||",  "+=",  "-=",  "*=", "/=", "%=", "^=", "&=", "|=", "()", "[]"};
	s += strlen("operator");
	if (*s == ' ' || *s == '"')
		return s + 1 + strcspn(s + 1, "(<");
	for (size_t i = 0; i < sizeof(longer) / sizeof(*longer); i++)
		if (!strncmp(s, longer[i], strlen(longer[i])))
			return s + strlen(longer[i]);
	return s + 1;
}

/* Removes the version of namespace std that ends a name. Returns the length that is left. */
static size_t drop_version(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		size_t rest = len - strlen(versions[i]);
		if (follows(name, name + len, versions[i]) && follows(name, name + rest, "std::"))
			return rest;
	}
	return len;
}

void mem_wrappers_plain(const char *shown, char *ret, size_t cap)
{
	static const char anonymous[] = "(anonymous namespace)";
	const char *s = shown;
	size_t len = 0;
	while (*s && !is_clone(s)) {
		const char *from = s++;
		if (is_operator(shown, from))
			s = skip_operator(from);
		else if (!strncmp(from, anonymous, strlen(anonymous)))
			s = from + strlen(anonymous);
		else if (*from == '(')
			break;
		if (*from == '<') {
			s = skip_list(from);
			continue;
		}
		if (*from == ' ') {
			/* A return type is before it, unless it separates an operator from a
			 * list. */
			len = *s == '<' ? len : 0;
			continue;
		}
		size_t n = (size_t)(s - from), room = cap - 1 - len;
		n = n < room ? n : room;
		memcpy(ret + len, from, n);
		len = drop_version(ret, len + n);
	}
	ret[len] = '\0';
}

/* As fnmatch(), but fast where the first characters differ. */
static bool matches(const char *glob, const char *name)
{
	if (*glob != *name && !strchr("*?[\\", *glob))
		return false;
	return !fnmatch(glob, name, 0);
}

static bool any_matches(const char *const *globs, const char *name)
{
	for (; globs && *globs; globs++)
		if (matches(*globs, name))
			return true;
	return false;
}

/* A function of a language's standard library; *ret_users: its code is the user's all the same. */
static bool is_of_library(const char *name, bool *ret_users)
{
	*ret_users = false;
	bool is = false;
	for (const struct language *const *l = languages; *l && !*ret_users; l++) {
		const struct traits_frames *f = (*l)->traits.frames;
		*ret_users = f && any_matches(f->of_users, name);
		is = is || (f && any_matches(f->wrappers, name));
	}
	return is && !*ret_users;
}

static bool is_built_in(const char *name)
{
	bool is_users;
	if (is_of_library(name, &is_users))
		return true;
	return !is_users && any_matches(built_in, name);
}

static bool is_listed(const struct mem_wrappers *w, const char *name)
{
	if (!w->only_globs && is_built_in(name))
		return true;
	for (unsigned i = 0; i < w->globs; i++)
		if (matches(w->glob[i], name))
			return true;
	return false;
}

bool mem_wrappers_has(const struct mem_wrappers *w, const char *name)
{
	if (!name || (w->only_globs && !w->globs))
		return false;
	if (is_listed(w, name))
		return true;
	char shown[DEMANGLE_BYTES], plain[DEMANGLE_BYTES];
	const char *text = demangle(name, shown, sizeof(shown)) ? shown : name;
	mem_wrappers_plain(text, plain, sizeof(plain));
	return strcmp(plain, name) != 0 && is_listed(w, plain);
}

bool mem_wrappers_nameless(const char *name)
{
	const char *offset = name ? strrchr(name, '+') : NULL;
	if (!name || !strcmp(name, "?") || !strcmp(name, "??"))
		return true;
	if (!offset || strncmp(offset, "+0x", 3) || !offset[3])
		return false;
	return !offset[3 + strspn(offset + 3, "0123456789abcdef")];
}

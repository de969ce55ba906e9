// SPDX-License-Identifier: BSD-2-Clause
/* Names as the source has them, and names that are made to take long. */
#include "base/demangle.h"

#include <unistd.h>

#include "session/display_names.h"
#include "session/strings.h"
#include "tests/random.h"
#include "tests/tap.h"

/* NULL: the name is left as it is. */
static const struct {
	const char *name, *want, *rule;
} rows[] = {
	{"camlStdlib__Map__add_123", "Stdlib.Map.add_123", "OCaml up to 5.0: all separators"},
	{"camlStdlib__Map.add_123", "Stdlib.Map.add_123", "OCaml from 5.1: a dot and the function"},
	{"camlDune__exe__Main__fun_456", "Dune.exe.Main.fun_456", "a function without a name"},
	{"camlMain.my__fun_1", "Main.my__fun_1", "behind the dot underscores are the function's"},
	{"camlMain___bar_1", "Main._bar_1", "a name that begins with an underscore"},
	{"camlMain__foo__", "Main.foo__", "a name that ends with underscores"},
	{"camlStdlib__$40_178", "Stdlib.@_178", "an operator is escaped"},
	{"camlStdlib.$5e_5", "Stdlib.^_5", "an operator behind a dot"},
	{"camlMain.caf$c3$a9_1", "Main.caf\xc3\xa9_1", "a name in UTF-8"},
	{"camlMain.a$1b$00$7f$4", "Main.a$1b$00$7f$4", "no escape makes a control character"},
	{"camlMain.a$4G$A0$", "Main.a$4G$A0$", "what is no escape stays"},
	{"camlMain", "Main", "a module alone"},
	{"caml_alloc_shr", NULL, "OCaml's runtime"},
	{"camlinternalFormat", NULL, "a name that begins in lower case"},
	{"caml", NULL, "a prefix alone"},
	{"Stdlib__Map.Make.bal", NULL, "memtrace's own names"},
	{"malloc", NULL, "a function of C"},
	{"", NULL, "no name"},
	{"_ZNSt6vectorIiSaIiEE9push_backEOi",
	 "std::vector<int, std::allocator<int> >::push_back(int&&)", "C++, with its parameters"},
	{"_Z1fv.constprop.0", "f() [clone .constprop.0]", "a clone"},
	{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad",
	 "Rust, without the hash"},
	{"_ZN71_$LT$T$u20$as$u20$core..any..Any$GT$4type17h0123456789abcdefE", NULL,
	 "a length that is not its text's"},
	{"_Z", NULL, "a prefix of C++ alone"},
	{"_Znonsense", NULL, "what is no name of C++"},
};

static void test_names(void)
{
	char got[DEMANGLE_BYTES];
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t len = demangle(rows[i].name, got, sizeof(got));
		if (!len)
			ok(!rows[i].want, "stays: %s", rows[i].rule);
		else
			is_str(got, rows[i].want ? rows[i].want : "(stays)", rows[i].rule);
	}
}

static void test_cut(void)
{
	char got[12];
	is(demangle("camlStdlib__Map__add_123", got, sizeof(got)), 11, "a long name of OCaml");
	is_str(got, "Stdlib.M...", "is cut, and ends with dots");
	is(demangle("_ZNSt6vectorIiSaIiEE9push_backEOi", got, sizeof(got)), 11, "so is one of C++");
	is_str(got, "std::vec...", "and its end shows it");
	is(demangle("camlStdlib.add", got, sizeof(got)), 10, "one that fits");
	is_str(got, "Stdlib.add", "is whole");
}

/* The substitution number i. */
static char *put_ref(char *p, unsigned i)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	return i ? p + sprintf(p, "S%c_", digits[i - 1]) : p + sprintf(p, "S_");
}

/* A type of 2^levels parts: each has the one before it twice. */
static char *put_doubled(char *p, unsigned levels)
{
	p += sprintf(p, "1AI1BIiiE");
	for (unsigned i = 0; i < levels; i++) {
		p += sprintf(p, "S0_I");
		p = put_ref(p, i + 2);
		p = put_ref(p, i + 2);
		p += sprintf(p, "E");
	}
	return p + sprintf(p, "E");
}

/* Without limits each of them takes years, or all memory. */
static void test_hostile(void)
{
	char name[4096], got[DEMANGLE_BYTES], *p;
	alarm(300);
	p = put_doubled(name + sprintf(name, "_Z1f"), 33);
	size_t len = demangle(name, got, sizeof(got));
	is(len, sizeof(got) - 1, "a name with 2^33 parts fills the room");
	is_str(got + len - 3, "...", "and is cut");
	put_doubled(name + sprintf(name, "_Z1fDp"), 33);
	is(demangle(name, got, sizeof(got)), 0, "a pack of as many is left alone");
	p = name + sprintf(name, "_ZN1Acv");
	for (unsigned i = 0; i < 100; i++)
		p += sprintf(p, "T_I");
	p += sprintf(p, "i");
	for (unsigned i = 0; i < 100; i++)
		*p++ = 'E';
	strcpy(p, "Ev");
	is(demangle(name, got, sizeof(got)), 0, "so is a conversion to nested templates");
	memset(name, 'P', sizeof(name));
	memcpy(name, "_Z1f", 4);
	name[sizeof(name) - 1] = '\0';
	is(demangle(name, got, sizeof(got)), 0, "and thousands of pointers to pointers");
}

static void test_random(void)
{
	static const char letters[] = "NSTIEPRKDpvijsZcvLFJXgtdlt_0123456789aA$.";
	uint64_t state = 88172645463325252ull;
	unsigned wrong = 0;
	char name[160], got[64];
	for (unsigned i = 0; i < 30000; i++) {
		const char *seed = rows[random_next(&state) % (sizeof(rows) / sizeof(*rows))].name;
		size_t bytes = strlen(seed);
		strcpy(name, seed);
		for (uint64_t n = random_next(&state) % 6; bytes > 2 && n; n--)
			name[2 + random_next(&state) % (bytes - 2)] =
				letters[random_next(&state) % (sizeof(letters) - 1)];
		memset(got, 'x', sizeof(got));
		size_t len = demangle(name, got, 32);
		wrong += len > 31 || (len && strlen(got) != len) || got[32] != 'x';
	}
	is(wrong, 0, "whatever the name, the result is a string within its room");
}

static uint32_t put(struct strings *t, const char *text)
{
	return strings_put(t, text, strlen(text));
}

static void test_display(void)
{
	struct strings *t;
	struct display_names *d;
	if (strings_new(&t) || display_names_new(t, &d))
		exit(1);
	uint32_t raw = put(t, "_Z1fi"), plain = put(t, "malloc");
	uint32_t shown = display_name(d, raw);
	is_str(strings_text(t, shown), "f(int)", "a report shows the name of the source");
	is(display_name(d, raw), shown, "which is made once");
	is(display_name(d, plain), plain, "a plain name is shown as it is");
	is(display_name(d, 0), 0, "no name is none");
	strings_drop(t, raw);
	strings_drop(t, plain);
	is(strings_count(t), 3, "names are held");
	display_names_free(d);
	is(strings_count(t), 0, "until they are freed");
	display_names_free(NULL);
	strings_free(t);
}

int main(void)
{
	test_names();
	test_cut();
	test_hostile();
	test_random();
	test_display();
	return tap_done();
}

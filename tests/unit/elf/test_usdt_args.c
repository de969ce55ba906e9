/* SPDX-License-Identifier: BSD-2-Clause */
/* Argument strings of USDT notes, real ones and broken ones, for the processor that we run on. */
#include "elf/usdt_args.h"
#include "elf/usdt_text.h"
#include "tests/random.h"
#include "tests/tap.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

struct good_args {
	const char *text, *arguments; /* as describe() writes them */
};

struct bad_args {
	const char *text;
	int err;
	unsigned at;
};

#if defined(__aarch64__)
#include "tests/unit/usdt_args_aarch64.h"
#else
#include "tests/unit/usdt_args_x86_64.h"
#endif

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define MUTATIONS    20000
#define TEXT_BYTES   512

static const char *register_name(uint8_t word)
{
	return word < COUNT(register_names) ? register_names[word] : "?";
}

/* "u8 rax, s4 [rbp+rcx<<2-20], f8 3" */
static void describe(const struct usdt_args *args, char *ret)
{
	char *p = ret, *end = ret + TEXT_BYTES;
	*p = 0;
	for (unsigned i = 0; i < args->count; i++) {
		const struct usdt_arg *a = &args->arg[i];
		p += snprintf(p, (size_t)(end - p), "%s%c%u ", i ? ", " : "",
			      a->is_float    ? 'f'
			      : a->is_signed ? 's'
					     : 'u',
			      a->size);
		if (a->where == USDT_CONSTANT) {
			p += snprintf(p, (size_t)(end - p), "%lld", (long long)a->number);
			continue;
		}
		bool in_memory = a->where == USDT_MEMORY, has_base = a->reg != USDT_NO_REGISTER;
		p += snprintf(p, (size_t)(end - p), "%s%s", in_memory ? "[" : "",
			      has_base ? register_name(a->reg) : "");
		if (a->index != USDT_NO_REGISTER)
			p += snprintf(p, (size_t)(end - p), "%s%s<<%u", has_base ? "+" : "",
				      register_name(a->index), a->shift);
		if (a->number)
			p += snprintf(p, (size_t)(end - p), "%+lld", (long long)a->number);
		if (a->drop)
			p += snprintf(p, (size_t)(end - p), ">>%u", a->drop);
		p += snprintf(p, (size_t)(end - p), "%s", in_memory ? "]" : "");
	}
}

static void test_good(void)
{
	char text[TEXT_BYTES];
	for (size_t i = 0; i < COUNT(good); i++) {
		struct usdt_args args = {0};
		unsigned at = 0;
		if (ok(!usdt_args_parse(good[i].text, &args, &at), "\"%s\" is parsed",
		       good[i].text)) {
			describe(&args, text);
			is_str(text, good[i].arguments, "each argument has its size and location");
		}
	}
	struct usdt_args args = {.count = 1};
	ok(!usdt_args_parse("", &args, NULL) && !args.count, "an empty string has no arguments");
	ok(!usdt_args_parse("  ", &args, NULL) && !args.count, "nor have spaces");
}

static void test_bad(void)
{
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct usdt_args args = {.count = 99};
		unsigned at = 9999;
		int err = usdt_args_parse(bad[i].text, &args, &at);
		ok(err == bad[i].err && at == bad[i].at && args.count == 99,
		   "\"%s\" is refused at offset %u", bad[i].text, bad[i].at);
		if (err != bad[i].err || at != bad[i].at)
			diag("got %d at %u", err, at);
	}
}

static bool find_symbol(void *ctx, const char *name, size_t bytes, uint64_t *ret)
{
	static const struct {
		const char *name;
		uint64_t address;
	} symbols[] = {{"NBuffers", 0x4010}, {"CheckpointStats", 0x800}};
	(void)ctx;
	for (size_t i = 0; i < COUNT(symbols); i++)
		if (strlen(symbols[i].name) == bytes && !memcmp(symbols[i].name, name, bytes)) {
			*ret = symbols[i].address;
			return true;
		}
	return false;
}

static const struct usdt_site site = {.address = 0x1000, .find = find_symbol};

static void test_symbols(void)
{
	char text[TEXT_BYTES];
	for (size_t i = 0; i < COUNT(with_symbols); i++) {
		struct usdt_args args = {0};
		unsigned at = 0;
		ok(!usdt_args_parse_at(with_symbols[i].text, &site, &args, &at),
		   "\"%s\" is parsed where its symbols are known", with_symbols[i].text);
		describe(&args, text);
		is_str(text, with_symbols[i].arguments,
		       "a symbol is memory at its distance from the marker");
	}
	for (size_t i = 0; i < COUNT(without_symbols); i++) {
		struct usdt_args args = {.count = 99};
		unsigned at = 9999;
		int err = usdt_args_parse_at(without_symbols[i].text, &site, &args, &at);
		ok(err == without_symbols[i].err && at == without_symbols[i].at && args.count == 99,
		   "\"%s\" is refused at offset %u", without_symbols[i].text,
		   without_symbols[i].at);
		if (err != without_symbols[i].err || at != without_symbols[i].at)
			diag("got %d at %u", err, at);
	}
}

static void test_count(void)
{
	char text[TEXT_BYTES] = "";
	struct usdt_args args;
	unsigned at = 0;
	size_t n = strlen(one_arg);
	for (size_t i = 0; i <= USDT_ARGS_MAX; i++) {
		memcpy(text + i * n, one_arg, n + 1);
		if (i + 1 == USDT_ARGS_MAX)
			ok(!usdt_args_parse(text, &args, NULL) && args.count == USDT_ARGS_MAX,
			   "as many arguments as <sys/sdt.h> has macros for are parsed");
	}
	int err = usdt_args_parse(text, &args, &at);
	ok(err == -E2BIG && at == USDT_ARGS_MAX * n, "more are refused at the first of them");
}

/* A string of bytes from several examples, some of them replaced. */
static size_t mutate(uint64_t *seed, char *ret)
{
	static const char symbols[] = "0123456789-+@$%#()[], :._abdefilpqrstwxz\x01\xff";
	size_t n = 0;
	for (unsigned parts = 1 + random_next(seed) % 4; parts; parts--) {
		const char *from = random_next(seed) & 1
					   ? good[random_next(seed) % COUNT(good)].text
					   : bad[random_next(seed) % COUNT(bad)].text;
		size_t begin = random_next(seed) % (strlen(from) + 1);
		size_t bytes = random_next(seed) % (strlen(from + begin) + 1);
		memcpy(ret + n, from + begin, bytes);
		n += bytes;
	}
	for (unsigned i = random_next(seed) % 4; n && i; i--)
		ret[random_next(seed) % n] = symbols[random_next(seed) % (sizeof(symbols) - 1)];
	return n;
}

static bool is_sound(const struct usdt_args *args)
{
	for (unsigned i = 0; i < args->count; i++) {
		const struct usdt_arg *a = &args->arg[i];
		bool size = a->size == 1 || a->size == 2 || a->size == 4 || a->size == 8;
		bool reg = a->reg < COUNT(register_names) ||
			   (a->reg == USDT_NO_REGISTER && a->where != USDT_REGISTER);
		bool index = a->index < COUNT(register_names) || a->index == USDT_NO_REGISTER;
		if (!size || !reg || !index || a->shift > 4 || a->where > USDT_MEMORY)
			return false;
	}
	return args->count <= USDT_ARGS_MAX;
}

/* The NUL is the last byte before memory that cannot be read. */
static void test_mutations(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || mprotect(p + page, page, PROT_NONE)) {
		ok(0, "a page without access follows the string");
		return;
	}
	char text[TEXT_BYTES];
	unsigned parsed = 0, refused = 0, unsound = 0;
	uint64_t seed = 1;
	for (int i = 0; i < MUTATIONS; i++) {
		size_t n = mutate(&seed, text);
		char *s = p + page - n - 1;
		memcpy(s, text, n);
		s[n] = 0;
		struct usdt_args args = {.count = USDT_ARGS_MAX + 1};
		unsigned at = 0;
		int err = usdt_args_parse_at(s, i & 1 ? &site : NULL, &args, &at);
		parsed += !err;
		refused += err != 0;
		unsound += err ? at > n || args.count != USDT_ARGS_MAX + 1 : !is_sound(&args);
	}
	ok(parsed > MUTATIONS / 20 && refused > MUTATIONS / 5,
	   "of mutated strings many are parsed (%u) and many refused (%u)", parsed, refused);
	is(unsound, 0, "no result is out of range, and no byte behind a string is read");
	munmap(p, 2 * page);
}

/* A name that is as long as its room, and longer ones: they are cut, and nothing behind is
 * written. */
static void test_long_names(void)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
	unsigned wrong = 0;
	for (size_t len = 0; len <= 26; len++) {
		struct {
			char name[8], behind;
		} room = {.behind = 'x'};
		struct usdt_text t = {.at = letters + 26 - len};
		size_t kept = len < 7 ? len : 7;
		usdt_text_name(&t, room.name, sizeof(room.name));
		wrong += room.behind != 'x' || strlen(room.name) != kept ||
			 strncmp(room.name, letters + 26 - len, kept) != 0 || *t.at;
	}
	is(wrong, 0, "a register's name of any length is read to its end and kept in its room");
}

int main(void)
{
	test_long_names();
	test_good();
	test_bad();
	test_symbols();
	test_count();
	test_mutations();
	return tap_done();
}

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The site of an allocation is the function that asks for the memory, whatever wraps the allocator,
# and whatever the compiler has inlined.
. tests/lib.sh
need_command g++
need_command jq
ebt=$O/ebtrace
cat >"$TMP/sites.cc" <<'END'
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>
#define APART __attribute__((noinline, noclone))
struct cell {
	char bytes[1000];
};
static void *volatile keep;
APART static void *xmalloc(size_t n)
{
	void *p = malloc(n);
	if (!p)
		abort();
	return p;
}
APART static void *pool_get(size_t n)
{
	void *p = xmalloc(n);
	memset(p, 1, n);
	return p;
}
APART static void by_xmalloc() { free(keep = xmalloc(10000)); }
APART static void by_pool() { free(keep = pool_get(20000)); }
APART static void by_strdup() { free(keep = strdup(std::string(30000, 'x').c_str())); }
APART static void by_new() { keep = new cell; delete (cell *)keep; }
APART static void by_vector()
{
	std::vector<cell> v;
	for (int i = 0; i < 10; i++)
		v.push_back(cell());
	keep = v.data();
}
APART static void by_map()
{
	std::map<int, cell> m;
	for (int i = 0; i < 10; i++)
		m[i] = cell();
	keep = &m[0];
}
APART static void by_shared() { keep = std::make_shared<cell>().get(); }
APART static void by_plus(const std::string &s) { keep = (void *)(s + "y").size(); }
int main()
{
	by_xmalloc();
	by_pool();
	by_strdup();
	by_new();
	by_vector();
	by_map();
	by_shared();
	by_plus(std::string(40000, 'x'));
}
END
# Of all sites in the program: those of libc differ from machine to machine.
sites() { "$ebt" mem hotspots -q --json "$@" | jq -r '.sites[].function | sub("\\(.*"; "")' |
	grep -E '^by_|pool|xmalloc|strdup|std::|operator' | LC_ALL=C sort; }
for options in "-O0 -g" "-O2 -g" "-O2"; do
	# shellcheck disable=SC2086
	g++ $options "$TMP/sites.cc" -o "$TMP/sites" &&
		"$ebt" mem record -q --rate 1 -o "$TMP/sites.ctf" -- "$TMP/sites"
	is "$? $(sites "$TMP/sites.ctf" | tr '\n' ' ')" \
		"0 by_map by_new by_plus by_shared by_strdup by_vector by_xmalloc pool_get " \
		"g++ $options: a site is the function that calls wrappers and containers"
done
is "$(sites --wrapper 'pool*' "$TMP/sites.ctf" | grep -E 'pool|xmalloc')" "$(printf 'by_pool\nby_xmalloc')" \
	"--wrapper adds a function"
sites --no-wrappers "$TMP/sites.ctf" >"$TMP/got"
is "$(grep -xE 'xmalloc|by_xmalloc|pool_get' "$TMP/got")$(grep -cE 'std::.*_M_' "$TMP/got")" xmalloc3 \
	"--no-wrappers shows the innermost functions" || diag "$(<"$TMP/got")"
is "$(sites --no-wrappers --wrapper xmalloc "$TMP/sites.ctf" | grep -cxE 'pool_get|by_xmalloc|xmalloc')" 2 \
	"or those inside of which there are only the wrappers that are named"
is "$("$ebt" mem live -q --filter 'site=*by_xmalloc*' "$TMP/sites.ctf" | head -1 | grep -c ': 1 object ')" 1 \
	"a filter of sites selects by the same"
"$ebt" mem flame -q "$TMP/sites.ctf" | grep -q 'by_pool();pool_get(unsigned long);xmalloc(unsigned long) '
ok $? "the flame graph has the wrappers" || diag "$("$ebt" mem flame -q "$TMP/sites.ctf")"
is "$("$ebt" mem diff -q --json "$TMP/sites.ctf" "$TMP/sites.ctf" | jq '[.sites[].function] | index("by_xmalloc()") != null')" \
	true "a comparison is by the same sites"

# A stripped library: the wrapper that it exports calls a function that has no name.
cat >"$TMP/pool.c" <<'END'
#include <stdlib.h>
__attribute__((noinline)) static void *chunk(size_t n)
{
	void *p = malloc(n);
	return p;
}
__attribute__((noinline)) void *xmalloc(size_t n)
{
	void *p = chunk(n);
	return p;
}
__attribute__((noinline)) static void *refill(size_t n)
{
	void *p = xmalloc(n);
	return p;
}
void *pool_api(size_t n)
{
	void *p = refill(n);
	return p;
}
END
cat >"$TMP/app.c" <<'END'
#include <stddef.h>
void *xmalloc(size_t n);
void *pool_api(size_t n);
static void *volatile keep;
__attribute__((noinline)) static void by_wrapper(void) { keep = xmalloc(1000); }
__attribute__((noinline)) static void first(void) { by_wrapper(); by_wrapper(); by_wrapper(); }
__attribute__((noinline)) static void second(void) { by_wrapper(); }
__attribute__((noinline)) static void rarely(void) { keep = pool_api(3000); }
int main(void)
{
	for (int i = 0; i < 100; i++) {
		first();
		second();
		if (!i)
			rarely();
	}
}
END
gcc -g -O0 -shared -fPIC "$TMP/pool.c" -o "$TMP/libpool.so" && strip "$TMP/libpool.so" &&
	gcc -g -O0 "$TMP/app.c" -o "$TMP/app" -L"$TMP" -lpool -Wl,-rpath,"$TMP" &&
	"$ebt" mem record -q --rate 1 -o "$TMP/app.ctf" -- "$TMP/app"
is "$? $("$ebt" mem hotspots -q --json "$TMP/app.ctf" | jq -c '[.sites[0] | .function, .bytes]')" \
	'0 ["by_wrapper",400000]' "a function without a name that a wrapper calls is no site"
"$ebt" mem hotspots -q --json "$TMP/app.ctf" |
	jq -e '[.sites[] | select(.function | test("^libpool.so\\+0x")).bytes] == [3000]' >"$TMP/got"
ok $? "one that calls a wrapper is" || diag "$("$ebt" mem hotspots -q "$TMP/app.ctf")"
is "$("$ebt" mem -q --filter 'site=by_wrapper' "$TMP/app.ctf" | grep -c ': 400 objects') $(
	"$ebt" mem -q --filter 'site=libpool.so+0x*' "$TMP/app.ctf" | grep -c ': 1 object')" "1 1" \
	"a filter of sites finds the same functions"
"$ebt" mem -q "$TMP/app.ctf" >"$TMP/got"
is "$(sed -n 's/.*by_wrapper.* via /via /p' "$TMP/got" | sort -u)" "via first 75 %, second 25 %" \
	"the summary shows the main callers of a site, with their shares of it" || diag "$(<"$TMP/got")"

# The standard library of OCaml.
xz -dc tests/data/memtrace/single.ctf.xz >"$TMP/single.ctf"
is "$("$ebt" mem hotspots -q --json "$TMP/single.ctf" |
	jq -c '[.sites[].function | select(startswith("Dune__exe__Mt_single") | not)]')" \
	'[]' "the sites of an OCaml program are its own functions"
"$ebt" mem -q "$TMP/single.ctf" | grep -q 'churn.(fun) (progs/mt_single.ml:.*) via Dune__exe__Mt_single.churn 100 %$'
ok $? "a caller behind functions of that library is shown" || diag "$("$ebt" mem -q "$TMP/single.ctf")"
done_testing

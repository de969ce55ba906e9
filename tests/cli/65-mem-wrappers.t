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
int main()
{
	by_xmalloc();
	by_pool();
	by_strdup();
	by_new();
	by_vector();
	by_map();
	by_shared();
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
		"0 by_map by_new by_shared by_strdup by_vector by_xmalloc pool_get " \
		"g++ $options: a site is the function that calls wrappers and containers"
done
is "$(sites --wrapper 'pool*' "$TMP/sites.ctf" | grep -E 'pool|xmalloc')" "$(printf 'by_pool\nby_xmalloc')" \
	"--wrapper adds a function"
sites --no-wrappers "$TMP/sites.ctf" >"$TMP/got"
is "$(grep -xE 'xmalloc|by_xmalloc|pool_get' "$TMP/got")$(grep -cE 'std::.*_M_' "$TMP/got")" xmalloc2 \
	"--no-wrappers shows the innermost functions" || diag "$(<"$TMP/got")"
is "$(sites --no-wrappers --wrapper xmalloc "$TMP/sites.ctf" | grep -cxE 'pool_get|by_xmalloc|xmalloc')" 2 \
	"or those inside of which there are only the wrappers that are named"
is "$("$ebt" mem live -q --filter 'site=*by_xmalloc*' "$TMP/sites.ctf" | head -1 | grep -c ': 1 objects')" 1 \
	"a filter of sites selects by the same"
"$ebt" mem flame -q "$TMP/sites.ctf" | grep -q 'by_pool();pool_get(unsigned long);xmalloc(unsigned long) '
ok $? "the flame graph has the wrappers" || diag "$("$ebt" mem flame -q "$TMP/sites.ctf")"
is "$("$ebt" mem diff -q --json "$TMP/sites.ctf" "$TMP/sites.ctf" | jq '[.sites[].function] | index("by_xmalloc()") != null')" \
	true "a comparison is by the same sites"
done_testing

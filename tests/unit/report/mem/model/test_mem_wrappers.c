/* SPDX-License-Identifier: BSD-2-Clause */
/* Which functions are wrappers of allocators, by the names that programs have. */
#include "report/mem/model/wrappers.h"
#include "tests/tap.h"

#include <string.h>

static const struct {
	const char *shown, *plain;
} names[] = {
	{"xmalloc", "xmalloc"},
	{"xmalloc.part.0", "xmalloc"},
	{"Stdlib.List.map", "Stdlib.List.map"},
	{"f(int, std::map<int, int>)", "f"},
	{"void std::vector<N, std::allocator<N> >::_M_realloc_insert<N>(N*, N&&)",
	 "std::vector::_M_realloc_insert"},
	{"std::__cxx11::basic_string<char>::basic_string(char const*)",
	 "std::basic_string::basic_string"},
	{"std::__1::vector<int>::push_back(int const&)", "std::vector::push_back"},
	{"my::__1::f()", "my::__1::f"},
	{"operator new(unsigned long)", "operator new"},
	{"operator new[](unsigned long)", "operator new[]"},
	{"A::operator()(int)", "A::operator()"},
	{"std::ostream& operator<< <std::string>(std::ostream&)", "operator<<"},
	{"A::operator std::vector<int>() const", "A::operator std::vector"},
	{"bool operator< <A>(A, A)", "operator<"},
	{"std::basic_string<char> std::operator+<char, int>(char const*, A)", "std::operator+"},
	{"auto std::operator<=><A>(A, A)", "std::operator<=>"},
	{"A::operator->()", "A::operator->"},
	{"std::map<int, A>::operator[](int&&)", "std::map::operator[]"},
	{"std::string std::operator\"\" s(char const*, unsigned long)", "std::operator\"\" s"},
	{"operators::f(int)", "operators::f"},
	{"(anonymous namespace)::pool<4>::get(int)", "(anonymous namespace)::pool::get"},
	{"a<b", "a"},
	{"", ""},
};

static void test_plain(void)
{
	char plain[64];
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		mem_wrappers_plain(names[i].shown, plain, sizeof(plain));
		ok(!strcmp(plain, names[i].plain), "the plain name of '%s' is '%s'", names[i].shown,
		   plain);
	}
	mem_wrappers_plain("std::__cxx11::basic_string<char>::f()", plain, 8);
	is_str(plain, "std::__", "a name that does not fit is cut off");
}

static const struct {
	const char *name;
	bool has;
} built_in[] = {
	{"malloc", true},
	{"xmalloc", true},
	{"xmalloc.constprop.0", true},
	{"Perl_safesysmalloc", true},
	{"Perl_safesyscalloc", true},
	{"g_malloc0_n", true},
	{"_Znwm", true}, /* operator new(unsigned long) */
	{"_Znam", true},
	{"_ZNSt15__new_allocatorIcE8allocateEmPKv", true},
	{"_ZN9__gnu_cxx13new_allocatorIcE8allocateEmPKv", true},
	{"_ZNSt12_Vector_baseIiSaIiEE11_M_allocateEm", true},
	{"_ZNSt6vectorIiSaIiEE17_M_realloc_insertIJiEEEvN9__gnu_cxx17__normal_iteratorIPiS1_"
	 "EEDpOT_",
	 true},
	{"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_createERmm", true},
	{"std::allocator_traits<std::allocator<int> >::allocate(unsigned long)", true},
	{"operator new[](unsigned long)", true},
	{"_ZNSolsEi", true}, /* std::ostream::operator<<(int) */
	/* std::operator+(std::string const&, char const*) */
	{"_ZStplIcSt11char_traitsIcESaIcEENSt7__cxx1112basic_stringIT_T0_T1_EERKS8_PKS5_", true},
	{"std::for_each<int*, f>(int*, int*, f)", true},
	{"__cxa_allocate_exception", true},
	{"Stdlib.List.map", true},
	{"Stdlib__Bytes.extend", true},
	{"Stdlib.(^)", true},
	{"CamlinternalFormat.make_printf", true},
	{"camlStdlib__List__map_343", true},
	/* Functions that call a user's, which may be inlined in them. */
	{"_ZNSt17_Function_handlerIFvvEZ4mainEUlvE_E9_M_invokeERKSt9_Any_data", false},
	{"_ZNSt6thread11_State_implINS_8_InvokerISt5tupleIJPFvvEEEEEE6_M_runEv", false},
	{"mallocate", false},
	{"my_malloc", false},
	{"Foo.malloc", false},
	{"Stdlib_ext.map", false},
	{"Dune__exe__Stdlib.f", false},
	{"stdx::f()", false},
	{"_Z3addSt6vectorIiSaIiEE", false}, /* add(std::vector<int>) */
	{NULL, false},
};

static void test_built_in(void)
{
	const struct mem_wrappers usual = {0};
	for (size_t i = 0; i < sizeof(built_in) / sizeof(*built_in); i++)
		ok(mem_wrappers_has(&usual, built_in[i].name) == built_in[i].has, "%s is %s",
		   built_in[i].name ? built_in[i].name : "a function without a name",
		   built_in[i].has ? "a wrapper" : "a site");
}

static void test_added(void)
{
	static const char *const globs[] = {"pool_*", "arena::get"};
	const struct mem_wrappers more = {.glob = globs, .globs = 2};
	const struct mem_wrappers only = {.glob = globs, .globs = 2, .only_globs = true};
	const struct mem_wrappers none = {.only_globs = true};
	ok(mem_wrappers_has(&more, "pool_get") && mem_wrappers_has(&more, "malloc"),
	   "globs are added to those that are built in");
	ok(mem_wrappers_has(&more, "_ZN5arena3getEm"), "they match a C++ name without parameters");
	ok(mem_wrappers_has(&only, "pool_get") && !mem_wrappers_has(&only, "malloc"),
	   "or stand alone");
	ok(!mem_wrappers_has(&none, "malloc"), "without any no function is a wrapper");
}

static const struct {
	const char *name;
	bool is_nameless;
} without[] = {
	{NULL, true},	     {"??", true},	   {"?", true},	    {"libc.so.6+0x1f", true},
	{"f", false},	     {"operator+", false}, {"f+0x", false}, {"f+0x1g", false},
	{"Stdlib.+", false}, {"a+0x1+", false},
};

static void test_nameless(void)
{
	for (size_t i = 0; i < sizeof(without) / sizeof(*without); i++)
		ok(mem_wrappers_nameless(without[i].name) == without[i].is_nameless, "'%s' is %s",
		   without[i].name ? without[i].name : "(none)",
		   without[i].is_nameless ? "no name" : "a name");
}

int main(void)
{
	test_nameless();
	test_plain();
	test_built_in();
	test_added();
	return tap_done();
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>

#include "session/language.h"

static const char *const wrappers[] = {
	"operator new", "operator new[[]]", "__cxa_allocate_*", "__gnu_cxx::*", "std::*", NULL,
};

/* Functions of namespace std that contain code of the user's, inlined by the compiler. */
static const char *const of_users[] = {
	"std::_Function_handler::*",
	"std::thread::_State_impl::*",
	"std::__invoke*",
	NULL,
};

static const struct traits_frames frames = {.wrappers = wrappers, .of_users = of_users};

/* It has no runtime. */
const struct language language_cxx = {.traits = {.name = "c++", .frames = &frames}};

/* SPDX-License-Identifier: BSD-2-Clause */
#include <caml/callback.h>
#include <caml/intext.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>
#include <stdlib.h>
#include <string.h>

value sites_call_back(value f);
value sites_value_of_block(value text);

value sites_call_back(value f)
{
	CAMLparam1(f);
	caml_callback(f, Val_unit);
	CAMLreturn(Val_unit);
}

value sites_value_of_block(value text)
{
	CAMLparam1(text);
	size_t bytes = caml_string_length(text);
	char *copy = malloc(bytes);
	if (!copy)
		abort();
	memcpy(copy, String_val(text), bytes);
	value v = caml_input_value_from_block(copy, (intnat)bytes);
	free(copy);
	CAMLreturn(v);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* An OCaml runtime in a shared library: made into one together with embedded.ml. */
#include <caml/callback.h>
#include <caml/mlvalues.h>

void embed_start(char **argv);
void embed_work(int n);

void embed_start(char **argv)
{
	caml_startup(argv);
}

void embed_work(int n)
{
	caml_callback(*caml_named_value("work"), Val_int(n));
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process with several OCaml runtimes: starts the one in each shared library that it is given,
 * all in one thread, then says "ready" and waits for the end of its standard input.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		void (*startup)(char **) =
			library ? (void (*)(char **))dlsym(library, "caml_startup") : NULL;
		if (!startup) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		char *args[] = {argv[i], NULL};
		startup(args);
	}
	fprintf(stderr, "ready\n");
	return getchar() != EOF;
}

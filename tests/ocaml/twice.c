/* SPDX-License-Identifier: BSD-2-Clause */
/* Two OCaml runtimes in one process, from the libraries one.so and two.so: reads a line, then lets
 * the first collect 100 times and the second 200 times. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	(void)argc;
	const char *const path[] = {"./one.so", "./two.so"};
	void *lib[2];
	for (int i = 0; i < 2; i++) {
		lib[i] = dlopen(path[i], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
		if (!lib[i]) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		((void (*)(char **))dlsym(lib[i], "embed_start"))(argv);
	}
	fprintf(stderr, "ready\n");
	getchar();
	for (int i = 0; i < 2; i++)
		((void (*)(int))dlsym(lib[i], "embed_work"))(100 * (i + 1));
	return 0;
}

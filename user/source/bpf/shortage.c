// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/shortage.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"

#define FILES_MAX 256 /* descriptors that are tried */

int shortage_of_files(int wanted)
{
	int fd[FILES_MAX], n = 0, err = 0;
	for (; n < wanted && n < FILES_MAX && !err; n += !err) {
		fd[n] = file_open(AT_FDCWD, "/dev/null", 0);
		err = fd[n] < 0 ? fd[n] : 0;
	}
	while (n)
		close(fd[--n]);
	return err == -EMFILE || err == -ENFILE ? err : 0;
}

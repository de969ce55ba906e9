#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The rules of the house that a grep can hold: who may include whom, one file a dependency, sizes.
cd "$(dirname "$0")/../.." || exit 1
n=0 failed=0
check() { # name, offending lines
  n=$((n + 1))
  if [ -z "$2" ]; then echo "ok $n - $1"; else
    failed=1; echo "not ok $n - $1"; sed 's/^/# /' <<<"$2"
  fi
}
. tests/layers.sh
for layer in $folders; do
  check "$layer has files" "$([ -n "$(find user/"$layer" -name '*.[ch]' 2>/dev/null)" ] || echo "user/$layer is empty")"
  allowed="$layer ${below[$layer]}"
  [ $layer = source ] && allowed+=" bpf" # the records' layout
  check "$layer includes only: $allowed" "$(grep -nE '^#include "[a-z]+/' user/"$layer"/*.[ch] |
    grep -vE "#include \"(${allowed// /|})/")"
done
# What is no array of entries, or has an exact size: buffers of bytes with a limit, a hash table with its entries,
# what a budget pays for, what shrinks.
check "arrays grow by base/array.h" "$(grep -rnE '\brealloc(array)? ?\([^)]' user --include=*.[ch] |
  grep -vE '/(array\.h|file\.c|intern\.c|ring_lane\.c|pages_map\.c|mem_process\.c|capture_read\.c|memtrace_packet\.c|memtrace_read\.c):')"
check "every file of user/ is in a layer" "$(find user -name '*.[ch]' | grep -vE "^user/(${folders// /|})/")"
check "bpf sees only the public headers, its own and the kernel's types" \
  "$(grep -nE '^#include' bpf/* | grep -vE '<ebtrace/|<bpf/|"vmlinux.h"|"bpf/|"abi.h"|"[a-z0-9_]+\.bpf\.h"')"
check "the probe library includes only the public headers and libc" \
  "$(grep -nE '^#include ["<](user|base|core|codec|proc|source|sink|cmd|bpf|vmlinux|elf|libelf)/' usdt-probes/*.[ch] usdt-probes/preload/*.[ch])"
lower=
for layer in $probe_layers; do
  lower+=" ${probe_files[$layer]}"
  for file in ${probe_files[$layer]}; do
    check "usdt-probes: $file, of $layer, includes only its layer and those below" \
      "$(grep -nE '^#include "' usdt-probes/"$file".[ch] 2>/dev/null | sed 's/\.h"$/"/' |
        grep -vE "#include \"(${lower// /|})\"$")"
  done
done
check "usdt-probes: preload includes only its own files and those of the library that it links" \
  "$(grep -nE '^#include "' usdt-probes/preload/*.[ch] |
    grep -vE '#include "(\.\./(sampler|confined|fork_mark|pages|file_id|frame_pointers|trace_stream|module_file)|[a-z_]+)\.h"')"
check "every file of usdt-probes has a layer" \
  "$(comm -3 <(printf '%s\n' $lower | sort) <(basename -a usdt-probes/*.[ch] | sed 's/\.[ch]$//' | sort -u))"
one() { # header regex, name, the only file that may include it
  check "$2 enters through one file" "$(grep -lE "^#include <($1)" user/*/*.[ch] | grep -vx "$3")"
}
one 'bpf/' libbpf user/source/bpf_kernel.c
one 'argp' argp user/cmd/opts.c
one 'elfutils/' libdw user/proc/debug_info.c
one 'libiberty' libiberty user/base/demangle_cxx.c
one 'curl/' libcurl user/proc/debuginfod_worker.c
one 'zstd|zlib' 'zstd, and zlib,' user/base/compress.c
check "libelf enters through proc/ only" "$(grep -lE '^#include <(libelf|gelf|elfutils)' user/*/*.[ch] | grep -v '^user/proc/')"
check "only cmd/ ends the program or writes to stdout; processes that we fork to hold links, to read symbols, to ask for them, to read memory, and to become a program, end themselves" \
  "$(grep -nE '\b(_?exit|abort|err|errx|perror|puts|putchar|printf)\(' user/{base,codec,core,proc,source,model,sink,engine}/*.c |
    grep -vE '^user/(source/link_keeper.c:[0-9]*:	_exit\(0\);|proc/symbols_worker.c:[0-9]*:		_exit\(0\);|proc/debuginfod_worker.c:[0-9]*:		_exit\(0\);|proc/memory_reader.c:[0-9]*:	+_exit\([01]\);|engine/program.c:[0-9]*:	+_exit\(12[67]\);)')"
check "an event names its process by index: only libebtrace's own files, and captures as they are on disk, have a pid in it" \
  "$(grep -nE '\b(ev|event|events|e|held|pending|next|lost|batch)(\[[^]]*\])?(\.|->)pid\b' user/{base,core,runtime,source,model,sink,engine,cmd}/*.[ch] |
    grep -vE '^user/(source/(cursor|ring_reader)\.[ch]:|source/capture\.c:[0-9]*:.*s->item\.event\.pid|sink/ebt\.c:.*numbered\.pid)')"
check "engine/ reports, and shows nothing itself" \
  "$(grep -nE '\b(fprintf|fputs|fputc|dprintf|vfprintf)\(|\bstd(out|err)\b|log_at\(LOG_(QUIET|NORMAL|VERBOSE)' user/engine/*.c)"
check "reports go through print(), which lets no control character pass" \
  "$(grep -nE '\b(v?printf|puts|putchar|fwrite)\(' user/cmd/*.c | grep -vE '^user/cmd/(print|opts)\.c')"
# What is opened otherwise: directories, which cannot be leased, files that are created, and our own.
check "files are opened for reading by file_open(), which never blocks" "$(perl -0777 -ne '
    while (/(?<![>.\w])(?:open|open64|openat|openat2|fopen|freopen|creat|syscall\(SYS_open\w*)\((?:"[^"]*"|[^;"])*;/g) {
      my $call = $&;
      next if $call =~ /O_PATH|O_DIRECTORY|O_EXCL|"\/proc\/self\//;
      $call =~ s/\s+/ /g;
      print "$ARGV: $call\n";
    }' user/*/*.c | grep -vE '^user/(base/file.c: openat\(dir, path, O_RDONLY \| O_CLOEXEC \| O_NONBLOCK|proc/loadable.c: .*O_NONBLOCK|cmd/outfile.c: openat\(f->dir_fd, f->base, flags)')"
check "no file has more than 800 lines" \
  "$(find include usdt-probes bpf user tests -name '*.[ch]' -o -name '*.t' | xargs wc -l | awk '$2 != "total" && $1 > 800')"
check "no function has more than 60 lines" "$(find usdt-probes bpf user tests -name '*.c' |
  xargs awk 'FNR==1{s=0} /^\{$/{s=FNR} /^\}/{if(s && FNR-s-1>60) print FILENAME":"s": "FNR-s-1" lines"; s=0}')"
check "every source file names its licence" \
  "$(find include usdt-probes bpf user tests \( -name '*.[ch]' -o -name '*.def' -o -name '*.t' -o -name '*.sh' \) |
    xargs grep -L SPDX-License-Identifier)"
check "make help names every target that a user types" \
  "$(comm -23 <(sed -n 's/^\.PHONY: all //p' Makefile | tr ' ' '\n' | sort) <(make -s help | awk '{ print $1 }' | sort))"
echo "1..$n"
exit $failed

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
for layer in $layers; do
  check "$layer has files" "$([ -n "$(find user/"$layer" -name '*.[ch]' 2>/dev/null)" ] || echo "user/$layer is empty")"
  allowed="$layer ${below[$layer]}"
  [ $layer = source ] && allowed+=" bpf" # the records' layout
  check "$layer includes only: $allowed" "$(grep -rnE '^#include "[a-z0-9_]+/' user/"$layer" --include='*.[ch]' |
    grep -vE "#include \"(${allowed// /|})/")"
  check "within $layer, folders include only what lies below them" "$(awk -F: '
    NR == FNR { n = split($0, word, " "); for (i = 2; i <= n; i++) may[word[1], word[i]]; next }
    { folder = $3; sub(/^#include "/, "", folder); sub(/\/[^\/]*".*/, "", folder) }
    !(($1, folder) in may)' \
    <(find user/"$layer" -name '*.[ch]' | while read -r file; do printf '%s ' "$file"; allowed_folders "$file"; done) \
    <(grep -rnE "^#include \"$layer/" user/"$layer" --include='*.[ch]'))"
done
check "every folder that may be included is there" "$(for folder in "${!beside[@]}" ${beside[@]} ${above[@]} $report_numbers; do
  [ -n "$(find user/"$folder" -maxdepth 1 -name '*.[ch]' 2>/dev/null)" ] || echo "user/$folder"; done)"
check "formats use what reports share, and their numbers: $report_numbers" "$(grep -rnE '^#include "report/' user/format |
  grep -vE "#include \"(${report_numbers// /|})/[^/]+\"")"
# What is no array of entries, or has an exact size: buffers of bytes with a limit, a hash table with its entries,
# what a budget pays for, what shrinks.
check "arrays grow by base/array.h" "$(grep -rnE '\brealloc(array)? ?\([^)]' user --include=*.[ch] |
  grep -vE '^user/(base/(array\.h|file\.c)|session/intern\.c|source/ring/lane\.c|report/pages/model/map\.c|report/mem/model/process\.c|codec/capture/read\.c|codec/memtrace/(packet|read)\.c):')"
check "below cmd people are told by the session's messages, and only diagnostics are logged" \
  "$(grep -rnE '\<(log_v?at\(|fprintf\(stderr|perror\(|fputs\(.*stderr)' user --include=*.c | grep -vE '^user/(cmd/|base/log\.c:)|log_at\(LOG_DEBUG,')"
check "every file of user/ is in a layer" "$(find user -name '*.[ch]' | grep -vE "^user/(${layers// /|})/")"
check "bpf sees only the public headers, its own and the kernel's types" \
  "$(grep -nE '^#include' bpf/* | grep -vE '<ebtrace/|<bpf/|"vmlinux.h"|"bpf/|"abi.h"|"counts.h"|"../user/base/buckets.h"|"[a-z0-9_]+\.bpf\.h"')"
check "the probe library includes only the public headers and libc" \
  "$(grep -nE '^#include ["<](user|base|core|codec|proc|source|sink|cmd|bpf|vmlinux|elf|libelf)/' usdt-probes/*.[ch] usdt-probes/*/*.[ch])"
check "usdt-probes/shared includes its own files and the public headers alone" \
  "$(grep -nE '^#include "' usdt-probes/shared/*.[ch] | grep -vE '#include "[a-z_]+\.h"')"
lower=
for layer in $probe_layers; do
  lower+=" ${probe_files[$layer]}"
  for file in ${probe_files[$layer]}; do
    check "usdt-probes: $file, of $layer, includes only its layer and those below" \
      "$(grep -nE '^#include "' usdt-probes/"$file".[ch] 2>/dev/null | sed 's/\.h"$/"/' |
        grep -vE "#include \"(shared/[a-z_]+${lower// /|})\"$")"
  done
done
check "usdt-probes: preload includes only its own files and those that both libraries link" \
  "$(grep -nE '^#include "' usdt-probes/preload/*.[ch] | grep -vE '#include "(\.\./shared/)?[a-z_0-9]+\.h"')"
check "every file of usdt-probes has a layer" \
  "$(comm -3 <(printf '%s\n' $lower | sort) <(basename -a usdt-probes/*.[ch] | sed 's/\.[ch]$//' | sort -u))"
one() { # header regex, name, the only file that may include it
  check "$2 enters through one file" "$(grep -rlE "^#include <($1)" user --include='*.[ch]' | grep -vx "$3")"
}
one 'bpf/' libbpf user/source/bpf/kernel.c
one 'argp' argp user/cmd/opts.c
one '(n?curses|term)' ncurses user/cmd/screen.c
one 'elfutils/' libdw user/elf/debug_info.c
one 'libiberty' libiberty user/base/demangle_cxx.c
one 'curl/' libcurl user/elf/debuginfod_worker.c
one 'zstd|zlib' 'zstd, and zlib,' user/base/compress.c
check "libelf enters through elf/ only" "$(grep -rlE '^#include <(libelf|gelf|elfutils)' user --include='*.[ch]' | grep -v '^user/elf/')"
check "only cmd/ ends the program or writes to stdout; processes that we fork to hold links, to read symbols, to ask for them, to read memory, and to become a program, end themselves" \
  "$(grep -nE '\b(_?exit|abort|err|errx|perror|puts|putchar|printf)\(' user --include='*.c' -r | grep -v ^user/cmd/ |
    grep -vE '^user/(source/bpf/link_keeper.c:[0-9]*:	_exit\(0\);|elf/symbols_worker.c:[0-9]*:		_exit\(0\);|elf/debuginfod_worker.c:[0-9]*:		_exit\(0\);|proc/memory_reader.c:[0-9]*:	+_exit\([01]\);|engine/program/program.c:[0-9]*:	+_exit\(12[67]\);)')"
check "an event names its process by index: only libebtrace's own files, and captures as they are on disk, have a pid in it" \
  "$(grep -nE '\b(ev|event|events|e|held|pending|next|lost|batch)(\[[^]]*\])?(\.|->)pid\b' user --include='*.[ch]' -r |
    grep -vE '^user/((codec|proc|elf)/|source/ring/(cursor|reader)\.[ch]:|source/file/capture\.c:[0-9]*:.*s->item\.event\.pid|format/ebt/ebt\.c:.*numbered\.pid)')"
check "engine/ reports, and shows nothing itself" \
  "$(grep -nE '\b(fprintf|fputs|fputc|dprintf|vfprintf)\(|\bstd(out|err)\b|log_at\(LOG_(QUIET|NORMAL|VERBOSE)' -r user/engine --include='*.c')"
check "reports go through print(), which lets no control character pass" \
  "$(grep -nE '\b(v?printf|puts|putchar|fwrite)\(' user/cmd/*.c | grep -vE '^user/cmd/(print|opts)\.c')"
# What is opened otherwise: directories, which cannot be leased, files that are created, and our own.
check "files are opened for reading by file_open(), which never blocks" "$(perl -0777 -ne '
    while (/(?<![>.\w])(?:open|open64|openat|openat2|fopen|freopen|creat|syscall\(SYS_open\w*)\((?:"[^"]*"|[^;"])*;/g) {
      my $call = $&;
      next if $call =~ /O_PATH|O_DIRECTORY|O_EXCL|"\/proc\/self\//;
      $call =~ s/\s+/ /g;
      print "$ARGV: $call\n";
    }' $(find user -name '*.c') | grep -vE '^user/(base/file.c: openat\(dir, path, O_RDONLY \| O_CLOEXEC \| O_NONBLOCK|proc/loadable.c: .*O_NONBLOCK|engine/program/program.c: open\("/dev/null"|cmd/screen.c: open\("/dev/tty"|cmd/outfile.c: openat\(f->dir_fd, f->base, flags)')"
check "no file has more than 800 lines" \
  "$(find include usdt-probes bpf user tests -name '*.[ch]' -o -name '*.t' | xargs wc -l | awk '$2 != "total" && $1 > 800')"
check "no function has more than 60 lines" "$(find usdt-probes bpf user tests -name '*.c' |
  xargs awk 'FNR==1{s=0} /^\{$/{s=FNR} /^\}/{if(s && FNR-s-1>60) print FILENAME":"s": "FNR-s-1" lines"; s=0}')"
check "every source file names its licence" \
  "$(find include usdt-probes bpf user tests \( -name '*.[ch]' -o -name '*.def' -o -name '*.t' -o -name '*.sh' \) |
    xargs grep -L SPDX-License-Identifier)"
check "make help names every target that a user types" \
  "$(comm -23 <(sed -n 's/^\.PHONY: all //p' Makefile | tr ' ' '\n' | sort) <(make -s help O=none | awk '{ print $1 }' | sort))"
echo "1..$n"
exit $failed

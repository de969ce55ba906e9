#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What is known of a language is data of its row: these files alone name OCaml, comments included.
. tests/lib.sh

# The runtime, its row and what else the rows name; what was made for it: the ring's protocol, memtrace,
# stacks and probes of its code; tables of runtimes, attachers, BPF programs and their maps, and their
# records; what users read and type: options, help, keys of outputs.
cat >"$TMP/want" <<'END'
user/base/demangle.c
user/base/demangle.h
user/cmd/info.c
user/cmd/list.c
user/cmd/mem.c
user/cmd/mem_record.c
user/cmd/opts.c
user/cmd/profile.c
user/codec/memtrace/
user/codec/ring/
user/format/memtrace.c
user/runtime/ocaml/
user/runtime/runtime.h
user/runtime/runtimes.c
user/session/language.h
user/session/language_ebtrace_probes.c
user/session/language_ocaml.c
user/session/languages.c
user/source/bpf/alloc_process.c
user/source/bpf/alloc_rest.c
user/source/bpf/alloc_rest.h
user/source/bpf/attach_ocaml.c
user/source/bpf/attach_ocaml.h
user/source/bpf/attach_ocaml_alloc.c
user/source/bpf/attach_ocaml_samples.c
user/source/bpf/attacher.h
user/source/bpf/attachers.c
user/source/bpf/attachers.h
user/source/bpf/event_stacks.c
user/source/bpf/kernel.c
user/source/bpf/records.c
user/source/bpf/samples.c
user/source/ring/
user/source/stacks/ocaml_parts.c
user/source/stacks/ocaml_parts.h
user/source/stacks/ocaml_stack.c
user/source/stacks/ocaml_stack.h
END
grep -rilE ocaml user | sed -E 's,^(user/(codec/memtrace|codec/ring|runtime/ocaml|source/ring)/).*,\1,' |
	LC_ALL=C sort -u >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "files that name OCaml"
cat >"$TMP/want" <<'END'
user/codec/capture/capture.h
user/codec/ring/
user/engine/input/ring.c
user/session/language.h
user/session/language_ebtrace_probes.c
user/session/language_ocaml.c
user/session/versions.c
user/session/versions.h
user/source/bpf/numberings.c
user/source/bpf/records.c
user/source/file/capture.c
user/source/ring/
END
grep -rlE 'EBT_RELEASE_|enum ebt_release' user --include='*.[ch]' | sed -E 's,^(user/(codec|source)/ring/).*,\1,' |
	LC_ALL=C sort -u >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "files that have versions as the numbers of rings and captures"
done_testing

# ebtrace. `make help` lists the targets. Built things go to $(O).
# V=1 shows commands; SAN=address,undefined instruments; O=DIR builds elsewhere.

O      ?= build
CC     := gcc
CLANG  ?= clang
# Where files are installed, by their GNU names. DESTDIR precedes all of them, for this time only.
PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR    ?= $(PREFIX)/share
MANDIR     ?= $(DATADIR)/man
PRELOADDIR ?= $(LIBDIR)/ebtrace
JOBS   ?= $(shell nproc)
VERSION := 1.0

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-7s %s\n'
endif
MAKEFLAGS += --no-print-directory
.DELETE_ON_ERROR:
.SECONDARY:

MULTIARCH := $(shell $(CC) -print-multiarch)
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith \
        -Wwrite-strings -Wundef -Wformat=2 -Wconversion -Wno-sign-conversion $(if $(CI),-Werror)
CFLAGS   ?= -O2 -g
# From one directory to another, neither of which needs to exist.
relative = $(shell realpath -ms --relative-to='$(1)' '$(2)')
PRELOAD_FROM_BIN := $(call relative,$(BINDIR),$(PRELOADDIR))
EBT_CFLAGS := -std=gnu11 $(CPPFLAGS) $(CFLAGS) $(WARN) -fno-common -fvisibility=hidden -fPIC \
        -Iinclude -Iuser -I. -I$(O)/bpf -D_GNU_SOURCE -DEBT_VERSION='"$(VERSION)"' \
        -DEBT_PRELOAD_DIR='"$(PRELOAD_FROM_BIN)"' -MMD -MP
ifneq ($(SAN),)
EBT_CFLAGS += -fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all
LDFLAGS += -fsanitize=$(SAN)
# TSan does not model fences, and gcc says so; what they order is read by system calls here.
EBT_CFLAGS += $(if $(findstring thread,$(SAN)),-Wno-tsan)
endif
LIBS := -lbpf -ldw -lelf -lz -lzstd -liberty -lm -pthread

# Of files that are named for a processor, those of the one that we build for.
PROCESSOR := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
of_others = $(filter-out %_$(PROCESSOR).c,$(filter %_x86_64.c %_aarch64.c,$(1)))
native    = $(filter-out $(call of_others,$(1)),$(1))
USER_SRC  := $(call native,$(filter-out user/cmd/%,$(wildcard user/*/*.c)))
CMD_SRC   := $(wildcard user/cmd/*.c)
PROBE_SRC := $(wildcard usdt-probes/*.c)
# libebtrace-preload.so: of the probe library it has the parts that need nothing of a ring.
PRELOAD_SRC := $(call native,$(wildcard usdt-probes/preload/*.c)) \
               $(addprefix usdt-probes/,sampler.c fork_mark.c confined.c pages.c file_id.c \
                 frame_pointers.c trace_stream.c module_file.c)
BPF_SRC   := $(wildcard bpf/*.bpf.c)
# What libebtrace is made of: the cursor, the ring codec, and what they stand on. Captures need
# zlib and zstd, histograms libm, and names of functions libiberty, which whoever links it shall not.
CAPTURE_SRC := $(wildcard user/codec/capture*.c) user/base/compress.c
LIB_SRC   := $(filter-out $(CAPTURE_SRC) user/base/histogram.c user/base/demangle%,$(wildcard user/codec/*.c) \
             $(wildcard user/base/*.c)) \
             user/core/kinds.c user/source/cursor.c user/source/ring_header.c user/source/ring_reader.c \
             user/proc/ringfile.c user/proc/maps.c user/proc/process.c user/proc/regular.c user/proc/pagemap.c \
             user/proc/memory_reader.c
UNIT_SRC  := $(call native,$(wildcard tests/unit/test_*.c))
PROG_SRC  := $(call native,$(wildcard tests/prog/*.c))
# Hostile programs, and makers of hostile files.
ATTACK_SRC := $(wildcard tests/attack/*.c)
BENCH_SRC := $(call native,$(wildcard tests/bench/bench_*.c))
FUZZ_SRC  := $(wildcard tests/fuzz/fuzz_*.c)
obj = $(patsubst %.c,$(O)/%.o,$(1))

UNIT  := $(patsubst %.c,$(O)/%,$(UNIT_SRC))
PROGS := $(patsubst %.c,$(O)/%,$(PROG_SRC))
ATTACKS := $(patsubst %.c,$(O)/%,$(ATTACK_SRC))
BENCH := $(patsubst %.c,$(O)/%,$(BENCH_SRC))
FUZZ  := $(patsubst %.c,$(O)/%,$(FUZZ_SRC))
ALL   := $(O)/ebtrace $(O)/libebtrace.a $(O)/libebtrace.so $(O)/libebtrace-probes.a $(O)/libebtrace-probes.so \
         $(O)/libebtrace-preload.so
COMPLETIONS := $(addprefix $(O)/completions/,ebtrace.bash _ebtrace ebtrace.fish)

all: $(ALL) $(COMPLETIONS) ## build the program and the libraries (default)

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t15

-include $(shell find $(O) -name '*.d' 2>/dev/null)

$(O)/%.o: %.c
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(EBT_CFLAGS) -c $< -o $@

# A file that depends on variables of make: written anew, but replaced only if it differs.
FORCE:
replace = @if cmp -s $@.tmp $@; then rm $@.tmp; else mv $@.tmp $@; fi
$(O)/preload-dir: FORCE
	@mkdir -p $(@D)
	@echo '$(PRELOAD_FROM_BIN)' >$@.tmp
	$(replace)
$(O)/user/engine/mem_record.o: $(O)/preload-dir

# Their scripts and styles are inside them.
$(O)/user/sink/flame_svg.o: user/sink/flame.js user/sink/flame.css
$(O)/user/sink/pages_html.o: user/sink/pages.js user/sink/pages.css
$(O)/user/sink/mem_timeline_svg.o: user/sink/timeline.js user/sink/timeline.css

$(foreach s,bash zsh fish,$(eval $(O)/user/cmd/completion_$s.o: user/cmd/completion.$s))

# The probe library runs in other people's programs: static TLS, nothing but libc.
$(O)/usdt-probes/%.o: EBT_CFLAGS += -ftls-model=initial-exec
# Stacks from inside a probe are walked by frame pointers, by BPF and by bpftrace.
$(O)/usdt-probes/%.o $(O)/tests/prog/%.o: EBT_CFLAGS += -fno-omit-frame-pointer
# A BPF program compiled for user space, with helpers of the test's own.
$(O)/tests/unit/test_bpf_marker.o $(O)/tests/unit/test_bpf_alloc.o $(O)/tests/unit/test_bpf_sched.o \
$(O)/tests/unit/test_bpf_ocaml_alloc.o $(O)/tests/unit/test_bpf_ocaml_stack.o \
$(O)/tests/unit/test_bpf_c_stack.o $(O)/tests/unit/test_bpf_faults.o: EBT_CFLAGS += -Ivmlinux
$(call obj,$(wildcard user/source/bpf*.c)): | $(O)/bpf/ebtrace.skel.h

# BTF has the names of the sources, which shall not depend on where they are built.
BPF_CFLAGS := -O2 -g -ffile-prefix-map=$(CURDIR)=. -target bpf -mcpu=v3 -Wall -Wextra \
              -Iinclude -Ivmlinux -I/usr/include/$(MULTIARCH)
$(O)/bpf/%.bpf.o: bpf/%.bpf.c
	$(say) BPF $<
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -D__TARGET_ARCH_x86 -MMD -MP -MF $(@:.o=.d) -c $< -o $@
$(O)/bpf/ebtrace.o: $(patsubst %.bpf.c,$(O)/%.bpf.o,$(BPF_SRC))
	$(say) BPFLINK $@
	$(Q)bpftool gen object $@ $^
$(O)/bpf/ebtrace.skel.h: $(O)/bpf/ebtrace.o
	$(say) SKEL $@
	$(Q)bpftool gen skeleton $< name ebtrace_bpf >$@.tmp && mv $@.tmp $@

$(O)/libuser.a: $(call obj,$(USER_SRC))
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^
# The formats that both sides write.
MEMTRACE_WRITER := $(O)/usdt-probes/memtrace_write.o
PROBE_WRITERS := $(MEMTRACE_WRITER) $(O)/usdt-probes/pagetrace_write.o
$(PROBE_WRITERS): $(O)/usdt-probes/%.o: user/codec/%.c
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(EBT_CFLAGS) -c $< -o $@
# One object, so that a program that uses any part of it gets its constructor. The writers are its own:
# a program may use libebtrace's besides.
OBJCOPY := $(shell $(CC) -print-prog-name=objcopy)
$(O)/libebtrace-probes.o: $(call obj,$(PROBE_SRC)) $(PROBE_WRITERS)
	$(say) LD $@
	$(Q)$(CC) -r -nostdlib $^ -o $@
	$(Q)$(OBJCOPY) -w --localize-symbol='ebt_memtrace_*' --localize-symbol='ebt_pagetrace_*' $@
$(O)/libebtrace-probes.a: $(O)/libebtrace-probes.o
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(O)/libebtrace-probes.so: $(O)/libebtrace-probes.o
	$(say) LD $@
	$(Q)$(CC) -shared -Wl,-soname,libebtrace-probes.so.1 $(LDFLAGS) $^ -o $@ -pthread
	$(Q)ln -sf libebtrace-probes.so $(O)/libebtrace-probes.so.1
# The compiler must not change calls of malloc(); the unwinder must be no other library that the
# program gets.
$(O)/usdt-probes/preload/%.o: EBT_CFLAGS += $(addprefix -fno-builtin-,malloc calloc realloc free)
LOADABLE := $(O)/usdt-probes/loadable.o
$(LOADABLE): user/proc/loadable.c
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(EBT_CFLAGS) -c $< -o $@
$(O)/libebtrace-preload.so: $(call obj,$(PRELOAD_SRC)) $(MEMTRACE_WRITER) $(LOADABLE)
	$(say) LD $@
	$(Q)$(CC) -shared -static-libgcc -Wl,-soname,libebtrace-preload.so -Wl,-Bsymbolic-functions -Wl,-z,initfirst \
		-Wl,--version-script=usdt-probes/preload/exports.map $(LDFLAGS) $^ -o $@
$(O)/libebtrace.a: $(call obj,$(LIB_SRC))
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(O)/libebtrace.so: $(call obj,$(LIB_SRC))
	$(say) LD $@
	$(Q)$(CC) -shared -Wl,-soname,libebtrace.so.1 $(LDFLAGS) $^ -pthread -o $@
	$(Q)ln -sf libebtrace.so $(O)/libebtrace.so.1

# Tests start the sanitized program thousands of times: with nothing to relocate it starts in half the time.
$(O)/ebtrace: LDFLAGS += $(and $(findstring gcc,$(CC)),$(findstring address,$(SAN)),-no-pie -static-libasan -static-libubsan)
$(O)/ebtrace: $(call obj,$(CMD_SRC)) $(O)/libuser.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $^ $(LIBS) -o $@

completions: $(COMPLETIONS) ## write the completions of bash, zsh and fish to $(O)/completions
$(O)/completions/ebtrace.bash: of := bash
$(O)/completions/_ebtrace: of := zsh
$(O)/completions/ebtrace.fish: of := fish
$(COMPLETIONS): $(O)/ebtrace
	$(say) GEN $@
	@mkdir -p $(@D)
	$(Q)$< completion $(of) >$@

$(O)/tests/unit/%: $(O)/tests/unit/%.o $(O)/libuser.a $(O)/libebtrace-probes.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $^ $(LIBS) -pthread -ldl -o $@
# Parts of the library that is preloaded; all of it would interpose the test's own calls.
$(O)/tests/unit/test_preload: $(call obj,$(addprefix usdt-probes/,$(addprefix preload/,mappings.c objects.c \
                                filters.c trace_file.c) confined.c pages.c file_id.c))
$(O)/tests/unit/test_section: $(call obj,$(addprefix usdt-probes/,preload/section.c confined.c frame_pointers.c))
$(O)/tests/unit/test_backtrace: $(call obj,$(addprefix usdt-probes/,$(addprefix preload/,backtrace.c \
                                  backtrace_$(PROCESSOR).c) confined.c pages.c frame_pointers.c))
# Its allocations fail when it wants them to.
$(O)/tests/unit/test_no_memory: LDFLAGS += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
# minigc is a program of several files; the library must come behind all of them.
$(O)/tests/prog/minigc: $(call obj,$(wildcard tests/prog/heap/*.c))
$(O)/tests/prog/%: $(O)/tests/prog/%.o $(O)/libebtrace-probes.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $(filter %.o,$^) $(filter %.a,$^) -pthread -ldl -o $@
# Its debug information is its own.
$(O)/tests/attack/slow_symbols.o: EBT_CFLAGS += -g0 -fno-omit-frame-pointer -fno-optimize-sibling-calls
$(O)/tests/attack/%: $(O)/tests/attack/%.o $(O)/libuser.a $(O)/libebtrace-probes.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $^ $(LIBS) -pthread -ldl -o $@
$(O)/tests/bench/%: $(O)/tests/bench/%.o $(O)/libuser.a $(O)/libebtrace-probes.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $^ $(LIBS) -pthread -ldl -o $@
$(O)/tests/fuzz/%: $(O)/tests/fuzz/%.o $(O)/libuser.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $^ $(LIBS) -o $@

clean: ## remove what was built
	$(Q)rm -rf $(O)

.PHONY: all help completions clean deps demo check nightly bench fuzz lint install uninstall deb golden tests unit-tests
# The program with one kind more in the list: only what is made of the list's kinds is another.
KINDS_OBJ := $(O)/kinds/user/core/kinds.o $(O)/kinds/user/codec/capture_block.o
$(O)/kinds/%.o: EBT_CFLAGS := -Itests/kinds $(EBT_CFLAGS)
$(O)/kinds/%.o: %.c
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(EBT_CFLAGS) -c $< -o $@
$(O)/kinds/ebtrace: $(call obj,$(CMD_SRC))
$(O)/kinds/write_kinds: $(O)/tests/kinds/write_kinds.o
$(O)/kinds/ebtrace $(O)/kinds/write_kinds: $(KINDS_OBJ) $(O)/libuser.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $(filter %.o,$^) $(filter %.a,$^) $(LIBS) -o $@

tests: all $(UNIT) $(PROGS) $(ATTACKS) $(O)/kinds/ebtrace $(O)/kinds/write_kinds ## build the test programs

PACKAGES := gcc g++ procps mount clang llvm libclang-rt-14-dev make libbpf-dev bpftool libelf-dev libdw-dev zlib1g-dev libzstd-dev \
            libiberty-dev systemtap-sdt-dev bpftrace jq xz-utils binutils perl debootstrap scdoc \
            libcap2-bin util-linux libc6-dev musl-tools clang-format protobuf-compiler \
            gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user chromium fonts-dejavu-core libxml2-utils libcairo2-dev \
            debuginfod libcurl4-openssl-dev python3 sqlite3 bash-completion zsh fish debhelper lintian \
            qemu-system-x86 busybox-static cpio kmod e2fsprogs

deps: ## install the Debian 12 packages that are missing (as root)
	@missing=; for p in $(PACKAGES); do \
		dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q '^install ok installed' || missing="$$missing $$p"; \
	done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" != 0 ]; then echo "missing packages; install them as root: apt-get install$$missing"; exit 1; fi; \
	echo "installing$$missing"; \
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null

# A target that needs packages first installs them, then starts make anew: what make read when it
# started was read without them.
demo: deps ## trace a real program live and show its timeline
	@$(MAKE) -j$(JOBS) all $(O)/tests/prog/minigc
	@O=$(O) tests/demo.sh

# gcc needs twice the time to optimize what ASan and UBSan insert, and to describe its variables for a
# debugger, as it needs for -O1 and line numbers. The race test links what libebtrace is made of.
ASAN := address,undefined
sanitized:
	@$(MAKE) -j$(JOBS) O=$(O)/asan SAN=$(ASAN) CFLAGS='-O1 -g1' $(O)/asan/ebtrace unit-tests
	@ln -sf ../libebtrace-preload.so $(O)/asan # programs that are not sanitized load it
check: deps ## run every test
	@$(MAKE) -j$(JOBS) tests lint
	@$(MAKE) sanitized
	@$(MAKE) -j$(JOBS) O=$(O)/tsan SAN=thread USER_SRC='$(LIB_SRC)' $(O)/tsan/tests/unit/test_ring_race
	@$(MAKE) -j$(JOBS) fuzzers cross-tests
	@O=$(O) CI=$(CI) FUZZ_SECONDS=$(FUZZ_SECONDS) tests/run.sh

# For hours. KERNELS=6.1 and TESTS="tests/live/37-blame.t ..." choose.
nightly: PACKAGES += npm # gets speedscope
nightly: deps ## run the live tests on other kernels, and what takes too long for check
	@$(MAKE) -j$(JOBS) tests
	@$(MAKE) sanitized
	@O=$(O) CI=$(CI) KERNELS='$(KERNELS)' TESTS='$(TESTS)' tests/nightly.sh

unit-tests: $(UNIT) $(PROGS) $(ATTACKS) $(O)/libebtrace-probes.so $(O)/kinds/ebtrace $(O)/kinds/write_kinds ## build the unit tests and their programs

# Another processor. `lint` compiles everything for it; what needs no library but libc is built and
# run in an emulator. Headers of other libraries are this machine's, which are the same. What is
# linked demangles C++ names, but no test of these has one.
CROSS := aarch64-linux-gnu
CROSS_CC := $(filter ccache,$(CC)) $(CROSS)-gcc
CROSS_LDFLAGS := -static -Wl,--defsym=rust_demangle_callback=0 -Wl,--defsym=cplus_demangle_v3_callback=0
CROSS_HEADERS := -I$(O)/bpf -Ivmlinux -idirafter /usr/include -idirafter /usr/include/$(MULTIARCH)
CROSS_SRC := $(PROBE_SRC) $(wildcard usdt-probes/preload/*.c) $(wildcard user/*/*.c) $(filter-out %_x86_64.c,$(wildcard $(addprefix tests/,\
             unit/*.c prog/*.c prog/heap/*.c attack/*.c bench/bench_*.c kinds/*.c fuzz/*.c)))
CROSS_USER := $(filter-out $(CAPTURE_SRC),$(wildcard $(addprefix user/,base/*.c codec/*.c core/*.c \
              model/*.c sink/*.c source/ring*.c source/release.c runtime/language.c \
              proc/usdt_args.c proc/usdt_text.c proc/usdt_operand_aarch64.c runtime/marker_args.c \
              runtime/marker_operands_aarch64.c))) $(filter user/source/% user/proc/%,$(LIB_SRC))
CROSS_NAMES := base bpf_marker filter histogram join join_loss join_model json leb128 loss map merge merge_model \
               ndjson pace pagetrace_damage pagetrace_fixtures pagetrace_lanes \
               pagetrace_write probes_clock_model processes proto pump ring_codec ring_corrupt ring_horizon \
               ring_model ring_source ring_writer session stacks stat stat_processes strings text \
               timebase totals tracks marker_args usdt_args
cross-tests:
	@$(MAKE) O=$(O)/$(CROSS) CC='$(CROSS_CC)' CFLAGS='-O2 $(CROSS_HEADERS)' LDFLAGS='$(CROSS_LDFLAGS)' \
		LIBS='-lm -pthread' USER_SRC='$(sort $(CROSS_USER))' cross-programs
cross-programs: $(patsubst %.c,$(O)/%,$(wildcard $(CROSS_NAMES:%=tests/unit/test_%.c)))
cross-syntax: | $(O)/bpf/ebtrace.skel.h
	@printf '%s\n' $(CROSS_SRC) | xargs -P $(JOBS) -n 8 $(CROSS_CC) \
		$(filter-out -MMD -MP,$(EBT_CFLAGS)) $(CROSS_HEADERS) -fsyntax-only
	@printf '%s\n' $(BPF_SRC) | xargs -n 1 $(CLANG) $(BPF_CFLAGS) -D__TARGET_ARCH_arm64 -fsyntax-only

FUZZ_SECONDS ?= 10
FUZZED = $(sort $(LIB_SRC) $(CAPTURE_SRC) \
           $(addprefix user/source/,memtrace_index.c memtrace_domains.c) \
           $(addprefix user/proc/,machine.c notes.c elf.c insn_x86_64.c usdt_args.c usdt_text.c \
             usdt_operand_x86_64.c debug_info.c segments.c symtab.c unwind.c memory_reader.c) \
           $(addprefix user/runtime/,ocaml_version.c ocaml_probes.c ocaml_code_x86_64.c ocaml_frames.c ocaml_allocs.c))
FUZZ_CC = $(CLANG) -std=gnu11 -g -O1 -fsanitize=$(ASAN) -fno-sanitize-recover=all -Iinclude -Iuser -I. \
          -D_GNU_SOURCE -MMD -MP
$(O)/fuzz/obj/%.o: %.c
	$(say) FUZZCC $<
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer-no-link -c $< -o $@
$(O)/fuzz/fuzz_%: $(O)/fuzz/obj/tests/fuzz/fuzz_%.o $(patsubst %.c,$(O)/fuzz/obj/%.o,$(FUZZED))
	$(say) FUZZ $@
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer $^ -ldw -lelf -lz -lzstd -pthread -o $@
FUZZERS = $(patsubst tests/fuzz/%.c,$(O)/fuzz/%,$(FUZZ_SRC))
fuzzers: $(FUZZERS)
fuzz: fuzzers ## run each fuzz target for $(FUZZ_SECONDS) s from its seeds
	@FUZZ_SECONDS=$(FUZZ_SECONDS) prove --comments -j $(JOBS) -e tests/fuzz/run.sh $(FUZZERS)

bench: PACKAGES += heaptrack # a peer
bench: deps ## measure, beside the peers: a table, and $(O)/bench.json
	@$(MAKE) tests $(BENCH)
	@O=$(O) tests/bench/run.sh

golden: all ## rewrite the expected outputs under tests/golden; read the diff
	@O=$(O) GOLDEN=rewrite prove tests/cli

LINT_SRC = $(shell git ls-files '*.c' '*.h' | grep -v '^vmlinux/')
lint: cross-syntax ## formatting, layers, sizes, another processor
	@clang-format --dry-run -Werror $(LINT_SRC)
	@O=$(O) prove -q tests/cli/00-layers.t

$(O)/ebtrace.1: user/man/ebtrace.1.scd
	$(say) MAN $@
	@mkdir -p $(@D)
	$(Q)scdoc <$< >$@

# Templates of what other build systems read.
EXPORTS := $(addprefix $(O)/,libebtrace.pc libebtrace-probes.pc \
                             ebtrace-config.cmake ebtrace-config-version.cmake)
CMAKEDIR := $(LIBDIR)/cmake/ebtrace
in_prefix = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))
$(EXPORTS): $(O)/%: packaging/%.in FORCE
	@mkdir -p $(@D)
	@sed -e 's|@VERSION@|$(VERSION)|; s|@PREFIX@|$(PREFIX)|' \
		-e 's|@LIBDIR@|$(call in_prefix,$(LIBDIR))|; s|@INCLUDEDIR@|$(call in_prefix,$(INCLUDEDIR))|' \
		-e 's|@LIB_FROM_HERE@|$(call relative,$(CMAKEDIR),$(LIBDIR))|' \
		-e 's|@INCLUDE_FROM_HERE@|$(call relative,$(CMAKEDIR),$(INCLUDEDIR))|' $< >$@.tmp
	$(replace)

# Each installed file, as SOURCE>DESTINATION, and each symbolic link, as TARGET>LINK.
ZSHDIR := $(DATADIR)/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)
INSTALLED_PROGRAM := $(O)/ebtrace>$(BINDIR)/ebtrace
INSTALLED_FILES := \
	$(O)/libebtrace.so>$(LIBDIR)/libebtrace.so.1 \
	$(O)/libebtrace-probes.so>$(LIBDIR)/libebtrace-probes.so.1 \
	$(O)/libebtrace-preload.so>$(PRELOADDIR)/libebtrace-preload.so \
	$(foreach l,libebtrace.a libebtrace-probes.a,$(O)/$(l)>$(LIBDIR)/$(l)) \
	$(foreach h,$(wildcard $(addprefix include/ebtrace/,*.h *.def)),$(h)>$(INCLUDEDIR)/$(h:include/%=%)) \
	$(foreach f,$(filter %.pc,$(EXPORTS)),$(f)>$(LIBDIR)/pkgconfig/$(notdir $(f))) \
	$(foreach f,$(filter %.cmake,$(EXPORTS)),$(f)>$(CMAKEDIR)/$(notdir $(f))) \
	$(O)/ebtrace.1>$(MANDIR)/man1/ebtrace.1 \
	$(O)/completions/ebtrace.bash>$(DATADIR)/bash-completion/completions/ebtrace \
	$(O)/completions/_ebtrace>$(ZSHDIR)/_ebtrace \
	$(O)/completions/ebtrace.fish>$(DATADIR)/fish/vendor_completions.d/ebtrace.fish
INSTALLED_LINKS := $(foreach l,libebtrace.so libebtrace-probes.so,$(l).1>$(LIBDIR)/$(l))
# Those alone that nothing else is installed into.
INSTALLED_DIRS := $(sort $(filter %/ebtrace,$(PRELOADDIR) $(INCLUDEDIR)/ebtrace $(CMAKEDIR)))
to_destdir = $(subst >, $(DESTDIR),$(1))
destination = $(lastword $(call to_destdir,$(1)))
define newline


endef
install: all completions $(O)/ebtrace.1 $(EXPORTS) ## install under $(DESTDIR)$(PREFIX)
	$(foreach f,$(INSTALLED_PROGRAM),install -D -m 755 $(call to_destdir,$(f))$(newline)	)
	$(foreach f,$(INSTALLED_FILES),install -D -m 644 $(call to_destdir,$(f))$(newline)	)
	$(foreach l,$(INSTALLED_LINKS),ln -sf $(call to_destdir,$(l))$(newline)	)
uninstall: ## remove what install has made
	rm -f $(foreach f,$(INSTALLED_PROGRAM) $(INSTALLED_FILES) $(INSTALLED_LINKS), \
		$(call destination,$(f)))
	@for d in $(INSTALLED_DIRS); do \
		[ ! -d "$(DESTDIR)$$d" ] || rmdir --ignore-fail-on-non-empty "$(DESTDIR)$$d"; \
	done

deb: deps ## build Debian packages into $(O)/deb, and check them
	@packaging/deb.sh $(O)/deb
	@lintian --allow-root --fail-on error,warning $(O)/deb/*.changes

.PHONY: cross-tests cross-programs cross-syntax FORCE

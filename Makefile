# ebtrace. `make help` lists the targets. Built things go to $(O).
# V=1 shows commands; SAN=address,undefined instruments; O=DIR builds elsewhere.

O      ?= build
CC     := gcc
CLANG  ?= clang
PREFIX ?= /usr/local
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
EBT_CFLAGS := -std=gnu11 $(CFLAGS) $(WARN) -fno-common -fvisibility=hidden -fPIC -Iinclude -Iuser -I. \
        -I$(O)/bpf -D_GNU_SOURCE -DEBT_VERSION='"$(VERSION)"' -MMD -MP
ifneq ($(SAN),)
EBT_CFLAGS += -fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all
LDFLAGS += -fsanitize=$(SAN)
endif
LIBS := -lbpf -lelf -lz

USER_SRC  := $(filter-out user/cmd/%,$(wildcard user/*/*.c))
CMD_SRC   := $(wildcard user/cmd/*.c)
PROBE_SRC := $(wildcard usdt-probes/*.c)
BPF_SRC   := $(wildcard bpf/*.bpf.c)
# What libebtrace is made of: the cursor, the ring codec, and what they stand on.
LIB_SRC   := $(wildcard user/codec/*.c) user/source/cursor.c user/proc/ringfile.c user/proc/maps.c \
             $(wildcard user/base/*.c)
UNIT_SRC  := $(wildcard tests/unit/test_*.c)
PROG_SRC  := $(wildcard tests/prog/*.c)
BENCH_SRC := $(wildcard tests/bench/*.c)
FUZZ_SRC  := $(wildcard tests/fuzz/fuzz_*.c)
obj = $(patsubst %.c,$(O)/%.o,$(1))

UNIT  := $(patsubst %.c,$(O)/%,$(UNIT_SRC))
PROGS := $(patsubst %.c,$(O)/%,$(PROG_SRC))
BENCH := $(patsubst %.c,$(O)/%,$(BENCH_SRC))
FUZZ  := $(patsubst %.c,$(O)/%,$(FUZZ_SRC))
ALL   := $(O)/ebtrace $(O)/libebtrace.a $(O)/libebtrace.so $(O)/libebtrace-probes.a $(O)/libebtrace-probes.so

all: $(ALL) ## build the program and the libraries (default)

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t14

-include $(shell find $(O) -name '*.d' 2>/dev/null)

$(O)/%.o: %.c
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(EBT_CFLAGS) -c $< -o $@

# The probe library runs in other people's programs: static TLS, nothing but libc.
$(O)/usdt-probes/%.o: EBT_CFLAGS += -ftls-model=initial-exec
$(call obj,$(wildcard user/source/bpf*.c)): | $(O)/bpf/ebtrace.skel.h

$(O)/bpf/%.bpf.o: bpf/%.bpf.c
	$(say) BPF $<
	@mkdir -p $(@D)
	$(Q)$(CLANG) -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_x86 -Wall -Wextra -Iinclude -Ivmlinux \
		-I/usr/include/$(MULTIARCH) -MMD -MP -MF $(@:.o=.d) -c $< -o $@
$(O)/bpf/ebtrace.o: $(patsubst %.bpf.c,$(O)/%.bpf.o,$(BPF_SRC))
	$(say) BPFLINK $@
	$(Q)bpftool gen object $@ $^
$(O)/bpf/ebtrace.skel.h: $(O)/bpf/ebtrace.o
	$(say) SKEL $@
	$(Q)bpftool gen skeleton $< name ebtrace_bpf >$@.tmp && mv $@.tmp $@

$(O)/libuser.a: $(call obj,$(USER_SRC))
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(O)/libebtrace-probes.a: $(call obj,$(PROBE_SRC))
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(O)/libebtrace-probes.so: $(call obj,$(PROBE_SRC))
	$(say) LD $@
	$(Q)$(CC) -shared -Wl,-soname,libebtrace-probes.so.1 $(LDFLAGS) $^ -o $@ -pthread
	$(Q)ln -sf libebtrace-probes.so $(O)/libebtrace-probes.so.1
$(O)/libebtrace.a: $(call obj,$(LIB_SRC))
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(O)/libebtrace.so: $(call obj,$(LIB_SRC))
	$(say) LD $@
	$(Q)$(CC) -shared -Wl,-soname,libebtrace.so.1 $(LDFLAGS) $^ -o $@
	$(Q)ln -sf libebtrace.so $(O)/libebtrace.so.1

$(O)/ebtrace: $(call obj,$(CMD_SRC)) $(O)/libuser.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $^ $(LIBS) -o $@

$(O)/tests/unit/%: $(O)/tests/unit/%.o $(O)/libuser.a $(O)/libebtrace-probes.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $^ $(LIBS) -pthread -ldl -o $@
$(O)/tests/prog/%: $(O)/tests/prog/%.o $(O)/libebtrace-probes.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $^ -pthread -ldl -o $@
$(O)/tests/bench/%: $(O)/tests/bench/%.o $(O)/libuser.a $(O)/libebtrace-probes.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $^ $(LIBS) -pthread -ldl -o $@
$(O)/tests/fuzz/%: $(O)/tests/fuzz/%.o $(O)/libuser.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) $^ $(LIBS) -o $@

clean: ## remove what was built
	$(Q)rm -rf $(O)

.PHONY: all help clean deps demo check bench fuzz lint install golden tests
tests: all $(UNIT) $(PROGS) ## build the test programs

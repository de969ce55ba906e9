# SPDX-License-Identifier: BSD-2-Clause
# The layers, lowest first; sourced by the tests that hold them. Runs from the top of the tree.

# Of user/: a folder with those in it, and the layers below it, which it may include and call.
declare -A below=(
	[base]=""
	[elf]="base"
	[proc]="elf base"
	[codec]="base"
	[session]="codec base"
	[stream]="session codec base"
	[runtime]="session proc elf base"
	[source]="runtime stream session codec proc elf base"
	[report]="stream session codec base"
	[format]="report stream session codec base"
	[engine]="source runtime stream session codec proc elf base"
	[cmd]="engine format report source runtime stream session codec proc elf base"
)
layers="base elf proc codec session stream runtime source report format engine cmd"

# What a folder within a layer may include of its layer besides its own files and those of the layer's
# folder itself, which lie below all others: folders. A layer's own files include none of its folders,
# but these.
declare -A beside=(
	[source/bpf]="source/stacks source/pages"
	[engine/input]="engine/program"
	[engine/record]="engine/program"
	[engine/live]="engine/input engine/record engine/program"
	[report/stat]="report/stat/model report/parts"
	[report/stat/model]="report/parts"
	[report/spans]="report/spans/model report/parts"
	[report/spans/model]="report/parts"
	[report/mem]="report/mem/model"
	[report/profile]="report/profile/model report/parts"
	[report/profile/model]="report/parts"
	[report/pages]="report/pages/model"
	[report/top]="report/stat/model report/parts"
)
# Where a layer's own file is above its folders: a run, and the list of runtimes.
declare -A above=(
	[user/engine/run.c]="engine/input engine/live"
	[user/runtime/runtime.h]="runtime/ocaml"
	[user/runtime/runtimes.c]="runtime/ocaml"
)
# allowed_folders FILE: what it may include, its own folder first.
allowed_folders() {
	local folder=${1#user/} layer
	folder=${folder%/*}
	layer=${folder%%/*}
	echo "$folder $layer ${beside[$folder]:-} ${above[${1%.[ch]}.h]:-} ${above[$1]:-}"
}
# Of a layer above: all in it. A format uses what reports share, and their numbers, never their text.
report_numbers="report report/parts report/mem/model report/pages/model report/profile/model report/spans/model report/stat/model"

# Of usdt-probes/: a layer is some files, which may include and call each other and all layers before.
# What is in shared/ lies below all of them.
probe_layers="os trace alloc lock file slot record page lifecycle probes"
declare -A probe_files=(
	[os]="cycles cycles_x86_64 cycles_aarch64 vdso clock procfs signals barrier"
	[trace]="output_file trace_lock writers"
	[alloc]="alloc_writer alloc_trace module_positions"
	[lock]="lock"
	[file]="stale ring_file names"
	[slot]="gate ring_writer slot"
	[record]="marker marker_x86_64 marker_aarch64 record"
	[page]="page_trace"
	[lifecycle]="settings thread recording entry process"
	[probes]="probes user_events object page"
)

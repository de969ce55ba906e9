# SPDX-License-Identifier: BSD-2-Clause
# The layers, lowest first; sourced by the tests that hold them. Runs from the top of the tree.

# Of user/: a folder, and those below it, which it may include and call.
declare -A below=(
	[base]=""
	[codec]="base"
	[core]="base"
	[proc]="base"
	[runtime]="proc core base"
	[source]="runtime core codec proc base"
	[model]="core base"
	[sink]="model core codec base"
	[engine]="source runtime core codec proc base"
	[cmd]="engine sink model source runtime core codec proc base"
)
folders="base codec core proc runtime source model sink engine cmd"

# Of usdt-probes/: a layer is some files, which may include and call each other and all layers before.
probe_layers="os trace alloc lock file slot record page lifecycle probes"
declare -A probe_files=(
	[os]="module_file cycles cycles_x86_64 cycles_aarch64 vdso clock procfs signals fork_mark sampler confined pages file_id barrier"
	[trace]="output_file trace_lock writers"
	[alloc]="trace_stream alloc_writer alloc_trace frame_pointers module_positions"
	[lock]="lock"
	[file]="stale ring_file names"
	[slot]="gate ring_writer slot"
	[record]="marker marker_x86_64 marker_aarch64 record"
	[page]="page_trace"
	[lifecycle]="settings thread recording entry process"
	[probes]="probes user_events object page"
)

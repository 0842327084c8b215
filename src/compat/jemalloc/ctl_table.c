/* SPDX-License-Identifier: Apache-2.0 */
/* ctl_table - lists the names in order, each with its kind and its function. */
#include "compat/jemalloc/ctl_table.h"

#include "base/compiler.h"

#define PROFILER(name, answer)                                \
	{                                                     \
		{ name, NULL }, GG_CTL_ENTRY_PROFILER, answer \
	}
#define ALLOCATOR(name, answer)                                \
	{                                                      \
		{ name, NULL }, GG_CTL_ENTRY_ALLOCATOR, answer \
	}
#define NUMBERED(name, count, answer)                          \
	{                                                      \
		{ name, count }, GG_CTL_ENTRY_PROFILER, answer \
	}

/* gg_ctl_names_find() needs the table sorted: names that begin alike stand together. */
static const struct gg_ctl_entry entries[] = {
	PROFILER("config.prof", gg_ctl_config_prof),
	PROFILER("config.prof_frameptr", gg_ctl_config_no),
	PROFILER("config.prof_libgcc", gg_ctl_config_no),
	PROFILER("config.prof_libunwind", gg_ctl_config_no),
	ALLOCATOR("epoch", gg_ctl_epoch),
	PROFILER("experimental.prof_recent.alloc_dump", gg_ctl_recent_dump),
	PROFILER("experimental.prof_recent.alloc_max", gg_ctl_recent_max),
	PROFILER("opt.lg_prof_interval", gg_ctl_opt_interval),
	PROFILER("opt.lg_prof_sample", gg_ctl_opt_sample),
	PROFILER("opt.prof", gg_ctl_opt_prof),
	PROFILER("opt.prof_accum", gg_ctl_opt_prof_accum),
	PROFILER("opt.prof_active", gg_ctl_opt_prof_active),
	PROFILER("opt.prof_bt_max", gg_ctl_opt_prof_bt_max),
	PROFILER("opt.prof_final", gg_ctl_opt_prof_final),
	PROFILER("opt.prof_gdump", gg_ctl_opt_prof_gdump),
	PROFILER("opt.prof_leak", gg_ctl_opt_prof_leak),
	PROFILER("opt.prof_leak_error", gg_ctl_opt_prof_leak_error),
	PROFILER("opt.prof_pid_namespace", gg_ctl_opt_prof_pid_namespace),
	PROFILER("opt.prof_prefix", gg_ctl_opt_prof_prefix),
	PROFILER("opt.prof_recent_alloc_max", gg_ctl_opt_prof_recent_alloc_max),
	PROFILER("opt.prof_stats", gg_ctl_opt_prof_stats),
	PROFILER("opt.prof_sys_thread_name", gg_ctl_opt_prof_sys_thread_name),
	PROFILER("opt.prof_thread_active_init", gg_ctl_opt_prof_thread_active_init),
	PROFILER("opt.prof_time_resolution", gg_ctl_opt_prof_time_resolution),
	PROFILER("prof.active", gg_ctl_prof_active),
	PROFILER("prof.dump", gg_ctl_prof_dump),
	PROFILER("prof.gdump", gg_ctl_prof_gdump),
	PROFILER("prof.interval", gg_ctl_prof_interval),
	PROFILER("prof.lg_sample", gg_ctl_prof_lg_sample),
	PROFILER("prof.log_start", gg_ctl_log_start),
	PROFILER("prof.log_stop", gg_ctl_log_stop),
	PROFILER("prof.prefix", gg_ctl_prof_prefix),
	PROFILER("prof.reset", gg_ctl_prof_reset),
	NUMBERED("prof.stats.bins.*.accum", gg_ctl_bin_count, gg_ctl_bin_accum),
	NUMBERED("prof.stats.bins.*.live", gg_ctl_bin_count, gg_ctl_bin_live),
	NUMBERED("prof.stats.lextents.*.accum", gg_ctl_lextent_count, gg_ctl_lextent_accum),
	NUMBERED("prof.stats.lextents.*.live", gg_ctl_lextent_count, gg_ctl_lextent_live),
	PROFILER("prof.thread_active_init", gg_ctl_prof_thread_active_init),
	ALLOCATOR("thread.allocated", gg_ctl_thread_allocated),
	ALLOCATOR("thread.allocatedp", gg_ctl_thread_allocatedp),
	ALLOCATOR("thread.deallocated", gg_ctl_thread_deallocated),
	ALLOCATOR("thread.deallocatedp", gg_ctl_thread_deallocatedp),
	PROFILER("thread.prof.active", gg_ctl_thread_prof_active),
	PROFILER("thread.prof.name", gg_ctl_thread_prof_name),
	ALLOCATOR("version", gg_ctl_version),
};

const struct gg_ctl_names gg_ctl_table_names = { entries, GG_COUNT(entries), sizeof(entries[0]) };

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl_table - maps the names that mallctl() answers to the functions that answer them.
 *
 * Underneath  Names of the kind PROFILER go to the jemalloc underneath if that one profiles and
 *             GEIGER_CONF does not ask for a profile (compat_settings.h).  Names of the kind
 *             ALLOCATOR go to any jemalloc underneath, because it has the exact numbers.
 * No agent    Names answer as in a jemalloc without a profiler.  prof:false  Names answer as in a
 * jemalloc that does not profile.
 */
#pragma once

#include "compat/jemalloc/ctl_call.h"
#include "compat/jemalloc/ctl_names.h"

enum gg_ctl_entry_kind { GG_CTL_ENTRY_PROFILER, GG_CTL_ENTRY_ALLOCATOR };

struct gg_ctl_entry {
	struct gg_ctl_name name; /* the first member, as gg_ctl_names_find() requires */
	enum gg_ctl_entry_kind kind;
	int (*answer)(const struct gg_ctl_call *call);
};

extern const struct gg_ctl_names gg_ctl_table_names;

static inline const struct gg_ctl_entry *gg_ctl_table_at(int entry)
{
	return (const struct gg_ctl_entry *)gg_ctl_table_names.entries + entry;
}

/* ctl_opt.c: config.*, opt.* and the allocator's names */
int gg_ctl_config_no(const struct gg_ctl_call *call);
int gg_ctl_config_prof(const struct gg_ctl_call *call);
int gg_ctl_epoch(const struct gg_ctl_call *call);
int gg_ctl_opt_interval(const struct gg_ctl_call *call);
int gg_ctl_opt_prof(const struct gg_ctl_call *call);
int gg_ctl_opt_prof_accum(const struct gg_ctl_call *call);
int gg_ctl_opt_prof_active(const struct gg_ctl_call *call);
int gg_ctl_opt_prof_bt_max(const struct gg_ctl_call *call);
int gg_ctl_opt_prof_final(const struct gg_ctl_call *call);
int gg_ctl_opt_prof_gdump(const struct gg_ctl_call *call);
int gg_ctl_opt_prof_leak(const struct gg_ctl_call *call);
int gg_ctl_opt_prof_leak_error(const struct gg_ctl_call *call);
int gg_ctl_opt_prof_pid_namespace(const struct gg_ctl_call *call);
int gg_ctl_opt_prof_prefix(const struct gg_ctl_call *call);
int gg_ctl_opt_prof_recent_alloc_max(const struct gg_ctl_call *call);
int gg_ctl_opt_prof_stats(const struct gg_ctl_call *call);
int gg_ctl_opt_prof_sys_thread_name(const struct gg_ctl_call *call);
int gg_ctl_opt_prof_thread_active_init(const struct gg_ctl_call *call);
int gg_ctl_opt_prof_time_resolution(const struct gg_ctl_call *call);
int gg_ctl_opt_sample(const struct gg_ctl_call *call);
int gg_ctl_version(const struct gg_ctl_call *call);

/* ctl_prof.c: the profile of the whole process */
int gg_ctl_prof_active(const struct gg_ctl_call *call);
int gg_ctl_prof_dump(const struct gg_ctl_call *call);
int gg_ctl_prof_gdump(const struct gg_ctl_call *call);
int gg_ctl_prof_interval(const struct gg_ctl_call *call);
int gg_ctl_prof_lg_sample(const struct gg_ctl_call *call);
int gg_ctl_prof_prefix(const struct gg_ctl_call *call);
int gg_ctl_prof_reset(const struct gg_ctl_call *call);
int gg_ctl_prof_thread_active_init(const struct gg_ctl_call *call);

int gg_ctl_log_start(const struct gg_ctl_call *call); /* ctl_log.c */
int gg_ctl_log_stop(const struct gg_ctl_call *call);

/* ctl_stats.c: samples by size class; ctl_recent.c: the most recent samples */
size_t gg_ctl_bin_count(void);
size_t gg_ctl_lextent_count(void);
int gg_ctl_bin_accum(const struct gg_ctl_call *call);
int gg_ctl_bin_live(const struct gg_ctl_call *call);
int gg_ctl_lextent_accum(const struct gg_ctl_call *call);
int gg_ctl_lextent_live(const struct gg_ctl_call *call);
int gg_ctl_recent_dump(const struct gg_ctl_call *call);
int gg_ctl_recent_max(const struct gg_ctl_call *call);

/* ctl_thread.c: the calling thread */
int gg_ctl_thread_allocated(const struct gg_ctl_call *call);
int gg_ctl_thread_allocatedp(const struct gg_ctl_call *call);
int gg_ctl_thread_deallocated(const struct gg_ctl_call *call);
int gg_ctl_thread_deallocatedp(const struct gg_ctl_call *call);
int gg_ctl_thread_prof_active(const struct gg_ctl_call *call);
int gg_ctl_thread_prof_name(const struct gg_ctl_call *call);

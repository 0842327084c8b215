/* SPDX-License-Identifier: Apache-2.0 */
/*
 * method_table - finds the method of a code address in a .NET process, and makes its frame.
 *
 *   struct gg_method_table table = { 0 };
 *
 *   gg_method_table_add(&table, process, time_ns, false, payload);   a method was compiled
 *   gg_method_table_end(&table, process, time_ns, payload);      its code is gone
 *   gg_method_table_add_module(&table, process, true, payload);
 *   gg_method_table_sort(&table);
 *   method = gg_method_table_find(&table, process, address, time_ns);
 *   gg_method_table_done(&table);
 *
 * The runtime compiles a method again when it is hot, so a method has several ranges of addresses.
 * Memory of code that was unloaded is used again, so a range may belong to several methods at
 * different times: the one that was compiled last before the sample is the right one.  The list at
 * the end of a stream (the rundown) has no times of compilation; its methods serve where no other
 * one fits.
 *
 * Memory   80 bytes a method; the texts stay in the bytes of the stream.
 * Threads  one owner.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "dotnet/byte_cursor.h"
#include "profile/profile.h"

struct gg_dotnet_method {
	uint64_t process, start, end; /* end: first address behind it */
	uint64_t reach; /* the largest end of this one and of those before it in its process */
	int64_t born_ns, gone_ns; /* born: INT64_MIN if it is of the rundown */
	uint64_t module;
	struct gg_byte_cursor type, name, signature; /* UTF-16 */
	uint32_t frame;                              /* id, once it was made */
	/* Known with the frame: gg_dotnet_starts_async(), and MoveNext(). */
	bool is_hidden, is_body;
};

struct gg_dotnet_module {
	uint64_t process, number;
	struct gg_byte_cursor path;
	uint32_t id; /* in the profile, once it was made */
};

struct gg_method_table {
	GG_ARRAY(struct gg_dotnet_method) methods;
	GG_ARRAY(struct gg_dotnet_module) modules;
	struct gg_map module_map;
	bool is_sorted;
};

void gg_method_table_done(struct gg_method_table *table);

/*
 * These functions take the payloads of the runtime's events; what is too short is left out.  They
 * return 0 or -ENOMEM.  is_rundown: the method existed at the end, and may be of any time.
 */
GG_MUST_CHECK int gg_method_table_add(struct gg_method_table *table, uint64_t process,
                                      int64_t time_ns, bool is_rundown,
                                      struct gg_byte_cursor payload);
GG_MUST_CHECK int gg_method_table_end(struct gg_method_table *table, uint64_t process,
                                      int64_t time_ns, struct gg_byte_cursor payload);
/* in_domain: the payload has the number of an application domain as well. */
GG_MUST_CHECK int gg_method_table_add_module(struct gg_method_table *table, uint64_t process,
                                             bool in_domain, struct gg_byte_cursor payload);

void gg_method_table_sort(struct gg_method_table *table);
struct gg_dotnet_method *gg_method_table_find(struct gg_method_table *table, uint64_t process,
                                              uint64_t address, int64_t time_ns);

struct gg_method_frame {
	uint32_t id;
	bool is_named;
	/*
	 * Starts the body of an async method: its caller and its callee are the same method of the
	 * source.
	 */
	bool is_hidden;
	bool is_body; /* may be such a body */
};

/* Makes the frame of an address.  Call gg_method_table_sort() before. */
GG_MUST_CHECK int gg_method_table_frame(struct gg_method_table *table, struct gg_profile *profile,
                                        uint64_t process, uint64_t address, int64_t time_ns,
                                        struct gg_method_frame *ret_frame, struct gg_error *error);

/*
 * Gives a frame of the profile the name of the method that has the address at the end of the
 * stream.  *ret_is_named is false if there is no such method.
 */
GG_MUST_CHECK int gg_method_table_name(struct gg_method_table *table, struct gg_profile *profile,
                                       uint64_t process, uint32_t frame, uint64_t address,
                                       bool *ret_is_named, struct gg_error *error);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_lives - follows sampled objects through the collections of a .NET process.
 *
 *   struct gg_object_lives lives = { 0 };
 *
 *   gg_object_lives_add(&lives, &object);                    each sampled object
 *   gg_object_lives_event(&lives, time_ns, id, payload);     each event of collections
 *   gg_object_lives_follow(&lives, pointer_bytes, &steps);   sets the end of each object
 *   gg_object_lives_done(&lives);
 *
 * A collection reports, in this order, the ranges of memory of each generation, the ranges of
 * objects that survived in place or moved, and the ranges of the generations afterwards.  An object
 * that was allocated before the collection began
 *
 *   is in a range that moved       lives on at the new address
 *   is in a range that survived    lives on
 *   is in a generation that was
 *   collected, and in neither      died; it is not known when, so it ends with the collection
 *   is elsewhere                   lives on
 *
 * A blocking collection of generation g collects the generations up to g, and with 2 those of large
 * and pinned objects.
 *
 * A background collection collects generation 2, large and pinned objects alone.  Other collections
 * run meanwhile, move objects, and promote some into generation 2, where the background collection
 * may end them.  Its reports come last: it stops the program, and reports each object of the whole
 * heap that is not free at that moment.  So it is judged by the addresses and generations of that
 * moment, and its dead end with the last report.
 *
 * The beginning of a collection may say "background" in vain: if memory or a thread is missing, the
 * runtime goes on with a blocking collection under the same number.  The event of its history says
 * what it was, and so do moved objects, which no background collection has.
 *
 * A collection without any report of survivors, or whose end is missing, ends no object.
 *
 * While a stream arrives, the events of the last moments may be incomplete: the runtime sends those
 * of one thread after those of another.  So collections do not count before `settled_ns` is past
 * their end.
 *
 * Cost     Each collection visits all sampled objects that live, so a hostile stream of many
 *          objects and many collections would cost the product of both.  The steps are a budget of
 *          such visits, in proportion to the bytes of the stream.  Beyond it no end is valid.
 * Memory   32 bytes an event and 32 an object; the payloads stay in the bytes of the stream.
 * Threads  one owner.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/compiler.h"
#include "dotnet/byte_cursor.h"

/*
 * A visit costs some 2 ns.  A stream with 100 000 live samples, which stand for 10 GB, and with the
 * shortest possible report of a collection for every 6 MB needs 24 a byte (test_dotnet_trace.c).
 */
#define GG_OBJECT_LIVES_STEPS_PER_BYTE 64
#define GG_OBJECT_LIVES_STEPS_LEAST    (UINT64_C(1) << 24)

enum {
	GG_DOTNET_GC_START = 1,
	GG_DOTNET_GC_END = 2,
	GG_DOTNET_GC_SURVIVED = 21,
	GG_DOTNET_GC_MOVED = 22,
	GG_DOTNET_GC_RANGE = 23,
	GG_DOTNET_GC_HISTORY = 205,
};

struct gg_sampled_object {
	int64_t born_ns, end_ns; /* end: INT64_MAX while it lives */
	uint64_t address;
	size_t sample; /* the caller's number */
};

struct gg_gc_event {
	int64_t time_ns;
	size_t order; /* in the file, for events of one time */
	uint32_t id;
	uint32_t payload_bytes;
	const uint8_t *payload;
};

struct gg_object_lives {
	GG_ARRAY(struct gg_sampled_object) objects;
	GG_ARRAY(struct gg_gc_event) events;
	uint64_t collection_count; /* that said what survived */
	uint64_t unknown_count;    /* that did not */
	int64_t settled_ns;        /* later events count as missing; 0: all are there */
	bool is_over_budget;       /* the ends of the objects are not valid */
};

void gg_object_lives_done(struct gg_object_lives *lives);
/* Both return 0 or -ENOMEM. */
GG_MUST_CHECK int gg_object_lives_add(struct gg_object_lives *lives,
                                      const struct gg_sampled_object *object);
GG_MUST_CHECK int gg_object_lives_event(struct gg_object_lives *lives, int64_t time_ns, uint32_t id,
                                        struct gg_byte_cursor payload);
/* *steps are those that are left, also for the next process of the stream. */
GG_MUST_CHECK int gg_object_lives_follow(struct gg_object_lives *lives, uint32_t pointer_bytes,
                                         uint64_t *steps);

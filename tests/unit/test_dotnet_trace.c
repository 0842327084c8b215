/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_dotnet_trace - event streams of .NET, of both versions, become samples; damaged ones do no
 * harm.
 */
#include <errno.h>
#include <math.h>

#include "base/array.h"
#include "dotnet/dotnet_names.h"
#include "dotnet/dotnet_trace.h"
#include "dotnet/object_lives.h"
#include "format/import/import.h"
#include "nettrace_writer.h"
#include "stat.h"
#include "stats/estimate/interval.h"
#include "stats/sampling/rng.h"
#include "test.h"

/* --- reading a profile back ------------------------------------------------------------------- */

struct imported {
	struct gg_profile *profile;
	struct gg_import_result result;
	struct gg_error error;
	GG_ARRAY(struct gg_profile_sample) samples;
	GG_ARRAY(struct gg_profile_stack) stacks;
	GG_ARRAY(struct gg_profile_line) lines; /* by frame; texts are copies */
	GG_ARRAY(char *) names[2];
	GG_ARRAY(struct gg_profile_aggregate) aggregates;
	struct gg_buf notes, text;
};

static int take_sample(const struct gg_profile_sample *sample, void *context)
{
	return gg_array_push(&((struct imported *)context)->samples, *sample) ? 0 : -ENOMEM;
}

static int take_aggregate(const struct gg_profile_aggregate *aggregate, void *context)
{
	return gg_array_push(&((struct imported *)context)->aggregates, *aggregate) ? 0 : -ENOMEM;
}

static int take_stack(const struct gg_profile_stack *stack, void *context)
{
	return gg_array_push(&((struct imported *)context)->stacks, *stack) ? 0 : -ENOMEM;
}

static int take_line(const struct gg_profile_line *line, void *context)
{
	struct gg_profile_line copy = *line;

	copy.function = line->function != NULL ? strdup(line->function) : NULL;
	return gg_array_push(&((struct imported *)context)->lines, copy) ? 0 : -ENOMEM;
}

static int take_heap(uint32_t id, const char *name, void *context)
{
	(void)id;
	return gg_array_push(&((struct imported *)context)->names[0], strdup(name)) ? 0 : -ENOMEM;
}

static int take_type(uint32_t id, const char *name, void *context)
{
	(void)id;
	return gg_array_push(&((struct imported *)context)->names[1], strdup(name)) ? 0 : -ENOMEM;
}

static int take_note(const char *note, void *context)
{
	gg_buf_append_text(&((struct imported *)context)->notes, note);
	return 0;
}

/* Imports a file; returns the status of the import. */
static int import_bytes(struct imported *imported, const void *bytes, size_t length)
{
	struct gg_error *error = &imported->error;
	struct gg_input *input;
	int status;

	*imported = (struct imported){ 0 };
	REQUIRE(gg_profile_create(&imported->profile, NULL, error) == 0);
	REQUIRE(gg_input_of(&input, bytes, length, "file", error) == 0);
	status = gg_import_as(&gg_importer_nettrace, imported->profile, input, NULL,
	                      &imported->result, error);
	gg_input_close(input);
	if (status < 0)
		return status;
	REQUIRE(gg_import_session(imported->profile, &imported->result, 1, error) == 0);
	REQUIRE(gg_profile_each_sample(imported->profile, take_sample, imported, error) == 0);
	REQUIRE(gg_profile_each_aggregate(imported->profile, take_aggregate, imported, error) == 0);
	REQUIRE(gg_profile_each_stack(imported->profile, take_stack, imported, error) == 0);
	REQUIRE(gg_profile_each_line(imported->profile, take_line, imported, error) == 0);
	REQUIRE(gg_profile_each_name(imported->profile, GG_NAME_HEAP, take_heap, imported, error) ==
	        0);
	REQUIRE(gg_profile_each_name(imported->profile, GG_NAME_TYPE, take_type, imported, error) ==
	        0);
	REQUIRE(gg_profile_each_note(imported->profile, take_note, imported, error) == 0);
	return 0;
}

static void imported_done(struct imported *imported)
{
	for (size_t i = 0; i < imported->lines.count; i++)
		free((char *)imported->lines.items[i].function);
	for (size_t i = 0; i < 2; i++) {
		for (size_t j = 0; j < imported->names[i].count; j++)
			free(imported->names[i].items[j]);
		gg_array_done(&imported->names[i]);
	}
	gg_array_done(&imported->samples);
	gg_array_done(&imported->stacks);
	gg_array_done(&imported->lines);
	gg_array_done(&imported->aggregates);
	gg_buf_done(&imported->notes);
	gg_buf_done(&imported->text);
	gg_profile_close(imported->profile);
}

static void import_writer(struct imported *imported, const struct nettrace_writer *writer)
{
	REQUIRE_MSG(import_bytes(imported, writer->file.data, writer->file.length) == 0, "%s: %s",
	            imported->error.place, imported->error.message);
}

static const char *function_of(const struct imported *imported, uint32_t frame)
{
	for (size_t i = 0; i < imported->lines.count; i++)
		if (imported->lines.items[i].frame == frame)
			return imported->lines.items[i].function;
	return "?";
}

/* The functions of a stack, innermost first: "Shop.Cart.Add < Shop.Main". */
static const char *stack_text(struct imported *imported, uint32_t stack)
{
	gg_buf_clear(&imported->text);
	while (stack != 0) {
		const struct gg_profile_stack *at = &imported->stacks.items[stack - 1];

		gg_buf_printf(&imported->text, "%s%s", imported->text.length > 0 ? " < " : "",
		              function_of(imported, at->frame));
		stack = at->parent;
	}
	return gg_buf_text(&imported->text);
}

static const char *type_of(const struct imported *imported, size_t sample)
{
	return imported->names[1].items[imported->samples.items[sample].type - 1];
}

/* --- both containers -------------------------------------------------------------------------- */

/* The four ways to write a stream. */
static const struct nettrace_writer ways[] = {
	{ .version = 4, .is_compressed = true },
	{ .version = 4, .is_compressed = false },
	{ .version = 6, .is_compressed = true },
	{ .version = 6, .is_compressed = false },
};

/*
 * Two threads whose events are in runs, so that times go back; numbers of stacks that begin anew;
 * and the names at the end.
 */
static void write_shop(struct nettrace_writer *writer)
{
	static const uint64_t add[] = { 0x1010, 0x2020 }, pay[] = { 0x3030, 0x1011, 0x2020 };
	struct gg_buf info = { 0 };

	nettrace_begin(writer, 4711);
	nettrace_stack(writer, 1, add, 2);
	nettrace_stack(writer, 2, add, 2); /* forgotten at the sequence point */
	nettrace_sample(writer, 4711, 5000, 1, "System.Collections.Generic.List`1[System.Int32]",
	                0x7f0000001000, 24, 7);
	nettrace_sample(writer, 4711, 9000, 1, "System.String", 0x7f0000002000, 90000, 89999);
	nettrace_sample(writer, 4712, 2000, 1, "Shop.Item+Part[]", 0x7f0000003000, 64, 0);
	nettrace_sequence_point(writer);
	nettrace_stack(writer, 1, pay, 3);
	nettrace_sample(writer, 4712, 12000, 1, "System.String", 0x7f0000004000, 40, 12);
	nettrace_sample(writer, 4712, 13000, 2, "System.String", 0x7f0000005000, 40, 39);
	nettrace_put_text(&info, "/srv/shop --port 80");
	nettrace_put_text(&info, "Linux");
	nettrace_put_text(&info, "x64");
	nettrace_event(writer, NETTRACE_PROCESS_INFO, 1, 20000, 0, &info);
	nettrace_method(writer, NETTRACE_METHOD_RUNDOWN, 20001, 0x1000, 0x100, "Shop.Cart", "Add",
	                "instance void  (class Shop.Item,int32)");
	nettrace_method(writer, NETTRACE_METHOD_RUNDOWN, 20002, 0x2000, 0x100, "Shop.Program",
	                "Main", "void  ()");
	nettrace_method(writer, NETTRACE_METHOD_RUNDOWN, 20003, 0x3000, 0x100, "Shop.Cart+<>c",
	                "<Pay>b__4_1", "instance void  ()");
	nettrace_module(writer, 20004, "/srv/shop/shop.dll");
	nettrace_end(writer);
	gg_buf_done(&info);
}

TEST(both_versions_and_both_forms_of_headers_give_the_same_samples)
{
	for (size_t i = 0; i < GG_COUNT(ways); i++) {
		struct nettrace_writer writer = ways[i];
		struct imported imported;
		const struct gg_profile_sample *sample;

		write_shop(&writer);
		import_writer(&imported, &writer);
		REQUIRE(imported.samples.count == 5);
		sample = imported.samples.items;
		CHECK_EQ_STR(type_of(&imported, 0),
		             "System.Collections.Generic.List<System.Int32>");
		CHECK_EQ_STR(type_of(&imported, 2), "Shop.Item.Part[]");
		CHECK_EQ_I64(sample[0].alloc_ns, 5000);
		CHECK_EQ_I64(sample[2].alloc_ns, 2000);
		CHECK_EQ_U64(sample[1].size_bytes, 90000);
		CHECK_EQ_U64(sample[1].draw.offset_bytes, 89999);
		CHECK_EQ_U64(sample[0].draw.scheme, GG_SCHEME_BERNOULLI);
		CHECK_EQ_DOUBLE(sample[0].draw.sampling_interval, 102400);
		CHECK_EQ_STR(imported.names[0].items[sample[0].heap - 1], ".NET");
		CHECK_EQ_STR(imported.names[0].items[sample[1].heap - 1], ".NET large");
		CHECK_EQ_STR(stack_text(&imported, sample[0].stack),
		             "Shop.Cart.Add < Shop.Program.Main");
		CHECK_EQ_STR(stack_text(&imported, sample[3].stack),
		             "Shop.Cart.Pay (lambda) < Shop.Cart.Add < Shop.Program.Main");
		CHECK_EQ_U64(sample[4].stack, 0);
		CHECK(sample[0].thread == sample[1].thread && sample[0].thread != sample[2].thread);
		CHECK(sample[2].thread == sample[3].thread);
		CHECK_EQ_STR(imported.result.command, "/srv/shop --port 80");
		CHECK_EQ_U64(imported.result.start_wall_ns, UINT64_C(1795350645250000000));
		CHECK_EQ_STR(imported.notes.data,
		             "The events of .NET do not tell which objects are "
		             "live: use --metric allocated.");
		imported_done(&imported);
		nettrace_done(&writer);
	}
}

TEST(a_stream_may_be_cut_anywhere)
{
	for (size_t i = 0; i < GG_COUNT(ways); i++) {
		struct nettrace_writer writer = ways[i];
		size_t refused = 0, last = 0;

		write_shop(&writer);
		for (size_t length = 1; length < writer.file.length; length++) {
			/* A copy of that length lets a sanitizer see a read behind it. */
			uint8_t *copy = memcpy(malloc(length), writer.file.data, length);
			struct gg_dotnet_trace *trace;
			struct gg_nettrace_fault fault;
			int status = gg_dotnet_trace_read(&trace, copy, length, false, &fault);

			if (status == 0) {
				const struct gg_dotnet_facts *facts = gg_dotnet_trace_facts(trace);

				CHECK(facts->head.is_cut);
				CHECK(facts->sample_count >= last && facts->sample_count <= 5);
				last = facts->sample_count;
				gg_dotnet_trace_free(trace);
			} else { /* only before the description of the trace */
				CHECK_EQ_I64(status, -EBADMSG);
				CHECK(last == 0 && fault.message != NULL);
				refused++;
			}
			free(copy);
		}
		CHECK(refused > 60 && refused < 200);
		CHECK_EQ_U64(last, 5);
		nettrace_done(&writer);
	}
}

TEST(a_cut_stream_leaves_a_note)
{
	struct nettrace_writer writer = ways[0];
	struct imported imported;

	write_shop(&writer);
	writer.file.length--;
	import_writer(&imported, &writer);
	CHECK_CONTAINS(imported.notes.data, "was cut");
	imported_done(&imported);
	nettrace_done(&writer);
}

TEST(no_changed_byte_does_harm)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
	uint64_t refused = 0, read = 0;

	for (size_t i = 0; i < GG_COUNT(ways); i++) {
		struct nettrace_writer writer = ways[i];

		write_shop(&writer);
		for (size_t at = 0; at < writer.file.length; at++) {
			char saved = writer.file.data[at];

			for (size_t j = 0; j < GG_COUNT(values); j++) {
				struct gg_nettrace_fault fault;
				struct gg_dotnet_trace *trace;
				int status;

				writer.file.data[at] = (char)values[j];
				status = gg_dotnet_trace_read(&trace,
				                              (const uint8_t *)writer.file.data,
				                              writer.file.length, false, &fault);
				CHECK(status == 0 || (status == -EBADMSG && fault.message != NULL &&
				                      fault.offset <= writer.file.length));
				if (status == 0)
					gg_dotnet_trace_free(trace);
				read += status == 0;
				refused += status != 0;
			}
			writer.file.data[at] = saved;
		}
		nettrace_done(&writer);
	}
	CHECK(read > 1000 && refused > 100);
}

TEST(a_count_that_the_block_cannot_hold_is_refused)
{
	struct nettrace_writer writer = ways[2];
	struct imported imported;

	nettrace_begin(&writer, 1);
	nettrace_put(&writer.file, 16 | UINT64_C(5) << 24, 4); /* a block of stacks */
	nettrace_put(&writer.file, 1, 4);
	nettrace_put(&writer.file, 0xffffffff, 4);
	nettrace_put(&writer.file, 0xfffffff0, 4);
	nettrace_put(&writer.file, 0, 4);
	nettrace_end(&writer);
	CHECK_EQ_I64(import_bytes(&imported, writer.file.data, writer.file.length), -EBADMSG);
	CHECK_EQ_STR(imported.error.message, "the stack passes its block");
	imported_done(&imported);
	nettrace_done(&writer);
}

TEST(a_stack_keeps_its_512_innermost_frames)
{
	struct nettrace_writer writer = ways[0];
	struct imported imported;
	uint64_t deep[1000];
	uint32_t depth = 0;

	for (size_t i = 0; i < GG_COUNT(deep); i++)
		deep[i] = 0x1000 + i;
	nettrace_begin(&writer, 1);
	nettrace_stack(&writer, 1, deep, GG_COUNT(deep));
	nettrace_sample(&writer, 8, 10, 1, "A", 0x1000, 24, 0);
	nettrace_end(&writer);
	import_writer(&imported, &writer);
	REQUIRE(imported.samples.count == 1);
	for (uint32_t at = imported.samples.items[0].stack; at != 0;
	     at = imported.stacks.items[at - 1].parent)
		depth++;
	CHECK_EQ_U64(depth, 512);
	CHECK_CONTAINS(imported.notes.data, "Most .NET methods have no name");
	imported_done(&imported);
	nettrace_done(&writer);
}

TEST(events_that_the_runtime_dropped_are_counted)
{
	for (size_t i = 0; i < GG_COUNT(ways); i++) {
		struct nettrace_writer writer = ways[i];
		struct imported imported;

		nettrace_begin(&writer, 1);
		nettrace_sample(&writer, 8, 10, 0, "A", 0x1000, 24, 0);
		nettrace_drop(&writer, 8, 3);
		nettrace_sample(&writer, 8, 20, 0, "A", 0x2000, 24, 0);
		nettrace_drop(&writer, 9, 4); /* all that this thread wrote */
		nettrace_sequence_point(&writer);
		nettrace_end(&writer);
		import_writer(&imported, &writer);
		CHECK_CONTAINS(imported.notes.data, "dropped 7 events");
		imported_done(&imported);
		nettrace_done(&writer);
	}
}

TEST(an_impossible_object_is_left_out_and_noted)
{
	struct nettrace_writer writer = ways[0];
	struct imported imported;

	nettrace_begin(&writer, 1);
	nettrace_sample(&writer, 8, 10, 0, "A", 0x1000, 24, 24); /* the offset is behind it */
	nettrace_sample(&writer, 8, 11, 0, "A", 0x1000, 0, 0);
	nettrace_sample(&writer, 8, 12, 0, "A", 0x1000, UINT64_C(1) << 60, 0);
	nettrace_sample(&writer, 8, 13, 0, "A", 0x1000, 24, 23);
	nettrace_end(&writer);
	import_writer(&imported, &writer);
	CHECK_EQ_U64(imported.samples.count, 1);
	CHECK_CONTAINS(imported.notes.data, "3 of .NET's events were damaged");
	imported_done(&imported);
	nettrace_done(&writer);
}

/* --- names ------------------------------------------------------------------------------------ */

TEST(a_sample_gets_the_method_that_had_the_code_at_its_time)
{
	static const uint64_t first[] = { 0x1010 };
	struct nettrace_writer writer = ways[0];
	struct imported imported;

	nettrace_begin(&writer, 1);
	nettrace_stack(&writer, 1, first, 1);
	nettrace_method(&writer, NETTRACE_METHOD_LOADED, 100, 0x1000, 0x100, "Old", "F", "");
	nettrace_method(&writer, NETTRACE_METHOD_UNLOADED, 200, 0x1000, 0x100, "Old", "F", "");
	nettrace_method(&writer, NETTRACE_METHOD_LOADED, 300, 0x0ff0, 0x200, "New", "G", "");
	nettrace_method(&writer, NETTRACE_METHOD_RUNDOWN, 900, 0x1000, 0x20, "Rundown", "H", "");
	nettrace_sample(&writer, 8, 150, 1, "A", 0x1000, 24, 0);
	nettrace_sample(&writer, 8, 350, 1, "A", 0x1000, 24, 0);
	nettrace_sample(&writer, 8, 50, 1, "A", 0x1000, 24, 0);
	nettrace_end(&writer);
	import_writer(&imported, &writer);
	REQUIRE(imported.samples.count == 3);
	CHECK_EQ_STR(stack_text(&imported, imported.samples.items[0].stack), "Old.F");
	CHECK_EQ_STR(stack_text(&imported, imported.samples.items[1].stack), "New.G");
	CHECK_EQ_STR(stack_text(&imported, imported.samples.items[2].stack), "Old.F");
	imported_done(&imported);
	nettrace_done(&writer);
}

TEST(the_start_of_an_async_method_is_folded_into_its_body)
{
	static const uint64_t stack[] = { 0x1010, 0x2010, 0x3010, 0x4010 };
	struct nettrace_writer writer = ways[0];
	struct imported imported;

	nettrace_begin(&writer, 1);
	nettrace_stack(&writer, 1, stack, 4);
	nettrace_sample(&writer, 8, 150, 1, "A", 0x1000, 24, 0);
	nettrace_method(&writer, NETTRACE_METHOD_RUNDOWN, 900, 0x1000, 0x20,
	                "Shop.Cart+<AddAsync>d__3", "MoveNext", "instance void  ()");
	nettrace_method(&writer, NETTRACE_METHOD_RUNDOWN, 900, 0x2000, 0x20,
	                "System.Runtime.CompilerServices.AsyncMethodBuilderCore", "Start",
	                "void  (!!0&)");
	nettrace_method(&writer, NETTRACE_METHOD_RUNDOWN, 900, 0x3000, 0x20, "Shop.Cart",
	                "AddAsync", "class System.Threading.Tasks.Task  (int32)");
	nettrace_method(&writer, NETTRACE_METHOD_RUNDOWN, 900, 0x4000, 0x20, "Shop.Program", "Main",
	                "void  ()");
	nettrace_end(&writer);
	import_writer(&imported, &writer);
	REQUIRE(imported.samples.count == 1);
	CHECK_EQ_STR(stack_text(&imported, imported.samples.items[0].stack),
	             "Shop.Cart.AddAsync < Shop.Program.Main");
	imported_done(&imported);
	nettrace_done(&writer);
}

TEST(names_are_those_of_the_source)
{
	static const struct {
		const char *type, *method, *wanted;
	} names[] = {
		{ "Shop.Cart", "Add", "Shop.Cart.Add" },
		{ "Shop.Cart`1[System.String]", "Add", "Shop.Cart<System.String>.Add" },
		{ "Shop.Cart+<>c__DisplayClass3_0", "<Sum>b__1", "Shop.Cart.Sum (lambda)" },
		{ "Shop.Cart", "<Sum>g__Local|3_0", "Shop.Cart.Sum.Local" },
		{ "Shop.Cart+Line", ".ctor", "Shop.Cart.Line..ctor" },
		{ "", "Invoke", "Invoke" },
		{ "Map`2[System.String,List`1[System.Int32[,]]]", "Get",
		  "Map<System.String, List<System.Int32[,]>>.Get" },
	};

	for (size_t i = 0; i < GG_COUNT(names); i++) {
		GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };

		gg_dotnet_method_name(&name, names[i].type, names[i].method);
		CHECK_EQ_STR(gg_buf_text(&name), names[i].wanted);
	}
}

TEST(text_that_is_no_utf_16_becomes_valid_utf_8)
{
	static const uint8_t text[] = { 0x41, 0,    0x3d, 0xd8, 0x00, 0xde, 0x3d,
		                        0xd8, 0x42, 0,    0x00, 0xde, 0xac, 0x20 };
	GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };

	gg_dotnet_utf8(&name, gg_byte_cursor_of(text, sizeof(text)));
	CHECK_EQ_STR(gg_buf_text(&name), "A\xf0\x9f\x98\x80\xef\xbf\xbd"
	                                 "B\xef\xbf\xbd\xe2\x82\xac");
}

/* --- ticks ------------------------------------------------------------------------------------ */

TEST(ticks_without_sizes_are_sums_without_a_known_error)
{
	static const uint64_t stack[] = { 0x1010 };
	struct nettrace_writer writer = ways[0];
	struct imported imported;

	nettrace_begin(&writer, 1);
	nettrace_stack(&writer, 1, stack, 1);
	nettrace_tick(&writer, 8, 10, 1, "System.String", 106496, 0);
	nettrace_tick(&writer, 8, 20, 1, "System.String", 102408, 0);
	nettrace_tick(&writer, 8, 30, 1, "System.Byte[]", 400000, 0);
	nettrace_method(&writer, NETTRACE_METHOD_RUNDOWN, 900, 0x1000, 0x20, "Shop", "Main", "");
	nettrace_end(&writer);
	import_writer(&imported, &writer);
	CHECK_EQ_U64(imported.samples.count, 0);
	REQUIRE(imported.aggregates.count == 2);
	CHECK_EQ_DOUBLE(gg_fixed_value(imported.aggregates.items[0].sums.bytes), 208904);
	CHECK_EQ_U64(imported.aggregates.items[0].unknown_errors, 3);
	CHECK(imported.aggregates.items[0].to_ns != GG_TIME_NONE);
	CHECK_EQ_STR(stack_text(&imported, imported.aggregates.items[0].stack),
	             "new System.String < Shop.Main");
	CHECK_CONTAINS(imported.notes.data, "no confidence interval");
	imported_done(&imported);
	nettrace_done(&writer);
}

/* A tick chooses one object of 100 KiB, but not at random, so its error is unknown. */
TEST(ticks_with_sizes_are_samples_without_an_interval)
{
	static const uint64_t stack[] = { 0x1010 };
	struct nettrace_writer writer = ways[0];
	struct imported imported;
	struct gg_profile_sample *samples;

	nettrace_begin(&writer, 1);
	nettrace_stack(&writer, 1, stack, 1);
	nettrace_tick(&writer, 8, 10, 1, "System.String", 106496, 24);
	nettrace_tick(&writer, 8, 30, 1, "System.Byte[]", 400000, 399000);
	nettrace_method(&writer, NETTRACE_METHOD_RUNDOWN, 900, 0x1000, 0x20, "Shop", "Main", "");
	nettrace_end(&writer);
	import_writer(&imported, &writer);
	CHECK_EQ_U64(imported.aggregates.count, 0);
	REQUIRE(imported.samples.count == 2);
	samples = imported.samples.items;
	CHECK_EQ_U64(samples[0].draw.scheme, GG_SCHEME_BIASED);
	CHECK_EQ_U64(samples[0].size_bytes, 24);
	CHECK_EQ_U64(samples[1].size_bytes, 399000);
	CHECK(samples[0].type != 0 && samples[1].type != 0 && samples[0].type != samples[1].type);
	CHECK_EQ_STR(stack_text(&imported, samples[0].stack), "Shop.Main");
	CHECK_CONTAINS(imported.notes.data, "no confidence interval");
	imported_done(&imported);
	nettrace_done(&writer);
}

/* --- lives ------------------------------------------------------------------------------------ */

static void gc_start(struct nettrace_writer *writer, int64_t time_ns, uint32_t number,
                     uint32_t generation, bool is_background)
{
	struct gg_buf payload = { 0 };

	nettrace_put(&payload, number, 4);
	nettrace_put(&payload, generation, 4);
	nettrace_put(&payload, 0, 4);
	nettrace_put(&payload, is_background, 4);
	nettrace_put(&payload, 0, 2 + 4 + 2);
	nettrace_event(writer, NETTRACE_GC_START, 3, time_ns, 0, &payload);
	gg_buf_done(&payload);
}

static void gc_end(struct nettrace_writer *writer, int64_t time_ns, uint32_t number,
                   uint32_t generation)
{
	struct gg_buf payload = { 0 };

	nettrace_put(&payload, number, 4);
	nettrace_put(&payload, generation, 4);
	nettrace_put(&payload, 0, 2);
	nettrace_event(writer, NETTRACE_GC_END, 3, time_ns, 0, &payload);
	gg_buf_done(&payload);
}

static void gc_range(struct nettrace_writer *writer, int64_t time_ns, uint32_t generation,
                     uint64_t from, uint64_t length)
{
	struct gg_buf payload = { 0 };

	nettrace_put(&payload, generation, 1);
	nettrace_put(&payload, from, 8);
	nettrace_put(&payload, 0, 8); /* the used part of a new region */
	nettrace_put(&payload, length, 8);
	nettrace_put(&payload, 0, 2);
	nettrace_event(writer, NETTRACE_GC_RANGE, 3, time_ns, 0, &payload);
	gg_buf_done(&payload);
}

/* to 0: it stayed. */
static void gc_survivor(struct nettrace_writer *writer, int64_t time_ns, uint64_t from,
                        uint64_t length, uint64_t to)
{
	struct gg_buf payload = { 0 };

	nettrace_put(&payload, 0, 4);
	nettrace_put(&payload, 1, 4);
	nettrace_put(&payload, 0, 2);
	nettrace_put(&payload, from, 8);
	if (to != 0)
		nettrace_put(&payload, to, 8);
	nettrace_put(&payload, length, 8);
	nettrace_event(writer, to != 0 ? NETTRACE_GC_MOVED : NETTRACE_GC_SURVIVED, 3, time_ns, 0,
	               &payload);
	gg_buf_done(&payload);
}

enum { GEN0 = 0x100000, GEN1 = 0x200000, GEN2 = 0x300000, LARGE = 0x400000, PINNED = 0x500000 };

enum { RANGE = 0x100000 };

static void gc_ranges(struct nettrace_writer *writer, int64_t time_ns)
{
	gc_range(writer, time_ns, 0, GEN0, RANGE);
	gc_range(writer, time_ns, 1, GEN1, RANGE);
	gc_range(writer, time_ns, 2, GEN2, RANGE);
	gc_range(writer, time_ns, 3, LARGE, RANGE);
	gc_range(writer, time_ns, 4, PINNED, RANGE);
}

TEST(samples_are_followed_through_collections)
{
	struct nettrace_writer writer = ways[0];
	struct imported imported;
	const struct gg_profile_sample *samples;

	nettrace_begin(&writer, 1);
	nettrace_sample(&writer, 8, 10, 0, "Moves", GEN0 + 0x1000, 24, 0);
	nettrace_sample(&writer, 8, 11, 0, "Dies", GEN0 + 0x2000, 24, 0);
	nettrace_sample(&writer, 8, 12, 0, "Stays", GEN0 + 0x3000, 24, 0);
	nettrace_sample(&writer, 8, 13, 0, "Large", LARGE + 0x1000, 90000, 0);
	nettrace_sample(&writer, 8, 105, 0, "New", GEN0 + 0x9000, 24, 0); /* while it collects */
	gc_start(&writer, 100, 1, 0, false);
	gc_ranges(&writer, 101);
	gc_survivor(&writer, 102, GEN0 + 0xf00, 0x200, GEN1 + 0x500);
	gc_survivor(&writer, 102, GEN0 + 0x3000, 24, 0);
	gc_range(&writer, 103, 1, GEN0, RANGE); /* the memory afterwards */
	gc_end(&writer, 110, 1, 0);
	/* A collection of generation 1 finds the moved object dead, and skips generation 0. */
	gc_start(&writer, 200, 2, 1, false);
	gc_range(&writer, 201, 1, GEN1, RANGE);
	gc_range(&writer, 201, 3, LARGE, RANGE);
	gc_survivor(&writer, 202, GEN1 + 0x8000, 24, 0);
	gc_end(&writer, 210, 2, 1);
	/* A collection of generation 2 also collects large objects. */
	gc_start(&writer, 300, 3, 2, false);
	gc_ranges(&writer, 301);
	gc_survivor(&writer, 302, GEN0 + 0x3000, 24, 0);
	gc_end(&writer, 310, 3, 2);
	nettrace_end(&writer);
	import_writer(&imported, &writer);
	REQUIRE(imported.samples.count == 5);
	samples = imported.samples.items;
	CHECK_EQ_I64(samples[0].free_ns, 210);
	CHECK_EQ_I64(samples[1].free_ns, 110);
	CHECK_EQ_I64(samples[2].free_ns, GG_TIME_NONE);
	CHECK_EQ_I64(samples[3].free_ns, 310);
	CHECK_EQ_I64(samples[4].free_ns, 310);
	CHECK(imported.result.has_history && imported.notes.length == 0);
	imported_done(&imported);
	nettrace_done(&writer);
}

/* The history says at the end whether a collection ran in the background. */
static void gc_history(struct nettrace_writer *writer, int64_t time_ns, bool is_background)
{
	struct gg_buf payload = { 0 };

	nettrace_put(&payload, 0, 8); /* the size of the youngest generation */
	nettrace_put(&payload, 1, 4); /* heaps */
	nettrace_put(&payload, 2, 4); /* the generation */
	nettrace_put(&payload, 0, 8); /* a count, and the reason */
	nettrace_put(&payload, 6 | is_background, 4);
	nettrace_put(&payload, 0, 2);
	nettrace_event(writer, NETTRACE_GC_HISTORY, 3, time_ns, 0, &payload);
	gg_buf_done(&payload);
}

TEST(a_background_collection_collects_old_and_large_objects_alone)
{
	struct nettrace_writer writer = ways[2];
	struct imported imported;
	const struct gg_profile_sample *samples;

	nettrace_begin(&writer, 1);
	nettrace_sample(&writer, 8, 10, 0, "OldDies", GEN2 + 0x1000, 24, 0);
	nettrace_sample(&writer, 8, 11, 0, "OldLives", GEN2 + 0x2000, 24, 0);
	nettrace_sample(&writer, 8, 12, 0, "Young", GEN0 + 0x3000, 24, 0);
	nettrace_sample(&writer, 8, 13, 0, "Promoted", GEN1 + 0x4000, 24, 0);
	nettrace_sample(&writer, 8, 14, 0, "PromotedDies", GEN1 + 0x5000, 24, 0);
	nettrace_sample(&writer, 8, 15, 0, "AgesInPlace", GEN1 + 0x6000, 24, 0);
	nettrace_sample(&writer, 8, 16, 0, "PinnedDies", PINNED + 0x1000, 24, 0);
	nettrace_sample(&writer, 8, 17, 0, "PinnedLives", PINNED + 0x2000, 24, 0);
	nettrace_sample(&writer, 8, 105, 0, "LargeDies", LARGE + 0x1000, 90000, 0);
	gc_start(&writer, 100, 1, 2, true);
	gc_ranges(&writer, 101);
	/* A collection in the foreground promotes objects meanwhile, and even a whole range. */
	gc_start(&writer, 110, 2, 1, false);
	gc_ranges(&writer, 111);
	gc_survivor(&writer, 112, GEN0 + 0x3000, 24, 0);
	gc_survivor(&writer, 112, GEN1 + 0x4000, 24, GEN2 + 0x9000);
	gc_survivor(&writer, 112, GEN1 + 0x5000, 24, GEN2 + 0xa000);
	gc_survivor(&writer, 112, GEN1 + 0x6000, 24, 0);
	gc_range(&writer, 113, 0, GEN0, RANGE);
	gc_range(&writer, 113, 2, GEN1, RANGE);
	gc_range(&writer, 113, 2, GEN2, RANGE);
	gc_range(&writer, 113, 3, LARGE, RANGE);
	gc_range(&writer, 113, 4, PINNED, RANGE);
	gc_history(&writer, 114, false);
	gc_end(&writer, 120, 2, 1);
	/* Runtimes without regions do not list the newest objects. */
	nettrace_sample(&writer, 8, 122, 0, "Unlisted", GEN0 + 0x8000, 24, 0);
	gc_survivor(&writer, 130, GEN2 + 0x2000, 24, 0);
	gc_survivor(&writer, 130, GEN2 + 0x9000, 24, 0);
	gc_survivor(&writer, 130, PINNED + 0x2000, 24, 0);
	nettrace_sample(&writer, 8, 131, 0, "Late", LARGE + 0x40000, 90000, 0);
	/* Before the end of the collection, the next one moves objects again. */
	gc_start(&writer, 132, 3, 0, false);
	gc_range(&writer, 133, 0, GEN0, RANGE);
	gc_survivor(&writer, 134, GEN0 + 0x3000, 24, GEN1 + 0x8000);
	gc_end(&writer, 135, 3, 0);
	gc_history(&writer, 139, true);
	gc_end(&writer, 140, 1, 2);
	nettrace_end(&writer);
	import_writer(&imported, &writer);
	REQUIRE(imported.samples.count == 11);
	samples = imported.samples.items;
	CHECK_EQ_I64(samples[0].free_ns, 130);
	CHECK_EQ_I64(samples[1].free_ns, GG_TIME_NONE);
	CHECK_EQ_I64(samples[2].free_ns, GG_TIME_NONE);
	CHECK_EQ_I64(samples[3].free_ns, GG_TIME_NONE);
	CHECK_EQ_I64(samples[4].free_ns, 130);
	CHECK_EQ_I64(samples[5].free_ns, 130);
	CHECK_EQ_I64(samples[6].free_ns, 130);
	CHECK_EQ_I64(samples[7].free_ns, GG_TIME_NONE);
	CHECK_EQ_I64(samples[8].free_ns, 130);
	CHECK_EQ_I64(samples[9].free_ns, 135);
	CHECK_EQ_I64(samples[10].free_ns, GG_TIME_NONE);
	imported_done(&imported);
	nettrace_done(&writer);
}

TEST(a_background_collection_that_became_a_blocking_one_collects_all)
{
	for (int has_moved = 0; has_moved < 2; has_moved++) {
		struct nettrace_writer writer = ways[0];
		struct imported imported;

		nettrace_begin(&writer, 1);
		nettrace_sample(&writer, 8, 10, 0, "YoungDies", GEN0 + 0x1000, 24, 0);
		nettrace_sample(&writer, 8, 11, 0, "OldLives", GEN2 + 0x2000, 24, 0);
		nettrace_sample(&writer, 8, 12, 0, "OldDies", GEN2 + 0x3000, 24, 0);
		gc_start(&writer, 100, 1, 2, true);
		gc_ranges(&writer, 101);
		gc_survivor(&writer, 130, GEN2 + 0x2000, 24, has_moved ? GEN2 + 0x1000 : 0);
		if (!has_moved)
			gc_history(&writer, 135, false);
		gc_end(&writer, 140, 1, 2);
		/* It is followed at its new address. */
		gc_start(&writer, 200, 2, 2, false);
		gc_ranges(&writer, 201);
		gc_survivor(&writer, 202, GEN2 + (has_moved ? 0x1000 : 0x2000), 24, 0);
		gc_end(&writer, 210, 2, 2);
		nettrace_end(&writer);
		import_writer(&imported, &writer);
		REQUIRE(imported.samples.count == 3);
		CHECK_EQ_I64(imported.samples.items[0].free_ns, 140);
		CHECK_EQ_I64(imported.samples.items[1].free_ns, GG_TIME_NONE);
		CHECK_EQ_I64(imported.samples.items[2].free_ns, 140);
		imported_done(&imported);
		nettrace_done(&writer);
	}
}

TEST(lives_are_unknown_if_a_report_of_survivors_may_be_missing)
{
	for (int is_lost = 0; is_lost < 2; is_lost++) {
		struct nettrace_writer writer = ways[0];
		struct imported imported;

		nettrace_begin(&writer, 1);
		nettrace_sample(&writer, 8, 10, 0, "A", GEN0 + 0x1000, 24, 0);
		gc_start(&writer, 100, 1, 0, false);
		gc_ranges(&writer, 101);
		if (is_lost) {
			nettrace_drop(&writer, 3, 1);
			gc_survivor(&writer, 102, GEN0 + 0x5000, 24, 0);
		}
		gc_end(&writer, 110, 1, 0);
		nettrace_end(&writer);
		import_writer(&imported, &writer);
		REQUIRE(imported.samples.count == 1);
		CHECK_EQ_I64(imported.samples.items[0].free_ns, 10);
		CHECK(!imported.result.has_history);
		CHECK_CONTAINS(imported.notes.data, "use --metric allocated");
		imported_done(&imported);
		nettrace_done(&writer);
	}
}

/* --- streams that go on ----------------------------------------------------------------------- */

static int give_one(void *context, uint64_t pid, uint32_t *ret_process)
{
	(void)pid;
	*ret_process = *(const uint32_t *)context;
	return 0;
}

static int give_none(void *context, uint32_t process, uint64_t tid, uint32_t *ret_thread)
{
	(void)context;
	(void)process;
	(void)tid;
	*ret_thread = 0;
	return 0;
}

struct parts {
	struct gg_profile *profile;
	uint32_t process;
	struct gg_dotnet_writtens writtens;
	struct imported read; /* what the profile has */
};

static void parts_init(struct parts *parts)
{
	const struct gg_profile_process process = { .pid = 1, .end_ns = GG_TIME_NONE };

	*parts = (struct parts){ 0 };
	REQUIRE(gg_profile_create(&parts->profile, NULL, NULL) == 0);
	REQUIRE(gg_profile_add_process(parts->profile, &process, &parts->process, NULL) == 0);
}

static void parts_done(struct parts *parts)
{
	gg_array_done(&parts->read.samples);
	gg_array_done(&parts->writtens.items);
	gg_profile_close(parts->profile);
}

/* Writes what a stream has so far; all that happened until settled_ns has arrived. */
static void write_part(struct parts *parts, const struct nettrace_writer *writer,
                       int64_t settled_ns)
{
	const struct gg_dotnet_sink sink = { .profile = parts->profile,
		                             .last_ns = INT64_MAX,
		                             .process = give_one,
		                             .thread = give_none,
		                             .context = &parts->process };
	struct gg_nettrace_fault fault;
	struct gg_dotnet_trace *trace;

	REQUIRE(gg_dotnet_trace_read_part(&trace, (const uint8_t *)writer->file.data,
	                                  writer->file.length,
	                                  writer->start_ticks + (uint64_t)settled_ns, &fault) == 0);
	REQUIRE(gg_dotnet_trace_write_part(trace, &sink, &parts->writtens) == 0);
	gg_dotnet_trace_free(trace);
	parts->read.samples.count = 0;
	REQUIRE(gg_profile_each_sample(parts->profile, take_sample, &parts->read, NULL) == 0);
}

TEST(a_stream_that_goes_on_adds_its_new_samples_and_ends_its_dead)
{
	struct nettrace_writer writer = { .version = 4,
		                          .is_compressed = true,
		                          .start_ticks = 5000000 };
	const struct gg_profile_sample *samples;
	struct parts parts;

	parts_init(&parts);
	nettrace_begin(&writer, 1);
	nettrace_sample(&writer, 8, 10, 0, "Moves", GEN0 + 0x1000, 24, 0);
	nettrace_sample(&writer, 8, 11, 0, "Dies", GEN0 + 0x2000, 24, 0);
	nettrace_flush(&writer);
	write_part(&parts, &writer, 50);
	CHECK_EQ_U64(parts.read.samples.count, 2);
	gc_start(&writer, 100, 1, 0, false);
	gc_ranges(&writer, 101);
	gc_survivor(&writer, 102, GEN0 + 0xf00, 0x200, GEN1 + 0x500);
	nettrace_flush(&writer);
	write_part(&parts, &writer, 150); /* its end has not arrived */
	samples = parts.read.samples.items;
	CHECK_EQ_U64(parts.read.samples.count, 2);
	CHECK(samples[0].free_ns == GG_TIME_NONE && samples[1].free_ns == GG_TIME_NONE);
	gc_end(&writer, 110, 1, 0);
	nettrace_sample(&writer, 9, 120, 0, "New", GEN0 + 0x1000, 48, 0);
	nettrace_flush(&writer);
	write_part(&parts, &writer, 150);
	write_part(&parts, &writer, 150); /* no news */
	samples = parts.read.samples.items;
	REQUIRE(parts.read.samples.count == 3);
	CHECK_EQ_I64(samples[0].free_ns, GG_TIME_NONE);
	CHECK_EQ_I64(samples[1].free_ns, 110);
	CHECK_EQ_I64(samples[2].alloc_ns, 120);
	CHECK_EQ_I64(samples[2].free_ns, GG_TIME_NONE);
	CHECK_EQ_U64(samples[2].size_bytes, 48);
	gc_start(&writer, 200, 2, 1, false);
	gc_ranges(&writer, 201);
	gc_survivor(&writer, 202, GEN0 + 0x1000, 48, 0);
	gc_end(&writer, 210, 2, 1);
	nettrace_flush(&writer);
	write_part(&parts, &writer, 250);
	CHECK_EQ_I64(parts.read.samples.items[0].free_ns, 210);
	CHECK_EQ_I64(parts.read.samples.items[2].free_ns, GG_TIME_NONE);
	parts_done(&parts);
	nettrace_done(&writer);
}

/* The runtime sends the events of one thread after those of another. */
TEST(a_collection_whose_reports_are_on_their_way_ends_nothing)
{
	struct nettrace_writer writer = { .version = 4,
		                          .is_compressed = true,
		                          .start_ticks = 5000000 };
	struct parts parts;

	parts_init(&parts);
	nettrace_begin(&writer, 1);
	nettrace_sample(&writer, 8, 10, 0, "Stays", GEN0 + 0x1000, 24, 0);
	gc_start(&writer, 100, 1, 0, false);
	gc_ranges(&writer, 101);
	gc_survivor(&writer, 102, GEN0 + 0x5000, 24, 0);
	gc_end(&writer, 110, 1, 0);
	nettrace_flush(&writer);
	write_part(&parts, &writer, 90);
	REQUIRE(parts.read.samples.count == 1);
	CHECK_EQ_I64(parts.read.samples.items[0].free_ns, GG_TIME_NONE);
	gc_survivor(&writer, 103, GEN0 + 0x1000, 24, 0); /* it arrives late */
	nettrace_flush(&writer);
	write_part(&parts, &writer, 150);
	CHECK_EQ_I64(parts.read.samples.items[0].free_ns, GG_TIME_NONE);
	parts_done(&parts);
	nettrace_done(&writer);
}

TEST(methods_of_another_stream_name_the_stacks_of_a_part)
{
	static const uint64_t stack[] = { 0x1010 };
	struct nettrace_writer writer = ways[0], methods = ways[0];
	struct gg_dotnet_trace *trace;
	struct gg_nettrace_fault fault;
	struct parts parts;
	struct gg_dotnet_sink sink = { .last_ns = INT64_MAX,
		                       .process = give_one,
		                       .thread = give_none };

	parts_init(&parts);
	sink.profile = parts.profile;
	sink.context = &parts.process;
	nettrace_begin(&writer, 1);
	nettrace_stack(&writer, 1, stack, 1);
	nettrace_sample(&writer, 8, 10, 1, "A", GEN0, 24, 0);
	nettrace_flush(&writer);
	nettrace_begin(&methods, 1);
	nettrace_method(&methods, NETTRACE_METHOD_RUNDOWN, 9, 0x1000, 0x20, "Shop.Cart", "Add", "");
	nettrace_end(&methods);
	REQUIRE(gg_dotnet_trace_read_part(&trace, (const uint8_t *)writer.file.data,
	                                  writer.file.length, 1, &fault) == 0);
	REQUIRE(gg_dotnet_trace_add_methods(trace, (const uint8_t *)methods.file.data,
	                                    methods.file.length, &fault) == 0);
	REQUIRE(gg_dotnet_trace_write_part(trace, &sink, &parts.writtens) == 0);
	gg_dotnet_trace_free(trace);
	REQUIRE(gg_profile_each_line(parts.profile, take_line, &parts.read, NULL) == 0);
	REQUIRE(parts.read.lines.count == 1);
	CHECK_EQ_STR(parts.read.lines.items[0].function, "Shop.Cart.Add");
	free((char *)parts.read.lines.items[0].function);
	gg_array_done(&parts.read.lines);
	parts_done(&parts);
	nettrace_done(&methods);
	nettrace_done(&writer);
}

/* A collection with the shortest report: one object far away survived. */
static void short_collection(struct nettrace_writer *writer, int64_t time_ns, uint32_t number)
{
	gc_start(writer, time_ns, number, 0, false);
	gc_survivor(writer, time_ns + 1, LARGE, 24, 0);
	gc_end(writer, time_ns + 2, number, 0);
}

enum { HOSTILE_OBJECTS = 30000, HOSTILE_COLLECTIONS = 12000 };

/* Each object lives through each collection: 360 million visits for 2.6 MB. */
TEST(a_stream_of_many_objects_and_many_collections_costs_its_lives)
{
	struct nettrace_writer writer = ways[0];
	struct imported imported;

	nettrace_begin(&writer, 1);
	for (int i = 0; i < HOSTILE_OBJECTS; i++)
		nettrace_sample(&writer, 8, i, 0, "A", GEN0 + 24 * (uint64_t)i, 24, 0);
	for (uint32_t i = 0; i < HOSTILE_COLLECTIONS; i++)
		short_collection(&writer, HOSTILE_OBJECTS + 3 * (int64_t)i, i);
	nettrace_end(&writer);
	CHECK(writer.file.length * GG_OBJECT_LIVES_STEPS_PER_BYTE + GG_OBJECT_LIVES_STEPS_LEAST <
	      (uint64_t)HOSTILE_OBJECTS * HOSTILE_COLLECTIONS);
	import_writer(&imported, &writer);
	REQUIRE(imported.samples.count == HOSTILE_OBJECTS);
	CHECK_EQ_I64(imported.samples.items[0].free_ns, 0);
	CHECK_EQ_I64(imported.samples.items[9].free_ns, 9);
	CHECK(!imported.result.has_history);
	CHECK_CONTAINS(imported.notes.data, "too many collections of .NET");
	imported_done(&imported);
	nettrace_done(&writer);
}

enum { BUSY_LIVE = 100000, BUSY_YOUNG_BYTES = 6 << 20 };

/*
 * A program with 10 GB of live objects that collects after each 6 MB, which is less than the cache
 * of a small machine and so than what a runtime waits for.
 */
TEST(a_busy_program_needs_less_than_half_of_the_steps)
{
	struct nettrace_writer writer = ways[0];
	size_t before;

	nettrace_begin(&writer, 1);
	before = writer.file.length;
	for (int i = 0; i < BUSY_YOUNG_BYTES / GG_DOTNET_INTERVAL_BYTES; i++)
		nettrace_sample(&writer, 8, 10 + i, 1, "System.String", GEN0 + 24 * (uint64_t)i, 24,
		                0);
	short_collection(&writer, 1000, 1);
	nettrace_flush(&writer);
	CHECK((writer.file.length - before) * (GG_OBJECT_LIVES_STEPS_PER_BYTE / 2) > BUSY_LIVE);
	printf("# %.1f steps for each byte\n", BUSY_LIVE / (double)(writer.file.length - before));
	nettrace_done(&writer);
}

/* --- intervals -------------------------------------------------------------------------------- */

enum { TYPES = 50, RUNS = 100 };

/* Objects of one type: `count` of one size. */
struct load {
	uint64_t size, count;
};

static void make_load(struct load *loads)
{
	static const uint64_t sizes[] = { 24, 72, 400, 4096, 30000, 102400, 400000 };

	for (size_t i = 0; i < TYPES; i++) {
		loads[i].size = sizes[i % GG_COUNT(sizes)];
		loads[i].count = (i + 1) * 120000 / loads[i].size + 1; /* 0.1 to 6 MB */
	}
}

/* As the runtime does: a coin for each byte, by the distance to the next success. */
static void write_load(struct nettrace_writer *writer, const struct load *loads, uint64_t seed)
{
	struct gg_rng rng = { { 0 } };
	double log_miss = log1p(-1.0 / 102400), left;
	int64_t time_ns = 0;

	gg_rng_seed(&rng, seed, 1);
	left = floor(log1p(-gg_rng_uniform(&rng)) / log_miss);
	for (size_t i = 0; i < TYPES; i++) {
		double size = (double)loads[i].size;
		uint64_t done = 0;
		char type[32];

		snprintf(type, sizeof(type), "Load.Type%02zu", i);
		while (done < loads[i].count) {
			double skipped = floor(left / size); /* whole objects before the success */

			if (skipped >= (double)(loads[i].count - done)) {
				left -= (double)(loads[i].count - done) * size;
				break;
			}
			done += (uint64_t)skipped + 1;
			left -= skipped * size;
			nettrace_sample(writer, 8, ++time_ns, 0, type, 0x10000, loads[i].size,
			                (uint64_t)left);
			left = floor(log1p(-gg_rng_uniform(&rng)) / log_miss);
		}
	}
}

TEST(intervals_by_type_hold_over_100_runs)
{
	struct load loads[TYPES];
	struct stat_moments bias = { 0 };
	uint64_t held = 0, least;

	make_load(loads);
	for (uint64_t run = 0; run < RUNS; run++) {
		struct nettrace_writer writer = ways[run % GG_COUNT(ways)];
		struct gg_tally tallies[TYPES] = { 0 };
		struct imported imported;
		double estimate = 0, truth = 0;

		nettrace_begin(&writer, 1);
		write_load(&writer, loads, 1000 + run);
		nettrace_end(&writer);
		import_writer(&imported, &writer);
		for (size_t i = 0; i < TYPES; i++)
			gg_tally_expose(&tallies[i], GG_DOTNET_INTERVAL_BYTES);
		for (size_t i = 0; i < imported.samples.count; i++) {
			const struct gg_profile_sample *sample = &imported.samples.items[i];
			int type = atoi(type_of(&imported, i) + strlen("Load.Type"));

			gg_tally_add(&tallies[type], &sample->draw, sample->size_bytes);
		}
		for (size_t i = 0; i < TYPES; i++) {
			struct gg_interval interval = gg_interval_of(&tallies[i], GG_BYTES, 0.95,
			                                             false);
			double bytes = (double)(loads[i].size * loads[i].count);

			held += interval.low <= bytes && bytes <= interval.high;
			estimate += gg_tally_estimate(&tallies[i], GG_BYTES).value;
			truth += bytes;
		}
		stat_add(&bias, estimate / truth - 1);
		imported_done(&imported);
		nettrace_done(&writer);
	}
	least = (uint64_t)(0.94 * TYPES * RUNS);
	printf("# %" PRIu64 " of %d intervals hold the truth (%.2f %%), bias %+.4f %%\n", held,
	       TYPES * RUNS, 100.0 * (double)held / (TYPES * RUNS), 100 * bias.mean);
	CHECK_MSG(held >= least, "%" PRIu64 " of at least %" PRIu64, held, least);
	CHECK(fabs(bias.mean) <= 3.5 * stat_error_of_mean(&bias));
}

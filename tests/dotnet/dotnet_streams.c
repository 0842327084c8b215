/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dotnet_streams - writes an event stream as a runtime of .NET does, for a test.
 *
 *   dotnet_streams samples 1000 PID > s.nettrace   objects of 200 000 bytes, each a sample
 *   dotnet_streams ticks 1000 PID > t.nettrace     ticks of 102 400 bytes, objects of 200 bytes
 *   dotnet_streams old-ticks 1000 PID              the same without the sizes of objects
 *
 * The stream starts now, and event i is i us after that; with a fourth argument, i times so many
 * nanoseconds.  All have one stack:
 * Shop.Cart.Add, called by Shop.Program.Main.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "nettrace_writer.h"

enum { MAIN_AT = 0x10000, ADD_AT = 0x20000, METHOD_BYTES = 0x100, FLUSH_EACH = 100 };

int main(int argc, char **argv)
{
	static const uint64_t stack[] = { ADD_AT + 8, MAIN_AT + 8 };
	struct nettrace_writer writer = { .version = 4,
		                          .is_compressed = true,
		                          .start_ticks = gg_clock_monotonic_ns() };
	bool is_old = argc > 1 && strcmp(argv[1], "old-ticks") == 0;
	bool is_ticks = is_old || (argc > 1 && strcmp(argv[1], "ticks") == 0);
	int64_t count = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
	int64_t spacing_ns = argc > 4 ? strtol(argv[4], NULL, 10) : 1000;

	nettrace_begin(&writer, argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 4711);
	nettrace_method(&writer, NETTRACE_METHOD_LOADED, 1, MAIN_AT, METHOD_BYTES, "Shop.Program",
	                "Main", "void  ()");
	nettrace_method(&writer, NETTRACE_METHOD_LOADED, 2, ADD_AT, METHOD_BYTES, "Shop.Cart",
	                "Add", "void  (int32)");
	nettrace_stack(&writer, 1, stack, 2);
	for (int64_t i = 0; i < count; i++) {
		if (is_ticks)
			nettrace_tick(&writer, 77, (i + 1) * spacing_ns, 1, "System.String", 102400,
			              is_old ? 0 : 200);
		else
			nettrace_sample(&writer, 77, (i + 1) * spacing_ns, 1, "System.String",
			                0x7000000 + (uint64_t)i * 200000, 200000, 100);
		if (i % FLUSH_EACH == FLUSH_EACH - 1)
			nettrace_flush(&writer);
	}
	nettrace_flush(&writer);
	nettrace_end(&writer);
	fwrite(writer.file.data, 1, writer.file.length, stdout);
	nettrace_done(&writer);
	return fflush(stdout) == 0 ? 0 : 1;
}

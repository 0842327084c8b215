/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_frames - frames that a language runtime describes by function, file and line
 * (process/stack_map.h).
 */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "record/process/stack_map.h"
#include "symbol/symbol.h"

enum { FRAME_TEXT_MAX = 1024 };

/* Interns the source file as a module that needs no symbols; 0: the frame has no file. */
static uint32_t module_of(struct gg_profile_writer *writer, const char *file)
{
	const struct gg_profile_module module = {
		.path = file,
		.status = gg_symbol_status_text(GG_SYMBOL_FULL),
	};
	uint32_t id = 0;

	if (*file != '\0')
		gg_profile_writer_keep(writer, gg_profile_intern_module(writer->profile, &module,
		                                                        &id, writer->error));
	return id;
}

/* An address for the frame that is the same in every process, so that equal frames merge. */
static uint64_t address_of(const char *function, uint32_t line)
{
	return gg_hash_bytes(function, strlen(function), line) >> 1;
}

uint32_t gg_stack_map_runtime_frame(struct gg_region_reader *reader,
                                    struct gg_profile_writer *writer, uint64_t pc)
{
	uint32_t number = (uint32_t)pc, frame = 0;
	char function[FRAME_TEXT_MAX], file[FRAME_TEXT_MAX];
	struct gg_region_frame record;
	struct gg_profile_line line;

	if (number == 0 || number >= gg_region_reader_used(reader, GG_TABLE_FRAMES) ||
	    !gg_region_reader_read(reader, GG_TABLE_FRAMES, number, 1, &record) ||
	    record.ready != 1)
		return 0;
	gg_region_reader_text(reader, record.function_offset, record.function_bytes, function,
	                      FRAME_TEXT_MAX);
	gg_region_reader_text(reader, record.file_offset, record.file_bytes, file, FRAME_TEXT_MAX);
	gg_profile_writer_keep(writer,
	                       gg_profile_intern_frame(writer->profile, module_of(writer, file),
	                                               address_of(function, record.line), &frame,
	                                               writer->error));
	if (frame == 0)
		return 0;
	line = (struct gg_profile_line){ .frame = frame,
		                         .function = *function != '\0' ? function : "[no name]",
		                         .file = *file != '\0' ? file : NULL,
		                         .line = record.line };
	gg_profile_writer_keep(
		writer, gg_profile_put_lines(writer->profile, frame, &line, 1, writer->error));
	return frame;
}

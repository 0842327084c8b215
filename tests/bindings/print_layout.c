/* SPDX-License-Identifier: Apache-2.0 */
/* print_layout MINOR - prints the adapter's layout of CPython 3.MINOR, without zeros. */
#include <stdio.h>
#include <stdlib.h>

#include "layout.h"

#define NUMBER(name)                                                   \
	do {                                                           \
		if (layout->name != 0)                                 \
			printf(#name " %u\n", (unsigned)layout->name); \
	} while (0)

int main(int argc, char **argv)
{
	unsigned minor = argc == 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	const struct gg_python_layout *layout = gg_python_layout_of(0x0300 | minor);

	if (layout == NULL)
		return 1;
	NUMBER(state_frame);
	NUMBER(state_loop);
	NUMBER(state_thread_id);
	NUMBER(loop_frame);
	NUMBER(loop_previous);
	NUMBER(frame_previous);
	NUMBER(frame_code);
	NUMBER(frame_position);
	NUMBER(frame_owner);
	NUMBER(frame_is_entry);
	NUMBER(code_file);
	NUMBER(code_name);
	NUMBER(code_lines);
	NUMBER(code_first_line);
	NUMBER(code_first_instruction);
	NUMBER(code_first_traceable);
	NUMBER(ascii_bytes);
	NUMBER(compact_bytes);
	NUMBER(code_bytes);
	NUMBER(text_bytes);
	return 0;
}

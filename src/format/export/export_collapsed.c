/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_collapsed - one line for each stack, "main;load;parse 4096", the input of flame graphs.
 *
 * The format separates frames by ';' and ends a line with a number.  So ';' in a name becomes ':',
 * and control characters become blanks.  A line that would begin with '#', like a comment, begins
 * with a blank instead.  The format has only stacks and numbers, so all rows of one stack become
 * one line.  If there are several processes, the program's name and pid are the outermost frame.
 */
#include <stdlib.h>
#include <string.h>

#include "format/export/export.h"

static void put_name(struct gg_buf *out, const char *name)
{
	for (; *name != '\0'; name++) {
		char c = *name == ';' ? ':' : (unsigned char)*name < ' ' ? ' ' : *name;

		gg_buf_append(out, &c, 1);
	}
}

static bool has_many_processes(const struct gg_extract *extract)
{
	return extract->row_count > 0 &&
	       extract->rows[0].process != extract->rows[extract->row_count - 1].process;
}

static void put_process(const struct gg_extract *extract, uint32_t process, struct gg_buf *out)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf name = { 0 };

	gg_extract_process_name(extract, process, &name);
	put_name(out, gg_buf_text(&name));
	gg_buf_printf(out, " (%u);", extract->model->processes[process].pid);
}

static int write_collapsed(const struct gg_export *job)
{
	const struct gg_extract *extract = job->extract;
	bool has_processes = has_many_processes(extract);
	struct gg_export_path path = { 0 };
	size_t depth;

	for (size_t i = 0; i < extract->row_count;) {
		const struct gg_extract_row *row = &extract->rows[i];
		uint64_t bytes = 0;

		gg_export_progress(job, i, extract->row_count);
		for (; i < extract->row_count && extract->rows[i].stack == row->stack &&
		       extract->rows[i].process == row->process;
		     i++)
			bytes += gg_extract_queried(extract, &extract->rows[i])->bytes;
		if (bytes == 0)
			continue;
		if (!gg_export_path(extract->model, row->stack, &path)) {
			gg_array_done(&path);
			return gg_export_out_of_memory(job);
		}
		depth = path.count;
		if (has_processes)
			put_process(extract, row->process, job->out);
		for (bool is_first = !has_processes; depth-- > 0; is_first = false) {
			const char *name =
				extract->model->functions[path.items[depth].function].name;

			gg_buf_append_text(job->out, is_first && name[0] == '#' ? " " : "");
			put_name(job->out, name);
			gg_buf_append_text(job->out, depth > 0 ? ";" : "");
		}
		gg_buf_printf(job->out, " %llu\n", (unsigned long long)bytes);
	}
	gg_array_done(&path);
	return 0;
}

const struct gg_export_format gg_export_collapsed = {
	.name = "collapsed",
	.suffix = ".collapsed",
	.other_suffix = ".folded",
	.write = write_collapsed,
};

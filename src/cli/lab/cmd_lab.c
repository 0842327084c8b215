/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_lab - `geiger lab`: the family of laboratory commands, and the parts that they share. */
#include "cli/lab/lab.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int gg_lab_check_confidence(double confidence, const char *command, struct gg_error *error)
{
	if (confidence > 0 && confidence < 1)
		return 0;
	gg_error_set(error, -EINVAL, NULL, "Give a number such as 0.95.",
	             "%g is not between 0 and 1", confidence);
	gg_error_set_place(error, "%s: --confidence", command);
	return -EINVAL;
}

int gg_lab_check_interval(uint64_t interval_bytes, const char *command, struct gg_error *error)
{
	if (interval_bytes > 0)
		return 0;
	gg_error_set(error, -EINVAL, NULL, "The least is 1, which samples every allocation.",
	             "0 is not an interval");
	gg_error_set_place(error, "%s: --interval", command);
	return -EINVAL;
}

const struct gg_lab_method gg_lab_methods[GG_LAB_METHOD_COUNT] = {
	{ GG_INTERVAL_METHOD_NORMAL, "normal" },
	{ GG_INTERVAL_METHOD_GAMMA_FULL, "gamma" },
	{ GG_INTERVAL_METHOD_GAMMA, "gamma 1-p" },
	{ GG_INTERVAL_METHOD_NEGATIVE_BINOMIAL, "neg. bin." },
	{ GG_INTERVAL_METHOD_RULE, "rule" },
};

const char *const gg_lab_population_names[] = {
	[GG_ALL_GROUPS] = "all groups", [GG_SHOWN_ONLY] = "shown only"
};

void gg_lab_json_open(struct gg_json *json)
{
	gg_json_open(json, NULL, '{');
	gg_json_integer(json, "version", 1);
}

int gg_lab_json_print(struct gg_json *json, struct gg_error *error)
{
	gg_json_close(json);
	gg_buf_append_text(json->out, "\n");
	return gg_lab_print(json->out, error);
}

int gg_lab_print(const struct gg_buf *text, struct gg_error *error)
{
	if (text->failed)
		return gg_error_memory(error, "lab");
	fwrite(gg_buf_text(text), 1, text->length, stdout);
	return 0;
}

int gg_lab_save(const struct gg_buf *picture, const char *path, struct gg_error *error)
{
	struct stat status;
	FILE *file;
	int saved_errno;

	if (picture->failed)
		return gg_error_memory(error, path);
	file = fopen(path, "we");
	if (file == NULL)
		return gg_error_set_errno(error, errno, path, "Give another path to --svg.");
	/*
	 * A failed write sets errno at some point before fclose(), which may replace it; so it is
	 * saved between.
	 */
	errno = 0;
	fwrite(gg_buf_text(picture), 1, picture->length, file);
	saved_errno = ferror(file) ? errno : 0;
	if (fclose(file) != 0 && saved_errno == 0)
		saved_errno = errno;
	if (saved_errno == 0)
		return 0;
	/*
	 * Half a picture is useless.  But the path may be a device or a pipe, which the command
	 * must not remove.
	 */
	if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
		unlink(path);
	return gg_error_set_errno(error, saved_errno, path, "Give another path to --svg.");
}

const char *gg_lab_number(double value, char text[GG_LAB_NUMBER_MAX])
{
	snprintf(text, GG_LAB_NUMBER_MAX, value < 99.95 ? "%.3g" : "%.0f", value);
	return text;
}

const struct gg_command gg_command_lab = {
	.name = "lab",
	.summary = "what to expect of a sampling interval, and of our estimates",
	.usage = "COMMAND [OPTION]...",
	.verbs = (const struct gg_command *const[]){ &gg_command_lab_compare,
	                                             &gg_command_lab_coverage,
	                                             &gg_command_lab_error,
#if GG_HAS_PROFILE
	                                             &gg_command_lab_optimal, &gg_command_lab_plan,
#endif
	                                             &gg_command_lab_table, NULL },
};

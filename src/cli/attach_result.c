/* SPDX-License-Identifier: Apache-2.0 */
/* attach_result - formats how an attach went (cli/attach_result.h). */
#include "cli/attach_result.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/printable.h"
#include "base/size.h"
#include "region/layout.h"

static const char *source_name(uint32_t source)
{
	static const char *const names[] = {
		[GG_ATTACH_SOURCE_NONE] = NULL,           [GG_ATTACH_SOURCE_GLIBC] = "glibc",
		[GG_ATTACH_SOURCE_JEMALLOC] = "jemalloc", [GG_ATTACH_SOURCE_TCMALLOC] = "tcmalloc",
		[GG_ATTACH_SOURCE_MIMALLOC] = "mimalloc",
	};

	return source < GG_COUNT(names) ? names[source] : NULL;
}

static void append_head(const struct gg_survey *survey, const struct gg_attachment *attachment,
                        struct gg_buf *out)
{
	gg_buf_printf(out, "geiger: attached to process %d (%s): %s", (int)survey->facts.pid,
	              GG_PRINTABLE(survey->facts.name),
	              attachment->result.slot_count > 0
	                      ? "sampling its allocations"
	                      : "found no call of an allocator to sample");
}

static const char *const python_names[] = {
	[GG_ATTACH_PYTHON_ABSENT] = NULL,
	[GG_ATTACH_PYTHON_SHOWN] = "shown",
	[GG_ATTACH_PYTHON_REFUSED] = "refused",
};

/* NULL: the process has no CPython. */
static const char *python_of(const struct gg_attach_result *result)
{
	return result->python < GG_COUNT(python_names) ? python_names[result->python] : NULL;
}

static const char *const java_names[] = {
	[GG_JAVA_ABSENT] = NULL,
	[GG_JAVA_JOINING] = "joining",
	[GG_JAVA_JOINED] = "shown",
	[GG_JAVA_REFUSED] = "refused",
};

/* NULL: the process has no Java VM, or it is left out. */
static const char *java_of(const struct gg_attachment *attachment)
{
	return attachment->java < GG_COUNT(java_names) ? java_names[attachment->java] : NULL;
}

void gg_attach_result_await_java(const struct gg_survey *survey, struct gg_attachment *attachment)
{
	enum { WAITS = 100 };
	const struct timespec pause = { .tv_nsec = 10000000 };
	char path[sizeof(attachment->result.region) + 32];
	uint64_t state = GG_JAVA_JOINING;
	int fd;

	if (attachment->result.region[0] == '\0')
		return;
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)survey->facts.pid,
	         attachment->result.region);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	for (int i = 0; i < WAITS && state == GG_JAVA_JOINING; i++) {
		if (i > 0)
			nanosleep(&pause, NULL);
		if (pread(fd, &state, sizeof(state),
		          (off_t)(offsetof(struct gg_region_header, counters) +
		                  GG_COUNT_JAVA_STATE * sizeof(state))) != sizeof(state))
			state = GG_JAVA_ABSENT;
	}
	close(fd);
	attachment->java = state <= GG_JAVA_REFUSED ? (uint32_t)state : GG_JAVA_ABSENT;
}

/* The same as a part of a line. */
static const char *const java_words[] = {
	[GG_JAVA_JOINING] = "Java objects are shown as soon as the VM lets a thread join",
	[GG_JAVA_JOINED] = "Java objects are shown",
	[GG_JAVA_REFUSED] = "no Java objects are shown",
};

static void append_java(const struct gg_attachment *attachment, struct gg_buf *out)
{
	static const char *const lines[] = {
		[GG_JAVA_JOINING] = "Java objects are shown as soon as the VM lets a thread join\n",
		[GG_JAVA_JOINED] =
			"Java objects are shown, those of each thread from its next sample "
			"point on; older ones are not\n",
		[GG_JAVA_REFUSED] = "no Java objects are shown: the VM is not HotSpot, or another "
				    "profiler has its sampler of allocations\n",
	};

	if (java_of(attachment) != NULL)
		gg_buf_printf(out, "geiger: %s", lines[attachment->java]);
}

void gg_attach_result_append(const struct gg_survey *survey, const struct gg_attachment *attachment,
                             bool names_region, struct gg_buf *out)
{
	const struct gg_attach_result *result = &attachment->result;
	const char *source = source_name(result->in_use_source);
	char size[GG_SIZE_TEXT_MAX];
	int pid = (int)survey->facts.pid;

	append_head(survey, attachment, out);
	gg_buf_printf(out,
	              "\ngeiger: waited %.1f ms for a thread %s, and borrowed it for %.1f ms\n",
	              (double)attachment->waited_ns * 1e-6,
	              attachment->was_idle ? "in a call that can be repeated" : "in the allocator",
	              (double)attachment->borrowed_ns * 1e-6);
	if (attachment->repaired_count > 0)
		gg_buf_printf(out,
		              "geiger: %" PRIu32 " functions of the allocator go on that a geiger "
		              "which was killed had left standing still\n",
		              attachment->repaired_count);
	if (result->unwritable_count + result->foreign_count > 0)
		gg_buf_printf(out,
		              "geiger: of the program's pointers to the allocator, %" PRIu32
		              " cannot be written and %" PRIu32 " lead to another library:\n"
		              "  allocations through them are not sampled\n",
		              result->unwritable_count, result->foreign_count);
	if (result->in_use_bytes >= 0 && source != NULL)
		gg_buf_printf(out, "geiger: %s are older and not seen, by the count of %s\n",
		              gg_size_format((double)result->in_use_bytes, size), source);
	if (result->python == GG_ATTACH_PYTHON_SHOWN)
		gg_buf_append_text(out, "geiger: Python's functions and objects are shown from now "
		                        "on\n");
	else if (result->python == GG_ATTACH_PYTHON_REFUSED)
		gg_buf_printf(out, "geiger: no Python functions are shown: %s\n",
		              GG_PRINTABLE(result->reason));
	append_java(attachment, out);
	if (names_region && result->region[0] != '\0')
		gg_buf_printf(out,
		              "geiger: its region is %s\n"
		              "geiger: 'geiger report %d' reads it, 'geiger detach %d' ends it\n",
		              GG_PRINTABLE(result->region), pid, pid);
}

void gg_attach_result_append_line(const struct gg_survey *survey,
                                  const struct gg_attachment *attachment, struct gg_buf *out)
{
	const struct gg_attach_result *result = &attachment->result;
	char size[GG_SIZE_TEXT_MAX];

	append_head(survey, attachment, out);
	if (result->in_use_bytes >= 0)
		gg_buf_printf(out, ", %s are older",
		              gg_size_format((double)result->in_use_bytes, size));
	if (java_of(attachment) != NULL)
		gg_buf_printf(out, ", %s", java_words[attachment->java]);
	gg_buf_append_text(out, "\n");
}

void gg_attach_result_append_json(const struct gg_survey *survey,
                                  const struct gg_attachment *attachment, struct gg_json *json)
{
	const struct gg_attach_result *result = &attachment->result;

	gg_json_integer(json, "pid", (uint64_t)survey->facts.pid);
	gg_json_text(json, "region", result->region[0] != '\0' ? result->region : NULL);
	gg_json_text(json, "way", attachment->was_idle ? "idle" : "entry");
	gg_json_bool(json, "was_resident", attachment->was_resident);
	gg_json_integer(json, "modules", result->module_count);
	gg_json_integer(json, "slots", result->slot_count);
	gg_json_integer(json, "unwritable_slots", result->unwritable_count);
	gg_json_integer(json, "foreign_slots", result->foreign_count);
	if (result->in_use_bytes >= 0)
		gg_json_integer(json, "older_bytes", (uint64_t)result->in_use_bytes);
	gg_json_text(json, "older_by", source_name(result->in_use_source));
	gg_json_text(json, "python", python_of(result));
	if (result->python == GG_ATTACH_PYTHON_REFUSED)
		gg_json_text(json, "python_reason", result->reason);
	gg_json_text(json, "java", java_of(attachment));
	gg_json_integer(json, "waited_ns", attachment->waited_ns);
	gg_json_integer(json, "borrowed_ns", attachment->borrowed_ns);
	gg_json_integer(json, "borrowed_run_ns", attachment->borrowed_run_ns);
	gg_json_integer(json, "others_stood_ns", attachment->longest_stand_ns);
	gg_json_integer(json, "repaired", attachment->repaired_count);
	gg_json_integer(json, "refused", attachment->refused_count);
	gg_json_bool(json, "settled", attachment->is_settled);
}

void gg_attach_result_begin(struct gg_json *json)
{
	gg_json_open(json, NULL, '{');
	gg_json_integer(json, "version", 1);
}

int gg_attach_result_print(struct gg_json *json, struct gg_error *error)
{
	gg_json_close(json);
	gg_buf_append_text(json->out, "\n");
	if (json->out->failed)
		return gg_error_memory(error, "attach");
	fwrite(json->out->data, 1, json->out->length, stdout);
	return fflush(stdout) == 0 ? 0 : gg_error_set_errno(error, errno, "attach", NULL);
}

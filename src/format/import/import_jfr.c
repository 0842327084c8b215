/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_jfr - recordings of Java VMs (.jfr), by async-profiler or the JDK's Flight Recorder.
 *
 *   event                              numbers are
 *   async-profiler's
 *     jdk.ObjectAllocationInNewTLAB    of samples: the exact size; the interval is a setting
 *     profiler.LiveObject              likewise, of objects that were live at the end
 *   the JDK's
 *     jdk.ObjectAllocationSample       scaled: the bytes since the thread's last sample
 *     jdk.ObjectAllocationInNewTLAB    of the new buffer, of which one object is known
 *     jdk.ObjectAllocationOutsideTLAB  exact, but not of all objects
 *
 * A recording may have several of these kinds, which then describe the same allocations.  An event
 * of a lower rank is left out where a higher one covers its time, and only there:
 *
 *   samples of async-profiler       cover the time of their chunk: its chunks lie beside the JDK's
 *   jdk.ObjectAllocationSample      covers its chunk: the JDK's chunks follow each other, and the
 *                                   start or stop of a recording begins a new one.  A chunk in
 *                                   which it is switched on is covered without such an event as
 *                                   well, because the thread's next one has its bytes
 *   the JDK's events of buffers     cover nothing
 *
 * The VM's sampler is right from JDK 25 on (docs/JVM.md), and the recording says which VM it was.
 * Samples of earlier ones have no error, and neither have the JDK's own, which are not random.
 *
 * A stack has the class of the objects as its innermost frame, as flame graphs of Java have it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/java_name.h"
#include "format/import/import.h"
#include "format/import/jfr_chunk.h"
#include "stats/estimate/tally.h"

enum {
	RECORDING_MAX_BYTES = INT32_MAX,
	STACK_FRAMES_MAX = 2048,
	JFR_NAME_MAX_BYTES = 1024,
	UNBIASED_RELEASE = 25,
	DEFAULT_INTERVAL_BYTES = 524287 /* async-profiler's */
};

enum jfr_kind {
	JFR_OTHER,
	JFR_IN_NEW_TLAB,
	JFR_OUTSIDE_TLAB,
	JFR_SAMPLE,
	JFR_LIVE,
	JFR_SETTING,
	JFR_MACHINE,
	JFR_OLD_OBJECT
};

/* Kinds of one rank describe different allocations; those of different ranks the same ones. */
enum jfr_rank { RANK_NONE, RANK_BUFFERS, RANK_SCALED, RANK_SAMPLES };

/* A range of time, in ns since 1970: start <= time <= end. */
struct jfr_range {
	uint64_t start_ns, end_ns;
};

static const struct {
	const char *name;
	enum jfr_kind kind;
} kinds[] = {
	{ "jdk.ObjectAllocationInNewTLAB", JFR_IN_NEW_TLAB },
	{ "jdk.ObjectAllocationOutsideTLAB", JFR_OUTSIDE_TLAB },
	{ "jdk.ObjectAllocationSample", JFR_SAMPLE },
	{ "profiler.LiveObject", JFR_LIVE },
	{ "jdk.ActiveSetting", JFR_SETTING },
	{ "jdk.JVMInformation", JFR_MACHINE },
	{ "jdk.OldObjectSample", JFR_OLD_OBJECT },
};

struct jfr_import {
	struct gg_import *import;
	struct gg_jfr_chunk chunk;
	const uint8_t *bytes;
	size_t length;
	struct gg_map stacks, threads; /* of this chunk: id -> ours */
	GG_ARRAY(uint8_t) kinds;       /* enum jfr_kind by the index of the class */
	struct gg_buf text;            /* for one name at a time */
	bool by_async;
	double interval_bytes;
	unsigned release;   /* of the VM; 0: not known */
	enum jfr_rank rank; /* the best one of the chunk */
	/* When async-profiler sampled: apart from each other, the earliest first. */
	GG_ARRAY(struct jfr_range) sampled;
	uint64_t steps; /* of the recording, that are left */
	uint64_t sampled_count, scaled_count, old_count;
	uint64_t doubled_count[RANK_SAMPLES + 1]; /* by the rank that covers them */
};

static int wrong(struct jfr_import *job, const uint8_t *at, const char *what)
{
	return gg_input_wrong(job->import->input, (uint64_t)(at - job->bytes), job->import->error,
	                      "%s", what);
}

/* --- names --- */

/* Returns the text of a field, or of the symbol that the field names; "": it has no text. */
static const char *text_of(struct jfr_import *job, uint32_t type, struct gg_jfr_bytes fields,
                           const char *name)
{
	struct gg_jfr_value value;

	gg_buf_clear(&job->text);
	if (!gg_jfr_field_of(&job->chunk, type, fields, name, &value))
		return "";
	if (strcmp(gg_jfr_class_name(&job->chunk, value.type), "java.lang.String") != 0 &&
	    (!gg_jfr_constant(&job->chunk, value.type, value.value, &value.bytes) ||
	     !gg_jfr_field_of(&job->chunk, value.type, value.bytes, "string", &value)))
		return "";
	gg_jfr_text(&value.bytes, &job->text);
	return gg_buf_text(&job->text);
}

/* "java/lang/String", or a signature of an array. */
static void name_class(struct jfr_import *job, uint32_t type, uint64_t id, char *name, size_t max)
{
	char signature[JFR_NAME_MAX_BYTES];
	struct gg_jfr_bytes fields;
	const char *text = "";

	if (gg_jfr_constant(&job->chunk, type, id, &fields))
		text = text_of(job, type, fields, "name");
	if (text[0] == '[' || text[0] == '\0')
		snprintf(signature, sizeof(signature), "%s", text);
	else
		snprintf(signature, sizeof(signature), "L%.*s;", JFR_NAME_MAX_BYTES - 3, text);
	gg_java_class_name(signature, name, max);
}

static int add_frame(struct jfr_import *job, const char *name, uint32_t line_number,
                     uint32_t *ret_frame)
{
	const struct gg_profile_line line = {
		.linkage_name = name[0] != '\0' ? name : "[unknown]",
		.line = line_number,
	};

	return gg_import_frame(job->import, 0, 0, &line, 1, ret_frame);
}

/* Functions of native libraries have no class, or an empty one. */
static int read_frame(struct jfr_import *job, uint32_t type, struct gg_jfr_bytes fields,
                      uint32_t *ret_frame)
{
	struct gg_jfr_chunk *chunk = &job->chunk;
	struct gg_jfr_value method, class, line = { 0 };
	struct gg_jfr_bytes method_fields;
	char name[2 * JFR_NAME_MAX_BYTES] = "";
	size_t length;

	if (gg_jfr_field_of(chunk, type, fields, "method", &method) &&
	    gg_jfr_constant(chunk, method.type, method.value, &method_fields)) {
		if (gg_jfr_field_of(chunk, method.type, method_fields, "type", &class))
			name_class(job, class.type, class.value, name, JFR_NAME_MAX_BYTES);
		length = strlen(name);
		snprintf(name + length, sizeof(name) - length, "%s%.*s", length > 0 ? "." : "",
		         JFR_NAME_MAX_BYTES - 2, text_of(job, method.type, method_fields, "name"));
	}
	if (!gg_jfr_field_of(chunk, type, fields, "lineNumber", &line) || line.value > INT32_MAX)
		line.value = 0;
	return add_frame(job, name, (uint32_t)line.value, ret_frame);
}

/* Frames come innermost first, and stacks are made from outside. */
static int read_stack(struct jfr_import *job, const struct gg_jfr_value *reference,
                      uint32_t *ret_stack)
{
	struct gg_jfr_bytes fields;
	struct gg_jfr_value frames;
	uint32_t found[STACK_FRAMES_MAX], count = 0, stack = 0;
	int status = 0;

	*ret_stack = 0;
	if (!gg_jfr_constant(&job->chunk, reference->type, reference->value, &fields) ||
	    !gg_jfr_field_of(&job->chunk, reference->type, fields, "frames", &frames))
		return 0;
	for (uint64_t i = 0; i < frames.value && count < STACK_FRAMES_MAX && status == 0; i++) {
		const uint8_t *before = frames.bytes.at;

		status = read_frame(job, frames.type, frames.bytes, &found[count++]);
		gg_jfr_skip(&job->chunk, frames.type, &frames.bytes);
		if (frames.bytes.failed || frames.bytes.at == before)
			break;
	}
	while (count > 0 && status == 0)
		status = gg_profile_intern_stack(job->import->profile, stack, found[--count],
		                                 &stack, job->import->error);
	*ret_stack = stack;
	return status;
}

/* The stack of the event, and on top of it the class of its object. */
static int find_stack(struct jfr_import *job, uint32_t type, struct gg_jfr_bytes fields,
                      uint32_t *ret_stack)
{
	struct gg_jfr_value reference, class;
	char name[JFR_NAME_MAX_BYTES] = "";
	uint32_t stack = 0, frame;
	uint64_t known;
	int status = 0;

	if (gg_jfr_field_of(&job->chunk, type, fields, "stackTrace", &reference)) {
		known = gg_map_get(&job->stacks, reference.value);
		if (known != GG_MAP_NONE)
			stack = (uint32_t)known;
		else
			status = read_stack(job, &reference, &stack);
		if (status == 0 && known == GG_MAP_NONE &&
		    gg_map_put(&job->stacks, reference.value, stack) < 0)
			status = gg_import_no_memory(job->import);
	}
	if (status == 0 && gg_jfr_field_of(&job->chunk, type, fields, "objectClass", &class))
		name_class(job, class.type, class.value, name, sizeof(name));
	if (status == 0)
		status = add_frame(job, name, 0, &frame);
	if (status == 0)
		status = gg_profile_intern_stack(job->import->profile, stack, frame, ret_stack,
		                                 job->import->error);
	return status;
}

static int find_thread(struct jfr_import *job, uint32_t type, struct gg_jfr_bytes fields,
                       uint32_t *ret_thread)
{
	struct gg_jfr_value reference, tid = { 0 };
	struct gg_jfr_bytes thread;
	const char *name;
	uint64_t known;
	int status;

	*ret_thread = 0;
	if (!gg_jfr_field_of(&job->chunk, type, fields, "eventThread", &reference) ||
	    !gg_jfr_constant(&job->chunk, reference.type, reference.value, &thread))
		return 0;
	known = gg_map_get(&job->threads, reference.value);
	if (known != GG_MAP_NONE) {
		*ret_thread = (uint32_t)known;
		return 0;
	}
	gg_jfr_field_of(&job->chunk, reference.type, thread, "osThreadId", &tid);
	name = text_of(job, reference.type, thread, "javaName");
	if (name[0] == '\0')
		name = text_of(job, reference.type, thread, "osName");
	status = gg_import_thread(job->import, tid.value <= INT32_MAX ? (uint32_t)tid.value : 0,
	                          name[0] != '\0' ? name : NULL, ret_thread);
	if (status == 0 && gg_map_put(&job->threads, reference.value, *ret_thread) < 0)
		status = gg_import_no_memory(job->import);
	return status;
}

/* --- events --- */

static double number_of(struct jfr_import *job, uint32_t type, struct gg_jfr_bytes fields,
                        const char *name)
{
	struct gg_jfr_value value;

	return gg_jfr_field_of(&job->chunk, type, fields, name, &value) && value.value <= INT64_MAX
	               ? (double)value.value
	               : 0;
}

static bool has_error(const struct jfr_import *job)
{
	return job->release >= UNBIASED_RELEASE || job->interval_bytes <= 1;
}

static struct gg_row_sums weigh(struct jfr_import *job, enum jfr_kind kind, uint32_t type,
                                struct gg_jfr_bytes fields)
{
	struct gg_row_weighing how = { GG_ROW_WEIGHING_UNKNOWN, 0, false };
	double size = number_of(job, type, fields, "allocationSize");
	struct gg_row_sums sums;

	if (kind == JFR_LIVE || (job->by_async && kind != JFR_SAMPLE)) {
		job->sampled_count++;
		how.kind = GG_ROW_WEIGHING_SAMPLED;
		how.interval_bytes = job->interval_bytes;
		sums = gg_row_weighing(&how, 1, size);
		/* async-profiler follows 1024 live objects at most, so they are a lower bound. */
		if (kind == JFR_LIVE || !has_error(job))
			sums.unknown_errors = 1u << GG_BYTES | 1u << GG_ALLOCATIONS;
		return sums;
	}
	job->scaled_count++;
	if (kind == JFR_IN_NEW_TLAB)
		size = number_of(job, type, fields, "tlabSize");
	else if (kind == JFR_SAMPLE)
		size = number_of(job, type, fields, "weight");
	return gg_row_weighing(&how, 0, size);
}

static int read_allocation(struct jfr_import *job, enum jfr_kind kind, uint32_t type,
                           struct gg_jfr_bytes fields)
{
	const struct gg_row_sums none = { 0 };
	struct gg_row_sums sums = weigh(job, kind, type, fields);
	uint32_t stack, thread;
	int status = find_stack(job, type, fields, &stack);

	if (status == 0)
		status = find_thread(job, type, fields, &thread);
	if (status < 0 || sums.bytes == 0)
		return status;
	return kind == JFR_LIVE ? gg_import_row(job->import, thread, stack, &sums, &none)
	                        : gg_import_row(job->import, thread, stack, &none, &sums);
}

/*
 * "OpenJDK 64-Bit Server VM (25.0.3+9-LTS) for linux-amd64 ...", or "25.0.3+9-LTS".  Java 8 states
 * the version of HotSpot, "25.392-b08", which has no '+'.
 */
static unsigned release_of(const char *version)
{
	const char *open = strchr(version, '(');
	const char *number = open != NULL ? open + 1 : version;
	size_t length = strcspn(number, ") ");

	if (memmem(number, length, "-b", 2) != NULL && memchr(number, '+', length) == NULL)
		return 8;
	return (unsigned)strtoul(number, NULL, 10);
}

/* Reads the release of the VM, and the interval. */
static void read_fact(struct jfr_import *job, enum jfr_kind kind, uint32_t type,
                      struct gg_jfr_bytes fields)
{
	unsigned release;
	double interval;

	if (kind == JFR_MACHINE) {
		release = release_of(text_of(job, type, fields, "jvmVersion"));
		job->release = release > 0 ? release : job->release;
	} else if (job->by_async && strcmp(text_of(job, type, fields, "name"), "alloc") == 0) {
		interval = strtod(text_of(job, type, fields, "value"), NULL);
		job->interval_bytes = interval > 0 && interval < 0x1p62 ? interval
		                                                        : DEFAULT_INTERVAL_BYTES;
	}
}

static int find_kinds(struct jfr_import *job)
{
	gg_array_done(&job->kinds);
	if (!gg_array_extend(&job->kinds, job->chunk.classes.count))
		return gg_import_no_memory(job->import);
	for (uint32_t i = 0; i < job->chunk.classes.count; i++)
		for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
			if (strcmp(gg_jfr_class_name(&job->chunk, i), kinds[k].name) == 0)
				job->kinds.items[i] = (uint8_t)kinds[k].kind;
	job->by_async = gg_jfr_has_class(&job->chunk, "profiler.");
	return 0;
}

static bool is_fact(enum jfr_kind kind)
{
	return kind == JFR_SETTING || kind == JFR_MACHINE;
}

static enum jfr_rank rank_of(const struct jfr_import *job, enum jfr_kind kind)
{
	if (kind == JFR_IN_NEW_TLAB || kind == JFR_OUTSIDE_TLAB)
		return job->by_async ? RANK_SAMPLES : RANK_BUFFERS;
	return kind == JFR_SAMPLE ? RANK_SCALED : RANK_NONE;
}

/* True if the setting switches jdk.ObjectAllocationSample on.  Each chunk has its settings. */
static bool enables_samples(struct jfr_import *job, uint32_t type, struct gg_jfr_bytes fields)
{
	double id = number_of(job, type, fields, "id");

	if (strcmp(text_of(job, type, fields, "name"), "enabled") != 0 ||
	    strcmp(text_of(job, type, fields, "value"), "true") != 0)
		return false;
	for (uint32_t i = 0; i < job->chunk.classes.count; i++)
		if (job->kinds.items[i] == JFR_SAMPLE &&
		    (double)job->chunk.classes.items[i].id == id)
			return true;
	return false;
}

static void find_rank(struct jfr_import *job)
{
	struct gg_jfr_bytes fields;
	const uint8_t *at = NULL;
	uint32_t type;

	job->rank = RANK_NONE;
	while ((type = gg_jfr_chunk_next(&job->chunk, &at, &fields)) != GG_JFR_NO_CLASS) {
		enum jfr_kind kind = (enum jfr_kind)job->kinds.items[type];
		enum jfr_rank rank = rank_of(job, kind);

		if (kind == JFR_SETTING && enables_samples(job, type, fields))
			rank = RANK_SCALED;
		if (rank > job->rank)
			job->rank = rank;
	}
}

/* Without a setting, the smallest "buffer" of async-profiler's events is the interval. */
static void read_facts(struct jfr_import *job)
{
	struct gg_jfr_bytes fields;
	const uint8_t *at = NULL;
	double least = 0;
	uint32_t type;

	while ((type = gg_jfr_chunk_next(&job->chunk, &at, &fields)) != GG_JFR_NO_CLASS) {
		enum jfr_kind kind = (enum jfr_kind)job->kinds.items[type];
		double buffer = job->by_async && kind == JFR_IN_NEW_TLAB
		                        ? number_of(job, type, fields, "tlabSize")
		                        : 0;

		if (is_fact(kind))
			read_fact(job, kind, type, fields);
		if (buffer > 0 && (least == 0 || buffer < least))
			least = buffer;
	}
	if (job->by_async && job->interval_bytes == 0)
		job->interval_bytes = least > 0 ? least : DEFAULT_INTERVAL_BYTES;
}

/* --- times that async-profiler covers --- */

static int add_sampled(struct jfr_import *job)
{
	const struct jfr_range range = {
		job->chunk.start_ns,
		job->chunk.start_ns + job->chunk.duration_ns,
	};

	if (!job->by_async)
		return 0;
	find_rank(job);
	return job->rank < RANK_SAMPLES || gg_array_push(&job->sampled, range)
	               ? 0
	               : gg_import_no_memory(job->import);
}

static int compare_starts(const void *a, const void *b)
{
	const struct jfr_range *left = a, *right = b;

	return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

static void join_sampled(struct jfr_import *job)
{
	struct jfr_range *ranges = job->sampled.items;
	size_t count = 0;

	if (job->sampled.count > 0)
		qsort(ranges, job->sampled.count, sizeof(*ranges), compare_starts);
	for (size_t i = 0; i < job->sampled.count; i++)
		if (count == 0 || ranges[i].start_ns > ranges[count - 1].end_ns)
			ranges[count++] = ranges[i];
		else if (ranges[i].end_ns > ranges[count - 1].end_ns)
			ranges[count - 1].end_ns = ranges[i].end_ns;
	job->sampled.count = count;
}

static bool was_sampled(const struct jfr_import *job, uint64_t time_ns)
{
	size_t low = 0, high = job->sampled.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (job->sampled.items[middle].end_ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < job->sampled.count && job->sampled.items[low].start_ns <= time_ns;
}

/* Returns the better rank that covers this event, or RANK_NONE. */
static enum jfr_rank covered_by(struct jfr_import *job, enum jfr_rank rank, uint32_t type,
                                struct gg_jfr_bytes fields)
{
	struct gg_jfr_value start = { 0 };

	if (rank < RANK_SAMPLES && job->sampled.count > 0) {
		gg_jfr_field_of(&job->chunk, type, fields, "startTime", &start);
		if (was_sampled(job, gg_jfr_time_of(&job->chunk, start.value)))
			return RANK_SAMPLES;
	}
	return rank < job->rank ? job->rank : RANK_NONE;
}

static int read_event(struct jfr_import *job, uint32_t type, struct gg_jfr_bytes fields)
{
	enum jfr_kind kind = (enum jfr_kind)job->kinds.items[type];
	enum jfr_rank rank = rank_of(job, kind), better;

	if (kind == JFR_LIVE)
		return read_allocation(job, kind, type, fields);
	if (rank == RANK_NONE) {
		job->old_count += kind == JFR_OLD_OBJECT;
		return 0;
	}
	better = covered_by(job, rank, type, fields);
	if (better == RANK_NONE)
		return read_allocation(job, kind, type, fields);
	job->doubled_count[better]++;
	return 0;
}

static int read_events(struct jfr_import *job)
{
	struct gg_jfr_bytes fields;
	const uint8_t *at = NULL;
	uint32_t type;
	int status = 0;

	while (status == 0 &&
	       (type = gg_jfr_chunk_next(&job->chunk, &at, &fields)) != GG_JFR_NO_CLASS)
		status = read_event(job, type, fields);
	return status;
}

/* The chunks of a recording follow each other, and each head has its duration. */
static int64_t duration_of(const struct jfr_import *job)
{
	uint64_t duration_ns = 0, chunk_ns;
	size_t done = 0, chunk;

	while ((chunk = gg_jfr_chunk_head(job->bytes + done, job->length - done, &chunk_ns)) > 0) {
		done += chunk;
		duration_ns += chunk_ns;
	}
	return (int64_t)(duration_ns & ((UINT64_C(1) << 62) - 1));
}

static int read_chunk(struct jfr_import *job)
{
	struct gg_import_result *result = job->import->result;

	if (!gg_jfr_chunk_read_constants(&job->chunk))
		return job->chunk.wrong != NULL ? 0 : gg_import_no_memory(job->import);
	find_rank(job);
	read_facts(job);
	if (job->chunk.bytes == job->bytes)
		result->duration_ns = duration_of(job);
	/* Recordings that were joined to one file may be in any order. */
	if (job->chunk.bytes == job->bytes || job->chunk.start_ns < result->start_wall_ns)
		result->start_wall_ns = job->chunk.start_ns;
	if (job->by_async)
		result->interval_bytes = job->interval_bytes;
	return read_events(job);
}

static int each_chunk(struct jfr_import *job, int (*visit)(struct jfr_import *job))
{
	size_t done = 0, length;
	int status = 0;

	while (status == 0 && done < job->length) {
		const uint8_t *bytes = job->bytes + done;

		length = gg_jfr_chunk_open(&job->chunk, bytes, job->length - done, &job->steps);
		if (length == 0 && job->chunk.wrong == NULL)
			status = gg_import_no_memory(job->import);
		if (length > 0)
			status = find_kinds(job);
		if (length > 0 && status == 0)
			status = visit(job);
		if (status == 0 && job->steps == 0)
			status = wrong(job, bytes, "its values are too entangled for its size");
		else if (status == 0 && job->chunk.wrong != NULL)
			status = wrong(job, bytes, job->chunk.wrong);
		gg_jfr_chunk_done(&job->chunk);
		gg_map_done(&job->stacks);
		gg_map_done(&job->threads);
		done += length;
	}
	return status;
}

static int add_notes(struct jfr_import *job)
{
	int status = 0;

	if (job->sampled_count > 0 && !has_error(job))
		status = gg_import_note(
			job->import,
			"The recording is of %s, whose sampler is not right where a thread "
			"allocates large arrays between small objects (JDK-8356372).  So there are "
			"no confidence intervals.",
			job->release > 0 ? "a Java VM before JDK 25" : "an unknown Java VM");
	if (job->scaled_count > 0 && status == 0)
		status = gg_import_note(
			job->import,
			"Flight Recorder's samples are not random: each stands for the bytes that "
			"its thread allocated since the last one.  So there are no confidence "
			"intervals, and no numbers of objects.");
	for (int rank = RANK_SAMPLES; rank > RANK_NONE && status == 0; rank--)
		if (job->doubled_count[rank] > 0)
			status = gg_import_note(
				job->import,
				"%llu events were left out, because they describe allocations that "
				"the recording also has as %s.  No byte counts twice.",
				(unsigned long long)job->doubled_count[rank],
				rank == RANK_SAMPLES ? "async-profiler's samples"
						     : "jdk.ObjectAllocationSample");
	if (job->old_count > 0 && status == 0)
		status = gg_import_note(job->import,
		                        "%llu events jdk.OldObjectSample were left out: they are "
		                        "examples of live objects, and not a share of them.",
		                        (unsigned long long)job->old_count);
	return status;
}

static int read_jfr(struct gg_import *import)
{
	struct jfr_import job = { .import = import };
	int status = gg_input_all(import->input, RECORDING_MAX_BYTES, &job.bytes, &job.length,
	                          import->error);

	job.steps = gg_jfr_budget(job.length);
	if (status == 0)
		status = each_chunk(&job, add_sampled);
	join_sampled(&job);
	if (status == 0)
		status = each_chunk(&job, read_chunk);
	if (status == 0 && job.text.failed)
		status = gg_import_no_memory(import);
	if (status == 0)
		status = add_notes(&job);
	gg_array_done(&job.kinds);
	gg_array_done(&job.sampled);
	gg_buf_done(&job.text);
	return status;
}

static bool knows_jfr(const uint8_t *head, size_t length)
{
	return length >= 6 && memcmp(head, "FLR", 4) == 0;
}

const struct gg_importer gg_importer_jfr = {
	.name = "Java Flight Recorder",
	.knows = knows_jfr,
	.read = read_jfr,
};

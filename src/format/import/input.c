/* SPDX-License-Identifier: Apache-2.0 */
/* input - buffered reading and decompression of imported files. */
#include "format/import/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#if HAVE_ZSTD
#include <zstd.h>
#endif

#include "base/assert.h"
#include "base/time_units.h"

enum { INPUT_READ_BYTES = 1 << 18 };

/* Limits for compressed files (input.h). */
#define MOST_BYTES (UINT64_C(4) << 30)
#define FREE_BYTES (UINT64_C(64) << 20)
enum { MOST_RATIO = 200 };

enum compression { INPUT_PLAIN, INPUT_GZIP, INPUT_ZSTD };

struct gg_input {
	char *name;
	int fd;                /* -1: in memory */
	const uint8_t *memory; /* the rest of it */
	size_t memory_bytes;
	uint64_t read_bytes, size_bytes, time_ns;
	uint64_t limit_bytes; /* 0: the limits for compressed files */

	enum compression compression;
	uint8_t *raw; /* the file's own bytes; [raw_at, raw_end) is still compressed */
	size_t raw_at, raw_end;
	bool raw_ended;
	z_stream zlib;
	bool between_members; /* between gzip members, where the file may end */
#if HAVE_ZSTD
	ZSTD_DStream *zstd;
#endif

	char *text; /* [at, end) has not been returned yet */
	size_t at, end, capacity;
	bool ended;
	uint64_t base;   /* offset of text[0] */
	uint64_t offset; /* of the text returned last */
};

int gg_input_wrong(const struct gg_input *input, uint64_t offset, struct gg_error *error,
                   const char *format, ...)
{
	char message[GG_ERROR_MESSAGE_MAX];
	va_list values;

	va_start(values, format);
	vsnprintf(message, sizeof(message), format, values);
	va_end(values);
	gg_error_set(error, -EBADMSG, NULL, NULL, "%s", message);
	if (error != NULL)
		gg_error_set_place(error, "%s: offset %llu", input->name,
		                   (unsigned long long)offset);
	return -EBADMSG;
}

/* Reads more bytes from the file; sets raw_ended at its end. */
static int read_raw(struct gg_input *input, struct gg_error *error)
{
	ssize_t got;

	if (input->raw_at < input->raw_end || input->raw_ended)
		return 0;
	input->raw_at = input->raw_end = 0;
	if (input->fd < 0) {
		got = (ssize_t)(input->memory_bytes < INPUT_READ_BYTES ? input->memory_bytes
		                                                       : INPUT_READ_BYTES);
		if (got > 0)
			memcpy(input->raw, input->memory, (size_t)got);
		input->memory += got;
		input->memory_bytes -= (size_t)got;
	} else {
		do {
			got = read(input->fd, input->raw, INPUT_READ_BYTES);
		} while (got < 0 && errno == EINTR);
		if (got < 0)
			return gg_error_set_errno(error, errno, input->name, NULL);
	}
	input->raw_end = (size_t)got;
	input->raw_ended = got == 0;
	input->read_bytes += (uint64_t)got;
	return 0;
}

/*
 * Each decompressor consumes raw bytes and writes at most `room` bytes to `to`. -EBADMSG: damaged
 * data.
 */
static int inflate_gzip(struct gg_input *input, char *to, size_t room, size_t *ret_got,
                        struct gg_error *error)
{
	z_stream *zlib = &input->zlib;
	int result;

	if (input->raw_ended) {
		*ret_got = 0;
		input->ended = true;
		return input->between_members
		               ? 0
		               : gg_input_wrong(input, input->base + input->end, error,
		                                "the compressed data ends early");
	}
	if (input->between_members && inflateReset(zlib) != Z_OK)
		return gg_error_memory(error, input->name);
	input->between_members = false;
	zlib->next_in = input->raw + input->raw_at;
	zlib->avail_in = (unsigned)(input->raw_end - input->raw_at);
	zlib->next_out = (Bytef *)to;
	zlib->avail_out = (unsigned)room;
	result = inflate(zlib, Z_NO_FLUSH);
	input->raw_at = input->raw_end - zlib->avail_in;
	*ret_got = room - zlib->avail_out;
	if (result == Z_STREAM_END)
		input->between_members = true;
	else if (result == Z_MEM_ERROR)
		return gg_error_memory(error, input->name);
	else if (result != Z_OK && result != Z_BUF_ERROR)
		return gg_input_wrong(input, input->base + input->end, error,
		                      "the compressed data is damaged");
	return 0;
}

static int inflate_zstd(struct gg_input *input, char *to, size_t room, size_t *ret_got,
                        struct gg_error *error)
{
#if HAVE_ZSTD
	ZSTD_inBuffer from = { input->raw, input->raw_end, input->raw_at };
	ZSTD_outBuffer out = { to, room, 0 };
	size_t result;

	if (input->raw_ended && input->between_members) {
		*ret_got = 0;
		input->ended = true;
		return 0;
	}
	result = ZSTD_decompressStream(input->zstd, &out, &from);
	input->raw_at = from.pos;
	*ret_got = out.pos;
	input->between_members = result == 0;
	if (ZSTD_isError(result))
		return gg_input_wrong(input, input->base + input->end, error,
		                      "the compressed data is damaged: %s",
		                      ZSTD_getErrorName(result));
	if (input->raw_ended && out.pos == 0 && result != 0)
		return gg_input_wrong(input, input->base + input->end, error,
		                      "the compressed data ends early");
	return 0;
#else
	(void)to, (void)room;
	*ret_got = 0;
	return gg_error_set(error, -ENOTSUP, input->name, "Decompress it first: zstd -d FILE.",
	                    "the file is compressed by zstd, which this geiger cannot read");
#endif
}

static int take_plain(struct gg_input *input, char *to, size_t room, size_t *ret_got)
{
	size_t count = input->raw_end - input->raw_at;

	if (count > room)
		count = room;
	memcpy(to, input->raw + input->raw_at, count);
	input->raw_at += count;
	*ret_got = count;
	input->ended = input->raw_ended;
	return 0;
}

static int check_size(const struct gg_input *input, struct gg_error *error)
{
	static const char advice[] = "If you trust the file: geiger import --max-size 16G FILE.";
	uint64_t bytes = input->base + input->end, limit = input->limit_bytes;
	bool is_dense = limit == 0 && bytes > FREE_BYTES && bytes / MOST_RATIO > input->read_bytes;

	if (limit == 0)
		limit = input->compression == INPUT_PLAIN ? UINT64_MAX : MOST_BYTES;
	if (input->compression == INPUT_PLAIN ? bytes <= limit : bytes <= limit && !is_dense)
		return 0;
	if (is_dense)
		gg_input_wrong(
			input, bytes, error,
			"the file has %llu MiB that were compressed to less than 1/%d of that, "
			"which no profile should",
			(unsigned long long)(bytes >> 20), MOST_RATIO);
	else
		gg_input_wrong(input, bytes, error, "the file has more than %llu MiB",
		               (unsigned long long)(limit >> 20));
	if (error != NULL)
		snprintf(error->advice, sizeof(error->advice), "%s", advice);
	return -EBADMSG;
}

/* Appends more text after `end`, and discards the text that was already returned. */
static int fill(struct gg_input *input, struct gg_error *error)
{
	size_t got = 0;
	int status = 0;

	if (input->at > 0) {
		memmove(input->text, input->text + input->at, input->end - input->at);
		input->base += input->at;
		input->end -= input->at;
		input->at = 0;
	}
	if (input->capacity - input->end < INPUT_READ_BYTES) {
		size_t capacity = 2 * input->capacity + 2 * INPUT_READ_BYTES;
		char *more = realloc(input->text, capacity);

		if (more == NULL)
			return gg_error_memory(error, input->name);
		input->text = more;
		input->capacity = capacity;
	}
	while (status == 0 && got == 0 && !input->ended) {
		char *to = input->text + input->end;
		size_t room = input->capacity - input->end;

		status = read_raw(input, error);
		if (status == 0 && input->compression == INPUT_GZIP)
			status = inflate_gzip(input, to, room, &got, error);
		else if (status == 0 && input->compression == INPUT_ZSTD)
			status = inflate_zstd(input, to, room, &got, error);
		else if (status == 0)
			status = take_plain(input, to, room, &got);
	}
	input->end += got;
	return status == 0 ? check_size(input, error) : status;
}

static int begin(struct gg_input *input, struct gg_error *error)
{
	static const uint8_t zstd_magic[4] = { 0x28, 0xb5, 0x2f, 0xfd };
	int status;

	input->raw = malloc(INPUT_READ_BYTES);
	if (input->raw == NULL)
		return gg_error_memory(error, input->name);
	status = read_raw(input, error);
	if (status < 0)
		return status;
	if (input->raw_end >= 2 && input->raw[0] == 0x1f && input->raw[1] == 0x8b) {
		if (inflateInit2(&input->zlib, 15 + 16) != Z_OK)
			return gg_error_memory(error, input->name);
		input->compression = INPUT_GZIP;
	} else if (input->raw_end >= 4 && memcmp(input->raw, zstd_magic, 4) == 0) {
#if HAVE_ZSTD
		input->zstd = ZSTD_createDStream();
		if (input->zstd == NULL)
			return gg_error_memory(error, input->name);
#endif
		input->compression = INPUT_ZSTD;
	}
	while (status == 0 && input->end < GG_INPUT_HEAD_BYTES && !input->ended)
		status = fill(input, error);
	return status;
}

static int open_input(struct gg_input **ret_input, const char *name, int fd, const void *bytes,
                      size_t length, struct gg_error *error)
{
	struct gg_input *input = calloc(1, sizeof(*input));
	struct stat properties;
	int status;

	if (input == NULL || (input->name = strdup(name)) == NULL) {
		free(input);
		if (fd > STDERR_FILENO)
			close(fd);
		return gg_error_memory(error, name);
	}
	input->fd = fd;
	input->memory = bytes;
	input->memory_bytes = length;
	if (fd >= 0 && fstat(fd, &properties) == 0 && S_ISREG(properties.st_mode)) {
		input->size_bytes = (uint64_t)properties.st_size;
		input->time_ns = (uint64_t)properties.st_mtim.tv_sec * GG_NS_PER_S +
		                 (uint64_t)properties.st_mtim.tv_nsec;
	}
	status = begin(input, error);
	if (status < 0) {
		gg_input_close(input);
		return status;
	}
	*ret_input = input;
	return 0;
}

int gg_input_open(struct gg_input **ret_input, const char *path, struct gg_error *error)
{
	int fd;

	if (strcmp(path, "-") == 0)
		return open_input(ret_input, "standard input", STDIN_FILENO, NULL, 0, error);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return gg_error_set_errno(error, errno, path, NULL);
	return open_input(ret_input, path, fd, NULL, 0, error);
}

int gg_input_of(struct gg_input **ret_input, const void *bytes, size_t length, const char *name,
                struct gg_error *error)
{
	return open_input(ret_input, name, -1, bytes, length, error);
}

void gg_input_close(struct gg_input *input)
{
	if (input == NULL)
		return;
	if (input->fd > STDERR_FILENO)
		close(input->fd);
	if (input->compression == INPUT_GZIP)
		inflateEnd(&input->zlib);
#if HAVE_ZSTD
	ZSTD_freeDStream(input->zstd);
#endif
	free(input->raw);
	free(input->text);
	free(input->name);
	free(input);
}

void gg_input_limit(struct gg_input *input, uint64_t most_bytes)
{
	input->limit_bytes = most_bytes;
}

const uint8_t *gg_input_head(struct gg_input *input, size_t *ret_length)
{
	*ret_length = input->end - input->at;
	return (const uint8_t *)input->text + input->at;
}

int gg_input_line(struct gg_input *input, struct gg_text_line *ret_line, struct gg_error *error)
{
	size_t looked = 0;
	char *end = NULL;

	for (;;) {
		size_t length = input->end - input->at;

		if (length > looked)
			end = memchr(input->text + input->at + looked, '\n', length - looked);
		looked = length;
		if (end != NULL || input->ended)
			break;
		if (length > GG_INPUT_LINE_MAX)
			return gg_input_wrong(input, input->base + input->at, error,
			                      "a line has more than %d bytes", GG_INPUT_LINE_MAX);
		if (fill(input, error) < 0)
			return error != NULL ? error->status : -EBADMSG;
	}
	input->offset = input->base + input->at;
	ret_line->at = input->text + input->at;
	ret_line->length = end != NULL ? (size_t)(end - ret_line->at) : looked;
	if (end == NULL && looked == 0)
		return 0;
	input->at += ret_line->length + (end != NULL);
	if (ret_line->length > 0 && ret_line->at[ret_line->length - 1] == '\r')
		ret_line->length--;
	return 1;
}

int gg_input_units(struct gg_input *input, size_t unit_bytes, const uint8_t **ret_bytes,
                   size_t *ret_length, struct gg_error *error)
{
	size_t length;

	gg_assert(unit_bytes > 0 && unit_bytes <= GG_INPUT_LINE_MAX);
	while (input->end - input->at < unit_bytes && !input->ended)
		if (fill(input, error) < 0)
			return error != NULL ? error->status : -EBADMSG;
	length = input->end - input->at;
	if (length > unit_bytes)
		length -= length % unit_bytes;
	input->offset = input->base + input->at;
	*ret_bytes = (const uint8_t *)input->text + input->at;
	*ret_length = length;
	input->at += length;
	return length > 0;
}

int gg_input_all(struct gg_input *input, size_t most, const uint8_t **ret_bytes, size_t *ret_length,
                 struct gg_error *error)
{
	int status = 0;

	while (status == 0 && !input->ended && input->end - input->at <= most)
		status = fill(input, error);
	if (status < 0)
		return status;
	if (input->end - input->at > most)
		return gg_input_wrong(
			input, most, error,
			"the file has more than %zu MiB, which no profile should have", most >> 20);
	input->offset = input->base + input->at;
	*ret_bytes = (const uint8_t *)input->text + input->at;
	*ret_length = input->end - input->at;
	input->at = input->end;
	return 0;
}

uint64_t gg_input_offset(const struct gg_input *input)
{
	return input->offset;
}

bool gg_input_is_standard(const struct gg_input *input)
{
	return input->fd == STDIN_FILENO;
}

const char *gg_input_name(const struct gg_input *input)
{
	return input->name;
}

uint64_t gg_input_time_ns(const struct gg_input *input)
{
	return input->time_ns;
}

void gg_input_progress(const struct gg_input *input, uint64_t *ret_done, uint64_t *ret_size)
{
	*ret_done = input->read_bytes;
	*ret_size = input->size_bytes;
}

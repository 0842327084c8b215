/* SPDX-License-Identifier: Apache-2.0 */
/* event_stream - reads the reply, and copies the stream into its file. */
#include "dotnet/event_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dotnet/byte_cursor.h"

enum {
	STREAM_READ_BYTES = 1 << 16,
	STREAM_READS_MAX =
		256, /* in one call: 16 MiB, so that a fast writer cannot hold its reader */
};

/* Without a name, the file is gone with its descriptor. */
static int open_spool(const char *directory, const char *name)
{
	char path[4096];
	int fd;

	if (name != NULL) {
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, name) >=
		    sizeof(path)) {
			errno = ENAMETOOLONG;
			return -1;
		}
		return open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	}
	fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || (size_t)snprintf(path, sizeof(path), "%s/geiger-events-XXXXXX", directory) >=
	                       sizeof(path))
		return fd;
	fd = mkostemp(path, O_CLOEXEC); /* a file system without such files */
	if (fd >= 0)
		unlink(path);
	return fd;
}

int gg_event_stream_begin(struct gg_event_stream *ret_stream, int connection, const char *directory,
                          const char *name, struct gg_error *error)
{
	struct gg_event_stream stream = { .fd = connection,
		                          .spool_fd = open_spool(directory, name) };

	if (stream.spool_fd < 0) {
		int why = errno;

		close(connection);
		return gg_error_set_errno(error, why, directory, NULL);
	}
	*ret_stream = stream;
	return 0;
}

/* Maps the file, and closes its descriptor.  If that fails, the descriptor stays. */
static int seal(struct gg_event_stream *stream)
{
	void *map;

	if (stream->spool_fd < 0)
		return 0;
	if (stream->bytes > 0) {
		map = mmap(NULL, stream->bytes, PROT_READ, MAP_PRIVATE, stream->spool_fd, 0);
		if (map == MAP_FAILED)
			return -errno;
		stream->map = map;
	}
	close(stream->spool_fd);
	stream->spool_fd = -1;
	return 0;
}

int gg_event_stream_open(struct gg_event_stream *ret_stream, const char *path,
                         struct gg_error *error)
{
	struct gg_event_stream stream = {
		.fd = -1,
		.spool_fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY),
		.state = GG_EVENT_STREAM_ENDED,
	};
	struct stat file;
	int status;

	if (stream.spool_fd < 0)
		return gg_error_set_errno(error, errno, path, NULL);
	if (fstat(stream.spool_fd, &file) < 0 || !S_ISREG(file.st_mode)) {
		close(stream.spool_fd);
		return gg_error_set_errno(error, EINVAL, path, NULL);
	}
	stream.bytes = (uint64_t)file.st_size < GG_EVENT_STREAM_MAX ? (uint64_t)file.st_size
	                                                            : GG_EVENT_STREAM_MAX;
	status = seal(&stream);
	if (status < 0) {
		close(stream.spool_fd);
		return gg_error_set_errno(error, -status, path, NULL);
	}
	*ret_stream = stream;
	return 0;
}

static void end(struct gg_event_stream *stream, enum gg_event_stream_state state)
{
	stream->state = state;
	if (stream->fd >= 0)
		close(stream->fd);
	stream->fd = -1;
	(void)seal(stream); /* gg_event_stream_map() tries it again */
}

void gg_event_stream_end(struct gg_event_stream *stream)
{
	end(stream, GG_EVENT_STREAM_ENDED);
}

void gg_event_stream_done(struct gg_event_stream *stream)
{
	end(stream, GG_EVENT_STREAM_ENDED);
	if (stream->spool_fd >= 0)
		close(stream->spool_fd);
	stream->spool_fd = -1;
	if (stream->map != NULL)
		munmap(stream->map, stream->bytes);
	stream->map = NULL;
}

/* Takes bytes of the reply.  A reply that is no reply ends the stream as one that refuses does. */
static void take_reply(struct gg_event_stream *stream)
{
	struct gg_dotnet_ipc_reply reply;
	struct gg_byte_cursor payload;
	int status = gg_dotnet_ipc_read_reply(stream->reply, stream->reply_bytes, &reply);

	if (status == 0 && stream->reply_bytes < sizeof(stream->reply))
		return;
	if (status != 1 || !reply.is_ok || reply.payload_bytes != 8) {
		end(stream, GG_EVENT_STREAM_REFUSED);
		return;
	}
	payload = gg_byte_cursor_of(reply.payload, 8);
	stream->session = gg_byte_cursor_number(&payload, 8);
	stream->state = GG_EVENT_STREAM_RUNS;
}

static void write_spool(struct gg_event_stream *stream, const uint8_t *bytes, size_t length)
{
	uint64_t room = stream->room_bytes != NULL ? *stream->room_bytes
	                                           : GG_EVENT_STREAM_MAX - stream->bytes;

	if (length > room) {
		stream->is_full = true;
		end(stream, GG_EVENT_STREAM_ENDED);
		return;
	}
	while (length > 0) {
		ssize_t written = write(stream->spool_fd, bytes, length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			stream->status = written < 0 ? -errno : -EIO;
			end(stream, GG_EVENT_STREAM_ENDED);
			return;
		}
		stream->bytes += (uint64_t)written;
		if (stream->room_bytes != NULL)
			*stream->room_bytes -= (uint64_t)written;
		bytes += written;
		length -= (size_t)written;
	}
}

/* Reads once.  Returns false if nothing has arrived, or the stream has ended. */
static bool read_once(struct gg_event_stream *stream)
{
	uint8_t bytes[STREAM_READ_BYTES];
	bool is_reply = stream->state == GG_EVENT_STREAM_ASKED;
	size_t room = is_reply ? sizeof(stream->reply) - stream->reply_bytes : sizeof(bytes);
	ssize_t got;

	if (stream->fd < 0)
		return false;
	do
		got = recv(stream->fd, bytes, room, MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got < 0 && errno == EAGAIN)
		return false;
	if (got <= 0) { /* the end, or the program was killed */
		end(stream, is_reply ? GG_EVENT_STREAM_REFUSED : GG_EVENT_STREAM_ENDED);
		return false;
	}
	if (!is_reply) {
		write_spool(stream, bytes, (size_t)got);
		return true;
	}
	memcpy(stream->reply + stream->reply_bytes, bytes, (size_t)got);
	stream->reply_bytes += (size_t)got;
	take_reply(stream);
	return true;
}

bool gg_event_stream_read(struct gg_event_stream *stream)
{
	int count = 0;

	while (count < STREAM_READS_MAX && read_once(stream))
		count++;
	return count > 0;
}

int gg_event_stream_map(struct gg_event_stream *stream, const uint8_t **ret_bytes,
                        struct gg_error *error)
{
	int status;

	if (stream->state <= GG_EVENT_STREAM_RUNS)
		gg_event_stream_end(stream);
	status = seal(stream);
	if (status < 0)
		return gg_error_set_errno(error, -status, ".NET's events", NULL);
	*ret_bytes = stream->map;
	return 0;
}

int gg_event_stream_peek(const struct gg_event_stream *stream, const uint8_t **ret_bytes,
                         size_t *ret_length)
{
	void *map = stream->map;

	if (map == NULL && stream->bytes > 0) {
		map = mmap(NULL, stream->bytes, PROT_READ, MAP_SHARED, stream->spool_fd, 0);
		if (map == MAP_FAILED)
			return -errno;
	}
	*ret_bytes = map;
	*ret_length = map != NULL ? stream->bytes : 0;
	return 0;
}

void gg_event_stream_forget(const struct gg_event_stream *stream, const uint8_t *bytes,
                            size_t length)
{
	/* A stream that ended meanwhile has a map of its own. */
	if (bytes != NULL && bytes != stream->map)
		munmap((void *)(uintptr_t)bytes, length);
}

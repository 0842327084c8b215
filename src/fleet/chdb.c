/* SPDX-License-Identifier: Apache-2.0 */
/* chdb - loads libchdb, if it is the pinned one, and runs statements in it. */
#include "fleet/chdb.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fast_exit.h"
#include "fleet/chdb_pin.h"
#include "fleet/sha256.h"

enum { IDENTITY_MAX = 256 };
static const char *const usual_places[] = { "/usr/local/lib/libchdb.so", "/usr/lib/libchdb.so" };
static const char format_of_replies[] = "TabSeparated"; /* that of HTTP */

/* The functions of libchdb.  Its handles are opaque: a connection is a pointer to one. */
static struct {
	void **(*connect)(int count, char **words);
	void (*close)(void **connection);
	void *(*run)(void *connection, const char *text, size_t length, const char *format,
	             size_t format_length);
	char *(*buffer)(void *result);
	size_t (*length)(void *result);
	const char *(*problem)(void *result);
	void (*destroy)(void *result);
	void (*handle_signals)(int is_enabled);
	bool is_loaded;
} library;

struct gg_chdb {
	char *directory; /* absolute */
	int lock;        /* of DIR/lock */
	int user_count;
	void **connection;
};

/* Guards all of the above, and each statement. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct gg_chdb *the_engine; /* NULL: none is open */

/* --- the library ---------------------------------------------------------------------------- */

static int open_library(char place[PATH_MAX], struct gg_error *error)
{
	const char *named = getenv("GEIGER_CHDB");
	int fd = -1;

	if (named != NULL && named[0] != '\0') {
		snprintf(place, PATH_MAX, "%s", named);
		fd = open(place, O_RDONLY | O_CLOEXEC);
	} else {
		for (size_t i = 0; i < GG_COUNT(usual_places) && fd < 0; i++) {
			snprintf(place, PATH_MAX, "%s", usual_places[i]);
			fd = open(place, O_RDONLY | O_CLOEXEC);
		}
		if (fd < 0)
			snprintf(place, PATH_MAX, "libchdb.so");
	}
	return fd >= 0 ? fd
	               : gg_error_set(
				 error, -ENOENT, place,
				 "Name the library by GEIGER_CHDB; it is in the npm package " GG_CHDB_PACKAGE
				 ".",
				 "there is no libchdb: %s", strerror(errno));
}

/* Writes what the kernel knows of the file.  A change of its bytes changes its ctime. */
static void identify(int fd, char identity[IDENTITY_MAX])
{
	struct stat file = { 0 };

	if (fstat(fd, &file) < 0)
		file.st_ino = 0;
	snprintf(identity, IDENTITY_MAX, GG_CHDB_SHA256 " %ju %ju %jd %jd.%09ld %jd.%09ld\n",
	         (uintmax_t)file.st_dev, (uintmax_t)file.st_ino, (intmax_t)file.st_size,
	         (intmax_t)file.st_mtim.tv_sec, file.st_mtim.tv_nsec, (intmax_t)file.st_ctim.tv_sec,
	         file.st_ctim.tv_nsec);
}

static bool has_identity(int directory, const char *identity)
{
	char noted[IDENTITY_MAX] = "";
	int fd = openat(directory, "libchdb", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t count = fd >= 0 ? read(fd, noted, sizeof(noted) - 1) : -1;

	if (fd >= 0)
		close(fd);
	return count > 0 && strcmp(noted, identity) == 0;
}

/* A note that cannot be written costs the next command the time of the hash. */
static void note_identity(int directory, const char *identity)
{
	int fd = openat(directory, "libchdb", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
	                0600);

	if (fd < 0)
		return;
	if (write(fd, identity, strlen(identity)) < 0)
		unlinkat(directory, "libchdb", 0);
	close(fd);
}

static int check_hash(int fd, int directory, const char *place, struct gg_error *error)
{
	char identity[IDENTITY_MAX], hex[GG_SHA256_HEX];
	int status;

	identify(fd, identity);
	if (has_identity(directory, identity))
		return 0;
	status = gg_sha256_file(fd, hex);
	if (status < 0)
		return gg_error_set(error, status, place, NULL, "cannot be read: %s",
		                    strerror(-status));
	if (strcmp(hex, GG_CHDB_SHA256) != 0)
		return gg_error_set(error, -ENOTSUP, place,
		                    "Take that of the npm package " GG_CHDB_PACKAGE ".",
		                    "this is another libchdb than geiger was tested with "
		                    "(its SHA-256 begins with %.16s)",
		                    hex);
	note_identity(directory, identity);
	return 0;
}

static int load(int directory, struct gg_error *error)
{
	const struct {
		const char *name;
		void *to;
	} functions[] = {
		{ "chdb_connect", &library.connect },
		{ "chdb_close_conn", &library.close },
		{ "chdb_query_n", &library.run },
		{ "chdb_result_buffer", &library.buffer },
		{ "chdb_result_length", &library.length },
		{ "chdb_result_error", &library.problem },
		{ "chdb_destroy_query_result", &library.destroy },
		{ "chdb_set_signal_handlers_enabled", &library.handle_signals },
	};
	char place[PATH_MAX], path[64];
	void *handle;
	int status, fd;

	if (library.is_loaded)
		return 0;
	fd = open_library(place, error);
	if (fd < 0)
		return fd;
	status = check_hash(fd, directory, place, error);
	if (status < 0) {
		close(fd);
		return status;
	}
	/* By its descriptor: the name may lead to another file by now. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (handle == NULL)
		status = gg_error_set(error, -ENOTSUP, place, NULL, "cannot be loaded: %s",
		                      dlerror());
	for (size_t i = 0; status == 0 && i < GG_COUNT(functions); i++) {
		void *function = dlsym(handle, functions[i].name);

		memcpy(functions[i].to, &function, sizeof(function));
		if (function == NULL)
			status = gg_error_set(error, -ENOTSUP, place, NULL,
			                      "the library lacks the function %s",
			                      functions[i].name);
	}
	close(fd);
	if (handle != NULL)
		gg_fast_exit_enable(); /* its threads outlive its connection */
	library.is_loaded = status == 0;
	return status;
}

/* --- the engine ----------------------------------------------------------------------------- */

static void free_engine(struct gg_chdb *engine)
{
	if (engine->connection != NULL)
		library.close(engine->connection);
	if (engine->lock >= 0)
		close(engine->lock);
	free(engine->directory);
	free(engine);
}

static bool run_locked(struct gg_chdb *engine, const char *text, size_t length,
                       struct gg_buf *reply)
{
	void *result = library.run(*engine->connection, text, length, format_of_replies,
	                           strlen(format_of_replies));
	const char *problem;

	if (result == NULL) {
		gg_buf_append_text(reply, "libchdb gives no result");
		return false;
	}
	problem = library.problem(result);
	if (problem != NULL)
		gg_buf_append_text(reply, problem);
	else if (library.length(result) > 0)
		gg_buf_append(reply, library.buffer(result), library.length(result));
	library.destroy(result);
	return problem == NULL;
}

static int connect_engine(struct gg_chdb *engine, struct gg_error *error)
{
	static const char ask[] = "SELECT version()";
	GG_CLEANUP(gg_buf_done) struct gg_buf path = { 0 }, reply = { 0 };
	char name[] = "geiger";
	char *words[] = { name, NULL };

	gg_buf_printf(&path, "--path=%s/chdb", engine->directory);
	if (path.failed)
		return gg_error_memory(error, "chdb");
	words[1] = path.data;
	library.handle_signals(0); /* the command's own stay */
	engine->connection = library.connect(2, words);
	if (engine->connection == NULL || *engine->connection == NULL) {
		engine->connection = NULL;
		return gg_error_set(error, -EIO, engine->directory, NULL,
		                    "libchdb does not open this directory");
	}
	if (!run_locked(engine, ask, strlen(ask), &reply) || reply.failed)
		return gg_error_set(error, -EIO, engine->directory, NULL, "%.200s",
		                    gg_buf_text(&reply));
	if (strncmp(gg_buf_text(&reply), GG_CHDB_ENGINE "\n", sizeof(GG_CHDB_ENGINE)) != 0)
		return gg_error_set(
			error, -ENOTSUP, engine->directory, NULL,
			"libchdb is version %.40s, and geiger was tested with " GG_CHDB_ENGINE,
			gg_buf_text(&reply));
	return 0;
}

static int lock_directory(struct gg_chdb *engine, int directory, struct gg_error *error)
{
	engine->lock = openat(directory, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (engine->lock < 0)
		return gg_error_set(error, -errno, engine->directory, NULL, "cannot be locked: %s",
		                    strerror(errno));
	if (flock(engine->lock, LOCK_EX | LOCK_NB) < 0)
		return gg_error_set(error, -EBUSY, engine->directory,
		                    "Wait until it has ended, or use a server: geiger fleet up.",
		                    "another process uses this store");
	return 0;
}

static int open_engine(struct gg_chdb *engine, struct gg_error *error)
{
	int directory = open(engine->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int status;

	if (directory < 0)
		return gg_error_set(error, -errno, engine->directory, NULL, "cannot be opened: %s",
		                    strerror(errno));
	status = faccessat(directory, "server", F_OK, 0) == 0
	                 ? gg_error_set(error, -EBUSY, engine->directory,
	                                "Leave chdb: out, or name another directory.",
	                                "this is the store of a server")
	                 : lock_directory(engine, directory, error);
	if (status == 0)
		status = load(directory, error);
	close(directory);
	return status == 0 ? connect_engine(engine, error) : status;
}

int gg_chdb_open(struct gg_chdb **ret_engine, const char *directory, struct gg_error *error)
{
	struct gg_chdb *engine;
	char *path;
	int status = 0;

	if (directory[0] == '\0')
		return gg_error_set(error, -EINVAL,
		                    "chdb:", "Give one such as chdb:/var/lib/fleet.",
		                    "a directory is missing");
	if (mkdir(directory, 0700) < 0 && errno != EEXIST)
		return gg_error_set(error, -errno, directory, NULL, "cannot be made: %s",
		                    strerror(errno));
	path = realpath(directory, NULL);
	if (path == NULL)
		return gg_error_set(error, -errno, directory, NULL, "cannot be opened: %s",
		                    strerror(errno));
	pthread_mutex_lock(&mutex);
	if (the_engine != NULL) {
		if (strcmp(the_engine->directory, path) != 0)
			status = gg_error_set(error, -EBUSY, directory, NULL,
			                      "libchdb opens one directory at a time");
		else
			the_engine->user_count++;
		free(path);
	} else if ((engine = calloc(1, sizeof(*engine))) == NULL) {
		status = gg_error_memory(error, directory);
		free(path);
	} else {
		engine->directory = path;
		engine->lock = -1;
		engine->user_count = 1;
		status = open_engine(engine, error);
		if (status == 0)
			the_engine = engine;
		else
			free_engine(engine);
	}
	if (status == 0)
		*ret_engine = the_engine;
	pthread_mutex_unlock(&mutex);
	return status;
}

void gg_chdb_close(struct gg_chdb *engine)
{
	if (engine == NULL)
		return;
	pthread_mutex_lock(&mutex);
	if (--engine->user_count == 0) {
		the_engine = NULL;
		free_engine(engine);
	}
	pthread_mutex_unlock(&mutex);
}

const char *gg_chdb_directory(const struct gg_chdb *engine)
{
	return engine->directory;
}

bool gg_chdb_run(struct gg_chdb *engine, const void *text, size_t length, struct gg_buf *reply)
{
	bool is_good;

	pthread_mutex_lock(&mutex);
	is_good = run_locked(engine, text, length, reply);
	pthread_mutex_unlock(&mutex);
	return is_good;
}

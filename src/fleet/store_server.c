/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/store_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/time_units.h"
#include "format/codec/save_file.h"
#include "record/process/proc_file.h"

enum { START_TICKS_FIELD = 22, PASSWORD_BYTES = 16, LOOK_MS = 20, STOP_SECONDS = 60 };

static const char no_server[] = "Debian has it in the package clickhouse-server.";

/* --- the files of a directory ---------------------------------------------------------------- */

static char *path_in(const char *directory, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

static int save_in(const char *directory, const char *name, const struct gg_buf *text,
                   struct gg_error *error)
{
	char *path = path_in(directory, name);
	int status = path == NULL || text->failed
	                     ? gg_error_memory(error, directory)
	                     : gg_save_file(path, text->data, text->length, error);

	free(path);
	return status;
}

/*
 * A file of another user could name any process of the caller as the server, which `fleet down`
 * would then end.  So everything must belong to the caller, and nobody else may write it.
 */
static int check_owner(int fd, const char *directory, const char *what, struct gg_error *error)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return gg_error_set_errno(error, errno, directory, NULL);
	if (status.st_uid != geteuid())
		return gg_error_set(error, -EPERM, directory,
		                    "Run the command as the owner, or give another directory.",
		                    "%s belongs to another user", what);
	if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return gg_error_set(error, -EPERM, directory, "chmod go-w takes this right away.",
		                    "other users may write %s", what);
	return 0;
}

/* Returns a descriptor of the caller's directory; negative sets the error. */
static int open_directory(const char *directory, struct gg_error *error)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return gg_error_set_errno(error, errno, directory, NULL);
	if (check_owner(fd, directory, "the directory", error) == 0)
		return fd;
	close(fd);
	return error->status;
}

/* Writes `text` where an XML document has text: an attribute or an element ends at none of it. */
static void add_xml(struct gg_buf *out, const char *text)
{
	for (; *text != '\0'; text++)
		if (strchr("<>&\"'", *text) != NULL)
			gg_buf_printf(out, "&#%d;", *text);
		else
			gg_buf_append(out, text, 1);
}

static int save_config(const char *directory, const struct gg_store_server *server,
                       struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	static const struct {
		const char *before, *name, *after;
	} paths[] = {
		{ "  <logger>\n    <level>warning</level>\n    <size>10M</size>\n"
		  "    <count>2</count>\n    <log>",
		  "/server.log", "</log>\n" },
		{ "    <errorlog>", "/error.log", "</errorlog>\n  </logger>\n" },
		{ "  <path>", "/data/", "</path>\n" },
		{ "  <tmp_path>", "/data/tmp/", "</tmp_path>\n" },
		{ "  <user_files_path>", "/data/user_files/", "</user_files_path>\n" },
		{ "  <format_schema_path>", "/data/format_schemas/", "</format_schema_path>\n" },
		{ "  <users_config>", "/users.xml", "</users_config>\n" },
	};

	gg_buf_append_text(&text, "<?xml version=\"1.0\"?>\n<yandex>\n");
	for (size_t i = 0; i < GG_COUNT(paths); i++) {
		gg_buf_append_text(&text, paths[i].before);
		add_xml(&text, directory);
		gg_buf_append_text(&text, paths[i].name);
		gg_buf_append_text(&text, paths[i].after);
	}
	/*
	 * The server's own level finds no matches, and even equal values take a thirtieth of their
	 * room.  Level 3 also takes less of the processor.  Blocks of 1 MiB (users.xml) find what a
	 * snapshot of `live` has in common with the one before.  docs/FLEET.md, "Sizes", has bytes.
	 *
	 * No query_log, part_log, trace_log, metric_log: without their sections they are off, and
	 * they grow without end where they are on.
	 */
	gg_buf_printf(&text,
	              "  <listen_host>127.0.0.1</listen_host>\n  <http_port>%u</http_port>\n"
	              "  <keep_alive_timeout>3</keep_alive_timeout>\n"
	              "  <max_concurrent_queries>32</max_concurrent_queries>\n"
	              "  <uncompressed_cache_size>0</uncompressed_cache_size>\n"
	              "  <mark_cache_size>67108864</mark_cache_size>\n"
	              "  <default_profile>default</default_profile>\n"
	              "  <default_database>default</default_database>\n"
	              "  <timezone>UTC</timezone>\n"
	              "  <mlock_executable>false</mlock_executable>\n"
	              "  <compression>\n    <case>\n      <min_part_size>0</min_part_size>\n"
	              "      <min_part_size_ratio>0</min_part_size_ratio>\n"
	              "      <method>zstd</method>\n      <level>3</level>\n    </case>\n"
	              "  </compression>\n</yandex>\n",
	              server->port);
	return save_in(directory, "config.xml", &text, error);
}

static int save_users(const char *directory, const struct gg_store_plan *plan,
                      const struct gg_store_server *server, struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	unsigned long long memory = plan->memory_bytes;

	gg_buf_printf(&text,
	              "<?xml version=\"1.0\"?>\n<yandex>\n  <profiles>\n    <default>\n"
	              "      <max_memory_usage>%llu</max_memory_usage>\n"
	              "      <max_memory_usage_for_all_queries>%llu"
	              "</max_memory_usage_for_all_queries>\n"
	              "      <log_queries>0</log_queries>\n"
	              "      <min_compress_block_size>1048576</min_compress_block_size>\n"
	              "    </default>\n  </profiles>\n",
	              memory, memory);
	gg_buf_printf(&text,
	              "  <users>\n    <default>\n      <password>%s</password>\n"
	              "      <networks><ip>127.0.0.1</ip></networks>\n"
	              "      <profile>default</profile>\n      <quota>default</quota>\n"
	              "    </default>\n  </users>\n  <quotas>\n    <default></default>\n"
	              "  </quotas>\n</yandex>\n",
	              server->password);
	return save_in(directory, "users.xml", &text, error);
}

static int save_server(const char *directory, const struct gg_store_server *server,
                       struct gg_error *error)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };

	/* The file has a password. */
	mode_t mask = umask(077);
	int status;

	gg_buf_printf(&text, "pid %ld\nstart %llu\nport %u\npassword %s\n", (long)server->pid,
	              (unsigned long long)server->start_ticks, server->port, server->password);
	status = save_in(directory, "server", &text, error);
	umask(mask);
	return status;
}

/* --- processes ------------------------------------------------------------------------------- */

/* Field 22 of /proc/PID/stat; 0: there is no such process, or it has ended as a zombie. */
static uint64_t start_ticks_of(pid_t pid)
{
	GG_CLEANUP(gg_buf_done) struct gg_buf text = { 0 };
	const char *at;
	char state;

	if (pid <= 0 || !gg_proc_file_read(&text, "/proc/%ld/stat", (long)pid))
		return 0;
	/* The name in brackets may have any characters: the third field follows the last one. */
	at = strrchr(gg_buf_text(&text), ')');
	if (at == NULL || sscanf(at + 1, " %c", &state) != 1 || state == 'Z')
		return 0;
	at++;
	for (int field = 3; field < START_TICKS_FIELD && at != NULL; field++)
		at = strchr(at + 1, ' ');
	return at != NULL ? strtoull(at, NULL, 10) : 0;
}

static bool is_running(const struct gg_store_server *server)
{
	uint64_t start_ticks = start_ticks_of(server->pid);

	return start_ticks != 0 && start_ticks == server->start_ticks;
}

static void sleep_ms(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&time, NULL);
}

static int say_not_started(const char *directory, struct gg_error *error)
{
	return gg_error_set(error, -ENOENT, directory, "geiger fleet up DIR starts one.",
	                    "no store was started there");
}

int gg_store_server_read(const char *directory, struct gg_store_server *ret_server,
                         struct gg_error *error)
{
	struct gg_store_server server = { 0 };
	int directory_fd = open_directory(directory, error), fd, failure;
	unsigned long long start_ticks = 0;
	unsigned int port = 0;
	long pid = 0;
	FILE *file;
	int count = 0;

	if (directory_fd == -ENOENT)
		return say_not_started(directory, error);
	if (directory_fd < 0)
		return directory_fd;
	fd = openat(directory_fd, "server", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	failure = errno;
	close(directory_fd);
	if (fd < 0)
		return failure == ENOENT ? say_not_started(directory, error)
		                         : gg_error_set_errno(error, failure, directory, NULL);
	if (check_owner(fd, directory, "its file server", error) < 0) {
		close(fd);
		return error->status;
	}
	file = fdopen(fd, "r");
	if (file == NULL) {
		close(fd);
		return gg_error_memory(error, directory);
	}
	count = fscanf(file, "pid %ld start %llu port %u password %32[0-9a-f]", &pid, &start_ticks,
	               &port, server.password);
	fclose(file);
	if (count != 4 || port > UINT16_MAX)
		return say_not_started(directory, error);
	server.pid = (pid_t)pid;
	server.start_ticks = start_ticks;
	server.port = (uint16_t)port;
	server.is_running = is_running(&server);
	*ret_server = server;
	return 0;
}

static const char *find_program(char room[64])
{
	static const char *const paths[] = { "/usr/sbin", "/usr/bin", "/usr/local/bin",
		                             "/usr/local/sbin" };

	for (size_t i = 0; i < GG_COUNT(paths); i++) {
		snprintf(room, 64, "%s/clickhouse-server", paths[i]);
		if (access(room, X_OK) == 0)
			return room;
	}
	return NULL;
}

/* The child: its own session, so that a terminal's ^C does not reach it. */
static void run_server(const char *program, const char *directory)
{
	char *config, *output = path_in(directory, "output.log");
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int log = output != NULL ? open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
	                         : -1;

	if (null < 0 || log < 0 || asprintf(&config, "--config-file=%s/config.xml", directory) < 0)
		_exit(127);
	setsid();
	dup2(null, 0);
	dup2(log, 1);
	dup2(log, 2);
	execl(program, "clickhouse-server", config, (char *)NULL);
	_exit(127);
}

/* Sets the message to the last line of the server's log, if there is one. */
static int explain_end(const char *directory, struct gg_error *error)
{
	char *path = path_in(directory, "error.log"), line[300] = "", last[300] = "";
	FILE *file = path != NULL ? fopen(path, "re") : NULL;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (line[0] > ' ')
			snprintf(last, sizeof(last), "%.*s", (int)strcspn(line, "\n"), line);
	if (file != NULL)
		fclose(file);
	free(path);
	return gg_error_set(error, -EIO, directory, "Its files error.log and output.log say more.",
	                    "clickhouse-server ended at once%s%s", last[0] != '\0' ? ": " : "",
	                    last);
}

static bool has_answered(const struct gg_store_server *server)
{
	struct gg_clickhouse store = { 0 };
	struct gg_buf query = { 0 };
	char url[80];
	int status;

	snprintf(url, sizeof(url), "http://default:%s@127.0.0.1:%u", server->password,
	         server->port);
	status = gg_clickhouse_init(&store, url, NULL);
	gg_buf_append_text(&query, "SELECT 1");
	if (status == 0)
		status = gg_clickhouse_query(&store, &query, NULL, NULL);
	gg_buf_done(&query);
	gg_clickhouse_done(&store);
	return status == 0;
}

static int wait_for_answer(const char *directory, const struct gg_store_plan *plan,
                           struct gg_store_server *server, struct gg_error *error)
{
	uint64_t until_ns = gg_clock_monotonic_ns() +
	                    (uint64_t)(plan->wait_seconds * (double)GG_NS_PER_S);
	int ending;

	for (;;) {
		if (has_answered(server))
			return 0;
		if (waitpid(server->pid, &ending, WNOHANG) == server->pid)
			return explain_end(directory, error);
		if (gg_clock_monotonic_ns() > until_ns)
			return gg_error_set(error, -ETIMEDOUT, directory,
			                    "It goes on starting; ask again later.",
			                    "clickhouse-server has not answered within %g s",
			                    plan->wait_seconds);
		sleep_ms(LOOK_MS);
	}
}

/* Finds a port of loopback on which no program listens at the moment; 0: it found none. */
static uint16_t find_port(uint16_t wanted)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		                       .sin_port = htons(wanted) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	uint16_t port = 0;

	if (fd < 0)
		return 0;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&address, size) == 0 &&
	    getsockname(fd, (struct sockaddr *)&address, &size) == 0)
		port = ntohs(address.sin_port);
	close(fd);
	return port;
}

static int make_password(char password[GG_STORE_PASSWORD_MAX])
{
	unsigned char bytes[PASSWORD_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (int i = 0; i < PASSWORD_BYTES; i++)
		snprintf(password + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* Chooses port and password: those of the last start if there was one. */
static int choose(const char *directory, const struct gg_store_plan *plan,
                  struct gg_store_server *server, struct gg_error *error)
{
	uint16_t port = plan->port;

	if (server->password[0] == '\0' && make_password(server->password) < 0)
		return gg_error_set(error, -EIO, directory, NULL, "no random numbers");
	if (port == 0 && server->port != 0)
		port = find_port(server->port);
	else if (port != 0)
		port = find_port(port);
	if (port == 0 && plan->port != 0)
		return gg_error_set(error, -EADDRINUSE, "fleet up: --port",
		                    "Leave the option out for a free one.",
		                    "port %u is taken on 127.0.0.1", plan->port);
	if (port == 0)
		port = find_port(0);
	server->port = port;
	return port != 0 ? 0 : gg_error_set(error, -EADDRINUSE, directory, NULL, "no free port");
}

static int launch(const char *directory, const struct gg_store_plan *plan,
                  struct gg_store_server *server, struct gg_error *error)
{
	char room[64];
	const char *program = find_program(room);
	int status = 0;

	if (program == NULL)
		return gg_error_set(error, -ENOENT, "fleet up", no_server,
		                    "this machine has no clickhouse-server");
	status = choose(directory, plan, server, error);
	if (status == 0)
		status = save_config(directory, server, error);
	if (status == 0)
		status = save_users(directory, plan, server, error);
	if (status < 0)
		return status;
	server->pid = fork();
	if (server->pid < 0)
		return gg_error_set_errno(error, errno, "fleet up", NULL);
	if (server->pid == 0)
		run_server(program, directory);
	server->start_ticks = start_ticks_of(server->pid);
	status = save_server(directory, server, error);
	return status < 0 ? status : wait_for_answer(directory, plan, server, error);
}

/* Opens and locks DIR/lock; -1 sets the error. */
static int lock_directory(const char *directory, bool make, struct gg_error *error)
{
	int directory_fd, fd;

	if (make && mkdir(directory, 0700) < 0 && errno != EEXIST) {
		gg_error_set_errno(error, errno, directory, NULL);
		return -1;
	}
	directory_fd = open_directory(directory, error);
	if (directory_fd < 0)
		return -1;
	fd = openat(directory_fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		gg_error_set_errno(error, errno, directory, NULL);
	close(directory_fd);
	if (fd >= 0 && check_owner(fd, directory, "its file lock", error) < 0) {
		close(fd);
		return -1;
	}
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
		close(fd);
		fd = -1;
		gg_error_set(error, -EBUSY, directory, "Wait for it, and try again.",
		             "another command is starting or stopping this store");
	}
	return fd;
}

/* The server wants the whole path: it changes its directory. */
static int begin(const char *directory, bool make, char **ret_path, int *ret_lock,
                 struct gg_error *error)
{
	*ret_lock = lock_directory(directory, make, error);
	if (*ret_lock < 0)
		return error->status;
	*ret_path = realpath(directory, NULL);
	if (*ret_path != NULL)
		return 0;
	close(*ret_lock);
	return gg_error_set_errno(error, errno, directory, NULL);
}

int gg_store_server_start(const char *directory, const struct gg_store_plan *plan,
                          struct gg_store_server *ret_server, struct gg_error *error)
{
	struct gg_store_server server = { 0 };
	struct gg_error why = { 0 };
	char *path;
	int lock, status = begin(directory, true, &path, &lock, error);
	mode_t mask;

	if (status < 0)
		return status;
	status = gg_store_server_read(path, &server, &why);
	if (status < 0 && status != -ENOENT) {
		*error = why;
	} else if (status == 0 && server.is_running) {
		server.was_running = true;
	} else {
		mask = umask(077);
		status = launch(path, plan, &server, error);
		umask(mask);
		server.is_running = status == 0;
	}
	if (status == 0)
		*ret_server = server;
	free(path);
	close(lock);
	return status;
}

static int end_process(const char *directory, const struct gg_store_server *server,
                       struct gg_error *error)
{
	uint64_t until_ns = gg_clock_monotonic_ns() + STOP_SECONDS * GG_NS_PER_S;

	if (kill(server->pid, SIGTERM) < 0 && errno != ESRCH)
		return gg_error_set_errno(error, errno, directory, NULL);
	while (is_running(server)) {
		if (gg_clock_monotonic_ns() > until_ns)
			return gg_error_set(error, -ETIMEDOUT, directory,
			                    "It may be writing; ask again later.",
			                    "process %ld has not ended within %d s",
			                    (long)server->pid, STOP_SECONDS);
		sleep_ms(LOOK_MS);
	}
	return 0;
}

int gg_store_server_stop(const char *directory, bool *ret_was_running, struct gg_error *error)
{
	struct gg_store_server server;
	char *path;
	int lock, status = begin(directory, false, &path, &lock, error);

	if (status < 0)
		return status;
	status = gg_store_server_read(path, &server, error);
	if (status == 0)
		*ret_was_running = server.is_running;
	if (status == 0 && server.is_running)
		status = end_process(path, &server, error);
	if (status == 0) {
		/* Port and password stay, so that addresses that people noted stay valid. */
		server.pid = 0;
		server.start_ticks = 0;
		status = save_server(path, &server, error);
	}
	free(path);
	close(lock);
	return status;
}

int gg_store_open(struct gg_clickhouse *store, const char *place, struct gg_error *error)
{
	struct gg_store_server server;
	char url[80];
	int status;

	if (strncmp(place, "chdb:", strlen("chdb:")) == 0)
		return gg_clickhouse_init_inside(store, place + strlen("chdb:"), error);
	if (strstr(place, "://") != NULL)
		return gg_clickhouse_init(store, place, error);
	status = gg_store_server_read(place, &server, error);
	if (status < 0)
		return status;
	if (!server.is_running)
		return gg_error_set(error, -ENOTCONN, place, "geiger fleet up DIR starts it.",
		                    "the store is not running");
	snprintf(url, sizeof(url), "http://default:%s@127.0.0.1:%u", server.password, server.port);
	return gg_clickhouse_init(store, url, error);
}

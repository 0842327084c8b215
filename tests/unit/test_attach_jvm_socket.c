/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_attach_jvm_socket - asks children that play a VM to load an agent.
 */
#include "attach/jvm_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

enum behavior { GOOD, REFUSES, BABBLES, CANNOT_BEGIN, ASKED };

static struct sockaddr_un address_of(pid_t pid)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/.java_pid%d", (int)pid);
	return address;
}

static int new_socket(int flags)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | flags, 0);

	if (fd < 0)
		_exit(1);
	return fd;
}

static int listen_there(void)
{
	struct sockaddr_un address = address_of(getpid());
	int fd = new_socket(0);

	unlink(address.sun_path);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 0) < 0)
		_exit(1);
	return fd;
}

static void answer(int listener, enum behavior behavior)
{
	static const char request[] = "1\0load\0agent.so\0true\0interval=64k";
	int fd = accept(listener, NULL, NULL);
	char bytes[sizeof(request)];
	const char *reply = "0\nreturn code: 0\n";

	if (recv(fd, bytes, sizeof(bytes), MSG_WAITALL) != (ssize_t)sizeof(bytes) ||
	    memcmp(bytes, request, sizeof(bytes)) != 0)
		reply = "1\nnot what the test sent\n";
	else if (behavior == REFUSES)
		reply = "0\nit has no wish to\n";
	else if (behavior == CANNOT_BEGIN)
		reply = "0\nreturn code: -1\n";
	else if (behavior == BABBLES)
		reply = "no number";
	/* In two parts, as a reply may come. */
	(void)!send(fd, reply, 1, MSG_NOSIGNAL);
	usleep(20000);
	(void)!send(fd, reply + 1, strlen(reply) - 1, MSG_NOSIGNAL);
	close(fd);
}

static void play(enum behavior behavior, int ready_fd)
{
	sigset_t quit;
	int listener, signal_number;

	sigemptyset(&quit);
	sigaddset(&quit, SIGQUIT);
	sigprocmask(SIG_BLOCK, &quit, NULL);
	listener = listen_there();
	if (behavior == ASKED)
		close(listener); /* the file stays, and refuses: an earlier process left it */
	(void)!write(ready_fd, "", 1);
	if (behavior == ASKED) {
		sigwait(&quit, &signal_number);
		listener = listen_there();
	}
	answer(listener, behavior);
	pause();
}

struct result {
	int status;
	bool has_trigger;
	struct gg_error error;
};

static struct result load(enum behavior behavior)
{
	struct result result = { 0 };
	struct gg_process_facts facts = { .user = geteuid() };
	char trigger[64], byte;
	int ends[2];

	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	fflush(stdout);
	facts.pid = facts.inner_pid = fork();
	REQUIRE(facts.pid >= 0);
	if (facts.pid == 0) {
		close(ends[0]);
		play(behavior, ends[1]);
		_exit(1);
	}
	close(ends[1]);
	CHECK(read(ends[0], &byte, 1) == 1);
	close(ends[0]);
	result.status = gg_jvm_socket_load(&facts, "agent.so", "interval=64k", &result.error);
	kill(facts.pid, SIGKILL);
	waitpid(facts.pid, NULL, 0);
	unlink(address_of(facts.pid).sun_path);
	snprintf(trigger, sizeof(trigger), ".attach_pid%d", (int)facts.pid);
	result.has_trigger = access(trigger, F_OK) == 0;
	return result;
}

TEST(a_vm_loads_the_agent_or_says_why_not)
{
	struct result good = load(GOOD), refuses = load(REFUSES), babbles = load(BABBLES);
	struct result cannot = load(CANNOT_BEGIN);

	CHECK_MSG(good.status == 0, "%s", good.error.message);
	CHECK_EQ_I64(refuses.status, -EIO);
	CHECK_CONTAINS(refuses.error.message, "it has no wish to");
	CHECK_EQ_I64(babbles.status, -EIO);
	CHECK_CONTAINS(babbles.error.message, "no number");
	CHECK_EQ_I64(cannot.status, -EIO);
	CHECK_CONTAINS(cannot.error.message, "could not begin (return code: -1)");
}

TEST(a_vm_that_has_no_socket_yet_is_asked_for_it)
{
	struct result asked = load(ASKED);

	CHECK_MSG(asked.status == 0, "%s", asked.error.message);
	CHECK(!asked.has_trigger);
}

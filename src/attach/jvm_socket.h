/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jvm_socket - asks a Java VM, by its own attach socket, to load an agent.
 *
 *   if (gg_jvm_socket_check(&facts, error) == 0)
 *           gg_jvm_socket_load(&facts, "/usr/lib/.../libgeiger-jvm.so", "interval=64k", error);
 *
 * It needs no right to trace: the VM serves its own user and root.  It is HotSpot's protocol, which
 * jcmd speaks as well.  The VM opens the socket when somebody asks for it: a file .attach_pidPID in
 * its working directory or in /tmp, and SIGQUIT.
 *
 * SIGQUIT   would end a program that does not handle it, and a VM that does not attach answers it
 *           by printing all stacks.  So the check first reads the VM's own counters (hsperfdata),
 *           or its command line and environment if that file is missing.  A process that fails
 *           the check gets no signal.
 * Waits     10 s for the socket and 60 s for the whole reply.  Another process may have made the
 *           socket's file first, so geiger asks the kernel who listens.
 * Files     The file .attach_pidPID is removed again, after Ctrl-C as well: signals that end geiger
 *           wait until the VM has its socket.  If the VM opens none in time, the file stays, and
 *           the error names it: a VM that finds it gone when it comes to SIGQUIT prints all stacks.
 *           The socket is the VM's and stays.
 */
#pragma once

#include "attach/process_facts.h"
#include "base/error.h"

/*
 * Checks that the process is a VM with an attach socket.  Returns 0, or -Exxx with the reason:
 * -ENOTSUP: it is no HotSpot VM, or attaching to it is disabled; -EPERM: it has another user.
 */
GG_MUST_CHECK int gg_jvm_socket_check(const struct gg_process_facts *facts, struct gg_error *error);

/*
 * Lets the VM load that library, as it names it, with these options (up to 1000 bytes).  Returns 0,
 * or -Exxx with the VM's reason.  Call it after the check.
 */
GG_MUST_CHECK int gg_jvm_socket_load(const struct gg_process_facts *facts, const char *library,
                                     const char *options, struct gg_error *error);

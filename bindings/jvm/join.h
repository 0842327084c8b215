/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join - joins the Java VM of this process from inside, once it has started.
 *
 * A thread waits until the VM exists and is complete, attaches itself to it, begins to sample, and
 * ends.  So neither an option nor a variable is needed, and the VM prints nothing.  Objects of the
 * VM's first tenth of a second are not in the profile.
 *
 * Waits     JNI_GetCreatedJavaVMs() returns a VM only when it is complete (JDK-8308341).  Earlier
 *           releases return it while it starts, and attaching to it then would crash.  So the
 *           thread also waits for the VM's last own thread, which starts with the program, or for
 *           ten seconds.
 * Signals   are blocked in the thread: the VM's and the program's handlers run elsewhere.
 */
#pragma once

#include <stdbool.h>

/* Starts the thread.  Returns 0, or an error number. */
int gg_jvm_join_start(void);

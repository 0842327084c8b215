/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join - joins the Java VM of this process from inside, once it has started.
 *
 * A thread waits until the VM exists and is complete, attaches itself to it, begins to sample, and
 * ends.  So neither an option nor a variable is needed, and the VM prints nothing.  Objects of the
 * VM's first tenth of a second are not in the profile.
 *
 * Waits     JNI_GetCreatedJavaVMs() returns a VM only when it is complete (JDK-8308341).  Earlier
 *           releases return it while it starts, and attaching to it before it has a heap would
 *           crash.  No call tells its phase to a thread that is not attached: GetEnv() for JVMTI
 *           needs an attached thread once the VM is live, and races with the start before.  So the
 *           thread waits for the VM's last own thread, that of its periodic tasks, which starts
 *           with the program.  A VM without such tasks is joined ten seconds after its Service
 *           Thread began.  That one is a Java object, so there is a heap, and other threads can
 *           become Java threads.
 * Others    The names of threads are HotSpot's, so another VM is left alone, with a line.
 * Signals   are blocked in the thread, so that the program's handlers run in its own threads.  The
 *           VM unblocks those that it needs itself, such as SIGSEGV, when the thread attaches.
 */
#pragma once

#include <stdbool.h>

/* Starts the thread.  Returns 0, or an error number. */
int gg_jvm_join_start(void);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * other_agents - looks for libraries that may have used the VM's sampler before.
 *
 * The VM does not tell who had its sampler, nor with which interval.  But an agent comes in a
 * library that exports Agent_OnLoad() or Agent_OnAttach().  Those of the JDK itself (debugger,
 * java.lang.instrument) take no samples.
 *
 * Limit    A library of the program that asks for the VM's interface in its JNI_OnLoad() alone is
 *          not found.
 * Threads  any.  It takes the loader's lock, and is too slow for a callback.
 */
#pragma once

#include <jni.h>
#include <stdbool.h>

bool gg_jvm_has_other_agents(JavaVM *vm);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jvm_adapter - loads the adapter for Java VMs (bindings/jvm) into programs that may start one.
 *
 * The adapter is a library of its own, because most processes have no VM.  GEIGER_JVM has its path;
 * `geiger record` and `geiger env` set it.
 */
#pragma once

/*
 * Loads and starts it if this is a launcher of a JDK, or if the program is linked with a VM, and
 * logs the reason if that fails.  Call it from the agent's constructor, or at the end of an attach,
 * outside of every hook.
 */
void gg_jvm_adapter_load(void);

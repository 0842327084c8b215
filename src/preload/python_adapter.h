/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_adapter - loads the adapter for Python (bindings/python) where there is a CPython.
 *
 * The adapter is a library of its own, because most processes have no Python.  GEIGER_PYTHON has
 * its path; `geiger record` and `geiger env` set it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Loads and starts it if there is a CPython in this process, and logs the reason if that does not
 * fit.  Call it once, from the agent's constructor, outside of every hook.
 */
void gg_python_adapter_load(void);

/*
 * Loads and starts it at the end of an attach.  Returns an enum gg_attach_python
 * (abi/attach_request.h), and the reason of a refusal.
 */
uint32_t gg_python_adapter_attach(char *ret_reason, size_t reason_bytes);

/*
 * Call it when the agent is detached, in any thread, anywhere.  The adapter's hooks go when threads
 * of Python come by.
 */
void gg_python_adapter_detached(void);

/* The same at the safe point of a detach: the hooks go now. */
void gg_python_adapter_leave(void);

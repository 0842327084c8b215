/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_adapter - loads the adapter for Python (bindings/python) where there is a CPython.
 *
 * The adapter is a library of its own, because most processes have no Python.  GEIGER_PYTHON has
 * its path; `geiger record` and `geiger env` set it.
 */
#pragma once

/*
 * Loads and starts it if there is a CPython in this process, and logs the reason if that does not
 * fit.  Call it once, from the agent's constructor, outside of every hook.
 */
void gg_python_adapter_load(void);

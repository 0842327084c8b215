/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run - another main program in this interpreter, by Python's own code for that.
 *
 * `python3 -m geiger script.py` has to end up as `python3 script.py` does: __main__, sys.argv and
 * sys.path, what a traceback shows, how deep recursion goes, what exits mean.  So nothing of it is
 * written anew: the configuration is what the other command line would have given, the frames of
 * this module leave the stack, and Py_RunMain() runs the program, finalizes the interpreter and
 * gives the exit status.
 */
#pragma once

#include "python.h"

/*
 * how: 'c', 'm', or 'f' for a file; what: the command, module or path, or None: standard input.
 * argv: sys.argv as Python would make it at first ("-c", "-m" or the path, then the arguments).
 * Does not return, except with an exception when something is wrong with the arguments.
 */
PyObject *gg_python_run(PyObject *module, PyObject *arguments);

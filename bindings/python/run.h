/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run - runs another main program in this interpreter, by Python's own code.
 *
 * `python3 -m geiger script.py` must behave like `python3 script.py`: __main__, sys.argv, sys.path,
 * tracebacks, the depth of recursion, and the meaning of exits are the same.  So this module does
 * not reimplement any of that.  It sets the configuration of the other command line, and removes
 * its own frames from the stack.  Then Py_RunMain() runs the program, finalizes the interpreter,
 * and returns the exit status.
 */
#pragma once

#include "python.h"

/*
 * how: 'c', 'm', or 'f' for a file; what: the command, module or path, or None: standard input.
 * argv: the initial sys.argv ("-c", "-m" or the path, then the arguments).  It returns only if the
 * arguments are wrong, with an exception.
 */
PyObject *gg_python_run(PyObject *module, PyObject *arguments);

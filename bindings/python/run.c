/* SPDX-License-Identifier: Apache-2.0 */
/* run - changes the configuration, renews __main__, and calls Py_RunMain(). */
#include "run.h"

#include <stdlib.h>

#include <internal/pycore_initconfig.h>
#include <internal/pycore_interp.h>

/* Sets a text of the configuration; None sets NULL.  False: an exception is set. */
static bool set_text(PyConfig *config, wchar_t **field, PyObject *text)
{
	wchar_t *wide = NULL;
	PyStatus status;

	if (text != Py_None && (wide = PyUnicode_AsWideCharString(text, NULL)) == NULL)
		return false;
	status = PyConfig_SetString(config, field, wide);
	PyMem_Free(wide);
	if (PyStatus_Exception(status)) {
		PyErr_NoMemory();
		return false;
	}
	return true;
}

static bool set_argv(PyConfig *config, PyObject *argv)
{
	Py_ssize_t i, count = PyList_GET_SIZE(argv);
	wchar_t **wide = PyMem_Calloc((size_t)count + 1, sizeof(*wide));
	PyStatus status = PyStatus_NoMemory();

	for (i = 0; wide != NULL && i < count; i++)
		if ((wide[i] = PyUnicode_AsWideCharString(PyList_GET_ITEM(argv, i), NULL)) == NULL)
			break;
	if (wide != NULL && i == count)
		status = PyConfig_SetWideStringList(config, &config->argv, count, wide);
	for (i = 0; wide != NULL && i < count; i++)
		PyMem_Free(wide[i]);
	PyMem_Free(wide);
	if (PyStatus_Exception(status) && !PyErr_Occurred())
		PyErr_NoMemory();
	return !PyErr_Occurred();
}

/* Replaces __main__ by one as at the start of an interpreter. */
static bool renew_main(void)
{
	PyObject *modules = PyImport_GetModuleDict(), *main, *globals, *notes, *importlib, *loader;

	main = PyModule_New("__main__");
	if (main == NULL || PyDict_SetItemString(modules, "__main__", main) < 0)
		return false;
	globals = PyModule_GetDict(main); /* borrowed; so is `main` from here on */
	Py_DECREF(main);
	notes = PyDict_New();
	importlib = PyImport_ImportModule("_frozen_importlib");
	loader = importlib != NULL ? PyObject_GetAttrString(importlib, "BuiltinImporter") : NULL;
	if (notes != NULL && loader != NULL &&
	    PyDict_SetItemString(globals, "__annotations__", notes) == 0 &&
	    PyDict_SetItemString(globals, "__builtins__",
	                         PyDict_GetItemString(modules, "builtins")) == 0)
		PyDict_SetItemString(globals, "__loader__", loader);
	Py_XDECREF(notes);
	Py_XDECREF(importlib);
	Py_XDECREF(loader);
	return !PyErr_Occurred();
}

/*
 * Detaches the frames of this module from the stack.  No walk finds them, and no call returns
 * there.
 */
static void leave_frames(void)
{
	PyThreadState *state = PyThreadState_Get();

	state->cframe = &state->root_cframe;
	state->root_cframe.current_frame = NULL;
	state->recursion_remaining = state->recursion_limit;
}

PyObject *gg_python_run(PyObject *module, PyObject *arguments)
{
	PyConfig *config = (PyConfig *)_Py_GetConfig(); /* as Py_RunMain() does */
	PyObject *what, *argv;
	int how;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "COO!:run", &how, &what, &PyList_Type, &argv))
		return NULL;
	if (!set_text(config, &config->run_command, how == 'c' ? what : Py_None) ||
	    !set_text(config, &config->run_module, how == 'm' ? what : Py_None) ||
	    !set_text(config, &config->run_filename, how == 'f' ? what : Py_None) ||
	    !set_argv(config, argv) || !renew_main())
		return NULL;
	leave_frames();
	exit(Py_RunMain());
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module - geiger._geiger: the functions that the Python half of the package calls.
 */
#include <geiger/geiger.h>
#include <string.h>

#include "hooks.h"
#include "run.h"

static PyObject *raise_status(int status, PyObject *path)
{
	errno = -status;
	return path != NULL ? PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path)
	                    : PyErr_SetFromErrno(PyExc_OSError);
}

static PyObject *install(PyObject *module, PyObject *native)
{
	const char *why = gg_python_install(PyObject_IsTrue(native) > 0);

	(void)module;
	if (why != NULL)
		return PyErr_Format(PyExc_RuntimeError, "geiger: %s", why);
	return Py_NewRef(Py_None);
}

static PyObject *start(PyObject *module, PyObject *interval)
{
	struct geiger_options options = { 0 };
	int status;

	(void)module;
	options.interval_bytes = PyLong_AsUnsignedLongLong(interval);
	if (PyErr_Occurred())
		return NULL;
	status = geiger_start(&options);
	geiger_thread_interval(0); /* applies the settings to this thread at once */
	if (status < 0)
		return raise_status(status, NULL);
	return Py_NewRef(Py_None);
}

static PyObject *stop(PyObject *module, PyObject *nothing)
{
	(void)module, (void)nothing;
	geiger_stop();
	return Py_NewRef(Py_None);
}

static PyObject *destination(PyObject *module, PyObject *nothing)
{
	static const char *const names[] = { "nowhere", "agent", "own" };

	(void)module, (void)nothing;
	return PyUnicode_FromString(names[geiger_recording_to()]);
}

static PyObject *interval(PyObject *module, PyObject *nothing)
{
	(void)module, (void)nothing;
	return PyLong_FromUnsignedLongLong(geiger_interval());
}

static PyObject *set_interval(PyObject *module, PyObject *bytes)
{
	unsigned long long value = PyLong_AsUnsignedLongLong(bytes);
	int status;

	(void)module;
	if (PyErr_Occurred())
		return NULL;
	status = geiger_set_interval(value);
	geiger_thread_interval(0);
	if (status < 0)
		return raise_status(status, NULL);
	return Py_NewRef(Py_None);
}

static PyObject *snapshot(PyObject *module, PyObject *path)
{
	PyObject *bytes;
	int status;

	(void)module;
	if (!PyUnicode_FSConverter(path, &bytes))
		return NULL;
	status = geiger_snapshot(PyBytes_AS_STRING(bytes));
	Py_DECREF(bytes);
	if (status < 0)
		return raise_status(status, path);
	return Py_NewRef(Py_None);
}

static PyObject *counts(PyObject *module, PyObject *nothing)
{
	struct geiger_counts c;

	(void)module, (void)nothing;
	geiger_read_counts(&c);
	return Py_BuildValue("{sKsKsKsKsKsKsK}", "samples", c.samples, "freed", c.freed, "dropped",
	                     c.dropped, "nested", c.nested, "unknown_heaps", c.unknown_heaps,
	                     "bad_samples", c.bad_samples, "names_dropped", c.names_dropped);
}

static PyObject *installed(PyObject *module, PyObject *nothing)
{
	(void)module, (void)nothing;
	return PyBool_FromLong(gg_python_installed());
}

static PyMethodDef methods[] = {
	{ "install", install, METH_O, NULL },
	{ "installed", installed, METH_NOARGS, NULL },
	{ "start", start, METH_O, NULL },
	{ "stop", stop, METH_NOARGS, NULL },
	{ "destination", destination, METH_NOARGS, NULL },
	{ "interval", interval, METH_NOARGS, NULL },
	{ "set_interval", set_interval, METH_O, NULL },
	{ "snapshot", snapshot, METH_O, NULL },
	{ "counts", counts, METH_NOARGS, NULL },
	{ "run", gg_python_run, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

/* The module has no state, so subinterpreters and a second import are safe. */
static struct PyModuleDef_Slot slots[] = { { 0, NULL } };
static struct PyModuleDef definition = {
	.m_base = PyModuleDef_HEAD_INIT,
	.m_name = "geiger._geiger",
	.m_methods = methods,
	.m_slots = slots,
};

PyMODINIT_FUNC PyInit__geiger(void);

PyMODINIT_FUNC PyInit__geiger(void)
{
	return PyModuleDef_Init(&definition);
}

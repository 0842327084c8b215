/* SPDX-License-Identifier: Apache-2.0 */
/* interpreter - looks up Python's functions, and checks that its layout is the known one. */
#include "interpreter.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TYPE_BASIC_BYTES = 32 /* PyTypeObject.tp_basicsize */ };

static struct gg_python python;
static char why_not[160];

/* Copies an address to a pointer to a function, which ISO C cannot cast. */
static bool find(const char *name, void *ret_function)
{
	void *address = dlsym(RTLD_DEFAULT, name);

	memcpy(ret_function, &address, sizeof(address));
	return address != NULL;
}

/* 0: the text is no version, such as "3.12.1 (main, ...". */
static unsigned version_of(const char *text)
{
	char *end;
	unsigned long major = strtoul(text, &end, 10), minor;

	if (end == text || *end != '.' || major > 255)
		return 0;
	minor = strtoul(end + 1, &end, 10);
	return minor > 255 ? 0 : (unsigned)(major << 8 | minor);
}

static ptrdiff_t size_of_objects(const void *type)
{
	return *(const ptrdiff_t *)((const char *)type + TYPE_BASIC_BYTES);
}

/* The types' sizes are constants of the program, so they are there before Python has started. */
static bool is_ordinary(const struct gg_python_layout *layout)
{
	const void *code = dlsym(RTLD_DEFAULT, "PyCode_Type");
	const void *text = dlsym(RTLD_DEFAULT, "PyUnicode_Type");

	return code != NULL && text != NULL && size_of_objects(code) == layout->code_bytes &&
	       size_of_objects(text) == layout->text_bytes;
}

/* The loop's code, by the size of its symbol. */
static void find_loop(void)
{
	void *loop = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	if (loop == NULL || dladdr1(loop, &info, (void **)&symbol, RTLD_DL_SYMENT) == 0 ||
	    symbol == NULL)
		return;
	python.loop_begin = (uintptr_t)loop;
	python.loop_end = (uintptr_t)loop + symbol->st_size;
}

static bool find_functions(void)
{
	bool has_state = find("PyThreadState_GetUnchecked", &python.current_state) ||
	                 find("_PyThreadState_UncheckedGet", &python.current_state);

	find("_PyMem_GetCurrentAllocatorName", &python.allocator_name);
	if (!find("Py_IsFinalizing", &python.is_finalizing))
		find("_Py_IsFinalizing", &python.is_finalizing);
	find("PyObject_GetArenaAllocator", &python.get_arenas);
	find("PyObject_SetArenaAllocator", &python.set_arenas);
	find("Py_AddPendingCall", &python.add_pending_call);
	find_loop();
	python.code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
	python.type_type = dlsym(RTLD_DEFAULT, "PyType_Type");
	return has_state && python.type_type != NULL &&
	       find("PyMem_GetAllocator", &python.get_allocator) &&
	       find("PyMem_SetAllocator", &python.set_allocator) &&
	       find("Py_IsInitialized", &python.is_initialized) &&
	       find("PyGILState_GetThisThreadState", &python.registered_state) &&
	       find("PyCode_Addr2Line", &python.line) &&
	       find("PyThread_get_thread_ident", &python.thread_id);
}

/* NULL: the adapter does not know the release, or its own table does not fit. */
static const struct gg_python_layout *find_layout(unsigned version, const void *runtime)
{
	static struct gg_python_layout own;

	if (gg_python_layout_read(version, runtime, &own))
		return &own;
	return gg_python_layout_of(version);
}

const struct gg_python *gg_python_find(const char **ret_why)
{
	const struct gg_python_layout *layout;
	const void *runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
	const char *(*version_text)(void), *text;

	*ret_why = NULL;
	if (python.layout != NULL)
		return &python;
	if (runtime == NULL || !find("Py_GetVersion", &version_text))
		return NULL;
	text = version_text();
	layout = find_layout(version_of(text), runtime);
	*ret_why = why_not;
	if (strstr(text, "free-threading") != NULL)
		snprintf(why_not, sizeof(why_not), "this build has no interpreter's lock");
	else if (layout == NULL && version_of(text) == 0x030e)
		snprintf(
			why_not, sizeof(why_not),
			"the table of offsets of CPython %.*s is not the one that the adapter knows",
			(int)strcspn(text, " "), text);
	else if (layout == NULL)
		snprintf(why_not, sizeof(why_not),
		         "the adapter knows CPython 3.8 to 3.14, not %.*s", (int)strcspn(text, " "),
		         text);
	else if (!is_ordinary(layout))
		snprintf(why_not, sizeof(why_not),
		         "its objects have other sizes than CPython %.*s has",
		         (int)strcspn(text, " "), text);
	else if (!find_functions())
		snprintf(why_not, sizeof(why_not),
		         "it does not export the functions of its allocators");
	else
		python.layout = layout;
	return python.layout != NULL ? &python : NULL;
}

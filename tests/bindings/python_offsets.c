/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_offsets - prints the layout of the CPython whose headers it is compiled with, as
 * print_layout prints the adapter's (test_python_layouts.sh).
 */
#define Py_BUILD_CORE_MODULE 1
#include <Python.h>
#include <stddef.h>
#include <stdio.h>

#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#define STRUCT_FRAME _PyInterpreterFrame
#else
#include <frameobject.h>
#define STRUCT_FRAME struct _frame
#endif

#define NUMBER(name, value) printf(#name " %zu\n", (size_t)(value))

int main(void)
{
	NUMBER(state_thread_id, offsetof(PyThreadState, thread_id));
#if PY_VERSION_HEX < 0x030b0000
	NUMBER(state_frame, offsetof(PyThreadState, frame));
	NUMBER(frame_previous, offsetof(STRUCT_FRAME, f_back));
	NUMBER(frame_code, offsetof(STRUCT_FRAME, f_code));
	NUMBER(frame_position, offsetof(STRUCT_FRAME, f_lasti));
#if PY_VERSION_HEX >= 0x030a0000
	NUMBER(state_loop, offsetof(PyThreadState, cframe));
	NUMBER(loop_previous, offsetof(CFrame, previous));
	NUMBER(code_lines, offsetof(PyCodeObject, co_linetable));
#else
	NUMBER(code_lines, offsetof(PyCodeObject, co_lnotab));
#endif
	NUMBER(code_name, offsetof(PyCodeObject, co_name));
	NUMBER(code_bytes, sizeof(PyCodeObject));
#else
#if PY_VERSION_HEX >= 0x030d0000
	NUMBER(state_frame, offsetof(PyThreadState, current_frame));
	NUMBER(frame_code, offsetof(STRUCT_FRAME, f_executable));
	NUMBER(frame_position, offsetof(STRUCT_FRAME, instr_ptr));
#else
	NUMBER(state_loop, offsetof(PyThreadState, cframe));
	NUMBER(loop_frame, offsetof(_PyCFrame, current_frame));
	NUMBER(loop_previous, offsetof(_PyCFrame, previous));
	NUMBER(frame_code, offsetof(STRUCT_FRAME, f_code));
	NUMBER(frame_position, offsetof(STRUCT_FRAME, prev_instr));
#endif
#if PY_VERSION_HEX < 0x030c0000
	NUMBER(frame_is_entry, offsetof(STRUCT_FRAME, is_entry));
#endif
	NUMBER(frame_previous, offsetof(STRUCT_FRAME, previous));
	NUMBER(frame_owner, offsetof(STRUCT_FRAME, owner));
	NUMBER(code_lines, offsetof(PyCodeObject, co_linetable));
	NUMBER(code_name, offsetof(PyCodeObject, co_qualname));
	NUMBER(code_first_instruction, offsetof(PyCodeObject, co_code_adaptive));
	NUMBER(code_first_traceable, offsetof(PyCodeObject, _co_firsttraceable));
	NUMBER(code_bytes, offsetof(PyCodeObject, co_code_adaptive));
#endif
	NUMBER(code_file, offsetof(PyCodeObject, co_filename));
	NUMBER(code_first_line, offsetof(PyCodeObject, co_firstlineno));
	NUMBER(ascii_bytes, sizeof(PyASCIIObject));
	NUMBER(compact_bytes, sizeof(PyCompactUnicodeObject));
	NUMBER(text_bytes, sizeof(PyUnicodeObject));
	return 0;
}

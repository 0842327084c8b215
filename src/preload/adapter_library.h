/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adapter_library - opens the library of a runtime's adapter (bindings), and finds its entry.
 *
 *   address = gg_adapter_library_open(path, &(struct gg_adapter_library){
 *           .entry = "gg_python_install", .loss = "no Python functions are shown: ", ... });
 */
#pragma once

struct gg_adapter_library {
	const char *entry;    /* the name of its function */
	const char *variable; /* that has the path, with a '=' */
	const char *kind;     /* what the library should be: " is no adapter for Python" */
	const char *loss;     /* the first words of the log's line, if it cannot be loaded */
};

/* Returns the address of the entry; NULL after a line in the log. */
void *gg_adapter_library_open(const char *path, const struct gg_adapter_library *adapter);

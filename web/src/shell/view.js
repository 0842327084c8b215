// SPDX-License-Identifier: Apache-2.0
//
// view - the interface of a view of the page.
//
// views/index.js lists the views.  The shell mounts the view that the state names into an empty
// element.  It calls update() once, and again after each change of the store.  When the user
// chooses another view, the shell calls destroy() and empties the element.  A view reads the store
// and writes to its element; it uses nothing else of the document.  Texts of profiles (names,
// paths, arguments) are hostile: they go into text nodes (dom.js) or onto a canvas, never into
// markup.

/** @typedef {import('./store.js').Store} Store */

/**
 * @typedef {object} View
 * @property {string} id               its name in the URL
 * @property {string} title            on its tab
 * @property {boolean} [fills]         the view scrolls by itself, and gets the remaining height
 * @property {('metric' | 'unit')[]} [ignores]   choices that do not alter this view, whose buttons
 *                                   are disabled
 * @property {(store: Store) => [string, string]} [status]   what the line at the bottom says in
 *                                   place of the selection, and its figure
 * @property {(store: Store) => boolean} [exists]   false: this profile has no data for the view, so
 *                                   it has no tab
 * @property {(element: HTMLElement, store: Store) => Mounted} mount
 *
 * @typedef {object} Mounted
 * @property {(changed: Set<string>) => void} update   members of State, and "profile", "size",
 *                                   "theme";
 *                                                     all of them in the first call
 * @property {(event: KeyboardEvent) => boolean} [key] true: the view handled the key
 * @property {() => void} destroy
 */

/**
 * True if the choice alters nothing in the view that the state names.
 *
 * @param {View[]} views
 * @param {Store} store
 * @param {'metric' | 'unit'} choice
 */
export function ignoresChoice(views, { state }, choice) {
	const view = views.find(({ id }) => id === state.view) ?? views[0];

	return view.ignores?.includes(choice) ?? false;
}

// SPDX-License-Identifier: Apache-2.0
//
// profiles - the profiles that a server offers (docs/reference/HTTP_API.md, "/profiles"), and the
// addresses of their pages.
//
//   const list = profilesOf(await answer.json());       the newest first, without invalid entries
//   addressOf('a.geiger', 'b.geiger')                   '/page?profile=a.geiger&before=b.geiger'
//
// Names of files are hostile.  Addresses have them encoded; elsewhere they are text.  Pure.

/** @typedef {{ name: string, bytes: number, changedSeconds: number, isLive: boolean }} Entry */

/** @param {any} answer @returns {Entry[]} */
export function profilesOf(answer) {
	const list = Array.isArray(answer?.profiles) ? answer.profiles : [];

	return list
		.filter((/** @type {any} */ one) => typeof one?.name === 'string')
		.map((/** @type {any} */ one) => ({
			name: one.name,
			bytes: Number(one.bytes) || 0,
			changedSeconds: Number(one.changed_seconds) || 0,
			isLive: one.is_live === true,
		}));
}

/** @param {string} name @param {string | null} [before] */
export function addressOf(name, before = null) {
	const query = new URLSearchParams(
		before === null ? { profile: name } : { profile: name, before },
	);

	return `/page?${query}`;
}

/**
 * The profile of a page, and the profile that it is compared with.
 *
 * @param {string} search the query part of the address
 */
export function shownBy(search) {
	const query = new URLSearchParams(search);

	return { profile: query.get('profile'), before: query.get('before') };
}

/** @param {number} seconds since 1970 @param {number} now ms */
export function agoText(seconds, now) {
	const ago = Math.max(0, now / 1000 - seconds);

	if (ago < 90)
		return `${Math.round(ago)} s ago`;
	if (ago < 5400)
		return `${Math.round(ago / 60)} min ago`;
	return ago < 129600 ? `${Math.round(ago / 3600)} h ago` : `${Math.round(ago / 86400)} d ago`;
}

// SPDX-License-Identifier: Apache-2.0
//
// profiles - the profiles of the folder that `geiger serve` shows, to open or to compare with this
// one.
//
// The view asks the server every five seconds while it is visible, because recordings appear and
// grow.

import { numberText } from '../model/figure.js';
import { addressOf, agoText, profilesOf, shownBy } from '../model/profiles.js';
import { matcher } from '../model/matcher.js';
import { BYTES } from '../model/tally.js';
import { element, fill } from '../shell/dom.js';

/**
 * @typedef {import('../shell/store.js').Store} Store
 * @typedef {import('../model/profiles.js').Entry} Entry
 */

const EVERY_MS = 5000;

/** @param {Entry} entry */
function entryRow({ name, bytes, changedSeconds, isLive }) {
	const shown = shownBy(location.search);
	const isThis = name === shown.profile;
	const isBefore = name === shown.before;

	return element(
		'tr',
		{ class: isThis ? 'this' : '' },
		element(
			'td',
			{ class: 'mono' },
			isThis
				? element('b', {}, name)
				: element('a', { href: addressOf(name) + location.hash }, name),
			isLive &&
				element(
					'span',
					{ class: 'is-live', title: 'it changed within the last ten seconds' },
					'live',
				),
		),
		element('td', { class: 'right' }, numberText(bytes, BYTES)),
		element(
			'td',
			{ class: 'right', title: new Date(changedSeconds * 1000).toISOString() },
			agoText(changedSeconds, Date.now()),
		),
		element(
			'td',
			{},
			isThis
				? element('span', { class: 'soft' }, 'this one')
				: isBefore
					? element(
							'a',
							{ href: addressOf(shown.profile ?? name) + location.hash },
							'do not compare',
						)
					: shown.profile !== null &&
						element(
							'a',
							{ href: addressOf(shown.profile, name) },
							'what changed since it',
						),
		),
	);
}

/** @type {import('../shell/view.js').View} */
export const profilesView = {
	id: 'profiles',
	title: 'Profiles',
	exists: () => location.protocol.startsWith('http') && location.pathname.endsWith('/page'),
	mount(host, store) {
		const body = element('tbody');
		const says = element('p', { class: 'view-says' }, 'Asking the server…');
		/** @type {Entry[]} */
		let entries = [];
		let isOver = false;
		let timer = 0;

		fill(
			host,
			says,
			element(
				'table',
				{ class: 'profiles' },
				element(
					'thead',
					{},
					element(
						'tr',
						{},
						element('th', {}, 'Profile'),
						element('th', { class: 'right' }, 'Size'),
						element('th', { class: 'right' }, 'Changed'),
						element('th', {}, 'Compare'),
					),
				),
				body,
			),
		);

		function draw() {
			const isWanted = matcher(store.state.search);

			fill(
				body,
				entries
					.filter(({ name }) => isWanted === null || isWanted(name))
					.map((entry) => entryRow(entry)),
			);
		}

		async function ask() {
			try {
				const answer = await fetch('/profiles', { cache: 'no-store' });

				if (!answer.ok)
					throw new Error(`status ${answer.status}`);
				entries = profilesOf(await answer.json());
				fill(
					says,
					`${entries.length} profile${entries.length === 1 ? '' : 's'} in this folder, the newest first.`,
				);
			} catch (error) {
				fill(
					says,
					`The server does not answer: ${error instanceof Error ? error.message : error}.`,
				);
			}
			if (isOver)
				return;
			draw();
			timer = window.setTimeout(ask, EVERY_MS);
		}

		void ask();
		return {
			update(changed) {
				if (changed.has('search'))
					draw();
			},
			destroy() {
				isOver = true;
				window.clearTimeout(timer);
			},
		};
	},
};

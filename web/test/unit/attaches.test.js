// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { attachFact } from '../../src/model/attaches.js';

const GIB = 1024 ** 3;
const HOUR_NS = 3600e9;
const attach = {
	pid: 7,
	age_ns: 3 * HOUR_NS,
	older_bytes: 2 * GIB,
	older_source: 'glibc',
	held_bytes: { estimate: GIB, low: GIB, high: GIB },
	is_inherited: false,
	detached_ns: null,
};
const unknown = { estimate: null, low: null, high: null };

test('a program that was started with the agent has no older memory', () => {
	assert.equal(attachFact([]), null);
});

test('the head says when the agent was attached, what is older, and what is left of it', () => {
	const { value, more, says } = attachFact([attach]) ?? {};

	assert.equal(value, '2.00 GiB');
	assert.match(more ?? '', /^attached 3 h.* after the start, 1\.00 GiB.* of it still held and resident$/);
	assert.match(says ?? '', /by the count of glibc$/);
});

test('the head says when the agent left', () => {
	const { more } = attachFact([{ ...attach, detached_ns: 47e6 }]) ?? {};

	assert.match(more ?? '', /still held and resident, detached at 47\S*\sms$/);
});

test('what nobody counted is not known, and not 0', () => {
	const { value, more } =
		attachFact([{ ...attach, age_ns: null, older_bytes: null, older_source: null, held_bytes: unknown }]) ?? {};

	assert.equal(value, 'not known');
	assert.equal(more, 'attached while it ran');
});

test('a forked process has at most what its parent had', () => {
	const { value, more } = attachFact([{ ...attach, is_inherited: true, held_bytes: unknown }]) ?? {};

	assert.equal(value, 'at most 2.00 GiB');
	assert.match(more ?? '', /^forked by a process that was attached 3 h.* after its start$/);
});

test('several processes are added up, as far as they are known', () => {
	const { value, more } = attachFact([attach, { ...attach, pid: 8 }, { ...attach, older_bytes: null }]) ?? {};

	assert.equal(value, 'at least 4.00 GiB');
	assert.equal(more, '3 processes were attached, 2 of them counted');
});

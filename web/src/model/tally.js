// SPDX-License-Identifier: Apache-2.0
//
// tally - the sums of groups of samples, from which estimates and confidence intervals follow.
//
//   const rows = new Tallies(functionCount, data.meta.exposure_bytes);
//   rows.add(row, data.classes, class, n);         n samples of a class (PAGE_DATA.md)
//   rows.merge(row, other, otherRow);              estimates add, variances add
//   rows.value(row, BYTES)
//
// The sums are those of struct gg_tally (src/stats/estimate/tally.h), in one Float64Array for all
// rows.  A sum is one double: the page adds up again for each window and never subtracts, so no
// rounding error remains.  Pure; no DOM.

export const BYTES = 0;
export const COUNT = 1;

// Offsets within a row.  USUAL and SURE: seen, value, variance, skew of bytes, then of allocations.
export const SAMPLES = 0;
export const USUAL = 1;
export const SURE = 9;
export const SLACK = 17;
export const UNKNOWN = 19;
export const RESERVE = 21;
export const SAMPLED = 23;
export const PER_BYTE = 24;
export const UNBOUNDED = 25;
export const COUNTED = 26;
export const LACKING = 27;
export const STRIDE = 28;

export const SEEN = 0;
export const VALUE = 1;
export const VARIANCE = 2;
export const SKEW = 3;

/**
 * @typedef {Record<string, ArrayLike<number>>} Columns
 */

export class Tallies {
	/**
	 * @param {number} length
	 * @param {number} exposure the sampling interval that all rows were exposed to, bytes
	 * @param {import('./pinned.js').Bound | null} [bound] of pinned memory
	 */
	constructor(length, exposure, bound = null) {
		this.length = length;
		this.bound = bound;
		this.data = new Float64Array(length * STRIDE);
		if (exposure > 1)
			for (let row = 0; row < length; row++)
				this.data[row * STRIDE + RESERVE] = exposure;
		// An interval of 1 samples everything, so rows without samples have nothing.
		if (exposure === 1)
			for (let row = 0; row < length; row++)
				this.data[row * STRIDE + COUNTED] = 1;
	}

	/**
	 * Makes the rows lower bounds: objects may be missing, and no sample tells of them.
	 * @param {boolean} isLacking  false changes nothing
	 * @returns {Tallies} this
	 */
	lacking(isLacking) {
		if (isLacking)
			for (let row = 0; row < this.length; row++)
				this.data[row * STRIDE + LACKING] = 1;
		return this;
	}

	/**
	 * @param {number} row
	 * @param {Columns} classes
	 * @param {number} of number of the class
	 * @param {number} n
	 */
	add(row, classes, of, n) {
		const d = this.data;
		const base = row * STRIDE;
		const at = base + (classes.sure[of] ? SURE : USUAL);
		const unknown = classes.unknown ? classes.unknown[of] : 0;

		d[base + SAMPLES] += n;
		d[at] += n * classes.size[of];
		d[at + 1] += n * classes.bytes[of];
		d[at + 2] += n * classes.bytes_variance[of];
		d[at + 3] += n * classes.bytes_skew[of];
		d[at + 4] += n;
		d[at + 5] += n * classes.count[of];
		d[at + 6] += n * classes.count_variance[of];
		d[at + 7] += n * classes.count_skew[of];
		if (classes.bytes_slack)
			d[base + SLACK] += n * classes.bytes_slack[of];
		if (classes.count_slack)
			d[base + SLACK + 1] += n * classes.count_slack[of];
		if (unknown) {
			d[base + UNKNOWN] += unknown & 1;
			d[base + UNKNOWN + 1] += unknown >> 1 & 1;
			raise(d, base + UNBOUNDED, unknown >> 2 & 1);
		}
		raise(d, base + RESERVE, classes.reserve_bytes[of]);
		raise(d, base + RESERVE + 1, classes.reserve_count[of]);
		raise(d, base + SAMPLED, classes.reserve_bytes[of]);
		raise(d, base + PER_BYTE, classes.per_byte[of]);
		if (classes.lacking)
			raise(d, base + LACKING, classes.lacking[of]);
	}

	/**
	 * @param {number} row
	 * @param {Tallies} other
	 * @param {number} otherRow
	 */
	merge(row, other, otherRow) {
		const d = this.data;
		const o = other.data;
		const base = row * STRIDE;
		const from = otherRow * STRIDE;

		for (let i = 0; i < RESERVE; i++)
			d[base + i] += o[from + i];
		for (let i = RESERVE; i < STRIDE; i++)
			raise(d, base + i, o[from + i]);
	}

	/** @param {number} row */
	samples(row) {
		return this.data[row * STRIDE + SAMPLES];
	}

	/**
	 * @param {number} row
	 * @param {number} quantity
	 */
	value(row, quantity) {
		const at = row * STRIDE + 4 * quantity + VALUE;

		return this.data[at + USUAL] + this.data[at + SURE];
	}

	/**
	 * @param {number} row
	 * @param {number} quantity
	 */
	variance(row, quantity) {
		const at = row * STRIDE + 4 * quantity + VARIANCE;

		return Math.max(this.data[at + USUAL] + this.data[at + SURE], 0);
	}

	/**
	 * The bytes, or the number, of the samples themselves, which certainly existed.
	 * @param {number} row
	 * @param {number} quantity
	 */
	seen(row, quantity) {
		const at = row * STRIDE + 4 * quantity + SEEN;

		return this.data[at + USUAL] + this.data[at + SURE];
	}

	/**
	 * True if the error of the estimate is known.
	 * @param {number} row
	 * @param {number} quantity
	 */
	hasError(row, quantity) {
		return this.data[row * STRIDE + UNKNOWN + quantity] < 0.5;
	}
}

/**
 * @param {Float64Array} data
 * @param {number} at
 * @param {number} value
 */
function raise(data, at, value) {
	if (value > data[at])
		data[at] = value;
}

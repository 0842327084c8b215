// SPDX-License-Identifier: Apache-2.0
//
// interval - the confidence interval of an estimate, by the same rule as every other report.
//
//   const ends = intervalOf(tallies, row, BYTES, 0.95, true);
//   ends.low, ends.high                     Infinity: no bound
//
// This is a port of src/stats/estimate/interval_bounds.c and interval.c.  docs/ESTIMATION.md
// ("Confidence intervals") has the rule and its measured coverage; test/unit/interval.test.js has
// values that the C code computes.  discovered: the page shows the row because it has a sample.
// Pure; no DOM.

import { takeMaxima, withinBounds } from './pinned.js';
import { gammaInverse, gammaLaw, gammaLower, gammaTail } from './special.js';
import {
	LACKING,
	Tallies,
	BYTES,
	COUNT,
	COUNTED,
	PER_BYTE,
	RESERVE,
	SAMPLED,
	SAMPLES,
	SEEN,
	SKEW,
	SLACK,
	STRIDE,
	SURE,
	UNBOUNDED,
	USUAL,
	VALUE,
	VARIANCE,
} from './tally.js';

/**
 * @typedef {{ shape: number, logNorm: number }} GammaLaw
 * @typedef {{ offset: number, scale: number, gamma: GammaLaw | null }} Law
 * @typedef {{ usual: Law, sureSeen: number, usualSeen: number }} LowEnd
 * @typedef {{ law: Law, mean: number, variance: number, skew: number, slack: number, seen: number,
 *   missedCount: number, missedValue: number }} HighEnd
 * @typedef {'unknown' | 'no sample' | 'exact' | 'compound' | 'truncated'} Method
 */

const MOST_MISSED = 30;

/**
 * R ln(2/a): the most bytes that a group without samples may hold.
 * @param {number} interval
 * @param {number} confidence
 */
export function unseenBytes(interval, confidence) {
	return interval * -Math.log((1 - confidence) / 2);
}

/**
 * The gamma law with this mean and variance; a constant if the variance is 0.
 * @param {number} mean
 * @param {number} variance
 * @returns {Law}
 */
export function lawOf(mean, variance) {
	if (!(mean > 0) || !(variance > 0))
		return { offset: mean, scale: 0, gamma: null };
	return { offset: 0, scale: variance / mean, gamma: gammaLaw(mean / variance * mean) };
}

/**
 * Pearson's type III law: a gamma law with an offset, so that its skew is free.
 * @param {number} mean
 * @param {number} variance
 * @param {number} skew
 * @returns {Law}
 */
export function lawShifted(mean, variance, skew) {
	if (!(variance > 0) || !(skew > 0))
		return { offset: mean, scale: 0, gamma: null };
	const scale = 0.5 * skew / variance;
	const shape = variance / scale / scale;

	return { offset: mean - scale * shape, scale, gamma: gammaLaw(shape) };
}

/**
 * @param {Law} law
 * @param {number} tail
 * @param {boolean} upper
 */
export function lawAt(law, tail, upper) {
	if (law.gamma === null)
		return law.offset;
	return law.offset + law.scale * gammaInverse(law.gamma, tail, upper);
}

/**
 * The tail of the law at x, and the slope of the tail's logarithm.
 * @param {Law} law
 * @param {number} x
 * @param {boolean} upper
 */
export function lawTail(law, x, upper) {
	if (law.scale === 0)
		return { tail: (upper ? x <= law.offset : x >= law.offset) ? 1 : 0, slope: 0 };
	const at = (x - law.offset) / law.scale;
	const gamma = law.gamma;

	if (!(at > 0) || gamma === null)
		return { tail: upper ? 1 : 0, slope: 0 };
	const { tail, probability } = gammaTail(gamma, at, upper);
	const slope = tail > 0
		? (upper ? -1 : 1) * gamma.shape * probability / (tail * (x - law.offset))
		: 0;

	return { tail, slope };
}

/**
 * The lower end: samples with p near 1 count as they are; the law of the other samples is added,
 * but never less than their own sizes.
 * @param {Tallies} tallies
 * @param {number} row
 * @param {number} quantity
 * @returns {LowEnd}
 */
export function lowEndOf(tallies, row, quantity) {
	const d = tallies.data;
	const usual = row * STRIDE + USUAL + 4 * quantity;

	return {
		usual: lawOf(d[usual + VALUE], d[usual + VARIANCE]),
		sureSeen: d[row * STRIDE + SURE + 4 * quantity + SEEN],
		usualSeen: d[usual + SEEN],
	};
}

/**
 * @param {LowEnd} end
 * @param {number} tail
 */
export function lowEndAt(end, tail) {
	const usual = lawAt(end.usual, tail, false);

	// The value is not a number if the law's shape is infinite.  Then the sampled sizes count,
	// as with fmax().
	return end.sureSeen + (usual > end.usualSeen ? usual : end.usualSeen);
}

/**
 * @param {LowEnd} end
 * @param {number} x
 */
export function lowEndTail(end, x) {
	if (x - end.sureSeen < end.usualSeen)
		return { tail: 0, slope: 0 };
	return lawTail(end.usual, x - end.sureSeen, false);
}

/**
 * @param {Float64Array} d
 * @param {number} base
 * @param {number} quantity
 */
function reserveOf(d, base, quantity) {
	const exposed = d[base + RESERVE + BYTES];
	const reserve = d[base + RESERVE + quantity];

	if (quantity === COUNT && exposed > d[base + SAMPLED])
		return Math.max(reserve, exposed * d[base + PER_BYTE]);
	return reserve;
}

/**
 * The upper end: the law of all samples and one more sample point; or that of missed whole
 * allocations, if it is higher.
 * @param {Tallies} tallies
 * @param {number} row
 * @param {number} quantity
 * @returns {HighEnd}
 */
export function highEndOf(tallies, row, quantity) {
	const d = tallies.data;
	const base = row * STRIDE;
	const usual = base + USUAL + 4 * quantity;
	const sure = base + SURE + 4 * quantity;
	const sureCount = base + SURE + 4 * COUNT;
	const reserve = reserveOf(d, base, quantity);
	const mean = tallies.value(row, quantity) + reserve;
	const variance = tallies.variance(row, quantity) + reserve * reserve;
	const skew = d[usual + SKEW] + d[sure + SKEW] + 2 * reserve * reserve * reserve;

	return {
		law: lawShifted(mean, variance, skew),
		mean,
		variance,
		skew,
		slack: d[base + SLACK + quantity],
		seen: tallies.seen(row, quantity),
		missedCount: d[sureCount + VALUE] - d[sureCount + SEEN],
		missedValue: d[sure + VALUE] - d[sure + SEEN],
	};
}

/**
 * @param {number} mean
 * @param {number} tail
 */
function missedCount(mean, tail) {
	let count = 0;

	while (count < MOST_MISSED && gammaLower(count + 1, mean) >= tail)
		count++;
	return count;
}

/**
 * The largest value of the laws whose third cumulant may be the true one.
 * @param {HighEnd} end
 * @param {(law: Law) => number} value
 */
function widestLaw(end, value) {
	const golden = 0.6180339887498949;
	let low = end.skew;
	let high = end.skew + end.slack;
	let best = end.law;
	let largest = value(best);
	const limit = lawShifted(end.mean, end.variance, high);
	const atLimit = value(limit);

	if (atLimit > largest) {
		largest = atLimit;
		best = limit;
	}
	for (let i = 0; i < 24; i++) {
		const a = high - golden * (high - low);
		const b = low + golden * (high - low);
		const ofA = lawShifted(end.mean, end.variance, a);
		const ofB = lawShifted(end.mean, end.variance, b);
		const atA = value(ofA);
		const atB = value(ofB);

		if (Math.max(atA, atB) > largest) {
			largest = Math.max(atA, atB);
			best = atA > atB ? ofA : ofB;
		}
		if (atA < atB)
			low = a;
		else
			high = b;
	}
	return best;
}

/**
 * @param {HighEnd} end
 * @param {number} tail
 */
export function highEndAt(end, tail) {
	const law = end.slack > 0 ? widestLaw(end, (of) => lawAt(of, tail, true)) : end.law;
	const high = lawAt(law, tail, true);
	const missed = end.missedCount;

	if (!(missed > tail))
		return high;
	return Math.max(high, end.seen + end.missedValue / missed * missedCount(missed, tail));
}

/**
 * @param {HighEnd} end
 * @param {number} x
 */
function missedTail(end, x) {
	if (!(end.missedCount > 0))
		return 0;
	if (x <= end.seen)
		return Math.min(end.missedCount, 1);
	const count = Math.ceil((x - end.seen) / end.missedValue * end.missedCount);

	return count <= MOST_MISSED ? gammaLower(count, end.missedCount) : 0;
}

/**
 * @param {HighEnd} end
 * @param {number} x
 */
export function highEndTail(end, x) {
	const law = end.slack > 0 ? widestLaw(end, (of) => lawTail(of, x, true).tail) : end.law;
	const of = lawTail(law, x, true);
	const missed = missedTail(end, x);

	return missed <= of.tail ? of : { tail: missed, slope: 0 };
}

/**
 * The tail that leaves a/2 below the lower bound, on condition that the group has a sample.
 * @param {Tallies} tallies
 * @param {number} row
 * @param {number} tail
 */
function truncatedTail(tallies, row, tail) {
	const low = lowEndOf(tallies, row, BYTES);
	const reserve = tallies.data[row * STRIDE + RESERVE + BYTES];
	const seen = low.sureSeen + low.usualSeen;
	const least = tail * -Math.expm1(-seen / reserve);
	let end = lowEndAt(low, tail);
	let reached = tail;
	let step = 1;

	if (lowEndTail(low, seen).tail >= least)
		return least;
	for (let i = 0; i < 100 && Math.abs(step) > 1e-9; i++) {
		const hit = -Math.expm1(-end / reserve);
		const of = lowEndTail(low, end);

		reached = of.tail;
		step = Math.log(reached / (tail * hit)) /
			(end * (of.slope - (1 - hit) / (hit * reserve)));
		end = Math.max(end * Math.exp(-step), seen);
	}
	// Keep the tail at or below a/2 and a number: a law with almost no variance jumps over it.
	return reached < tail ? reached : tail;
}

/**
 * { low, high, method }: method is 'unknown', 'no sample', 'exact', 'compound' or 'truncated'.
 * @param {Tallies} tallies
 * @param {number} row
 * @param {number} quantity
 * @param {number} confidence
 * @param {boolean} discovered
 * @param {boolean} [isOpen]  true: it counts as a group that lacks nothing
 * @returns {{ low: number, high: number, method: Method }}
 */
export function intervalOf(tallies, row, quantity, confidence, discovered, isOpen = false) {
	const d = tallies.data;
	const base = row * STRIDE;
	const tail = (1 - confidence) / 2;
	const reserve = d[base + RESERVE + BYTES];
	const seen = tallies.seen(row, quantity);
	// Samples that were drawn independently of size say nothing about rare larger blocks.
	const isUnbounded = quantity === BYTES && d[base + UNBOUNDED] > 0;

	if (!tallies.hasError(row, quantity))
		return { low: 0, high: Infinity, method: 'unknown' };
	if (d[base + LACKING] > 0 && !isOpen)
		return {
			...intervalOf(tallies, row, quantity, confidence, discovered, true),
			high: Infinity,
		};
	const isWhole = reserve === 0 && (d[base + COUNTED] > 0 || tallies.seen(row, BYTES) > 0.5);

	if (d[base + SAMPLES] === 0 && !isWhole) {
		if (quantity !== BYTES || !(reserve > 0))
			return { low: 0, high: Infinity, method: 'no sample' };
		// Exact bytes without a count.
		return {
			low: seen,
			high: isUnbounded ? Infinity : seen + unseenBytes(reserve, confidence),
			method: 'no sample',
		};
	}
	if (reserve === 0 && !isUnbounded)
		return { low: seen, high: seen, method: 'exact' };
	const high = isUnbounded ? Infinity : highEndAt(highEndOf(tallies, row, quantity), tail);

	if (discovered && d[base + SAMPLES] === 1)
		return { low: seen, high, method: 'truncated' };
	const low = lowEndOf(tallies, row, quantity);
	const lowTail = discovered ? truncatedTail(tallies, row, tail) : tail;

	return { low: lowEndAt(low, lowTail), high, method: discovered ? 'truncated' : 'compound' };
}

/**
 * The confidence interval by the gamma law of value and variance alone.  The upper bound adds one
 * event of size `reserve`.  For sums by class, which come without third cumulants.
 * @param {number} value
 * @param {number} variance
 * @param {number} reserve
 * @param {number} confidence
 */
export function gammaInterval(value, variance, reserve, confidence) {
	const tail = (1 - confidence) / 2;

	return {
		low: lawAt(lawOf(value, variance), tail, false),
		high: lawAt(lawOf(value + reserve, variance + reserve * reserve), tail, true),
	};
}

/**
 * An estimate with its interval and its number of samples.
 * @param {Tallies} tallies
 * @param {number} row
 * @param {number} quantity
 * @param {number} confidence
 * @param {boolean} discovered
 * @param {Tallies | null} [doubted] one row: samples that may or may not belong to the group
 */
export function figureOf(tallies, row, quantity, confidence, discovered, doubted = null) {
	const all = doubted === null || doubted.samples(0) === 0
		? null
		: together(tallies, row, doubted);
	const [own, at] = all === null || tallies.bound === null
		? [tallies, row]
		: [ownOf(tallies, row, all), 0];
	const { low, high, method } = intervalOf(own, at, quantity, confidence, discovered);
	const figure = {
		estimate: tallies.value(row, quantity),
		low,
		high: all === null ? high : intervalOf(all, 0, quantity, confidence, discovered).high,
		samples: tallies.samples(row),
		isUnknown: method === 'unknown',
	};

	return tallies.bound === null
		? figure
		: withinBounds(figure, tallies.bound, own.data[at * STRIDE + RESERVE + BYTES],
			tallies.seen(row, quantity));
}

/**
 * A row of pinned memory without its doubted samples, whose maxima count for both ends.
 *
 * @param {Tallies} tallies
 * @param {number} row
 * @param {Tallies} all of one row
 */
function ownOf(tallies, row, all) {
	const own = new Tallies(1, 0, tallies.bound);

	own.merge(0, tallies, row);
	takeMaxima(own, all);
	return own;
}

/** @param {Tallies} tallies @param {number} row @param {Tallies} doubted of one row */
function together(tallies, row, doubted) {
	const both = new Tallies(1, 0);

	both.merge(0, tallies, row);
	both.merge(0, doubted, 0);
	return both;
}

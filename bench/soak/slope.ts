import { mean, slopeOf, sum } from '../lib/statistics.ts'

/** A line through points of time (hours) and value. */
export interface Slope {
  readonly perHour: number
  /** Two standard errors. A slope below it may as well be 0. */
  readonly noise: number
}

/**
 * Least squares. Readings that follow each other are alike (garbage collection works in waves), so the standard error
 * uses blocks: the mean of each tenth of the run counts as one reading.
 */
export function slopeWithNoise(points: readonly (readonly [number, number])[]): Slope {
  const blocks = blocksOf(points, 10)
  const [middleX, middleY] = [mean(blocks.map(([x]) => x)), mean(blocks.map(([, y]) => y))]
  const spread = sum(blocks.map(([x]) => (x - middleX) ** 2))
  const perHour = slopeOf(blocks)
  const rest = sum(blocks.map(([x, y]) => (y - middleY - perHour * (x - middleX)) ** 2))
  return { perHour, noise: 2 * Math.sqrt(rest / (blocks.length - 2) / spread) }
}

function blocksOf(points: readonly (readonly [number, number])[], count: number): (readonly [number, number])[] {
  const size = Math.max(1, Math.floor(points.length / count))
  const blocks: (readonly [number, number])[] = []
  for (let from = 0; from + size <= points.length; from += size) {
    const block = points.slice(from, from + size)
    blocks.push([mean(block.map(([x]) => x)), mean(block.map(([, y]) => y))])
  }
  return blocks
}

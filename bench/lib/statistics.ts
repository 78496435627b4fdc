/** Returns the quantile of the sorted values for a share; not-a-number when there are none. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  const index = Math.min(sorted.length - 1, Math.floor(sorted.length * share))
  return sorted[index] ?? Number.NaN
}

export function mean(values: readonly number[]): number {
  return sum(values) / values.length
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  if (sorted.length % 2 === 1) return sorted[middle] ?? Number.NaN
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2
}

export function round(value: number, digits = 3): number {
  return Number(value.toFixed(digits))
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** Slope of the line through the points with the smallest squares; 0 for fewer than two points. */
export function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const [x, y] = [mean(points.map((point) => point[0])), mean(points.map((point) => point[1]))]
  const width = sum(points.map((point) => (point[0] - x) ** 2))
  return width === 0 || points.length < 2 ? 0 : sum(points.map((point) => (point[0] - x) * (point[1] - y))) / width
}

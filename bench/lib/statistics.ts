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

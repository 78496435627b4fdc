const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const

/** Returns a duration with its two largest units: 2 d 12 h. */
export function duration(ms: number): string {
  let seconds = Math.floor(Math.abs(ms) / 1000)
  const parts: string[] = []
  for (const [unit, size] of UNITS) {
    const count = Math.floor(seconds / size)
    seconds -= count * size
    if (count > 0) parts.push(`${count} ${unit}`)
    // From a minute on, seconds add nothing.
    if (parts.length === 2 || (parts.length === 1 && unit === 'min')) break
  }
  return parts.join(' ') || '0 s'
}

/** Returns a time relative to now: «3 min ago», «in 2 d 12 h». */
export function relative(atMs: number, nowMs: number): string {
  const distance = atMs - nowMs
  if (Math.abs(distance) < 1000) return 'now'
  return distance > 0 ? `in ${duration(distance)}` : `${duration(distance)} ago`
}

export function absolute(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

import { availableParallelism } from 'node:os'
import { type Reader, SettingError } from '../settings/readers.ts'

export const MAX_WORKERS = 64

/** A number of worker processes, or `auto` for one per core. */
export const workerCount: Reader<number> = (text) => {
  if (text === 'auto') return Math.min(availableParallelism(), MAX_WORKERS)
  const count = /^[1-9][0-9]?$/.test(text) ? Number(text) : Number.NaN
  if (!(count <= MAX_WORKERS)) throw new SettingError(`must be a whole number from 1 to ${MAX_WORKERS}, or auto`)
  return count
}

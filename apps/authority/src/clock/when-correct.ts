import type { Job } from '@chancery/service-kit'

/**
 * Skips a job while the clock offset is too large. The clock may have been wrong from the start, so nothing is removed.
 */
export function whenClockIsCorrect(clockCheck: { isHalted(): boolean }, run: Job['run']): Job['run'] {
  return (signal) => (clockCheck.isHalted() ? Promise.resolve() : run(signal))
}

import type { Job } from '@chancery/service-kit'

/** Skips a job while the database says that this clock is wrong: it may have been wrong from the start, so nothing is removed. */
export function whenClockIsCorrect(clockCheck: { isHalted(): boolean }, run: Job['run']): Job['run'] {
  return (signal) => (clockCheck.isHalted() ? Promise.resolve() : run(signal))
}

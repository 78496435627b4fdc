import { wholeNumber } from '../../arguments/numbers.ts'
import type { Options } from '../../arguments/options.ts'
import { usageError } from '../../errors/failure.ts'

/** Reads `--max-feed-age`: 0, or 60 seconds to 30 days. */
export function readFeedAge(options: Options): number | undefined {
  const age = wholeNumber(options, 'max-feed-age', 0, 2_592_000)
  if (age !== undefined && age > 0 && age < 60) throw usageError('--max-feed-age must be 0, or at least 60 seconds.')
  return age
}

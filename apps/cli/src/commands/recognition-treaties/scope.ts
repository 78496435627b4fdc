import { STANDINGS } from '@chancery/protocol'
import type { Standing } from '@chancery/protocol'
import { misuse } from '../../failure.ts'
import type { Options } from '../../options.ts'

/** --accept-status, checked here: the flag may be repeated, so the parser does not know its words. */
export function readStatuses(options: Options): readonly Standing[] | undefined {
  const given = options.list('accept-status')
  if (given.length === 0) return undefined
  return [...new Set(given)].map((word) => {
    const standing = STANDINGS.find((each) => each === word)
    if (standing === undefined) throw misuse(`--accept-status must be one of ${STANDINGS.join(', ')}.`)
    return standing
  })
}

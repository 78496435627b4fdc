import { FormError, JsonError, type TrustHistoryPage, readJson, readTrustHistoryPage } from '@chancery/protocol'

/** The file is not a trust history, or not one of the trusted network. */
export class TrustHistoryError extends Error {
  override readonly name = 'TrustHistoryError'
}

/** The longest line of a file: 200 records with claims of the largest size. */
export const MAX_HISTORY_LINE: number = 16 * 1024 * 1024
const LIMITS = { maxDepth: 64, maxValues: 2_000_000, maxNames: 200_000 }

/** Reads one line of a trust history or of an archive. Throws TrustHistoryError. */
export function readHistoryLine(line: string): TrustHistoryPage {
  if (line.length > MAX_HISTORY_LINE) throw new TrustHistoryError('This is not a trust history: a line is too long.')
  try {
    return readTrustHistoryPage(readJson(line, LIMITS))
  } catch (error) {
    if (error instanceof FormError || error instanceof JsonError)
      throw new TrustHistoryError(`This is not a trust history: ${error.message}.`, { cause: error })
    throw error
  }
}

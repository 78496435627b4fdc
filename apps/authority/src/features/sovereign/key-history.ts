import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { toUtf8 } from '@chancery/protocol'
import { KeptDocument } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'

/**
 * GET /key-history
 * The keys this authority had before, as the root signed them: whoever holds an old record needs them.
 */
export function keyHistory(_call: Call, office: Office): KeptDocument {
  const { historyText } = office.ownKeys
  if (historyText === undefined) throw new Refusal('key_history_not_found')
  return new KeptDocument(toUtf8(historyText), CACHE_CONTROL.genesis)
}

import { CONTENT_TYPES, Refusal } from '@chancery/contract'
import { Answer } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { findLog } from './store.ts'

/**
 * GET /evidence-log/checkpoint
 * Whoever keeps it can later prove that history was rewritten.
 */
export async function checkpoint(_call: Call, office: Office): Promise<Answer> {
  const state = await findLog(office.store.db)
  // Only in the first seconds of a store: the first checkpoint covers nothing.
  if (state === undefined) throw new Refusal('not_found')
  return new Answer(state.note, CONTENT_TYPES.note)
}

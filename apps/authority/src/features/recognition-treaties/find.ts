import { Refusal, SECURITY_HEADERS } from '@chancery/contract'
import { toUtf8 } from '@chancery/protocol'
import { KeptDocument } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { findTreaty } from './store.ts'
import { rowText } from './view.ts'

/**
 * GET /recognition-treaties/{treaty_id}
 * The signed record and how it stands.
 */
export async function find(call: Call, office: Office): Promise<KeptDocument> {
  const row = await findTreaty(office.store, call.params['treaty_id'] ?? '')
  if (row === undefined) throw new Refusal('treaty_not_found')
  return new KeptDocument(toUtf8(rowText(row, office.clock.now())), SECURITY_HEADERS['Cache-Control'])
}

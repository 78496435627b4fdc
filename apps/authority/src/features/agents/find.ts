import { Refusal } from '@chancery/contract'
import { writeSortable } from '@chancery/protocol'
import { jsonText } from '@chancery/service-kit'
import type { Answer, Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { findDescriptor } from './store.ts'

/**
 * GET /agents/{node_public_key}
 * One descriptor, as received; an expired one is not there.
 */
export async function find(call: Call, office: Office): Promise<Answer> {
  const text = await findDescriptor(
    office.store.db,
    call.params['node_public_key'] ?? '',
    writeSortable(office.clock.now()),
  )
  if (text === undefined) throw new Refusal('agent_not_registered')
  return jsonText(text)
}

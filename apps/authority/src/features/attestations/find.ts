import { Refusal, SECURITY_HEADERS } from '@chancery/contract'
import { toUtf8 } from '@chancery/protocol'
import { KeptDocument } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { findAttestation } from './store.ts'
import { rowText } from './view.ts'

/**
 * GET /attestations/{attestation_id}
 * The signed record and what became of it.
 */
export async function find(call: Call, office: Office): Promise<KeptDocument> {
  const row = await findAttestation(office.store.db, call.params['attestation_id'] ?? '')
  if (row === undefined) throw new Refusal('attestation_not_found')
  return new KeptDocument(toUtf8(rowText(row)), SECURITY_HEADERS['Cache-Control'])
}

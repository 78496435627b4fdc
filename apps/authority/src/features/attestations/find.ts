import { Refusal, SECURITY_HEADERS } from '@chancery/contract'
import { toUtf8 } from '@chancery/protocol'
import { CachedDocument, type Call } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { AttestationsParts } from './parts.ts'
import { findAttestation } from './queries/attestations.ts'
import { rowText } from './view.ts'

/**
 * GET /attestations/{attestation_id}
 * Returns the signed record and its state. With NA_PUBLIC_ATTESTATION_LIST=off only operators may read it, because the
 * public feed names ids and each would reveal a record. The refusal is the same whether the id exists or not.
 */
export async function find(call: Call | OperatorCall, parts: AttestationsParts): Promise<CachedDocument> {
  if (!parts.settings.publicAttestationList && !('operator' in call)) throw new Refusal('admin_auth_failed')
  const row = await findAttestation(parts.database.read, call.params['attestation_id'] ?? '')
  if (row === undefined) throw new Refusal('attestation_not_found')
  return new CachedDocument(toUtf8(rowText(row)), SECURITY_HEADERS['Cache-Control'])
}

import { Refusal } from '@chancery/contract'
import { type JsonObject, writeSortable } from '@chancery/protocol'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { AttestationsParts } from './verify.ts'
import { readDryRun, readReason, refuseUnknownMembers } from '../../requests/read-fields.ts'
import { findAttestation, markAttestationRevoked } from './queries.ts'

/**
 * POST /admin/attestations/{attestation_id}/revoke
 * Revokes an attestation and signs the feed for other sovereigns, in one transaction. The signed record stays.
 */
export async function revoke(call: OperatorCall, parts: AttestationsParts): Promise<JsonObject> {
  refuseUnknownMembers(call.body, ['reason', 'dry_run'])
  const reason = readReason(call.body)
  const attestation_id = call.params['attestation_id'] ?? ''
  if (readDryRun(call.body)) return preview(parts, attestation_id)
  try {
    return await revokeAttestation(call, parts, attestation_id, reason)
  } catch (error) {
    if (!(error instanceof Refusal && error.code === 'attestation_not_found')) reportUnpublished(parts, error)
    throw error
  }
}

function revokeAttestation(
  call: OperatorCall,
  parts: AttestationsParts,
  attestation_id: string,
  reason: string,
): Promise<JsonObject> {
  return parts.database.write(async (tx) => {
    await tx.lock('feed')
    const stored = await findAttestation(tx.query, attestation_id)
    if (stored === undefined) throw new Refusal('attestation_not_found')
    const now = parts.clock.now()
    if (!(await markAttestationRevoked(tx, attestation_id, writeSortable(now), reason)))
      return { attestation_id, status: 'revoked' }
    await parts.revocationFeeds.publishOwnFeed(tx, 'revoke')
    await parts.audit.record(tx, {
      type: 'membership_attestation_revoked',
      details: { attestation_id, reason, ...requestDetails(call) },
    })
    return { attestation_id, status: 'revoked' }
  })
}

/** Nothing was changed, because other sovereigns would not receive this revocation. */
function reportUnpublished(parts: AttestationsParts, error: unknown): void {
  parts.metrics.feedPublishFailures.increase()
  parts.log.error('an attestation was not revoked: its feed could not be published', { alarm: true, error })
}

/** Returns what would stop being accepted. Changes nothing. */
async function preview(parts: AttestationsParts, attestation_id: string): Promise<JsonObject> {
  const stored = await findAttestation(parts.database.read, attestation_id)
  if (stored === undefined) throw new Refusal('attestation_not_found')
  const isActive = stored.status === 'active'
  const accepting = isActive ? await parts.connectome.acceptedBy(stored.issuer_sovereign_id) : []
  return {
    dry_run: true,
    attestation_id,
    status: stored.status,
    would_change: isActive,
    attestations_no_longer_accepted: { count: isActive ? 1 : 0, sample: isActive ? [attestation_id] : [] },
    accepting_sovereigns: { count: accepting.length, sample: accepting.slice(0, 20) },
  }
}

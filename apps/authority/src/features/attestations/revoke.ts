import { Refusal } from '@chancery/contract'
import { writeSortable } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { causedBy, recordAudit } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { readDryRun, readReason, refuseUnknownMembers } from '../../reading.ts'
import { acceptedBy } from '../connectome/index.ts'
import { publishOwnFeed } from '../revocation-feeds/index.ts'
import { findAttestation, markAttestationRevoked } from './store.ts'

/**
 * POST /admin/attestations/{attestation_id}/revoke
 * Withdraws an attestation and signs the feed that tells other sovereigns, in one transaction. The signed record stays.
 */
export async function revoke(call: OperatorCall, office: Office): Promise<JsonObject> {
  refuseUnknownMembers(call.body, ['reason', 'dry_run'])
  const reason = readReason(call.body)
  const attestation_id = call.params['attestation_id'] ?? ''
  if (readDryRun(call.body)) return foresee(office, attestation_id)
  try {
    return await withdraw(call, office, attestation_id, reason)
  } catch (error) {
    if (!(error instanceof Refusal && error.code === 'attestation_not_found')) tellUnpublished(office, error)
    throw error
  }
}

function withdraw(call: OperatorCall, office: Office, attestation_id: string, reason: string): Promise<JsonObject> {
  return office.store.transact(async (tx) => {
    await office.store.lockHead(tx, 'feed')
    const held = await findAttestation(tx, attestation_id)
    if (held === undefined) throw new Refusal('attestation_not_found')
    const now = office.clock.now()
    if (!(await markAttestationRevoked(tx, attestation_id, writeSortable(now), reason)))
      return { attestation_id, status: 'revoked' }
    await publishOwnFeed(tx, office, 'revoke')
    await recordAudit(tx, office, {
      type: 'membership_attestation_revoked',
      details: { attestation_id, reason, ...causedBy(call) },
    })
    return { attestation_id, status: 'revoked' }
  })
}

/** Nothing was changed: a withdrawal that others cannot be told of would hold here only. */
function tellUnpublished(office: Office, error: unknown): void {
  office.metrics.feedPublishFailures.increase()
  office.log.error('an attestation was not revoked: its feed could not be published', { alarm: true, error })
}

/** What would stop being trusted, without touching anything. */
async function foresee(office: Office, attestation_id: string): Promise<JsonObject> {
  const held = await findAttestation(office.store.db, attestation_id)
  if (held === undefined) throw new Refusal('attestation_not_found')
  const isActive = held.status === 'active'
  const accepting = isActive ? await acceptedBy(office, held.issuer_sovereign_id) : []
  return {
    dry_run: true,
    attestation_id,
    status: held.status,
    would_change: isActive,
    attestations_no_longer_accepted: { count: isActive ? 1 : 0, sample: isActive ? [attestation_id] : [] },
    accepting_sovereigns: { count: accepting.length, sample: accepting.slice(0, 20) },
  }
}

import type { StoredAttestation } from '@chancery/protocol'
import type { Tx } from '../../store/database.ts'
import { readFeedStanding } from '../revocation-feeds/index.ts'
import { findAttestation } from './store.ts'

/** An attestation this authority issued, with everything that could have withdrawn it; undefined when there is none. */
export async function findStanding(db: Tx, attestation_id: string): Promise<StoredAttestation | undefined> {
  const row = await findAttestation(db, attestation_id)
  if (row === undefined) return undefined
  const feed = await readFeedStanding(db, row.issuer_sovereign_id, attestation_id)
  return {
    attestation_json: row.attestation_json,
    issuer_sovereign_id: row.issuer_sovereign_id,
    status: row.status,
    isRevoked: row.revoked_at !== null || row.status === 'revoked' || feed.isListed,
    revocationSequence: feed.sequence,
  }
}

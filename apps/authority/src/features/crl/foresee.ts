import { Refusal } from '@chancery/contract'
import { writeSortable } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { Office } from '../../office.ts'
import { listAgentsOf } from '../agents/index.ts'
import { listCertificates, listOtherCertificates } from '../enrollment/index.ts'
import type { RevokeRequest } from './requests.ts'

const SAMPLE = 20

/** What a revocation would take away, counted and sampled; nothing changes and nothing is audited. */
export async function foreseeRevocation(office: Office, request: Omit<RevokeRequest, 'isDryRun'>): Promise<JsonObject> {
  const { db } = office.store
  const now = writeSortable(office.clock.now())
  const found = await listCertificates(db, request.cert_ids)
  const known = new Set(found.map((certificate) => certificate.cert_id))
  const unknown = request.cert_ids.filter((id) => !known.has(id))
  if (unknown.length > 0)
    throw new Refusal('certificate_not_found', request.form === 'cert_ids' ? { cert_ids: unknown } : {})
  const keys = [...new Set(found.map((certificate) => certificate.node_public_key))]
  const others = request.reason === 'key_compromise' ? await listOtherCertificates(db, keys, now) : []
  const affected = new Set(
    [...found, ...others]
      .filter((certificate) => certificate.status !== 'revoked')
      .map((certificate) => certificate.cert_id),
  )
  const agents = affected.size > 0 ? await listAgentsOf(db, keys, now) : []
  return {
    dry_run: true,
    would_change: affected.size > 0,
    certificates_revoked: { count: affected.size, sample: [...affected].sort().slice(0, SAMPLE) },
    agents_dropped: { count: agents.length, sample: [...agents].sort().slice(0, SAMPLE) },
  }
}

import { Refusal } from '@chancery/contract'
import { writeSortable } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { Office } from '../../office.ts'
import { listAgentsOf } from '../agents/index.ts'
import { listCertificates, listOtherCertificates } from '../enrollment/index.ts'
import type { RevocableCertificate } from '../enrollment/index.ts'
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
  const isCompromise = request.reason === 'key_compromise'
  const keysOf = (some: readonly RevocableCertificate[]): string[] => [
    ...new Set(some.map((each) => each.node_public_key)),
  ]
  const others = isCompromise ? await listOtherCertificates(db, keysOf(found), now) : []
  const fresh = [...found, ...others].filter((certificate) => certificate.status !== 'revoked')
  const affected = new Set(fresh.map((certificate) => certificate.cert_id))
  // Revoked before, but not as a lost key: the list would say so from now on, and the key could not join again.
  const raised = isCompromise
    ? found.filter((each) => each.status === 'revoked' && each.revocation_reason !== 'key_compromise')
    : []
  const agents = await listAgentsOf(db, keysOf(fresh), now)
  return {
    dry_run: true,
    would_change: affected.size + raised.length > 0,
    certificates_revoked: { count: affected.size, sample: [...affected].sort().slice(0, SAMPLE) },
    reasons_raised: { count: raised.length, sample: raised.map((each) => each.cert_id).slice(0, SAMPLE) },
    agents_dropped: { count: agents.length, sample: [...agents].sort().slice(0, SAMPLE) },
  }
}

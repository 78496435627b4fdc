import { type JsonObject, writeSortable } from '@chancery/protocol'
import type { CrlParts } from './parts.ts'
import { listAgentsOf } from '../agents/index.ts'
import { type RevocableCertificate, listCertificates, listOtherCertificates } from '../enrollment/index.ts'
import { type LostCertificate, asRevocable, findProblem } from './unknown-certificates.ts'
import type { RevokeRequest } from './requests.ts'

const SAMPLE = 20

/** Counted, and the first of them by id. */
export function countCertificates(ids: readonly string[]): JsonObject {
  return { count: ids.length, sample: ids.toSorted().slice(0, SAMPLE) }
}

type PreviewedRevocation = Pick<RevokeRequest, 'cert_ids' | 'form' | 'reason' | 'onlyThis'> & {
  readonly missing: readonly LostCertificate[]
}

/** Returns what a revocation would revoke, counted and sampled. Changes and audits nothing. */
export async function previewRevocation(parts: CrlParts, request: PreviewedRevocation): Promise<JsonObject> {
  const db = parts.database.read
  const now = writeSortable(parts.clock.now())
  const known = await listCertificates(db, request.cert_ids)
  const problem = findProblem(request, known)
  if (problem !== undefined) throw problem
  const ids = new Set(known.map((certificate) => certificate.cert_id))
  const found = [...known, ...request.missing.filter(({ cert_id }) => !ids.has(cert_id)).map(asRevocable)]
  const isCompromise = request.reason === 'key_compromise'
  const keysOf = (some: readonly RevocableCertificate[]): string[] => [
    ...new Set(some.map((each) => each.node_public_key)),
  ]
  const ofKey = await listOtherCertificates(db, keysOf(found), now)
  const others = isCompromise || !request.onlyThis ? ofKey : []
  const fresh = [...found, ...others].filter((certificate) => certificate.status !== 'revoked')
  const affected = new Set(fresh.map((certificate) => certificate.cert_id))
  // It was revoked for another reason. The list would now name key_compromise, and the key could not join again.
  const raised = isCompromise
    ? found.filter((each) => each.status === 'revoked' && each.revocation_reason !== 'key_compromise')
    : []
  const agents = await listAgentsOf(db, keysOf(fresh), now)
  return {
    dry_run: true,
    would_change: affected.size + raised.length > 0,
    certificates_revoked: countCertificates([...affected]),
    other_certificates: countCertificates(ofKey.map(({ cert_id }) => cert_id).filter((id) => !affected.has(id))),
    reasons_raised: countCertificates(raised.map((each) => each.cert_id)),
    agents_dropped: { count: agents.length, sample: [...agents].sort().slice(0, SAMPLE) },
  }
}

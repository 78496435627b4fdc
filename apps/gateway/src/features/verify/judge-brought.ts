import { CLOCK_TOLERANCE, checkCertificate, isAuthenticList, markOfList, toTrustDecision } from '@chancery/protocol'
import type { BroughtTrust, Instant, KnownRevocation, RevocationList } from '@chancery/protocol'
import { toAuditedBatch } from './audited-decision.ts'
import type { AuditedDecision } from './audited-decision.ts'
import { checkBatchSize, readBatch, readBrought, readSingle } from './requests.ts'
import type { BroughtMaterial } from './requests.ts'

/** A request in development mode: everything it is judged by is in its body. */
export interface BroughtRequest {
  readonly bytes: Uint8Array
  readonly kind: 'single' | 'batch'
  readonly maxBatch: number
  readonly now: Instant
}

export interface BroughtAnswer {
  readonly body: string
  readonly decisions: readonly AuditedDecision[]
}

/** Development mode: the caller's own anchors and list (protocol/gateway 3.8). */
export async function judgeBrought({ bytes, kind, maxBatch, now }: BroughtRequest): Promise<BroughtAnswer> {
  const request = kind === 'single' ? readSingle(bytes) : readBatch(bytes)
  if (kind === 'batch') checkBatchSize(request, maxBatch)
  const trust = { ...(await toTrust(readBrought(request))), now }
  const results = []
  for (const certificate of request.certificates) {
    const judgement = await checkCertificate(certificate, trust)
    results.push(toTrustDecision(judgement, { network: certificate.network_name, policyRevision: null, now }))
  }
  const body = JSON.stringify(kind === 'single' ? results[0] : { results })
  return { body, decisions: toAuditedBatch(results) }
}

async function toTrust({ anchors, list }: BroughtMaterial): Promise<Omit<BroughtTrust, 'now'>> {
  if (list === undefined) return { anchors, skew: CLOCK_TOLERANCE, list: undefined }
  const authentic = await isAuthenticList(list, anchors)
  return { anchors, skew: CLOCK_TOLERANCE, list: { ...markOfList(list), authentic, revocations: indexOf(list) } }
}

/** Of entries with one id the first wins (protocol/gateway 2.6). */
function indexOf(list: RevocationList): { find(id: string): KnownRevocation | undefined } {
  const first = new Map<string, KnownRevocation>()
  for (const { certificate_id, reason, revoked_at } of list.revoked_certificates) {
    if (!first.has(certificate_id)) first.set(certificate_id, { reason, revoked_at, withdrawn: false })
  }
  return { find: (id) => first.get(id) }
}

import { CLOCK_TOLERANCE, checkCertificate, isAuthenticList, positionOfList, toTrustDecision } from '@chancery/protocol'
import type { CallerTrust, Instant, RevocationState, RevocationList } from '@chancery/protocol'
import { type AuditedDecision, toAuditedBatch } from './audited-decision.ts'
import { type CallerMaterial, checkBatchSize, readBatch, readCallerMaterial, readSingle } from './requests.ts'

/** A request in development mode. Its body has all trust inputs. */
export interface CallerRequest {
  readonly bytes: Uint8Array
  readonly kind: 'single' | 'batch'
  readonly maxBatch: number
  readonly now: Instant
}

export interface DevelopmentVerdict {
  readonly body: string
  readonly decisions: readonly AuditedDecision[]
}

/** Verifies with the caller's own anchors and list (protocol/gateway 3.8). */
export async function verifyWithCallerTrust({
  bytes,
  kind,
  maxBatch,
  now,
}: CallerRequest): Promise<DevelopmentVerdict> {
  const request = kind === 'single' ? readSingle(bytes) : readBatch(bytes)
  if (kind === 'batch') checkBatchSize(request, maxBatch)
  const trust = { ...(await toTrust(readCallerMaterial(request))), now }
  const results = []
  for (const certificate of request.certificates) {
    const evaluation = await checkCertificate(certificate, trust)
    results.push(toTrustDecision(evaluation, { network: certificate.network_name, policyRevision: null, now }))
  }
  const body = JSON.stringify(kind === 'single' ? results[0] : { results })
  return { body, decisions: toAuditedBatch(results) }
}

async function toTrust({ anchors, list }: CallerMaterial): Promise<Omit<CallerTrust, 'now'>> {
  if (list === undefined) return { anchors, skew: CLOCK_TOLERANCE, list: undefined }
  const authentic = await isAuthenticList(list, anchors)
  return { anchors, skew: CLOCK_TOLERANCE, list: { ...positionOfList(list), authentic, revocations: indexOf(list) } }
}

/** Indexes the list. Of entries with equal ids the first is used (protocol/gateway 2.6). */
function indexOf(list: RevocationList): { find(id: string): RevocationState | undefined } {
  const first = new Map<string, RevocationState>()
  for (const { certificate_id, reason, revoked_at } of list.revoked_certificates) {
    if (!first.has(certificate_id)) first.set(certificate_id, { reason, revoked_at, withdrawn: false })
  }
  return { find: (id) => first.get(id) }
}

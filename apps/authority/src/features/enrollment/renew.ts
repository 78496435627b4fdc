import { Refusal, type RefusalCode } from '@chancery/contract'
import {
  CLOCK_TOLERANCE,
  DAY,
  HOUR,
  SECOND,
  draftJoinCertificate,
  member,
  readInstant,
  seconds,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { Instant, JoinCertificate, JsonObject, JsonValue } from '@chancery/protocol'
import { type Call, type HttpResponse, jsonText } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import { authenticateNode, countNodeKey, refuseNode } from '../../auth/node.ts'
import { spendNonceInside, toClaim } from '../../auth/nonces.ts'
import { faultPoint } from '#faults'
import { type EnrollmentParts, rejectCertificate, whyUnusable } from './present.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { lockNodeKeys } from '../../database/transaction.ts'
import { EvidenceRefusedError, evidenceDetails } from '../admission/index.ts'
import type { EvidenceReason, VerifiedEvidence } from '../admission/index.ts'
import { findRenewal, hasRevokedSuccessor, insertIssued, loadForRenewal, supersede } from './queries/renewals.ts'
import type { RenewableCertificate } from './queries/renewals.ts'
import { digestOf, matchEvidence, verifyForRenewal } from './renewal-evidence.ts'
import { readRenewRequest } from './requests.ts'

type Outcome =
  | { readonly text: string }
  | { readonly rejected: RefusalCode }
  | { readonly replayed: true }
  | { readonly retryAfterSeconds: number }
  | { readonly evidenceReason: EvidenceReason }

/**
 * POST /renew
 * Issues a new certificate with the same key and the stored roles. The old one ends after the grace time. A node whose
 * response was lost may renew again, which does not extend the old certificate.
 */
export async function renew(call: Call, parts: EnrollmentParts): Promise<HttpResponse> {
  const request = readRenewRequest(call.body)
  parts.signing.requireAllowed()
  const proof = await authenticateNode(call, parts, 'renew')
  await countNodeKey(parts, request.node_public_key)
  const claim = toClaim(`node:${request.node_public_key}`, proof.nonce, proof.signedAt)

  const verdict = await verifyForRenewal(parts, request)

  const outcome = await renewInside(parts, async (tx): Promise<Outcome> => {
    // Locked, because renewals of one key are counted, also for two certificates on two instances.
    await lockNodeKeys(tx, [request.node_public_key])
    const stored = await loadForRenewal(parts.database, tx.query, request.cert_id)
    faultPoint('renew-locked')
    const now = parts.clock.now()
    const rejected =
      whyUnusable(stored, request.node_public_key, writeSortable(now)) ?? whyOtherRoles(stored, request.roles)
    if (rejected !== undefined || stored === undefined) return { rejected: rejected ?? 'certificate_not_found' }
    // The holder of the key had a later certificate, which was revoked. This one must not lead to another.
    if (await hasRevokedSuccessor(tx.query, request.cert_id)) return { rejected: 'certificate_revoked' }
    const retryAfterSeconds = await whenNext(tx.query, parts, request.node_public_key, now)
    if (retryAfterSeconds !== undefined) return { retryAfterSeconds }
    const evidence = await matchEvidence(tx.query, stored, verdict)
    if (evidence === 'evidence_required') return { rejected: evidence }
    if (!(await spendNonceInside(tx, claim))) return { replayed: true }
    const validityHours = Math.min(request.validityHours, stored.max_validity_hours)
    return { text: await issueSuccessor(tx, parts, call, { stored, evidence, validityHours, now }) }
  })
  faultPoint('renew-committed')
  if ('text' in outcome) return jsonText(outcome.text, 201)
  if ('retryAfterSeconds' in outcome) throw new Refusal('rate_limit_exceeded', {}, outcome)
  if ('replayed' in outcome) return refuseNode(call, parts, 'renew', 'nonce_replay', proof.nonce)
  if ('evidenceReason' in outcome) {
    const { evidenceReason: reason } = outcome
    const rule_id = request.evidence?.rule_id ?? null
    const audited = { evidence_reason: reason, rule_id, evidence_digest: digestOf(verdict) }
    // Counted with the failures of joins. Evidence that admits is never refused by it.
    const bucket = `join-token-fail ${call.limitKey}`
    const isWithin = await parts.limits.shared.hit(bucket, parts.limits.perMinute['join-token-fail'])
    const [code, shown] = isWithin
      ? (['evidence_refused', { reason }] as const)
      : (['rate_limit_exceeded', {}] as const)
    return rejectCertificate(call, parts, 'renewal_rejected', request.cert_id, code, shown, audited)
  }
  if (outcome.rejected === 'invalid_role') throw new Refusal('invalid_role')
  const shown = await rejoinDetails(parts, request, outcome.rejected)
  return rejectCertificate(call, parts, 'renewal_rejected', request.cert_id, outcome.rejected, shown)
}

/** A node that comes too late learns by which rule it may join again. The key and the certificate were compared before. */
async function rejoinDetails(
  { admission, database }: EnrollmentParts,
  { cert_id }: { readonly cert_id: string },
  reason: RefusalCode,
): Promise<JsonObject> {
  if (reason !== 'certificate_expired' && reason !== 'certificate_superseded') return {}
  const row = await database.read
    .selectFrom('issued_certs')
    .select('cert_json')
    .where('cert_id', '=', cert_id)
    .executeTakeFirst()
  const rejoin_rule = row === undefined ? undefined : await admission.findRejoinRule(row.cert_json)
  return rejoin_rule === undefined ? {} : { rejoin_rule }
}

/** Evidence that is refused by what is stored leaves nothing behind, the nonce included. */
async function renewInside(parts: EnrollmentParts, work: (tx: Transaction) => Promise<Outcome>): Promise<Outcome> {
  try {
    return await parts.database.write(work)
  } catch (error) {
    if (error instanceof EvidenceRefusedError) return { evidenceReason: error.reason }
    throw error
  }
}

/**
 * Returns the seconds until this key may renew again, or undefined when it may now. Every renewal adds a certificate to
 * the revocation list. Renewals dated in the future, by a clock that was ahead, do not count.
 */
async function whenNext(tx: Reader, parts: EnrollmentParts, key: string, now: Instant): Promise<number | undefined> {
  const window = { after: now - HOUR, until: now + CLOCK_TOLERANCE }
  const first = await findRenewal(tx, key, window, parts.limits.perMinute['renew-key'])
  return first === undefined ? undefined : Number((first + HOUR - now) / SECOND) + 1
}

/** Check 13: the roles of the invite stay for all renewals. A list in the request must be the same multiset. */
function whyOtherRoles(
  stored: RenewableCertificate | undefined,
  roles: JsonValue | undefined,
): RefusalCode | undefined {
  if (roles === undefined) return undefined
  if (!Array.isArray(roles) || !roles.every((role) => typeof role === 'string')) return 'invalid_role'
  const sorted = (list: readonly string[]): string => JSON.stringify([...list].sort())
  const previous = JSON.parse(stored?.roles_json ?? '[]') as string[]
  return sorted(roles) === sorted(previous) ? undefined : 'renewal_role_change_forbidden'
}

interface Renewal {
  readonly stored: RenewableCertificate
  /** Of a certificate that came from evidence. */
  readonly evidence: VerifiedEvidence | undefined
  readonly validityHours: number
  readonly now: Instant
}

async function issueSuccessor(
  tx: Transaction,
  parts: EnrollmentParts,
  call: Call,
  { stored, evidence, validityHours, now }: Renewal,
): Promise<string> {
  const draft = draftJoinCertificate({
    cert_id: parts.ids.uuid(),
    node_public_key: stored.node_public_key,
    network_name: parts.network.name,
    roles: JSON.parse(stored.roles_json) as string[],
    issued_by: parts.signing.keyId,
    now,
    validityHours,
  })
  const certificate: JoinCertificate = await parts.signing.sign(draft)
  const text = writeJson(certificate)
  faultPoint('renew-sealed')
  const { cert_id, roles_json, max_validity_hours, node_public_key } = stored
  const { expires_at } = await insertIssued(tx, {
    certificate,
    cert_json: text,
    roles_json,
    max_validity_hours,
    renewed_from: cert_id,
    remote_addr: call.remoteAddress,
  })
  if (evidence !== undefined) {
    const admitted = { cert_id: certificate.cert_id, node_public_key, expires_at, isRenewal: true }
    await parts.admission.claimEvidence(tx, evidence, admitted)
  }
  // Written once, so that repeated renewals do not extend the predecessor. Across a key succession the node may not be
  // able to verify the successor yet. There the predecessor ends when the successor is first used.
  if (stored.revoke_after === null && isOfKey(stored, parts.signing.keyId))
    await supersede(tx, stored.cert_id, graceEnd(parts, stored, now))
  faultPoint('renew-stored')
  const details = {
    old_cert_id: stored.cert_id,
    new_cert_id: certificate.cert_id,
    node_public_key: stored.node_public_key,
    ...(evidence === undefined ? {} : evidenceDetails(evidence)),
  }
  await parts.audit.record(tx, { type: 'certificate_renewed', details: { ...details, ...requestDetails(call) } })
  return text
}

function isOfKey({ cert_json }: RenewableCertificate, keyId: string): boolean {
  return member(JSON.parse(cert_json) as JsonObject, 'issued_by') === keyId
}

/**
 * Returns when the predecessor ends, and whether the list will name it. It will not if less than a day of its validity
 * is left then.
 */
export function graceEnd(
  parts: EnrollmentParts,
  stored: { readonly expires_at: string },
  now: Instant,
): { revoke_after: string; list_after: string | null } {
  const end = now + seconds(parts.settings.renewalGraceSeconds)
  const left = (readInstant(stored.expires_at) ?? end) - end
  return { revoke_after: writeSortable(end), list_after: left > DAY ? writeSortable(end) : null }
}

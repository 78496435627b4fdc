import { ERRORS, type LimiterName, Refusal } from '@chancery/contract'
import { DAY, assessAttestation, digestOf, isAttestationOfKey, sha256Hex, writeSortable } from '@chancery/protocol'
import type {
  Attestation,
  AttestationBasis,
  Instant,
  JsonObject,
  PresentedBasis,
  ProvenCaller,
} from '@chancery/protocol'
import { type Call, type HttpResponse, jsonText, readRecordTexts } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import { authenticateNode, refuseNode } from '../../auth/node.ts'
import { type NonceClaim, consumeNonce, isNonceSpent, toClaim } from '../../auth/nonces.ts'
import type { Asker } from '../../metrics.ts'
import { type Attempt, peekStoredResponse } from '../../requests/idempotency.ts'
import { type ResolvedBasis, onAttestation, requireCaller, requireCertificate } from './basis.ts'
import { type BoundaryState, requireParty } from './context.ts'
import { decideAndStore } from './decision.ts'
import { type NodeRequest, readNodeRequest } from './requests.ts'
import { loadPresented } from '../presented/index.ts'

const ACTION = 'boundary-request'

/**
 * POST /boundary/request
 * Decides for the holder of a node key: on its own attestation, on one of a partner, or for the caller of a relay. A
 * denial is a signed 201 response. The order of the checks is that of protocol/trust-operations 4.12: a signature comes
 * before any state, and an unauthenticated caller causes no signature and no stored decision.
 */
export async function request(call: Call, parts: BoundaryState): Promise<HttpResponse> {
  try {
    return await answer(call, parts)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const refusal = await countRefusal(call, parts, error)
    parts.metrics.boundaryRefusals.with({ code: refusal.code }).increase()
    throw refusal
  }
}

async function answer(call: Call, parts: BoundaryState): Promise<HttpResponse> {
  const isForPartners = parts.settings.nodeDecisions === 'partners'
  // The signature is over the body as sent, so the text of a record is replaced here and not in the route.
  const body = readRecordTexts(call.body, { records: { 'presented.attestation': 'invalid_attestation' } })
  const asked = readNodeRequest(body, parts.network.name, isForPartners)
  const proof = await authenticateNode(call, parts, ACTION)
  const { node_public_key, on_behalf_of } = asked
  await count(parts, on_behalf_of === undefined ? 'decision' : 'decision-relay', node_public_key)
  const basisVersion = await parts.evidence.basisVersion()
  const { basis, subject } = await auditRefusals(call, parts, asked, () =>
    admit(parts, asked, (name, key) => count(parts, name, key)),
  )
  parts.signing.requireAllowed()
  const partner = signingPartner(basis)
  if (!(await consumeNonce(parts.nonces, `node:${node_public_key}`, proof.nonce, proof.signedAt)))
    return refuseNode(call, parts, ACTION, 'nonce_replay', proof.nonce, partner)
  const attempt = attemptOf(call, asked, parts.clock.now())
  const earlier = attempt && (await peekStoredResponse(parts.database.read, attempt, writeSortable(parts.clock.now())))
  if (earlier !== undefined) return jsonText(earlier.text, earlier.status)
  const { asked_by, cert_id, relayed_by, caller, callerNonce } = subject
  const chancery_request = {
    asked_by,
    node_public_key: subject.key,
    cert_id,
    audience: caller?.audience ?? null,
    relayed_by,
  }
  const resolve = (read: Admitted['basis']): ResolvedBasis =>
    onAttestation(parts, read, asked.context, asked.requested_capability, { chancery_request })
  const question = {
    ...resolve(basis),
    basisVersion,
    // One request counts once.
    resolveAgain: async () => resolve((await admit(parts, asked, () => Promise.resolve())).basis),
    asked_by,
    // Nodes of a partner share what the partner may use.
    caller: partner === undefined ? `node ${subject.key}` : `partner ${partner}`,
    named: { ...(cert_id === null ? {} : { cert_id }), ...(relayed_by === null ? {} : { relayed_by }) },
    attempt: () => attempt,
    // Also behind a relay.
    owner: { kind: 'key' as const, name: subject.key },
    showsContext: true,
    resource_id: asked.resource_id,
    approvalAsking: {
      asker: { kind: 'node' as const, id: subject.key },
      askerKey: subject.key,
      named: asked.approval_id,
    },
    ...(callerNonce === undefined ? {} : { callerNonce }),
  }
  return auditRefusals(call, parts, asked, () => decideAndStore(call, parts, question))
}

/** Whom the decision is about, and who asked. */
interface Subject {
  readonly asked_by: Exclude<Asker, 'operator'>
  readonly key: string
  readonly cert_id: string | null
  readonly relayed_by: string | null
  readonly caller: ProvenCaller | undefined
  readonly callerNonce?: NonceClaim
}

export interface Admitted {
  readonly subject: Subject
  readonly basis: AttestationBasis | PresentedBasis
}

/** Counts a request of a key or issuer, and refuses it over its limit. */
type Hit = (name: LimiterName, key: string) => Promise<void>

/** Checks 9 to 14: certificate, relay, binding, and for a presented attestation the trust in its issuer. */
export async function admit(parts: BoundaryState, asked: NodeRequest, hit: Hit): Promise<Admitted> {
  const { cert_id, node_public_key, context } = asked
  const roles = cert_id === undefined ? [] : await requireCertificate(parts, cert_id, node_public_key)
  const subject = await findSubject(parts, asked, roles, hit)
  const own = parts.network.name
  if (asked.asked.kind === 'attestation') {
    const { attestation_id } = asked.asked
    const state = await parts.attestations.reader.find(attestation_id)
    requireBound(state?.checked.attestation, subject.key)
    const basis = assessAttestation({ attestation_id, requester: undefined }, state?.stored, state?.checked)
    requireParty(context.requester_sovereign_id, basis.requester, 'requester_sovereign_id')
    requireParty(context.provider_sovereign_id, own, 'provider_sovereign_id')
    return { subject, basis }
  }
  requireBound(asked.asked.attestation, subject.key)
  const issuer = asked.asked.attestation.issuer_sovereign_id
  requireParty(context.requester_sovereign_id, issuer, 'requester_sovereign_id')
  requireParty(context.provider_sovereign_id, own, 'provider_sovereign_id')
  const basis = await loadPresented(parts, asked.asked, undefined)
  // An unauthenticated caller with an invented attestation gets no signature and no row.
  if (cert_id === undefined && !basis.isSigned)
    throw new Refusal('attestation_untrusted', { reason: basis.failure ?? 'attestation_invalid' })
  if (basis.isSigned) await hit('decision-issuer', issuer)
  return { subject, basis }
}

async function findSubject(
  parts: BoundaryState,
  asked: NodeRequest,
  roles: readonly string[],
  hit: Hit,
): Promise<Subject> {
  const { cert_id = null, node_public_key } = asked
  if (asked.on_behalf_of === undefined) {
    const asked_by = cert_id === null ? 'partner_node' : 'node'
    return { asked_by, key: node_public_key, cert_id, relayed_by: null, caller: undefined }
  }
  const { decisionRelayRoles } = parts.settings
  if (!roles.some((role) => decisionRelayRoles.includes(role))) throw new Refusal('relay_not_allowed')
  const caller = await requireCaller(parts, asked)
  const { node_public_key: key, cert_id: callerCertificate } = caller.certificate
  const callerNonce = claimOf(caller, asked.requested_capability)
  // Every service that the caller spoke to has its proof, so replays use up nothing of the caller.
  if (!(await isNonceSpent(parts.database.read, callerNonce))) await hit('decision', key)
  return { asked_by: 'relay', key, cert_id: callerCertificate, relayed_by: cert_id, caller, callerNonce }
}

/** A token has a decision for each of its scopes, so a client assertion counts once for each capability. */
function claimOf({ kind, certificate, nonce, created }: ProvenCaller, capability: string): NonceClaim {
  const { node_public_key: key } = certificate
  if (kind === 'request_proof') return toClaim(`caller:${key}`, nonce, created)
  return toClaim(`assertion:${key}`, `${nonce} ${sha256Hex(capability)}`, created)
}

/** The partner that signed for the caller. A caller may name any issuer, and a partner can make keys without end. */
export function signingPartner(basis: Admitted['basis']): string | undefined {
  return basis.kind === 'presented' && basis.isSigned ? basis.attestation.issuer_sovereign_id : undefined
}

/** An unknown id and an attestation of another key have the same response, so that ids cannot be probed. */
function requireBound(attestation: Attestation | undefined, key: string): void {
  if (attestation === undefined || !isAttestationOfKey(attestation, key)) throw new Refusal('attestation_not_bound')
}

/** Per key or issuer, and only after a signature proved it. */
export async function count(parts: BoundaryState, name: LimiterName, key: string): Promise<void> {
  if (!(await parts.limits.shared.hit(`${name} ${key}`, parts.limits.perMinute[name])))
    throw new Refusal('rate_limit_exceeded')
}

const FAILURES: ReadonlySet<number> = new Set([401, 403, 422])

/** Counts failures of an address. Over the limit a failure becomes 429; a good request never does. */
async function countRefusal(call: Call, parts: BoundaryState, refusal: Refusal): Promise<Refusal> {
  if (!FAILURES.has(ERRORS[refusal.code].status)) return refusal
  const bucket = `decision-fail ${call.limitKey}`
  const isWithin = await parts.limits.shared.hit(bucket, parts.limits.perMinute['decision-fail'])
  return isWithin ? refusal : new Refusal('rate_limit_exceeded')
}

/** Audits refusals of a caller with a verified signature, up to a number of rows per minute. */
async function auditRefusals<Result>(
  call: Call,
  parts: BoundaryState,
  { cert_id, asked }: NodeRequest,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Refusal && FAILURES.has(ERRORS[error.code].status)) {
      const { reason } = error.details
      const details: JsonObject = {
        code: error.code,
        ...(reason === undefined ? {} : { reason }),
        ...(cert_id === undefined ? {} : { cert_id }),
        attestation_id: asked.kind === 'presented' ? asked.attestation.attestation_id : asked.attestation_id,
        ...requestDetails(call),
      }
      await parts.audit.recordRefusal({ type: 'boundary_request_refused', details }, call)
    }
    throw error
  }
}

/** Repeats differ in time, nonce and signature only. The key is part of the signed body, so no header is read. */
function attemptOf(call: Call, { idempotency_key, node_public_key }: NodeRequest, now: Instant): Attempt | undefined {
  if (idempotency_key === undefined) return undefined
  const { timestamp: _timestamp, nonce: _nonce, signature: _signature, ...body } = call.body
  return {
    scope: `node:${node_public_key} ${call.method} ${call.path}`,
    key: idempotency_key,
    bodyDigest: digestOf(body),
    expires_at: writeSortable(now + DAY),
  }
}

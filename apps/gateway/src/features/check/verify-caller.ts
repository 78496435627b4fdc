import { GatewayRefusal } from '@chancery/contract'
import {
  PROOF_FIELDS,
  attestationInProof,
  contentDigest,
  coversAuthorization,
  evaluateCertificate,
  isAttestationOfKey,
  isProofCurrent,
  isWimseRequest,
  readRequestProof,
  seconds,
  toTrustDecision,
  verifyRequestProof,
  verifyWimseRequest,
} from '@chancery/protocol'
import type {
  Attestation,
  Instant,
  JoinCertificate,
  ProofHeaders,
  RequestProof,
  WimseNetwork,
  WimseRefusal,
} from '@chancery/protocol'
import type { AuditContext } from '../../audit/request-audit.ts'
import { toRetrySeconds } from '../../edge/error-body.ts'
import type { CheckPolicy } from '../../policy/policy.ts'
import { awaitProofTime, quotaNameOf } from '../../quota/quota.ts'
import type { TrustSnapshot } from '../../trust/snapshot.ts'
import { digestOfCertificate, toAudited } from '../verify/index.ts'
import type { CheckParts, CheckedRequest } from './checked-request.ts'

/** How old a proof may be (docs/protocol/request-proof.md). */
const MAX_AGE_SECONDS = 60
const MAX_NAME = 256

/** The node that made a request: its certificate is trusted, and its proof is spent. */
export interface ProvenNode {
  readonly certificate: JoinCertificate
  /** Of the body, as signed. */
  readonly digest: string
  /** The proof as received, when the authority can check it again. */
  readonly relayed: ProofHeaders | undefined
  /** Of profile v2: about this key, and issued by the network of the certificate. Its signature was not verified. */
  readonly attestation: Attestation | undefined
}

/** What one check uses: the policy and the lists at its start. */
export interface CheckContext {
  readonly policy: CheckPolicy
  readonly trust: TrustSnapshot
  readonly context: AuditContext
  readonly now: Instant
}

/** Checks the proof of a request, of either kind, without the body. */
export function verifyCaller(request: CheckedRequest, check: CheckContext, parts: CheckParts): Promise<ProvenNode> {
  const field = (name: string): readonly string[] => request.all(name)
  const isWimse = check.policy.wimse.size > 0 && isWimseRequest(field) && field('chancery-certificate').length === 0
  return isWimse ? verifyByToken(request, check, parts) : verifyByCertificate(request, check, parts)
}

/** In the order of docs/protocol/wimse.md. */
async function verifyByToken(request: CheckedRequest, check: CheckContext, parts: CheckParts): Promise<ProvenNode> {
  const { policy, trust, now } = check
  const { method, target } = request
  const network = (name: string): WimseNetwork | undefined => {
    const trustDomain = policy.networks.includes(name) ? policy.wimse.get(name) : undefined
    const issuers = [...(trust.networks.get(name)?.issuers.values() ?? [])]
    return trustDomain === undefined
      ? undefined
      : { trustDomain, keys: () => issuers.flatMap(({ anchors }) => [...anchors.values()]) }
  }
  const asked = { method, target, field: (name: string) => request.all(name) }
  const caller = await verifyWimseRequest(asked, { audience: policy.audience, network, now })
  if (typeof caller === 'string') throw new GatewayRefusal(REFUSALS[caller])
  const { certificate, created, nonce, contentDigest: digest = NOTHING } = caller
  await requireTrusted(certificate, check, parts)
  await spend(certificate, { created, nonce }, check, parts)
  return { certificate, digest, relayed: undefined, attestation: undefined }
}

/** The refusals of the profile, as the check sends them. */
const REFUSALS = {
  proof_malformed: 'proof_malformed',
  wrong_audience: 'wrong_audience',
  proof_stale: 'proof_stale',
  signature_invalid: 'signature_invalid',
  wit_malformed: 'wit_malformed',
  wit_expired: 'wit_expired',
  wit_untrusted: 'wit_untrusted',
} as const satisfies Readonly<Record<WimseRefusal, string>>

const NOTHING = contentDigest(new Uint8Array())

/**
 * Spends the proof and counts the request in one step, after the certificate: unauthenticated callers and replays use up
 * no quota.
 */
async function spend(
  { node_public_key: key }: JoinCertificate,
  { created, nonce }: { readonly created: number; readonly nonce: string },
  { policy }: CheckContext,
  { quota, metrics, state, clock }: CheckParts,
): Promise<void> {
  if (state === undefined && !(await awaitProofTime(seconds(created), clock))) throw new GatewayRefusal('proof_stale')
  const claim = { clientId: quotaNameOf(key), kind: 'requests', limit: policy.requestsPerMinute, cost: 1 } as const
  const result = await quota.spend({ name: `${key} ${nonce}`, created: seconds(created) }, claim)
  if (result === undefined) return
  if (result === 'replayed') throw new GatewayRefusal('proof_replayed')
  metrics.quotaDenied.increase()
  throw new GatewayRefusal('node_quota', undefined, { retryAfterSeconds: toRetrySeconds(result.retryAfterMs) })
}

/** In the order of docs/protocol/request-proof.md section 3. */
async function verifyByCertificate(
  request: CheckedRequest,
  check: CheckContext,
  parts: CheckParts,
): Promise<ProvenNode> {
  const { policy, now } = check
  const proof = readProof(request, policy)
  if (proof.headers['chancery-audience'] !== policy.audience) throw new GatewayRefusal('wrong_audience')
  if (!isProofCurrent(proof, now, MAX_AGE_SECONDS)) throw new GatewayRefusal('proof_stale')
  const text = proof.headers['chancery-certificate']
  const certificate = await verifyRequestProof(proof, request, parts.certificates.find(text))
  if (certificate === 'certificate_malformed' || certificate === 'signature_invalid')
    throw new GatewayRefusal(certificate)
  const attestation = attestationOf(proof, certificate)
  await requireTrusted(certificate, check, parts)
  await spend(certificate, proof.parameters, check, parts)
  // Only now: a node above its quota, or a replayed proof, must not replace the certificates of others.
  parts.certificates.store(text, certificate)
  const { headers } = proof
  const relayed = headers.authorization === undefined ? headers : undefined
  return { certificate, digest: headers['content-digest'], relayed, attestation }
}

function readProof(request: CheckedRequest, { requireSignedAuthorization }: CheckPolicy): RequestProof {
  const attestations = request.all('chancery-attestation')
  const values = PROOF_FIELDS.map((name) => [name, request.all(name)] as const)
  if (values.every(([, found]) => found.length === 0) && attestations.length === 0)
    throw new GatewayRefusal('proof_missing')
  if (values.some(([, found]) => found.length !== 1) || attestations.length > 1)
    throw new GatewayRefusal('proof_malformed')
  const [attestation] = attestations
  const authorizations = request.all('authorization')
  const isCovered = coversAuthorization(request.all('signature-input')[0])
  if (requireSignedAuthorization && authorizations.length > 0 && !isCovered)
    throw new GatewayRefusal('authorization_not_covered')
  const [authorization] = authorizations
  if (isCovered && (authorization === undefined || authorizations.length > 1)) malformed()
  const headers = {
    ...Object.fromEntries(values.map(([name, [value = '']]) => [name, value])),
    ...(attestation === undefined ? {} : { 'chancery-attestation': attestation }),
    ...(isCovered ? { authorization } : {}),
    // The names are those of PROOF_FIELDS.
  } as ProofHeaders
  return readRequestProof(headers) ?? malformed()
}

function malformed(): never {
  throw new GatewayRefusal('proof_malformed')
}

function attestationOf(proof: RequestProof, certificate: JoinCertificate): Attestation | undefined {
  if (proof.headers['chancery-attestation'] === undefined) return undefined
  const attestation = attestationInProof(proof)?.record
  if (attestation === undefined) throw new GatewayRefusal('attestation_malformed')
  if (!isAttestationOfKey(attestation, certificate.node_public_key)) throw new GatewayRefusal('attestation_not_bound')
  if (attestation.issuer_sovereign_id !== certificate.network_name)
    throw new GatewayRefusal('attestation_issuer_mismatch')
  return attestation
}

/** Verifies the certificate as POST /verify does (protocol/gateway 8). */
async function requireTrusted(
  certificate: JoinCertificate,
  { policy, trust, context, now }: CheckContext,
  { metrics, state, verdicts }: CheckParts,
): Promise<void> {
  const network = certificate.network_name
  const isAccepted = policy.networks.includes(network)
  const known = isAccepted ? trust.networks.get(network) : undefined
  const evaluated = await evaluateCertificate(certificate, known, now, verdicts.verify)
  const decision = toTrustDecision(evaluated, { network, policyRevision: trust.data.revision, now })
  metrics.decisions.with({ result: decision.trusted ? 'trusted' : 'untrusted' }).increase()
  context.trust_decision = toAudited(decision)
  if (isAccepted) context.network = network
  const { issuer, crl_sequence } = decision.evaluation
  if (issuer !== null && crl_sequence !== null) context.crl = { issuer, sequence: crl_sequence }
  if (state !== undefined) context.certificate_digests = [digestOfCertificate(certificate)]
  // Ids and names become headers for the service.
  if (!decision.trusted || certificate.cert_id.length > MAX_NAME) throw new GatewayRefusal('certificate_untrusted')
}

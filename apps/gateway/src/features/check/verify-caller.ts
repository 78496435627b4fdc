import { GatewayRefusal } from '@chancery/contract'
import {
  PROOF_FIELDS,
  attestationInProof,
  evaluateCertificate,
  isAttestationOfKey,
  isProofCurrent,
  readRequestProof,
  seconds,
  toTrustDecision,
  verifyRequestProof,
} from '@chancery/protocol'
import type { Attestation, Instant, JoinCertificate, ProofHeaders, RequestProof } from '@chancery/protocol'
import type { AuditContext } from '../../audit/audit-context.ts'
import { toRetrySeconds } from '../../edge/admit-caller.ts'
import type { CheckPolicy } from '../../policy/policy.ts'
import type { TrustSnapshot } from '../../trust/snapshot.ts'
import { digestOfCertificate, toAudited } from '../verify/index.ts'
import type { CheckedRequest } from './checked-request.ts'
import type { CheckParts } from './parts.ts'

/** How old a proof may be (docs/protocol/request-proof.md). */
const MAX_AGE_SECONDS = 60
const MAX_NAME = 256

/** The node that made a request: its certificate is trusted, and its proof is spent. */
export interface ProvenNode {
  readonly certificate: JoinCertificate
  readonly proof: RequestProof
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

/** Checks the request proof in the order of docs/protocol/request-proof.md section 3, without the body. */
export async function verifyCaller(
  request: CheckedRequest,
  check: CheckContext,
  parts: CheckParts,
): Promise<ProvenNode> {
  const { policy, now } = check
  const proof = readProof(request)
  if (proof.headers['chancery-audience'] !== policy.audience) throw new GatewayRefusal('wrong_audience')
  if (!isProofCurrent(proof, now, MAX_AGE_SECONDS)) throw new GatewayRefusal('proof_stale')
  const text = proof.headers['chancery-certificate']
  const certificate = await verifyRequestProof(proof, request, parts.certificates.find(text))
  if (certificate === 'certificate_malformed' || certificate === 'signature_invalid')
    throw new GatewayRefusal(certificate)
  const attestation = attestationOf(proof, certificate)
  await requireTrusted(certificate, check, parts)
  await countRequest(certificate, check, parts)
  const { created, nonce } = proof.parameters
  const name = `${certificate.node_public_key} ${nonce}`
  if (!(await parts.quota.spend({ name, created: seconds(created) }))) throw new GatewayRefusal('proof_replayed')
  // Only now: a node above its quota, or a replayed proof, must not replace the certificates of others.
  parts.certificates.store(text, certificate)
  return { certificate, proof, attestation }
}

function readProof(request: CheckedRequest): RequestProof {
  const attestations = request.all('chancery-attestation')
  const values = PROOF_FIELDS.map((name) => [name, request.all(name)] as const)
  if (values.every(([, found]) => found.length === 0) && attestations.length === 0)
    throw new GatewayRefusal('proof_missing')
  if (values.some(([, found]) => found.length !== 1) || attestations.length > 1)
    throw new GatewayRefusal('proof_malformed')
  const [attestation] = attestations
  const headers = {
    ...Object.fromEntries(values.map(([name, [value = '']]) => [name, value])),
    ...(attestation === undefined ? {} : { 'chancery-attestation': attestation }),
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

/** Counts after the certificate, so that unauthenticated callers use up no quota. */
async function countRequest(
  { node_public_key: key }: JoinCertificate,
  { policy }: CheckContext,
  { quota, metrics }: CheckParts,
): Promise<void> {
  const limit = policy.requestsPerMinute
  const result = await quota.claim({ clientId: quotaNameOf(key), kind: 'requests', limit, cost: 1 })
  if (result === undefined) return
  metrics.quotaDenied.increase()
  throw new GatewayRefusal('node_quota', undefined, { retryAfterSeconds: toRetrySeconds(result.retryAfterMs) })
}

/** A client id has no space, so a node never shares a quota with a client. */
export function quotaNameOf(nodeKey: string): string {
  return `node ${nodeKey}`
}

import type { DeniedAnswer } from '../node/answer.ts'
import type { TrustReason } from '../trust/certificate-verdict.ts'
import type { ProofRefusal } from './verify.ts'

/** Why a request was refused before a decision (docs/protocol/request-proof.md section 3). */
export type ProofReason =
  | Exclude<
      ProofRefusal,
      'certificate_untrusted' | 'wit_untrusted' | 'body_too_large' | 'nonces_unavailable' | 'trust_unavailable'
    >
  | 'attestation_missing'
  /** The authority did not accept the proof that was handed over. */
  | 'proof_not_relayable'

/** A request that is not answered by the service. */
export type Refusal =
  | { readonly status: 401; readonly code: 'proof_required'; readonly reason: ProofReason }
  | { readonly status: 403; readonly code: 'certificate_untrusted'; readonly reasons: readonly TrustReason[] }
  | { readonly status: 403; readonly code: 'denied'; readonly answer: DeniedAnswer }
  | { readonly status: 413; readonly code: 'body_too_large' }
  | { readonly status: 429; readonly code: 'too_many_decisions'; readonly retryAfterSeconds: number }
  | {
      readonly status: 503
      readonly code: 'trust_unavailable' | 'decision_unavailable' | 'nonces_unavailable'
      readonly retryAfterSeconds: number
      readonly error?: unknown
    }

/** What a service says of itself in a refusal. */
interface Refusing {
  readonly audience: string
  readonly tellCaller?: boolean
}

/** A refusal as it is sent: what the caller can change, without the findings. */
interface RefusalText {
  readonly status: Refusal['status']
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const MESSAGES: Readonly<Record<Refusal['code'], string>> = {
  proof_required: 'This service needs a proof of a node with every request.',
  certificate_untrusted: 'This certificate is not trusted here.',
  denied: 'The decision on this request denies it.',
  body_too_large: 'The body is too large.',
  too_many_decisions: 'Too many decisions were asked for. Try again later.',
  trust_unavailable: 'The certificate cannot be checked at the moment.',
  decision_unavailable: 'There is no decision at the moment.',
  nonces_unavailable: 'The proof cannot be checked at the moment.',
}

function refusalText(refusal: Refusal, { audience, tellCaller }: Refusing): RefusalText {
  const { status, code } = refusal
  const error = { code, message: MESSAGES[code], details: detailsOf(refusal, tellCaller === true) }
  return {
    status,
    headers: {
      'Content-Type': 'application/json',
      ...(status === 401 ? { 'WWW-Authenticate': `Chancery-Proof audience="${audience}"` } : {}),
      ...('retryAfterSeconds' in refusal ? { 'Retry-After': String(refusal.retryAfterSeconds) } : {}),
      ...(code === 'denied' ? { 'Chancery-Decision': refusal.answer.decision.decision_id } : {}),
    },
    body: JSON.stringify({ error }),
  }
}

function detailsOf(refusal: Refusal, tellsAll: boolean): object {
  if (refusal.code === 'proof_required') return { reason: refusal.reason }
  if (refusal.code !== 'denied') return {}
  const { decision, explanation, missing } = refusal.answer
  return { decision_id: decision.decision_id, ...(tellsAll ? { explanation, missing } : {}) }
}

export function toResponse(refusal: Refusal, options: Refusing): Response {
  const { status, headers, body } = refusalText(refusal, options)
  return new Response(body, { status, headers })
}

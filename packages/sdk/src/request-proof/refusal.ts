import type { AuthorizerOptions, Refusal } from './authorizer.ts'

/** A refusal as it is sent: what the caller can change, without the findings. */
export interface RefusalText {
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

export function refusalText(refusal: Refusal, { audience, tellCaller }: AuthorizerOptions): RefusalText {
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

export function toResponse(refusal: Refusal, options: AuthorizerOptions): Response {
  const { status, headers, body } = refusalText(refusal, options)
  return new Response(body, { status, headers })
}

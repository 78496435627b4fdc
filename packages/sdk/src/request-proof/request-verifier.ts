import { type Instant, type JoinCertificate, coversAuthorization, isWimseRequest } from '@chancery/protocol'
import { isUnavailable } from '../errors.ts'
import { systemClock } from '../http/system-clock.ts'
import type { TrustVerdict } from '../gateway/verdict.ts'
import { type NodeCaller, type ProofRefusal, type ProofVerdict, allProofs, verifyRequest } from './verify.ts'
import { MemoryNonceStore, type NonceStore } from './nonces.ts'
import { type AcceptedWimse, type WimseIncoming, verifyWimse } from './wimse.ts'

/** Options of a middleware. */
export interface RequestVerifierOptions {
  /** The name this service goes by. */
  readonly audience: string
  /** A RelyingParty, or another verifier of certificates. */
  readonly trust: { evaluate(certificate: JoinCertificate, now: Instant): Promise<TrustVerdict> }
  readonly nonces?: NonceStore
  readonly clock?: () => Instant
  /** Longest body that is read; 1 MiB when not given. */
  readonly maxBodyBytes?: number
  /** Refuse a request with the field Authorization that its proof does not cover. */
  readonly requireSignedAuthorization?: boolean
  /** Networks whose workload identity tokens are accepted, by name. Without it requests of WIMSE are refused. Beta. */
  readonly wimse?: Readonly<Record<string, AcceptedWimse>>
  /** Called at every refusal, for the log: the findings are not sent to the caller. */
  readonly onRefusal?: (reason: ProofRefusal, decision: TrustVerdict | undefined) => void
}

/** A refusal as it is sent. */
export interface RequestVerifierRefusal {
  readonly status: 401 | 403 | 413 | 503
  readonly body: { readonly error: { readonly code: string; readonly message: string; readonly details: object } }
}

export type RequestVerifierResult =
  | { readonly node: NodeCaller; readonly body: Uint8Array }
  | { readonly refusal: RequestVerifierRefusal }

/** A request whose body was not read yet. */
export type UnreadRequest = Omit<WimseIncoming, 'body' | 'target'> & {
  /** Path and query as in the request line; undefined when the server does not know it. */
  readonly target: string | undefined
  readonly body: () => Promise<Uint8Array | undefined>
}

const MAX_BODY_BYTES = 1024 * 1024

/** Verifies requests for all middlewares. */
export class RequestVerifier {
  readonly #options: RequestVerifierOptions
  readonly #nonces: NonceStore
  readonly maxBodyBytes: number

  constructor(options: RequestVerifierOptions) {
    this.#options = options
    this.#nonces = options.nonces ?? new MemoryNonceStore()
    this.maxBodyBytes = options.maxBodyBytes ?? MAX_BODY_BYTES
  }

  async check(request: UnreadRequest): Promise<RequestVerifierResult> {
    const { audience, trust, clock = systemClock, wimse } = this.#options
    const { target } = request
    if (target === undefined) return this.#refuse({ ok: false, reason: 'target_unknown' })
    const evaluate = (certificate: JoinCertificate, now: Instant): Promise<TrustVerdict> =>
      trust.evaluate(certificate, now)
    let body: Uint8Array | undefined
    const read = async (): Promise<Uint8Array | undefined> => (body = await request.body())
    const policy = { audience, evaluate, nonces: this.#nonces, now: clock() }
    const incoming = { ...request, target, body: read }
    const isWimse =
      wimse !== undefined && isWimseRequest(request.field) && request.field('chancery-certificate').length === 0
    const verify = async (): Promise<ProofVerdict> => {
      if (isWimse) return verifyWimse(incoming, { ...policy, networks: wimse })
      if (this.#isUncovered(request)) return { ok: false, reason: 'authorization_not_covered' }
      return verifyRequest(incoming, { ...policy, attested: allProofs })
    }
    const verdict = await verify().catch((error: unknown): ProofVerdict => {
      // A gateway that verifies certificates may be away. This is no defect of the service.
      if (!isUnavailable(error)) throw error
      return { ok: false, reason: 'trust_unavailable' }
    })
    if (verdict.ok) return { node: withoutSecret(verdict.node), body: body ?? new Uint8Array() }
    return this.#refuse(verdict)
  }

  #refuse({ reason, decision }: Extract<ProofVerdict, { readonly ok: false }>): RequestVerifierResult {
    this.#options.onRefusal?.(reason, decision)
    return { refusal: toRefusal(reason) }
  }

  #isUncovered({ field }: UnreadRequest): boolean {
    const isRequired = this.#options.requireSignedAuthorization === true && field('authorization').length > 0
    // Without a proof the reason is that there is none.
    const [input] = field('signature-input')
    return isRequired && input !== undefined && !coversAuthorization(input)
  }
}

/** The value of Authorization is not part of what a handler gets and may store. */
function withoutSecret(node: NodeCaller): NodeCaller {
  const { authorization: _secret, ...headers } = node.proof.headers
  return { ...node, proof: { ...node.proof, headers } }
}

/** Returns the refusal for the caller: which check failed, without details of the policy. */
function toRefusal(reason: ProofRefusal): RequestVerifierRefusal {
  if (reason === 'certificate_untrusted' || reason === 'wit_untrusted')
    return refusal(403, 'certificate_untrusted', 'This certificate is not trusted here.', reason)
  if (reason === 'body_too_large') return refusal(413, 'request_entity_too_large', 'The body is too large.', 'body')
  if (reason === 'nonces_unavailable' || reason === 'trust_unavailable')
    return refusal(503, 'service_unavailable', 'The proof cannot be checked at the moment.', reason)
  if (reason === 'target_unknown')
    return refusal(503, 'service_unavailable', 'This service does not see the address as it was sent.', reason)
  return refusal(401, 'node_proof_required', 'This service needs a proof of a node with every request.', reason)
}

function refusal(
  status: RequestVerifierRefusal['status'],
  code: string,
  message: string,
  reason: string,
): RequestVerifierRefusal {
  return { status, body: { error: { code, message, details: { reason } } } }
}

/** The caller disconnected while it sent its body. */
export class CallerGoneError extends Error {
  override readonly name = 'CallerGoneError'
}

/** Collects a body within a bound; undefined when it is longer. */
export async function readBody(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of chunks) {
      size += chunk.length
      if (size > maxBytes) return undefined
      parts.push(chunk)
    }
  } catch (error) {
    throw new CallerGoneError('the body did not arrive', { cause: error })
  }
  const body = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    body.set(part, at)
    at += part.length
  }
  return body
}

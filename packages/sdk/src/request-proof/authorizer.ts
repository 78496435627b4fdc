import { coversAuthorization } from '@chancery/protocol'
import type { Time } from '../trust/signing-time.ts'
import { RefusedError, UnreachableError, UsageError, isUnavailable } from '../errors.ts'
import { clockOf } from '../http/call.ts'
import type { AllowedAnswer } from '../node/answer.ts'
import type { AskOptions, Decider } from '../node/decider.ts'
import type { CertificateTrust, CertificateVerdict } from '../trust/certificate-verdict.ts'
import type { Caller } from './caller.ts'
import { MemoryNonceStore, type NonceStore } from './nonces.ts'
import type { AnyFieldRequest, ProofProfile, VerifyingProfile } from './profile.ts'
import { type Refusal, toResponse } from './refusal.ts'
import { targetOf } from './target.ts'
import { type ProofVerdict, verifyRequest } from './verify.ts'

export interface AuthorizerOptions {
  /** The name this service goes by. */
  readonly audience: string
  readonly trust: CertificateTrust
  /** Needed for authorize(): a node of this service, or a gateway. */
  readonly decisions?: Decider
  /** In memory when not given: several instances of a service need a shared one. */
  readonly nonces?: NonceStore
  readonly profiles?: readonly ProofProfile[]
  /** Send explanation and missing parameters of a denial to the caller. Otherwise it gets the id of the decision. */
  readonly tellCaller?: boolean
  /** Longest body that is read; 1 MiB when not given. */
  readonly maxBodyBytes?: number
  readonly clock?: () => Time
  /** Refuse a request with the field Authorization that its proof does not cover. */
  readonly requireSignedAuthorization?: boolean
  /** Called for every refusal, with what the caller does not get. */
  readonly onRefusal?: (refusal: Refusal) => void
}

interface Refused {
  readonly ok: false
  readonly refusal: Refusal
  readonly response: Response
}

export type Authentication =
  | { readonly ok: true; readonly caller: Caller; readonly body: Uint8Array<ArrayBuffer> }
  | Refused

export type Authorization =
  | {
      readonly ok: true
      readonly caller: Caller
      readonly answer: AllowedAnswer
      readonly body: Uint8Array<ArrayBuffer>
    }
  | Refused

/** Verifies who calls and, with decisions, whether the caller may. */
export interface Authorizer<Decides extends boolean = boolean> {
  readonly decides: Decides
  authenticate(request: Request): Promise<Authentication>
  authorize(
    request: Request,
    capability: string,
    options?: Omit<AskOptions, 'caller' | 'attestation'>,
  ): Promise<Authorization>
}

/** What authorize() of a server needs: a capability, or a rule per request. */
export type Requirement<Req> =
  | string
  | {
      readonly capability: string | ((request: Req) => string)
      readonly parameters?: (request: Req) => NonNullable<AskOptions['parameters']>
      readonly resource?: (request: Req) => string
    }

/** A request whose body was not read yet. The target is that of the request line. */
export interface Arrived extends Omit<AnyFieldRequest, 'body'> {
  readonly body: (maxBytes: number) => Promise<Uint8Array<ArrayBuffer> | undefined>
}

/** What the servers use: the request as it arrived, not as a platform normalised it. */
interface Core {
  authenticate(arrived: Arrived): Promise<Authentication>
  decide(caller: Caller, capability: string, options?: DecideOptions): Promise<AllowedAnswer | Refused>
}

type DecideOptions = Omit<AskOptions, 'caller' | 'attestation'>

const CORES = new WeakMap<Authorizer, Core>()

export function coreOf(authorizer: Authorizer): Core {
  const core = CORES.get(authorizer)
  if (core === undefined) throw new UsageError('this authorizer was not made by createAuthorizer()')
  return core
}

const MAX_BODY_BYTES = 1024 * 1024
const RETRY_SECONDS = 5

/** The result decides exactly when `decisions` was given: authorize() of the servers needs that, at compile time. */
export function createAuthorizer(options: AuthorizerOptions & { readonly decisions: Decider }): Authorizer<true>
export function createAuthorizer(options: AuthorizerOptions & { readonly decisions?: undefined }): Authorizer<false>
export function createAuthorizer(options: AuthorizerOptions): Authorizer {
  const nonces = options.nonces ?? new MemoryNonceStore()
  const { decisions } = options
  const refuse = (refusal: Refusal): Refused => {
    options.onRefusal?.(refusal)
    return { ok: false, refusal, response: toResponse(refusal, options) }
  }
  const core: Core = {
    authenticate: async (arrived) => {
      let body: Uint8Array<ArrayBuffer> | undefined
      const read = async (): Promise<Uint8Array | undefined> =>
        (body = await arrived.body(options.maxBodyBytes ?? MAX_BODY_BYTES))
      const found = await verifyArrived({ ...arrived, body: read }, { ...options, nonces })
      if ('status' in found) return refuse(found)
      return { ok: true, caller: withoutSecret(found.caller), body: body ?? new Uint8Array() }
    },
    decide: async (caller, capability, more = {}) => {
      if (decisions === undefined) throw new UsageError('authorize() needs decisions: createAuthorizer({ decisions })')
      if (caller.attestation === undefined)
        return refuse({ status: 401, code: 'proof_required', reason: 'attestation_missing' })
      const answer = await decisions.ask(capability, { ...more, caller }).catch(refusalOfFailure)
      if ('status' in answer) return refuse(answer)
      return answer.allowed ? answer : refuse({ status: 403, code: 'denied', answer })
    },
  }
  const authorizer: Authorizer = {
    decides: decisions !== undefined,
    authenticate: (request) => core.authenticate(arrivedOf(request)),
    authorize: async (request, capability, more) => {
      const found = await core.authenticate(arrivedOf(request))
      if (!found.ok) return found
      const answer = await core.decide(found.caller, capability, more)
      return 'refusal' in answer ? answer : { ...found, answer }
    },
  }
  CORES.set(authorizer, core)
  return authorizer
}

type Verifying = AuthorizerOptions & { readonly nonces: NonceStore }

async function verifyArrived(
  request: AnyFieldRequest,
  { audience, trust, nonces, profiles = [], ...rest }: Verifying,
): Promise<Refusal | { readonly caller: Caller }> {
  let failure: { readonly error: unknown } | undefined
  const evaluate: CertificateTrust['evaluate'] = async (certificate, at) => {
    try {
      return await trust.evaluate(certificate, at)
    } catch (error) {
      // A gateway that verifies certificates may be away. This is no defect of the service.
      if (!isUnavailable(error)) throw error
      failure = { error }
      return UNAVAILABLE
    }
  }
  const policy = { audience, evaluate, nonces, at: clockOf(rest)() }
  const profile = profiles.find((each): each is VerifyingProfile => 'isUsed' in each && isUsed(each, request))
  if (profile === undefined && rest.requireSignedAuthorization === true && isUncovered(request))
    return { status: 401, code: 'proof_required', reason: 'authorization_not_covered' }
  const verdict = await (profile === undefined ? verifyRequest(request, policy) : profile.verify(request, policy))
  if (verdict.valid) return verdict
  const refusal = toRefusal(verdict)
  return failure !== undefined && refusal.status === 503 ? { ...refusal, ...failure } : refusal
}

/** Without a proof the reason is that there is none. */
function isUncovered({ field }: AnyFieldRequest): boolean {
  const [input] = field('signature-input')
  return field('authorization').length > 0 && input !== undefined && !coversAuthorization(input)
}

const UNAVAILABLE: CertificateVerdict = {
  trusted: false,
  network: undefined,
  reasons: ['stale_revocation_list'],
  cause: 'unavailable',
}

function isUsed(profile: object, { field }: AnyFieldRequest): boolean {
  return (profile as VerifyingProfile).isUsed(field)
}

/** The value of Authorization is not part of what a handler gets and may store. */
function withoutSecret(caller: Caller): Caller {
  const { authorization: _secret, ...headers } = caller.proof.headers
  return { ...caller, proof: { ...caller.proof, headers } }
}

function toRefusal({ reason, verdict }: Extract<ProofVerdict, { readonly valid: false }>): Refusal {
  const unavailable = (code: 'trust_unavailable' | 'nonces_unavailable'): Refusal => ({
    status: 503,
    code,
    retryAfterSeconds: RETRY_SECONDS,
  })
  switch (reason) {
    case 'certificate_untrusted':
      if (verdict?.trusted === false && verdict.cause === 'unavailable') return unavailable('trust_unavailable')
      return { status: 403, code: reason, reasons: verdict?.trusted === false ? verdict.reasons : ['unknown_issuer'] }
    case 'wit_untrusted':
      return { status: 403, code: 'certificate_untrusted', reasons: ['unknown_network'] }
    case 'body_too_large':
      return { status: 413, code: reason }
    case 'nonces_unavailable':
    case 'trust_unavailable':
      return unavailable(reason)
    default:
      return { status: 401, code: 'proof_required', reason }
  }
}

/** Without a decision nothing is allowed. */
function refusalOfFailure(error: unknown): Refusal {
  if (error instanceof RefusedError) {
    const retryAfterSeconds = error.retryAfterSeconds ?? RETRY_SECONDS
    if (error.status === 429) return { status: 429, code: 'too_many_decisions', retryAfterSeconds }
    if (error.code === 'caller_proof_rejected')
      return { status: 401, code: 'proof_required', reason: 'proof_not_relayable' }
    return { status: 503, code: 'decision_unavailable', retryAfterSeconds, error }
  }
  // Such as a proof that covers Authorization, which no service hands on.
  if (error instanceof UsageError) return { status: 401, code: 'proof_required', reason: 'proof_not_relayable' }
  if (!(error instanceof UnreachableError)) error = error instanceof Error ? error : new Error(String(error))
  return { status: 503, code: 'decision_unavailable', retryAfterSeconds: RETRY_SECONDS, error }
}

/** A web request. Its address is normalised, as the handler sees it: the proof must be of that address. */
export function arrivedOf(request: Request, target: string = targetOf(request.url)): Arrived {
  return {
    method: request.method,
    target,
    // Web headers join repeated fields with a comma. These fields have none, so joined ones are malformed; the others
    // are read as joined.
    field: (name) => {
      const value = request.headers.get(name)
      return value === null ? [] : /^chancery-|^content-digest$/.test(name) ? value.split(', ') : [value]
    },
    body: (maxBytes) => readWithin(request, maxBytes),
  }
}

async function readWithin({ body }: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const parts: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  const reader = body?.getReader()
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done || value === undefined) break
    size += value.length
    if (size > maxBytes) {
      await reader?.cancel()
      return undefined
    }
    parts.push(value)
  }
  return joinParts(parts, size)
}

export function joinParts(parts: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

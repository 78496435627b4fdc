import { isJsonObject, readJson } from '@chancery/protocol'
import type { Attestation, AuthorityKeys, JoinCertificate, JsonObject, Signer } from '@chancery/protocol'
import type { NodeDecision, NodeDecisionRequest } from '@chancery/contract'
import { type DecisionRequest, decisionRequest } from '../api/decision-request.ts'
import { UsageError } from '../errors.ts'
import { openKeyed } from '../http/keyed-connection.ts'
import { callerBasis } from '../request-proof/caller-basis.ts'
import type { Caller } from '../request-proof/caller.ts'
import { type NetworkIdentity, readIdentity } from '../trust/identity.ts'
import { type ConnectionOptions, clockOf } from '../http/call.ts'
import { type Answer, toAnswer } from './answer.ts'
import { type AskFields, nameRequest, requireNodeDecision } from './ask.ts'

/** Whose attestation the decision is about. At most one; without it the attestation that the decider was given. */
export type AskBasis =
  | { readonly attestation?: Attestation | string; readonly caller?: never }
  | { readonly caller: Caller; readonly attestation?: never }

export type AskOptions = AskBasis & {
  /** What policies may read. */
  readonly parameters?: JsonObject
  readonly attributes?: JsonObject
  readonly resource?: string
  /** Of an earlier answer that was held, once a person has approved it. */
  readonly approvalId?: string
  /** The same key gives the same decision again. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
}

/** Anything that answers with a verified decision: a node, or a gateway with AuthZEN. */
export interface Decider {
  ask(capability: string, options?: AskOptions): Promise<Answer>
}

/** Who asks. */
export interface Asking {
  readonly request: DecisionRequest
  readonly publicKey: string
  /** The network that decides. */
  readonly network: string
  /** Null: asked with a key that has no certificate there, such as that of a partner's node. */
  readonly certificate: () => Promise<JoinCertificate | null>
  readonly keys: () => AuthorityKeys
  readonly now: () => bigint
  readonly attestation: Attestation | string | undefined
}

/** The part of an answer that continues the chain of a resource. */
const HEADS = new WeakMap<Answer, NodeDecision['resource_head']>()

export function resourceHeadOf(answer: Answer): NodeDecision['resource_head'] {
  return HEADS.get(answer)
}

/** Asks the authority and verifies the decision. A denial is an answer, too. */
export async function askAuthority(asking: Asking, capability: string, options: AskOptions): Promise<Answer> {
  const { signal } = options
  const certificate = await asking.certificate()
  const named = nameRequest(toRequest(options, asking), asking.network)
  const cert = certificate === null ? {} : { cert_id: certificate.cert_id }
  const request: NodeDecisionRequest = { ...named, requested_capability: capability, ...cert }
  const requestId = crypto.randomUUID()
  const response = await asking.request(request, { requestId, ...(signal === undefined ? {} : { signal }) })
  const { publicKey, keys, now } = asking
  await requireNodeDecision(response, { request, publicKey, authorityKeys: keys(), now: now() })
  const { decision, justification_proof: justification, context } = response
  const answer = toAnswer({ decision, justification, context, requestId })
  HEADS.set(answer, response.resource_head)
  return answer
}

function toRequest(options: AskOptions, { network, attestation: usual }: Asking): AskFields {
  const { approvalId, parameters, attributes, resource, idempotencyKey } = options
  const context = {
    ...(parameters === undefined ? {} : { request_parameters: parameters }),
    ...(attributes === undefined ? {} : { attributes }),
  }
  return {
    ...toBasis(options, usual, network),
    ...(Object.keys(context).length === 0 ? {} : { context }),
    ...(resource === undefined ? {} : { resource_id: resource }),
    ...(approvalId === undefined ? {} : { approval_id: approvalId }),
    ...(idempotencyKey === undefined ? {} : { idempotency_key: idempotencyKey }),
  }
}

function toBasis(
  { attestation: given, caller }: AskOptions,
  usual: Attestation | string | undefined,
  network: string,
): Pick<AskFields, 'attestation_id' | 'presented' | 'on_behalf_of'> {
  if (caller !== undefined) {
    if (given !== undefined) throw new UsageError('give an attestation or a caller, not both')
    return callerBasis(caller, { sovereign: network })
  }
  const attestation = given ?? usual
  if (attestation === undefined) throw new UsageError('a decision needs an attestation, or a caller with one')
  if (typeof attestation === 'string' && !attestation.startsWith('{')) return { attestation_id: attestation }
  const { issuer_sovereign_id } = readAttestation(attestation)
  return { presented: { attestation, issuer_sovereign_id } }
}

/** As object or as its JSON text, in which it is sent. */
function readAttestation(given: Attestation | string): Attestation {
  const read = typeof given === 'string' ? readJson(given) : given
  if (!isJsonObject(read) || typeof read['attestation_id'] !== 'string')
    throw new UsageError('the attestation is no attestation')
  return read as unknown as Attestation
}

export type DeciderOptions = ConnectionOptions &
  NetworkIdentity & {
    readonly signer: Signer
    /** Null for a key without a certificate of this network. */
    readonly certificate: JoinCertificate | (() => Promise<JoinCertificate>) | null
    /** Used when the call names none. */
    readonly attestation?: Attestation | string
  }

/** Asks with a key and certificate that another process renews. It needs less code than a node. */
export function createDecider(options: DeciderOptions): Decider {
  const { signer, certificate, attestation, ...given } = options
  const keys = readIdentity(options)
  const { genesis } = keys
  const connection = openKeyed({ ...given, node: { signer, audience: genesis.network_authority.public_key } })
  const asking: Asking = {
    request: decisionRequest(connection),
    publicKey: signer.publicKey,
    network: genesis.network_name,
    certificate: async () => (typeof certificate === 'function' ? certificate() : certificate),
    keys: () => keys,
    now: clockOf(options),
    attestation,
  }
  return { ask: (capability, more = {}) => askAuthority(asking, capability, more) }
}

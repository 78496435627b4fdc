import { canonicalJson, instantOf, isForOneUse, sha256Hex, toUtf8 } from '@chancery/protocol'
import type {
  AgreementRecord,
  Attestation,
  BoundaryDecision,
  Instant,
  JoinCertificate,
  JsonObject,
  NamedApproval,
} from '@chancery/protocol'
import type { Clock } from '@chancery/service-kit'
import type { ClientPolicy, DecisionPolicy, NetworkPolicy } from '../../policy/policy.ts'
import type { Core } from '../../core.ts'
import type { ClientCall } from '../../edge/call.ts'
import type { StoredVerdicts } from '../../trust/stored-verdicts.ts'

/** A network whose authority is asked. */
export type DecidingNetwork = NetworkPolicy & { readonly decisions: DecisionPolicy }

export function isDeciding(network: NetworkPolicy): network is DecidingNetwork {
  return network.decisions !== undefined
}

/** An attestation of another network, which the authority that decides checks under its treaty with that network. */
export type PresentedAttestation = {
  readonly attestation: Attestation
  readonly issuer_sovereign_id: string
}

/** One question for the authority of a network. */
export interface Question {
  readonly network: DecidingNetwork
  readonly basis:
    | { readonly attestation_id: string }
    | { readonly agreement: AgreementRecord }
    | { readonly presented: PresentedAttestation }
  readonly capability: string
  readonly requester: string | undefined
  readonly parameters: JsonObject
  readonly attributes: JsonObject
  /** The request proof of the caller, for a relay. */
  readonly proof: JsonObject | undefined
  /** The certificate of the caller. It must be trusted before anything is asked or reused. */
  readonly certificate: JoinCertificate | undefined
  /** The gateway itself verified the certificate for this request, and spent the proof. */
  readonly isCallerVerified?: true
  readonly showsJustification: boolean
  /** Of the approval that this request uses. */
  readonly approval_id?: string | undefined
}

/** A denial that needs no authority. */
export interface LocalDenial {
  readonly denied: 'subject_unknown' | 'certificate_untrusted'
}

/** A verified answer of an authority. */
export interface VerifiedDecision {
  readonly decision: BoundaryDecision
  /** As received. It is passed on unchanged. */
  readonly wire: JsonObject
  readonly justification: JsonObject
  /** The approval that the request waits for. */
  readonly waitsFor: NamedApproval | undefined
  /** The question as the authority decided on it. The decision has its digest. */
  readonly context: JsonObject
  /** The authority says that its evidence store has the decision. No signature covers this. */
  readonly isStored: boolean
}

export interface FoundDecision {
  readonly verified: VerifiedDecision
  readonly reused: boolean
}

/** How a request asks when no decision is stored. */
export interface Asking {
  ask(): Promise<VerifiedDecision>
  /** Throws when the time of the request is over. */
  checkDeadline(): void
}

interface Stored {
  readonly verified: VerifiedDecision
  readonly endsAt: Instant
  /** Its end by the clock that does not jump. */
  readonly endMs: number
}

/** Default for each client, so that none removes the decisions of another. */
const MAX_DECISIONS = 1000
/** A clock that runs behind must not prolong a decision (protocol/trust-operations: 300 s). */
const MAX_REUSE_MS = 300_000
const MICROSECONDS_PER_MS = 1000
/** How long identical questions wait for the one that is asked. The proxies of an HTTP check wait for 5 s. */
const MAX_WAIT_MS = 1000
/** Longer questions are stored by their digest. A digest for each request would take longer than the rest of a search. */
const MAX_KEY_CHARACTERS = 1024

/**
 * Keeps a verified decision for the identical question of the same client until its end. Stored by the policy object of
 * the network, so that a reload starts with an empty cache.
 */
export class DecisionCache {
  readonly #clock: Pick<Clock, 'now' | 'monotonicMs'>
  readonly #maxDecisions: number
  readonly #byNetwork = new WeakMap<NetworkPolicy, Map<string, Map<string, Stored>>>()
  /** Questions that are being asked, by client and key. */
  readonly #asked = new WeakMap<NetworkPolicy, Map<string, Promise<void>>>()

  constructor(clock: Pick<Clock, 'now' | 'monotonicMs'>, maxDecisions = MAX_DECISIONS) {
    this.#clock = clock
    this.#maxDecisions = maxDecisions
  }

  find(clientId: string, { network }: Question, key: string): VerifiedDecision | undefined {
    const kept = this.#byNetwork.get(network)?.get(clientId)
    const stored = kept?.get(key)
    if (stored === undefined) return undefined
    if (stored.endsAt > this.#clock.now() && this.#clock.monotonicMs() < stored.endMs) return stored.verified
    kept?.delete(key)
    return undefined
  }

  /** Does not keep a decision under a budget or an approval: one stored answer would be many uses. */
  keep(clientId: string, { network }: Question, key: string, verified: VerifiedDecision): void {
    if (isForOneUse(verified.decision)) return
    const endsAt = instantOf(verified.decision.decision_valid_until)
    const remainingMs = Number(endsAt - this.#clock.now()) / MICROSECONDS_PER_MS
    if (remainingMs <= 0) return
    const clients = this.#byNetwork.get(network) ?? new Map<string, Map<string, Stored>>()
    this.#byNetwork.set(network, clients)
    const kept = clients.get(clientId) ?? new Map<string, Stored>()
    clients.set(clientId, kept)
    const nowMs = this.#clock.monotonicMs()
    if (isOlder(verified, kept.get(key))) return
    kept.delete(key)
    // The oldest come first, and end first.
    for (const [each, { endMs }] of kept) {
      if (endMs > nowMs && kept.size < this.#maxDecisions) break
      kept.delete(each)
    }
    kept.set(key, { verified, endsAt, endMs: nowMs + Math.min(remainingMs, MAX_REUSE_MS) })
  }

  /**
   * Returns a stored decision, or asks. Identical questions wait for the one that is asked first, so that the end of a
   * decision does not send all requests of a node to the authority. When that one gets none, or takes too long, all that
   * wait ask at the same time: one after another, they would wait for each failure before.
   */
  async findOrAsk(clientId: string, question: Question, key: string, asking: Asking): Promise<FoundDecision> {
    const stored = this.find(clientId, question, key)
    if (stored !== undefined) return { verified: stored, reused: true }
    const asked = this.#asked.get(question.network) ?? new Map<string, Promise<void>>()
    this.#asked.set(question.network, asked)
    const name = `${clientId} ${key}`
    const running = asked.get(name)
    // Nothing waits between the search above and the entry of a first question, so only one request is the first.
    const end = running === undefined ? begin(asked, name) : undefined
    try {
      if (running !== undefined) {
        await running
        asking.checkDeadline()
        const given = this.find(clientId, question, key)
        if (given !== undefined) return { verified: given, reused: true }
      }
      const verified = await asking.ask()
      this.keep(clientId, question, key, verified)
      return { verified, reused: false }
    } finally {
      end?.()
    }
  }
}

/** Enters a question that is asked. The entry ends with the question, or after {@link MAX_WAIT_MS}. */
function begin(asked: Map<string, Promise<void>>, name: string): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  const end = (): void => {
    clearTimeout(timer)
    // Another question may have been entered since the limit.
    if (asked.get(name) === promise) asked.delete(name)
    resolve()
  }
  const timer = setTimeout(end, MAX_WAIT_MS)
  asked.set(name, promise)
  return end
}

/** Of several answers to one question, one that comes late must not replace a decision that was made after it. */
function isOlder({ decision }: VerifiedDecision, stored: Stored | undefined): boolean {
  if (stored === undefined) return false
  return instantOf(decision.decision_made_at) < instantOf(stored.verified.decision.decision_made_at)
}

/**
 * Returns undefined for a question with a request proof, which counts once, and only the authority knows all of them. A
 * proof that this gateway spent is no part of the question: the node, its key and the audience are.
 */
export function cacheKey(question: Question): string | undefined {
  const { proof, isCallerVerified = false, approval_id } = question
  // An approval is used once.
  if (approval_id !== undefined) return undefined
  if (proof !== undefined && !isCallerVerified) return undefined
  const { basis, capability, requester = null, parameters, attributes, certificate } = question
  const caller =
    proof === undefined ? {} : { key: certificate?.node_public_key ?? null, audience: proof['audience'] ?? null }
  const cert_id = certificate?.cert_id ?? null
  const asked = { basis, capability, requester, parameters, attributes, cert_id, ...caller }
  const text = canonicalJson(asked)
  // A text begins with a brace, so it is never equal to a digest.
  return text.length <= MAX_KEY_CHARACTERS ? text : sha256Hex(toUtf8(text))
}

/** Lists what the handlers of this feature use. */
export interface DecisionParts extends Pick<Core, 'authorities' | 'clock' | 'ids' | 'metrics' | 'quota'> {
  readonly cache: DecisionCache
  readonly verdicts: StoredVerdicts
}

/** The request for which a decision is asked: of a client, or of a proxy that asks the HTTP check. */
export interface AskingCall extends Pick<
  ClientCall,
  'requestId' | 'traceParent' | 'trust' | 'context' | 'remainingMs' | 'checkDeadline'
> {
  readonly client: Pick<ClientPolicy, 'id' | 'networks'>
  /** Whom limits of the authority count. Default: the client. */
  readonly caller?: string
  /** Called before the authority is asked, and not when an earlier decision is used. */
  beforeAsking?(): Promise<void>
}

import { CONTENT_TYPES, GatewayRefusal, REQUEST_ID_HEADER } from '@chancery/contract'
import { JsonError, isJsonObject, member, readJsonBytes } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { type Clock, OutboundError } from '@chancery/service-kit'
import type { Core } from '../../core.ts'
import type { ClientCall } from '../../edge/call.ts'
import type { UpstreamResponse } from '../../outbound/upstream-exchange.ts'
import type { NetworkPolicy } from '../../policy/policy.ts'

const USED_MS = 10_000
const CALL_MS = 3000
const MAX_BYTES = 131_072
const MAX_KEPT = 10_000

interface Kept {
  readonly isActive: boolean
  readonly atMs: number
}

/** Asks authorities for the state of attestations, and uses an answer for at most ten seconds. */
export class AttestationStates {
  readonly #authorities: Core['authorities']
  readonly #clock: Pick<Clock, 'monotonicMs'>
  #kept = new WeakMap<NetworkPolicy, Map<string, Kept>>()

  constructor({ authorities, clock }: Pick<Core, 'authorities' | 'clock'>) {
    this.#authorities = authorities
    this.#clock = clock
  }

  /** True for an attestation that its network has not revoked. Throws when the authority does not say. */
  async isActive(network: NetworkPolicy, id: string, call: ClientCall): Promise<boolean> {
    if (network.authorityUrl === undefined) return true
    const kept = this.#kept.get(network) ?? new Map<string, Kept>()
    this.#kept.set(network, kept)
    const known = kept.get(id)
    const atMs = this.#clock.monotonicMs()
    if (known !== undefined && atMs - known.atMs < USED_MS) return known.isActive
    const isActive = readState(await this.#ask(network, id, call))
    kept.delete(id)
    const [oldest] = kept.keys()
    if (kept.size >= MAX_KEPT && oldest !== undefined) kept.delete(oldest)
    // From the time of the question: the answer may be as old as that.
    kept.set(id, { isActive, atMs })
    return isActive
  }

  async #ask(network: NetworkPolicy, id: string, call: ClientCall): Promise<UpstreamResponse> {
    try {
      return await this.#authorities.send(network, {
        method: 'GET',
        target: `/attestations/${encodeURIComponent(id)}`,
        headers: ['accept', CONTENT_TYPES.json, REQUEST_ID_HEADER, call.requestId],
        traceParent: call.traceParent?.text,
        caller: `client ${call.client.id}`,
        timeoutMs: Math.min(CALL_MS, call.remainingMs()),
        maxBytes: MAX_BYTES,
      })
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error
      throw new GatewayRefusal('attestation_unread', undefined, { cause: error })
    }
  }
}

/** An attestation that its authority does not have is not active. Every other answer is none. */
function readState({ status, body }: UpstreamResponse): boolean {
  const answer = body === undefined ? undefined : readAnswer(body)
  const error = answer && member(answer, 'error')
  if (status === 404 && isJsonObject(error) && member(error, 'code') === 'attestation_not_found') return false
  const state = answer && member(answer, 'status')
  if (status !== 200 || typeof state !== 'string') throw new GatewayRefusal('attestation_unread')
  return state === 'active'
}

function readAnswer(bytes: Uint8Array): JsonObject | undefined {
  try {
    const value = readJsonBytes(bytes)
    return isJsonObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

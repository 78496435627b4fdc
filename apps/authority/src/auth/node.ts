import { Refusal } from '@chancery/contract'
import { SECOND, member, readInstant, verifyNodeProof, writeInstant } from '@chancery/protocol'
import type { GenesisBlock, Instant, JsonObject, NodeAction } from '@chancery/protocol'
import { type Call, noteCaller } from '@chancery/service-kit'
import { requestDetails } from '../audit/record.ts'
import type { AuthParts } from './callers.ts'

/**
 * After a recovery it is unknown which nonces were spent, so nothing signed before the floor is accepted (reliability
 * 12). The caller made no mistake: the response states when to sign again, and no failure is counted.
 */
export function refuseBelowFloor(parts: Pick<AuthParts, 'clock' | 'rollback'>, signedAt: Instant): void {
  const { replayFloor } = parts.rollback
  if (signedAt > replayFloor) return
  const retryAfterSeconds = Math.max(1, secondsToFloor(parts) + 1)
  throw new Refusal(
    'service_unavailable',
    { reason: 'replay_floor', replay_floor: writeInstant(replayFloor) },
    {
      retryAfterSeconds,
      message: `The authority was recovered from a backup. Sign the request again after ${writeInstant(replayFloor)}.`,
    },
  )
}

/** How long requests signed now are still refused; 0 when they are accepted. */
export function secondsToFloor({ clock, rollback }: Pick<AuthParts, 'clock' | 'rollback'>): number {
  const left = rollback.replayFloor - clock.now()
  return left < 0n ? 0 : Number(left / SECOND) + 1
}

export interface VerifiedNode {
  readonly nonce: string
  readonly signedAt: Instant
}

/** Verifies the stateless part of a node's proof (protocol/core 5.1). A failure is audited and returns 401. */
export async function authenticateNode(
  call: Call,
  parts: Pick<AuthParts, 'audit' | 'clock' | 'keys' | 'rollback'>,
  action: NodeAction,
): Promise<VerifiedNode> {
  const audience = chooseAudience(call.body, parts)
  const verdict = await verifyNodeProof(call.body, { action, audience, now: parts.clock.now() })
  if (!verdict.ok) return refuseNode(call, parts, action, verdict.reason)
  const { nonce, timestamp } = call.body as { nonce: string; timestamp: string }
  const signedAt = readInstant(timestamp) ?? 0n
  noteCaller(call, 'node')
  refuseBelowFloor(parts, signedAt)
  return { nonce, signedAt }
}

/** A node that has not received a key succession yet names the former key. Nonces are shared by both. */
function chooseAudience(body: JsonObject, { keys }: Pick<AuthParts, 'keys'>): string {
  const named = member(body, 'audience')
  return keys.audiences.find((key) => key === named) ?? keys.current
}

/** The reason is audited but not sent to the caller. `partner` signed for the key: a partner can make keys without end. */
export async function refuseNode(
  call: Call,
  parts: Pick<AuthParts, 'audit'>,
  scope: NodeAction,
  reason: string,
  nonce?: string,
  partner?: string,
): Promise<never> {
  const details = {
    scope,
    reason,
    ...requestDetails(call),
    ...(nonce === undefined ? {} : { nonce }),
  }
  // Replays are found after the certificate or attestation, so the key is a known one; at a join it may be any key.
  const key =
    reason === 'nonce_replay' && scope !== 'join' ? (partner ?? member(call.body, 'node_public_key')) : undefined
  await parts.audit.recordRefusal(
    { type: 'node_auth_failed', details },
    call,
    typeof key === 'string' ? key : undefined,
  )
  throw new Refusal('node_auth_failed')
}

/**
 * Per node key, counted only after its proof verified, so that no caller can use up the limit of another (protocol/core
 * 21).
 */
export async function countNodeKey(parts: Pick<AuthParts, 'limits'>, node_public_key: string): Promise<void> {
  const isWithin = await parts.limits.shared.hit(`node-key ${node_public_key}`, parts.limits.perMinute['node-key'])
  if (!isWithin) throw new Refusal('rate_limit_exceeded')
}

/** Root, authority and operator keys must not be node keys. */
export function reservedKeys(
  parts: Pick<AuthParts, 'operators'> & {
    readonly network: { readonly genesis: GenesisBlock }
    readonly signing: { readonly publicKey: string }
  },
): ReadonlySet<string> {
  return new Set([
    parts.network.genesis.root_public_key,
    parts.signing.publicKey,
    ...[...parts.operators.values()].map((key) => key.publicKey),
  ])
}

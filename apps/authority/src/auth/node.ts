import { Refusal } from '@chancery/contract'
import { member, readInstant, verifyNodeProof } from '@chancery/protocol'
import type { Instant, JsonObject, NodeAction } from '@chancery/protocol'
import { noteCaller } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import { recordRefusedCaller } from '../audit/record.ts'
import type { Office } from '../office.ts'
import { refuseBelowFloor } from './replay-floor.ts'

export interface ProvenNode {
  readonly nonce: string
  readonly signedAt: Instant
}

/** The stateless half of a node's proof (protocol/core 5.1); a failure is audited and answered 401. */
export async function authenticateNode(call: Call, office: Office, action: NodeAction): Promise<ProvenNode> {
  const audience = chooseAudience(call.body, office)
  const verdict = await verifyNodeProof(call.body, { action, audience, now: office.clock.now() })
  if (!verdict.ok) return refuseNode(call, office, action, verdict.reason)
  const { nonce, timestamp } = call.body as { nonce: string; timestamp: string }
  const signedAt = readInstant(timestamp) ?? 0n
  noteCaller(call, 'node')
  refuseBelowFloor(office, signedAt)
  return { nonce, signedAt }
}

/** A node that has not learned of a key succession yet names the former key; nonces are the same for both. */
function chooseAudience(body: JsonObject, { ownKeys }: Office): string {
  const named = member(body, 'audience')
  return ownKeys.audiences.find((key) => key === named) ?? ownKeys.current
}

/** Says nothing about the reason to the caller, and all of it to the auditor. */
export async function refuseNode(
  call: Call,
  office: Office,
  scope: NodeAction,
  reason: string,
  nonce?: string,
): Promise<never> {
  const details = {
    scope,
    reason,
    remote_addr: call.remoteAddress,
    request_id: call.requestId,
    ...(nonce === undefined ? {} : { nonce }),
  }
  await recordRefusedCaller(office, { type: 'node_auth_failed', details })
  throw new Refusal('node_auth_failed')
}

/** Per node key, counted only after its proof verified, so that nobody can spend it for another (protocol/core 21). */
export async function countNodeKey(office: Office, node_public_key: string): Promise<void> {
  const isWithin = await office.limiter.hit(`node-key ${node_public_key}`, office.settings.limits['node-key'])
  if (!isWithin) throw new Refusal('rate_limit_exceeded')
}

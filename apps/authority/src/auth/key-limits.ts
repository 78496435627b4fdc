import { Refusal } from '@chancery/contract'
import type { Call } from '@chancery/service-kit'
import type { AuthParts } from './parts.ts'

type BodylessCall = Omit<Call, 'body'>

/**
 * Limits of an operator key: reads, decisions, and revocations that arrived after the admin limit of their address was used up.
 */
export type KeyLimit = 'operator_read' | 'operator_decision' | 'revocation'

const limitOf = new WeakMap<BodylessCall, KeyLimit>()

/** The call counts against a limit of its operator key, once it has proved possession of the key. */
export function countByKey(call: BodylessCall, limit: KeyLimit): void {
  limitOf.set(call, limit)
}

/** Before the nonce is spent, so that a call that is refused anyway leaves no row. */
export async function refuseSpentKey(call: BodylessCall, { limits }: AuthParts, key_id: string): Promise<void> {
  const name = limitOf.get(call)
  if (name === undefined) return
  if (await limits.shared.isOver(keyLimitBucket(name, key_id), limits.perMinute[name]))
    throw new Refusal('rate_limit_exceeded')
}

/** After signature and nonce, so that forged and repeated calls do not use up the limit of a key. */
export async function countKey(call: BodylessCall, { limits }: AuthParts, key_id: string): Promise<void> {
  const name = limitOf.get(call)
  if (name === undefined) return
  if (!(await limits.shared.hit(keyLimitBucket(name, key_id), limits.perMinute[name])))
    throw new Refusal('rate_limit_exceeded')
}

export function keyLimitBucket(name: KeyLimit, key_id: string): string {
  return `${name} ${key_id}`
}

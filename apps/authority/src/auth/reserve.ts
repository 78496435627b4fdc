import { Refusal } from '@chancery/contract'
import type { Call } from '@chancery/service-kit'
import type { AuthParts } from './parts.ts'

type BodylessCall = Omit<Call, 'body'>

/** Withdrawals that came when the admin limit of their address was used up. */
const onReserve = new WeakSet<BodylessCall>()

/** Daily work has used up the admin limit of this address: the call is judged by the reserve of its operator key. */
export function callOnReserve(call: BodylessCall): void {
  onReserve.add(call)
}

/** Before the nonce is spent, so that a call without a chance leaves no row. */
export async function refuseSpentReserve(call: BodylessCall, parts: AuthParts, key_id: string): Promise<void> {
  if (!onReserve.has(call)) return
  const { shared, perMinute } = parts.limits
  if (await shared.isOver(bucketOf(key_id), perMinute.revocation)) throw new Refusal('rate_limit_exceeded')
}

/** After signature and nonce: forged and repeated calls cost the holder of the key nothing. */
export async function spendReserve(call: BodylessCall, parts: AuthParts, key_id: string): Promise<void> {
  if (!onReserve.has(call)) return
  const { shared, perMinute } = parts.limits
  if (!(await shared.hit(bucketOf(key_id), perMinute.revocation))) throw new Refusal('rate_limit_exceeded')
}

function bucketOf(key_id: string): string {
  return `revocation ${key_id}`
}

import { Refusal } from '@chancery/contract'
import type { Call } from '@chancery/service-kit'
import type { AuthParts } from './parts.ts'

type BodylessCall = Omit<Call, 'body'>

/** Revocations that arrived after the admin limit of their address was used up. */
const onReserve = new WeakSet<BodylessCall>()

/** The admin limit of this address is used up: the call counts against the reserve of its operator key. */
export function callOnReserve(call: BodylessCall): void {
  onReserve.add(call)
}

/** Before the nonce is spent, so that a call that is refused anyway leaves no row. */
export async function refuseSpentReserve(call: BodylessCall, parts: AuthParts, key_id: string): Promise<void> {
  if (!onReserve.has(call)) return
  const { shared, perMinute } = parts.limits
  if (await shared.isOver(bucketOf(key_id), perMinute.revocation)) throw new Refusal('rate_limit_exceeded')
}

/** After signature and nonce, so that forged and repeated calls do not use up the reserve. */
export async function spendReserve(call: BodylessCall, parts: AuthParts, key_id: string): Promise<void> {
  if (!onReserve.has(call)) return
  const { shared, perMinute } = parts.limits
  if (!(await shared.hit(bucketOf(key_id), perMinute.revocation))) throw new Refusal('rate_limit_exceeded')
}

function bucketOf(key_id: string): string {
  return `revocation ${key_id}`
}

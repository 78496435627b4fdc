import { GatewayRefusal } from '@chancery/contract'
import { type MaybePromise, andThen } from '@chancery/service-kit'
import { toRetrySeconds } from '../../edge/admit-caller.ts'
import type { ClientPolicy } from '../../policy/policy.ts'
import type { VerifyParts } from './parts.ts'

/** Counts certificates against the second quota of a client (protocol/gateway 15). */
export function countCertificates(
  client: ClientPolicy,
  count: number,
  parts: Pick<VerifyParts, 'metrics' | 'quota'>,
): MaybePromise<void> {
  const limit = client.certificatesPerMinute
  if (limit === undefined) return undefined
  return andThen(parts.quota.claim({ clientId: client.id, kind: 'certificates', limit, cost: count }), (result) => {
    if (result === undefined) return
    parts.metrics.quotaDenied.increase()
    throw new GatewayRefusal('certificate_quota', undefined, { retryAfterSeconds: toRetrySeconds(result.retryAfterMs) })
  })
}

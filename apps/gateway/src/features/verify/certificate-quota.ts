import { GatewayRefusal } from '@chancery/contract'
import { after } from '@chancery/service-kit'
import type { Soon } from '@chancery/service-kit'
import { toRetrySeconds } from '../../edge/pipeline.ts'
import type { Office } from '../../office.ts'
import type { ClientPolicy } from '../../policy/policy.ts'

/** The second quota of a client, counting certificates (protocol/gateway 15). */
export function takeCertificates(client: ClientPolicy, count: number, office: Office): Soon<void> {
  const limit = client.certificatesPerMinute
  if (limit === undefined) return undefined
  return after(office.quota.take({ clientId: client.id, kind: 'certificates', limit, cost: count }), (answer) => {
    if (answer === undefined) return
    office.metrics.quotaDenied.increase()
    throw new GatewayRefusal('certificate_quota', undefined, { retryAfterSeconds: toRetrySeconds(answer.retryAfterMs) })
  })
}

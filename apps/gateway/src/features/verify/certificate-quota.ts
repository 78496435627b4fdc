import { GatewayRefusal } from '@chancery/contract'
import { toRetrySeconds } from '../../edge/pipeline.ts'
import type { Office } from '../../office.ts'
import type { ClientPolicy } from '../../policy/policy.ts'

/** The second quota of a client, counting certificates (protocol/gateway 15). */
export async function takeCertificates(client: ClientPolicy, count: number, office: Office): Promise<void> {
  const limit = client.certificatesPerMinute
  if (limit === undefined) return
  const answer = await office.quota.take({ clientId: client.id, kind: 'certificates', limit, cost: count })
  if (answer === undefined) return
  office.metrics.quotaDenied.increase()
  throw new GatewayRefusal('certificate_quota', undefined, { retryAfterSeconds: toRetrySeconds(answer.retryAfterMs) })
}

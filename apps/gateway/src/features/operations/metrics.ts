import { Answer } from '@chancery/service-kit'
import type { ClientCall } from '../../edge/call.ts'
import type { Office } from '../../office.ts'

/** GET /metrics */
export async function metrics(_call: ClientCall, office: Office): Promise<Answer> {
  await office.state?.measure()
  const { registry } = office.metrics
  return new Answer(await registry.render(), registry.contentType)
}

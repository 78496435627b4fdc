import { Answer } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'

/**
 * GET /metrics
 * Aggregate numbers only; deployment keeps this route inside (protocol/core 22.2).
 */
export async function metrics(_call: Call, office: Office): Promise<Answer> {
  const { registry } = office.metrics
  return new Answer(await office.metricsText.read(), registry.contentType)
}

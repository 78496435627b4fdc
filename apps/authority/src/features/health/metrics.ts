import { type Call, HttpResponse } from '@chancery/service-kit'
import type { HealthState } from './state.ts'

/**
 * GET /metrics
 * Returns aggregate numbers only. The deployment must not expose this route (protocol/core 22.2).
 */
export async function metrics(_call: Call, parts: HealthState): Promise<HttpResponse> {
  const { registry } = parts.metrics
  return new HttpResponse(await parts.metricsText.read(), registry.contentType)
}

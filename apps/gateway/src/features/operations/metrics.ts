import { HttpResponse } from '@chancery/service-kit'
import type { OperationsParts } from './parts.ts'

/** GET /metrics */
export async function metrics(parts: OperationsParts): Promise<HttpResponse> {
  await parts.state?.measure()
  const { registry } = parts.metrics
  return new HttpResponse(await registry.render(), registry.contentType)
}

import { type HttpResponse, json } from '@chancery/service-kit'

/**
 * GET /health
 * Returns 200 while the process runs. It calls no dependency: a failed dependency must not restart a replica.
 */
export function health(): HttpResponse {
  return json({ status: 'ok' })
}

import { json } from '@chancery/service-kit'
import type { Answer } from '@chancery/service-kit'

/**
 * GET /health
 * The process lives. It asks nobody else: a broken dependency must not get a replica killed.
 */
export function health(): Answer {
  return json({ status: 'ok' })
}

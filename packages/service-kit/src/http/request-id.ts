import type { IncomingMessage } from 'node:http'
import { REQUEST_ID_PATTERN } from '@chancery/contract'
import type { Ids } from '../ids.ts'

/** The caller's id when it has the allowed form, otherwise a new one: what is echoed reaches logs and pages. */
export function requestIdOf(request: IncomingMessage, ids: Ids): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID_PATTERN.test(given) ? given : ids.uuid()
}

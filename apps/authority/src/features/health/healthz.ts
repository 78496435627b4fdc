import type { JsonObject } from '@chancery/protocol'

/**
 * GET /healthz
 * The process answers. No dependency is asked: restarting it would not mend a database.
 */
export function healthz(): JsonObject {
  return { status: 'ok' }
}

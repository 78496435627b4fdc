import type { JsonObject } from '@chancery/protocol'

/**
 * GET /healthz
 * Responds while the process runs. No dependency is checked, because restarting the process does not repair a database.
 */
export function healthz(): JsonObject {
  return { status: 'ok' }
}

import { Refusal } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { HealthState } from './state.ts'
import type { HealthParts } from './parts.ts'
import { whyNoReads } from './public-reads.ts'

/**
 * GET /readyz
 * Returns whether this instance may receive requests. The checks are the same in the response and in the refusal.
 */
export async function readyz(call: Call, parts: HealthState): Promise<JsonObject> {
  if (isAboutReads(call)) return readsOrRefuse(parts)
  const { isReady, checks } = await parts.readiness.read()
  if (!isReady) throw new Refusal('service_not_ready', checks)
  return { status: 'ready', ...checks, ...(maySeeLocation(call, parts) ? { db_path: parts.database.location } : {}) }
}

/**
 * GET /readyz, with a management listener
 * Returns only ready or not ready, for load balancers. The checks are on the management listener.
 */
export async function readyzInBrief(call: Call, parts: HealthState): Promise<JsonObject> {
  if (isAboutReads(call)) {
    if ((await whyNoReads(parts)).length > 0) throw new Refusal('service_not_ready')
    return { status: 'ready' }
  }
  const { isReady } = await parts.readiness.read()
  if (!isReady) throw new Refusal('service_not_ready')
  return { status: 'ready' }
}

/** Headers that proxies add. With one of them the caller may be anywhere, although the proxy is on this machine. */
const PROXY_HEADERS = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'] as const

/**
 * `?for=reads` checks whether public documents can be served. Any other value checks everything, as without a value.
 */
function isAboutReads(call: Call): boolean {
  return call.query.first('for') === 'reads'
}

async function readsOrRefuse(parts: HealthState): Promise<JsonObject> {
  const reasons = await whyNoReads(parts)
  if (reasons.length > 0) throw new Refusal('service_not_ready', { reasons: [...reasons] })
  return { status: 'ready', for: 'reads' }
}

/** User and host of the database are shown only to callers on this machine or on the management listener. */
function maySeeLocation({ remoteAddress, headers }: Call, { settings }: HealthParts): boolean {
  if (settings.managementPort !== undefined) return true
  if (!remoteAddress.startsWith('127.') && remoteAddress !== '::1') return false
  // With trusted proxies the address is the caller's own.
  return settings.proxyHops > 0 || PROXY_HEADERS.every((name) => headers.all(name).length === 0)
}

import { Refusal } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { HealthState } from './state.ts'
import type { HealthParts } from './parts.ts'
import { whyNoReads } from './public-reads.ts'

/**
 * GET /readyz
 * Whether this instance may be sent requests; the checks are the same in the answer and in the refusal.
 */
export async function readyz(call: Call, parts: HealthState): Promise<JsonObject> {
  if (isAboutReads(call)) return readsOrRefuse(parts)
  const { isReady, checks } = await parts.readiness.read()
  if (!isReady) throw new Refusal('service_not_ready', checks)
  return { status: 'ready', ...checks, ...(maySeeLocation(call, parts) ? { db_path: parts.database.location } : {}) }
}

/**
 * GET /readyz beside a management listener
 * Yes or no, for balancers; the checks are told on the other listener.
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

/** What proxies add: with one of them the caller may be anywhere, although the proxy is on this machine. */
const PROXY_HEADERS = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'] as const

/** `?for=reads`: whether public documents can be had here. Any other value asks for everything, as no value does. */
function isAboutReads(call: Call): boolean {
  return call.query.first('for') === 'reads'
}

async function readsOrRefuse(parts: HealthState): Promise<JsonObject> {
  const reasons = await whyNoReads(parts)
  if (reasons.length > 0) throw new Refusal('service_not_ready', { reasons: [...reasons] })
  return { status: 'ready', for: 'reads' }
}

/** User and host of the database are no business of strangers: only who is on this machine or inside learns them. */
function maySeeLocation({ remoteAddress, headers }: Call, { settings }: HealthParts): boolean {
  if (settings.managementPort !== undefined) return true
  if (!remoteAddress.startsWith('127.') && remoteAddress !== '::1') return false
  // Behind proxies that were named the address is the caller's own.
  return settings.proxyHops > 0 || PROXY_HEADERS.every((name) => headers.all(name).length === 0)
}

import { COMMANDS, mapSurfaces } from '@chancery/contract'
import { type JsonObject, asJson } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { ReferenceParts } from './parts.ts'

/**
 * GET /surfaces
 * Returns every route of this instance and every command, grouped by permitted caller.
 */
export function surfaces(_call: Call, parts: ReferenceParts): JsonObject {
  const { network_name, network_version } = parts.network.genesis
  const map = mapSurfaces(parts.listRoutes(), COMMANDS, (limiter) => parts.limits.perMinute[limiter])
  return { network: network_name, version: network_version, ...asJson(map) }
}

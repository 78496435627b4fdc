import { COMMANDS, mapSurfaces } from '@chancery/contract'
import { asJson } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'

/**
 * GET /surfaces
 * Every route this instance serves and every command, grouped by who may use it.
 */
export function surfaces(_call: Call, office: Office): JsonObject {
  const { network_name, network_version } = office.genesis
  const map = mapSurfaces(office.routes, COMMANDS, (limiter) => office.settings.limits[limiter])
  return { network: network_name, version: network_version, ...asJson(map) }
}

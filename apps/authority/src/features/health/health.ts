import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { HealthState } from './state.ts'
import type { HealthParts } from './parts.ts'
import { inTime } from './in-time.ts'

/**
 * GET /health
 * How the authority is, why, and what is switched on, for people and monitors. Always 200: what is wrong is the answer.
 */
export async function health(_call: Call, parts: HealthState): Promise<JsonObject> {
  const { genesis, settings } = parts
  const [{ status, reasons }, isHealthy] = await Promise.all([parts.reports.read(), isSetHealthy(parts)])
  return {
    status,
    reasons,
    network: genesis.network_name,
    version: genesis.network_version,
    boundary_policies: isHealthy ? 'healthy' : 'unhealthy',
    boundary_policy_enforcement: settings.boundaryPolicyEnforcement,
    evidence_store: settings.evidenceStore ? 'on' : 'off',
  }
}

/** A set that cannot be read decides nothing, and says so here instead of hiding the whole answer. */
async function isSetHealthy(parts: HealthParts): Promise<boolean> {
  try {
    return (await inTime(parts.boundaryPolicies.describe())).healthy
  } catch (error) {
    parts.log.error('the boundary policies could not be read', { error })
    return false
  }
}

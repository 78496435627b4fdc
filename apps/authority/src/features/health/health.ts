import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { HealthState } from './state.ts'
import type { HealthParts } from './parts.ts'
import { inTime } from './in-time.ts'

/**
 * GET /health
 * Returns the health of the authority, the reasons, and what is enabled. Always 200: problems are in the body.
 */
export async function health(_call: Call, parts: HealthState): Promise<JsonObject> {
  const { network, settings } = parts
  const [{ status, reasons }, isHealthy] = await Promise.all([parts.reports.read(), isSetHealthy(parts)])
  return {
    status,
    reasons,
    network: network.name,
    version: network.genesis.network_version,
    boundary_policies: isHealthy ? 'healthy' : 'unhealthy',
    boundary_policy_enforcement: settings.boundaryPolicyEnforcement,
    evidence_store: settings.evidenceStore ? 'on' : 'off',
  }
}

/** Policies that cannot be read are reported here and do not fail the whole response. */
async function isSetHealthy(parts: HealthParts): Promise<boolean> {
  try {
    return (await inTime(parts.boundaryPolicies.describe())).healthy
  } catch (error) {
    parts.log.error('cannot read the boundary policies', { error })
    return false
  }
}

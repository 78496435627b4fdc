import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { describePolicySet } from '../boundary-policies/index.ts'
import { inTime } from './in-time.ts'

/**
 * GET /health
 * How the authority is, why, and what is switched on, for people and monitors. Always 200: what is wrong is the answer.
 */
export async function health(_call: Call, office: Office): Promise<JsonObject> {
  const { genesis, settings } = office
  const [{ status, reasons }, isHealthy] = await Promise.all([office.health.read(), isSetHealthy(office)])
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
async function isSetHealthy(office: Office): Promise<boolean> {
  try {
    return (await inTime(describePolicySet(office))).healthy
  } catch (error) {
    office.log.error('the boundary policies could not be read', { error })
    return false
  }
}

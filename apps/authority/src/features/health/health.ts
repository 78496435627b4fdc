import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { describePolicySet } from '../boundary-policies/index.ts'

/**
 * GET /health
 * What is switched on, for people and monitors.
 */
export async function health(_call: Call, office: Office): Promise<JsonObject> {
  const { genesis, settings } = office
  return {
    status: 'healthy',
    network: genesis.network_name,
    version: genesis.network_version,
    boundary_policies: (await isSetHealthy(office)) ? 'healthy' : 'unhealthy',
    boundary_policy_enforcement: settings.boundaryPolicyEnforcement,
    evidence_store: settings.evidenceStore ? 'on' : 'off',
  }
}

/** A set that cannot be read decides nothing, and says so here instead of hiding the whole answer. */
async function isSetHealthy(office: Office): Promise<boolean> {
  try {
    return (await describePolicySet(office)).healthy
  } catch (error) {
    office.log.error('the boundary policies could not be read', { error })
    return false
  }
}

import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'

/**
 * GET /health
 * What is switched on, for people and monitors.
 */
export function health(_call: Call, { genesis, settings }: Office): JsonObject {
  return {
    status: 'healthy',
    network: genesis.network_name,
    version: genesis.network_version,
    // No policy can be stored yet, and an empty set has no problem; boundary policies bring the real check.
    boundary_policies: 'healthy',
    boundary_policy_enforcement: settings.boundaryPolicyEnforcement,
    evidence_store: settings.evidenceStore ? 'on' : 'off',
  }
}

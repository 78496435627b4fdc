import { type Finding, skipped } from '@chancery/service-kit'
import { checkDisk } from './check-disk.ts'
import { checkLists } from './check-lists.ts'
import { checkNodes } from './check-nodes.ts'
import { checkOperatorKeys } from './check-operators.ts'
import { checkPartners } from './check-partners.ts'
import { checkPolicies } from './check-policies.ts'
import { checkAnchors, checkBackup, checkInstances } from './check-storage.ts'
import type { CheckedNetwork } from './parts.ts'

const UNKNOWN = 'they could not be read or counted now'

/**
 * Checks the state of a network in its database. `chancery doctor` and the console report the same findings, because
 * both run this function.
 */
export async function checkNetwork(network: CheckedNetwork): Promise<readonly Finding[]> {
  const { policies, nodes, now, probeCedar } = network
  return [
    ...(await checkLists(network)),
    ...(await checkPartners(network)),
    ...(policies === undefined ? [skipped('policies', UNKNOWN)] : await checkPolicies(policies, now, probeCedar)),
    ...(nodes === undefined ? [skipped('nodes-silent', UNKNOWN)] : await checkNodes(nodes, network)),
    ...(await checkAnchors(network)),
    await checkBackup(network),
    ...(await checkDisk(network)),
    ...(await checkOperatorKeys(network)),
    ...(await checkInstances(network)),
  ]
}

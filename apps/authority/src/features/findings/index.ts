import { findings } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { list } from './list.ts'
import type { FindingsParts } from './check-lists.ts'

export type { CheckedNetwork } from './check-lists.ts'

export { denialFindings, partnerFindings } from './check-partners.ts'
export { policyProblems } from './check-policies.ts'
export { NETWORK, checkWindow } from './list.ts'

/** What needs attention, for doctor and for the console. */
export function openFindings(parts: FindingsParts): Feature {
  return { routes: [bind(findings.list, (call) => list(call, parts))], jobs: [], close: () => Promise.resolve() }
}

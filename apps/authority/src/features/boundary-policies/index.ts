export type { ActivePolicies } from './active-set.ts'
export { describePolicySet } from './policy-health.ts'
export type { PolicySetView } from './policy-health.ts'

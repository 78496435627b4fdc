export type { ActivePolicies } from './active-set.ts'
export { describePolicySet } from './policy-health.ts'

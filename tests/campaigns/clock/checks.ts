import { ACCESS_CHECKS } from './access-checks.ts'
import type { Check } from './check.ts'
import { DATING_CHECKS } from './dating-checks.ts'
import { NODE_CHECKS } from './node-checks.ts'
import { RECORD_CHECKS } from './record-checks.ts'
import { TRUST_CHECKS } from './trust-checks.ts'
import { CLOCK_CHECK_CHECKS } from './clock-check-checks.ts'

/** Every rule that depends on time. The checks are independent of each other. */
export const CHECKS: readonly Check[] = [
  ...ACCESS_CHECKS,
  ...NODE_CHECKS,
  ...DATING_CHECKS,
  ...TRUST_CHECKS,
  ...RECORD_CHECKS,
  ...CLOCK_CHECK_CHECKS,
]

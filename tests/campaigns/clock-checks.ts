import { ACCESS_CHECKS } from './clock-access-checks.ts'
import type { Check } from './clock-check.ts'
import { DATING_CHECKS } from './clock-dating-checks.ts'
import { NODE_CHECKS } from './clock-node-checks.ts'
import { PAPER_CHECKS } from './clock-paper-checks.ts'
import { TRUST_CHECKS } from './clock-trust-checks.ts'
import { WATCH_CHECKS } from './clock-watch-checks.ts'

/** Every rule in which time decides; none looks at what another did. */
export const CHECKS: readonly Check[] = [
  ...ACCESS_CHECKS,
  ...NODE_CHECKS,
  ...DATING_CHECKS,
  ...TRUST_CHECKS,
  ...PAPER_CHECKS,
  ...WATCH_CHECKS,
]

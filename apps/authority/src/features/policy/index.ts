import type { Feature } from '../../core.ts'
import type { Transaction } from '../../database/database.ts'
import { servePolicy } from './current.ts'
import type { PolicyParts } from './parts.ts'
import { policyRoutes } from './routes.ts'
import { signPolicyAgain } from './sign-again.ts'

export interface Policy extends Feature {
  /** Reads the current policy, and caches it. */
  readonly serveCurrent: () => Promise<unknown>
  signPolicyAgain(tx: Transaction): Promise<void>
}

export function openPolicy(parts: PolicyParts): Policy {
  return {
    routes: policyRoutes(parts),
    jobs: [],
    serveCurrent: () => servePolicy(parts, {}),
    signPolicyAgain: (tx) => signPolicyAgain(tx, parts),
    close: () => Promise.resolve(),
  }
}

import { policy } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import { bindRead } from '../../auth/replica-routes.ts'
import { history } from './history.ts'
import { publish } from './publish.ts'
import { rollback } from './rollback.ts'
import type { Feature } from '../../core.ts'
import type { Transaction } from '../../database/database.ts'
import { current, servePolicy } from './current.ts'
import type { PolicyParts } from './parts.ts'
import { signPolicyAgain } from './sign-again.ts'

export interface Policy extends Feature {
  /** Reads the current policy, and caches it. */
  readonly serveCurrent: () => Promise<unknown>
  signPolicyAgain(tx: Transaction): Promise<void>
}

export function openPolicy(parts: PolicyParts): Policy {
  return {
    routes: [
      bind(policy.current, (call) => current(call, parts)),
      bindRead(policy.history, parts, (call, database) => history(call, { ...parts, database })),
      bind(policy.publish, (call) => publish(call, parts)),
      bind(policy.rollback, (call) => rollback(call, parts)),
    ],
    jobs: [],
    serveCurrent: () => servePolicy(parts, {}),
    signPolicyAgain: (tx) => signPolicyAgain(tx, parts),
    close: () => Promise.resolve(),
  }
}

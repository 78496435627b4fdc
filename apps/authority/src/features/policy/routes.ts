import { policy } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { PolicyParts } from './parts.ts'
import { current } from './current.ts'
import { history } from './history.ts'
import { publish } from './publish.ts'
import { rollback } from './rollback.ts'

export function policyRoutes(parts: PolicyParts): readonly Binding[] {
  return [
    bind(policy.current, (call) => current(call, parts)),
    bind(policy.history, (call) => history(call, parts)),
    bind(policy.publish, (call) => publish(call, parts)),
    bind(policy.rollback, (call) => rollback(call, parts)),
  ]
}

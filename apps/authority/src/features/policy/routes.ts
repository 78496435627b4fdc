import { policy } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { current } from './current.ts'
import { history } from './history.ts'
import { publish } from './publish.ts'
import { rollback } from './rollback.ts'

export const policyRoutes: readonly Binding<Office>[] = [
  bind(policy.current, current),
  bind(policy.history, history),
  bind(policy.publish, publish),
  bind(policy.rollback, rollback),
]

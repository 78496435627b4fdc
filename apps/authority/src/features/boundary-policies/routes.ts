import { boundaryPolicies } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { activate } from './activate.ts'
import { active } from './active.ts'
import { deactivate } from './deactivate.ts'
import { history } from './history.ts'
import { list } from './list.ts'
import { publish } from './publish.ts'
import { simulate } from './simulate.ts'
import { validate } from './validate.ts'
import { verify } from './verify.ts'

export const boundaryPolicyRoutes: readonly Binding<Office>[] = [
  bind(boundaryPolicies.validate, validate),
  bind(boundaryPolicies.simulate, simulate),
  bind(boundaryPolicies.publish, publish),
  bind(boundaryPolicies.activate, activate),
  bind(boundaryPolicies.deactivate, deactivate),
  bind(boundaryPolicies.list, list),
  bind(boundaryPolicies.active, active),
  bind(boundaryPolicies.history, history),
  bind(boundaryPolicies.verify, verify),
]

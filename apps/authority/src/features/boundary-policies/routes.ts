import { boundaryPolicies } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { BoundaryPoliciesState } from './state.ts'
import { activate } from './activate.ts'
import { active } from './active.ts'
import { deactivate } from './deactivate.ts'
import { history } from './history.ts'
import { list } from './list.ts'
import { publish } from './publish.ts'
import { simulate } from './simulate.ts'
import { validate } from './validate.ts'
import { verify } from './verify.ts'

export function boundaryPolicyRoutes(parts: BoundaryPoliciesState): readonly Binding<unknown>[] {
  return [
    bind(boundaryPolicies.validate, (call) => validate(call, parts)),
    bind(boundaryPolicies.simulate, (call) => simulate(call, parts)),
    bind(boundaryPolicies.publish, (call) => publish(call, parts)),
    bind(boundaryPolicies.activate, (call) => activate(call, parts)),
    bind(boundaryPolicies.deactivate, (call) => deactivate(call, parts)),
    bind(boundaryPolicies.list, (call) => list(call, parts)),
    bind(boundaryPolicies.active, (call) => active(call, parts)),
    bind(boundaryPolicies.history, (call) => history(call, parts)),
    bind(boundaryPolicies.verify, (call) => verify(call, parts)),
  ]
}

import { operatorKeys } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { OperatorKeysParts } from './parts.ts'
import { activity } from './activity.ts'
import { revoke } from './revoke.ts'

export function operatorKeyRoutes(parts: OperatorKeysParts): readonly Binding<unknown>[] {
  return [
    bind(operatorKeys.revoke, (call) => revoke(call, parts)),
    bind(operatorKeys.activity, (call) => activity(call, parts)),
  ]
}

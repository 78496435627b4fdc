import { operatorKeys } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { activity } from './activity.ts'
import { list } from './list.ts'
import type { OperatorKeysParts } from './parts.ts'
import { forRevocations } from '../../database/room/for-revocations.ts'
import { revoke } from './revoke.ts'
import { whoami } from './whoami.ts'

export function openOperatorKeys(parts: OperatorKeysParts): Feature {
  return {
    routes: [
      bind(operatorKeys.revoke, (call) => revoke(call, forRevocations(parts))),
      bind(operatorKeys.activity, (call) => activity(call, parts)),
      bind(operatorKeys.list, (call) => list(call, parts)),
      bind(operatorKeys.whoami, (call) => whoami(call, parts)),
    ],
    jobs: [],
    close: () => Promise.resolve(),
  }
}

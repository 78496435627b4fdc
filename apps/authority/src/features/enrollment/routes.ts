import { enrollment } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { heartbeat } from './heartbeat.ts'
import { inviteBatch } from './invite-batch.ts'
import { inviteList } from './invite-list.ts'
import { inviteWithdraw } from './invite-withdraw.ts'
import { invite } from './invite.ts'
import { join } from './join.ts'
import { nodes } from './nodes.ts'
import { renew } from './renew.ts'

export const enrollmentRoutes: readonly Binding<Office>[] = [
  bind(enrollment.invite, invite),
  bind(enrollment.inviteBatch, inviteBatch),
  bind(enrollment.inviteList, inviteList),
  bind(enrollment.inviteWithdraw, inviteWithdraw),
  bind(enrollment.join, join),
  bind(enrollment.heartbeat, heartbeat),
  bind(enrollment.renew, renew),
  bind(enrollment.nodes, nodes),
]

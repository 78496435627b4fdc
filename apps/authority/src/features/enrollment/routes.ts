import { enrollment } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { EnrollmentState } from './state.ts'
import { certificates } from './certificates.ts'
import { heartbeat } from './heartbeat.ts'
import { inviteBatch } from './invite-batch.ts'
import { inviteList } from './invite-list.ts'
import { inviteWithdraw } from './invite-withdraw.ts'
import { invite } from './invite.ts'
import { join } from './join.ts'
import { labelNode } from './label-node.ts'
import { nodes } from './nodes.ts'
import { renew } from './renew.ts'

export function enrollmentRoutes(parts: EnrollmentState): readonly Binding[] {
  return [
    bind(enrollment.invite, (call) => invite(call, parts)),
    bind(enrollment.inviteBatch, (call) => inviteBatch(call, parts)),
    bind(enrollment.inviteList, (call) => inviteList(call, parts)),
    bind(enrollment.inviteWithdraw, (call) => inviteWithdraw(call, parts)),
    bind(enrollment.join, (call) => join(call, parts)),
    bind(enrollment.heartbeat, (call) => heartbeat(call, parts)),
    bind(enrollment.renew, (call) => renew(call, parts)),
    bind(enrollment.nodes, (call) => nodes(call, parts)),
    bind(enrollment.certificates, (call) => certificates(call, parts)),
    bind(enrollment.labelNode, (call) => labelNode(call, parts)),
  ]
}

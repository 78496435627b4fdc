import { readApprovalConfig } from '../../approvals/approval-rule.ts'
import { runApproval } from '../../approvals/approval-step.ts'
import type { GateType } from './gate.ts'

/** A person must approve the request first (protocol/approvals). */
export const approval: GateType = {
  name: 'approval.v1',
  prepare(config) {
    const rule = readApprovalConfig(config)
    return (facts, situation) => runApproval(rule, facts, situation)
  },
  prepareApproval: readApprovalConfig,
  runsLast: true,
}

import { authorityCommands, gatewayCommands, operatorCommands } from './authority.ts'
import { approvalCommands } from './approvals.ts'
import { budgetCommands } from './budgets.ts'
import type { Command } from './command.ts'
import { decisionCommands, policyCommands } from './decisions.ts'
import { agentCommands, attestationCommands, inviteCommands, nodeCommands } from './members.ts'
import { agreementCommands, partnerCommands, treatyCommands } from './partners.ts'
import { evidenceCommands, recordCommands } from './records.ts'
import { genesisCommands, startCommands } from './start.ts'

/** Every command, in the order of help: first steps first. */
export const COMMANDS: readonly Command[] = [
  ...startCommands,
  ...inviteCommands,
  ...nodeCommands,
  ...agentCommands,
  ...attestationCommands,
  ...partnerCommands,
  ...treatyCommands,
  ...agreementCommands,
  ...decisionCommands,
  ...approvalCommands,
  ...budgetCommands,
  ...policyCommands,
  ...evidenceCommands,
  ...recordCommands,
  ...authorityCommands,
  ...gatewayCommands,
  ...operatorCommands,
  ...genesisCommands,
]

import { agentCommands } from './agents.ts'
import { authorityCommands } from './authority.ts'
import type { Command } from './command.ts'
import { completionCommands } from './completion.ts'
import { enrollmentCommands } from './enrollment.ts'
import { genesisCommands } from './genesis.ts'
import { initCommands } from './init.ts'
import { keygenCommands } from './keygen.ts'
import { networkPolicyCommands } from './network-policy.ts'
import { operatorCommands } from './operator.ts'

/** Every command, in the order help lists them: first steps first. */
export const COMMANDS: readonly Command[] = [
  ...initCommands,
  ...keygenCommands,
  ...genesisCommands,
  ...authorityCommands,
  ...enrollmentCommands,
  ...agentCommands,
  ...operatorCommands,
  ...networkPolicyCommands,
  ...completionCommands,
]

import { agentCommands } from './agents.ts'
import { attestationCommands } from './attestations.ts'
import { authorityCommands } from './authority.ts'
import type { Command } from './command.ts'
import { completionCommands } from './completion.ts'
import { enrollmentCommands } from './enrollment.ts'
import { federationCommands } from './federation.ts'
import { genesisCommands } from './genesis.ts'
import { initCommands } from './init.ts'
import { keygenCommands } from './keygen.ts'
import { networkPolicyCommands } from './network-policy.ts'
import { operatorCommands } from './operator.ts'
import { treatyCommands } from './recognition-treaties.ts'
import { feedCommands } from './revocation-feeds.ts'

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
  ...attestationCommands,
  ...treatyCommands,
  ...feedCommands,
  ...federationCommands,
  ...completionCommands,
]

import { admissionCommands } from './admission.ts'
import { agentCommands } from './agents.ts'
import { agreementCommands } from './agreements.ts'
import { attestationCommands } from './attestations.ts'
import { auditCommands } from './audit.ts'
import { authorityCommands } from './authority.ts'
import { authzenCommands } from './authzen.ts'
import { boundaryCommands } from './boundary.ts'
import { boundaryPolicyCommands } from './boundary-policies.ts'
import type { Command } from './command.ts'
import { completionCommands } from './completion.ts'
import { consensusCommands } from './consensus.ts'
import { dataUsageCommands } from './data-usage.ts'
import { disclosureCommands } from './disclosure.ts'
import { demoCommands } from './demo.ts'
import { enrollmentCommands } from './enrollment.ts'
import { doctorCommands } from './doctor.ts'
import { evidenceCommands } from './evidence.ts'
import { executorKeyCommands } from './executor-keys.ts'
import { federationCommands } from './federation.ts'
import { gatewayCommands } from './gateway.ts'
import { genesisCommands } from './genesis.ts'
import { historyCommands } from './history.ts'
import { initCommands } from './init.ts'
import { keygenCommands } from './keygen.ts'
import { mcpCommands } from './mcp.ts'
import { networkPolicyCommands } from './network-policy.ts'
import { operatorCommands } from './operator.ts'
import { partnerCommands } from './partners.ts'
import { profileCommands, versionCommands } from './profile.ts'
import { recognitionPolicyCommands } from './recognition-policy.ts'
import { treatyCommands } from './recognition-treaties.ts'
import { releaseCommands } from './release.ts'
import { feedCommands } from './revocation-feeds.ts'
import { trustEvidenceCommands } from './trust-evidence.ts'
import { verifyCommands } from './verify.ts'
import { witCommands } from './wit.ts'

/** Every command, in the order help lists them: first steps first. */
export const COMMANDS: readonly Command[] = [
  ...initCommands,
  ...demoCommands,
  ...profileCommands,
  ...keygenCommands,
  ...genesisCommands,
  ...authorityCommands,
  ...doctorCommands,
  ...auditCommands,
  ...enrollmentCommands,
  ...admissionCommands,
  ...agentCommands,
  ...witCommands,
  ...operatorCommands,
  ...networkPolicyCommands,
  ...recognitionPolicyCommands,
  ...attestationCommands,
  ...treatyCommands,
  ...feedCommands,
  ...federationCommands,
  ...partnerCommands,
  ...agreementCommands,
  ...boundaryCommands,
  ...mcpCommands,
  ...boundaryPolicyCommands,
  ...trustEvidenceCommands,
  ...disclosureCommands,
  ...consensusCommands,
  ...dataUsageCommands,
  ...verifyCommands,
  ...historyCommands,
  ...gatewayCommands,
  ...authzenCommands,
  ...evidenceCommands,
  ...executorKeyCommands,
  ...releaseCommands,
  ...completionCommands,
  ...versionCommands,
]

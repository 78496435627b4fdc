import type { Command } from './command.ts'

type Load = () => Promise<readonly Command[]>

/** First words, and the table that has all their commands. */
const TABLES: readonly (readonly [words: string, load: Load])[] = [
  ['init up', async () => (await import('./keygen.ts')).initCommands],
  ['keygen', async () => (await import('./keygen.ts')).keygenCommands],
  ['genesis', async () => (await import('./genesis.ts')).genesisCommands],
  ['authority', async () => (await import('./authority.ts')).authorityCommands],
  ['doctor settings findings watch', async () => (await import('./command.ts')).doctorCommands],
  ['audit', async () => (await import('./audit.ts')).auditCommands],
  [
    'invite join status heartbeat renew node certs nodes revoke',
    async () => (await import('./enrollment.ts')).enrollmentCommands,
  ],
  ['admission', async () => (await import('./admission.ts')).admissionCommands],
  ['agent', async () => (await import('./agents.ts')).agentCommands],
  ['operator', async () => (await import('./operator.ts')).operatorCommands],
  ['recognition-policy', async () => (await import('./recognition-policy.ts')).recognitionPolicyCommands],
  ['attestation', async () => (await import('./attestations.ts')).attestationCommands],
  ['treaty', async () => (await import('./recognition-treaties.ts')).treatyCommands],
  ['feed', async () => (await import('./data-usage.ts')).feedCommands],
  ['sovereign trust federation', async () => (await import('./federation.ts')).federationCommands],
  ['partner', async () => (await import('./partners.ts')).partnerCommands],
  ['agreement', async () => (await import('./agreements.ts')).agreementCommands],
  ['decide evaluate ask', async () => (await import('./boundary.ts')).boundaryCommands],
  ['approval', async () => (await import('./approvals.ts')).approvalCommands],
  ['mcp', async () => (await import('./mcp.ts')).mcpCommands],
  ['boundary-policy', async () => (await import('./boundary-policies.ts')).boundaryPolicyCommands],
  ['budget', async () => (await import('./budgets.ts')).budgetCommands],
  ['trust-evidence', async () => (await import('./trust-evidence.ts')).trustEvidenceCommands],
  ['disclose', async () => (await import('./disclosure.ts')).disclosureCommands],
  ['consensus', async () => (await import('./consensus.ts')).consensusCommands],
  ['data-usage', async () => (await import('./data-usage.ts')).dataUsageCommands],
  ['verify', async () => (await import('./verify.ts')).verifyCommands],
  ['trusted', async () => (await import('./history.ts')).historyCommands],
  ['gateway cert canonical', async () => (await import('./gateway.ts')).gatewayCommands],
  ['authzen', async () => (await import('./authzen.ts')).authzenCommands],
  ['evidence', async () => (await import('./evidence.ts')).evidenceCommands],
  ['executor-key', async () => (await import('./executor-keys.ts')).executorKeyCommands],
]

/** The commands that begin with a word, for most words without the tables of the others; all when none begins so. */
export async function commandsOf(word: string | undefined): Promise<readonly Command[]> {
  const load = TABLES.find(([words]) => words.split(' ').some((each) => each === word))?.[1]
  const table = load === undefined ? (await import('./index.ts')).COMMANDS : await load()
  const own = table.filter(({ path }) => path[0] === word)
  return own.length === 0 ? table : own
}

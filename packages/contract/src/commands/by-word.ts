import type { Command } from './command.ts'

type Load = () => Promise<readonly Command[]>

/** First words, and the table that has all their commands. */
const TABLES: readonly (readonly [words: string, load: Load])[] = [
  [
    'demo init up down status logs use doctor settings keygen completion',
    async () => (await import('./start.ts')).startCommands,
  ],
  ['genesis', async () => (await import('./start.ts')).genesisCommands],
  ['join invite', async () => (await import('./members.ts')).inviteCommands],
  ['node', async () => (await import('./members.ts')).nodeCommands],
  ['agent', async () => (await import('./members.ts')).agentCommands],
  ['attestation', async () => (await import('./members.ts')).attestationCommands],
  ['partner', async () => (await import('./partners.ts')).partnerCommands],
  ['treaty', async () => (await import('./partners.ts')).treatyCommands],
  ['agreement', async () => (await import('./partners.ts')).agreementCommands],
  ['ask verify', async () => (await import('./decisions.ts')).decisionCommands],
  ['approval', async () => (await import('./approvals.ts')).approvalCommands],
  ['budget', async () => (await import('./budgets.ts')).budgetCommands],
  ['policy', async () => (await import('./decisions.ts')).policyCommands],
  ['evidence', async () => (await import('./records.ts')).evidenceCommands],
  ['record', async () => (await import('./records.ts')).recordCommands],
  ['authority', async () => (await import('./authority.ts')).authorityCommands],
  ['gateway', async () => (await import('./authority.ts')).gatewayCommands],
  ['operator', async () => (await import('./authority.ts')).operatorCommands],
]

/** The commands that begin with a word, for most words without the tables of the others; all when none begins so. */
export async function commandsOf(word: string | undefined): Promise<readonly Command[]> {
  const load = TABLES.find(([words]) => words.split(' ').some((each) => each === word))?.[1]
  const table = load === undefined ? (await import('./index.ts')).COMMANDS : await load()
  const own = table.filter(({ path }) => path[0] === word)
  return own.length === 0 ? table : own
}

import type { Command } from './command.ts'

export const boundaryCommands: readonly Command[] = [
  {
    path: ['decide'],
    summary: 'Decide a request on an agreement',
    description:
      'Asks the authority to allow or deny one use of a capability on the strength of an agreement alone, without ' +
      'policies, and prints the signed decision. Exits with a failure when it is denied.',
    arguments: [
      { name: 'agreement', summary: 'JSON file with the agreement.', required: true },
      { name: 'capability', summary: 'The capability that is asked for.', required: true },
    ],
    options: [
      { flags: '--context <file>', summary: 'JSON file with the context of the request.' },
      { flags: '--out <file>', summary: 'Write the signed decision to a new file.' },
    ],
    examples: [
      { line: 'chancery decide agreement.json ledger.read --out decision.json', summary: 'Good for five minutes.' },
    ],
    needs: 'operator',
  },
]

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
  {
    path: ['evaluate'],
    summary: 'Decide a request under the policies',
    description:
      'Asks the authority to allow or deny one use of a capability under the active boundary policies, and prints the ' +
      'signed decision with what every gate said. Exits with a failure when it is denied.',
    arguments: [{ name: 'capability', summary: 'The capability that is asked for.', required: true }],
    options: [
      { flags: '--agreement <file>', summary: 'Decide on this agreement: a JSON file.' },
      { flags: '--attestation <id>', summary: 'Decide on this attestation of the network.' },
      { flags: '--context <file>', summary: 'JSON or YAML file with the context of the request.' },
      { flags: '--out <file>', summary: 'Write decision and justification to a new file, for chancery verify.' },
    ],
    examples: [
      {
        line: 'chancery evaluate secret.rotate --attestation a77e57a7-0000-4000-8000-000000000001 --context ask.yaml',
        summary: 'On the strength of a membership.',
      },
    ],
    needs: 'operator',
  },
]

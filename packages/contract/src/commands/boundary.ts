import type { Command } from './command.ts'

export const boundaryCommands: readonly Command[] = [
  {
    path: ['decide'],
    summary: 'Decide a request on an agreement',
    description:
      'Asks the authority to allow or deny one use of a capability by an agreement alone, without policies. Prints the signed decision. Exit code 1 if the request is denied.',
    arguments: [
      { name: 'agreement', summary: 'JSON file with the agreement', required: true },
      { name: 'capability', summary: 'Requested capability', required: true },
    ],
    options: [
      { flags: '--context <file>', summary: 'JSON file with the context of the request' },
      { flags: '--out <file>', summary: 'Write the signed decision to a new file' },
    ],
    examples: [
      {
        line: 'chancery decide agreement.json ledger.read --out decision.json',
        summary: 'Write a decision that is valid for five minutes',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['evaluate'],
    summary: 'Decide a request under the policies',
    description:
      'Asks the authority to allow or deny one use of a capability under the active boundary policies. Prints the signed decision with the result of every gate. Exit code 1 if the request is denied.',
    arguments: [{ name: 'capability', summary: 'Requested capability', required: true }],
    options: [
      { flags: '--agreement <file>', summary: 'Agreement to use: a JSON file' },
      { flags: '--attestation <id>', summary: 'Attestation of this network to use' },
      { flags: '--context <file>', summary: 'JSON or YAML file with the context of the request' },
      { flags: '--out <file>', summary: 'Write decision and justification to a new file, for chancery verify' },
    ],
    examples: [
      {
        line: 'chancery evaluate secret.rotate --attestation a77e57a7-0000-4000-8000-000000000001 --context ask.yaml',
        summary: 'Decide a request of a member',
      },
    ],
    needs: 'operator',
  },
]

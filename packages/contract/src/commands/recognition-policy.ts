import type { Command } from './command.ts'

export const recognitionPolicyCommands: readonly Command[] = [
  {
    path: ['recognition-policy', 'show'],
    summary: 'Show the recognition policy',
    description:
      'Prints the active recognition policy: whose attestations this authority accepts without a treaty. It is a local document without signature.',
    arguments: [],
    options: [],
    examples: [{ line: 'chancery recognition-policy show', summary: 'Show the recognised issuers' }],
    needs: 'nothing',
  },
  {
    path: ['recognition-policy', 'publish'],
    summary: 'Set the recognition policy',
    description: 'Stores a recognition policy and makes it the only active one. Earlier versions stay in the store.',
    arguments: [{ name: 'file', summary: 'JSON file with the policy', required: true }],
    options: [
      { flags: '--policy-id <id>', summary: 'Id of the version; default: recognition- and the name of the network' },
      { flags: '--dry-run', summary: 'Show the policy, and change nothing' },
      { flags: '--yes', summary: 'Do not ask for confirmation' },
    ],
    examples: [{ line: 'chancery recognition-policy publish accept.json', summary: 'Show it, ask, then set it' }],
    needs: 'operator',
  },
]

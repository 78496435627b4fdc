import type { Command } from './command.ts'

export const networkPolicyCommands: readonly Command[] = [
  {
    path: ['network-policy', 'show'],
    summary: 'Show the network policy',
    description: 'Prints the active policy manifest, which anybody may read.',
    arguments: [],
    options: [{ flags: '--history', summary: 'List all stored versions instead; this needs an operator key.' }],
    examples: [
      { line: 'chancery network-policy show', summary: 'The active manifest.' },
      { line: 'chancery network-policy show --history --json', summary: 'All versions, for a program.' },
    ],
    needs: 'nothing',
  },
  {
    path: ['network-policy', 'publish'],
    summary: 'Publish a network policy',
    description: 'Sends a policy, which the authority signs and makes active.',
    arguments: [{ name: 'file', summary: 'JSON file with the fields of the policy.', required: true }],
    options: [],
    examples: [{ line: 'chancery network-policy publish policy.json', summary: 'Prints the signed manifest.' }],
    needs: 'operator',
  },
  {
    path: ['network-policy', 'rollback'],
    summary: 'Return to an earlier network policy',
    description: 'Makes a stored policy version the active one again.',
    arguments: [{ name: 'policy_id', summary: 'Id of the version, as the history lists it.', required: true }],
    options: [{ flags: '--yes', summary: 'Do not ask before acting.' }],
    examples: [{ line: 'chancery network-policy rollback policy-EXAMPLE-NET-v0.1', summary: 'Asks, then switches.' }],
    needs: 'operator',
  },
]

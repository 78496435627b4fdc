import type { Command } from './command.ts'

export const networkPolicyCommands: readonly Command[] = [
  {
    path: ['network-policy', 'show'],
    summary: 'Show the network policy',
    description: 'Prints the active policy manifest, which is public.',
    arguments: [],
    options: [{ flags: '--history', summary: 'List all stored versions; needs an operator key' }],
    examples: [
      { line: 'chancery network-policy show', summary: 'Show the active policy' },
      { line: 'chancery network-policy show --history --json', summary: 'List all versions in JSON' },
    ],
    needs: 'nothing',
  },
  {
    path: ['network-policy', 'publish'],
    summary: 'Publish a network policy',
    description: 'Sends a policy. The authority signs it and makes it active.',
    arguments: [{ name: 'file', summary: 'JSON file with the fields of the policy', required: true }],
    options: [],
    examples: [{ line: 'chancery network-policy publish policy.json', summary: 'Publish the policy and print it' }],
    needs: 'operator',
  },
  {
    path: ['network-policy', 'rollback'],
    summary: 'Activate an earlier network policy',
    description: 'Makes a stored policy version active again.',
    arguments: [{ name: 'policy_id', summary: 'Id of the version, as listed by show --history', required: true }],
    options: [{ flags: '--yes', summary: 'Do not ask for confirmation' }],
    examples: [{ line: 'chancery network-policy rollback policy-EXAMPLE-NET-v0.1', summary: 'Ask, then activate' }],
    needs: 'operator',
  },
]

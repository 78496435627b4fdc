import type { Command } from './command.ts'

export const operatorCommands: readonly Command[] = [
  {
    path: ['operator', 'revoke'],
    summary: 'Revoke an operator key',
    description: 'Ends an operator key for good. The last usable key cannot be revoked.',
    arguments: [{ name: 'key_id', summary: 'Id of the key to revoke.', required: true }],
    options: [
      { flags: '--reason <text>', summary: 'Why, for the audit trail.', default: 'unspecified' },
      { flags: '--yes', summary: 'Do not ask before acting.' },
    ],
    examples: [{ line: 'chancery operator revoke ops-2 --reason left-the-team', summary: 'Asks, then revokes.' }],
    needs: 'operator',
  },
]

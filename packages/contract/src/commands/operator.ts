import type { Command } from './command.ts'
import { REVOKING_OPTIONS } from './revoking.ts'

export const operatorCommands: readonly Command[] = [
  {
    path: ['operator', 'revoke'],
    summary: 'Revoke an operator key',
    description: 'Ends an operator key for good. The last usable key cannot be revoked.',
    arguments: [{ name: 'key_id', summary: 'Id of the key to revoke.', required: true }],
    options: [
      { flags: '--reason <text>', summary: 'Why, for the audit trail.', default: 'unspecified' },
      ...REVOKING_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery operator revoke ops-2 --reason left-the-team',
        summary: 'Shows what follows, asks, then revokes.',
      },
    ],
    needs: 'operator',
  },
]

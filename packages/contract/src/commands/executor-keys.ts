import type { Command } from './command.ts'

export const executorKeyCommands: readonly Command[] = [
  {
    path: ['executor-key', 'register'],
    summary: 'Register an executor key',
    description: 'Allows a key to sign execution evidence for one executor. The key id can never be used again.',
    arguments: [{ name: 'id', summary: 'Key id', required: true }],
    options: [
      { flags: '--public-key <key>', summary: 'The key: a .pub file or base64', required: true },
      { flags: '--executor <id>', summary: 'Executor that owns the key', required: true },
    ],
    examples: [
      {
        line: 'chancery executor-key register rotator-1 --public-key rotator.pub --executor rotator',
        summary: 'Register a key of the executor rotator',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['executor-key', 'retire'],
    summary: 'Retire an executor key',
    description: 'Refuses new evidence signed with the key. Earlier evidence stays verifiable.',
    arguments: [{ name: 'id', summary: 'Key id', required: true }],
    options: [{ flags: '--yes', summary: 'Do not ask for confirmation' }],
    examples: [{ line: 'chancery executor-key retire rotator-1', summary: 'Ask, then retire' }],
    needs: 'operator',
  },
  {
    path: ['executor-key', 'list'],
    summary: 'List executor keys',
    description: 'Lists all executor keys, including retired ones.',
    arguments: [],
    options: [],
    examples: [
      { line: 'chancery executor-key list --json', summary: 'List the keys for evidence verify --executor-keys' },
    ],
    needs: 'operator',
  },
]

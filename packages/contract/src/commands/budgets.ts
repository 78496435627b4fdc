import { type Command, LIST_OPTIONS } from './command.ts'

export const budgetCommands: readonly Command[] = [
  {
    path: ['budget', 'list'],
    summary: 'List budgets',
    description: 'Lists the counters of budgets with an open window: limit, use, what is reserved and what is left.',
    arguments: [],
    options: [
      { flags: '--source <source>', summary: 'Only of policy:POLICY/GATE or treaty:PARTNER/BUDGET' },
      { flags: '--requester <sovereign>', summary: 'Only counters that this requester used first' },
      {
        flags: '--state <state>',
        summary: 'Only counters in this state',
        choices: ['open', 'warning', 'exhausted'],
      },
      ...LIST_OPTIONS,
    ],
    examples: [
      { line: 'chancery budget list', summary: 'Counters by source' },
      { line: 'chancery budget list --state exhausted', summary: 'Counters at their limit' },
    ],
    needs: 'operator',
  },
  {
    path: ['budget', 'show'],
    summary: 'Show a budget',
    description: 'Prints one counter, and the newest 100 decisions that used it.',
    arguments: [{ name: 'key', summary: 'Key of the counter, from budget list', required: true }],
    options: [],
    examples: [
      {
        line: 'chancery budget show 09b5a2fae0abb4e3e40d6785384d43c338635b3664b7096427928af046a79238',
        summary: 'Who used it, and for how much',
      },
    ],
    needs: 'operator',
  },
]

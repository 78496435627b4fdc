import type { Command } from './command.ts'

export const evidenceHistoryCommands: readonly Command[] = [
  {
    path: ['evidence', 'submit'],
    summary: 'Submit execution evidence',
    description:
      'Sends signed execution evidence, which an executor made with a registered key. The record proves who signed it, so no operator key is needed. The same record twice is stored once.',
    arguments: [{ name: 'file', summary: 'JSON file with the record', required: true }],
    options: [],
    examples: [{ line: 'chancery evidence submit execution.json', summary: 'Store what an executor did' }],
    needs: 'nothing',
  },
  {
    path: ['evidence', 'resource'],
    summary: 'Show the history of a resource',
    description:
      'Lists the decisions and executions of one resource in store order, and what the authority says about their verification. To verify them without the authority, use evidence export and evidence verify. Exit code 1 if the authority found a failure.',
    arguments: [{ name: 'id', summary: 'Id of the resource', required: true }],
    options: [],
    examples: [{ line: 'chancery evidence resource invoice-17', summary: 'Show what was done with a resource' }],
    needs: 'operator',
  },
  {
    path: ['evidence', 'vendor'],
    summary: 'Show the history of a vendor',
    description:
      'Lists the decisions about one vendor and their executions in store order, and what the authority says about their verification. To verify them without the authority, use evidence export and evidence verify. Exit code 1 if the authority found a failure.',
    arguments: [{ name: 'id', summary: 'Id of the vendor', required: true }],
    options: [],
    examples: [{ line: 'chancery evidence vendor vendor-1 --json', summary: 'Print the entries as stored' }],
    needs: 'operator',
  },
]

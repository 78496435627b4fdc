import type { Command } from './command.ts'

export const dataUsageCommands: readonly Command[] = [
  {
    path: ['data-usage', 'show'],
    summary: 'Show the active data license',
    description: 'Prints what this sovereign lets its data be used for. Anybody may read it.',
    arguments: [],
    options: [{ flags: '--out <file>', summary: 'Write the signed policy to a new file.' }],
    examples: [{ line: 'chancery data-usage show', summary: 'The active policy.' }],
    needs: 'nothing',
  },
  {
    path: ['data-usage', 'policy'],
    summary: 'Publish a data license',
    description: 'Sends the terms of a data license, which the authority signs and makes the only active one.',
    arguments: [{ name: 'file', summary: 'JSON file with the terms.', required: true }],
    options: [{ flags: '--out <file>', summary: 'Write the signed policy to a new file.' }],
    examples: [{ line: 'chancery data-usage policy license.json', summary: 'Prints the signed policy.' }],
    needs: 'operator',
  },
  {
    path: ['data-usage', 'intent'],
    summary: 'Declare a use of data',
    description: 'Has the authority sign which sources will be used and how. An intent lives for five minutes.',
    arguments: [{ name: 'file', summary: 'JSON file with sources and access_types.', required: true }],
    options: [{ flags: '--out <file>', summary: 'Write the signed intent to a new file.' }],
    examples: [
      { line: 'chancery data-usage intent use.json --out intent.json', summary: 'To be shown to the licensor.' },
    ],
    needs: 'operator',
  },
  {
    path: ['data-usage', 'verify'],
    summary: 'Verify a declared use of data',
    description: 'Lists everything an intent does that its license does not allow, and exits with a failure then.',
    arguments: [{ name: 'intent', summary: 'JSON file with the intent.', required: true }],
    options: [
      { flags: '--policy <file>', summary: 'JSON file with the license; else the active one of the authority.' },
      {
        flags: '--agent-key <key>',
        summary: 'Key of the agent: a .pub file or base64; else that of the authority.',
        repeatable: true,
      },
      { flags: '--licensor-key <key>', summary: 'Key the license must be signed by.', repeatable: true },
    ],
    examples: [
      {
        line: 'chancery data-usage verify intent.json --agent-key agent.pub',
        summary: 'Against the active license of the authority.',
      },
    ],
    needs: 'nothing',
  },
]

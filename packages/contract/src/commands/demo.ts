import type { Command } from './command.ts'

export const demoCommands: readonly Command[] = [
  {
    path: ['demo'],
    summary: 'Run a network to look at',
    description:
      'Makes a network in an empty folder, starts its authority and fills it: two other sovereigns and more, nodes, ' +
      'agents, treaties, attestations, policies and decisions. Keys and names are the same each time and known to ' +
      'everybody, so it is for looking only. It runs until it is stopped.',
    arguments: [],
    options: [
      { flags: '--home <dir>', summary: 'Empty folder for the network.', default: './demo' },
      { flags: '--port <n>', summary: 'Port the authority listens on, on this machine only.', default: '8443' },
      { flags: '--nodes <n>', summary: 'How many nodes join, 1 to 2000.', default: '200' },
    ],
    examples: [{ line: 'chancery demo --home ./demo', summary: 'Then open http://127.0.0.1:8443/ in a browser.' }],
    needs: 'nothing',
  },
]

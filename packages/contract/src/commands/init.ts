import type { Command } from './command.ts'

export const initCommands: readonly Command[] = [
  {
    path: ['init'],
    summary: 'Make a new network',
    description: 'Makes keys, a signed genesis block and a configuration file for a new network in one folder.',
    arguments: [],
    options: [
      // Not required: on a terminal init asks for the two; elsewhere it says which one is missing.
      { flags: '--home <dir>', summary: 'Folder for keys, genesis block, database and configuration.' },
      { flags: '--network <name>', summary: 'Name of the network; it is also the sovereign id.' },
      { flags: '--port <n>', summary: 'Port the authority will listen on.', default: '8443' },
      { flags: '--host <address>', summary: 'Address the authority will listen on.', default: '127.0.0.1' },
      { flags: '--force', summary: 'Move an earlier network in this folder aside, keys included, and start afresh.' },
    ],
    examples: [{ line: 'chancery init --home ./na --network EXAMPLE-NET', summary: 'A network on this machine.' }],
    needs: 'nothing',
  },
]

import type { Command } from './command.ts'

export const initCommands: readonly Command[] = [
  {
    path: ['init'],
    summary: 'Create a network',
    description: 'Creates keys, a signed genesis block and a configuration file for a new network in one folder.',
    arguments: [],
    options: [
      // Not required: on a terminal init asks for the two; elsewhere it reports the missing one.
      { flags: '--home <dir>', summary: 'Folder for keys, genesis block, database and configuration' },
      { flags: '--network <name>', summary: 'Name of the network; also its sovereign id' },
      { flags: '--port <n>', summary: 'Port of the authority', default: '8443' },
      { flags: '--host <address>', summary: 'Listening address of the authority', default: '127.0.0.1' },
      {
        flags: '--force',
        summary: 'Move an earlier network in this folder aside, including its keys, and create a new one',
      },
    ],
    examples: [
      { line: 'chancery init --home ./na --network EXAMPLE-NET', summary: 'Create a network on this machine' },
    ],
    needs: 'nothing',
  },
]

import type { Command } from './command.ts'

export const initCommands: readonly Command[] = [
  {
    path: ['init'],
    summary: 'Make a new network',
    description: 'Makes keys, a signed genesis block and a configuration file for a new network in one folder.',
    arguments: [],
    options: [
      { flags: '--home <dir>', summary: 'Folder for keys, genesis block, database and configuration.', required: true },
      { flags: '--network <name>', summary: 'Name of the network; it is also the sovereign id.', required: true },
      { flags: '--port <n>', summary: 'Port the authority will listen on.', default: '8443' },
      { flags: '--host <address>', summary: 'Address the authority will listen on.', default: '127.0.0.1' },
      { flags: '--force', summary: 'Replace files of an earlier run, keys included.' },
    ],
    examples: [{ line: 'chancery init --home ./na --network EXAMPLE-NET', summary: 'A network on this machine.' }],
    needs: 'nothing',
  },
]

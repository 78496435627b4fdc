import type { Command } from './command.ts'

export const profileCommands: readonly Command[] = [
  {
    path: ['use'],
    summary: 'Choose the network of later commands',
    description:
      'Stores the folder of an authority or node as the default, so that later commands need no --config. Without a folder it prints the configuration in use. --config, CHANCERY_CONFIG and ./chancery.toml take precedence.',
    arguments: [{ name: 'dir', summary: 'Folder with chancery.toml, written by init or join', required: false }],
    options: [{ flags: '--none', summary: 'Remove the default' }],
    examples: [
      { line: 'chancery use ./na', summary: 'Use this network from now on' },
      { line: 'chancery use', summary: 'Show the configuration in use' },
    ],
    needs: 'nothing',
  },
]

export const versionCommands: readonly Command[] = [
  {
    path: ['version'],
    summary: 'Print the version',
    description: 'Prints the versions of the program and of Node.js.',
    arguments: [],
    options: [],
    examples: [{ line: 'chancery version --json', summary: 'Print the versions for a program' }],
    needs: 'nothing',
  },
]

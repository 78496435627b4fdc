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
  {
    path: ['up'],
    summary: 'Check this machine, create a network and start it',
    description:
      'Checks Node.js, port, disk, clock and write permission, creates a network with a recovery sheet and an evidence store, and runs its authority until it is stopped. In a folder with a network it keeps the keys and only starts. Prints no private key; creates nothing if a check fails.',
    arguments: [],
    options: [
      // Not required: on a terminal the command asks for the two; elsewhere it reports the missing one.
      { flags: '--home <dir>', summary: 'Folder for keys, genesis block, database and configuration' },
      { flags: '--network <name>', summary: 'Name of the network; also its sovereign id' },
      { flags: '--port <n>', summary: 'Port of the authority', default: '8443' },
      { flags: '--host <address>', summary: 'Listening address of the authority', default: '127.0.0.1' },
      { flags: '--sheet <file>', summary: 'Write the recovery sheet to a new file instead of the screen' },
      { flags: '--systemd', summary: 'Write a systemd unit for this network and print how to start it' },
      { flags: '--compose', summary: 'Write a Compose file for this network and print how to start it' },
      { flags: '--detach', summary: 'Run the authority in the background and return when it is ready' },
      { flags: '--create-only', summary: 'Create the network only' },
    ],
    examples: [
      {
        line: 'chancery up --home ./na --network EXAMPLE-NET --sheet recovery.txt',
        summary: 'Create a network and run its authority until Ctrl-C',
      },
      {
        line: 'chancery up --home /srv/chancery --network EXAMPLE-NET --systemd',
        summary: 'Create a network that systemd runs',
      },
    ],
    needs: 'nothing',
  },
]

const KINDS = [
  {
    kind: 'root',
    summary: 'Create a root key',
    description: 'Creates the key pair that signs the genesis block. Store the private key offline.',
    keyId: 'rs-2025-q1',
  },
  {
    kind: 'network-authority',
    summary: 'Create an authority key',
    description: 'Creates the key pair of the network authority.',
    keyId: 'na-2025-q1',
  },
  {
    kind: 'operator',
    summary: 'Create an operator key',
    description: 'Creates the key pair of a person who administers the authority.',
    keyId: 'ops-1',
  },
  {
    kind: 'node',
    summary: 'Create a node key',
    description: 'Creates the key pair with which a node joins the network.',
    keyId: 'node-1',
  },
  {
    kind: 'executor',
    summary: 'Create an executor key',
    description:
      'Creates the key pair with which a system signs its reports of executions. Register the public key with executor-key register.',
    keyId: 'executor-1',
  },
] as const

// One key for one purpose: the kinds differ only in what they are for (protocol/core 2, 4).
export const keygenCommands: readonly Command[] = KINDS.map(({ kind, summary, description, keyId }) => ({
  path: ['keygen', kind],
  summary,
  description,
  arguments: [],
  options: [
    { flags: '--out <base>', summary: 'Writes <base>.key and <base>.pub', required: true },
    { flags: '--key-id <id>', summary: 'Name of the key, noted in both files' },
    { flags: '--force', summary: 'Replace existing files; a replaced private key is lost' },
  ],
  examples: [
    {
      line: `chancery keygen ${kind} --out ./keys/${kind} --key-id ${keyId}`,
      summary: 'Create a key pair with a key id',
    },
  ],
  needs: 'nothing',
}))

import type { Command } from './command.ts'

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

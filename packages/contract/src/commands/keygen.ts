import type { Command } from './command.ts'

const KINDS = [
  {
    kind: 'root',
    summary: 'Make a root key',
    description: 'Makes the key pair that signs the genesis block. Keep the private half offline.',
    keyId: 'rs-2025-q1',
  },
  {
    kind: 'network-authority',
    summary: 'Make an authority key',
    description: 'Makes the key pair the network authority signs with.',
    keyId: 'na-2025-q1',
  },
  {
    kind: 'operator',
    summary: 'Make an operator key',
    description: 'Makes the key pair of a person who administers the authority.',
    keyId: 'ops-1',
  },
  {
    kind: 'node',
    summary: 'Make a node key',
    description: 'Makes the key pair with which a node joins the network.',
    keyId: 'node-1',
  },
] as const

// One key for one purpose: the four kinds differ only in what they are for (protocol/core 2, 4).
export const keygenCommands: readonly Command[] = KINDS.map(({ kind, summary, description, keyId }) => ({
  path: ['keygen', kind],
  summary,
  description,
  arguments: [],
  options: [
    { flags: '--out <base>', summary: 'Writes <base>.key and <base>.pub.', required: true },
    { flags: '--key-id <id>', summary: 'Name of the key, noted in both files.' },
    { flags: '--force', summary: 'Replace existing files. A replaced private key is lost.' },
  ],
  examples: [
    { line: `chancery keygen ${kind} --out ./keys/${kind} --key-id ${keyId}`, summary: 'A key pair with a name.' },
  ],
  needs: 'nothing',
}))

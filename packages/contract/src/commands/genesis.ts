import type { Command } from './command.ts'

export const genesisCommands: readonly Command[] = [
  {
    path: ['genesis', 'create'],
    summary: 'Write an unsigned genesis block',
    description: 'Builds a genesis block from public keys. It is worth nothing until the root key has signed it.',
    arguments: [],
    options: [
      { flags: '--network <name>', summary: 'Name of the network; it is also the sovereign id.', required: true },
      { flags: '--root-public-key <key>', summary: 'Root public key: a .pub file or base64.', required: true },
      { flags: '--na-public-key <key>', summary: 'Authority public key: a .pub file or base64.', required: true },
      { flags: '--out <file>', summary: 'Where to write the block.', required: true },
      { flags: '--version <text>', summary: 'Version of the network.', default: 'v0.1' },
      { flags: '--valid-days <n>', summary: 'How long the authority key is valid from now.', default: '90' },
      { flags: '--anchor <id=host:port>', summary: 'Bootstrap endpoint of a peer.', repeatable: true },
      { flags: '--policy-hash <hash>', summary: 'Hash of the policy manifest.', default: 'sha256:placeholder' },
      { flags: '--policy-url <url>', summary: 'Where the policy manifest can be read.' },
    ],
    examples: [
      {
        line: 'chancery genesis create --network EXAMPLE-NET --root-public-key root.pub --na-public-key na.pub --out genesis.json',
        summary: 'A block for 90 days.',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['genesis', 'sign'],
    summary: 'Sign a genesis block',
    description: 'Adds the signature of the root key. Run it where that key is kept, away from the network.',
    arguments: [],
    options: [
      { flags: '--genesis <file>', summary: 'The block to sign.', required: true },
      { flags: '--root-private-key <file>', summary: 'Private key file of the root.', required: true },
      { flags: '--key-id <id>', summary: 'Key id written into the signature.', default: 'rs-2025-q1' },
      { flags: '--out <file>', summary: 'Where to write the signed block; without it the file is replaced.' },
    ],
    examples: [
      {
        line: 'chancery genesis sign --genesis genesis.json --root-private-key root.key --out genesis.signed.json',
        summary: 'Keeps the unsigned block.',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['genesis', 'verify'],
    summary: 'Check a genesis block',
    description: 'Checks form and signatures and exits with a failure when one is bad or missing.',
    arguments: [{ name: 'file', summary: 'The signed block.', required: true }],
    options: [],
    examples: [{ line: 'chancery genesis verify genesis.signed.json', summary: 'Before giving it to anybody.' }],
    needs: 'nothing',
  },
  {
    path: ['genesis', 'succeed'],
    summary: 'Sign the block of the next authority key',
    description:
      'Makes the genesis block that names the next key of the authority and the history that names its former ones, both signed by the root key. The next key may be a former one: that undoes a succession. Run it where the root key is kept, away from the network.',
    arguments: [],
    options: [
      { flags: '--genesis <file>', summary: 'The signed block in force.', required: true },
      { flags: '--na-public-key <key>', summary: 'The next authority key: a .pub file or base64.', required: true },
      {
        flags: '--former-key-id <id>',
        summary: 'Key id under which the present key signs (NA_KEY_ID).',
        required: true,
      },
      { flags: '--root-private-key <file>', summary: 'Private key file of the root.', required: true },
      { flags: '--out <file>', summary: 'Where to write the new block.', required: true },
      { flags: '--history-out <file>', summary: 'Where to write the key history.', required: true },
      { flags: '--history <file>', summary: 'The history in force, when there was a succession before.' },
      {
        flags: '--valid-days <n>',
        summary: 'How long the next key is valid from now; as long as the present one when not given.',
      },
      { flags: '--overlap-hours <n>', summary: 'How long the present key may still sign, at most.', default: '720' },
    ],
    examples: [
      {
        line: 'chancery genesis succeed --genesis genesis.signed.json --na-public-key na-2.pub --former-key-id na-1 --root-private-key root.key --out genesis-2.signed.json --history-out key-history.json',
        summary: 'The first succession.',
      },
      {
        line: 'chancery genesis succeed --genesis genesis-2.signed.json --history key-history.json --na-public-key na-1.pub --former-key-id na-2 --root-private-key root.key --out genesis-3.signed.json --history-out key-history-3.json',
        summary: 'Undo it: the next key is the one before.',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['genesis', 'follow'],
    summary: 'Take up the newest block of the root',
    description:
      'Asks the authority for the newest genesis block and key history and takes them up when the root key of the given block signed them. They are kept in keys.json beside it; commands that are configured with that block use them from then on. Nodes that run do this by themselves.',
    arguments: [],
    options: [
      { flags: '--genesis <file>', summary: 'The block you hold; its root key decides.', required: true },
      { flags: '--out <file>', summary: 'Also write the newest block to this new file.' },
      { flags: '--history-out <file>', summary: 'And its key history to this one.' },
    ],
    examples: [
      {
        line: 'chancery genesis follow --genesis genesis.json --url https://na.example.org',
        summary: 'On the machine of an operator or an auditor.',
      },
    ],
    needs: 'nothing',
  },
]

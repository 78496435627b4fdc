import type { Command } from './command.ts'

export const genesisCommands: readonly Command[] = [
  {
    path: ['genesis', 'create'],
    summary: 'Write an unsigned genesis block',
    description: 'Builds a genesis block from public keys. The block is not valid until the root key has signed it.',
    arguments: [],
    options: [
      { flags: '--network <name>', summary: 'Name of the network; also its sovereign id', required: true },
      { flags: '--root-public-key <key>', summary: 'Root public key: a .pub file or base64', required: true },
      { flags: '--na-public-key <key>', summary: 'Authority public key: a .pub file or base64', required: true },
      { flags: '--out <file>', summary: 'File for the block', required: true },
      { flags: '--version <text>', summary: 'Version of the network', default: 'v0.1' },
      { flags: '--valid-days <n>', summary: 'Validity of the authority key from now, in days', default: '90' },
      { flags: '--anchor <id=host:port>', summary: 'Bootstrap endpoint of a peer', repeatable: true },
      {
        flags: '--policy-hash <hash>',
        summary: 'sha256: and 64 hex digits of a policy manifest; default: the hash of zero bytes, which pins none',
      },
      { flags: '--policy-url <url>', summary: 'URL of the policy manifest' },
    ],
    examples: [
      {
        line: 'chancery genesis create --network EXAMPLE-NET --root-public-key root.pub --na-public-key na.pub --out genesis.json',
        summary: 'Create a block that is valid for 90 days',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['genesis', 'sign'],
    summary: 'Sign a genesis block',
    description: 'Adds the signature of the root key. Run it on the offline machine that has the root key.',
    arguments: [],
    options: [
      { flags: '--genesis <file>', summary: 'Block to sign', required: true },
      { flags: '--root-private-key <file>', summary: 'Private key file of the root', required: true },
      { flags: '--key-id <id>', summary: 'Key id written into the signature', default: 'rs-2025-q1' },
      { flags: '--out <file>', summary: 'File for the signed block; default: replace the input' },
    ],
    examples: [
      {
        line: 'chancery genesis sign --genesis genesis.json --root-private-key root.key --out genesis.signed.json',
        summary: 'Write the signed block to a new file',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['genesis', 'verify'],
    summary: 'Check a genesis block',
    description: 'Checks the form and the signatures. Exit code 1 if one is invalid or missing.',
    arguments: [{ name: 'file', summary: 'Signed block', required: true }],
    options: [],
    examples: [{ line: 'chancery genesis verify genesis.signed.json', summary: 'Check it before you publish it' }],
    needs: 'nothing',
  },
  {
    path: ['genesis', 'succeed'],
    summary: 'Sign the block of the next authority key',
    description:
      'Creates the genesis block with the next key of the authority and the history of its former keys, both signed by the root key. The next key may be a former key, which undoes a succession. Run it on the offline machine that has the root key.',
    arguments: [],
    options: [
      { flags: '--genesis <file>', summary: 'Current signed block', required: true },
      { flags: '--na-public-key <key>', summary: 'Next authority key: a .pub file or base64', required: true },
      {
        flags: '--former-key-id <id>',
        summary: 'Key id of the current key (NA_KEY_ID)',
        required: true,
      },
      { flags: '--root-private-key <file>', summary: 'Private key file of the root', required: true },
      { flags: '--out <file>', summary: 'File for the new block', required: true },
      { flags: '--history-out <file>', summary: 'File for the key history', required: true },
      { flags: '--history <file>', summary: 'Current key history, after an earlier succession' },
      {
        flags: '--valid-days <n>',
        summary: 'Validity of the next key from now, in days; default: as long as the current key',
      },
      {
        flags: '--overlap-hours <n>',
        summary: 'Maximum hours during which the current key may still sign',
        default: '720',
      },
    ],
    examples: [
      {
        line: 'chancery genesis succeed --genesis genesis.signed.json --na-public-key na-2.pub --former-key-id na-1 --root-private-key root.key --out genesis-2.signed.json --history-out key-history.json',
        summary: 'Create the first succession',
      },
      {
        line: 'chancery genesis succeed --genesis genesis-2.signed.json --history key-history.json --na-public-key na-1.pub --former-key-id na-2 --root-private-key root.key --out genesis-3.signed.json --history-out key-history-3.json',
        summary: 'Undo it: return to the former key',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['genesis', 'follow'],
    summary: 'Fetch the newest genesis block and key history',
    description:
      'Fetches the newest genesis block and key history and accepts them if the root key of the given block signed them. Stores them in keys.json next to that block, for all commands that use the block. Running nodes do this automatically.',
    arguments: [],
    options: [
      { flags: '--genesis <file>', summary: 'Genesis block that you have; its root key decides', required: true },
      { flags: '--out <file>', summary: 'Also write the newest block to a new file' },
      { flags: '--history-out <file>', summary: 'Also write the key history to a new file' },
    ],
    examples: [
      {
        line: 'chancery genesis follow --genesis genesis.json --url https://na.example.org',
        summary: 'Run it on the machine of an operator or an auditor',
      },
    ],
    needs: 'nothing',
  },
]

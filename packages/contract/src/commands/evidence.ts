import type { Command } from './command.ts'
import { LIST_OPTIONS } from './revoking.ts'

export const evidenceCommands: readonly Command[] = [
  {
    path: ['evidence', 'status'],
    summary: 'Show the state of the evidence store',
    description: 'Shows how many entries the store holds, how far it is anchored and what was removed.',
    arguments: [],
    options: [],
    examples: [{ line: 'chancery evidence status', summary: 'Counts and the last anchor.' }],
    needs: 'operator',
  },
  {
    path: ['evidence', 'search'],
    summary: 'Search decisions and evidence',
    description: 'Lists entries of the evidence store in store order, by any of the filters together.',
    arguments: [],
    options: [
      { flags: '--vendor <id>', summary: 'Only entries of this vendor.' },
      { flags: '--attestation <id>', summary: 'Only entries under this attestation.' },
      { flags: '--capability <name>', summary: 'Only entries about this capability.' },
      { flags: '--resource <id>', summary: 'Only executions on this resource.' },
      { flags: '--decision <id>', summary: 'Only entries of this decision.' },
      { flags: '--outcome <word>', summary: 'Only entries with this outcome, for example denied.' },
      {
        flags: '--kind <word>',
        summary: 'Only entries of this kind.',
        choices: ['decision', 'justification', 'execution', 'retention_checkpoint', 'rejection'],
      },
      { flags: '--since <time>', summary: 'Recorded at this time or later (ISO 8601).' },
      { flags: '--until <time>', summary: 'Recorded before this time (ISO 8601).' },
      { flags: '--after <sequence>', summary: 'Behind this store sequence.', default: '0' },
      ...LIST_OPTIONS.slice(0, 1),
    ],
    examples: [
      { line: 'chancery evidence search --vendor vendor-1 --outcome denied', summary: 'What was refused to a vendor.' },
    ],
    needs: 'operator',
  },
  {
    path: ['evidence', 'export'],
    summary: 'Export the evidence store',
    description: 'Writes every entry as one line of JSON to a new file, byte for byte as stored.',
    arguments: [],
    options: [
      { flags: '--out <file>', summary: 'The new file.', required: true },
      { flags: '--since <sequence>', summary: 'Begin behind this store sequence.', default: '0' },
    ],
    examples: [{ line: 'chancery evidence export --out evidence.jsonl', summary: 'Everything that is kept.' }],
    needs: 'operator',
  },
  {
    path: ['evidence', 'verify'],
    summary: 'Verify an export without the authority',
    description:
      'Computes every digest, link, envelope and signature of an export anew, and holds it against anchors that were ' +
      'kept elsewhere. Needs no server and names the first bad entry. Exits with a failure when there is one.',
    arguments: [{ name: 'file', summary: 'The export.', required: true }],
    options: [
      { flags: '--anchors <folder>', summary: 'Folder with anchors that were kept, one JSON file each.' },
      { flags: '--checkpoint <file>', summary: 'Retention checkpoint behind which the export begins.' },
      { flags: '--genesis <file>', summary: 'Genesis block of the authority; else that of the configuration.' },
      { flags: '--authority-key <key>', summary: 'Key of the authority: a .pub file or base64; else of the genesis.' },
      { flags: '--network <name>', summary: 'Network of the authority; else of the genesis.' },
      {
        flags: '--key-history <file>',
        summary: 'With the genesis: keys its authority had before, signed by its root.',
      },
      {
        flags: '--executor-keys <file>',
        summary: 'Keys of executors, as printed by executor-key list --json.',
      },
    ],
    examples: [
      {
        line: 'chancery evidence verify evidence.jsonl --anchors anchors --executor-keys keys.json',
        summary: 'With the genesis of the configuration as trust anchor.',
      },
      {
        line: 'chancery evidence verify evidence.jsonl --authority-key na.pub --network ACME-NET',
        summary: 'With a key held by hand.',
      },
      {
        line: 'chancery evidence verify evidence.jsonl --genesis genesis-2.signed.json --key-history key-history.json',
        summary: 'Over a succession of the authority key.',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['evidence', 'prove'],
    summary: 'Prove that an entry is in the log',
    description:
      'Computes from the public tiles that an entry is covered by the current checkpoint, verifies it, and prints the ' +
      'proof for others.',
    arguments: [{ name: 'sequence', summary: 'Store sequence of the entry.', required: true }],
    options: [
      { flags: '--digest <hex>', summary: 'Digest of the entry; else the authority is asked for it.' },
      { flags: '--out <file>', summary: 'Write the proof to a new file.' },
    ],
    examples: [{ line: 'chancery evidence prove 4711 --out entry-4711.proof.json', summary: 'A proof to hand on.' }],
    needs: 'operator',
  },
  {
    path: ['evidence', 'witness'],
    summary: 'Watch that history is not rewritten',
    description:
      'Keeps the last checkpoint of the log, checks that the current one only added to it, and refuses loudly when it ' +
      'does not. With a key it cosigns what it saw. To be run again and again by somebody else than the authority.',
    arguments: [],
    options: [
      { flags: '--state <file>', summary: 'Where the last checkpoint is kept.', required: true },
      { flags: '--key <file>', summary: 'Private key file of the witness, to cosign.' },
      { flags: '--name <name>', summary: 'Name of the witness in its signature; else the key id of the file.' },
      { flags: '--out <file>', summary: 'Write the cosigned checkpoint to this file.' },
    ],
    examples: [
      {
        line: 'chancery evidence witness --state acme.log --key witness.key --name witness.example --out acme.cosigned',
        summary: 'Check, keep, cosign.',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['evidence', 'anchor'],
    summary: 'Anchor the evidence store',
    description:
      'Signs the head of the store now, unless it is anchored already, and can save all anchors in a folder.',
    arguments: [],
    options: [{ flags: '--save <folder>', summary: 'Folder for all anchors, one JSON file each.' }],
    examples: [{ line: 'chancery evidence anchor --save anchors', summary: 'Anchor, and keep what was signed.' }],
    needs: 'operator',
  },
  {
    path: ['evidence', 'retain'],
    summary: 'Remove old evidence',
    description:
      'Removes entries older than so many days behind a signed checkpoint. Heads of resources and open decisions stay.',
    arguments: [],
    options: [
      { flags: '--older-than-days <n>', summary: 'Keep what is younger, 1 to 36500.', required: true },
      { flags: '--out <file>', summary: 'Write the signed checkpoint to a new file.' },
      { flags: '--yes', summary: 'Do not ask before acting.' },
    ],
    examples: [
      {
        line: 'chancery evidence retain --older-than-days 400 --out checkpoint.json',
        summary: 'Asks, removes, keeps the checkpoint.',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['executor-key', 'register'],
    summary: 'Register an executor key',
    description: 'Lets a key sign execution evidence for one executor. Its id is taken for ever.',
    arguments: [{ name: 'id', summary: 'Key id.', required: true }],
    options: [
      { flags: '--public-key <key>', summary: 'The key: a .pub file or base64.', required: true },
      { flags: '--executor <id>', summary: 'Whose key it is.', required: true },
    ],
    examples: [
      {
        line: 'chancery executor-key register rotator-1 --public-key rotator.pub --executor rotator',
        summary: 'For the executor rotator.',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['executor-key', 'retire'],
    summary: 'Retire an executor key',
    description: 'Ends new evidence under a key; what it signed before stays verifiable.',
    arguments: [{ name: 'id', summary: 'Key id.', required: true }],
    options: [{ flags: '--yes', summary: 'Do not ask before acting.' }],
    examples: [{ line: 'chancery executor-key retire rotator-1', summary: 'Asks, then retires.' }],
    needs: 'operator',
  },
  {
    path: ['executor-key', 'list'],
    summary: 'List executor keys',
    description: 'Lists every key that ever signed execution evidence, retired ones included.',
    arguments: [],
    options: [],
    examples: [{ line: 'chancery executor-key list --json', summary: 'For evidence verify --executor-keys.' }],
    needs: 'operator',
  },
]

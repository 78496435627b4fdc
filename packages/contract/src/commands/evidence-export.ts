import type { Command } from './command.ts'

export const evidenceExportCommands: readonly Command[] = [
  {
    path: ['evidence', 'export'],
    summary: 'Export the evidence store',
    description:
      'Writes every entry as one JSON line to a new file, exactly as stored, and the executor keys next to it. With --resume, continues an export that was interrupted.',
    arguments: [],
    options: [
      { flags: '--out <file>', summary: 'The new file', required: true },
      { flags: '--since <sequence>', summary: 'Start after this store sequence', default: '0' },
      { flags: '--compress <form>', summary: 'Compress the file', choices: ['gzip', 'zstd'] },
      { flags: '--resume', summary: 'Continue after the last whole line of the file' },
    ],
    examples: [
      { line: 'chancery evidence export --out evidence.jsonl', summary: 'Export all stored entries' },
      {
        line: 'chancery evidence export --out evidence.jsonl.zst --compress zstd',
        summary: 'Export to a compressed file',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['evidence', 'archive'],
    summary: 'Archive the evidence store in a folder',
    description:
      'Writes all entries that the signed log covers into compressed files, named by their digest, and a manifest with the signed checkpoint. A later run adds only new entries. No file is changed after it was written, so the folder can be copied to any object store.',
    arguments: [],
    options: [{ flags: '--to <folder>', summary: 'Folder of the archive; made if it does not exist', required: true }],
    examples: [{ line: 'chancery evidence archive --to archive', summary: 'Write or continue an archive' }],
    needs: 'operator',
  },
  {
    path: ['evidence', 'verify'],
    summary: 'Verify an export or an archive without the authority',
    description:
      'Recomputes every digest, link and envelope of an export, verifies every signature and compares the export with saved anchors. Of an archive it also verifies that the segments are exactly the entries of the signed log, and with --live that the store of the running authority continues it. Needs no server otherwise, prints the first invalid entry and exits with 1 if there is one.',
    arguments: [
      {
        name: 'file',
        summary: 'The export, also compressed with gzip or zstd; or the folder of an archive',
        required: true,
      },
    ],
    options: [
      { flags: '--anchors <folder>', summary: 'Folder with saved anchors, one JSON file each' },
      { flags: '--checkpoint <file>', summary: 'Retention checkpoint after which the export begins' },
      { flags: '--genesis <file>', summary: 'Genesis block of the authority; default: the configured one' },
      {
        flags: '--authority-key <key>',
        summary: 'Key of the authority: a .pub file or base64; default: from the genesis block',
      },
      { flags: '--network <name>', summary: 'Network of the authority; default: from the genesis block' },
      {
        flags: '--key-history <file>',
        summary: 'Former keys of the authority, signed by the root of the genesis block',
      },
      {
        flags: '--executor-keys <file>',
        summary: 'Keys of executors, as printed by executor-key list --json',
      },
      { flags: '--live', summary: 'Compare an archive with the living store, as operator' },
    ],
    examples: [
      {
        line: 'chancery evidence verify evidence.jsonl --anchors anchors --executor-keys keys.json',
        summary: 'Verify with the configured genesis block',
      },
      {
        line: 'chancery evidence verify evidence.jsonl --authority-key na.pub --network ACME-NET',
        summary: 'Verify with a given key',
      },
      {
        line: 'chancery evidence verify evidence.jsonl --genesis genesis-2.signed.json --key-history key-history.json',
        summary: 'Verify across a key succession',
      },
      {
        line: 'chancery evidence verify archive --executor-keys keys.json --live',
        summary: 'Verify an archive, and that the living store continues it',
      },
    ],
    needs: 'nothing',
  },
]

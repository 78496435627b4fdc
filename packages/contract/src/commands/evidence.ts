import { type Command, LIST_OPTIONS } from './command.ts'
import { evidenceExportCommands } from './evidence-export.ts'
import { evidenceHistoryCommands } from './evidence-history.ts'
import { witnessCommands } from './witness.ts'

export const evidenceCommands: readonly Command[] = [
  {
    path: ['evidence', 'status'],
    summary: 'Show the state of the evidence store',
    description: 'Shows the number of entries, the last anchored entry and the removed entries.',
    arguments: [],
    options: [],
    examples: [{ line: 'chancery evidence status', summary: 'Show the counts and the last anchor' }],
    needs: 'operator',
  },
  {
    path: ['evidence', 'search'],
    summary: 'Search decisions and evidence',
    description:
      'Lists entries of the evidence store in store order. All given filters apply. With --archive it reads the folder of evidence archive and sends no request: entries that were removed from the store are found there.',
    arguments: [],
    options: [
      { flags: '--vendor <id>', summary: 'Only entries of this vendor' },
      { flags: '--attestation <id>', summary: 'Only entries under this attestation' },
      { flags: '--capability <name>', summary: 'Only entries about this capability' },
      { flags: '--resource <id>', summary: 'Only executions on this resource' },
      { flags: '--decision <id>', summary: 'Only entries of this decision' },
      { flags: '--outcome <word>', summary: 'Only entries with this outcome, for example denied' },
      {
        flags: '--kind <word>',
        summary: 'Only entries of this kind',
        choices: ['decision', 'justification', 'execution', 'retention_checkpoint', 'rejection', 'usage_violation'],
      },
      { flags: '--since <time>', summary: 'Recorded at this time or later (ISO 8601)' },
      { flags: '--until <time>', summary: 'Recorded before this time (ISO 8601)' },
      { flags: '--after <sequence>', summary: 'After this store sequence', default: '0' },
      ...LIST_OPTIONS.slice(0, 1),
      { flags: '--archive <folder>', summary: 'Search this archive instead of the authority' },
      {
        flags: '--genesis <file>',
        summary: 'With --archive: genesis block of the authority; default: the configured one',
      },
    ],
    examples: [
      {
        line: 'chancery evidence search --vendor vendor-1 --outcome denied',
        summary: 'List the denied requests of a vendor',
      },
      {
        line: 'chancery evidence search --decision decision-5f0c --archive archive',
        summary: 'Find the entries of a decision in an archive',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['evidence', 'decisions'],
    summary: 'List decisions, newest first',
    description: 'Lists stored decisions with their number of executions, newest first. All given filters apply.',
    arguments: [],
    options: [
      { flags: '--requester <sovereign>', summary: 'Only requests of this sovereign' },
      { flags: '--failed-gate <name>', summary: 'Only decisions in which this gate failed first' },
      { flags: '--vendor <id>', summary: 'Only decisions of this vendor' },
      { flags: '--capability <name>', summary: 'Only decisions about this capability' },
      { flags: '--outcome <word>', summary: 'Only this outcome', choices: ['authorized', 'denied'] },
      { flags: '--since <time>', summary: 'Recorded at this time or later (ISO 8601)' },
      { flags: '--until <time>', summary: 'Recorded before this time (ISO 8601)' },
      { flags: '--before <sequence>', summary: 'Before this store sequence' },
      { flags: '--limit <n>', summary: 'Maximum number of decisions, 1 to 100', default: '50' },
    ],
    examples: [
      {
        line: 'chancery evidence decisions --requester BETA --outcome denied',
        summary: 'List the newest denied requests of a partner',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['evidence', 'count'],
    summary: 'Count decisions',
    description: 'Counts stored decisions of the last 24 hours or of a given range.',
    arguments: [],
    options: [
      {
        flags: '--by <word>',
        summary: 'One count for each hour, or for the range',
        default: 'range',
        choices: ['hour', 'range'],
      },
      {
        flags: '--split <word>',
        summary: 'Count apart; outcome with one of the others',
        repeatable: true,
        choices: ['outcome', 'capability', 'policy'],
      },
      { flags: '--since <time>', summary: 'From this hour on (ISO 8601)' },
      { flags: '--until <time>', summary: 'Up to this hour (ISO 8601)' },
    ],
    examples: [
      {
        line: 'chancery evidence count --by hour --split outcome',
        summary: 'Count allowed and denied requests by hour',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['evidence', 'show'],
    summary: 'Show a decision and its evidence',
    description:
      'Prints a decision, its gates, and every stored entry about it: justification, executions and rejections. Verifies the signature of the decision with the configured genesis block.',
    arguments: [{ name: 'decision', summary: 'Id of the decision', required: true }],
    options: [],
    examples: [
      { line: 'chancery evidence show decision-5f0c', summary: 'Show one decision' },
      { line: 'chancery evidence show decision-5f0c --json', summary: 'Print its entries as stored' },
    ],
    needs: 'operator',
  },
  ...evidenceHistoryCommands,
  {
    path: ['evidence', 'pack'],
    summary: 'Write everything about a decision to one file',
    description:
      'Collects the decision with its context, justification, policies, basis, executions, log proofs, anchor and keys, verifies them and writes one file for an auditor. With --html the file is a page that shows the pack and its checks in a browser without network. Nothing is written if a check fails.',
    arguments: [{ name: 'decision', summary: 'Id of the decision', required: true }],
    options: [
      { flags: '--out <file>', summary: 'The new file', required: true },
      { flags: '--html', summary: 'Write a page for a browser' },
      { flags: '--attestation <file>', summary: 'Attestation that a partner signed, for a decision on its member' },
      { flags: '--agreement <file>', summary: 'Agreement that the decision names' },
      { flags: '--checkpoint <file>', summary: 'Cosigned checkpoint; default: the current one' },
      {
        flags: '--witness <key>',
        summary: 'Verifier key of a witness that cosigned the checkpoint',
        repeatable: true,
      },
    ],
    examples: [
      { line: 'chancery evidence pack decision-5f0c --out pack.json', summary: 'Write a pack' },
      { line: 'chancery evidence pack decision-5f0c --out pack.html --html', summary: 'Write a page for a browser' },
      {
        line: 'chancery evidence pack decision-5f0c --attestation member.json --out pack.json',
        summary: "Add the attestation of a partner's member",
      },
    ],
    needs: 'operator',
  },
  {
    path: ['evidence', 'bundle'],
    summary: 'Write a decision for Sigstore and in-toto verifiers',
    description:
      'Asks the authority to sign a stored decision in a DSSE envelope with an in-toto statement, verifies it and writes it. The predicate has the signed decision unchanged. For a complete proof with policies and log use evidence pack.',
    arguments: [{ name: 'decision', summary: 'Id of the decision', required: true }],
    options: [
      {
        flags: '--form <word>',
        summary: 'Sigstore bundle 0.3, or the DSSE envelope alone',
        default: 'sigstore',
        choices: ['sigstore', 'dsse'],
      },
      { flags: '--out <file>', summary: 'New file; default: standard output' },
    ],
    examples: [
      { line: 'chancery evidence bundle decision-5f0c > decision.sigstore.json', summary: 'Write a Sigstore bundle' },
      { line: 'chancery evidence bundle decision-5f0c --form dsse --out d.dsse.json', summary: 'Write the envelope' },
    ],
    needs: 'operator',
  },
  {
    path: ['evidence', 'rejections'],
    summary: 'List refused evidence, newest first',
    description:
      'Lists records that the authority refused, with the error code and the names that they claimed. The records themselves are not stored.',
    arguments: [],
    options: [
      { flags: '--cursor <cursor>', summary: 'Continue after the page that printed this cursor' },
      { flags: '--limit <n>', summary: 'Maximum number of records, 1 to 100', default: '50' },
    ],
    examples: [{ line: 'chancery evidence rejections --limit 10', summary: 'List the ten newest refusals' }],
    needs: 'operator',
  },
  ...evidenceExportCommands,
  {
    path: ['evidence', 'prove'],
    summary: 'Prove that an entry is in the log',
    description:
      'Computes from the public tiles the proof that the current checkpoint covers an entry, verifies the proof and prints it.',
    arguments: [{ name: 'sequence', summary: 'Store sequence of the entry', required: true }],
    options: [
      { flags: '--digest <hex>', summary: 'Digest of the entry; default: requested from the authority' },
      { flags: '--out <file>', summary: 'Write the proof to a new file' },
    ],
    examples: [
      { line: 'chancery evidence prove 4711 --out entry-4711.proof.json', summary: 'Write the proof of an entry' },
    ],
    needs: 'operator',
  },
  ...witnessCommands,
  {
    path: ['evidence', 'anchor'],
    summary: 'Anchor the evidence store',
    description:
      'Signs the head of the store, unless it is already anchored. Can save all anchors in a folder, after their signatures and their chain were verified. A saved anchor is never replaced: one with another content proves that the store was rewritten, is saved next to it, and the exit code is 1.',
    arguments: [],
    options: [{ flags: '--save <folder>', summary: 'Folder for all anchors, one JSON file each' }],
    examples: [{ line: 'chancery evidence anchor --save anchors', summary: 'Anchor the store and save all anchors' }],
    needs: 'operator',
  },
  {
    path: ['evidence', 'retain'],
    summary: 'Remove old evidence',
    description:
      'Removes entries older than the given number of days and signs a checkpoint. Resource heads and open decisions are not removed.',
    arguments: [],
    options: [
      { flags: '--older-than-days <n>', summary: 'Minimum age of removed entries in days, 1 to 36500', required: true },
      { flags: '--archive <folder>', summary: 'Remove only entries that this archive has; it is verified first' },
      { flags: '--out <file>', summary: 'Write the signed checkpoint to a new file' },
      { flags: '--dry-run', summary: 'Only show what would be removed' },
      { flags: '--yes', summary: 'Do not ask for confirmation' },
    ],
    examples: [
      {
        line: 'chancery evidence retain --older-than-days 400 --dry-run',
        summary: 'Show how many entries would be removed',
      },
      {
        line: 'chancery evidence retain --older-than-days 400 --out checkpoint.json',
        summary: 'Ask, remove, and save the checkpoint',
      },
      {
        line: 'chancery evidence retain --older-than-days 400 --archive archive --out checkpoint.json',
        summary: 'Remove old entries that are archived',
      },
    ],
    needs: 'operator',
  },
]

import { type Command, type CommandOption, DRY_RUN, KEY_HISTORY, LIST_OPTIONS, OUT, SINCE, UNTIL } from './command.ts'
import { YES, command } from './command.ts'

const DECISION = { name: 'decision', summary: 'Id of the decision', required: true } as const
const ARCHIVE: CommandOption = { flags: '--archive <folder>', summary: 'Folder of an archive' }
const KEY_ID = { name: 'id', summary: 'Key id', required: true } as const

export const evidenceCommands: readonly Command[] = [
  command(
    'evidence list',
    'List decisions, executions and refused records',
    'Lists stored decisions, newest first; with --kind other entries in store order. All given filters apply. With --archive it reads a folder of evidence export and sends no request: removed entries are found there.',
    {
      options: [
        {
          flags: '--kind <word>',
          summary: 'Kind of the entries; all: every kind',
          default: 'decision',
          choices: [
            'decision',
            'justification',
            'execution',
            'retention_checkpoint',
            'rejection',
            'usage_violation',
            'all',
          ],
        },
        { flags: '--outcome <word>', summary: 'Only this outcome', choices: ['allowed', 'denied'] },
        { flags: '--capability <name>', summary: 'Only about this capability' },
        { flags: '--requester <network>', summary: 'Only decisions for this network' },
        { flags: '--failed-gate <name>', summary: 'Only decisions in which this gate failed first' },
        { flags: '--vendor <id>', summary: 'Only of this vendor' },
        { flags: '--attestation <id>', summary: 'Only under this attestation' },
        { flags: '--resource <id>', summary: 'Only executions on this resource' },
        { flags: '--decision <id>', summary: 'Only entries of this decision' },
        {
          flags: '--count-by <word>',
          summary: 'Count decisions; outcome with one of the others',
          choices: ['hour', 'outcome', 'capability', 'policy'],
          repeatable: true,
        },
        SINCE,
        UNTIL,
        { ...ARCHIVE, summary: 'Read this archive instead of the authority' },
        ...LIST_OPTIONS,
      ],
      examples: [
        { line: 'chancery evidence list --outcome denied', summary: 'The newest denied requests' },
        { line: 'chancery evidence list --count-by hour --count-by outcome', summary: 'Counts by hour' },
        {
          line: 'chancery evidence list --decision decision-5f0c --kind all --archive archive',
          summary: 'In an archive',
        },
      ],
      needs: 'operator',
    },
  ),
  command(
    'evidence show',
    'Show the history of a decision, resource or vendor',
    'Prints a decision, its gates, and every stored entry about it: justification, executions and rejections; or what was done with a resource or by a vendor. Verifies the signature of a decision with the genesis block. Exit code 1 if the authority found a failure.',
    {
      arguments: [{ ...DECISION, required: false }],
      options: [
        { flags: '--resource <id>', summary: 'The history of this resource' },
        { flags: '--vendor <id>', summary: 'The history of this vendor' },
      ],
      examples: [
        { line: 'chancery evidence show decision-5f0c', summary: 'Show one decision' },
        { line: 'chancery evidence show --resource invoice-17', summary: 'What was done with a resource' },
      ],
      needs: 'operator',
    },
  ),
  command(
    'evidence submit',
    'Submit execution evidence',
    'Sends signed execution evidence, which an executor made with a registered key; --key signs an unsigned record first. The record proves who signed it, so no operator key is needed. For a data access intent the operator key records what the license does not allow, with exit code 1.',
    {
      arguments: [{ name: 'file', summary: 'JSON file with the record', required: true }],
      options: [{ flags: '--key <file>', summary: 'Private key file of the executor, to sign the record' }],
      examples: [{ line: 'chancery evidence submit execution.json', summary: 'Store what an executor did' }],
    },
  ),
  command(
    'evidence export',
    'Export the store, or continue an archive',
    'Writes every entry as one JSON line to a new file, exactly as stored, and the executor keys next to it. With --archive it writes all entries that the signed log covers into compressed files of a folder, with a manifest; a later run adds only new entries, and no file is changed after it was written.',
    {
      options: [
        OUT,
        { flags: '--after <sequence>', summary: 'Start after this store sequence', default: '0' },
        { flags: '--compress <form>', summary: 'Compress the file', choices: ['gzip', 'zstd'] },
        { flags: '--resume', summary: 'Continue after the last whole line of the file' },
        ARCHIVE,
      ],
      examples: [
        { line: 'chancery evidence export --out evidence.jsonl', summary: 'Export all stored entries' },
        { line: 'chancery evidence export --archive archive', summary: 'Write or continue an archive' },
      ],
      needs: 'operator',
    },
  ),
  command(
    'evidence pack',
    'Write everything about a decision to one file',
    'Collects the decision with its context, justification, policies, basis, executions, log proofs, anchor and keys, verifies them and writes one file for an auditor. With --html the file is a page that shows the pack and its checks in a browser without network. Nothing is written if a check fails.',
    {
      arguments: [DECISION],
      options: [
        { ...OUT, required: true },
        { flags: '--html', summary: 'Write a page for a browser' },
        { flags: '--attestation <file>', summary: 'Attestation that a partner signed, for a decision on its member' },
        { flags: '--agreement <file>', summary: 'Agreement that the decision names' },
        { flags: '--checkpoint <file>', summary: 'Cosigned checkpoint; default: the current one' },
        { flags: '--witness <key>', summary: 'Verifier key of a witness of the checkpoint', repeatable: true },
      ],
      examples: [
        { line: 'chancery evidence pack decision-5f0c --out pack.json', summary: 'Write a pack' },
        { line: 'chancery evidence pack decision-5f0c --out pack.html --html', summary: 'Write a page for a browser' },
      ],
      needs: 'operator',
    },
  ),
  command(
    'evidence receipt',
    'Write a proof for other verifiers',
    'Writes a proof of a decision for verifiers of other systems, and verifies it first: in the log as C2SP tlog-proof, COSE receipt (RFC 9942) or inclusion proof, or signed as Sigstore bundle or DSSE envelope with an in-toto statement.',
    {
      arguments: [{ ...DECISION, summary: 'Id of the decision, or number of an entry' }],
      options: [
        { flags: '--out <file>', summary: 'New file; bundles and inclusion proofs go to standard output without it' },
        {
          flags: '--form <word>',
          summary: 'Form of the proof',
          default: 'tlog-proof',
          choices: ['tlog-proof', 'cose', 'sigstore', 'dsse', 'inclusion'],
        },
        { flags: '--line <file>', summary: 'Write the stored line too, with the decision and its context' },
        { flags: '--digest <hex>', summary: 'Digest of the entry; default: from the authority' },
      ],
      examples: [
        { line: 'chancery evidence receipt decision-5f0c --out d.tlog-proof', summary: 'Write a log proof' },
        {
          line: 'chancery evidence receipt decision-5f0c --form sigstore --out d.sigstore.json',
          summary: 'Write a Sigstore bundle',
        },
      ],
      needs: 'operator',
    },
  ),
  command(
    'evidence anchor',
    'Sign the head of the store',
    'Signs the head of the store, unless it is already anchored, and saves all anchors in the folder of --out after their signatures and their chain were verified. A saved anchor is never replaced: one with another content proves that the store was rewritten, is saved next to it, and the exit code is 1.',
    {
      options: [{ flags: '--out <folder>', summary: 'Folder for all anchors, one JSON file each' }],
      examples: [{ line: 'chancery evidence anchor --out anchors', summary: 'Anchor the store and save all anchors' }],
      needs: 'operator',
    },
  ),
  command(
    'evidence prune',
    'Remove old entries',
    'Removes entries that are older than the given time and signs a checkpoint. Resource heads and open decisions are not removed.',
    {
      options: [
        { flags: '--older-than <time span>', summary: 'Minimum age of removed entries, 1d to 36500d', required: true },
        { ...ARCHIVE, summary: 'Remove only entries that this archive has; it is verified first' },
        { flags: '--out <file>', summary: 'Write the signed checkpoint to a new file' },
        DRY_RUN,
        YES,
      ],
      examples: [
        { line: 'chancery evidence prune --older-than 400d --dry-run', summary: 'How many would be removed' },
        {
          line: 'chancery evidence prune --older-than 400d --archive archive --out checkpoint.json',
          summary: 'Remove old entries that are archived',
        },
      ],
      needs: 'operator',
    },
  ),
  command(
    'evidence witness',
    'Check that the log is append-only',
    'Stores the last checkpoint of the log, checks that the current one extends it and, with a key, cosigns it; exit code 1 if entries were changed or removed. With --listen it serves the witness protocol (C2SP tlog-witness) to the logs of --logs until it is stopped. Use one state for one key, outside the authority.',
    {
      options: [
        { flags: '--state <file>', summary: 'File for the last checkpoint; with --listen a folder', required: true },
        { flags: '--listen <host:port>', summary: 'Serve the witness protocol at this address' },
        { flags: '--logs <file>', summary: 'Logs to witness, a line for each: log <verifier key>; with --listen' },
        { flags: '--init', summary: 'Create the state of a new witness; needed once with --key or --listen' },
        { flags: '--key <file>', summary: 'Private key file of the witness, to cosign' },
        { flags: '--name <name>', summary: 'Name of the witness in its signature; default: the key id of the file' },
        { flags: '--out <file>', summary: 'Write the cosigned checkpoint to this file' },
      ],
      examples: [
        {
          line: 'chancery evidence witness --state acme.log --key witness.key --name witness.example --out acme.cosigned',
          summary: 'Check, store and cosign the checkpoint; the first time with --init',
        },
        {
          line: 'chancery evidence witness --listen 0.0.0.0:8444 --state witness --logs logs.txt --key witness.key --name witness.example --init',
          summary: 'Witness the logs of other networks',
        },
      ],
    },
  ),
  command(
    'evidence witnesses',
    'Show the witnesses of the log',
    'Shows which checkpoint each witness cosigned, why it failed, and whether it has more or other entries than the authority. Can write a policy file for verifiers. Exit code 1 if a witness contradicts the log.',
    {
      options: [{ flags: '--out <file>', summary: 'Write keys and quorum for verifiers (C2SP tlog-policy)' }],
      examples: [
        { line: 'chancery evidence witnesses', summary: 'Show the state of each witness' },
        { line: 'chancery evidence witnesses --out acme.policy', summary: 'Write the policy for verifiers' },
      ],
      needs: 'operator',
    },
  ),
  command(
    'evidence key add',
    'Allow a key to sign executions',
    'Allows a key to sign execution evidence for one executor. The key id can never be used again.',
    {
      arguments: [KEY_ID],
      options: [
        { flags: '--key <key>', summary: 'The key: a .pub file or base64', required: true },
        { flags: '--executor <id>', summary: 'Executor that owns the key', required: true },
      ],
      examples: [
        {
          line: 'chancery evidence key add rotator-1 --key rotator.pub --executor rotator',
          summary: 'A key of the executor rotator',
        },
      ],
      needs: 'operator',
    },
  ),
  command('evidence key list', 'List executor keys', 'Lists all executor keys, including retired ones.', {
    examples: [{ line: 'chancery evidence key list --json', summary: 'Save it for a check of executions' }],
    needs: 'operator',
  }),
  command(
    'evidence key retire',
    'Refuse new records of a key',
    'Refuses new evidence signed with the key. Earlier evidence stays verifiable.',
    {
      arguments: [KEY_ID],
      options: [YES],
      examples: [{ line: 'chancery evidence key retire rotator-1', summary: 'Ask, then retire' }],
      needs: 'operator',
    },
  ),
]

export const recordCommands: readonly Command[] = [
  command(
    'record canonical',
    'Print the canonical form of a JSON file',
    'Parses a file strictly and prints the bytes that a signature covers.',
    {
      arguments: [{ name: 'file', summary: 'A JSON file', required: true }],
      examples: [{ line: 'chancery record canonical record.json', summary: 'Compare with another implementation' }],
    },
  ),
  command(
    'record history',
    'Show whether a record was trusted at a past time',
    'Asks the authority for the stored history of a certificate, attestation or treaty, and verifies its signed records with the genesis block that you trust; with --offline no request is sent. With --all it writes an archive of the whole history, which names members. Exit code 1 if it was not trusted, 3 if history was removed or lost.',
    {
      arguments: [
        { name: 'record', summary: 'Id of the record, or a .json file; a file for one of a partner', required: false },
      ],
      options: [
        { flags: '--at <time>', summary: 'The past time (ISO 8601)' },
        {
          flags: '--kind <kind>',
          summary: 'Kind of the record, if the id is given',
          choices: ['certificate', 'attestation', 'treaty'],
        },
        { flags: '--offline <file>', summary: 'Saved answer, archive or evidence pack instead of the authority' },
        KEY_HISTORY,
        { flags: '--list <file>', summary: 'Revocation list of that time, from another source', repeatable: true },
        { flags: '--feed <file>', summary: 'Revocation feed of that time', repeatable: true },
        { flags: '--out <file>', summary: 'New file for the signed records, for --offline' },
        { flags: '--all', summary: 'Write the whole history to the file of --out' },
      ],
      examples: [
        {
          line: 'chancery record history 7d1c0f5a-2b3c-4d5e-8f60-718293a4b5c6 --at 2026-07-01T12:00:00Z',
          summary: 'Ask about a certificate, attestation or treaty by its id',
        },
        {
          line: 'chancery record history member.json --at 2026-07-01T12:00:00Z --offline answer.jsonl --genesis genesis.json',
          summary: 'Verify saved records without a network',
        },
        { line: 'chancery record history --all --out history-2026-07.jsonl', summary: 'Write an archive' },
      ],
      needs: 'operator',
    },
  ),
  command(
    'record commit',
    'Commit to capabilities of an agreement',
    'Signs a Merkle root over salted names of agreed capabilities: you can later prove one capability, while the others, their order and their exact number stay hidden. The seed of the salts is secret and needed for every proof; --out writes it to a second file with .seed appended, and the authority does not store it. Give verifiers the commitment only: with the seed the hidden names can be guessed.',
    {
      arguments: [{ name: 'agreement', summary: 'JSON file with the agreement record', required: true }],
      options: [
        { flags: '--capability <name>', summary: 'Capability to commit to; default: all agreed', repeatable: true },
        { flags: '--unsalted', summary: 'The form that older networks read; hidden names can be guessed from it' },
        { flags: '--out <file>', summary: 'Write the signed commitment to a new file, and its seed next to it' },
      ],
      examples: [
        {
          line: 'chancery record commit agreement.json --out commitment.json',
          summary: 'Commit to all agreed capabilities; the seed is in commitment.json.seed',
        },
      ],
      needs: 'operator',
    },
  ),
  command(
    'record prove',
    'Prove one capability of a commitment',
    'Builds the proof on this machine and sends nothing. The command needs the complete list of the commitment and, for a salted one, its seed. The proof has the salt of the revealed capability only.',
    {
      arguments: [{ name: 'commitment', summary: 'JSON file with the commitment', required: true }],
      options: [
        { flags: '--reveal <name>', summary: 'Capability to reveal', required: true },
        {
          flags: '--capability <name>',
          summary: 'Every capability of the list, including the revealed one',
          repeatable: true,
          required: true,
        },
        { flags: '--prover <id>', summary: 'Network that presents the proof', required: true },
        { flags: '--seed <file>', summary: 'File with the seed; default: the commitment file with .seed appended' },
        OUT,
      ],
      examples: [
        {
          line: 'chancery record prove commitment.json --reveal ledger.read --capability ledger.read --capability ledger.append --prover PARTNER-NET',
          summary: 'Reveal ledger.read, hide ledger.append',
        },
      ],
    },
  ),
  command(
    'record vote',
    'Vote on a justification',
    'Signs the vote of the authority on a justification proof: its own, or one of another authority that a treaty recognises. With a file that chancery ask --out wrote, the decision is checked, too. To vote with --key, you need a privileged operator key.',
    {
      arguments: [
        { name: 'justification', summary: 'JSON file with the justification proof', required: true },
        { name: 'vote', summary: 'The vote', required: true, choices: ['approve', 'reject'] },
      ],
      options: [
        { flags: '--key <key>', summary: 'Key of the authority that issued the proof', repeatable: true },
        { flags: '--decision <file>', summary: 'JSON file with the decision that the proof explains' },
        { flags: '--reason <text>', summary: 'Reason, part of the vote' },
        OUT,
      ],
      examples: [
        {
          line: 'chancery record vote justification.json approve --out vote.json',
          summary: 'Write a vote for the network that counts',
        },
      ],
      needs: 'operator',
    },
  ),
  command(
    'record tally',
    'Count votes into a consensus proof',
    'Signs collected votes if enough distinct validators approve and the votes are not copies of each other. Votes of validators whose keys the authority does not know are checked by the verifier of the proof.',
    {
      arguments: [
        { name: 'justification', summary: 'JSON file with the justification proof', required: true },
        { name: 'votes', summary: 'JSON files with the votes', required: true, variadic: true },
      ],
      options: [
        { flags: '--threshold <n>', summary: 'Number of distinct validators that must approve', required: true },
        { flags: '--validator <id>', summary: 'Network whose vote counts', repeatable: true, required: true },
        {
          flags: '--key <name=key>',
          summary: 'Key of a validator; default: those the authority knows',
          repeatable: true,
        },
        OUT,
      ],
      examples: [
        {
          line: 'chancery record tally justification.json vote-1.json vote-2.json --threshold 2 --validator A-NET --validator B-NET --validator C-NET',
          summary: 'Require two of three validators',
        },
      ],
      needs: 'operator',
    },
  ),
]

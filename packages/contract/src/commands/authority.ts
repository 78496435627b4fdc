import { REVOCATION_REASONS } from '@chancery/protocol'
import type { Command } from './command.ts'

/** What every command on the authority's own machine needs to find its key and its database. */
export const HOST_OPTIONS: Command['options'] = [
  { flags: '--genesis <file>', summary: 'Signed genesis block (GENESIS_FILE).' },
  { flags: '--na-private-key <file>', summary: 'Private key file of the authority (NA_PRIVATE_KEY_FILE).' },
  { flags: '--key-id <id>', summary: 'Key id written into signatures (NA_KEY_ID).', default: 'na-2025-q1' },
  { flags: '--db-path <file>', summary: 'SQLite file (DB_PATH).', default: 'chancery.db' },
  { flags: '--env-file <file>', summary: 'Read settings from this file; the environment overrules it.' },
]

export const authorityCommands: readonly Command[] = [
  {
    path: ['authority', 'start'],
    summary: 'Run the network authority',
    description: 'Starts the service and runs until it is told to stop. Every flag has a setting of the same meaning.',
    arguments: [],
    options: [
      { flags: '--genesis <file>', summary: 'Signed genesis block (GENESIS_FILE).' },
      { flags: '--na-private-key <file>', summary: 'Private key file of the authority (NA_PRIVATE_KEY_FILE).' },
      { flags: '--key-id <id>', summary: 'Key id written into signatures (NA_KEY_ID).', default: 'na-2025-q1' },
      {
        flags: '--operator-public-key <key-id=key>',
        summary: 'Operator key: base64 or a .pub file (OPERATOR_PUBLIC_KEYS_JSON).',
        repeatable: true,
      },
      {
        flags: '--operator-key-tier <key-id=tier>',
        summary: 'Tier of an operator key: standard or privileged; there is no default (OPERATOR_KEY_TIERS_JSON).',
        repeatable: true,
      },
      { flags: '--db-path <file>', summary: 'SQLite file (DB_PATH).', default: 'chancery.db' },
      {
        flags: '--boundary-policy-enforcement <mode>',
        summary: 'Whether decisions without policies are refused (BOUNDARY_POLICY_ENFORCEMENT).',
        default: 'optional',
        choices: ['optional', 'required'],
      },
      {
        flags: '--evidence-store <mode>',
        summary: 'Whether decisions and evidence are kept (EVIDENCE_STORE).',
        default: 'off',
        choices: ['off', 'on'],
      },
      { flags: '--host <address>', summary: 'Listening address (HOST).', default: '127.0.0.1' },
      { flags: '--port <n>', summary: 'Listening port (PORT).', default: '8443' },
      {
        flags: '--management-host <address>',
        summary: 'Listening address of the management listener (NA_MANAGEMENT_HOST).',
        default: '127.0.0.1',
      },
      {
        flags: '--management-port <n>',
        summary: 'Port of a second listener for metrics and the checks of readiness (NA_MANAGEMENT_PORT).',
      },
      { flags: '--env-file <file>', summary: 'Read settings from this file; the environment overrules it.' },
    ],
    examples: [
      {
        line: 'chancery authority start --genesis genesis.signed.json --na-private-key na.key --operator-public-key ops-1=ops-1.pub --operator-key-tier ops-1=privileged',
        summary: 'With one operator, on this machine only.',
      },
      { line: 'chancery authority start --env-file /etc/chancery/authority.env', summary: 'As a service.' },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'verify-db'],
    summary: 'Check every record of the database',
    description:
      'Verifies every signature of lists, feeds, certificates, policies, attestations and treaties, that lists and feeds follow each other without a gap and take nothing back, that one version of each policy is in force, the evidence chain with its anchors, and audit events. Changes nothing; ends with 1 when something is wrong.',
    arguments: [],
    options: HOST_OPTIONS,
    examples: [
      { line: 'chancery authority verify-db --env-file /etc/chancery/authority.env', summary: 'After a restore.' },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'migrate-db'],
    summary: 'Copy an SQLite authority into PostgreSQL',
    description:
      'Copies everything into the empty database that DATABASE_URL of the settings names, reads every row back, and verifies every record there. The source must not be in use and is left as it is. Nothing is overwritten: a database that holds anything is refused. What an interrupted copy left starts no authority and is cleared away only with --restart.',
    arguments: [],
    options: [
      { flags: '--from <file>', summary: 'SQLite file of the stopped authority.', required: true },
      { flags: '--restart', summary: 'Clear away what an interrupted copy left, and copy again.' },
      ...HOST_OPTIONS.filter(({ flags }) => !flags.startsWith('--db-path')),
    ],
    examples: [
      {
        line: 'chancery authority migrate-db --from chancery.db --env-file /etc/chancery/authority.env',
        summary: 'With the settings the authority is to start with afterwards.',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'backup'],
    summary: 'Copy the database into a folder, with a signed manifest',
    description:
      'Copies one state of the database while the authority serves, from SQLite or PostgreSQL, into a file that can be restored into either, and signs what is in it. Private keys and settings are never inside, and neither is the high-water mark: keep each of them elsewhere.',
    arguments: [],
    options: [
      { flags: '--to <folder>', summary: 'New folder for this backup.' },
      {
        flags: '--taken-elsewhere',
        summary: 'Only note that another tool has just taken a backup, so that the alert knows.',
      },
      ...HOST_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery authority backup --env-file /etc/chancery/authority.env --to /backups/2026-05-01',
        summary: 'Each night.',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'restore'],
    summary: 'Put a backup into an empty database',
    description:
      'Verifies the manifest and every digest first, then fills the empty database of the settings, applies the migrations of this release, verifies every record and compares with the high-water marks. When something was published after the backup the authority serves nobody until recover was run, and this command says so. Nothing is ever overwritten.',
    arguments: [],
    options: [
      { flags: '--from <folder>', summary: 'Folder of the backup.', required: true },
      { flags: '--restart', summary: 'Clear away what an interrupted restore left in PostgreSQL, and begin again.' },
      {
        flags: '--without-mark',
        summary: 'Restore although no high-water mark is left: only when nothing was published after the backup.',
      },
      ...HOST_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery authority restore --env-file /etc/chancery/authority.env --from /backups/2026-05-01',
        summary: 'While no instance runs.',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'rehearse'],
    summary: 'Try a restore and an upgrade on a copy that is thrown away',
    description:
      'Takes a backup, or reads the given one, restores it into a temporary database of the same kind, applies the migrations of this release, verifies every record, says how long that took, and drops it. Run by a new release it rehearses the upgrade. The database of the settings is only read and nothing is served.',
    arguments: [],
    options: [
      { flags: '--from <folder>', summary: 'Folder of a backup; without it one is taken.' },
      {
        flags: '--on-sqlite',
        summary: 'In a temporary SQLite file, where the role of DATABASE_URL may not create databases.',
      },
      ...HOST_OPTIONS,
    ],
    examples: [
      { line: 'chancery authority rehearse --env-file /etc/chancery/authority.env', summary: 'Before an upgrade.' },
      {
        line: 'chancery authority rehearse --env-file /etc/chancery/authority.env --from /backups/2026-05-01',
        summary: 'Is last night’s backup worth something?',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'recover'],
    summary: 'Bring a restored database past what was already published',
    description:
      'For a database that lies behind its high-water mark, after a restore from an old backup. Withdrawals come back from the kept list and feed, their numbers jump by 100, unspent invites end, agents announce themselves again, and requests signed up to five minutes from now are refused. Instances on the database serve again by themselves. With --dated-ahead it does something else: after a clock was ahead and is right again, it signs list and feed anew where they are dated over 300 s ahead, under the next number and with all they name. With --audit or --certificates, after a recovery, it compares the database with what others know: certificates, attestations and treaties of after the backup are listed, and on demand revoked; certificates are adopted when their own signed text is there.',
    arguments: [],
    options: [
      {
        flags: '--crl <file>',
        summary:
          'A newer revocation list that somebody still has, or the copy of a gateway’s state (gateway state backup).',
      },
      { flags: '--feed <file>', summary: 'A newer revocation feed that somebody still has, such as a peer.' },
      {
        flags: '--dated-ahead <time>',
        summary: 'Only sign anew what a clock dated ahead; the present time as another clock shows it, within 300 s.',
      },
      {
        flags: '--audit <file>',
        summary:
          'Audit events from before the loss (audit export, or the stream): names certificates, attestations and treaties that are unknown.',
      },
      {
        flags: '--certificates <path>',
        summary: 'A certificate, or a folder of them, as nodes keep them: those that are unknown can be adopted.',
      },
      {
        flags: '--unknown <what>',
        summary:
          'With --audit or --certificates: list what is unknown, revoke all of it, or adopt what has a certificate.',
        default: 'list',
        choices: ['list', 'revoke', 'adopt'],
      },
      {
        flags: '--reason <word>',
        summary: 'Why, for --unknown revoke.',
        default: 'unspecified',
        choices: REVOCATION_REASONS,
      },
      ...HOST_OPTIONS,
    ],
    examples: [
      { line: 'chancery authority recover --env-file /etc/chancery/authority.env', summary: 'With the same settings.' },
      {
        line: 'chancery authority recover --env-file /etc/chancery/authority.env --crl list.json',
        summary: 'When no mark is left, with the newest list that anybody has.',
      },
      {
        line: 'chancery authority recover --env-file /etc/chancery/authority.env --audit audit.jsonl --certificates found',
        summary: 'What was issued after the backup; changes nothing.',
      },
      {
        line: 'chancery authority recover --env-file /etc/chancery/authority.env --dated-ahead 2026-05-01T12:00:00Z',
        summary: 'When the clock was ahead and is right again.',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'import-evidence'],
    summary: 'Put back evidence that a restored database has lost',
    description:
      'For an evidence store that stays closed after a restore. Takes the missing entries from an export, line behind line up to the digest the high-water mark names, and the missing anchors from a folder, and verifies the whole store before anything counts. The store opens again by itself.',
    arguments: [],
    options: [
      {
        flags: '--from <file>',
        summary: 'Export of the evidence store, as evidence export writes it.',
        required: true,
      },
      { flags: '--anchors <folder>', summary: 'Folder with saved anchors, as evidence anchor --save writes them.' },
      ...HOST_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery authority import-evidence --env-file /etc/chancery/authority.env --from evidence.jsonl --anchors anchors',
        summary: 'After recover.',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'public-key'],
    summary: 'Print the public key of the authority',
    description:
      'Asks the key provider of the settings, which may be a token, and prints its public key as a .pub file. Needs no genesis block: it is what one is made from.',
    arguments: [],
    options: HOST_OPTIONS.filter(({ flags }) => /^--(?:na-private-key|env-file) /.test(flags)),
    examples: [
      {
        line: 'chancery authority public-key --env-file /etc/chancery/authority.env > na.pub',
        summary: 'Before chancery genesis create.',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'key-succession'],
    summary: 'Hand the authority over to a new key',
    description:
      'Run with the settings of the new key, one step at a time. announce tells nodes and all others who hold the root key of the new block; the signing key stays. status says how many nodes hold it. switch, once every instance is stopped, makes the database the new key’s and signs everything published again; the old key goes on signing its own revocation list. retire ends that list. To undo a step, let the root sign a block that names the old key again and announce that one. With --first-list nothing changes: it writes the list that gateways pin the new key with beforehand.',
    arguments: [],
    options: [
      { flags: '--step <name>', summary: 'announce, status, switch or retire.', default: 'switch' },
      { flags: '--yes', summary: 'Go on although nodes are missing, or certificates of the old key are in use.' },
      { flags: '--first-list <file>', summary: 'Only write the first list of the new key to this new file.' },
      ...HOST_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery authority key-succession --env-file new.env --first-list new-list.json',
        summary: 'For the policies of gateways, hours before.',
      },
      { line: 'chancery authority key-succession --env-file new.env --step announce', summary: 'Days before.' },
      {
        line: 'chancery authority key-succession --env-file new.env --step status',
        summary: 'Who holds the new block.',
      },
      { line: 'chancery authority key-succession --env-file new.env', summary: 'The switch itself.' },
      {
        line: 'chancery authority key-succession --env-file new.env --step retire',
        summary: 'The end of the old key.',
      },
    ],
    needs: 'authority-host',
  },
]

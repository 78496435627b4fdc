import { REVOCATION_REASONS } from '@chancery/protocol'
import type { Command } from './command.ts'

/** Options of every command that reads the key and the database of the authority. */
export const HOST_OPTIONS: Command['options'] = [
  { flags: '--genesis <file>', summary: 'Signed genesis block (GENESIS_FILE)' },
  { flags: '--na-private-key <file>', summary: 'Private key file of the authority (NA_PRIVATE_KEY_FILE)' },
  { flags: '--key-id <id>', summary: 'Key id written into signatures (NA_KEY_ID)', default: 'na-2025-q1' },
  { flags: '--db-path <file>', summary: 'SQLite file (DB_PATH)', default: 'chancery.db' },
  { flags: '--env-file <file>', summary: 'File with settings; environment variables override it' },
]

export const authorityCommands: readonly Command[] = [
  {
    path: ['authority', 'start'],
    summary: 'Run the network authority',
    description: 'Starts the service and runs until it is stopped. Every flag has a setting with the same meaning.',
    arguments: [],
    options: [
      { flags: '--genesis <file>', summary: 'Signed genesis block (GENESIS_FILE)' },
      { flags: '--na-private-key <file>', summary: 'Private key file of the authority (NA_PRIVATE_KEY_FILE)' },
      { flags: '--key-id <id>', summary: 'Key id written into signatures (NA_KEY_ID)', default: 'na-2025-q1' },
      {
        flags: '--operator-public-key <key-id=key>',
        summary: 'Operator key: base64 or a .pub file (OPERATOR_PUBLIC_KEYS_JSON)',
        repeatable: true,
      },
      {
        flags: '--operator-key-tier <key-id=tier>',
        summary: 'Tier of an operator key, standard or privileged; no default (OPERATOR_KEY_TIERS_JSON)',
        repeatable: true,
      },
      { flags: '--db-path <file>', summary: 'SQLite file (DB_PATH)', default: 'chancery.db' },
      {
        flags: '--boundary-policy-enforcement <mode>',
        summary: 'Whether decisions without policies are refused (BOUNDARY_POLICY_ENFORCEMENT)',
        default: 'optional',
        choices: ['optional', 'required'],
      },
      {
        flags: '--evidence-store <mode>',
        summary: 'Whether decisions and evidence are stored (EVIDENCE_STORE)',
        default: 'off',
        choices: ['off', 'on'],
      },
      { flags: '--host <address>', summary: 'Listening address (HOST)', default: '127.0.0.1' },
      { flags: '--port <n>', summary: 'Listening port (PORT)', default: '8443' },
      {
        flags: '--management-host <address>',
        summary: 'Listening address of the management listener (NA_MANAGEMENT_HOST)',
        default: '127.0.0.1',
      },
      {
        flags: '--management-port <n>',
        summary: 'Port of a second listener for metrics and readiness checks (NA_MANAGEMENT_PORT)',
      },
      { flags: '--env-file <file>', summary: 'File with settings; environment variables override it' },
    ],
    examples: [
      {
        line: 'chancery authority start --genesis genesis.signed.json --na-private-key na.key --operator-public-key ops-1=ops-1.pub --operator-key-tier ops-1=privileged',
        summary: 'Start with one operator, on this machine only',
      },
      { line: 'chancery authority start --env-file /etc/chancery/authority.env', summary: 'Run as a service' },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'verify-db'],
    summary: 'Check every record of the database',
    description:
      'Verifies every signature, the sequences and entries of lists and feeds, the active policy versions, the evidence chain with its anchors, and the audit events. Changes nothing. Exit code 1 if a check fails.',
    arguments: [],
    options: HOST_OPTIONS,
    examples: [
      {
        line: 'chancery authority verify-db --env-file /etc/chancery/authority.env',
        summary: 'Check the database after a restore',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'migrate-db'],
    summary: 'Copy an SQLite authority into PostgreSQL',
    description:
      'Copies all rows into the empty database of DATABASE_URL, reads every row back and verifies every record. The source must not be in use and is not changed; a target that is not empty is refused. An authority does not start on an incomplete copy; --restart deletes it and copies again.',
    arguments: [],
    options: [
      { flags: '--from <file>', summary: 'SQLite file of the stopped authority', required: true },
      { flags: '--restart', summary: 'Delete an incomplete copy and copy again' },
      ...HOST_OPTIONS.filter(({ flags }) => !flags.startsWith('--db-path')),
    ],
    examples: [
      {
        line: 'chancery authority migrate-db --from chancery.db --env-file /etc/chancery/authority.env',
        summary: 'Copy with the settings of the new authority',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'backup'],
    summary: 'Copy the database into a folder, with a signed manifest',
    description:
      'Copies a consistent state of the database while the authority runs, and signs a manifest. The backup can be restored into SQLite or PostgreSQL. It does not contain private keys, settings or the high-water mark; back these up separately.',
    arguments: [],
    options: [
      { flags: '--to <folder>', summary: 'New folder for the backup' },
      {
        flags: '--taken-elsewhere',
        summary: 'Only record that another tool has just taken a backup, for the alert',
      },
      ...HOST_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery authority backup --env-file /etc/chancery/authority.env --to /backups/2026-05-01',
        summary: 'Run every night',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'restore'],
    summary: 'Restore a backup into an empty database',
    description:
      'Verifies the backup, fills the empty database of the settings, applies the migrations, verifies every record and compares the high-water marks. If records were published after the backup, the authority refuses all requests until you run recover. The command never overwrites data.',
    arguments: [],
    options: [
      { flags: '--from <folder>', summary: 'Folder of the backup', required: true },
      { flags: '--restart', summary: 'Delete an incomplete restore in PostgreSQL and start again' },
      {
        flags: '--without-mark',
        summary: 'Restore without a high-water mark, only if nothing was published after the backup',
      },
      ...HOST_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery authority restore --env-file /etc/chancery/authority.env --from /backups/2026-05-01',
        summary: 'Restore while no instance runs',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'rehearse'],
    summary: 'Test a restore and an upgrade on a temporary copy',
    description:
      'Restores a new or a given backup into a temporary database, applies the migrations of this release, verifies every record, prints the duration and drops the database. Run it with a new release to test the upgrade. The database of the settings is only read.',
    arguments: [],
    options: [
      { flags: '--from <folder>', summary: 'Folder of a backup; default: take a new backup' },
      {
        flags: '--on-sqlite',
        summary: 'Use a temporary SQLite file, if the role of DATABASE_URL cannot create databases',
      },
      ...HOST_OPTIONS,
    ],
    examples: [
      { line: 'chancery authority rehearse --env-file /etc/chancery/authority.env', summary: 'Test an upgrade' },
      {
        line: 'chancery authority rehearse --env-file /etc/chancery/authority.env --from /backups/2026-05-01',
        summary: "Test last night's backup",
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'recover'],
    summary: 'Recover a database that was rolled back',
    description:
      'For a database that is older than its high-water mark, after a restore from an old backup: restores revocations from the given list and feed, raises their sequences by 100, ends open invites and refuses requests signed before now. Running instances then accept requests again; agents must register again. With --audit or --certificates it lists, revokes or adopts records that the database lacks.',
    arguments: [],
    options: [
      {
        flags: '--crl <file>',
        summary: 'A newer revocation list, for example from a gateway (gateway state backup)',
      },
      { flags: '--feed <file>', summary: 'A newer revocation feed, for example from a partner network' },
      {
        flags: '--audit <file>',
        summary: 'Audit events from before the loss (audit export or stream), to find unknown records',
      },
      {
        flags: '--certificates <path>',
        summary: 'Certificate file or folder with certificates of nodes; unknown ones can be adopted',
      },
      {
        flags: '--unknown <what>',
        summary: 'With --audit or --certificates: list unknown records, revoke them, or adopt certificates',
        default: 'list',
        choices: ['list', 'revoke', 'adopt'],
      },
      {
        flags: '--reason <word>',
        summary: 'Reason for --unknown revoke',
        default: 'unspecified',
        choices: REVOCATION_REASONS,
      },
      ...HOST_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery authority recover --env-file /etc/chancery/authority.env',
        summary: 'Recover with the settings of the authority',
      },
      {
        line: 'chancery authority recover --env-file /etc/chancery/authority.env --crl list.json',
        summary: 'Recover without a mark, with the newest available list',
      },
      {
        line: 'chancery authority recover --env-file /etc/chancery/authority.env --audit audit.jsonl --certificates found',
        summary: 'List what was issued after the backup; changes nothing',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'resign-lists'],
    summary: 'Sign lists again that are dated in the future',
    description:
      'For a revocation list or feed that a wrong clock dated over 300 s in the future, after the clock is correct again. Signs each of them again with the next sequence, the same entries and the present time. Exit code 1 if nothing was signed.',
    arguments: [],
    options: [
      {
        flags: '--now <time>',
        summary: 'Present time from another clock (ISO 8601), within 300 s of this one',
        required: true,
      },
      ...HOST_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery authority resign-lists --env-file /etc/chancery/authority.env --now 2026-05-01T12:00:00Z',
        summary: 'Sign again after the clock is correct',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'import-evidence'],
    summary: 'Import evidence that a restored database lacks',
    description:
      'Imports missing entries from an export, up to the digest of the high-water mark, and missing anchors from a folder. Verifies the whole store before the import takes effect. The evidence store is then enabled again without a restart.',
    arguments: [],
    options: [
      {
        flags: '--from <file>',
        summary: 'Export of the evidence store, as written by evidence export',
        required: true,
      },
      { flags: '--anchors <folder>', summary: 'Folder with anchors, as written by evidence anchor --save' },
      ...HOST_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery authority import-evidence --env-file /etc/chancery/authority.env --from evidence.jsonl --anchors anchors',
        summary: 'Import after recover',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'public-key'],
    summary: 'Print the public key of the authority',
    description:
      'Reads the public key from the key provider of the settings, which may be a hardware token, and prints it in the form of a .pub file. Does not need a genesis block.',
    arguments: [],
    options: HOST_OPTIONS.filter(({ flags }) => /^--(?:na-private-key|env-file) /.test(flags)),
    examples: [
      {
        line: 'chancery authority public-key --env-file /etc/chancery/authority.env > na.pub',
        summary: 'Print the key for chancery genesis create',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'key-succession'],
    summary: 'Replace the key of the authority',
    description:
      'Run it with the settings of the new key, one step at a time: announce publishes the new block, status counts the nodes that have it, switch (with all instances stopped) signs with the new key, retire ends the list of the former key. To undo a step, announce a block that names the former key. With --first-list it only writes the list that gateways need to pin the new key.',
    arguments: [],
    options: [
      { flags: '--step <name>', summary: 'announce, status, switch or retire', default: 'switch' },
      {
        flags: '--yes',
        summary: 'Continue although nodes lack the block or certificates of the former key are in use',
      },
      { flags: '--first-list <file>', summary: 'Only write the first list of the new key to a new file' },
      ...HOST_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery authority key-succession --env-file new.env --first-list new-list.json',
        summary: 'Write the list for gateway policies, hours before',
      },
      {
        line: 'chancery authority key-succession --env-file new.env --step announce',
        summary: 'Announce the new key, days before',
      },
      {
        line: 'chancery authority key-succession --env-file new.env --step status',
        summary: 'Count the nodes that have the new block',
      },
      { line: 'chancery authority key-succession --env-file new.env', summary: 'Switch to the new key' },
      {
        line: 'chancery authority key-succession --env-file new.env --step retire',
        summary: 'Retire the former key',
      },
    ],
    needs: 'authority-host',
  },
]

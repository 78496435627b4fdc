import { REVOCATION_REASONS } from '@chancery/protocol'
import { type Command, HOST_OPTIONS } from './command.ts'

/** Commands that copy, restore and repair the database of an authority. */
export const recoveryCommands: readonly Command[] = [
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
      'For a database that is older than its high-water mark, after a restore from an old backup, or whose mark is missing: restores revocations from the given list and feed, raises their sequences by 100, ends open invites and refuses requests signed before now. Running instances then accept requests again; agents must register again. With --presented, --audit or --certificates it lists, revokes or adopts records that the database lacks.',
    arguments: [],
    options: [
      {
        flags: '--crl <file>',
        summary: 'A newer revocation list, for example from a gateway (gateway state backup)',
      },
      { flags: '--feed <file>', summary: 'A newer revocation feed, for example from a partner network' },
      {
        flags: '--without-mark',
        summary: 'Although the mark is missing and there is no list of others: later revocations are lost',
      },
      {
        flags: '--audit <file>',
        summary: 'Audit events from before the loss (audit export or stream), to find unknown records',
      },
      {
        flags: '--certificates <path>',
        summary: 'Certificate file or folder with certificates of nodes; unknown ones can be adopted',
      },
      {
        flags: '--presented',
        summary: 'Certificates that running nodes presented because the database lacks them',
      },
      {
        flags: '--unknown <what>',
        summary: 'With one of these: list unknown records, revoke them, or adopt certificates',
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
      {
        line: 'chancery authority recover --env-file /etc/chancery/authority.env --presented --unknown adopt',
        summary: 'Adopt the certificates that nodes presented',
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
]

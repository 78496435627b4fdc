import { integer, setting } from '@chancery/service-kit'

const MEBIBYTE = 1 << 20

/** Settings of what callers may have stored, and of the room on the disk. */
export const STORAGE_SETTINGS = {
  keyBytesPerDay: setting({
    name: 'NA_DECISION_BYTES_PER_KEY_PER_DAY',
    help: 'Bytes of decisions and evidence that are stored for one node, operator or executor key on a day (UTC); 0: no limit.',
    read: integer({ min: 0 }),
    default: 1024 * MEBIBYTE,
  }),
  partnerBytesPerDay: setting({
    name: 'NA_DECISION_BYTES_PER_PARTNER_PER_DAY',
    help: 'The same for all members of one partner together; 0: no limit.',
    read: integer({ min: 0 }),
    default: 4096 * MEBIBYTE,
  }),
  diskFreeBytes: setting({
    name: 'NA_DISK_FREE_BYTES',
    help: 'With SQLite: free bytes on the disk of DB_PATH below which decisions and evidence are refused.',
    read: integer({ min: 0 }),
    defaultText: '512 MiB, or 5 % of the disk if that is less',
  }),
} as const

import { existsSync } from 'node:fs'
import { type GenesisBlock, type Instant, sha256Hex, toUtf8, writeInstant } from '@chancery/protocol'
import { genesisFingerprint } from '../../files/genesis-file.ts'
import { fields, table } from '../../output/table.ts'
import type { HomeFiles } from '../init/home.ts'
import { KEY_IDS } from '../init/settings-files.ts'

export interface SheetInputs {
  readonly genesis: GenesisBlock
  readonly files: HomeFiles
  readonly operatorKey: string
  readonly now: Instant
}

/**
 * Returns the recovery sheet of a network: what to keep where, fingerprints of the public keys, and what to do after a
 * loss. It contains no private key.
 */
export function recoverySheet({ genesis, files, operatorKey, now }: SheetInputs): string {
  const { network_authority: authority, root_public_key: root } = genesis
  const keys = [
    ['root', KEY_IDS.root, root, fingerprint(root)],
    ['authority', KEY_IDS.authority, authority.public_key, fingerprint(authority.public_key)],
    ['operator', KEY_IDS.operator, operatorKey, fingerprint(operatorKey)],
  ]
  return [
    `Recovery sheet of ${genesis.network_name}`,
    'Print this sheet, or store it away from this machine. It contains no private key.',
    '',
    fields([
      ['written', writeInstant(now - (now % 1_000_000n))],
      ['genesis block', genesisFingerprint(genesis)],
      ['authority key', `valid until ${authority.valid_to}; plan its successor before that date`],
    ]),
    '',
    table(['KEY', 'KEY ID', 'PUBLIC KEY', 'FINGERPRINT'], keys),
    '',
    table(['PRIVATE FILE', 'WHERE IT IS NOW', 'WHERE TO KEEP IT'], privateFiles(files)),
    '',
    'After a loss',
    fields([
      ['machine', 'restore the last backup on a new machine: chancery authority restore (docs/operate/backup.md)'],
      ['authority key', 'sign a successor with the root key (docs/operate/keys.md)'],
      ['operator key', 'revoke it with another privileged operator: chancery operator revoke'],
      ['root key', 'create a new network; no other key can replace the root key'],
    ]),
    '',
  ].join('\n')
}

function privateFiles(files: HomeFiles): readonly (readonly string[])[] {
  return [
    ['root key', existing(`${files.root}.key`), 'offline, two copies in two places; then delete it here'],
    ['authority key', `${files.authority}.key`, 'here, and one encrypted copy offline'],
    ['operator key', existing(`${files.operator}.key`), 'on the machine of the operator'],
    ['database', files.database, 'here, with a backup each night on another machine'],
    ['settings', files.settings, 'here, and with the backup'],
  ]
}

/** The operator moves these two files away. */
function existing(file: string): string {
  return existsSync(file) ? file : 'not in this folder any more'
}

/** Short enough to compare on the telephone. */
function fingerprint(publicKey: string): string {
  return (sha256Hex(toUtf8(publicKey)).slice(0, 32).match(/.{4}/g) ?? []).join(' ')
}

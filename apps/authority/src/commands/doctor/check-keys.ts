import type { Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { GenesisBlock, Instant } from '@chancery/protocol'
import { silentLog, StartError } from '@chancery/service-kit'
import { checkWindow } from '../../features/findings/index.ts'
import { sharedPublicKeys } from '../../auth/operator-keys.ts'
import { loadGenesis } from '../../startup/checks.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import { AFTER_ROTATION, findLaterKeys } from '../later-keys.ts'
import type { Database } from '../../database/database.ts'
import { type KeySource, openSigner } from '../../signing/key-providers.ts'
import { KeyUnavailableError } from '../../signing/vault-signer.ts'
import { type AuthoritySigner, type OwnKeys, loadOwnKeys } from '../../signing/own-keys.ts'
import { bad, good, warn } from '@chancery/service-kit'
import type { Finding } from '@chancery/service-kit'

export interface Keys {
  readonly findings: readonly Finding[]
  readonly genesis: GenesisBlock | undefined
  /** All keys of this authority. Undefined when its genesis block or key history cannot be used. */
  readonly ownKeys: OwnKeys | undefined
}

/** Checks the genesis block, the signing key, its file permissions, and the operator keys. */
export async function checkKeys(settings: AuthoritySettings, now: Instant): Promise<Keys> {
  const genesis = await readGenesis(settings.genesisFile)
  const signer = await readSigner(settings)
  const ownKeys = 'check' in genesis ? undefined : await readOwnKeys(settings, genesis)
  const former = settings.formerPrivateKeyFile
  const findings = [
    ...('check' in genesis ? [genesis] : [good('genesis', genesis.network_name), checkWindow(genesis, now)]),
    ...('check' in signer ? [signer] : [checkSigner(signer, genesis, settings)]),
    ...(await checkKeyFile(keyPath(settings.keySource))),
    ...(await checkKeyFile(former)),
    ...(ownKeys !== undefined && 'check' in ownKeys ? [ownKeys] : []),
    checkOperators(settings, genesis, signer),
  ]
  return {
    findings,
    genesis: 'check' in genesis ? undefined : genesis,
    ownKeys: ownKeys === undefined || 'check' in ownKeys ? undefined : ownKeys,
  }
}

/** The keys that the database belongs to, with a warning where the settings name an earlier one. */
export async function keysInUse(database: Database, { keyId }: AuthoritySettings, given: Keys): Promise<Keys> {
  const { genesis, ownKeys } = given
  const later =
    genesis === undefined || ownKeys === undefined ? undefined : await findLaterKeys(database, { genesis, ownKeys })
  if (later === undefined) return { ...given, findings: [] }
  const found =
    later.keyId === keyId
      ? `the block and the history of ${keyId} are older than those in use`
      : `${later.keyId} is in use since a rotation, and the settings name ${keyId}`
  return { ...later, findings: [warn('key-settings', found, AFTER_ROTATION)] }
}

async function readOwnKeys(
  { keyHistoryFile, keyId }: AuthoritySettings,
  genesis: GenesisBlock,
): Promise<OwnKeys | Finding> {
  const current = { keyId, publicKey: genesis.network_authority.public_key }
  try {
    return await loadOwnKeys(keyHistoryFile, genesis, current, undefined)
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    return bad(
      'key-history',
      error.message,
      'Point NA_KEY_HISTORY_FILE at the history the root key signed: docs/operate/keys.md.',
    )
  }
}

async function readGenesis(path: string): Promise<GenesisBlock | Finding> {
  try {
    return (await loadGenesis(path)).block
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    return bad('genesis', error.message, 'Point GENESIS_FILE at the signed genesis block of this network.')
  }
}

async function readSigner({ keySource, keyId }: AuthoritySettings): Promise<AuthoritySigner | Finding> {
  try {
    return await openSigner(keySource, keyId, silentLog)
  } catch (error) {
    if (!(error instanceof KeyUnavailableError)) throw error
    return bad('key', error.message, `Fix ${keySource.setting}: docs/operate/keys.md.`)
  }
}

function checkSigner(
  signer: AuthoritySigner,
  genesis: GenesisBlock | Finding,
  { keySource }: AuthoritySettings,
): Finding {
  if (!('check' in genesis) && signer.publicKey !== genesis.network_authority.public_key)
    return bad(
      'key',
      'not the network_authority key of the genesis block',
      `Point ${keySource.setting} at the key the block names.`,
    )
  return good('key', `${signer.keyId} (${signer.provider})`)
}

/** Anyone who can read the key can act as the authority. Anyone who can write its folder can replace the key. */
async function checkKeyFile(path: string | undefined): Promise<readonly Finding[]> {
  if (path === undefined) return []
  const [file, folder] = [await stat(path).catch(() => undefined), await modeOf(dirname(path))]
  // An unreadable file is reported with the key itself.
  if (file === undefined || folder === undefined) return []
  const isSticky = (folder & 0o1000) !== 0
  return [
    checkKeyMode(path, file),
    (folder & 0o022) !== 0 && !isSticky
      ? bad('key-folder-mode', `${dirname(path)} has mode ${octal(folder)}`, `chmod 700 ${dirname(path)}`)
      : good('key-folder-mode', octal(folder)),
  ]
}

function checkKeyMode(path: string, { mode, uid, gid }: Stats): Finding {
  const found = `${path} has mode ${octal(mode)}`
  if ((mode & 0o077) === 0) return good('key-file-mode', octal(mode))
  // A mounted secret belongs to root, and its reader is in the group: orchestrators support only this.
  const isMounted = uid !== process.getuid?.() && (mode & 0o037) === 0
  if (isMounted)
    return warn(
      'key-file-mode',
      found,
      `Check that group ${gid} has no other members, or use a token: docs/operate/keys.md.`,
    )
  return bad('key-file-mode', found, `chmod 600 ${path}; if others use this machine, take the key as read by them.`)
}

function keyPath(source: KeySource): string | undefined {
  if (source.provider === 'file') return source.path
  if (source.provider === 'pkcs11') return source.pin.file
  return 'seedFile' in source ? source.seedFile : undefined
}

function checkOperators(
  settings: AuthoritySettings,
  genesis: GenesisBlock | Finding,
  signer: AuthoritySigner | Finding,
): Finding {
  const { operators } = settings
  const reserved = [
    ...('check' in genesis ? [] : [genesis.root_public_key]),
    ...('check' in signer ? [] : [signer.publicKey]),
  ]
  const twice = [...operators.values()].find(({ publicKey }) => reserved.includes(publicKey))
  if (twice !== undefined)
    return bad(
      'operators',
      `${twice.key_id} is the root or authority key`,
      'Give operators separate keys: chancery keygen operator.',
    )
  if (![...operators.values()].some(({ tier }) => tier === 'privileged'))
    return bad(
      'operators',
      'no key is privileged: nothing can be revoked',
      'Give one key the tier privileged in OPERATOR_KEY_TIERS_JSON.',
    )
  const [shared] = sharedPublicKeys(operators)
  if (shared !== undefined)
    return warn(
      'operators',
      `${shared} are one key: revoking one id leaves the others`,
      'Give each operator id its own key in OPERATOR_PUBLIC_KEYS_JSON.',
    )
  return good('operators', `${operators.size} keys`)
}

/** Settings contain database and Redis passwords. */
export async function checkEnvFile(path: string): Promise<Finding> {
  const mode = await modeOf(path)
  if (mode !== undefined && (mode & 0o007) !== 0)
    return bad(
      'env-file-mode',
      `${path} has mode ${octal(mode)}`,
      `chmod 640 ${path}; change the passwords in it if others use this machine.`,
    )
  return good('env-file-mode', octal(mode ?? 0))
}

async function modeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.mode
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0')
}

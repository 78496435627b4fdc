import {
  SettingError,
  findVariable,
  integer,
  matching,
  oneOf,
  readSettings,
  setting,
  text,
} from '@chancery/service-kit'
import type { Reader, Setting, SettingSources, SettingValues, SettingsResult } from '@chancery/service-kit'
import type { KeySource } from '../signing/key-providers.ts'
import { originUrl } from './readers.ts'

const keyProvider: Reader<KeySource['provider']> = (value) => {
  // A list of some thirty revocations is longer than 4096 bytes, so it could not be signed.
  if (value === 'aws-kms') throw new SettingError('must not be aws-kms: it signs at most 4096 bytes with Ed25519')
  return oneOf('file', 'env', 'pkcs11', 'vault', 'gcp-kms')(value)
}

const WORD = '[A-Za-z0-9._:-]+'
const KMS_KEY_VERSION = new RegExp(
  `^projects/${WORD}/locations/${WORD}/keyRings/${WORD}/cryptoKeys/${WORD}/cryptoKeyVersions/[1-9][0-9]*$`,
)

/** Settings of the signing key. Those of a provider that is not in use are ignored. */
export const KEY_SETTINGS = {
  keyProvider: setting({
    name: 'NA_KEY_PROVIDER',
    help: 'Where the signing key is: file, env, pkcs11, vault or gcp-kms.',
    read: keyProvider,
    default: 'file',
  }),
  privateKeyFile: setting({
    name: 'NA_PRIVATE_KEY_FILE',
    flag: '--na-private-key',
    help: 'Private key file, for provider file.',
    read: text,
  }),
  keySeedEnv: setting({
    name: 'NA_KEY_SEED_ENV',
    help: 'Name of the variable with the seed, for provider env.',
    read: text,
    default: 'NA_PRIVATE_KEY_SEED',
  }),
  pkcs11Module: setting({
    name: 'NA_PKCS11_MODULE',
    help: 'PKCS#11 library of the token, for provider pkcs11.',
    read: text,
  }),
  pkcs11Token: setting({ name: 'NA_PKCS11_TOKEN', help: 'Label of the token.', read: text }),
  pkcs11Key: setting({ name: 'NA_PKCS11_KEY', help: 'Label of the Ed25519 key pair in the token.', read: text }),
  pkcs11Pin: setting({ name: 'NA_PKCS11_PIN', help: 'User PIN of the token.', read: text, secret: true }),
  pkcs11PinFile: setting({
    name: 'NA_PKCS11_PIN_FILE',
    help: 'File with the user PIN, instead of NA_PKCS11_PIN.',
    read: text,
  }),
  pkcs11Sessions: setting({
    name: 'NA_PKCS11_SESSIONS',
    help: 'Number of signatures that the token makes at the same time.',
    read: integer({ min: 1, max: 64 }),
    default: 4,
  }),
  vaultAddr: setting({
    name: 'NA_VAULT_ADDR',
    help: 'HTTPS origin of Vault or OpenBao, for provider vault.',
    read: originUrl('https'),
  }),
  vaultKey: setting({ name: 'NA_VAULT_KEY', help: 'Name of the ed25519 key in the transit engine.', read: text }),
  vaultKeyVersion: setting({
    name: 'NA_VAULT_KEY_VERSION',
    help: 'Version of that key. It is pinned, so a rotation in Vault does not change the signing key.',
    read: integer({ min: 1, max: 1_000_000 }),
    default: 1,
  }),
  vaultMount: setting({
    name: 'NA_VAULT_MOUNT',
    help: 'Mount path of the transit engine.',
    read: text,
    default: 'transit',
  }),
  vaultNamespace: setting({ name: 'NA_VAULT_NAMESPACE', help: 'Namespace of the engine.', read: text }),
  vaultToken: setting({ name: 'NA_VAULT_TOKEN', help: 'Token for Vault.', read: text, secret: true }),
  vaultTokenFile: setting({
    name: 'NA_VAULT_TOKEN_FILE',
    help: 'File with the token, instead of NA_VAULT_TOKEN; read for every call, so that an agent can renew it.',
    read: text,
  }),
  vaultCaFile: setting({ name: 'NA_VAULT_CA_FILE', help: 'Root certificate for the TLS of Vault.', read: text }),
  gcpKmsKey: setting({
    name: 'NA_GCP_KMS_KEY',
    help: 'Resource name of the EC_SIGN_ED25519 key version, for provider gcp-kms.',
    read: matching(KMS_KEY_VERSION, 'must be projects/…/locations/…/keyRings/…/cryptoKeys/…/cryptoKeyVersions/N'),
  }),
  gcpKmsTokenFile: setting({
    name: 'NA_GCP_KMS_TOKEN_FILE',
    help: 'File with an access token that another program renews; read for every call.',
    read: text,
  }),
  gcpKmsEndpoint: setting({
    name: 'NA_GCP_KMS_ENDPOINT',
    help: 'HTTPS origin of Google Cloud KMS.',
    read: originUrl('https'),
    default: 'https://cloudkms.googleapis.com',
  }),
  gcpKmsCaFile: setting({
    name: 'NA_GCP_KMS_CA_FILE',
    help: 'Root certificate for the TLS of the service.',
    read: text,
  }),
  keyHistoryFile: setting({
    name: 'NA_KEY_HISTORY_FILE',
    help: 'Former keys of this authority, signed by the root key.',
    read: text,
  }),
  formerPrivateKeyFile: setting({
    name: 'NA_FORMER_PRIVATE_KEY_FILE',
    help: 'Private key file of the last former key, which signs its own list until its last certificate ends.',
    read: text,
  }),
  pkcs11FormerKey: setting({
    name: 'NA_PKCS11_FORMER_KEY',
    help: 'Label of the last former key in the token, instead of NA_FORMER_PRIVATE_KEY_FILE.',
    read: text,
  }),
} as const

export const KEY_SETTING_NAMES = Object.keys(KEY_SETTINGS) as readonly (keyof typeof KEY_SETTINGS)[]

/** Returns the name of the variable with the seed, which NA_KEY_SEED_ENV may change. */
export function seedNameOf(sources: SettingSources): string {
  return findVariable(sources, 'NA_KEY_SEED_ENV') ?? 'NA_PRIVATE_KEY_SEED'
}

/** Declares the seed and its file. The reference leaves them out, because their names depend on NA_KEY_SEED_ENV. */
export function seedSettings(name: string): Record<'seed' | 'seedFile', Setting<string | undefined>> {
  const read: Reader<string> = (value) => value
  const file = `${name}_FILE`
  return {
    seed: setting({ name, help: 'Seed of the signing key.', read, secret: true }),
    seedFile: setting({ name: file, help: 'File with the seed.', read }),
  }
}

type KeySettings = SettingValues<typeof KEY_SETTINGS & ReturnType<typeof seedSettings>>

/** Reads only where the signing key is: for a network that has no genesis block yet. */
export function readKeySource(sources: SettingSources): SettingsResult<KeySource> {
  const seedName = seedNameOf(sources)
  const reading = readSettings({ ...KEY_SETTINGS, ...seedSettings(seedName) }, sources)
  const { source, problem } = chooseKeySource(reading.values, seedName)
  reading.addProblems(KEY_SETTING_NAMES, problem === undefined ? [] : [problem])
  return reading.finish(() => source)
}

interface Choice {
  readonly source?: KeySource
  readonly problem?: string
}

/** Returns the keys that the settings name, with the problems between these settings. */
export function chooseKeys(
  values: KeySettings,
  seedName: string,
): {
  readonly keySource: KeySource | undefined
  readonly formerKeySource: KeySource | undefined
  readonly problems: readonly string[]
} {
  const current = chooseKeySource(values, seedName)
  const former = chooseFormerSource(values, current.source)
  const problems = [current, former].flatMap(({ problem }) => problem ?? [])
  return { keySource: current.source, formerKeySource: former.source, problems }
}

function chooseKeySource(values: KeySettings, seedName: string): Choice {
  if (values.keyProvider === 'file') return chooseFile(values)
  if (values.keyProvider === 'pkcs11') return choosePkcs11(values)
  if (values.keyProvider === 'vault') return chooseVault(values)
  if (values.keyProvider === 'gcp-kms') return chooseGoogleKms(values)
  return chooseSeed(values, seedName)
}

/** Chooses the last former key, while it still has a list to sign. */
function chooseFormerSource(values: KeySettings, current: KeySource | undefined): Choice {
  const { formerPrivateKeyFile: path, pkcs11FormerKey: keyLabel } = values
  if (path !== undefined && keyLabel !== undefined)
    return { problem: 'NA_FORMER_PRIVATE_KEY_FILE: give either it or NA_PKCS11_FORMER_KEY' }
  if ((path !== undefined || keyLabel !== undefined) && values.keyHistoryFile === undefined)
    return { problem: 'NA_KEY_HISTORY_FILE: is required with a former key' }
  if (path !== undefined) return { source: { provider: 'file', setting: 'NA_FORMER_PRIVATE_KEY_FILE', path } }
  if (keyLabel === undefined) return {}
  if (current?.provider !== 'pkcs11') return { problem: 'NA_PKCS11_FORMER_KEY: needs NA_KEY_PROVIDER=pkcs11' }
  return { source: { ...current, setting: 'NA_PKCS11_FORMER_KEY', keyLabel } }
}

function chooseFile({ privateKeyFile }: KeySettings): Choice {
  if (privateKeyFile === undefined) return { problem: 'NA_PRIVATE_KEY_FILE: is required (or --na-private-key)' }
  return { source: { provider: 'file', setting: 'NA_PRIVATE_KEY_FILE', path: privateKeyFile } }
}

function chooseSeed({ seed, seedFile }: KeySettings, seedName: string): Choice {
  if (seed !== undefined && seedFile !== undefined)
    return { problem: `${seedName}: give either it or ${seedName}_FILE` }
  if (seed !== undefined) return { source: { provider: 'env', setting: seedName, seed } }
  if (seedFile !== undefined) return { source: { provider: 'env', setting: `${seedName}_FILE`, seedFile } }
  return { problem: `${seedName}: is required with NA_KEY_PROVIDER=env (or ${seedName}_FILE)` }
}

function choosePkcs11(values: KeySettings): Choice {
  const { pkcs11Module: modulePath, pkcs11Token: tokenLabel, pkcs11Key: keyLabel } = values
  if (modulePath === undefined) return missing('NA_PKCS11_MODULE', 'pkcs11')
  if (tokenLabel === undefined) return missing('NA_PKCS11_TOKEN', 'pkcs11')
  if (keyLabel === undefined) return missing('NA_PKCS11_KEY', 'pkcs11')
  const pin = chooseSecret('NA_PKCS11_PIN', values.pkcs11Pin, values.pkcs11PinFile)
  if (typeof pin === 'string') return { problem: pin }
  const options = { modulePath, tokenLabel, keyLabel, pin, sessions: values.pkcs11Sessions }
  return { source: { provider: 'pkcs11', setting: 'NA_PKCS11_KEY', ...options } }
}

function chooseVault(values: KeySettings): Choice {
  const { vaultAddr: origin, vaultKey: key, vaultMount: mount, vaultNamespace: namespace, vaultCaFile: caFile } = values
  if (origin === undefined) return missing('NA_VAULT_ADDR', 'vault')
  if (key === undefined) return missing('NA_VAULT_KEY', 'vault')
  const token = chooseSecret('NA_VAULT_TOKEN', values.vaultToken, values.vaultTokenFile)
  if (typeof token === 'string') return { problem: token }
  const options = { origin, key, mount, namespace, caFile, token, keyVersion: values.vaultKeyVersion }
  return { source: { provider: 'vault', setting: 'NA_VAULT_KEY', ...options } }
}

function chooseGoogleKms(values: KeySettings): Choice {
  const { gcpKmsKey: keyVersion, gcpKmsTokenFile: file, gcpKmsEndpoint: origin, gcpKmsCaFile: caFile } = values
  if (keyVersion === undefined) return missing('NA_GCP_KMS_KEY', 'gcp-kms')
  if (file === undefined) return missing('NA_GCP_KMS_TOKEN_FILE', 'gcp-kms')
  return { source: { provider: 'gcp-kms', setting: 'NA_GCP_KMS_KEY', keyVersion, origin, caFile, token: { file } } }
}

/** Returns the secret, which is in a setting or in a file, or the problem as a text. */
function chooseSecret(name: string, value: string | undefined, file: string | undefined): Secret | string {
  if (value !== undefined && file !== undefined) return `${name}: give either it or ${name}_FILE`
  if (value !== undefined) return { setting: name, value }
  if (file !== undefined) return { setting: `${name}_FILE`, file }
  return `${name}: is required (or ${name}_FILE)`
}

type Secret = Extract<KeySource, { readonly provider: 'pkcs11' }>['pin']

function missing(name: string, provider: string): Choice {
  return { problem: `${name}: is required with NA_KEY_PROVIDER=${provider}` }
}

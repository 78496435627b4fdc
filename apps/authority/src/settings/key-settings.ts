import { SettingError, findVariable, oneOf, readSettings, setting, text } from '@chancery/service-kit'
import type { Reader, Setting, SettingSources, SettingValues, SettingsResult } from '@chancery/service-kit'
import type { KeySource } from '../signing/key-providers.ts'
import { type KeyPlace, keyUri } from './key-uri.ts'

const keyProvider: Reader<KeySource['provider']> = (value) => {
  // A list of some thirty revocations is longer than 4096 bytes, so it could not be signed.
  if (value === 'aws-kms') throw new SettingError('must not be aws-kms: it signs at most 4096 bytes with Ed25519')
  return oneOf('file', 'env', 'pkcs11', 'vault', 'gcp-kms')(value)
}

/** Settings of the signing key. Those of other providers stop the start, except files and seeds. */
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
  keyUri: setting({
    name: 'NA_KEY_URI',
    help: 'Where the key is, for the providers pkcs11, vault and gcp-kms: pkcs11:token=LABEL;object=LABEL?module-path=FILE&sessions=4&former-object=LABEL or vault+https://HOST/MOUNT/KEY?version=1&namespace=NAME&ca-file=FILE or gcpkms://projects/…/cryptoKeyVersions/N?endpoint=https://HOST&ca-file=FILE.',
    read: keyUri,
    // A PIN may be in it by mistake, and then no message may show it.
    secret: true,
  }),
  keyTokenFile: setting({
    name: 'NA_KEY_TOKEN_FILE',
    help: 'File with the PIN of the token, or with the access token of the key service, which is read for every call.',
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
  const { keyProvider: provider, keyUri: place, keyTokenFile } = values
  if (provider !== 'file' && provider !== 'env') return choosePlace(values, provider)
  if (place !== undefined) return { problem: `NA_KEY_URI: needs NA_KEY_PROVIDER=${place.provider}` }
  if (keyTokenFile !== undefined) return { problem: 'NA_KEY_TOKEN_FILE: needs NA_KEY_URI' }
  return provider === 'file' ? chooseFile(values) : chooseSeed(values, seedName)
}

function choosePlace({ keyUri: place, keyTokenFile: file }: KeySettings, provider: KeyPlace['provider']): Choice {
  if (place === undefined) return { problem: `NA_KEY_URI: is required with NA_KEY_PROVIDER=${provider}` }
  if (place.provider !== provider) return { problem: `NA_KEY_URI: needs NA_KEY_PROVIDER=${place.provider}` }
  if (file === undefined) return { problem: 'NA_KEY_TOKEN_FILE: is required with NA_KEY_URI' }
  const from = { ...place, setting: 'NA_KEY_URI' }
  const secret = { setting: 'NA_KEY_TOKEN_FILE', file }
  if (from.provider !== 'pkcs11') return { source: { ...from, token: secret } }
  const { formerLabel: _former, ...current } = from
  return { source: { ...current, pin: secret } }
}

/** Chooses the last former key, while it still has a list to sign. */
function chooseFormerSource(values: KeySettings, current: KeySource | undefined): Choice {
  const { formerPrivateKeyFile: path, keyUri: place } = values
  const keyLabel = place?.provider === 'pkcs11' ? place.formerLabel : undefined
  if (path !== undefined && keyLabel !== undefined)
    return { problem: 'NA_FORMER_PRIVATE_KEY_FILE: give either it or former-object in NA_KEY_URI' }
  if ((path !== undefined || keyLabel !== undefined) && values.keyHistoryFile === undefined)
    return { problem: 'NA_KEY_HISTORY_FILE: is required with a former key' }
  if (path !== undefined) return { source: { provider: 'file', setting: 'NA_FORMER_PRIVATE_KEY_FILE', path } }
  return keyLabel === undefined || current?.provider !== 'pkcs11' ? {} : { source: { ...current, keyLabel } }
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

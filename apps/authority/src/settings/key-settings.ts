import { SettingError, findVariable, integer, oneOf, setting, text } from '@chancery/service-kit'
import type { Reader, SettingSources, SettingValues } from '@chancery/service-kit'
import type { KeySource } from '../signing/key-providers.ts'

const keyProvider: Reader<KeySource['provider']> = (value) => {
  // A list of some thirty revocations is longer already: the first grown list could not be signed any more.
  if (value === 'aws-kms') throw new SettingError('must not be aws-kms: it signs at most 4096 bytes with Ed25519')
  return oneOf('file', 'env', 'pkcs11', 'vault', 'gcp-kms')(value)
}

const httpsOrigin: Reader<string> = (value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined
  const isOrigin =
    url?.protocol === 'https:' && `${url.pathname}${url.search}${url.hash}${url.username}${url.password}` === '/'
  if (!isOrigin) throw new SettingError('must be an https origin: scheme, host and optional port')
  return url.origin
}

const kmsKeyVersion: Reader<string> = (value) => {
  const word = '[A-Za-z0-9._:-]+'
  const form = `^projects/${word}/locations/${word}/keyRings/${word}/cryptoKeys/${word}/cryptoKeyVersions/[1-9][0-9]*$`
  if (!new RegExp(form).test(value))
    throw new SettingError('must be projects/…/locations/…/keyRings/…/cryptoKeys/…/cryptoKeyVersions/N')
  return value
}

/** Where the signing key is. What belongs to another provider than the chosen one is not looked at. */
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
    help: 'Private key file of provider file.',
    read: text,
  }),
  keySeedEnv: setting({
    name: 'NA_KEY_SEED_ENV',
    help: 'Renames the variable that provider env reads the seed from.',
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
  pkcs11PinFile: setting({ name: 'NA_PKCS11_PIN_FILE', help: 'File with the user PIN, instead.', read: text }),
  pkcs11Sessions: setting({
    name: 'NA_PKCS11_SESSIONS',
    help: 'Signatures the token makes at once.',
    read: integer({ min: 1, max: 64 }),
    default: 4,
  }),
  vaultAddr: setting({
    name: 'NA_VAULT_ADDR',
    help: 'HTTPS origin of Vault or OpenBao, for provider vault.',
    read: httpsOrigin,
  }),
  vaultKey: setting({ name: 'NA_VAULT_KEY', help: 'Name of the ed25519 key in the transit engine.', read: text }),
  vaultKeyVersion: setting({
    name: 'NA_VAULT_KEY_VERSION',
    help: 'Version of that key; pinned, so that a rotation there changes nothing here.',
    read: integer({ min: 1, max: 1_000_000 }),
    default: 1,
  }),
  vaultMount: setting({
    name: 'NA_VAULT_MOUNT',
    help: 'Where the transit engine is mounted.',
    read: text,
    default: 'transit',
  }),
  vaultNamespace: setting({ name: 'NA_VAULT_NAMESPACE', help: 'Namespace of the engine.', read: text }),
  vaultToken: setting({ name: 'NA_VAULT_TOKEN', help: 'Token for Vault.', read: text, secret: true }),
  vaultTokenFile: setting({
    name: 'NA_VAULT_TOKEN_FILE',
    help: 'File with the token, instead; read for every call, so that an agent may renew it.',
    read: text,
  }),
  vaultCaFile: setting({ name: 'NA_VAULT_CA_FILE', help: 'Root certificate of its TLS.', read: text }),
  gcpKmsKey: setting({
    name: 'NA_GCP_KMS_KEY',
    help: 'Resource name of the EC_SIGN_ED25519 key version, for provider gcp-kms.',
    read: kmsKeyVersion,
  }),
  gcpKmsTokenFile: setting({
    name: 'NA_GCP_KMS_TOKEN_FILE',
    help: 'File with an access token that others keep fresh; read for every call.',
    read: text,
  }),
  gcpKmsEndpoint: setting({
    name: 'NA_GCP_KMS_ENDPOINT',
    help: 'HTTPS origin of the service.',
    read: httpsOrigin,
    default: 'https://cloudkms.googleapis.com',
  }),
  gcpKmsCaFile: setting({ name: 'NA_GCP_KMS_CA_FILE', help: 'Root certificate of its TLS.', read: text }),
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
    help: 'Label of that key in the token, instead.',
    read: text,
  }),
} as const

type KeySettings = SettingValues<typeof KEY_SETTINGS>

interface Choice {
  readonly source?: KeySource
  readonly problem?: string
}

/** The key that the settings name, or what is missing to name one. */
export function chooseKeySource(raw: KeySettings, sources: SettingSources, seedName: string): Choice {
  if (raw.keyProvider === 'file') return chooseFile(raw)
  if (raw.keyProvider === 'pkcs11') return choosePkcs11(raw)
  if (raw.keyProvider === 'vault') return chooseVault(raw)
  if (raw.keyProvider === 'gcp-kms') return chooseGoogleKms(raw)
  return chooseSeed(sources, seedName)
}

/** The last former key, where one still has a list to sign. */
export function chooseFormerSource(raw: KeySettings, current: KeySource | undefined): Choice {
  const { formerPrivateKeyFile: path, pkcs11FormerKey: keyLabel } = raw
  if (path !== undefined && keyLabel !== undefined)
    return { problem: 'NA_FORMER_PRIVATE_KEY_FILE: give either it or NA_PKCS11_FORMER_KEY' }
  if ((path !== undefined || keyLabel !== undefined) && raw.keyHistoryFile === undefined)
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

function chooseSeed(sources: SettingSources, seedName: string): Choice {
  const [seed, seedFile] = [findVariable(sources, seedName), findVariable(sources, `${seedName}_FILE`)]
  if (seed !== undefined && seedFile !== undefined)
    return { problem: `${seedName}: give either it or ${seedName}_FILE` }
  if (seed !== undefined) return { source: { provider: 'env', setting: seedName, seed } }
  if (seedFile !== undefined) return { source: { provider: 'env', setting: `${seedName}_FILE`, seedFile } }
  return { problem: `${seedName}: is required with NA_KEY_PROVIDER=env (or ${seedName}_FILE)` }
}

function choosePkcs11(raw: KeySettings): Choice {
  const { pkcs11Module: modulePath, pkcs11Token: tokenLabel, pkcs11Key: keyLabel } = raw
  if (modulePath === undefined) return missing('NA_PKCS11_MODULE', 'pkcs11')
  if (tokenLabel === undefined) return missing('NA_PKCS11_TOKEN', 'pkcs11')
  if (keyLabel === undefined) return missing('NA_PKCS11_KEY', 'pkcs11')
  const pin = chooseSecret('NA_PKCS11_PIN', raw.pkcs11Pin, raw.pkcs11PinFile)
  if (typeof pin === 'string') return { problem: pin }
  const place = { modulePath, tokenLabel, keyLabel, pin, sessions: raw.pkcs11Sessions }
  return { source: { provider: 'pkcs11', setting: 'NA_PKCS11_KEY', ...place } }
}

function chooseVault(raw: KeySettings): Choice {
  const { vaultAddr: origin, vaultKey: key, vaultMount: mount, vaultNamespace: namespace, vaultCaFile: caFile } = raw
  if (origin === undefined) return missing('NA_VAULT_ADDR', 'vault')
  if (key === undefined) return missing('NA_VAULT_KEY', 'vault')
  const token = chooseSecret('NA_VAULT_TOKEN', raw.vaultToken, raw.vaultTokenFile)
  if (typeof token === 'string') return { problem: token }
  const place = { origin, key, mount, namespace, caFile, token, keyVersion: raw.vaultKeyVersion }
  return { source: { provider: 'vault', setting: 'NA_VAULT_KEY', ...place } }
}

function chooseGoogleKms(raw: KeySettings): Choice {
  const { gcpKmsKey: keyVersion, gcpKmsTokenFile: file, gcpKmsEndpoint: origin, gcpKmsCaFile: caFile } = raw
  if (keyVersion === undefined) return missing('NA_GCP_KMS_KEY', 'gcp-kms')
  if (file === undefined) return missing('NA_GCP_KMS_TOKEN_FILE', 'gcp-kms')
  return { source: { provider: 'gcp-kms', setting: 'NA_GCP_KMS_KEY', keyVersion, origin, caFile, token: { file } } }
}

/** A secret in a setting or in a file, not in both; the text is the problem. */
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

import { type Reader, SettingError, integer } from '@chancery/service-kit'
import { originUrl } from './readers.ts'

/** The place of a key in a token or in a key service. Its PIN or access token is in a file, never in the URI. */
export type KeyPlace = TokenPlace | VaultPlace | GoogleKmsPlace

interface TokenPlace {
  readonly provider: 'pkcs11'
  readonly modulePath: string
  readonly tokenLabel: string
  readonly keyLabel: string
  /** The last former key in the same token. */
  readonly formerLabel: string | undefined
  readonly sessions: number
}

interface VaultPlace {
  readonly provider: 'vault'
  readonly origin: string
  readonly mount: string
  readonly key: string
  readonly keyVersion: number
  readonly namespace: string | undefined
  readonly caFile: string | undefined
}

interface GoogleKmsPlace {
  readonly provider: 'gcp-kms'
  readonly keyVersion: string
  readonly origin: string
  readonly caFile: string | undefined
}

const VAULT = /^vault\+(https:\/\/[^/?#@]+)\/([^?#]+)(?:\?([^#]*))?$/
const GOOGLE = /^gcpkms:\/\/([^?#]*)(?:\?([^#]*))?$/
const WORD = '(?!\\.{1,2}/)[A-Za-z0-9._:-]+'
const KMS_KEY_VERSION = new RegExp(
  `^projects/${WORD}/locations/${WORD}/keyRings/${WORD}/cryptoKeys/${WORD}/cryptoKeyVersions/[1-9][0-9]*$`,
)

/**
 * Reads where a key is: a PKCS#11 URI (RFC 7512), or the address of a key service. No message contains a part of the
 * URI, because a PIN may be in it by mistake.
 */
export const keyUri: Reader<KeyPlace> = (value) => {
  if (value.startsWith('pkcs11:')) return readToken(value.slice('pkcs11:'.length))
  if (value.startsWith('vault+')) return readVault(value)
  if (value.startsWith('gcpkms:')) return readGoogleKms(value)
  throw new SettingError('must begin with pkcs11:, vault+https:// or gcpkms://')
}

function readToken(text: string): TokenPlace {
  // Also in a place where it would be a part of a label, which messages show.
  if (/pin-(?:value|source)/i.test(tryDecode(text) ?? text))
    throw new SettingError('must have no PIN: NA_KEY_TOKEN_FILE names the file with it')
  const [path, query] = cutAt(text, '?')
  const { token, object, type = 'private' } = readParts(path, ';', ['token', 'object', 'type'])
  const names = ['module-path', 'sessions', 'former-object'] as const
  const { 'module-path': modulePath, sessions = '4', 'former-object': formerLabel } = readParts(query, '&', names)
  if (token === undefined || object === undefined || modulePath === undefined)
    throw new SettingError('must have token, object and module-path: pkcs11:token=T;object=KEY?module-path=FILE')
  if (type !== 'private') throw new SettingError('must have no type but private')
  return {
    provider: 'pkcs11',
    modulePath,
    tokenLabel: token,
    keyLabel: object,
    formerLabel,
    sessions: readAs('sessions', integer({ min: 1, max: 64 }), sessions),
  }
}

function readVault(text: string): VaultPlace {
  const wrong = new SettingError('must be vault+https://HOST/MOUNT/KEY, without a user')
  const [, origin, path = '', query = ''] = VAULT.exec(text) ?? []
  if (origin === undefined) throw wrong
  const segments = path.split('/').map((segment) => decode('the path', segment))
  // The path of a call would lead elsewhere.
  const isOdd = segments
    .join('/')
    .split('/')
    .some((each) => ['', '.', '..'].includes(each))
  const key = segments.pop()
  if (key === undefined || segments.length === 0 || isOdd) throw wrong
  const { version = '1', namespace, 'ca-file': caFile } = readParts(query, '&', ['version', 'namespace', 'ca-file'])
  return {
    provider: 'vault',
    origin: readAs('the server', originUrl('https'), origin),
    mount: segments.join('/'),
    key,
    keyVersion: readAs('version', integer({ min: 1, max: 1_000_000 }), version),
    namespace,
    caFile,
  }
}

function readGoogleKms(text: string): GoogleKmsPlace {
  const [, keyVersion = '', query = ''] = GOOGLE.exec(text) ?? []
  if (!KMS_KEY_VERSION.test(keyVersion))
    throw new SettingError('must be gcpkms://projects/…/locations/…/keyRings/…/cryptoKeys/…/cryptoKeyVersions/N')
  const { endpoint = 'https://cloudkms.googleapis.com', 'ca-file': caFile } = readParts(query, '&', [
    'endpoint',
    'ca-file',
  ])
  return { provider: 'gcp-kms', keyVersion, origin: readAs('endpoint', originUrl('https'), endpoint), caFile }
}

function cutAt(text: string, mark: string): readonly [string, string] {
  const cut = text.indexOf(mark)
  return cut < 0 ? [text, ''] : [text.slice(0, cut), text.slice(cut + 1)]
}

/** Reads `name=value` parts. One that is unknown or repeated is a mistake, and could be a misspelt one. */
function readParts<const Name extends string>(
  text: string,
  separator: ';' | '&',
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const read: Partial<Record<Name, string>> = {}
  for (const part of text === '' ? [] : text.split(separator)) {
    const [given, value] = cutAt(part, '=')
    const name = names.find((each) => each === given)
    if (name === undefined) {
      const place = separator === ';' ? 'before' : 'after'
      throw new SettingError(`must have nothing but ${names.join(', ')} ${place} the question mark`)
    }
    if (read[name] !== undefined) throw new SettingError(`must have ${name} once`)
    read[name] = decode(name, value)
  }
  return read
}

/** What RFC 7512 lets a value contain unescaped, and the slash of paths. */
const SPELLING = /^(?:[A-Za-z0-9\-._~:[\]@!$'()*+,=/]|%[0-9A-Fa-f]{2})+$/

function decode(name: string, text: string): string {
  const decoded = SPELLING.test(text) ? tryDecode(text) : undefined
  if (decoded === undefined || /\p{Cc}/u.test(decoded))
    throw new SettingError(`must have a value of ${name} in letters, digits and %XX, for example %20 for a space`)
  return decoded
}

function tryDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function readAs<Value>(name: string, read: Reader<Value>, text: string): Value {
  try {
    return read(text)
  } catch (error) {
    if (error instanceof SettingError) throw new SettingError(`${name} ${error.message}`)
    throw error
  }
}

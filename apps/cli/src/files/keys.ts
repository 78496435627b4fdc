import { randomBytes } from 'node:crypto'
import { mkdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import {
  isKeyId,
  readPrivateKeyFile,
  readPublicKeyFile,
  readTrustedPublicKey,
  seedSigner,
  toBase64,
  writePrivateKeyFile,
  writePublicKeyFile,
} from '@chancery/protocol'
import type { Signer } from '@chancery/protocol'
import type { CommandContext } from '../context.ts'
import { CommandError, usageError } from '../errors/failure.ts'
import { FOR_ALL, OWNER_ONLY, readText, refuseExisting, replaceFile, toFailure, writeNewFile } from './files.ts'
import { shellWord } from '../output/shell-word.ts'
import type { Options } from '../arguments/options.ts'

export interface MadeKey {
  readonly keyId: string | undefined
  readonly publicKey: string
  readonly privateFile: string
  readonly publicFile: string
}

export interface KeyFiles {
  /** Without extension. */
  readonly base: string
  readonly keyId?: string | undefined
  /** Replaces existing files. */
  readonly force?: boolean
}

/** Creates a key pair in the two files of protocol/core 2 and reads it back. */
export async function makeKeyPair({ base, keyId, force = false }: KeyFiles): Promise<MadeKey> {
  const [privateFile, publicFile] = [`${base}.key`, `${base}.pub`]
  await mkdir(dirname(base), { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw toFailure(error, dirname(base), 'made')
  })
  // Checked before anything is written: a new key next to an earlier one would look like a pair.
  const hint = 'Choose another name. --force replaces it, and the key that was in it is lost.'
  if (!force) await refuseExisting([privateFile, publicFile], hint)
  const seed = toBase64(randomBytes(32))
  const { publicKey } = await seedSigner(keyId ?? '', seed)
  const write = force ? replaceFile : writeNewFile
  await write(privateFile, writePrivateKeyFile(seed, keyId), OWNER_ONLY)
  await write(publicFile, writePublicKeyFile(publicKey, keyId), FOR_ALL)
  await checkKeyPair(privateFile, publicFile)
  return { keyId, publicKey, privateFile, publicFile }
}

async function checkKeyPair(privateFile: string, publicFile: string): Promise<void> {
  const seed = readPrivateKeyFile(await readText(privateFile))?.value ?? ''
  const stored = readPublicKeyFile(await readText(publicFile))?.value
  const { publicKey } = await seedSigner('', seed)
  if (stored !== publicKey) throw new Error(`${publicFile} does not contain the public key of ${privateFile}`)
}

/** Returns a signer from a private key file. Warns when other users of the machine can read the file. */
export async function loadSigner(
  context: Pick<CommandContext, 'cwd' | 'note'>,
  file: string,
  chooseKeyId: (noted: string | undefined) => string | undefined,
): Promise<Signer> {
  const path = resolve(context.cwd, file)
  const key = readPrivateKeyFile(await readText(path))
  if (key === undefined) {
    const hint = 'A private key file is made with: chancery keygen operator --out <base>'
    throw new CommandError({ code: 'invalid_key_file', message: `${file} is not a private key file.`, hint })
  }
  // On Windows the mode does not show the access of other users.
  const isOpen = process.platform !== 'win32' && ((await stat(path)).mode & 0o077) !== 0
  if (isOpen) context.note(`other users of this machine may read ${file}; run: chmod 600 ${shellWord(file)}`)
  return seedSigner(readKeyId(chooseKeyId(key.keyId), file), key.value)
}

function readKeyId(keyId: string | undefined, file: string): string {
  if (keyId === undefined) throw usageError(`${file} has no key id.`, 'Give the id of this key at the authority.')
  return checkKeyId(keyId)
}

export function checkKeyId(keyId: string): string {
  if (!isKeyId(keyId)) throw usageError('A key id is 1 to 128 characters of A-Z a-z 0-9 . _ : @ / + = -')
  return keyId
}

function isPrivateKeyFile(path: string, text: string): boolean {
  return path.endsWith('.key') || /^\s*#.*private key/im.test(text)
}

/** Returns a public key from base64 or a .pub file. Checks it completely, because it will be trusted. */
export async function loadPublicKey(cwd: string, flag: string, given: string): Promise<string> {
  if (readTrustedPublicKey(given) !== undefined) return given
  const path = resolve(cwd, given)
  const isFile = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
  const text = isFile ? await readText(path) : ''
  // One seed in sixteen is also a valid public key. Published in a genesis block, it would disclose the private key.
  const value = isPrivateKeyFile(path, text) ? undefined : readPublicKeyFile(text)?.value
  if (value !== undefined && readTrustedPublicKey(value) !== undefined) return value
  // The text may be a private key, so it is not printed.
  throw usageError(
    `${flag} is neither a .pub file nor an Ed25519 public key in base64.`,
    'Give the .pub file that keygen made.',
  )
}

/** The key of a node: from its folder, a .pub file or base64. */
export async function loadNodeKey(cwd: string, flag: string, given: string): Promise<string> {
  const inFolder = join(given, 'node.pub')
  const isFolder = await stat(resolve(cwd, inFolder)).then(
    (found) => found.isFile(),
    () => false,
  )
  return loadPublicKey(cwd, flag, isFolder ? inFolder : given)
}

/** Public keys given with a flag that may be repeated; undefined when there is none. */
export async function loadPublicKeys(
  cwd: string,
  options: Options,
  flag: string,
): Promise<readonly string[] | undefined> {
  const given = options.list(flag)
  if (given.length === 0) return undefined
  const keys = await Promise.all(given.map((each) => loadPublicKey(cwd, `--${flag}`, each)))
  if (new Set(keys).size !== keys.length) throw usageError(`--${flag} names one key twice.`)
  return keys
}

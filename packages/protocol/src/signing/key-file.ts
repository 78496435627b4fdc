import { readSeed, readPublicKey } from './keys.ts'

/** The two text files of a key pair (protocol/core 2). */
export interface KeyFile {
  readonly keyId: string | undefined
  /** The seed or the public key, base64. */
  readonly value: string
}

/** Comment lines start with `#`; the rest, trimmed and joined, is the value. */
export function readPrivateKeyFile(text: string): KeyFile | undefined {
  const file = readKeyFile(text)
  return readSeed(file.value) === undefined ? undefined : file
}

export function readPublicKeyFile(text: string): KeyFile | undefined {
  const file = readKeyFile(text)
  return readPublicKey(file.value) === undefined ? undefined : file
}

function readKeyFile(text: string): KeyFile {
  const lines = text.split('\n').map((line) => line.trim())
  const value = lines.filter((line) => !line.startsWith('#')).join('')
  const label = lines.find((line) => line.startsWith('# Key ID:'))
  return { keyId: label?.slice('# Key ID:'.length).trim() || undefined, value }
}

export function writePrivateKeyFile(seed: string, keyId?: string): string {
  return writeKeyFile('# Ed25519 Private Key', seed, keyId)
}

export function writePublicKeyFile(publicKey: string, keyId?: string): string {
  return writeKeyFile('# Ed25519 Public Key', publicKey, keyId)
}

function writeKeyFile(title: string, value: string, keyId: string | undefined): string {
  const label = keyId === undefined ? '' : `# Key ID: ${keyId}\n`
  return `${title}\n${label}${value}\n`
}

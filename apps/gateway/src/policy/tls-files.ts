import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import type { Instant } from '@chancery/protocol'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import { readFileSync, statSync } from 'node:fs'

/** A configuration file as bytes, or its problem. The text never contains the content. */
export type FileContent =
  | { readonly bytes: Uint8Array; readonly isOpenToReaders: boolean }
  | { readonly problem: string }

export interface FileRules {
  readonly maxBytes: number
  /** A user that may write the policy decides which callers this gateway trusts. */
  readonly isWriteProtected: boolean
}

/** Reads a file of the configuration: from the disk, or as the supervisor of this worker read it. */
export type ReadConfigFile = (file: string, rules: FileRules) => FileContent

/** Contents by file and rules. */
export type RecordedFiles = ReadonlyMap<string, FileContent>

/** Reads from the disk and records everything that was read. */
export function recordFiles(): { readonly read: ReadConfigFile; readonly files: RecordedFiles } {
  const files = new Map<string, FileContent>()
  const read: ReadConfigFile = (file, rules) => {
    const content = readConfigFile(file, rules)
    files.set(recordKey(file, rules), content)
    return content
  }
  return { read, files }
}

/** Reads what another process recorded. A worker uses the files that its supervisor checked, not newer ones. */
export function readRecorded(files: RecordedFiles): ReadConfigFile {
  return (file, rules) => files.get(recordKey(file, rules)) ?? { problem: 'was not read by the supervisor' }
}

function recordKey(file: string, { maxBytes, isWriteProtected }: FileRules): string {
  return `${maxBytes} ${isWriteProtected} ${file}`
}

export function readConfigFile(file: string, { maxBytes, isWriteProtected }: FileRules): FileContent {
  try {
    const { mode, size } = statSync(file)
    if (isWriteProtected && (mode & 0o022) !== 0) return { problem: 'others may write the file' }
    if (size > maxBytes) return { problem: `is larger than ${maxBytes} bytes` }
    return { bytes: readFileSync(file), isOpenToReaders: (mode & 0o044) !== 0 }
  } catch {
    return { problem: 'cannot be read' }
  }
}

export function readTextFile(
  file: string,
  maxBytes: number,
  read: ReadConfigFile = readConfigFile,
): string | undefined {
  const content = read(file, { maxBytes, isWriteProtected: false })
  return 'bytes' in content ? Buffer.from(content.bytes).toString('utf8') : undefined
}

/**
 * Reads a file that the policy names: roots by default, a private key that only its owner may read, or a record. Returns
 * undefined when it cannot be used; the caller adds the problem.
 */
export type ReadNamedFile = (file: string, kind?: 'secret' | 'record') => string | undefined

/** Certificate, key and client authority of the mutual TLS listener. */
export interface TlsMaterial {
  readonly cert: string
  readonly key: string
  readonly clientCa: string
}

export interface TlsProblem {
  readonly setting: string
  readonly message: string
}

const MAX_PEM_BYTES = 1_048_576
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** Reads and checks the three files (protocol/gateway 3.11, 18.2): they parse, match and have not expired. */
export function readTlsFiles(
  settings: GatewaySettings,
  now: Instant,
  read: ReadConfigFile = readConfigFile,
): TlsMaterial | readonly TlsProblem[] | undefined {
  const { tlsCertFile, tlsKeyFile, tlsClientCaFile } = settings
  if (tlsCertFile === undefined || tlsKeyFile === undefined || tlsClientCaFile === undefined) return undefined
  const cert = readTextFile(tlsCertFile, MAX_PEM_BYTES, read)
  const key = readTextFile(tlsKeyFile, MAX_PEM_BYTES, read)
  const clientCa = readTextFile(tlsClientCaFile, MAX_PEM_BYTES, read)
  const problems: TlsProblem[] = []
  if (cert === undefined) problems.push({ setting: 'GATEWAY_TLS_CERT_FILE', message: 'cannot be read' })
  if (key === undefined) problems.push({ setting: 'GATEWAY_TLS_KEY_FILE', message: 'cannot be read' })
  if (clientCa === undefined) problems.push({ setting: 'GATEWAY_TLS_CLIENT_CA_FILE', message: 'cannot be read' })
  if (cert === undefined || key === undefined || clientCa === undefined) return problems
  const found = [
    ['GATEWAY_TLS_CERT_FILE', chainProblem(cert, now)],
    ['GATEWAY_TLS_CLIENT_CA_FILE', chainProblem(clientCa, now)],
    ['GATEWAY_TLS_KEY_FILE', pairProblem(cert, key)],
  ] as const
  for (const [setting, message] of found) if (message !== undefined) problems.push({ setting, message })
  return problems.length > 0 ? problems : { cert, key, clientCa }
}

/** Returns every certificate of a PEM text separately. */
export function certificateBlocks(pem: string): readonly string[] {
  return pem.match(PEM) ?? []
}

/** Returns why a PEM chain cannot be used now, or undefined. */
export function chainProblem(pem: string, now: Instant): string | undefined {
  const blocks = certificateBlocks(pem)
  if (blocks.length === 0) return 'contains no certificate'
  try {
    const ended = blocks
      .map((block) => new X509Certificate(block))
      .some(({ validToDate }) => toInstant(validToDate) < now)
    return ended ? 'contains a certificate that has expired' : undefined
  } catch {
    return 'contains a certificate that cannot be read'
  }
}

function toInstant(date: Date): Instant {
  return BigInt(date.getTime()) * 1000n
}

function pairProblem(cert: string, key: string): string | undefined {
  try {
    createSecureContext({ cert, key })
    return undefined
  } catch {
    return 'is not the key of the certificate'
  }
}

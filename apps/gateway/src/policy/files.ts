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

import { readFileSync, statSync } from 'node:fs'

/** A configuration file as bytes, or what is wrong with it; the content never appears in the text. */
export type FileContent =
  | { readonly bytes: Uint8Array; readonly isOpenToReaders: boolean }
  | { readonly problem: string }

export interface FileRules {
  readonly maxBytes: number
  /** Whoever may write a policy decides whom this gateway trusts. */
  readonly isWriteProtected: boolean
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

export function readTextFile(file: string, maxBytes: number): string | undefined {
  const content = readConfigFile(file, { maxBytes, isWriteProtected: false })
  return 'bytes' in content ? Buffer.from(content.bytes).toString('utf8') : undefined
}

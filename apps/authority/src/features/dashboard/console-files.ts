import { readFileSync } from 'node:fs'
import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { CachedDocument, etagOf } from '@chancery/service-kit'

/** The output of `npm run build` for apps/console, in the same folder for sources and for the built authority. */
const FOLDER = new URL('../../../dist/console/', import.meta.url)
const OPERATOR = new URL('operator/', FOLDER)

/** One entry of the side navigation. The console writes the list at build time, from its registry of pages. */
export interface NavEntry {
  readonly path: string
  readonly title: string
  readonly asks: string
  /** Empty for the first group and for the entries at the end, which have `isLast`. */
  readonly group: string
  readonly isLast: boolean
  /** The path of the icon, in a box of 16 by 16. */
  readonly icon: string
}

/** What the build writes to `manifest.json` (tools/release/build-operator.ts). */
export interface ConsoleManifest {
  readonly script: string
  readonly style: string
  readonly files: readonly string[]
  readonly nav: readonly NavEntry[]
}

/** Returns one built file of the public pages. A file that was not built is not found. */
export function readBuilt(name: string): Uint8Array {
  return read(new URL(name, FOLDER))
}

let manifest: ConsoleManifest | undefined

/** Returns the list of built files; undefined when the console was not built. Read once. */
export function consoleManifest(): ConsoleManifest | undefined {
  try {
    manifest ??= JSON.parse(new TextDecoder().decode(read(new URL('manifest.json', OPERATOR)))) as ConsoleManifest
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
  }
  return manifest
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
}
/** Codings made at build time, the smallest first. */
const CODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const

const documents = new Map<string, CachedDocument>()

/** Returns a file of the operator console in the smallest form that the reader accepts. Each form is read once. */
export function operatorFile(name: string, acceptEncoding: string): CachedDocument {
  // Only names of the list are read: a path is never used as a file name.
  if (consoleManifest()?.files.includes(name) !== true) throw new Refusal('asset_not_found')
  const accepted = acceptEncoding.split(',').map((each) => each.trim().split(';')[0] ?? '')
  const [coding, suffix] = CODINGS.find(([each]) => accepted.includes(each)) ?? ['', '']
  const present = documents.get(name + suffix)
  if (present !== undefined) return present
  const bytes = read(new URL(name + suffix, OPERATOR))
  const type = TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream'
  const more = { Vary: 'Accept-Encoding', ...(coding === '' ? {} : { 'Content-Encoding': coding }) }
  const document = new CachedDocument(bytes, CACHE_CONTROL.fileWithDigest, type, etagOf(bytes), more)
  documents.set(name + suffix, document)
  return document
}

function read(file: URL): Uint8Array {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new Refusal('asset_not_found', {}, { cause: error })
  }
}

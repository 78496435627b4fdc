import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { CachedDocument, type Call } from '@chancery/service-kit'
import { operatorFile, readBuilt } from './console-files.ts'
import type { DashboardParts } from './parts.ts'

/** The complete list. A path is never used as a file name. */
const FILES: Readonly<Record<string, { readonly name: string; readonly contentType: string }>> = {
  '/favicon.ico': { name: 'favicon.ico', contentType: 'image/x-icon' },
  '/favicon.svg': { name: 'favicon.svg', contentType: 'image/svg+xml' },
  '/operator-console-static/console.js': { name: 'console.js', contentType: 'text/javascript; charset=utf-8' },
  '/operator-console-static/styles.css': { name: 'styles.css', contentType: 'text/css; charset=utf-8' },
  '/operator-console-static/logo.svg': { name: 'logo.svg', contentType: 'image/svg+xml' },
}

const cached = new WeakMap<DashboardParts, Map<string, CachedDocument>>()

/**
 * GET /favicon.ico,
 * /favicon.svg, /operator-console-static/… Serves the fixed files of the pages, read once. A file that was not built is
 * not found.
 */
export function staticFile(call: Call, parts: DashboardParts): CachedDocument {
  const documents = cached.get(parts) ?? new Map<string, CachedDocument>()
  cached.set(parts, documents)
  const present = documents.get(call.path)
  if (present !== undefined) return present
  const file = FILES[call.path]
  if (file === undefined) throw new Refusal('asset_not_found')
  const document = new CachedDocument(readBuilt(file.name), CACHE_CONTROL.staticFile, file.contentType)
  documents.set(call.path, document)
  return document
}

/**
 * GET /operator-console-static/operator/{file}
 * Serves a file of the operator console. Its name contains the digest of its content, so a browser loads it once.
 */
export function consoleFile(call: Call): CachedDocument {
  return operatorFile(call.params['file'] ?? '', call.headers.get('accept-encoding') ?? '')
}

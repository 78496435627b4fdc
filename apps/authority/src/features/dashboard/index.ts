import { CACHE_CONTROL, Refusal, dashboard } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { type DashboardParts, type DashboardState, recordActivity } from './activity.ts'
import { GrantedPatterns } from './granted-patterns.ts'
import { operator } from './operator.ts'
import { page } from './page.ts'
import { view } from './view.ts'
import { CachedDocument, type Call, type HttpResponse } from '@chancery/service-kit'
import { operatorFile, readBuilt } from './console-files.ts'

/**
 * GET /
 * The dashboard at the root path.
 */
function home(call: Call, parts: DashboardState): Promise<HttpResponse> {
  return page(call, parts)
}

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
function staticFile(call: Call, parts: DashboardParts): CachedDocument {
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
function consoleFile(call: Call): CachedDocument {
  return operatorFile(call.params['file'] ?? '', call.headers.get('accept-encoding') ?? '')
}

export function openDashboard(given: DashboardParts): Feature {
  const parts: DashboardState = { ...given, granted: new GrantedPatterns(given) }
  return {
    routes: [
      bind(dashboard.home, (call) => home(call, parts)),
      bind(dashboard.page, (call) => page(call, parts)),
      bind(dashboard.view, (call) => view(call, parts)),
      bind(dashboard.operator, (call) => operator(call, parts)),
      bind(dashboard.operatorPage, (call) => operator(call, parts)),
      bind(dashboard.faviconIco, (call) => staticFile(call, parts)),
      bind(dashboard.faviconSvg, (call) => staticFile(call, parts)),
      bind(dashboard.consoleStyles, (call) => staticFile(call, parts)),
      bind(dashboard.consoleScript, (call) => staticFile(call, parts)),
      bind(dashboard.consoleLogo, (call) => staticFile(call, parts)),
      bind(dashboard.consoleFile, (call) => consoleFile(call)),
    ],
    jobs: [
      // Twice a minute, so that no minute is missed when a run is late.
      { name: 'record-activity', everySeconds: 30, run: () => recordActivity(parts) },
    ],
    close: () => Promise.resolve(),
  }
}

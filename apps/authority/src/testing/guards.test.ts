import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { ALL_ROUTES, AUDIT_EVENTS, ERRORS, type Route, isErrorCode } from '@chancery/contract'
import { startTestAuthority } from '@chancery/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { bindingsOf } from '../features.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..', '..')

/**
 * Routes of the contract that no feature serves yet. Serving one without removing it here fails, and so does the
 * reverse.
 */
const NOT_BUILT_YET: readonly string[] = []

/** Audit events of the contract that nothing records yet; maintained like NOT_BUILT_YET. */
const NOT_RECORDED_YET: readonly string[] = []

interface Source {
  readonly path: string
  readonly text: string
}

/** Every shipped TypeScript source of these folders. */
function sources(...folders: readonly string[]): readonly Source[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .map((name) => join(ROOT, folder, name))
      .filter(
        (path) =>
          path.endsWith('.ts') && !/\.(?:test|suite)\.ts$/.test(path) && !/node_modules|[\\/]dist[\\/]/.test(path),
      )
      .map((path) => ({ path: relative(ROOT, path), text: readFileSync(path, 'utf8') })),
  )
}

function folders(...parents: readonly string[]): string[] {
  return parents.flatMap((parent) =>
    readdirSync(join(ROOT, parent), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && existsSync(join(ROOT, parent, entry.name, 'src')))
      .map((entry) => join(parent, entry.name, 'src')),
  )
}

/** The quoted words of the first argument: `new Refusal(isLate ? 'a' : 'b', details)` gives a and b. */
function refusalCodes(text: string): string[] {
  return [...text.matchAll(/new Refusal\(\s*([^,()]*(?:\([^()]*\)[^,()]*)*)/g)].flatMap((match) =>
    [...(match[1] ?? '').matchAll(/'([a-z_]+)'/g)].map((code) => code[1] ?? ''),
  )
}

describe('routes', () => {
  let bindings: readonly { readonly route: Route }[] = []
  let bound: readonly string[] = []
  beforeAll(async () => {
    const na = await startTestAuthority()
    bindings = bindingsOf(na.features, na.settings).open
    bound = bindings.map((binding) => binding.route.id)
    await na.stop()
  })

  it('are bound once each, and only those of the contract', () => {
    const known = new Map(ALL_ROUTES.map((route) => [route.id, route]))
    expect(bound.filter((id, index) => bound.indexOf(id) !== index)).toEqual([])
    // The same object of the table: a copy could have another access.
    for (const { route } of bindings) expect(known.get(route.id), route.id).toBe(route)
  })

  it('of the contract are bound or named as not built yet, never both', () => {
    const missing = ALL_ROUTES.map((route): string => route.id).filter((id) => !bound.some((other) => other === id))
    const rule = 'a route is served only if its feature is in inDocumentOrder of features.ts'
    expect(missing.sort(), rule).toEqual(NOT_BUILT_YET.toSorted())
  })

  it('under /admin are never open without an operator key', () => {
    const rule = 'operator routes, and only these, are below /admin/'
    for (const { id, path, access } of bindings.map(({ route }) => route))
      expect(path.startsWith('/admin/'), `${id}: ${rule}`).toBe(access.startsWith('operator:'))
  })
})

describe('error codes', () => {
  const used = sources(...folders('apps', 'packages')).flatMap(({ path, text }) =>
    refusalCodes(text).map((code) => ({ path, code })),
  )

  it('are found by this scan', () => {
    expect(refusalCodes("throw new Refusal('a_b', {}); throw new Refusal(f(x) ? 'c' : 'd', { e: 'f' })")).toEqual([
      'a_b',
      'c',
      'd',
    ])
    expect(new Set(used.map(({ code }) => code)).size).toBeGreaterThan(20)
    for (const code of ['bad_request', 'admin_auth_failed', 'last_active_operator_key']) {
      expect(used.map((one) => one.code)).toContain(code)
    }
  })

  it('in sources are all in the table', () => {
    expect(used.filter(({ code }) => !isErrorCode(code))).toEqual([])
  })

  const reference = join(ROOT, 'docs', 'reference', 'errors.md')
  it.runIf(existsSync(reference))('are all in the generated reference', () => {
    const text = readFileSync(reference, 'utf8')
    expect(Object.keys(ERRORS).filter((code) => !new RegExp(`\\b${code}\\b`).test(text))).toEqual([])
  })
})

describe('audit events', () => {
  const files = sources('apps/authority/src')

  it('that sources record are all in the table', () => {
    const types = files
      .filter(({ text }) => /audit\/record\.ts|audit_events|\baudit\.record/.test(text))
      .flatMap(({ path, text }) => {
        const found = text.matchAll(/(?:\btype: |\bevent_type: |record[A-Z]\w*\(\w+, \w+, )'([a-z_]+)'/g)
        return [...found].map((match) => ({ path, type: match[1] ?? '' }))
      })
    const known = ['operator_key_revoked', 'admin_authz_denied']
    expect(types.map(({ type }) => type)).toEqual(expect.arrayContaining(known))
    expect(types.filter(({ type }) => !Object.hasOwn(AUDIT_EVENTS, type))).toEqual([])
  })

  it('of the table are recorded somewhere or named as not recorded yet, never both', () => {
    const all = files.map(({ text }) => text).join('\n')
    const silent = Object.keys(AUDIT_EVENTS).filter((type) => !all.includes(`'${type}'`))
    expect(silent.sort()).toEqual(NOT_RECORDED_YET.toSorted())
  })
})

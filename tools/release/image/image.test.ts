import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { packContents } from '../tar.ts'
import { readLockedPackages, runtimePackages } from './app-files.ts'
import { withoutSections } from './elf.ts'
import { HEALTHCHECK } from './build.ts'
import { type Descriptor, addHealthcheck, digestOf, measureLayout } from './layout.ts'
import { LIBRARIES, PLATFORMS } from './platforms.ts'
import { readDebianPackages } from './runtime-files.ts'
import { unpackImage } from './unpack.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chancery-oci-test-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** A layout as buildah writes it, with one small layer for both processors. */
function writeLayout(): string {
  const layout = join(folder, 'layout')
  mkdirSync(join(layout, 'blobs/sha256'), { recursive: true })
  const put = (bytes: Uint8Array): Descriptor => {
    writeFileSync(join(layout, 'blobs', digestOf(bytes).replace(':', '/')), bytes)
    return { digest: digestOf(bytes), size: bytes.length }
  }
  const json = (value: object): Descriptor => put(Buffer.from(JSON.stringify(value)))
  mkdirSync(join(folder, 'files/app'), { recursive: true })
  writeFileSync(join(folder, 'files/app/a.mjs'), 'shared')
  packContents(join(folder, 'files'), join(folder, 'layer.tar'), 0)
  const tar = readFileSync(join(folder, 'layer.tar'))
  const layer = put(gzipSync(tar))
  const manifests = PLATFORMS.map(({ architecture }) => {
    const config = json({ architecture, config: { User: '10001:10001' }, rootfs: { diff_ids: [digestOf(tar)] } })
    return { ...json({ config, layers: [layer] }), platform: { os: 'linux', architecture } }
  })
  writeFileSync(join(layout, 'index.json'), JSON.stringify({ manifests: [json({ manifests })] }))
  return layout
}

describe('a layout of buildah', () => {
  it('gets the health check that the OCI format lacks, and unpacks for each platform', () => {
    const layout = writeLayout()
    const before = measureLayout(layout)
    addHealthcheck(layout, HEALTHCHECK)
    const { digest, sizes } = measureLayout(layout)
    expect(digest).not.toBe(before.digest)
    expect([...sizes.keys()]).toEqual(['amd64', 'arm64'])
    // An index, and of both platforms manifest and configuration; the shared layer.
    expect(readdirSync(join(layout, 'blobs/sha256'))).toHaveLength(6)
    const archive = join(folder, 'image.tar')
    packContents(layout, archive, 0)
    for (const { architecture } of PLATFORMS) {
      const root = join(folder, architecture)
      expect(unpackImage(archive, architecture, root)).toEqual({ User: '10001:10001', Healthcheck: HEALTHCHECK })
      expect(readFileSync(join(root, 'app/a.mjs'), 'utf8')).toBe('shared')
    }
    expect(() => unpackImage(archive, 'riscv64', join(folder, 'x'))).toThrow(/no linux\/riscv64/)
  })

  it('is refused with a changed bit in a blob', () => {
    const layout = writeLayout()
    for (const name of readdirSync(join(layout, 'blobs/sha256'))) {
      const file = join(layout, 'blobs/sha256', name)
      const bytes = readFileSync(file)
      const changed = Buffer.from(bytes)
      changed[bytes.length >> 1] = (changed[bytes.length >> 1] ?? 0) ^ 1
      writeFileSync(file, changed)
      packContents(layout, join(folder, 'image.tar'), 0)
      expect(() =>
        PLATFORMS.map(({ architecture }) =>
          unpackImage(join(folder, 'image.tar'), architecture, join(folder, architecture)),
        ),
      ).toThrow(/other bytes/)
      writeFileSync(file, bytes)
    }
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

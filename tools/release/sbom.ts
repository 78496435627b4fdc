import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { fetchPackage } from './fetch-package.ts'
import { sourceDate } from './source-date.ts'

/**
 * `npm run sbom`: what a release is made of. `npm sbom` reads it from the lock file. CycloneDX 1.5 on standard output,
 * with --spdx SPDX 2.3, or with --licences one line for each package.
 */

const ROOT = join(import.meta.dirname, '..', '..')

/** Another npm writes other bytes, and that of Debian 12 has no `npm sbom`. */
const NPM = {
  name: 'npm',
  version: '11.19.1',
  integrity: 'sha512-ztsxKxt/kkIaAs+2i0GU6I+DRmUdrNasxTZKJe9TCdSjKxlhah/4r/hl5ygMD6XAg1qZ9c2TNomR4qgOydp10g==',
}

/** Licences whose terms we keep by shipping their texts. Another one is decided by a person, not by a build. */
const ACCEPTED_LICENCES: readonly string[] = [
  'MIT',
  'Apache-2.0',
  'ISC',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'Unlicense',
]

interface LockEntry {
  readonly version?: string
  readonly integrity?: string
  readonly license?: string
  readonly dev?: boolean
  readonly link?: boolean
}

export interface Lock {
  readonly packages: Readonly<Record<string, LockEntry>>
}

export interface CycloneDx {
  readonly serialNumber?: string
  readonly metadata: { readonly component: { readonly 'bom-ref': string; readonly name: string } }
  readonly components: readonly { readonly 'bom-ref': string }[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

export interface Spdx {
  readonly documentNamespace: string
  readonly creationInfo: object
  readonly documentDescribes: readonly string[]
  readonly packages: readonly { readonly SPDXID: string; readonly name: string; readonly versionInfo: string }[]
  readonly relationships: readonly { readonly spdxElementId: string; readonly relatedSpdxElement: string }[]
}

/**
 * `name@version` and licence of everything that runs with the services and the command, sorted. Throws on what has no
 * digest or an unknown licence. The single file and the image contain Node.js; tests run on another one.
 */
export function listPackages({ packages }: Lock): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const [path, { version = '', integrity = '', license = 'no licence', dev, link }] of Object.entries(packages)) {
    const at = path.lastIndexOf('node_modules/')
    if (at === -1 || dev === true || link === true || path.startsWith('tests/')) continue
    const id = `${path.slice(at + 'node_modules/'.length)}@${version}`
    if (!integrity.startsWith('sha512-')) throw new Error(`${id} has no SHA-512 in the lock file`)
    if (!ACCEPTED_LICENCES.includes(license))
      throw new Error(`${id} is under ${license}: decide on it in tools/release/sbom.ts`)
    found.set(id, license)
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Both lists. `seconds` is the time of the commit. */
export function makeLists(seconds: number): { readonly cycloneDx: CycloneDx; readonly spdx: Spdx } {
  const work = mkdtempSync(join(tmpdir(), 'chancery-sbom-'))
  try {
    fetchPackage(NPM, join(work, 'npm'))
    // With `--omit dev` npm would also leave out what a service and a test need, such as pg and everything below it.
    const command = [join(work, 'npm/bin/npm-cli.js'), 'sbom', '--package-lock-only', '--sbom-format']
    const list = (format: string): unknown =>
      JSON.parse(
        execFileSync(process.execPath, [...command, format], {
          cwd: ROOT,
          encoding: 'utf8',
          env: { HOME: work, NO_UPDATE_NOTIFIER: '1' },
          maxBuffer: 67_108_864,
        }),
      )
    const released = listPackages(readLock())
    return {
      cycloneDx: releasedCycloneDx(list('cyclonedx') as CycloneDx, released, seconds),
      spdx: releasedSpdx(list('spdx') as Spdx, released, seconds),
    }
  } finally {
    rmSync(work, { recursive: true })
  }
}

type Released = ReadonlyMap<string, string>

/** Without development packages, workspaces, the time of the build and random numbers: two builds can be compared. */
export function releasedCycloneDx(list: CycloneDx, released: Released, seconds: number): CycloneDx {
  const { serialNumber: _random, ...rest } = list
  // npm calls the project by the name of its folder.
  const component = { ...list.metadata.component, name: 'chancery' }
  const metadata = { ...list.metadata, timestamp: timeOf(seconds), component }
  const kept = new Set([component['bom-ref'], ...released.keys()])
  return {
    ...rest,
    metadata,
    components: list.components.filter((one) => released.has(one['bom-ref'])),
    dependencies: list.dependencies
      .filter(({ ref }) => kept.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => kept.has(each)) })),
  }
}

export function releasedSpdx(list: Spdx, released: Released, seconds: number): Spdx {
  const isKept = (one: Spdx['packages'][number]): boolean =>
    list.documentDescribes.includes(one.SPDXID) || released.has(`${one.name}@${one.versionInfo}`)
  const packages = list.packages.filter(isKept)
  const ids = new Set(['SPDXRef-DOCUMENT', ...packages.map(({ SPDXID }) => SPDXID)])
  const digest = createHash('sha256')
    .update(JSON.stringify([seconds, packages]))
    .digest('hex')
  return {
    ...list,
    documentNamespace: `https://spdx.org/spdxdocs/chancery-${digest}`,
    creationInfo: { ...list.creationInfo, created: timeOf(seconds) },
    packages,
    relationships: list.relationships.filter(
      ({ spdxElementId, relatedSpdxElement }) => ids.has(spdxElementId) && ids.has(relatedSpdxElement),
    ),
  }
}

function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}

export function readLock(): Lock {
  return JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { licences: { type: 'boolean', default: false }, spdx: { type: 'boolean', default: false } },
  })
  if (values.licences) for (const [id, licence] of listPackages(readLock())) console.log(`${licence}\t${id}`)
  else {
    const { cycloneDx, spdx } = makeLists(sourceDate())
    console.log(JSON.stringify(values.spdx ? spdx : cycloneDx, undefined, 2))
  }
}

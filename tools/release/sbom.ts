import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { sourceDate } from './source-date.ts'

/**
 * `npm run sbom`: what a release is made of, from the lock file alone, so that the same commit gives the same bytes.
 * CycloneDX 1.5 on standard output, with --spdx SPDX 2.3, or with --licences one line for each package.
 */

/** Licences whose terms we keep by shipping their texts. Another one is decided by a person, not by a build. */
export const ACCEPTED_LICENCES: readonly string[] = [
  'MIT',
  'Apache-2.0',
  'ISC',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'Unlicense',
]

export interface LockEntry {
  readonly version?: string
  readonly integrity?: string
  readonly license?: string
  readonly dev?: boolean
  readonly link?: boolean
}

export interface Lock {
  readonly version: string
  readonly packages: Readonly<Record<string, LockEntry>>
}

export interface Component {
  readonly name: string
  readonly version: string
  readonly licence: string
  /** SHA-512 of the package as the registry gave it, in hex. */
  readonly sha512: string
}

const IN_MODULES = 'node_modules/'

/** Everything that runs with the services and the command, sorted; throws on what cannot be named or may not be used. */
export function listComponents(lock: Lock): readonly Component[] {
  const found = new Map<string, Component>()
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (!isReleased(path, entry) || entry.link === true || !path.includes(IN_MODULES)) continue
    const component = toComponent(path, entry)
    found.set(`${component.name}@${component.version}`, component)
  }
  return [...found.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, component]) => component)
}

/** The single file and the image contain Node.js, which the tree installs for its platform. Tests run on another one. */
function isReleased(path: string, { dev }: LockEntry): boolean {
  return dev !== true && !path.startsWith('tests/')
}

function toComponent(path: string, { version, license, integrity = '' }: LockEntry): Component {
  const name = path.slice(path.lastIndexOf(IN_MODULES) + IN_MODULES.length)
  const digest = /^sha512-([A-Za-z0-9+/=]+)$/.exec(integrity)?.[1]
  if (version === undefined || digest === undefined)
    throw new Error(`${name} has no version or SHA-512 in the lock file`)
  if (license === undefined || !ACCEPTED_LICENCES.includes(license))
    throw new Error(`${name} ${version} is under ${license ?? 'no licence'}: decide on it in tools/release/sbom.ts`)
  return { name, version, licence: license, sha512: Buffer.from(digest, 'base64').toString('hex') }
}

/** No time and no random number: two builds of one commit can be compared. */
export function toCycloneDx(lock: Lock): object {
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': `pkg:npm/chancery@${lock.version}`,
        name: 'chancery',
        version: lock.version,
        licenses: [{ license: { id: 'Apache-2.0' } }],
      },
    },
    components: listComponents(lock).map(({ name, version, licence, sha512 }) => ({
      type: 'library',
      'bom-ref': purl(name, version),
      name,
      version,
      purl: purl(name, version),
      licenses: [{ license: { id: licence } }],
      hashes: [{ alg: 'SHA-512', content: sha512 }],
    })),
  }
}

/** `seconds` is the time of the commit. */
export function toSpdx(lock: Lock, seconds: number): object {
  const components = listComponents(lock)
  const digest = createHash('sha256')
    .update(JSON.stringify([lock.version, seconds, components]))
    .digest('hex')
  const own = {
    SPDXID: 'SPDXRef-chancery',
    name: 'chancery',
    versionInfo: lock.version,
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    licenseConcluded: 'Apache-2.0',
    licenseDeclared: 'Apache-2.0',
    copyrightText: 'NOASSERTION',
  }
  const packages = components.map(({ name, version, licence, sha512 }, at) => ({
    // The number makes it unique: an id has fewer characters than a name.
    SPDXID: `SPDXRef-${at}-${name.replaceAll(/[^A-Za-z0-9.]+/g, '-').replace(/^-/, '')}`,
    name,
    versionInfo: version,
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    licenseConcluded: 'NOASSERTION',
    licenseDeclared: licence,
    copyrightText: 'NOASSERTION',
    checksums: [{ algorithm: 'SHA512', checksumValue: sha512 }],
    externalRefs: [
      { referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: purl(name, version) },
    ],
  }))
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: `chancery-${lock.version}`,
    documentNamespace: `https://spdx.org/spdxdocs/chancery-${lock.version}-${digest}`,
    creationInfo: {
      created: new Date(seconds * 1000).toISOString().replace('.000Z', 'Z'),
      creators: ['Tool: chancery-release'],
    },
    documentDescribes: [own.SPDXID],
    packages: [own, ...packages],
    relationships: [
      { spdxElementId: 'SPDXRef-DOCUMENT', relationshipType: 'DESCRIBES', relatedSpdxElement: own.SPDXID },
      ...packages.map(({ SPDXID }) => ({
        spdxElementId: own.SPDXID,
        relationshipType: 'CONTAINS',
        relatedSpdxElement: SPDXID,
      })),
    ],
  }
}

/** The @ of a scope is written %40 in a package URL. */
function purl(name: string, version: string): string {
  return `pkg:npm/${name.replace(/^@/, '%40')}@${version}`
}

export async function readLock(): Promise<Lock> {
  return JSON.parse(await readFile(join(import.meta.dirname, '..', '..', 'package-lock.json'), 'utf8')) as Lock
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { licences: { type: 'boolean', default: false }, spdx: { type: 'boolean', default: false } },
  })
  const lock = await readLock()
  if (values.licences)
    for (const { name, version, licence } of listComponents(lock)) console.log(`${licence}\t${name}\t${version}`)
  else console.log(JSON.stringify(values.spdx ? toSpdx(lock, sourceDate()) : toCycloneDx(lock), undefined, 2))
}

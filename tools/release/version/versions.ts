import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Every place that names the version of a release. `set-version.ts` writes them, a test compares them. */

const OWN = /^(chancery$|@chancery\/)/
const DEPENDENCIES = ['dependencies', 'devDependencies', 'optionalDependencies'] as const
const CHART = 'deploy/helm/chancery/Chart.yaml'
const LOCK = 'package-lock.json'

interface PackageFile {
  readonly name?: string
  version?: string
  readonly dependencies?: Record<string, string>
  readonly devDependencies?: Record<string, string>
  readonly optionalDependencies?: Record<string, string>
}

interface LockFile extends PackageFile {
  readonly packages: Readonly<Record<string, PackageFile>>
}

/** Where a version is named, with its text: `apps/cli/package.json dependencies @chancery/sdk`. */
export interface NamedVersion {
  readonly place: string
  readonly version: string | undefined
}

function workspaceFiles(root: string): readonly string[] {
  return [
    'package.json',
    ...globSync(['packages/*/package.json', 'apps/*/package.json', 'tests/*/package.json'], { cwd: root }),
  ].sort()
}

export function listVersions(root: string): readonly NamedVersion[] {
  const packages = workspaceFiles(root).flatMap((file) => versionsIn(file, readPackage(root, file)))
  const lock = readPackage(root, LOCK) as LockFile
  const locked = Object.entries(lock.packages).flatMap(([path, entry]) =>
    isOwn(path, entry) ? versionsIn(`${LOCK} ${path === '' ? 'root' : path}`, entry) : [],
  )
  const chart = readFileSync(join(root, CHART), 'utf8')
  const inChart = ['version', 'appVersion'].map((name) => ({
    place: `${CHART} ${name}`,
    version: new RegExp(`^${name}: (.+)$`, 'm').exec(chart)?.[1],
  }))
  return [...packages, { place: LOCK, version: lock.version }, ...locked, ...inChart]
}

/** Returns each file with its new text. */
export function writeVersions(root: string, version: string): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  for (const file of workspaceFiles(root)) texts.set(file, asText(withVersion(readPackage(root, file), version)))
  const lock = readPackage(root, LOCK) as LockFile
  lock.version = version
  for (const [path, entry] of Object.entries(lock.packages)) if (isOwn(path, entry)) withVersion(entry, version)
  texts.set(LOCK, asText(lock))
  const chart = readFileSync(join(root, CHART), 'utf8')
  texts.set(CHART, chart.replaceAll(/^(version|appVersion): .+$/gm, `$1: ${version}`))
  return texts
}

/** Links in node_modules name no version. */
function isOwn(path: string, { name, version }: PackageFile): boolean {
  return !path.includes('node_modules/') && version !== undefined && OWN.test(name ?? '')
}

function versionsIn(place: string, about: PackageFile): readonly NamedVersion[] {
  const named = DEPENDENCIES.flatMap((kind) =>
    Object.entries(about[kind] ?? {}).flatMap(([name, version]) =>
      OWN.test(name) ? [{ place: `${place} ${kind} ${name}`, version }] : [],
    ),
  )
  return [{ place, version: about.version }, ...named]
}

function withVersion(about: PackageFile, version: string): PackageFile {
  about.version = version
  for (const kind of DEPENDENCIES)
    for (const [name, members] of Object.keys(about[kind] ?? {}).map((each) => [each, about[kind]] as const))
      if (members !== undefined && OWN.test(name)) members[name] = version
  return about
}

function asText(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`
}

function readPackage(root: string, file: string): PackageFile {
  return JSON.parse(readFileSync(join(root, file), 'utf8')) as PackageFile
}

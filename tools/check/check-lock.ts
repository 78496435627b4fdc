import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * `npm run check:lock`: every package of the lock files has a SHA-512 and comes from the npm registry, under its own name.
 * Then `npm audit signatures` verifies the signatures of the registry, where it can be reached.
 */

export interface LockedEntry {
  /** Of a workspace. In a package it is an alias: npm installs the package of this name under the name of the folder. */
  readonly name?: string
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly link?: boolean
  readonly dev?: boolean
  readonly optional?: boolean
  readonly os?: string | readonly string[]
  readonly cpu?: string | readonly string[]
  readonly libc?: string | readonly string[]
}

type Packages = Readonly<Record<string, LockedEntry>>

export interface LockReport {
  readonly verified: number
  /** Tools of other platforms without an integrity value. No machine of the build or of a service installs them. */
  readonly otherPlatforms: number
  readonly problems: readonly string[]
}

const ROOT = join(import.meta.dirname, '..', '..')
const SITE_LOCK = 'site/package-lock.json'
const LOCK_FILES = ['package-lock.json', SITE_LOCK]
const REGISTRY = 'https://registry.npmjs.org/'
const MODULES = 'node_modules/'
const VERSION = /^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/
const SHA512 = /^sha512-[A-Za-z0-9+/]{86}==$/
/** It asks for every package, and a server that does not answer takes a minute more. */
const SIGNATURES_MS = 300_000

/** The packages of `site` are all tools: none is part of a release. */
export function checkLock(packages: Packages, file = LOCK_FILES[0]): LockReport {
  const problems: string[] = []
  let [verified, otherPlatforms] = [0, 0]
  for (const [path, entry] of Object.entries(packages)) {
    // The other entries are the workspaces of this repository.
    if (!path.includes(MODULES)) continue
    if (entry.link === true) {
      if (!isWorkspaceLink(path, entry, packages)) problems.push(`${path}: is a link to ${entry.resolved}`)
      continue
    }
    const { resolved, integrity, version = '', name } = entry
    if (resolved !== undefined && resolved !== addressOf(path, version))
      problems.push(`${path}: comes from ${resolved}`)
    if (name !== undefined) problems.push(`${path}: is the package ${name}`)
    if (!VERSION.test(version)) problems.push(`${path}: has no exact version`)
    if (integrity === undefined && (entry.dev === true || file === SITE_LOCK) && isOtherPlatform(entry))
      otherPlatforms += 1
    else if (SHA512.test(integrity ?? '')) verified += 1
    else problems.push(`${path}: has no SHA-512 as integrity value`)
  }
  return { verified, otherPlatforms, problems }
}

/** npm reads this file in place of the lock file. */
export function findOtherLock(file: string, root = ROOT): readonly string[] {
  const other = join(dirname(file), 'npm-shrinkwrap.json')
  return existsSync(join(root, other)) ? [`${other} replaces it`] : []
}

/** npm installs whatever the address gives, so the address of another package would replace this one. */
function addressOf(path: string, version: string): string {
  const name = nameOf(path)
  return `${REGISTRY}${name}/-/${name.split('/').at(-1)}-${version}.tgz`
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf(MODULES) + MODULES.length)
}

/** Only our workspaces are links: another one would replace a package by a folder without a digest. */
function isWorkspaceLink(path: string, { resolved = '' }: LockedEntry, packages: Packages): boolean {
  const isOwn = nameOf(path).startsWith('@chancery/') && !resolved.includes(MODULES)
  return isOwn && packages[resolved]?.name === nameOf(path)
}

/**
 * Whether it is an optional package that linux on x64 with glibc does not install. A list that is empty, or that has
 * `any` or `!win32`, does not exclude a platform.
 */
function isOtherPlatform({ optional, os, cpu, libc }: LockedEntry): boolean {
  const excludes = (allowed: string | readonly string[] = [], own: string): boolean => {
    const names = [allowed].flat()
    return names.length > 0 && names.every((name) => /^[a-z]\w*$/.test(name) && name !== 'any' && name !== own)
  }
  return optional === true && (excludes(os, 'linux') || excludes(cpu, 'x64') || excludes(libc, 'glibc'))
}

export type Signatures =
  | { readonly state: 'verified' }
  | { readonly state: 'wrong'; readonly packages: readonly string[] }
  | { readonly state: 'not possible'; readonly reason: string }

/** Reads what `npm audit signatures --json` printed. Only a list of packages is a result. */
export function readSignatures(output: string, complaint = ''): Signatures {
  const found = parseObject(output)
  const { invalid, missing } = found
  if (!Array.isArray(invalid) || !Array.isArray(missing)) {
    const reason = JSON.stringify(found['error'] ?? complaint.trim().split('\n')[0])
    return { state: 'not possible', reason }
  }
  const packages = [...invalid, ...missing].map(
    (each: { name: string; version: string }) => `${each.name}@${each.version}`,
  )
  return packages.length === 0 ? { state: 'verified' } : { state: 'wrong', packages }
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    return {}
  }
}

function main(): number {
  let failed = 0
  for (const file of LOCK_FILES) {
    const { packages } = JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as { packages: Packages }
    const { verified, otherPlatforms, problems: found } = checkLock(packages, file)
    const problems = [...findOtherLock(file), ...found]
    const others = otherPlatforms === 0 ? '' : `; ${otherPlatforms} tools of other platforms have none`
    console.log(`${problems.length === 0 ? 'ok    ' : 'FAILED'} ${file}: ${verified} packages with SHA-512${others}`)
    for (const problem of problems) console.log(`  ${problem}`)
    if (problems.length > 0) failed += 1
  }
  const ended = spawnSync('npm', ['audit', 'signatures', '--json'], {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: SIGNATURES_MS,
  })
  const signatures = readSignatures(ended.stdout, ended.error?.message ?? ended.stderr)
  if (signatures.state === 'verified') console.log('ok     signatures of the registry')
  if (signatures.state === 'not possible') console.log(`not checked: signatures of the registry: ${signatures.reason}`)
  if (signatures.state === 'wrong') {
    failed += 1
    console.log(`FAILED signatures of the registry: missing or wrong for ${signatures.packages.join(', ')}`)
  }
  const steps = LOCK_FILES.length + (signatures.state === 'not possible' ? 0 : 1)
  console.log(`\n${steps - failed} passed, ${failed} failed`)
  return failed === 0 ? 0 : 1
}

if (import.meta.main) process.exitCode = main()

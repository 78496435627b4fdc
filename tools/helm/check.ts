import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { checkManifests, readManifests } from '../check-manifests.ts'
import type { Manifest } from '../check-manifests.ts'

/**
 * `npm run helm:check`: renders the chart with every example and judges what comes out by the published API of
 * Kubernetes. With `helm` where it is installed; otherwise with render.go, which needs Debian's golang-go,
 * golang-github-masterminds-sprig-dev and golang-gopkg-yaml.v3-dev.
 */

export type Values = Readonly<Record<string, unknown>>

/** As Helm lays one file of values over another: tables are merged, null takes away, everything else is replaced. */
export function overlay(under: Values, over: Values): Values {
  const merged: Record<string, unknown> = { ...under }
  for (const [name, value] of Object.entries(over)) {
    const below = merged[name]
    if (value === null) delete merged[name]
    else merged[name] = isTable(below) && isTable(value) ? overlay(below, value) : value
  }
  return merged
}

function isTable(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const ROOT = join(import.meta.dirname, '../..')
const CHART = join(ROOT, 'deploy/helm/chancery')
const EXAMPLES = join(ROOT, 'deploy/helm/examples')

type Render = (values: string) => string

interface Pod {
  readonly spec: {
    readonly template: { readonly spec: { readonly securityContext: object; readonly containers: object[] } }
  }
}

async function main(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'chancery-helm-'))
  try {
    const { render, name } = chooseRenderer(folder)
    let failures = 0
    for (const example of readdirSync(EXAMPLES)) {
      const manifests = readManifests(render(join(EXAMPLES, example)))
      const problems = [...(await checkManifests(manifests)), ...judge(manifests, example)]
      failures += problems.length
      console.log(`${problems.length === 0 ? 'ok    ' : 'FAILED'} ${example}: ${manifests.length} manifests by ${name}`)
      for (const problem of problems) console.log(`       ${problem}`)
    }
    return failures === 0 ? 0 : 1
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** What the API does not ask for and we do. */
function judge(manifests: readonly Manifest[], example: string): readonly string[] {
  const values = overlay(readValues(join(CHART, 'values.yaml')), readValues(join(EXAMPLES, example)))
  const parts = ['authority', 'gateway'].filter((part) => (values[part] as Values)['enabled'] === true)
  const found = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort()
  const kinds = ['NetworkPolicy', 'PodDisruptionBudget', 'Service', 'ServiceAccount', 'StatefulSet']
  const wanted = parts.flatMap((part) => kinds.map((kind) => `${kind} na-${part}`)).sort()
  const problems = JSON.stringify(found) === JSON.stringify(wanted) ? [] : [`has ${found.join(', ')}`]
  for (const manifest of manifests.filter(({ kind }) => kind === 'StatefulSet')) {
    const text = JSON.stringify((manifest as unknown as Pod).spec.template.spec)
    const closed = ['"runAsNonRoot":true', '"readOnlyRootFilesystem":true', '"allowPrivilegeEscalation":false']
    for (const words of [...closed, '"drop":["ALL"]', '"type":"RuntimeDefault"', '@sha256:', '"readinessProbe"'])
      if (!text.includes(words)) problems.push(`${manifest.metadata.name} lacks ${words}`)
  }
  return problems
}

function readValues(file: string): Values {
  return parse(readFileSync(file, 'utf8')) as Values
}

function chooseRenderer(folder: string): { readonly render: Render; readonly name: string } {
  const run = (program: string, args: readonly string[]): string => execFileSync(program, args, { encoding: 'utf8' })
  if (spawnSync('helm', ['version']).status === 0)
    return { name: 'helm', render: (values) => run('helm', ['template', 'na', CHART, '--values', values]) }
  const program = join(folder, 'render')
  const env = { ...process.env, GO111MODULE: 'off', GOPATH: '/usr/share/gocode' }
  execFileSync('go', ['build', '-o', program, join(import.meta.dirname, 'render.go')], { env, stdio: 'inherit' })
  return { name: 'render.go (helm itself was not run)', render: (values) => run(program, [CHART, 'na', values]) }
}

if (import.meta.main) process.exitCode = await main()

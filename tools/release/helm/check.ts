import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { checkManifests, readManifests } from '../../check/check-manifests.ts'
import type { Manifest } from '../../check/check-manifests.ts'
import { overlay } from './overlay.ts'
import type { Values } from './overlay.ts'
import { unreached } from './reach.ts'

/**
 * `npm run helm:check`: renders the chart with every example and checks the result against the published API of
 * Kubernetes. With `helm` where it is installed; otherwise with render.go, which needs Debian's golang-go,
 * golang-github-masterminds-sprig-dev and golang-gopkg-yaml.v3-dev.
 */

const ROOT = join(import.meta.dirname, '../../..')
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
      // Of the operator of Prometheus, which is not in the API of Kubernetes; checked below.
      const published = manifests.filter(({ kind }) => kind !== 'ServiceMonitor')
      const problems = [...(await checkManifests(published)), ...judge(manifests, example)]
      failures += problems.length
      console.log(`${problems.length === 0 ? 'ok    ' : 'FAILED'} ${example}: ${manifests.length} manifests by ${name}`)
      for (const problem of problems) console.log(`       ${problem}`)
    }
    const idle = findUnreached(render, folder)
    failures += idle.length
    console.log(`${idle.length === 0 ? 'ok    ' : 'FAILED'} every value changes what is rendered`)
    for (const value of idle) console.log(`       ${value} reaches nothing`)
    return failures === 0 ? 0 : 1
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Values that change no rendering: an operator would set them without effect. */
function findUnreached(render: Render, folder: string): readonly string[] {
  const defaults = readValues(join(CHART, 'values.yaml'))
  const [all, least] = ['all-of-it.yaml', 'smallest.yaml'].map((name) =>
    overlay(defaults, readValues(join(EXAMPLES, name))),
  )
  if (all === undefined || least === undefined) throw new Error('the examples are missing')
  const file = join(folder, 'values.yaml')
  const renderValues = (values: Values): string => {
    writeFileSync(file, stringify(values))
    return render(file)
  }
  return unreached({ ...defaults, image: least['image'] }, { all, least }, renderValues)
}

/** What the API does not ask for and we do. */
function judge(manifests: readonly Manifest[], example: string): readonly string[] {
  const values = overlay(readValues(join(CHART, 'values.yaml')), readValues(join(EXAMPLES, example)))
  const parts = ['authority', 'gateway'].filter((part) => (values[part] as Values)['enabled'] === true)
  const found = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort()
  const wanted = parts.flatMap((part) => wantedOf(part, values)).sort()
  const problems = JSON.stringify(found) === JSON.stringify(wanted) ? [] : [`has ${found.join(', ')}`]
  for (const manifest of manifests.filter(({ kind }) => ['StatefulSet', 'Job', 'CronJob'].includes(kind))) {
    const text = JSON.stringify(podOf(manifest))
    const closed = ['"runAsNonRoot":true', '"readOnlyRootFilesystem":true', '"allowPrivilegeEscalation":false']
    const own = manifest.kind === 'StatefulSet' ? ['"readinessProbe"', '"topology.kubernetes.io/zone"'] : []
    const same = ['"drop":["ALL"]', '"type":"RuntimeDefault"', '@sha256:', '"enableServiceLinks":false']
    for (const words of [...closed, ...same, ...own])
      if (!text.includes(words)) problems.push(`${manifest.metadata.name} lacks ${words}`)
  }
  return problems
}

/** What one part consists of, as kind and name, for a release «na». */
function wantedOf(part: string, values: Values): readonly string[] {
  const own = values[part] as Values
  const isOn = (table: unknown): boolean => (table as Values | undefined)?.['enabled'] === true
  const { digest } = values['image'] as { readonly digest: string }
  const replicas = part === 'gateway' ? ((own['state'] as Values)['initialize'] as readonly number[]) : []
  const kinds = [
    'NetworkPolicy',
    'PodDisruptionBudget',
    'Service',
    'ServiceAccount',
    'StatefulSet',
    ...(isOn(own['autoscaling']) ? ['HorizontalPodAutoscaler'] : []),
    ...(isOn(values['monitoring']) ? ['ServiceMonitor'] : []),
  ]
  return [
    ...kinds.map((kind) => `${kind} na-${part}`),
    ...(part === 'authority' ? ['Service na-authority-documents'] : []),
    ...(isOn(own['backup']) ? ['CronJob', 'NetworkPolicy'].map((kind) => `${kind} na-${part}-backup`) : []),
    ...replicas.map((replica) => `Job na-gateway-state-${replica}-${digest.slice(7, 15)}`),
    ...(replicas.length > 0 ? ['NetworkPolicy na-gateway-state'] : []),
  ]
}

function podOf(manifest: Manifest): object {
  const { spec } = manifest as unknown as { readonly spec: Pod['spec'] | { readonly jobTemplate: Pod } }
  return 'jobTemplate' in spec ? spec.jobTemplate.spec.template.spec : spec.template.spec
}

function readValues(file: string): Values {
  return parse(readFileSync(file, 'utf8')) as Values
}

function chooseRenderer(folder: string): { readonly render: Render; readonly name: string } {
  const run = (program: string, args: readonly string[]): string => execFileSync(program, args, { encoding: 'utf8' })
  if (spawnSync('helm', ['version']).status === 0)
    return { name: 'helm', render: (values) => run('helm', ['template', 'na', CHART, '--values', values]) }
  const program = join(folder, 'render')
  const env = { ...process.env, GO111MODULE: 'off', GOPATH: process.env['GOPATH'] ?? '/usr/share/gocode' }
  execFileSync('go', ['build', '-o', program, join(import.meta.dirname, 'render.go')], { env, stdio: 'inherit' })
  return { name: 'render.go (helm itself was not run)', render: (values) => run(program, [CHART, 'na', values]) }
}

if (import.meta.main) process.exitCode = await main()

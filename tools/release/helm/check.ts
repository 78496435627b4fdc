import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { stringify } from 'yaml'
import { type Manifest, checkManifests, readManifests } from '../../check/check-manifests.ts'
import { combinations } from './combinations.ts'
import { openHelm } from './helm-binary.ts'
import { unreached } from './reach.ts'
import { CHART, openChart, readValues, withDefaults } from './render.ts'
import type { Values } from './overlay.ts'
import { findViolations } from './rules.ts'

/**
 * `npm run helm:check`: renders the chart with every example and every combination of values, checks the result against
 * our rules and the published API of Kubernetes, and compares our renderer with helm where that can be run.
 */

const EXAMPLES = join(CHART, '../examples')

/** The examples by name, and the combinations by number. */
export function allValues(): readonly (readonly [string, Values])[] {
  const examples = readdirSync(EXAMPLES).map((name) => [name, readValues(join(EXAMPLES, name))] as const)
  return [...examples, ...combinations().map((values, at) => [`combination ${at}`, values] as const)]
}

/** Of the operator of Prometheus, which is not in the API of Kubernetes. */
export function isPublished({ kind }: Manifest): boolean {
  return !['ServiceMonitor', 'PrometheusRule'].includes(kind)
}

/** Manifests that differ, once each: the compiler takes long for many. */
export function distinct(manifests: readonly Manifest[]): readonly Manifest[] {
  return [...new Map(manifests.map((manifest) => [JSON.stringify(manifest), manifest])).values()]
}

function sorted(manifests: readonly Manifest[]): readonly Manifest[] {
  const key = ({ kind, metadata }: Manifest): string => `${kind} ${metadata.name}`
  return manifests.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
}

async function main(): Promise<number> {
  const render = openChart()
  const rendered = allValues().map(([name, values]) => ({ name, values, manifests: readManifests(render(values)) }))
  const all = distinct(rendered.flatMap(({ manifests }) => manifests))
  const problems = [
    ...report(
      `${rendered.length} sets of values, ${all.length} manifests: our rules`,
      rendered.flatMap(({ name, manifests }) => findViolations(manifests).map((problem) => `${name}: ${problem}`)),
    ),
    ...report('the published API of Kubernetes', await checkManifests(all.filter(isPublished))),
    ...report('every value changes what is rendered', findUnreached(render)),
    ...compareWithHelm(rendered),
  ]
  return problems.length === 0 ? 0 : 1
}

function report(title: string, problems: readonly string[]): readonly string[] {
  console.log(`${problems.length === 0 ? 'ok    ' : 'FAILED'} ${title}`)
  for (const problem of problems) console.log(`       ${problem}`)
  return problems
}

interface Rendered {
  readonly name: string
  readonly values: Values
  readonly manifests: readonly Manifest[]
}

function compareWithHelm(rendered: readonly Rendered[]): readonly string[] {
  const helm = openHelm()
  if (helm === undefined) return report('helm was not run: it is not installed', [])
  const folder = mkdtempSync(join(tmpdir(), 'chancery-helm-'))
  try {
    const file = join(folder, 'values.yaml')
    const different = rendered.filter(({ values, manifests }) => {
      // By the rules of YAML 1.1, which helm reads: «yes» needs quotes.
      writeFileSync(file, stringify(values, { version: '1.1' }))
      return !isDeepStrictEqual(sorted(readManifests(helm.render(file))), sorted(manifests))
    })
    return report(
      `${helm.name} renders the same`,
      different.map(({ name, values }) => `${name} differs: ${JSON.stringify(values)}`),
    )
  } finally {
    rmSync(folder, { recursive: true })
    helm.remove()
  }
}

/** Values that change no rendering: an operator would set them without effect. */
export function findUnreached(render: (values: Values) => string): readonly string[] {
  const [all, least] = ['all-of-it.yaml', 'smallest.yaml'].map((name) => withDefaults(readValues(join(EXAMPLES, name))))
  if (all === undefined || least === undefined) throw new Error('the examples are missing')
  return unreached(least, { all, least }, render).map((value) => `${value} has no effect`)
}

if (import.meta.main) process.exitCode = await main()

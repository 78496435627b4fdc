import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Manifest, checkManifests, readManifests } from '../../check/check-manifests.ts'
import { NOT_RUN } from '../../check/run-command.ts'
import { combinations } from './combinations.ts'
import { unreached } from './reach.ts'
import { CHART, openHelm, readValues, withDefaults } from './render.ts'
import type { Values } from './overlay.ts'
import { findViolations } from './rules.ts'

/**
 * `npm run helm:check`: renders the chart with helm, every example and every combination of values, and checks the
 * result against our rules and the published API of Kubernetes. Where helm cannot run, the step of `check:nightly` says so.
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

async function main(): Promise<number> {
  const helm = openHelm()
  if (typeof helm === 'string') {
    console.log(helm)
    return NOT_RUN
  }
  console.log(helm.name)
  try {
    const rendered = allValues().map(([name, values]) => ({ name, manifests: readManifests(helm.render(values)) }))
    const all = distinct(rendered.flatMap(({ manifests }) => manifests))
    const problems = [
      ...report(
        `${rendered.length} sets of values, ${all.length} manifests: our rules`,
        rendered.flatMap(({ name, manifests }) => findViolations(manifests).map((problem) => `${name}: ${problem}`)),
      ),
      ...report('the published API of Kubernetes', await checkManifests(all.filter(isPublished))),
      ...report(
        'every value changes what is rendered',
        findUnreached((values) => helm.renderUnchecked(values)),
      ),
    ]
    return problems.length === 0 ? 0 : 1
  } finally {
    helm.remove()
  }
}

function report(title: string, problems: readonly string[]): readonly string[] {
  console.log(`${problems.length === 0 ? 'ok    ' : 'FAILED'} ${title}`)
  for (const problem of problems) console.log(`       ${problem}`)
  return problems
}

/** Values that change no rendering: an operator would set them without effect. */
export function findUnreached(render: (values: Values) => string): readonly string[] {
  const [all, least] = ['all-of-it.yaml', 'smallest.yaml'].map((name) => withDefaults(readValues(join(EXAMPLES, name))))
  if (all === undefined || least === undefined) throw new Error('the examples are missing')
  return unreached(least, { all, least }, render).map((value) => `${value} has no effect`)
}

if (import.meta.main) process.exitCode = await main()

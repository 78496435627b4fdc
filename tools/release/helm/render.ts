import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { type Values, overlay } from './overlay.ts'
import { execute } from './template/evaluate.ts'
import { type Node, type Parsed, parseTemplate } from './template/parse.ts'

/**
 * Renders the chart as `helm template` does, for tests on machines without helm. It knows what the chart uses and refuses
 * everything else. `npm run helm:check` compares it with helm.
 */

export const CHART = join(import.meta.dirname, '../../../deploy/helm/chancery')
const RELEASE = 'na'

export function readValues(file: string): Values {
  return parse(readFileSync(file, 'utf8')) as Values
}

/** The values that templates get. */
export function withDefaults(given: Values): Values {
  return overlay(readValues(join(CHART, 'values.yaml')), given)
}

/** Reads the templates once for any number of renderings. */
export function openChart(release = RELEASE): (given: Values) => string {
  const defaults = readValues(join(CHART, 'values.yaml'))
  const { name, version, appVersion } = readValues(join(CHART, 'Chart.yaml'))
  const files = readdirSync(join(CHART, 'templates')).sort()
  const parsed = files.map((file): [string, Parsed] => [file, parseFile(file)])
  const templates = new Map<string, readonly Node[]>(parsed.flatMap(([, { defined }]) => [...defined]))
  return (given) => {
    const about = {
      Values: overlay(defaults, given),
      Release: { Name: release, Namespace: 'chancery', Service: 'Helm' },
      Chart: { Name: name, Version: version, AppVersion: appVersion },
      Files: { 'alerts.yaml': readFileSync(join(CHART, 'alerts.yaml'), 'utf8') },
    }
    const texts = parsed.map(([file, { body }]) => [file, execute(body, about, templates)] as const)
    // The notes are for people. They must render, and are no manifest.
    return texts
      .filter(([file]) => file.endsWith('.yaml'))
      .map(([, text]) => `---\n${text.trim()}\n`)
      .join('')
  }
}

function parseFile(file: string): Parsed {
  try {
    return parseTemplate(readFileSync(join(CHART, 'templates', file), 'utf8'))
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

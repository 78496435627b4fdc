import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ALL_AUTHORITY_SETTINGS } from '@chancery/authority'
import { GATEWAY_SETTINGS } from '@chancery/gateway'
import type { SettingDefinitions } from '@chancery/service-kit'

const SCHEMA = join(import.meta.dirname, '../../../deploy/helm/chancery/values.schema.json')

/** Given as flags by the chart, so that a variable would reach nothing. */
const AUTHORITY_FLAGS = ['NA_MANAGEMENT_ADDR']
/** The chart gives the first three itself; the others have no place in a cluster. */
const GATEWAY_OWN = [
  'GATEWAY_ADDR',
  'GATEWAY_POLICY_FILE',
  'GATEWAY_STATE_FILE',
  'GATEWAY_DEVELOPMENT',
  'GATEWAY_TOKEN',
]

/** Settings that a value of the chart can reach: neither secret, nor read from the file only, nor of another program. */
export function authorityNames(): readonly string[] {
  return namesOf(ALL_AUTHORITY_SETTINGS).filter((name) => !AUTHORITY_FLAGS.includes(name))
}

export function gatewayNames(): readonly string[] {
  return namesOf(GATEWAY_SETTINGS).filter((name) => !GATEWAY_OWN.includes(name))
}

function namesOf(definitions: SettingDefinitions): readonly string[] {
  return Object.values(definitions)
    .filter(({ secret, sharedName }) => secret !== true && sharedName !== true)
    .map(({ name }) => name)
    .sort()
}

/** The schema of the chart's values with the names of today's settings: a name that reaches nothing is refused. */
export function chartSchema(): string {
  let text = readFileSync(SCHEMA, 'utf8')
  for (const [definition, names] of [
    ['authoritySettings', authorityNames()],
    ['gatewaySettings', gatewayNames()],
  ] as const) {
    const list = names.map((name) => `        ${JSON.stringify(name)}`).join(',\n')
    text = text.replace(
      new RegExp(`("${definition}": \\{\\n {6}"enum": \\[)[^\\]]*\\]`),
      (_all, head: string) => `${head}\n${list}\n      ]`,
    )
  }
  return text
}

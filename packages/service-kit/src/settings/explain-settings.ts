import { isDeepStrictEqual } from 'node:util'
import { SettingError } from './readers.ts'
import { type Setting, type SettingDefinitions, describeSettings, readOne } from './settings.ts'
import { type SettingSources, Variables } from './sources.ts'

/** Shown in place of every secret. */
const SET = '«set»'

/** One setting of a service with what it is set to, and where. */
export interface ExplainedSetting {
  readonly name: string
  /** As it was given; of a secret only that it is set. Null without value and default. */
  readonly value: string | null
  readonly default: string | null
  readonly origin: 'flag' | 'environment' | 'file' | 'default'
  /** False, too, when the default was given. True for a value that cannot be read. */
  readonly changed: boolean
}

/** Explains every setting by the sources that {@link readSettings} reads, in the same order. */
export function explainSettings(definitions: SettingDefinitions, sources: SettingSources): ExplainedSetting[] {
  const variables = new Variables(sources)
  const rows = describeSettings(definitions)
  return Object.values(definitions).map((definition, index) => {
    const shownDefault = rows[index]?.default ?? null
    const given = findGiven(definition, variables, sources)
    const isSecret = definition.secret === true && given !== undefined
    return {
      name: definition.name,
      value: isSecret ? SET : (given?.text ?? shownDefault),
      default: shownDefault,
      origin: given?.origin ?? 'default',
      changed: given !== undefined && isChanged(definition, variables, sources),
    }
  })
}

function findGiven(
  definition: Setting<unknown>,
  variables: Variables,
  { flags, envFile }: SettingSources,
): { readonly text: string; readonly origin: ExplainedSetting['origin'] } | undefined {
  const { flag } = definition
  if (flag !== undefined && Object.hasOwn(flags, flag))
    return { text: [flags[flag] ?? []].flat().join(', '), origin: 'flag' }
  const found = variables.find(definition)
  if (found === undefined) return undefined
  return { text: found.text, origin: envFile === undefined || found.overFile ? 'environment' : 'file' }
}

function isChanged(definition: Setting<unknown>, variables: Variables, sources: SettingSources): boolean {
  try {
    return !isDeepStrictEqual(readOne(definition, variables, sources), definition.default)
  } catch (thrown) {
    if (thrown instanceof SettingError) return true
    throw thrown
  }
}

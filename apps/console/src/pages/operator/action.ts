import type { JsonObject, JsonValue } from '@chancery/protocol'
import { isJsonObject, readJson } from '@chancery/protocol'
import type { Client } from '@chancery/sdk'
import type { Preview } from './preview.ts'

export interface Field {
  readonly name: string
  readonly label: string
  readonly kind: 'text' | 'number' | 'words' | 'choice' | 'json'
  readonly required?: true
  readonly help?: string
  readonly initial?: string
  readonly choices?: readonly string[]
  /** Only for what is shown before: no part of what is sent. */
  readonly isAside?: true
  /** Height of a JSON field. */
  readonly rows?: number
}

export type Values = Readonly<Record<string, string>>

/** Something an operator can do. It is written, shown with what it will do, confirmed, and only then signed. */
export interface Action {
  readonly id: string
  readonly title: string
  readonly purpose: string
  readonly fields: readonly Field[]
  /** Takes something away: asked for twice. */
  readonly isFinal?: true
  /** Made once of what is written. What is shown, foreseen and signed is this and nothing newer. */
  readonly draft: (values: Values) => Drafted
}

/** One request, as it will be signed. */
export interface Drafted {
  /** Method and path. */
  readonly target: string
  readonly body: JsonObject
  /** What would happen; asked of the authority where it can tell. */
  readonly preview?: (client: Client) => Promise<Preview>
  /** Signs and sends exactly this target and this body. */
  readonly send: (client: Client) => Promise<JsonValue>
}

/** Words apart by spaces, commas or lines. */
export function words(values: Values, name: string): readonly string[] {
  return (values[name] ?? '').split(/[\s,]+/).filter((word) => word !== '')
}

export function text(values: Values, name: string): string {
  return (values[name] ?? '').trim()
}

/** Left out when empty, so that the authority's default applies. */
export function optionalNumber<Name extends string>(values: Values, name: Name): { [Key in Name]?: number } {
  const given = text(values, name)
  if (given === '') return {}
  if (!/^[0-9]{1,9}$/.test(given)) throw new Error(`${name.replaceAll('_', ' ')} is a whole number.`)
  return { [name]: Number(given) } as { [Key in Name]?: number }
}

export function optionalText<Name extends string>(values: Values, name: Name): { [Key in Name]?: string } {
  const given = text(values, name)
  return given === '' ? {} : ({ [name]: given } as { [Key in Name]?: string })
}

/** Read as strictly as the authority will: what is signed is what was meant. */
export function jsonObject(values: Values, name: string): JsonObject {
  const value = readJson(text(values, name))
  if (!isJsonObject(value)) throw new Error(`${name} is a JSON object.`)
  return value
}

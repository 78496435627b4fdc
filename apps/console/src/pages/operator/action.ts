import type { JsonObject, JsonValue } from '@chancery/protocol'
import type { Client } from '@chancery/sdk'
import type { Preview } from './preview.ts'

export interface Field {
  readonly name: string
  readonly label: string
  readonly kind: 'text' | 'number' | 'words' | 'choice'
  readonly required?: true
  readonly help?: string
  readonly initial?: string
  readonly choices?: readonly string[]
}

export type Values = Readonly<Record<string, string>>

/** An operator action: filled in, shown with its effect, confirmed, then signed. */
export interface Action {
  readonly id: string
  readonly title: string
  readonly purpose: string
  readonly fields: readonly Field[]
  /** True for an action that needs a second confirmation. */
  readonly isFinal?: true
  /** Creates the request from the input, once. Review, preview and signature use this request. */
  readonly draft: (values: Values) => Drafted
}

/** A request as it will be signed. */
export interface Drafted {
  /** Method and path. */
  readonly target: string
  readonly body: JsonObject
  /** Previews the effect, with a dry run of the authority where there is one. */
  readonly preview?: (client: Client) => Promise<Preview>
  /** Signs and sends exactly this target and this body. */
  readonly send: (client: Client) => Promise<JsonValue>
}

/** Splits text at spaces, commas and lines. */
export function words(values: Values, name: string): readonly string[] {
  return (values[name] ?? '').split(/[\s,]+/).filter((word) => word !== '')
}

export function text(values: Values, name: string): string {
  return (values[name] ?? '').trim()
}

/** Returns undefined when empty, so that the authority's default applies. */
export function optionalNumber<Name extends string>(values: Values, name: Name): { [Key in Name]?: number } {
  const given = text(values, name)
  if (given === '') return {}
  if (!/^[0-9]{1,9}$/.test(given)) throw new Error(`${name.replaceAll('_', ' ')} must be a whole number.`)
  return { [name]: Number(given) } as { [Key in Name]?: number }
}

export function optionalText<Name extends string>(values: Values, name: Name): { [Key in Name]?: string } {
  const given = text(values, name)
  return given === '' ? {} : ({ [name]: given } as { [Key in Name]?: string })
}

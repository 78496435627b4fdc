import { CONTENT_TYPES } from '@chancery/contract'
import { visible } from '@chancery/protocol'
import { HttpResponse } from './answer.ts'

/** Text that may stand in a page as it is. Only `markup` makes it, so nothing reaches a page without being escaped. */
export class Markup {
  readonly text: string

  /** For `markup` and for constants of the program; a value of a caller goes through `markup`. */
  constructor(text: string) {
    this.text = text
  }
}

export type MarkupValue = string | number | Markup | readonly (Markup | undefined)[] | undefined | false

/** A template whose values are escaped for text and for double-quoted attributes; undefined and false leave nothing. */
export function markup(parts: TemplateStringsArray, ...values: readonly MarkupValue[]): Markup {
  let text = parts[0] ?? ''
  for (const [i, value] of values.entries()) text += toText(value) + (parts[i + 1] ?? '')
  return new Markup(text)
}

function toText(value: MarkupValue): string {
  if (value === undefined || value === false) return ''
  if (value instanceof Markup) return value.text
  if (typeof value === 'string') return escapeText(value)
  if (typeof value === 'number') return String(value)
  // Anything the types do not allow has no map: it fails instead of being shown.
  return value.map(toText).join('')
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/**
 * A value as page text. Controls and marks that reorder or hide the text around them are shown as escapes: a
 * name must not be able to look like another one.
 */
export function escapeText(text: string): string {
  return visible(text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? ''))
}

/** A page. The type asks for Markup: a string that is not escaped does not compile. */
export function html(page: Markup): HttpResponse {
  return new HttpResponse(page.text, CONTENT_TYPES.html)
}

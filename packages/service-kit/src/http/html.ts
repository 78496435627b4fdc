import { CONTENT_TYPES } from '@chancery/contract'
import { visible } from '@chancery/protocol'
import { HttpResponse } from './response.ts'

/** Text that needs no escaping in a page. Only `markup` creates it, so all other text is escaped. */
export class Markup {
  readonly text: string

  /** For `markup` and for constants of the program. Values of callers must go through `markup`. */
  constructor(text: string) {
    this.text = text
  }
}

export type MarkupValue = string | number | Markup | readonly (Markup | undefined)[] | undefined | false

/** Template tag that escapes values for text and double-quoted attributes. Undefined and false become empty. */
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
  // A value of another type has no `map`, so it throws instead of being shown.
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
 * Returns a value as page text. Control and format characters are shown as escapes, so that no name can look like
 * another one.
 */
export function escapeText(text: string): string {
  return visible(text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? ''))
}

/** Returns a page. The type requires Markup, so an unescaped string does not compile. */
export function html(page: Markup): HttpResponse {
  return new HttpResponse(page.text, CONTENT_TYPES.html)
}

// Control characters, invisible format characters (bidirectional overrides, tags) and the two Unicode line ends. They can
// forge a second line, control a terminal, or make a text appear different from its content.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
// Most texts match and need no escape.
const PLAIN = /^[ -~]*$/

export interface VisibleOptions {
  readonly maxLength?: number
  readonly keepLineBreaks?: boolean
}

/**
 * Escapes untrusted text for a terminal, the console or a log. Cuts the text to `maxLength` first, so that a huge value
 * costs no time. Then writes every invisible character as an escape.
 */
export function visible(text: string, options: VisibleOptions = {}): string {
  const { maxLength = Number.POSITIVE_INFINITY, keepLineBreaks = false } = options
  if (text.length <= maxLength && PLAIN.test(text)) return text
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
  return cut
    .toWellFormed()
    .replace(INVISIBLE, (found) => (keepLineBreaks && found === '\n' ? found : escapeUnits(found)))
}

/** Escapes like JSON, unit by unit, so that a JSON text keeps its meaning. */
function escapeUnits(character: string): string {
  let text = ''
  for (let at = 0; at < character.length; at += 1)
    text += `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`
  return text
}

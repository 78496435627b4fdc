// Control characters, invisible format characters (bidirectional overrides, tags) and the two Unicode line ends: what
// can forge a second line, steer a terminal, or make a text read differently from what it says.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
const INVISIBLE_IN_LINES = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
/** Nearly all texts: nothing in them needs an escape. */
const PLAIN = /^[ -~]*$/
const PLAIN_LINES = /^[\n -~]*$/

/**
 * Text from outside, made safe to show: on a terminal, in the console and in a log. Cut to a length first, so that a
 * huge value costs nothing; then every character that does not show itself is written as an escape.
 */
export function visible(text: string, { maxLength = Number.POSITIVE_INFINITY }: { maxLength?: number } = {}): string {
  if (text.length <= maxLength && PLAIN.test(text)) return text
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
  return cut.toWellFormed().replace(INVISIBLE, escaped)
}

/** The same for a text of several lines: its line breaks stay. */
export function visibleLines(text: string): string {
  if (PLAIN_LINES.test(text)) return text
  return text.toWellFormed().replace(INVISIBLE_IN_LINES, escaped)
}

/** As JSON escapes it, unit by unit: inside a JSON text it still stands for the same character. */
function escaped(character: string): string {
  let text = ''
  for (let at = 0; at < character.length; at += 1)
    text += `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`
  return text
}

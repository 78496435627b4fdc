// Control characters, invisible format characters (bidirectional overrides, tags) and the two Unicode line ends: what
// can forge a second line, recolour a terminal, or make a text read differently from what it says.
const INVISIBLE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu
/** Nearly all texts: nothing in them needs an escape. */
const PLAIN = /^[ -~]*$/

/**
 * Text from outside, made safe to print: cut to a length first, so that a huge value costs nothing, then every
 * character that does not show itself is written as an escape.
 */
export function visibleText(text: string, maxLength: number): string {
  if (text.length <= maxLength && PLAIN.test(text)) return text
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
  return cut.toWellFormed().replace(INVISIBLE, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16)
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`
  })
}

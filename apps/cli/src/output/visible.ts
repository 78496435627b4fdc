// Control characters, invisible format characters (bidirectional overrides, tags) and the two Unicode line ends: what
// can forge a second line, recolour a terminal, or make a text read differently from what it says.
const INVISIBLE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

/** Text from a file or the network, made safe to print. */
export function visible(text: string): string {
  return text.toWellFormed().replace(INVISIBLE, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16)
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`
  })
}

/** A word as a shell reads it, quoted only when it must be. */
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

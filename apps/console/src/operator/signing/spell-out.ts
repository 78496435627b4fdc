/** Adds line breaks between the members, and nothing else: no character of the signed text is left out or changed. */
export function spellOut(text: string): string {
  let out = ''
  let depth = 0
  let isInText = false
  for (let i = 0; i < text.length; i += 1) {
    const character = text.charAt(i)
    if (isInText) {
      out += character
      if (character === '\\') out += text.charAt((i += 1))
      else if (character === '"') isInText = false
      continue
    }
    if (character === '"') isInText = true
    const isEmpty = /^(?:\{\}|\[\])/.test(text.slice(i, i + 2))
    if (character === '}' || character === ']') out += breakLine((depth -= 1))
    out += character
    if (isEmpty) out += text.charAt((i += 1))
    else if (character === '{' || character === '[') out += breakLine((depth += 1))
    else if (character === ',') out += breakLine(depth)
  }
  return out
}

const breakLine = (depth: number): string => `\n${'  '.repeat(depth)}`

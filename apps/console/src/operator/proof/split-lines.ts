/**
 * Returns the objects of the list at the end of a response, each exactly as it was sent: a parser would lose the
 * spelling that digests cover.
 */
export function splitObjects(text: string, name: string): readonly string[] {
  const begin = text.indexOf(`"${name}":[`)
  if (begin < 0) return []
  const found: string[] = []
  let [depth, start, inText] = [0, 0, false]
  for (let at = begin + name.length + 4; at < text.length; at += 1) {
    const sign = text[at]
    if (inText) {
      if (sign === '\\') at += 1
      else if (sign === '"') inText = false
    } else if (sign === '"') inText = true
    else if (sign === '{') {
      if (depth === 0) start = at
      depth += 1
    } else if (sign === '}') {
      depth -= 1
      if (depth === 0) found.push(text.slice(start, at + 1))
    } else if (sign === ']' && depth === 0) break
  }
  return found
}

import type { PatternSegment } from './policy.ts'

/** Characters of a path that have one reading: letters, digits, and marks that no server treats as special. */
const PLAIN = /^[A-Za-z0-9._~!$&'()*+,=:@-]+$/
const PARAMETER = /^\{([a-z][a-z0-9_]{0,63})(\*?)\}$/

/**
 * Reads a path pattern: fixed segments, `{name}` for one segment, and `{name*}` for the rest of the path as the last
 * one. A trailing slash is a last empty segment. Returns undefined for everything that has two readings.
 */
export function readPattern(text: string): readonly PatternSegment[] | undefined {
  if (!text.startsWith('/')) return undefined
  const parts = text.slice(1).split('/')
  const segments: PatternSegment[] = []
  const names = new Set<string>()
  for (const [index, part] of parts.entries()) {
    const isLast = index === parts.length - 1
    const [, name, star] = PARAMETER.exec(part) ?? []
    if (name !== undefined) {
      if (names.has(name) || (star === '*' && !isLast)) return undefined
      names.add(name)
      segments.push({ kind: star === '*' ? 'rest' : 'parameter', name })
    } else if (isPlainSegment(part) || (part === '' && isLast)) segments.push({ kind: 'text', text: part })
    else return undefined
  }
  return segments
}

function isPlainSegment(text: string): boolean {
  return PLAIN.test(text) && text !== '.' && text !== '..'
}

import { FormError, type Read } from './schema.ts'
import { arrayOf, string } from './shape.ts'

const ROLE = /^role:[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/

/** A role that may be granted: `role:` and a name (protocol/core 6). Compared exactly, never by prefix. */
export const grantedRole: Read<string> = (value, field) => {
  const text = string(value, field)
  if (!ROLE.test(text)) throw new FormError(field, 'a role has the form role:<name>')
  return text
}

export function grantedRoles(min: number): Read<readonly string[]> {
  return arrayOf(grantedRole, { min, max: 16, distinct: true })
}

/** Narrows what may be granted: `allowed` is empty (everything) or names, where a trailing `*` makes a prefix. */
export function isRoleAllowed(role: string, allowed: readonly string[]): boolean {
  if (allowed.length === 0) return true
  return allowed.some((entry) => (entry.endsWith('*') ? role.startsWith(entry.slice(0, -1)) : entry === role))
}
